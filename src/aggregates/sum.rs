//! `dp_sum(x, lo, hi, eps [, mech])`.

use dp_core::mechanism::{self, Scalar};
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, add_value, transition_function};
use crate::fmgr::{Call, sql_function};

static SUM: Aggregate<Scalar<f64>> = Aggregate {
    name: "dp_sum",
    registry: &mechanism::SUM,
    shape: Shape::Bounded,
};

transition_function!(dp_sum_trans, pg_finfo_dp_sum_trans, SUM, add_value::<false>);

fn sum(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sum's final function.
    unsafe { SUM.release(call) }.into_datum()
}

sql_function!(dp_sum_final, pg_finfo_dp_sum_final, sum);
