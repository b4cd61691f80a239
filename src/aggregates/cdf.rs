//! `dp_cdf(x, lo, hi, points, eps [, mech])`.

use dp_core::encoding::buckets::Buckets;
use dp_core::mechanism::cdf::tree::Cdf;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::bins::{Binned, OfPeople, add_to_bin, one_of};
use crate::aggregates::shared::people::take_contribution;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, HI, LO, MECH, POINTS, Signature, X, X_CONTRIBUTION, at};
use crate::pg::fmgr::{Call, argument};
use crate::state::vector::{Kind, Layout};

pub static CDF: Aggregate<Cdf> = Aggregate {
    name: "dp_cdf",
    signature: Signature::new(&[X, LO, HI, POINTS, EPS, MECH.given_from(6)]),
    mechanisms: &registry::CDF,
};

/// As above, for contributions.
pub static CDF_OF_PEOPLE: Aggregate<Cdf> = Aggregate {
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, POINTS, EPS, MECH.given_from(6)]),
    ..CDF
};

impl Binned for Cdf {
    fn layout(&self) -> Layout {
        let cells = self.cells();
        Layout::new(Kind::Buckets, one_of(cells.count()), Some(cells.grid()))
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        Some(Buckets::of(*layout.grid(), layout.length()).bucket(x))
    }
}

/// The transition function of distribution functions, `(state, x, lo, hi, points, ...)`: NULL and NaN are ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, float8, float8, int4, ...)`.
#[inline(always)]
unsafe fn add_to_cell(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        let as_called = |layout: &Layout| {
            let [lo, hi, points] =
                [at::LO, at::HI, at::BUCKETS].map(|i| argument(fcinfo, i).value.value());
            layout.kind() == Kind::Buckets
                && layout.grid().lo().to_bits() == lo as u64
                && layout.grid().hi().to_bits() == hi as u64
                && layout.length() == points as u32 as usize
        };
        add_to_bin::<Cdf>(fcinfo, as_called, rest)
    }
}

transition_function!(dp_cdf_trans, CDF, add_to_cell);

transition_function!(
    dp_cdf_people_trans,
    OfPeople(&CDF_OF_PEOPLE),
    take_contribution
);

fn cdf(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_cdf's final function.
    unsafe { CDF.release(call) }.into_datum()
}

final_function!(dp_cdf_final, CDF, cdf);

fn cdf_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for dp_cdf of contributions.
    unsafe { CDF_OF_PEOPLE.release(call) }.into_datum()
}

final_function!(dp_cdf_people_final, CDF_OF_PEOPLE, cdf_of_people);
