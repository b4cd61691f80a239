//! `dp_histogram(x, lo, hi, buckets, eps [, mech])`.

use dp_core::mechanism;
use dp_core::mechanism::histogram::geometric::Histogram;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::bins::add_to_bucket;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{BUCKETS, EPS, HI, LO, MECH, Signature, X};
use crate::pg::fmgr::Call;

pub static HISTOGRAM: Aggregate<Histogram> = Aggregate {
    name: "dp_histogram",
    signature: Signature::new(&[X, LO, HI, BUCKETS, EPS, MECH.given_from(6)]),
    mechanisms: &mechanism::HISTOGRAM,
};

transition_function!(
    dp_histogram_trans,
    pg_finfo_dp_histogram_trans,
    HISTOGRAM,
    add_to_bucket
);

fn histogram(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_histogram's final function.
    unsafe { HISTOGRAM.release(call) }.into_datum()
}

final_function!(
    dp_histogram_final,
    pg_finfo_dp_histogram_final,
    HISTOGRAM,
    histogram
);
