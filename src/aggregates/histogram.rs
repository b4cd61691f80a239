//! `dp_histogram(x, lo, hi, buckets, eps [, mech])`.

use dp_core::encoding::buckets::Buckets;
use dp_core::mechanism::histogram::geometric::Histogram;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::bins::{Binned, OfPeople, add_to_bin, one_of};
use crate::aggregates::shared::people::take_contribution;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{BUCKETS, EPS, HI, LO, MECH, Signature, X, X_CONTRIBUTION, at};
use crate::pg::fmgr::{Call, argument};
use crate::state::vector::{Kind, Layout};

pub static HISTOGRAM: Aggregate<Histogram> = Aggregate {
    name: "dp_histogram",
    signature: Signature::new(&[X, LO, HI, BUCKETS, EPS, MECH.given_from(6)]),
    mechanisms: &registry::HISTOGRAM,
};

impl Binned for Histogram {
    fn layout(&self) -> Layout {
        let kind = if self.drops() {
            Kind::BucketsWithin
        } else {
            Kind::Buckets
        };
        let count = self.buckets().count();
        Layout::new(kind, one_of(count), Some(self.buckets().grid()))
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        let buckets = Buckets::of(*layout.grid(), layout.length());
        if layout.kind() == Kind::BucketsWithin {
            buckets.bucket_within(x)
        } else {
            Some(buckets.bucket(x))
        }
    }
}

/// The transition function of histograms, `(state, x, lo, hi, buckets, ...)`: NULL and NaN are
/// ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, float8, float8,
/// int4, ...)`.
#[inline(always)]
unsafe fn add_to_bucket(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        let as_called = |layout: &Layout| {
            let [lo, hi, buckets] =
                [at::LO, at::HI, at::BUCKETS].map(|i| argument(fcinfo, i).value.value());
            matches!(layout.kind(), Kind::Buckets | Kind::BucketsWithin)
                && layout.grid().lo().to_bits() == lo as u64
                && layout.grid().hi().to_bits() == hi as u64
                && layout.length() == buckets as u32 as usize
        };
        add_to_bin::<Histogram>(fcinfo, as_called, rest)
    }
}

transition_function!(dp_histogram_trans, HISTOGRAM, add_to_bucket);

fn histogram(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_histogram's final function.
    unsafe { HISTOGRAM.release(call) }.into_datum()
}

final_function!(dp_histogram_final, HISTOGRAM, histogram);

/// As above, for contributions.
pub static PEOPLE: Aggregate<Histogram> = Aggregate {
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, BUCKETS, EPS, MECH.given_from(6)]),
    ..HISTOGRAM
};

transition_function!(
    dp_histogram_people_trans,
    OfPeople(&PEOPLE),
    take_contribution
);

fn histogram_of_people(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_histogram's final function.
    unsafe { PEOPLE.release(call) }.into_datum()
}

final_function!(dp_histogram_people_final, PEOPLE, histogram_of_people);
