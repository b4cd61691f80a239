//! `dp_mean(x, lo, hi, eps [, mech])` and `dp_mean_and_count` with the same arguments.

use dp_core::encoding::cells::CellCounts;
use dp_core::encoding::grid::Grid;
use dp_core::encoding::log_bins::Content;
use dp_core::encoding::sums::Sums;
use dp_core::estimate::{Estimate, Estimates, SomeEstimate};
use dp_core::mechanism::definition::{Mechanism, Scalar};
use dp_core::mechanism::mean::answer::MeanAnswer;
use dp_core::mechanism::mean::inputs::{CellsMean, Mean};
use dp_core::mechanism::mean::pathological::device::Pathological;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::estimate::estimate;
use crate::aggregates::shared::people::{OfSums, add_contribution};
use crate::aggregates::shared::scalars::{InCellsOrOctaves, Releases, add_value, value};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::group::state as state_of;
use crate::call::offset::word_of_group;
use crate::call::release::release;
use crate::call::signature::{CONFIDENCE, EPS, HI, LO, MECH, Signature, X, X_CONTRIBUTION};
use crate::call::site::{CallSite, Price};
use crate::pg::composite::composite;
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::Call;
use crate::plan::planned_call::SupportFunction;
use crate::state::cells::CellState;
use crate::state::log_bins::longest;
use crate::state::scalar::State;
use crate::state::wire_format::Form;

pub static MEAN: Aggregate<Mean> = Aggregate {
    name: "dp_mean",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &registry::MEAN,
};

impl Aggregate<Mean> {
    /// What the transition function does beyond the plain case: the first row of a group, a row in a
    /// cell that has none yet, and everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of dp_mean's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        CallSite::with(call, SupportFunction::Transition, self, |site| {
            // SAFETY: the caller guarantees it.
            unsafe {
                match site.mechanism_of_row(call)? {
                    Mean::Sums(mechanism) => {
                        let mut state = State::<Sums>::new(mechanism.grid().unwrap_or(Grid::NONE));
                        state.take(value(call));
                        self.first_row(call, state)
                    }
                    Mean::Cells(mechanism) => self.row_in_cell(call, &**mechanism),
                    Mean::Auto(mechanism) => {
                        self.row_in_octave::<Content>(call, mechanism.limits())
                    }
                    Mean::Pathological(device) => self.row_with_coin(call, device),
                }
            }
        })
    }

    unsafe fn row_in_cell(&self, call: Call, mechanism: &dyn CellsMean) -> Result<Datum, Refusal> {
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let state = match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(datum) => unsafe { self.cells(datum, mechanism) }?,
            // SAFETY: a call site was found, so the caller is an aggregate, of means.
            None => CellState::new(mechanism.line(unsafe { word_of_group(call) })),
        };
        let cell = state.line().cell_of(value(call));
        // The executor copies it into the aggregate's own memory.
        Ok(state.add(cell).into_datum())
    }

    /// The state of a group for this mechanism.
    unsafe fn cells<'a>(
        &self,
        datum: Datum,
        mechanism: &dyn CellsMean,
    ) -> Result<CellState<'a>, Refusal> {
        // SAFETY: the SQL declaration makes it a dp_state.
        let state = unsafe { self.found(CellState::of(datum), datum) }?;
        if !state.line().same_cells(&mechanism.line(0)) {
            return Err(errors::depends_on_rows(self.name, "mech"));
        }
        Ok(state)
    }
}

impl Releases<MeanAnswer> for Aggregate<Mean> {
    unsafe fn release(&'static self, call: Call) -> MeanAnswer {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            // SAFETY: the caller guarantees it.
            unsafe {
                match site.mechanism_of_plan()? {
                    Mean::Sums(mechanism) => self.release_state(call, &**mechanism),
                    Mean::Cells(mechanism) => {
                        // SAFETY: the SQL declaration makes argument 0 a dp_state.
                        let histogram = match state_of(call) {
                            Some(datum) => self.cells(datum, &**mechanism)?.histogram(),
                            None => CellCounts::new(mechanism.line(0)),
                        };
                        Ok(release(&**mechanism, &histogram))
                    }
                    Mean::Auto(mechanism) => {
                        let counts = self.octave_counts(call, mechanism.limits())?;
                        Ok(release(&**mechanism, &counts).answer)
                    }
                    Mean::Pathological(device) => self.release_device(call, device),
                }
            }
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// What a call of dp_mean with these arguments says of its states: of cells, which have no end, the bytes of a
/// kilobyte's. `None` where the call is refused.
///
/// # Safety
/// See [`Aggregate::made_of`].
pub unsafe fn form(values: &[Option<Option<Datum>>]) -> Option<Form> {
    // SAFETY: the caller guarantees it.
    Some(match unsafe { MEAN.made_of(values) }?.mechanism.as_ref() {
        Mean::Sums(mechanism) => Form::Sums(mechanism.grid().unwrap_or(Grid::NONE)),
        Mean::Pathological(Pathological::Sums(mechanism)) => {
            Form::Sums(mechanism.grid().unwrap_or(Grid::NONE))
        }
        Mean::Cells(_) | Mean::Pathological(Pathological::Cells(_)) => Form::Any(1024),
        Mean::Auto(_) => Form::Any(longest::<Content>()),
    })
}

transition_function!(dp_mean_trans, MEAN, add_value::<Sums, InCellsOrOctaves>);

fn mean(aggregate: &'static impl Releases<MeanAnswer>, call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_mean's final function.
    let answer = unsafe { aggregate.release(call) };
    answer.mean.into_datum()
}

final_function!(dp_mean_final, MEAN => mean);

fn mean_and_count(aggregate: &'static impl Releases<MeanAnswer>, call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_mean_and_count's final function.
    let answer = unsafe { aggregate.release(call) };
    // SAFETY: the SQL declaration makes it return (float8, float8).
    Some(unsafe { composite(call, [answer.mean, answer.count].map(IntoDatum::into_datum)) })
}

final_function!(dp_mean_and_count_final, MEAN => mean_and_count);

/// As above, for contributions.
pub static PEOPLE: Aggregate<Scalar<MeanAnswer>> = Aggregate {
    name: "dp_mean",
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &OfSums {
        registry: &registry::MEAN,
        of_sums: Mean::sums,
        instead: ["hourglass", "avg(x)"],
    },
};

transition_function!(
    dp_mean_people_trans,
    PEOPLE,
    add_contribution::<Scalar<MeanAnswer>>
);

final_function!(dp_mean_people_final, PEOPLE => mean);

final_function!(dp_mean_and_count_people_final, PEOPLE => mean_and_count);

pub static ESTIMATE: Aggregate<SomeEstimate<MeanAnswer>> = Aggregate {
    name: "dp_mean_estimate",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5), CONFIDENCE.given_from(6)]),
    mechanisms: &Estimates(&registry::MEAN),
};

transition_function!(
    dp_mean_estimate_trans,
    ESTIMATE,
    add_value::<Sums, InCellsOrOctaves>
);

/// The numbers of an answer with its interval.
fn numbers(MeanAnswer { mean, count }: MeanAnswer, [lower, upper]: [f64; 2]) -> [Option<Datum>; 4] {
    [mean, Some(lower), Some(upper), count].map(IntoDatum::into_datum)
}

fn mean_estimate(
    aggregate: &'static impl Releases<(Estimate<MeanAnswer>, Price)>,
    call: Call,
) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_mean_estimate's final function, with these columns.
    unsafe { estimate(aggregate, call, numbers) }
}

final_function!(dp_mean_estimate_final, ESTIMATE => mean_estimate);

/// As above, for contributions.
pub static ESTIMATE_OF_PEOPLE: Aggregate<Scalar<Estimate<MeanAnswer>>> = Aggregate {
    signature: Signature::new(&[
        X_CONTRIBUTION,
        LO,
        HI,
        EPS,
        MECH.given_from(5),
        CONFIDENCE.given_from(6),
    ]),
    name: ESTIMATE.name,
    mechanisms: &Estimates(&registry::MEAN),
};

transition_function!(
    dp_mean_estimate_people_trans,
    ESTIMATE_OF_PEOPLE,
    add_contribution::<Scalar<Estimate<MeanAnswer>>>
);

final_function!(dp_mean_estimate_people_final, ESTIMATE_OF_PEOPLE => mean_estimate);
