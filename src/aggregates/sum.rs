//! `dp_sum(x, lo, hi, eps [, mech])`, and `dp_sum_estimate` with its interval.

use dp_core::encoding::sums::Sums;
use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::definition::Scalar;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, add_value, transition_function};
use crate::estimate::estimate;
use crate::fmgr::{Call, final_function};

static SUM: Aggregate<Scalar<f64>> = Aggregate {
    name: "dp_sum",
    mechanisms: &registry::SUM,
    shape: Shape::Bounded,
};

transition_function!(
    dp_sum_trans,
    pg_finfo_dp_sum_trans,
    SUM,
    add_value::<Sums, false>
);

fn sum(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sum's final function.
    unsafe { SUM.release(call) }.into_datum()
}

final_function!(dp_sum_final, pg_finfo_dp_sum_final, SUM, sum);

static ESTIMATE: Aggregate<Scalar<Estimate<f64>>> = Aggregate {
    name: "dp_sum_estimate",
    mechanisms: &Estimates(&registry::SUM),
    shape: Shape::Bounded,
};

transition_function!(
    dp_sum_estimate_trans,
    pg_finfo_dp_sum_estimate_trans,
    ESTIMATE,
    add_value::<Sums, false>
);

fn sum_estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sum_estimate's final function, with these columns.
    unsafe {
        estimate(&ESTIMATE, call, |sum, [lower, upper]| {
            [sum, lower, upper].map(IntoDatum::into_datum)
        })
    }
}

final_function!(
    dp_sum_estimate_final,
    pg_finfo_dp_sum_estimate_final,
    ESTIMATE,
    sum_estimate
);
