//! `dp_sum(x, lo, hi, eps [, mech])`, and `dp_sum_estimate` with its interval.

use dp_core::encoding::sums::Sums;
use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::definition::Scalar;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::estimate::estimate;
use crate::aggregates::shared::scalars::add_value;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{CONFIDENCE, EPS, HI, LO, MECH, Signature, X};
use crate::pg::fmgr::Call;

pub static SUM: Aggregate<Scalar<f64>> = Aggregate {
    name: "dp_sum",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &registry::SUM,
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

pub static ESTIMATE: Aggregate<Scalar<Estimate<f64>>> = Aggregate {
    name: "dp_sum_estimate",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5), CONFIDENCE.given_from(6)]),
    mechanisms: &Estimates(&registry::SUM),
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
