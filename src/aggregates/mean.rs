//! `dp_mean(x, lo, hi, eps [, mech])` and `dp_mean_and_count` with the same arguments.

use dp_core::grid::Grid;
use dp_core::mechanism::mean::Mean;
use dp_core::mechanism::{self, MeanAnswer};
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, add_value, transition_function, value};
use crate::call_site::CallSite;
use crate::fmgr::{Call, composite, sql_function};
use crate::plan::Role;

static MEAN: Aggregate<Mean> = Aggregate {
    name: "dp_mean",
    registry: &mechanism::MEAN,
    shape: Shape::Bounded,
};

impl Aggregate<Mean> {
    /// What the transition function does beyond the plain case.
    ///
    /// # Safety
    /// `call` is a call of dp_mean's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Datum {
        CallSite::with(call, Role::Transition, self, |site| {
            match site.mechanism_of_row(call) {
                Mean::Sums(mechanism) => {
                    let grid = mechanism.grid().unwrap_or(Grid::NONE);
                    // SAFETY: by the caller's word.
                    unsafe { self.first_row(call, grid, grid.steps(value(call))) }
                }
            }
        })
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of a final function of dp_mean or dp_mean_and_count.
    unsafe fn release(&'static self, call: Call) -> MeanAnswer {
        CallSite::with(call, Role::Final, self, |site| {
            match site.mechanism_of_plan(call) {
                // SAFETY: by the caller's word.
                Mean::Sums(mechanism) => unsafe { self.release_sums(call, &**mechanism) },
            }
        })
    }
}

transition_function!(dp_mean_trans, pg_finfo_dp_mean_trans, MEAN, add_value);

fn mean(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_mean's final function.
    let answer = unsafe { MEAN.release(call) };
    answer.mean.into_datum()
}

sql_function!(dp_mean_final, pg_finfo_dp_mean_final, mean);

fn mean_and_count(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_mean_and_count's final function.
    let answer = unsafe { MEAN.release(call) };
    // SAFETY: the SQL declaration makes it return (float8, float8).
    Some(unsafe { composite(call, [answer.mean, answer.count].map(IntoDatum::into_datum)) })
}

sql_function!(
    dp_mean_and_count_final,
    pg_finfo_dp_mean_and_count_final,
    mean_and_count
);
