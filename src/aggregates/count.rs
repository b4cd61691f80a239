//! `dp_count(eps)` counts rows; `dp_count(x, eps [, mech])` counts rows where `x` is not NULL; and
//! `dp_count_estimate` with the interval.

use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::definition::Scalar;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, count_row, count_value, transition_function};
use crate::estimate::estimate;
use crate::fmgr::{Call, final_function};

static COUNT: Aggregate<Scalar<i64>> = Aggregate {
    name: "dp_count",
    mechanisms: &registry::COUNT,
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

final_function!(dp_count_final, pg_finfo_dp_count_final, COUNT, count);

static ESTIMATE: Aggregate<Scalar<Estimate<i64>>> = Aggregate {
    name: "dp_count_estimate",
    mechanisms: &Estimates(&registry::COUNT),
    shape: Shape::Counted,
};

transition_function!(
    dp_count_estimate_rows_trans,
    pg_finfo_dp_count_estimate_rows_trans,
    ESTIMATE,
    count_row
);
transition_function!(
    dp_count_estimate_trans,
    pg_finfo_dp_count_estimate_trans,
    ESTIMATE,
    count_value
);

fn count_estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_count_estimate's final function, with these columns.
    unsafe {
        estimate(&ESTIMATE, call, |count, [lower, upper]| {
            // Whole numbers; the casts saturate.
            [count, lower as i64, upper as i64].map(IntoDatum::into_datum)
        })
    }
}

final_function!(
    dp_count_estimate_final,
    pg_finfo_dp_count_estimate_final,
    ESTIMATE,
    count_estimate
);
