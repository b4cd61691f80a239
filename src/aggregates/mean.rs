//! `dp_mean(x, lo, hi, eps [, mech])` and `dp_mean_and_count` with the same arguments.

use dp_core::mechanism::{self, MeanAnswer, Scalar};
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, add_value, transition_function};
use crate::fmgr::{Call, composite, sql_function};

static MEAN: Aggregate<Scalar<MeanAnswer>> = Aggregate {
    name: "dp_mean",
    registry: &mechanism::MEAN,
    shape: Shape::Bounded,
};

transition_function!(dp_mean_trans, pg_finfo_dp_mean_trans, MEAN, add_value);

fn mean(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_mean's final function.
    let answer = unsafe { MEAN.release(call) };
    answer.mean.into_datum()
}

sql_function!(dp_mean_final, pg_finfo_dp_mean_final, mean);

fn mean_and_count(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_mean_and_count's final function.
    let answer = unsafe { MEAN.release(call) };
    // SAFETY: the SQL declaration makes it return (float8, float8).
    Some(unsafe { composite(call, [answer.mean, answer.count].map(IntoDatum::into_datum)) })
}

sql_function!(
    dp_mean_and_count_final,
    pg_finfo_dp_mean_and_count_final,
    mean_and_count
);
