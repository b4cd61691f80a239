//! `dp_variance(x, lo, hi, eps [, mech])`, and `dp_stddev` and `dp_variance_estimate` with the same
//! arguments.

use dp_core::grid::Grid;
use dp_core::mechanism;
use dp_core::mechanism::variance::{OfMoments, VarianceAnswer};
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregate::{Aggregate, Shape, transition_function, value};
use crate::call_site::CallSite;
use crate::errors;
use crate::fmgr::{self, Call, argument, composite, float8, sql_function};
use crate::moments_state::MomentsState;
use crate::plan::Role;
use crate::release::release;

static VARIANCE: Aggregate<OfMoments> = Aggregate {
    name: "dp_variance",
    mechanisms: &mechanism::VARIANCE,
    shape: Shape::Bounded,
};

impl Aggregate<OfMoments> {
    /// What the transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of dp_variance's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Datum {
        let grid = CallSite::with(call, Role::Transition, self, |site| {
            grid_of(site.mechanism_of_row(call))
        });
        if let Some(datum) = call.datum(0) {
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            unsafe { self.state(datum, &grid) };
            errors::bad_state()
        }
        let mut state = MomentsState::new(grid);
        state.add(grid.coarse_steps(value(call)));
        // The executor copies it into the aggregate's own memory.
        state.into_datum()
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of a final function of dp_variance or its like.
    unsafe fn release(&'static self, call: Call) -> VarianceAnswer {
        CallSite::with(call, Role::Final, self, |site| {
            let mechanism = site.mechanism_of_plan(call);
            let grid = grid_of(mechanism);
            let moments = match call.datum(0) {
                // SAFETY: the SQL declaration makes argument 0 a dp_state.
                Some(datum) => unsafe { self.state(datum, &grid) }.moments(),
                None => MomentsState::new(grid).moments(),
            };
            release(mechanism, &moments)
        })
    }

    /// The state of a group on this grid. Another grid means that an argument changed on the way,
    /// through a function that calls itself stable and is not.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    unsafe fn state<'a>(&self, datum: Datum, grid: &Grid) -> &'a MomentsState {
        // SAFETY: by the caller's word.
        let state = unsafe { MomentsState::of(datum) }.unwrap_or_else(|| errors::bad_state());
        if !state.grid().same(grid) {
            let argument = state.grid().changed_bound(grid).unwrap_or("mech");
            errors::depends_on_rows(self.name, argument);
        }
        state
    }
}

fn grid_of(mechanism: &OfMoments) -> Grid {
    mechanism.grid().unwrap_or(Grid::NONE)
}

/// The transition function `(state, x, lo, hi, ...)`: NULL and NaN are ignored, everything else
/// becomes steps of the coarser grid. `rest` takes all but the plain case.
///
/// # Safety
/// As for [`add_value`](crate::aggregate::add_value).
#[inline(always)]
unsafe fn add_moments(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: four arguments, by the declaration; a non-NULL first one is a varlena.
    unsafe {
        if !fmgr::in_aggregate(fcinfo) {
            return rest(fcinfo);
        }
        let [state, x] = [argument(fcinfo, 0), argument(fcinfo, 1)];
        if x.isnull || float8(x.value).is_nan() {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        if state.isnull {
            return rest(fcinfo);
        }
        let [lo, hi] = [argument(fcinfo, 2), argument(fcinfo, 3)];
        match MomentsState::of(state.value) {
            Some(group)
                if group.grid().lo().to_bits() == lo.value.value() as u64
                    && group.grid().hi().to_bits() == hi.value.value() as u64 =>
            {
                group.add(group.grid().coarse_steps(float8(x.value)));
                state.value
            }
            _ => rest(fcinfo),
        }
    }
}

transition_function!(
    dp_variance_trans,
    pg_finfo_dp_variance_trans,
    VARIANCE,
    add_moments
);

fn variance(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance's final function.
    unsafe { VARIANCE.release(call) }.variance.into_datum()
}

sql_function!(dp_variance_final, pg_finfo_dp_variance_final, variance);

fn stddev(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_stddev's final function.
    unsafe { VARIANCE.release(call) }.stddev.into_datum()
}

sql_function!(dp_stddev_final, pg_finfo_dp_stddev_final, stddev);

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_variance_estimate's final function.
    let answer = unsafe { VARIANCE.release(call) };
    let columns = [answer.variance, answer.stddev, answer.mean, answer.count];
    // SAFETY: the SQL declaration makes it return four float8.
    Some(unsafe { composite(call, columns.map(IntoDatum::into_datum)) })
}

sql_function!(
    dp_variance_estimate_final,
    pg_finfo_dp_variance_estimate_final,
    estimate
);
