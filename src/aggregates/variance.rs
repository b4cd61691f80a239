//! `dp_variance(x, lo, hi, eps [, mech])`, `dp_stddev` with the same arguments, and
//! `dp_variance_estimate(x, lo, hi, eps [, mech [, confidence]])`.

use dp_core::encoding::grid::Grid;
use dp_core::encoding::sums::Moments;
use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::variance::moments::{VarianceAnswer, VarianceMechanism};
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::estimate::row;
use crate::aggregates::shared::people::{contribution, take_contribution};
use crate::aggregates::shared::scalars::{add_value, value};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{CONFIDENCE, EPS, HI, LO, MECH, Signature, X, X_CONTRIBUTION};
use crate::call::site::{CallSite, Price};
use crate::pg::composite::composite;
use crate::pg::errors::Refusal;
use crate::pg::fmgr::Call;
use crate::pg::plan::SupportFunction;
use crate::state::form::Form;
use crate::state::scalar::State;

/// A mechanism of moments that answers with an `A`.
type OfMoments<A> = dyn Mechanism<Moments, Answer = A>;

pub static VARIANCE: Aggregate<VarianceMechanism> = Aggregate {
    name: "dp_variance",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &registry::VARIANCE,
};

pub static ESTIMATE: Aggregate<OfMoments<Estimate<VarianceAnswer>>> = Aggregate {
    name: "dp_variance_estimate",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5), CONFIDENCE.given_from(6)]),
    mechanisms: &Estimates(&registry::VARIANCE),
};

impl<A: 'static> Aggregate<OfMoments<A>> {
    /// What the transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let (grid, unit) = CallSite::with(call, SupportFunction::Transition, self, |site| {
            let grid = site.mechanism_of_row(call)?.grid().unwrap_or(Grid::NONE);
            Ok((grid, site.takes_contributions().then(|| site.unit())))
        })?;
        if let Some(unit) = unit {
            // SAFETY: the caller guarantees it.
            return unsafe {
                let given = contribution(call, unit);
                let moments = given.map(|(bounds, given)| given.moments(&bounds, &grid));
                self.add_sums(call, grid, &moments.unwrap_or_default())
            };
        }
        let mut state = State::<Moments>::new(grid);
        state.take(value(call));
        // SAFETY: the caller guarantees it.
        unsafe { self.first_row(call, state) }
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function, or of its like's.
    unsafe fn release(&'static self, call: Call) -> A {
        // SAFETY: the caller guarantees it.
        unsafe { self.release_and_cost(call) }.0
    }

    /// The same, and what it costs.
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    unsafe fn release_and_cost(&'static self, call: Call) -> (A, Price) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            // SAFETY: the caller guarantees it.
            let answer = unsafe { self.release_state(call, mechanism) }?;
            Ok((answer, site.price()))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// What a call of these aggregates with these arguments says of its states; `None` where the call is refused.
///
/// # Safety
/// See [`Aggregate::made_of`].
pub unsafe fn form<A: 'static>(
    aggregate: &'static Aggregate<OfMoments<A>>,
    values: &[Option<Option<Datum>>],
) -> Option<Form> {
    // SAFETY: the caller guarantees it.
    let made = unsafe { aggregate.made_of(values) }?;
    Some(Form::Moments(made.mechanism.grid().unwrap_or(Grid::NONE)))
}

transition_function!(
    dp_variance_trans,
    pg_finfo_dp_variance_trans,
    VARIANCE,
    add_value::<Moments, false>
);

fn variance(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance's final function.
    unsafe { VARIANCE.release(call) }.variance.into_datum()
}

final_function!(
    dp_variance_final,
    pg_finfo_dp_variance_final,
    VARIANCE,
    variance
);

fn stddev(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_stddev's final function.
    unsafe { VARIANCE.release(call) }.stddev.into_datum()
}

final_function!(dp_stddev_final, pg_finfo_dp_stddev_final, VARIANCE, stddev);

transition_function!(
    dp_variance_estimate_trans,
    pg_finfo_dp_variance_estimate_trans,
    ESTIMATE,
    add_value::<Moments, false>
);

fn estimate(call: Call) -> Option<Datum> {
    answer_estimate(&ESTIMATE, call)
}

fn answer_estimate(
    aggregate: &'static Aggregate<OfMoments<Estimate<VarianceAnswer>>>,
    call: Call,
) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance_estimate's final function, which returns eight float8
    // and what it cost.
    unsafe {
        let (estimate, price) = aggregate.release_and_cost(call);
        let Estimate { answer, interval } = estimate;
        let [lower, upper] = answer.variance_between(interval);
        let numbers = [
            answer.variance,
            lower,
            upper,
            answer.stddev,
            interval[0],
            interval[1],
            answer.mean,
            answer.count,
        ];
        Some(row(call, numbers.map(IntoDatum::into_datum), &price))
    }
}

final_function!(
    dp_variance_estimate_final_0_2,
    pg_finfo_dp_variance_estimate_final_0_2,
    ESTIMATE,
    estimate
);

fn estimate_0_1(call: Call) -> Option<Datum> {
    // SAFETY: the SQL of 0.1.0 makes it dp_variance_estimate's final function, which returns four float8.
    unsafe {
        let answer = VARIANCE.release(call);
        let columns = [answer.variance, answer.stddev, answer.mean, answer.count];
        Some(composite(call, columns.map(IntoDatum::into_datum)))
    }
}

final_function!(
    dp_variance_estimate_final,
    pg_finfo_dp_variance_estimate_final,
    VARIANCE,
    estimate_0_1
);

/// The same of contributions.
pub static PEOPLE: Aggregate<VarianceMechanism> = Aggregate {
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, EPS, MECH.given_from(5)]),
    ..VARIANCE
};

transition_function!(
    dp_variance_people_trans,
    pg_finfo_dp_variance_people_trans,
    PEOPLE,
    take_contribution
);

fn variance_of_people(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance's final function.
    unsafe { PEOPLE.release(call) }.variance.into_datum()
}

final_function!(
    dp_variance_people_final,
    pg_finfo_dp_variance_people_final,
    PEOPLE,
    variance_of_people
);

fn stddev_of_people(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_stddev's final function.
    unsafe { PEOPLE.release(call) }.stddev.into_datum()
}

final_function!(
    dp_stddev_people_final,
    pg_finfo_dp_stddev_people_final,
    PEOPLE,
    stddev_of_people
);

/// The same of contributions.
pub static ESTIMATE_OF_PEOPLE: Aggregate<OfMoments<Estimate<VarianceAnswer>>> = Aggregate {
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
    dp_variance_estimate_people_trans,
    pg_finfo_dp_variance_estimate_people_trans,
    ESTIMATE_OF_PEOPLE,
    take_contribution
);

fn estimate_of_people(call: Call) -> Option<Datum> {
    answer_estimate(&ESTIMATE_OF_PEOPLE, call)
}

final_function!(
    dp_variance_estimate_people_final,
    pg_finfo_dp_variance_estimate_people_final,
    ESTIMATE_OF_PEOPLE,
    estimate_of_people
);
