//! `dp_contribution(x, lo, hi [, k])` and `dp_contribution_sum(x, lo, hi)`: what a person contributes, for the
//! aggregates that take it where `x` stands.
//!
//! No answer leaves here, so nothing is released; and nothing is raised for arguments that break their rules. An
//! ERROR would tell that some person has a row. Such a person contributes NULL, and the call that takes contributions
//! in finds the mistake in the plan, with rows or without: see `call/site.rs`.

use std::rc::Rc;

use dp_core::encoding::contribution::{Contribution, PersonRows, PersonTotal};
use dp_core::encoding::grid::{Bounds, Grid, UnitGrid};
use dp_core::error::ParameterError;
use dp_core::privacy::cost::Cost;
use dp_core::registry::{Factory, Made, Spent};
use dp_core::request::arguments::Arguments;
use dp_core::request::checked::Overspent;
use dp_core::request::contribution::ContributionRule;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::scalars::{NoOthers, add_value, value};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::group::state;
use crate::call::signature::{OF_CONTRIBUTION, OF_TOTAL};
use crate::call::site::CallSite;
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::Call;
use crate::plan::planned_call::SupportFunction;
use crate::state::poisoned::Refused;
use crate::state::scalar::{ColumnGrid, RowSums, State};
use crate::types::contribution::Sealed;

/// What a person's rows are added up to, and how that becomes a contribution.
trait Person: RowSums<Grid: ColumnGrid, Row = f64> {
    /// The grid of the rows.
    fn grid(bounds: &Bounds) -> Self::Grid;

    fn contribution(&self, bounds: &Bounds, k: u32) -> Option<Contribution>;
}

impl Person for PersonRows {
    fn grid(bounds: &Bounds) -> UnitGrid {
        UnitGrid::new(bounds)
    }

    fn contribution(&self, _bounds: &Bounds, k: u32) -> Option<Contribution> {
        PersonRows::contribution(self, k)
    }
}

impl Person for PersonTotal {
    fn grid(bounds: &Bounds) -> Grid {
        Grid::signed(bounds)
    }

    fn contribution(&self, bounds: &Bounds, _k: u32) -> Option<Contribution> {
        PersonTotal::contribution(self, bounds)
    }
}

/// Makes the rule of a call from its arguments.
pub struct Rules;

impl Factory<ContributionRule> for Rules {
    fn make(
        &self,
        arguments: &Arguments,
        _confidence: Option<Option<f64>>,
        _overspent: Overspent,
    ) -> Result<Made<ContributionRule>, ParameterError> {
        Ok(Made {
            mechanism: Box::new(ContributionRule::new(arguments)?),
            // Nothing is released.
            spent: Rc::new(Spent {
                cost: Cost {
                    epsilon: None,
                    delta: None,
                    rho: 0.0,
                    half_square: 0.0,
                    failure: 0.0,
                    mu: None,
                },
                mechanism: String::new(),
            }),
        })
    }
}

pub static CONTRIBUTION: Aggregate<ContributionRule> = Aggregate {
    name: "dp_contribution",
    signature: OF_CONTRIBUTION,
    mechanisms: &Rules,
};

pub static CONTRIBUTION_SUM: Aggregate<ContributionRule> = Aggregate {
    name: "dp_contribution_sum",
    signature: OF_TOTAL,
    mechanisms: &Rules,
};

impl Aggregate<ContributionRule> {
    /// What a transition function does beyond the plain case: the first row of a person, and everything that must
    /// not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    unsafe fn row<P: Person>(&'static self, call: Call) -> Result<Datum, Refusal> {
        if !call.in_aggregate() {
            errors::not_our_aggregate(self.name).raise();
        }
        let grid = CallSite::with(call, SupportFunction::Transition, self, |site| {
            Ok(P::grid(&site.mechanism_of_row(call)?.bounds))
        });
        let first = grid.and_then(|grid| {
            let mut state = State::<P>::new(grid);
            state.take(value(call));
            // SAFETY: the caller guarantees it.
            unsafe { self.first_row(call, state) }
        });
        // The call that takes the contribution in finds the mistake.
        Ok(first.unwrap_or_else(|_| Refused::new(0).into_datum()))
    }

    /// What the person contributes; `None` where no row was valid, or the call is not.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    unsafe fn contribution<P: Person>(&'static self, call: Call) -> Option<Datum> {
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let datum = unsafe { state(call) }?;
        let rule = |site: &mut CallSite<ContributionRule>| {
            let ContributionRule { bounds, k } = site.mechanism_of_plan()?;
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            let person = unsafe { self.sums_of::<P>(datum, &P::grid(bounds)) }?;
            let contribution = person.contribution(bounds, *k);
            Ok(contribution.map(|given| Sealed::new(bounds, &given).into_datum()))
        };
        let given = CallSite::with(call, SupportFunction::Final, self, rule);
        given.unwrap_or(None)
    }
}

/// The two aggregates, each with the state that its rows are added up in.
struct RowsOfPerson;
struct TotalOfPerson;

impl RowsOfPerson {
    unsafe fn other_row(&self, call: Call) -> Result<Datum, Refusal> {
        // SAFETY: the SQL declaration makes it dp_contribution's transition function.
        unsafe { CONTRIBUTION.row::<PersonRows>(call) }
    }
}

impl TotalOfPerson {
    unsafe fn other_row(&self, call: Call) -> Result<Datum, Refusal> {
        // SAFETY: the SQL declaration makes it dp_contribution_sum's transition function.
        unsafe { CONTRIBUTION_SUM.row::<PersonTotal>(call) }
    }
}

transition_function!(
    dp_contribution_trans,
    RowsOfPerson,
    add_value::<PersonRows, NoOthers>
);
transition_function!(
    dp_contribution_sum_trans,
    TotalOfPerson,
    add_value::<PersonTotal, NoOthers>
);

fn of_rows(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_contribution's final function.
    unsafe { CONTRIBUTION.contribution::<PersonRows>(call) }
}

fn of_total(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_contribution_sum's final function.
    unsafe { CONTRIBUTION_SUM.contribution::<PersonTotal>(call) }
}

final_function!(dp_contribution_final, CONTRIBUTION, of_rows);
final_function!(dp_contribution_sum_final, CONTRIBUTION_SUM, of_total);
