//! `dp_clamped(x, lo, hi, eps [, mech])`.

use dp_core::encoding::sides::{SIDES, side};
use dp_core::mechanism::clamped::geometric::Clamped;
use dp_core::mechanism::definition::Mechanism;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::bins::{Binned, add_to_bin, one_of};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, HI, LO, MECH, Signature, X, at};
use crate::pg::composite::composite;
use crate::pg::fmgr::{Call, argument};
use crate::state::vector::{Kind, Layout};

pub static CLAMPED: Aggregate<Clamped> = Aggregate {
    name: "dp_clamped",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &registry::CLAMPED,
};

impl Binned for Clamped {
    fn layout(&self) -> Layout {
        Layout::new(Kind::Sides, one_of(SIDES), self.grid())
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        Some(side(layout.grid(), x))
    }
}

/// The transition function of what clamping does, `(state, x, lo, hi, ...)`: NULL and NaN are ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, float8, float8, ...)`.
#[inline(always)]
unsafe fn add_to_side(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        let as_called = |layout: &Layout| {
            let [lo, hi] = [at::LO, at::HI].map(|i| argument(fcinfo, i).value.value());
            layout.kind() == Kind::Sides
                && layout.grid().lo().to_bits() == lo as u64
                && layout.grid().hi().to_bits() == hi as u64
        };
        add_to_bin::<Clamped>(fcinfo, as_called, rest)
    }
}

transition_function!(dp_clamped_trans, CLAMPED, add_to_side);

fn clamped(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_clamped's final function, which returns a
    // dp_clamped_answer: three bigint.
    unsafe {
        let sides = CLAMPED.release(call);
        Some(composite(call, sides.map(IntoDatum::into_datum)))
    }
}

final_function!(dp_clamped_final, CLAMPED, clamped);
