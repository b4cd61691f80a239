//! `dp_var_pop(x, lo, hi, eps [, mech])`, `dp_stddev_pop` with the same arguments, and
//! `dp_var_pop_estimate(x, lo, hi, eps [, mech [, confidence]])`.

use dp_core::encoding::grid::Grid;
use dp_core::encoding::squares::Squares;
use dp_core::encoding::sums::Moments;
use dp_core::estimate::{Estimate, Estimates, VarianceEstimate};
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::variance::inputs::{SomeVariance, VarianceMechanism};
use dp_core::mechanism::variance::moments::VarianceAnswer;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::estimate::row;
use crate::aggregates::shared::people::{OfSums, contribution, take_contribution};
use crate::aggregates::shared::scalars::{InOctaves, Releases, add_value, value};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::release::release;
use crate::call::signature::{CONFIDENCE, EPS, HI, LO, MECH, Signature, X, X_CONTRIBUTION};
use crate::call::site::{CallSite, Price};
use crate::pg::composite::composite;
use crate::pg::errors::Refusal;
use crate::pg::fmgr::Call;
use crate::plan::planned_call::SupportFunction;
use crate::state::log_bins::longest;
use crate::state::scalar::State;
use crate::state::wire_format::Form;

/// A mechanism of moments that answers with an `A`.
type OfMoments<A> = dyn Mechanism<Moments, Answer = A>;

pub static VARIANCE: Aggregate<SomeVariance> = Aggregate {
    name: "dp_var_pop",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &registry::VARIANCE,
};

pub static ESTIMATE: Aggregate<VarianceEstimate> = Aggregate {
    name: "dp_var_pop_estimate",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5), CONFIDENCE.given_from(6)]),
    mechanisms: &Estimates(&registry::VARIANCE),
};

impl Aggregate<SomeVariance> {
    /// What the transition function does beyond the plain case: the first row of a group, a row in bins that have no
    /// page yet, and everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of dp_var_pop's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        CallSite::with(call, SupportFunction::Transition, self, |site| {
            // SAFETY: the caller guarantees it.
            unsafe {
                match site.mechanism_of_row(call)? {
                    SomeVariance::Moments(mechanism) => {
                        let grid = mechanism.grid().unwrap_or(Grid::NONE);
                        let mut state = State::<Moments>::new(grid);
                        state.take(value(call));
                        self.first_row(call, state)
                    }
                    SomeVariance::Auto(mechanism) => {
                        self.row_in_octave::<Squares>(call, mechanism.limits())
                    }
                }
            }
        })
    }
}

impl Releases<VarianceAnswer> for Aggregate<SomeVariance> {
    unsafe fn release(&'static self, call: Call) -> VarianceAnswer {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            // SAFETY: the caller guarantees it.
            unsafe {
                match site.mechanism_of_plan()? {
                    SomeVariance::Moments(mechanism) => self.release_state(call, &**mechanism),
                    SomeVariance::Auto(mechanism) => {
                        let counts = self.octave_counts(call, mechanism.limits())?;
                        Ok(release(&**mechanism, &counts).answer)
                    }
                }
            }
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// What a call of dp_var_pop with these arguments says of its states; `None` where the call is refused.
///
/// # Safety
/// See [`Aggregate::made_of`].
pub unsafe fn form(values: &[Option<Option<Datum>>]) -> Option<Form> {
    // SAFETY: the caller guarantees it.
    Some(
        match unsafe { VARIANCE.made_of(values) }?.mechanism.as_ref() {
            SomeVariance::Moments(mechanism) => {
                Form::Moments(mechanism.grid().unwrap_or(Grid::NONE))
            }
            SomeVariance::Auto(_) => Form::Any(longest::<Squares>()),
        },
    )
}

impl<A: 'static> Aggregate<OfMoments<A>> {
    /// What the transition function of contributions does with one.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let (grid, unit) = CallSite::with(call, SupportFunction::Transition, self, |site| {
            let grid = site.mechanism_of_row(call)?.grid().unwrap_or(Grid::NONE);
            Ok((grid, site.unit()))
        })?;
        // SAFETY: the caller guarantees it.
        unsafe {
            let given = contribution(call, unit);
            let moments = given.map(|(bounds, given)| given.moments(&bounds, &grid));
            self.add_sums(call, grid, &moments.unwrap_or_default())
        }
    }

    /// A release of the group, or of no rows where there is no state, and what it costs.
    ///
    /// # Safety
    /// `call` is a call of a final function of this aggregate.
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

impl<A: 'static> Releases<A> for Aggregate<OfMoments<A>> {
    unsafe fn release(&'static self, call: Call) -> A {
        // SAFETY: the caller guarantees it.
        unsafe { self.release_and_cost(call) }.0
    }
}

impl<A: 'static> Releases<(Estimate<A>, Price)> for Aggregate<OfMoments<Estimate<A>>> {
    unsafe fn release(&'static self, call: Call) -> (Estimate<A>, Price) {
        // SAFETY: the caller guarantees it.
        unsafe { self.release_and_cost(call) }
    }
}

transition_function!(
    dp_variance_trans,
    VARIANCE,
    add_value::<Moments, InOctaves<Squares>>
);

fn variance(aggregate: &'static impl Releases<VarianceAnswer>, call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_var_pop's final function.
    unsafe { aggregate.release(call) }.variance.into_datum()
}

final_function!(dp_variance_final, VARIANCE => variance);

fn stddev(aggregate: &'static impl Releases<VarianceAnswer>, call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_stddev_pop's final function.
    unsafe { aggregate.release(call) }.stddev.into_datum()
}

final_function!(dp_stddev_final, VARIANCE => stddev);

transition_function!(
    dp_variance_estimate_trans,
    ESTIMATE,
    add_value::<Moments, InOctaves<Squares>>
);

fn variance_estimate(
    aggregate: &'static impl Releases<(Estimate<VarianceAnswer>, Price)>,
    call: Call,
) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_var_pop_estimate's final function, which returns twelve float8
    // and what it cost.
    unsafe {
        let (estimate, price) = aggregate.release(call);
        Some(row(call, numbers(&estimate), &price))
    }
}

/// The numbers of an answer with its intervals; those of the mean are NULL where bounds were found.
fn numbers(estimate: &Estimate<VarianceAnswer>) -> [Option<Datum>; 12] {
    let (answer, interval) = (&estimate.answer, estimate.interval);
    let [lower, upper] = answer.variance_between(interval);
    let of_rows = |i: usize| estimate.mean.map(|ends| ends.of_rows[i]);
    let of_population = |i: usize| estimate.mean.map(|ends| ends.of_population[i]);
    let numbers = [
        Some(answer.variance),
        Some(lower),
        Some(upper),
        Some(answer.stddev),
        Some(interval[0]),
        Some(interval[1]),
        Some(answer.mean),
        of_rows(0),
        of_rows(1),
        of_population(0),
        of_population(1),
        Some(answer.count),
    ];
    numbers.map(IntoDatum::into_datum)
}

final_function!(dp_variance_estimate_final_0_2, ESTIMATE => variance_estimate);

fn estimate_0_1(call: Call) -> Option<Datum> {
    // SAFETY: the SQL of 0.1.0 makes it dp_var_pop_estimate's final function, which returns four float8.
    unsafe {
        let answer = VARIANCE.release(call);
        let columns = [answer.variance, answer.stddev, answer.mean, answer.count];
        Some(composite(call, columns.map(IntoDatum::into_datum)))
    }
}

final_function!(dp_variance_estimate_final, VARIANCE, estimate_0_1);

/// As above, for contributions.
pub static PEOPLE: Aggregate<VarianceMechanism> = Aggregate {
    name: VARIANCE.name,
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &OfSums {
        registry: &registry::VARIANCE,
        of_sums: SomeVariance::moments,
        instead: ["laplace", "avg(x)"],
    },
};

transition_function!(dp_variance_people_trans, PEOPLE, take_contribution);

final_function!(dp_variance_people_final, PEOPLE => variance);

final_function!(dp_stddev_people_final, PEOPLE => stddev);

/// As above, for contributions.
pub static ESTIMATE_OF_PEOPLE: Aggregate<OfMoments<Estimate<VarianceAnswer>>> = Aggregate {
    signature: Signature::new(&[
        X_CONTRIBUTION,
        LO,
        HI,
        EPS,
        MECH.given_from(5),
        CONFIDENCE.given_from(6),
    ]),
    name: ESTIMATE.name,
    mechanisms: &Estimates(&registry::VARIANCE),
};

transition_function!(
    dp_variance_estimate_people_trans,
    ESTIMATE_OF_PEOPLE,
    take_contribution
);

final_function!(dp_variance_estimate_people_final, ESTIMATE_OF_PEOPLE => variance_estimate);
