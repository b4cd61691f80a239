//! `dp_count(eps)` counts rows; `dp_count(x, eps [, mech])` counts rows where `x` is not NULL, or, where it is a
//! contribution, the rows that it represents; and `dp_count_estimate` with the interval.

use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::definition::Scalar;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::estimate::estimate;
use crate::aggregates::shared::scalars::{Releases, count_row, count_value};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{CONFIDENCE, EPS, MECH, Signature, X_OF_ANY_TYPE};
use crate::pg::fmgr::Call;

pub static COUNT: Aggregate<Scalar<i64>> = Aggregate {
    name: "dp_count",
    signature: Signature::new(&[X_OF_ANY_TYPE.given_from(2), EPS, MECH.given_from(3)]),
    mechanisms: &registry::COUNT,
};

transition_function!(dp_count_rows_trans, COUNT, count_row);
transition_function!(dp_count_trans, COUNT, count_value);

fn count(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_count's final function.
    unsafe { COUNT.release(call) }.into_datum()
}

final_function!(dp_count_final, COUNT, count);

pub static ESTIMATE: Aggregate<Scalar<Estimate<i64>>> = Aggregate {
    name: "dp_count_estimate",
    signature: Signature::new(&[
        X_OF_ANY_TYPE.given_from(2),
        EPS,
        MECH.given_from(3),
        CONFIDENCE.given_from(4),
    ]),
    mechanisms: &Estimates(&registry::COUNT),
};

transition_function!(dp_count_estimate_rows_trans, ESTIMATE, count_row);
transition_function!(dp_count_estimate_trans, ESTIMATE, count_value);

fn count_estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_count_estimate's final function, with these columns.
    unsafe {
        estimate(&ESTIMATE, call, |count, [lower, upper]| {
            // Whole numbers; the casts saturate.
            [count, lower as i64, upper as i64].map(IntoDatum::into_datum)
        })
    }
}

final_function!(dp_count_estimate_final, ESTIMATE, count_estimate);
