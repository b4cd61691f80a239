//! `dp_count(eps)` counts rows; `dp_count(x, eps [, mech])` counts rows where `x` is not NULL.

use dp_core::mechanism::{self, Scalar};
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, count_row, count_value, transition_function};
use crate::fmgr::{Call, sql_function};

static COUNT: Aggregate<Scalar<i64>> = Aggregate {
    name: "dp_count",
    registry: &mechanism::COUNT,
    shape: Shape::Counted,
};

transition_function!(
    dp_count_rows_trans,
    pg_finfo_dp_count_rows_trans,
    COUNT,
    count_row
);
transition_function!(dp_count_trans, pg_finfo_dp_count_trans, COUNT, count_value);

fn count(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_count's final function.
    unsafe { COUNT.release(call) }.into_datum()
}

sql_function!(dp_count_final, pg_finfo_dp_count_final, count);
