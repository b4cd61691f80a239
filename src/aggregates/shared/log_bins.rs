//! What the aggregates share whose mechanisms may find their bounds: their rows lie in bins of equal relative width.

use std::rc::Rc;

use dp_core::encoding::grid::Grid;
use dp_core::encoding::log_bins::{Limits, OctaveCounts};
use dp_core::estimate::{Estimate, SomeEstimate};
use dp_core::registry::Spent;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::scalars::{Releases, value};
use crate::call::aggregate::Aggregate;
use crate::call::group::state as state_of;
use crate::call::release::release;
use crate::call::site::{CallSite, Price};
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::Call;
use crate::plan::planned_call::SupportFunction;
use crate::state::log_bins::{OctaveState, SlotSums, longest};
use crate::state::scalar::{RowSums, State};
use crate::state::wire_format::Form;

/// What the aggregates share whose rows may lie in bins of equal relative width.
impl<M: ?Sized> Aggregate<M> {
    /// A row that is not in the plain case.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function, with an `x`.
    pub unsafe fn row_in_octave<S: SlotSums>(
        &self,
        call: Call,
        limits: &Limits,
    ) -> Result<Datum, Refusal> {
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let state = match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(datum) => unsafe { self.octaves::<S>(datum, limits) }?,
            None => OctaveState::new(*limits),
        };
        // The executor copies it into the aggregate's own memory.
        Ok(state.add(limits.place_of(value(call))).into_datum())
    }

    /// What a mechanism between these limits releases of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    pub unsafe fn octave_counts<S: SlotSums>(
        &self,
        call: Call,
        limits: &Limits,
    ) -> Result<OctaveCounts<S>, Refusal> {
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(datum) => Ok(unsafe { self.octaves(datum, limits) }?.counts()),
            None => Ok(OctaveCounts::default()),
        }
    }

    /// The state of a group between these limits.
    unsafe fn octaves<'a, S: SlotSums>(
        &self,
        datum: Datum,
        limits: &Limits,
    ) -> Result<OctaveState<'a, S>, Refusal> {
        // SAFETY: the SQL declaration makes it a dp_state.
        let state = unsafe { self.found(OctaveState::of(datum), datum) }?;
        if state.limits().same(limits) {
            return Ok(state);
        }
        let is_lo = state.limits().lo().to_bits() != limits.lo().to_bits();
        let changed = if is_lo { "lo" } else { "hi" };
        Err(errors::depends_on_rows(self.name, changed))
    }
}

impl<A: 'static, D: RowSums<Grid = Grid, Row = f64> + 'static, S: SlotSums + 'static>
    Aggregate<SomeEstimate<A, D, S>>
{
    /// What the transition function does beyond the plain case.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        CallSite::with(call, SupportFunction::Transition, self, |site| {
            // SAFETY: the caller guarantees it.
            unsafe {
                match site.mechanism_of_row(call)? {
                    SomeEstimate::Sums(mechanism) => {
                        let mut state = State::<D>::new(mechanism.grid().unwrap_or(Grid::NONE));
                        state.take(value(call));
                        self.first_row(call, state)
                    }
                    SomeEstimate::Auto(limits, _) => self.row_in_octave::<S>(call, limits),
                }
            }
        })
    }
}

impl<A: 'static, D: RowSums<Grid = Grid, Row = f64> + 'static, S: SlotSums + 'static>
    Releases<(Estimate<A>, Price)> for Aggregate<SomeEstimate<A, D, S>>
{
    // The bounds that a mechanism finds stand in its text.
    unsafe fn release(&'static self, call: Call) -> (Estimate<A>, Price) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            // SAFETY: the caller guarantees it.
            unsafe {
                match site.mechanism_of_plan()? {
                    SomeEstimate::Sums(mechanism) => {
                        let estimate = self.release_state(call, &**mechanism)?;
                        Ok((estimate, site.price()))
                    }
                    SomeEstimate::Auto(limits, mechanism) => {
                        let counts = self.octave_counts(call, limits)?;
                        let found = release(&**mechanism, &counts);
                        let Price { unit, spent } = site.price();
                        let spent = Rc::new(Spent {
                            mechanism: found.answer.told(&spent.mechanism),
                            ..(*spent).clone()
                        });
                        let estimate = Estimate {
                            answer: found.answer.answer,
                            interval: found.interval,
                            mean: found.mean,
                        };
                        Ok((estimate, Price { unit, spent }))
                    }
                }
            }
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// What a call of this estimate with these arguments says of its states, which are `of_sums` without bins; `None` where
/// the call is refused.
///
/// # Safety
/// See [`Aggregate::made_of`].
pub unsafe fn form<A: 'static, D: 'static, S: SlotSums + 'static>(
    aggregate: &'static Aggregate<SomeEstimate<A, D, S>>,
    of_sums: impl FnOnce(Grid) -> Form,
    values: &[Option<Option<Datum>>],
) -> Option<Form> {
    // SAFETY: the caller guarantees it.
    Some(
        match unsafe { aggregate.made_of(values) }?.mechanism.as_ref() {
            SomeEstimate::Sums(mechanism) => of_sums(mechanism.grid().unwrap_or(Grid::NONE)),
            SomeEstimate::Auto(..) => Form::Any(longest::<S>()),
        },
    )
}
