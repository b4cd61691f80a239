//! `dp_sum(x, lo, hi, eps [, mech])`, and `dp_sum_estimate` with its interval.

use dp_core::encoding::grid::Grid;
use dp_core::encoding::log_bins::Content;
use dp_core::encoding::sums::Sums;
use dp_core::estimate::{Estimate, Estimates, SomeEstimate};
use dp_core::mechanism::definition::Scalar;
use dp_core::mechanism::sum::inputs::SumMechanism;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::estimate::estimate;
use crate::aggregates::shared::people::{OfSums, add_contribution};
use crate::aggregates::shared::scalars::{InOctaves, Releases, add_value, value};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::release::release;
use crate::call::signature::{CONFIDENCE, EPS, HI, LO, MECH, Signature, X, X_CONTRIBUTION};
use crate::call::site::{CallSite, Price};
use crate::pg::errors::Refusal;
use crate::pg::fmgr::Call;
use crate::plan::planned_call::SupportFunction;
use crate::state::log_bins::longest;
use crate::state::scalar::State;
use crate::state::wire_format::Form;

pub static SUM: Aggregate<SumMechanism> = Aggregate {
    name: "dp_sum",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &registry::SUM,
};

impl Aggregate<SumMechanism> {
    /// What the transition function does beyond the plain case: the first row of a group, a row in bins that have no
    /// page yet, and everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of dp_sum's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        CallSite::with(call, SupportFunction::Transition, self, |site| {
            // SAFETY: the caller guarantees it.
            unsafe {
                match site.mechanism_of_row(call)? {
                    SumMechanism::Sums(mechanism) => {
                        let mut state = State::<Sums>::new(mechanism.grid().unwrap_or(Grid::NONE));
                        state.take(value(call));
                        self.first_row(call, state)
                    }
                    SumMechanism::Auto(mechanism) => {
                        self.row_in_octave::<Content>(call, mechanism.limits())
                    }
                }
            }
        })
    }
}

impl Releases<f64> for Aggregate<SumMechanism> {
    unsafe fn release(&'static self, call: Call) -> f64 {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            // SAFETY: the caller guarantees it.
            unsafe {
                match site.mechanism_of_plan()? {
                    SumMechanism::Sums(mechanism) => self.release_state(call, &**mechanism),
                    SumMechanism::Auto(mechanism) => {
                        let counts = self.octave_counts(call, mechanism.limits())?;
                        Ok(release(&**mechanism, &counts).answer)
                    }
                }
            }
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// What a call of dp_sum with these arguments says of its states; `None` where the call is refused.
///
/// # Safety
/// See [`Aggregate::made_of`].
pub unsafe fn form(values: &[Option<Option<Datum>>]) -> Option<Form> {
    // SAFETY: the caller guarantees it.
    Some(match unsafe { SUM.made_of(values) }?.mechanism.as_ref() {
        SumMechanism::Sums(mechanism) => Form::Sums(mechanism.grid().unwrap_or(Grid::NONE)),
        SumMechanism::Auto(_) => Form::Any(longest::<Content>()),
    })
}

transition_function!(dp_sum_trans, SUM, add_value::<Sums, InOctaves<Content>>);

fn sum(aggregate: &'static impl Releases<f64>, call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sum's final function.
    unsafe { aggregate.release(call) }.into_datum()
}

final_function!(dp_sum_final, SUM => sum);

/// As above, for contributions.
pub static PEOPLE: Aggregate<Scalar<f64>> = Aggregate {
    name: SUM.name,
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &OfSums {
        registry: &registry::SUM,
        of_sums: SumMechanism::sums,
        instead: ["staircase", "sum(x)"],
    },
};

transition_function!(dp_sum_people_trans, PEOPLE, add_contribution::<Scalar<f64>>);

final_function!(dp_sum_people_final, PEOPLE => sum);

pub static ESTIMATE: Aggregate<SomeEstimate<f64>> = Aggregate {
    name: "dp_sum_estimate",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5), CONFIDENCE.given_from(6)]),
    mechanisms: &Estimates(&registry::SUM),
};

transition_function!(
    dp_sum_estimate_trans,
    ESTIMATE,
    add_value::<Sums, InOctaves<Content>>
);

/// The numbers of an answer with its interval.
fn numbers(sum: f64, [lower, upper]: [f64; 2]) -> [Option<Datum>; 3] {
    [sum, lower, upper].map(IntoDatum::into_datum)
}

fn sum_estimate(
    aggregate: &'static impl Releases<(Estimate<f64>, Price)>,
    call: Call,
) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sum_estimate's final function, with these columns.
    unsafe { estimate(aggregate, call, numbers) }
}

final_function!(dp_sum_estimate_final, ESTIMATE => sum_estimate);

/// As above, for contributions.
pub static ESTIMATE_OF_PEOPLE: Aggregate<Scalar<Estimate<f64>>> = Aggregate {
    signature: Signature::new(&[
        X_CONTRIBUTION,
        LO,
        HI,
        EPS,
        MECH.given_from(5),
        CONFIDENCE.given_from(6),
    ]),
    name: ESTIMATE.name,
    mechanisms: &Estimates(&registry::SUM),
};

transition_function!(
    dp_sum_estimate_people_trans,
    ESTIMATE_OF_PEOPLE,
    add_contribution::<Scalar<Estimate<f64>>>
);

final_function!(dp_sum_estimate_people_final, ESTIMATE_OF_PEOPLE => sum_estimate);
