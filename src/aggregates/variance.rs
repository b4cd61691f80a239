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

use crate::aggregate::{Aggregate, Shape, add_value, transition_function, value};
use crate::call_site::CallSite;
use crate::errors::Refusal;
use crate::estimate::row;
use crate::fmgr::{Call, composite, final_function};
use crate::plan::Role;
use crate::state::State;

/// A mechanism of moments that answers with an `A`.
type OfMoments<A> = dyn Mechanism<Moments, Answer = A>;

static VARIANCE: Aggregate<VarianceMechanism> = Aggregate {
    name: "dp_variance",
    mechanisms: &registry::VARIANCE,
    shape: Shape::Bounded,
};

static VARIANCE_ESTIMATE: Aggregate<OfMoments<Estimate<VarianceAnswer>>> = Aggregate {
    name: "dp_variance_estimate",
    mechanisms: &Estimates(&registry::VARIANCE),
    shape: Shape::Bounded,
};

impl<A: 'static> Aggregate<OfMoments<A>> {
    /// What the transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let grid = CallSite::with(call, Role::Transition, self, |site| {
            Ok(site.mechanism_of_row(call)?.grid())
        })?;
        let mut state = State::<Moments>::new(grid.unwrap_or(Grid::NONE));
        state.take(value(call));
        // SAFETY: by the caller's word.
        unsafe { self.first_row(call, state) }
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function, or of its like's.
    unsafe fn release(&'static self, call: Call) -> A {
        CallSite::with(call, Role::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            // SAFETY: by the caller's word.
            unsafe { self.release_state(call, mechanism) }
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

transition_function!(
    dp_variance_estimate_trans,
    pg_finfo_dp_variance_estimate_trans,
    VARIANCE_ESTIMATE,
    add_value::<Moments, false>
);

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance_estimate's final function, which returns eight float8
    // and what it cost.
    unsafe {
        row(call, VARIANCE_ESTIMATE.release(call), |answer, stddev| {
            let [lower, upper] = answer.variance_between(stddev);
            let variance = [answer.variance, lower, upper];
            let stddev = [answer.stddev, stddev[0], stddev[1]];
            let [value, lower, upper] = variance.map(IntoDatum::into_datum);
            let [stddev, stddev_lower, stddev_upper] = stddev.map(IntoDatum::into_datum);
            let [mean, count] = [answer.mean, answer.count].map(IntoDatum::into_datum);
            [
                value,
                lower,
                upper,
                stddev,
                stddev_lower,
                stddev_upper,
                mean,
                count,
            ]
        })
    }
}

final_function!(
    dp_variance_estimate_final_0_2,
    pg_finfo_dp_variance_estimate_final_0_2,
    VARIANCE_ESTIMATE,
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
