//! `dp_variance(x, lo, hi, eps [, mech])`, and `dp_stddev` and `dp_variance_estimate` with the same
//! arguments.

use std::rc::Rc;

use dp_core::encoding::grid::Grid;
use dp_core::encoding::sums::Moments;
use dp_core::mechanism::variance::moments::{VarianceAnswer, VarianceMechanism};
use dp_core::registry::{self, Spent};
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::estimate::row;
use crate::aggregates::shared::people::{contribution, take_contribution};
use crate::aggregates::shared::scalars::{add_value, value};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, HI, LO, MECH, Signature, X, X_CONTRIBUTION};
use crate::call::site::CallSite;
use crate::pg::composite::composite;
use crate::pg::errors::Refusal;
use crate::pg::fmgr::Call;
use crate::pg::plan::SupportFunction;
use crate::state::scalar::State;

pub static VARIANCE: Aggregate<VarianceMechanism> = Aggregate {
    name: "dp_variance",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &registry::VARIANCE,
};

impl Aggregate<VarianceMechanism> {
    /// What the transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of dp_variance's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let grid = CallSite::with(call, SupportFunction::Transition, self, |site| {
            Ok(site.mechanism_of_row(call)?.grid())
        })?;
        let mut state = State::<Moments>::new(grid.unwrap_or(Grid::NONE));
        state.take(value(call));
        // SAFETY: the caller guarantees it.
        unsafe { self.first_row(call, state) }
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of a final function of dp_variance or its like.
    unsafe fn release(&'static self, call: Call) -> VarianceAnswer {
        // SAFETY: the caller guarantees it.
        unsafe { self.release_and_cost(call) }.0
    }

    /// The same, and what it costs.
    unsafe fn release_and_cost(&'static self, call: Call) -> (VarianceAnswer, Rc<Spent>) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            // SAFETY: the caller guarantees it.
            let answer = unsafe { self.release_state(call, mechanism) }?;
            Ok((answer, site.spent()))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
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

/// What a dp_variance_answer begins with.
fn columns(answer: &VarianceAnswer) -> [Option<Datum>; 4] {
    let columns = [answer.variance, answer.stddev, answer.mean, answer.count];
    columns.map(IntoDatum::into_datum)
}

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance_estimate's final function, which returns four float8 and
    // what it cost.
    unsafe {
        let (answer, spent) = VARIANCE.release_and_cost(call);
        Some(row(call, columns(&answer), &spent))
    }
}

final_function!(
    dp_variance_estimate_final_0_2,
    pg_finfo_dp_variance_estimate_final_0_2,
    VARIANCE,
    estimate
);

fn estimate_0_1(call: Call) -> Option<Datum> {
    // SAFETY: the SQL of 0.1.0 makes it dp_variance_estimate's final function, which returns four float8.
    unsafe { Some(composite(call, columns(&VARIANCE.release(call)))) }
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

/// Takes contributions in.
struct OfPeople;

impl OfPeople {
    /// What the transition function does with a contribution.
    ///
    /// # Safety
    /// `call` is a call of dp_variance's transition function of contributions.
    unsafe fn other_row(&self, call: Call) -> Result<Datum, Refusal> {
        let aggregate = &PEOPLE;
        let (grid, rows) = CallSite::with(call, SupportFunction::Transition, aggregate, |site| {
            let grid = site.mechanism_of_row(call)?.grid().unwrap_or(Grid::NONE);
            Ok((grid, site.rows()))
        })?;
        // SAFETY: the caller guarantees it.
        unsafe {
            let given = contribution(call, rows);
            let moments = given.map(|(bounds, given)| given.moments(&bounds, &grid));
            aggregate.add_sums(call, grid, &moments.unwrap_or_default())
        }
    }
}

transition_function!(
    dp_variance_people_trans,
    pg_finfo_dp_variance_people_trans,
    OfPeople,
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

fn estimate_of_people(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance_estimate's final function, with these columns.
    unsafe {
        let (answer, spent) = PEOPLE.release_and_cost(call);
        Some(row(call, columns(&answer), &spent))
    }
}

final_function!(
    dp_variance_estimate_people_final,
    pg_finfo_dp_variance_estimate_people_final,
    PEOPLE,
    estimate_of_people
);
