//! `dp_weighted_mean(y, x, ylo, yhi, xlo, xhi, eps [, mech])`, the mean of `y` with the weights `x`, and
//! `dp_weighted_mean_estimate(... [, mech [, confidence]])` with its interval.

use dp_core::estimate::WeightedMeans;
use dp_core::mechanism::bivariate::weighted_laplace::{
    WeightedEstimate, WeightedEstimator, WeightedMechanism,
};
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::regression::{
    OF_PEOPLE, OfPeople, SIGNATURE, WITH_CONFIDENCE, WITH_CONFIDENCE_OF_PEOPLE, add_pair,
};
use crate::aggregates::shared::estimate::row;
use crate::aggregates::shared::people::take_contribution;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::pg::fmgr::Call;

pub static WEIGHTED_MEAN: Aggregate<WeightedMechanism> = Aggregate {
    name: "dp_weighted_mean",
    signature: SIGNATURE,
    mechanisms: &registry::WEIGHTED_MEAN,
};

/// As above, for contributions.
pub static WEIGHTED_MEAN_OF_PEOPLE: Aggregate<WeightedMechanism> = Aggregate {
    signature: OF_PEOPLE,
    ..WEIGHTED_MEAN
};

pub static ESTIMATE: Aggregate<WeightedEstimator> = Aggregate {
    name: "dp_weighted_mean_estimate",
    signature: WITH_CONFIDENCE,
    mechanisms: &WeightedMeans,
};

/// As above, for contributions.
pub static ESTIMATE_OF_PEOPLE: Aggregate<WeightedEstimator> = Aggregate {
    signature: WITH_CONFIDENCE_OF_PEOPLE,
    ..ESTIMATE
};

transition_function!(dp_weighted_mean_trans, WEIGHTED_MEAN, add_pair);

transition_function!(
    dp_weighted_mean_people_trans,
    OfPeople(&WEIGHTED_MEAN_OF_PEOPLE),
    take_contribution
);

transition_function!(dp_weighted_mean_estimate_trans, ESTIMATE, add_pair);

transition_function!(
    dp_weighted_mean_estimate_people_trans,
    OfPeople(&ESTIMATE_OF_PEOPLE),
    take_contribution
);

/// The mean.
///
/// # Safety
/// `call` is a call of the final function of this aggregate, which returns a float8.
unsafe fn mean(aggregate: &'static Aggregate<WeightedMechanism>, call: Call) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    let (answer, _) = unsafe { aggregate.release_and_cost(call) };
    answer.mean.into_datum()
}

fn of_rows(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_weighted_mean's final function.
    unsafe { mean(&WEIGHTED_MEAN, call) }
}

final_function!(dp_weighted_mean_final, WEIGHTED_MEAN, of_rows);

fn of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for contributions.
    unsafe { mean(&WEIGHTED_MEAN_OF_PEOPLE, call) }
}

final_function!(
    dp_weighted_mean_people_final,
    WEIGHTED_MEAN_OF_PEOPLE,
    of_people
);

/// The mean with its interval.
///
/// # Safety
/// `call` is a call of the final function of this aggregate, which returns four float8 and what it cost.
unsafe fn with_interval(
    aggregate: &'static Aggregate<WeightedEstimator>,
    call: Call,
) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe {
        let (estimate, price) = aggregate.release_and_cost(call);
        let WeightedEstimate {
            answer,
            interval: [lower, upper],
        } = estimate;
        let numbers = [answer.mean, lower, upper, answer.weight];
        Some(row(call, numbers.map(IntoDatum::into_datum), &price))
    }
}

fn estimate_of_rows(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_weighted_mean_estimate's final function, with its columns.
    unsafe { with_interval(&ESTIMATE, call) }
}

final_function!(dp_weighted_mean_estimate_final, ESTIMATE, estimate_of_rows);

fn estimate_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for contributions.
    unsafe { with_interval(&ESTIMATE_OF_PEOPLE, call) }
}

final_function!(
    dp_weighted_mean_estimate_people_final,
    ESTIMATE_OF_PEOPLE,
    estimate_of_people
);
