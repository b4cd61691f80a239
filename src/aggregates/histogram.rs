//! `dp_histogram(x, lo, hi, buckets, eps [, mech])`, and the edges of its buckets.

use dp_core::encoding::buckets::Buckets;
use dp_core::encoding::grid::Bounds;
use dp_core::mechanism::histogram::geometric::Histogram;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, transition_function};
use crate::bins::add_to_bucket;
use crate::errors;
use crate::fmgr::{Call, final_function, float8, sql_function};

static HISTOGRAM: Aggregate<Histogram> = Aggregate {
    name: "dp_histogram",
    mechanisms: &registry::HISTOGRAM,
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

final_function!(
    dp_histogram_final,
    pg_finfo_dp_histogram_final,
    HISTOGRAM,
    histogram
);

/// `dp_histogram_edges(lo, hi, buckets)`
fn edges(call: Call) -> Option<Datum> {
    let argument = |i| call.datum(i).expect("the function is declared STRICT");
    let [lo, hi] = [0, 1].map(|i| Some(float8(argument(i))));
    let count = usize::try_from(argument(2).value() as i32).ok();
    match Bounds::new(lo, hi).and_then(|bounds| Buckets::new(&bounds, count)) {
        Ok(buckets) => buckets.edges().into_datum(),
        Err(error) => errors::parameter("dp_histogram_edges", &error).raise(),
    }
}

sql_function!(
    dp_histogram_edges_wrapper,
    pg_finfo_dp_histogram_edges_wrapper,
    edges
);
