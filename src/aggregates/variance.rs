//! `dp_variance(x, lo, hi, eps [, mech])`, and `dp_stddev` and `dp_variance_estimate` with the same
//! arguments.

use dp_core::encoding::grid::Grid;
use dp_core::encoding::sums::Moments;
use dp_core::mechanism::variance::moments::{VarianceAnswer, VarianceMechanism};
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::scalars::{add_value, value};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, HI, LO, MECH, Signature, X};
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
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            // SAFETY: the caller guarantees it.
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

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance_estimate's final function.
    let answer = unsafe { VARIANCE.release(call) };
    let columns = [answer.variance, answer.stddev, answer.mean, answer.count];
    // SAFETY: the SQL declaration makes it return four float8.
    Some(unsafe { composite(call, columns.map(IntoDatum::into_datum)) })
}

final_function!(
    dp_variance_estimate_final,
    pg_finfo_dp_variance_estimate_final,
    VARIANCE,
    estimate
);
