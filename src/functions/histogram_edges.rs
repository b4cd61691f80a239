//! `dp_histogram_edges(lo, hi, buckets)`: where the buckets of a histogram begin and end.

use dp_core::encoding::buckets::Buckets;
use dp_core::encoding::grid::Bounds;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::pg::errors;
use crate::pg::fmgr::{Call, float8, sql_function};

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

sql_function!(dp_histogram_edges_wrapper, edges);
