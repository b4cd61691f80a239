//! `dp_histogram(x, lo, hi, buckets, eps [, mech])`, and the edges of its buckets.

use dp_core::buckets::Buckets;
use dp_core::grid::Bounds;
use dp_core::mechanism;
use dp_core::mechanism::histogram::geometric::Histogram;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;

use crate::aggregate::{Aggregate, Shape, transition_function};
use crate::bins::add_to_bucket;
use crate::errors;
use crate::fmgr::{Call, sql_function};

static HISTOGRAM: Aggregate<Histogram> = Aggregate {
    name: "dp_histogram",
    mechanisms: &mechanism::HISTOGRAM,
    shape: Shape::Buckets,
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

sql_function!(dp_histogram_final, pg_finfo_dp_histogram_final, histogram);

#[pg_extern(sql = false)]
fn dp_histogram_edges(lo: f64, hi: f64, buckets: i32) -> Vec<f64> {
    let of_bounds = |bounds| Buckets::new(&bounds, usize::try_from(buckets).ok());
    match Bounds::new(Some(lo), Some(hi)).and_then(of_bounds) {
        Ok(buckets) => buckets.edges(),
        Err(error) => errors::parameter("dp_histogram_edges", &error),
    }
}
