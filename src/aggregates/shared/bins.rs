//! What the aggregates that count each row in one bin share. As in `scalars.rs`, the per-row
//! functions run unguarded and leave everything but the plain case to a guarded one.

use dp_core::encoding::sums::Totals;
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::vector::items::Rows;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::people::contribution;
use crate::aggregates::shared::scalars::value;
use crate::call::aggregate::Aggregate;
use crate::call::group::state as state_of;
use crate::call::release::release;
use crate::call::signature::at;
use crate::call::site::{CallSite, Price};
use crate::pg::errors::Refusal;
use crate::pg::fmgr::{self, Call, argument, float8};
use crate::plan::planned_call::SupportFunction;
use crate::state::bins::{Bins, List};
use crate::state::vector::{Layout, VectorState};
use crate::state::wire_format::Form;

/// A mechanism of counts, where each row is in one of them.
pub trait Binned: Mechanism<Totals> {
    /// What the state holds.
    fn layout(&self) -> Layout;

    /// The bin of a row in a state with such a layout; `None` where it is in none. Of its own, and not
    /// chosen by the layout's kind alone, so that each per-row function has no more than it needs.
    /// Cannot panic: the hot path calls it for each row.
    fn bin(layout: &Layout, x: f64) -> Option<usize>;
}

/// Rows that are in one of that many bins.
pub fn one_of(length: usize) -> Rows {
    Rows { length, most: 1 }
}

impl<M: Binned + ?Sized> Aggregate<M> {
    /// What a transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let layout = CallSite::with(call, SupportFunction::Transition, self, |site| {
            Ok(site.mechanism_of_row(call)?.layout())
        })?;
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let state = match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(datum) => unsafe { self.bin_state(datum, &layout) }?,
            // The executor copies it into the aggregate's own memory.
            None => Bins::new(layout),
        };
        let state = match M::bin(state.layout(), value(call)) {
            Some(bin) => state.add(bin, 1),
            None => state,
        };
        Ok(state.into_datum())
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    pub unsafe fn release(&'static self, call: Call) -> M::Answer {
        // SAFETY: the caller guarantees it.
        unsafe { self.release_and_cost(call) }.0
    }

    /// The same, and what it costs.
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    pub unsafe fn release_and_cost(&'static self, call: Call) -> (M::Answer, Price) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            let layout = mechanism.layout();
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            let totals = match unsafe { state_of(call) } {
                // SAFETY: the same.
                Some(datum) => unsafe { self.bin_state(datum, &layout) }?.totals(),
                None => Totals::new(layout.length()),
            };
            Ok((release(mechanism, &totals), site.price()))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// The most bytes that a state of a call with these arguments may take: those of all counts. `None` where it is
/// refused.
///
/// # Safety
/// The values are those of the call's arguments: see [`Aggregate::made_of`].
pub unsafe fn form<M: Binned + ?Sized>(
    aggregate: &Aggregate<M>,
    values: &[Option<Option<Datum>>],
) -> Option<Form> {
    // SAFETY: the caller guarantees it.
    let made = unsafe { aggregate.made_of(values) }?;
    Some(Form::Any(made.mechanism.layout().bytes()))
}

/// An aggregate of contributions: what persons have are rows in the bin of their mean.
pub struct OfPeople<M: ?Sized + 'static>(pub &'static Aggregate<M>);

impl<M: Binned + ?Sized> OfPeople<M> {
    /// What the transition function does with a contribution.
    ///
    /// # Safety
    /// `call` is a call of the aggregate's transition function of contributions.
    pub unsafe fn other_row(&self, call: Call) -> Result<Datum, Refusal> {
        let aggregate = self.0;
        let (layout, unit) =
            CallSite::with(call, SupportFunction::Transition, aggregate, |site| {
                Ok((site.mechanism_of_row(call)?.layout(), site.unit()))
            })?;
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let mut state = match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(datum) => unsafe { aggregate.bin_state(datum, &layout) }?,
            None => Bins::new(layout),
        };
        // SAFETY: the caller guarantees it.
        if let Some((bounds, given)) = unsafe { contribution(call, unit) }
            && let Some(bin) = M::bin(state.layout(), given.mean(&bounds))
        {
            state = state.add(bin, given.rows());
        }
        Ok(state.into_datum())
    }
}

/// The transition function of `(state, x, ...)`, where the state is one of a group that was called
/// with the same arguments.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, ...)`.
#[inline(always)]
pub unsafe fn add_to_bin<M: Binned + ?Sized>(
    fcinfo: FunctionCallInfo,
    as_called: impl Fn(&Layout) -> bool,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        if !fmgr::in_aggregate(fcinfo) {
            return rest(fcinfo);
        }
        let [state, x] = [argument(fcinfo, at::STATE), argument(fcinfo, at::X)];
        if x.isnull || float8(x.value).is_nan() {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        if state.isnull {
            return rest(fcinfo);
        }
        match VectorState::of(state.value) {
            Some(mut group) if as_called(group.layout()) => {
                if let Some(bin) = M::bin(group.layout(), float8(x.value)) {
                    group.count_row();
                    group.count_in(bin);
                }
                state.value
            }
            Some(_) => rest(fcinfo),
            None => match List::of(state.value) {
                Some(mut list) if as_called(list.layout()) => {
                    match M::bin(list.layout(), float8(x.value)) {
                        Some(bin) if !list.add(bin) => rest(fcinfo),
                        _ => state.value,
                    }
                }
                _ => rest(fcinfo),
            },
        }
    }
}
