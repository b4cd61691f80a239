//! `dp_sum(x, lo, hi, eps [, mech])`, and `dp_sum_estimate` with its interval.

use dp_core::encoding::sums::Sums;
use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::definition::Scalar;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::estimate::estimate;
use crate::aggregates::shared::people::take_contribution;
use crate::aggregates::shared::scalars::add_value;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{CONFIDENCE, EPS, HI, LO, MECH, Signature, X, X_CONTRIBUTION};
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

/// The same of contributions.
pub static PEOPLE: Aggregate<Scalar<f64>> = Aggregate {
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, EPS, MECH.given_from(5)]),
    ..SUM
};

transition_function!(
    dp_sum_people_trans,
    pg_finfo_dp_sum_people_trans,
    PEOPLE,
    take_contribution
);

fn sum_of_people(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sum's final function.
    unsafe { PEOPLE.release(call) }.into_datum()
}

final_function!(
    dp_sum_people_final,
    pg_finfo_dp_sum_people_final,
    PEOPLE,
    sum_of_people
);

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
    answer_estimate(&ESTIMATE, call)
}

fn answer_estimate(
    aggregate: &'static Aggregate<Scalar<Estimate<f64>>>,
    call: Call,
) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sum_estimate's final function, with these columns.
    unsafe {
        estimate(aggregate, call, |sum, [lower, upper]| {
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

/// The same of contributions.
pub static ESTIMATE_OF_PEOPLE: Aggregate<Scalar<Estimate<f64>>> = Aggregate {
    signature: Signature::new(&[
        X_CONTRIBUTION,
        LO,
        HI,
        EPS,
        MECH.given_from(5),
        CONFIDENCE.given_from(6),
    ]),
    ..ESTIMATE
};

transition_function!(
    dp_sum_estimate_people_trans,
    pg_finfo_dp_sum_estimate_people_trans,
    ESTIMATE_OF_PEOPLE,
    take_contribution
);

fn sum_estimate_of_people(call: Call) -> Option<Datum> {
    answer_estimate(&ESTIMATE_OF_PEOPLE, call)
}

final_function!(
    dp_sum_estimate_people_final,
    pg_finfo_dp_sum_estimate_people_final,
    ESTIMATE_OF_PEOPLE,
    sum_estimate_of_people
);
