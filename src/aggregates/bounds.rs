//! `dp_bounds(x, eps [, mech])`.

use dp_core::encoding::power_of_two_bins::{self, BINS};
use dp_core::mechanism::bounds::geometric::BoundsFinder;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::bins::{Binned, add_to_bin, one_of};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, MECH, Signature, X};
use crate::pg::composite::composite;
use crate::pg::fmgr::Call;
use crate::state::vector::{Kind, Layout};

pub static BOUNDS: Aggregate<BoundsFinder> = Aggregate {
    name: "dp_bounds",
    signature: Signature::new(&[X, EPS, MECH.given_from(3)]),
    mechanisms: &registry::BOUNDS,
};

impl Binned for BoundsFinder {
    fn layout(&self) -> Layout {
        Layout::new(Kind::Magnitudes, one_of(BINS), None)
    }

    #[inline(always)]
    fn bin(_layout: &Layout, x: f64) -> Option<usize> {
        Some(power_of_two_bins::bin(x))
    }
}

/// The transition function of bounds, `(state, x, ...)`: NULL and NaN are ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, ...)`.
#[inline(always)]
unsafe fn add_to_magnitude(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration.
    unsafe {
        let as_called = |layout: &Layout| layout.kind() == Kind::Magnitudes;
        add_to_bin::<BoundsFinder>(fcinfo, as_called, rest)
    }
}

transition_function!(dp_bounds_trans, BOUNDS, add_to_magnitude);

fn bounds(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_bounds's final function, which returns a
    // dp_bounds_answer: (float8, float8).
    unsafe {
        let found = BOUNDS
            .release(call)
            .map_or([None; 2], |ends| ends.map(Some));
        Some(composite(call, found.map(IntoDatum::into_datum)))
    }
}

final_function!(dp_bounds_final, BOUNDS, bounds);
