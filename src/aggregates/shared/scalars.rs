//! What the aggregates of single numbers share: how a row reaches the state, how a state becomes a release.
//!
//! The per-row functions ([`add_value`], [`count_row`], [`count_value`]) are what speed hangs on,
//! and they run unguarded: a panic or an ERROR in them would take the whole server down. They are
//! safe because they own nothing that needs dropping, can neither panic nor raise, and leave
//! everything but the plain case to a guarded function that is never inlined. A test disassembles
//! them and allows no other call.

use std::marker::PhantomData;

use dp_core::encoding::grid::Grid;
use dp_core::encoding::log_bins::Content;
use dp_core::encoding::sums::Sums;
use dp_core::estimate::Estimate;
use dp_core::mechanism::definition::Scalar;
use pgrx::pg_sys::{Datum, FunctionCallInfo, NullableDatum};

use crate::aggregates::shared::people::contributed;
use crate::call::aggregate::Aggregate;
use crate::call::signature::{Role, at};
use crate::call::site::{CallSite, Price};
use crate::pg::errors::Refusal;
use crate::pg::fmgr::{self, Call, argument, float8};
use crate::plan::planned_call::SupportFunction;
use crate::state::cells::CellState;
use crate::state::log_bins::{OctaveState, SlotSums};
use crate::state::scalar::{ColumnGrid, RowSums, State};

/// An aggregate whose groups have an answer `A`.
pub trait Releases<A> {
    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of a final function of this aggregate.
    unsafe fn release(&'static self, call: Call) -> A;
}

impl<A: 'static> Releases<A> for Aggregate<Scalar<A>> {
    unsafe fn release(&'static self, call: Call) -> A {
        // SAFETY: the caller guarantees it.
        unsafe { self.release_and_cost(call) }.0
    }
}

impl<A: 'static> Releases<(Estimate<A>, Price)> for Aggregate<Scalar<Estimate<A>>> {
    unsafe fn release(&'static self, call: Call) -> (Estimate<A>, Price) {
        // SAFETY: the caller guarantees it.
        unsafe { self.release_and_cost(call) }
    }
}

impl<A: 'static> Aggregate<Scalar<A>> {
    /// What a transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let (grid, unit) = CallSite::with(call, SupportFunction::Transition, self, |site| {
            let grid = site.mechanism_of_row(call)?.grid();
            Ok((grid, site.takes_contributions().then(|| site.unit())))
        })?;
        if let Some(unit) = unit {
            // SAFETY: the caller guarantees it.
            return unsafe {
                let sums = contributed(call, unit, grid.as_ref());
                self.add_sums(call, grid.unwrap_or(Grid::SEVERAL), &sums)
            };
        }
        let mut state = State::<Sums>::new(grid.unwrap_or(Grid::NONE));
        if grid.is_some() && self.signature.has(Role::Lo) {
            state.take(value(call));
        } else {
            state.add(0);
        }
        // SAFETY: the caller guarantees it.
        unsafe { self.first_row(call, state) }
    }

    /// A release of the group, or of no rows where there is no state, and what it costs.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    unsafe fn release_and_cost(&'static self, call: Call) -> (A, Price) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let several = site.takes_contributions();
            let mechanism = site.mechanism_of_plan()?;
            let none = if several { Grid::SEVERAL } else { Grid::NONE };
            let grid = mechanism.grid().unwrap_or(none);
            // SAFETY: the caller guarantees it.
            let answer = unsafe { self.release_state_on(call, mechanism, &grid) }?;
            Ok((answer, site.price()))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// The argument `x` of a row that is not in the plain case: not NULL, which the plain case ignores.
pub fn value(call: Call) -> f64 {
    float8(call.datum(at::X).expect("the plain case ignores NULL"))
}

/// The states that a group may have besides the sums of rows on a grid.
pub trait Others {
    /// Takes in a row where the state is one of these, as the call says with `lo` and `hi`, and has room for the row.
    /// Cannot panic.
    ///
    /// # Safety
    /// `state` is a non-NULL varlena.
    unsafe fn take(state: Datum, x: f64, bounds: [NullableDatum; 2]) -> bool;
}

/// None.
pub struct NoOthers;

/// Bins of equal relative width that hold an `S`.
pub struct InOctaves<S>(PhantomData<S>);

/// Cells of a line without ends, or bins of equal relative width.
pub struct InCellsOrOctaves;

impl Others for NoOthers {
    #[inline(always)]
    unsafe fn take(_: Datum, _: f64, _: [NullableDatum; 2]) -> bool {
        false
    }
}

impl<S: SlotSums> Others for InOctaves<S> {
    #[inline(always)]
    unsafe fn take(state: Datum, x: f64, [lo, hi]: [NullableDatum; 2]) -> bool {
        // SAFETY: the caller guarantees it.
        let Some(mut group) = (unsafe { OctaveState::<S>::of(state) }) else {
            return false;
        };
        // No limit is an infinity in the state, and a NULL in the call.
        let [limit_lo, limit_hi] = [group.limits().lo(), group.limits().hi()];
        let as_called = if lo.isnull || hi.isnull {
            lo.isnull && hi.isnull && limit_hi == f64::INFINITY
        } else {
            limit_lo.to_bits() == lo.value.value() as u64
                && limit_hi.to_bits() == hi.value.value() as u64
        };
        let place = group.limits().place_of(x);
        as_called && group.add_to_known(place)
    }
}

impl Others for InCellsOrOctaves {
    #[inline(always)]
    unsafe fn take(state: Datum, x: f64, bounds: [NullableDatum; 2]) -> bool {
        // SAFETY: the caller guarantees it.
        match unsafe { CellState::of(state) } {
            Some(mut group) => {
                let cell = group.line().cell_of(x);
                group.add_to_known(cell)
            }
            // SAFETY: the same.
            None => unsafe { InOctaves::<Content>::take(state, x, bounds) },
        }
    }
}

/// The transition function of an aggregate of values, `(state, x, lo, hi, ...)`: NULL and NaN are
/// ignored, everything else becomes grid steps. `rest` takes all but the plain case.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared with at least four arguments, the
/// first four `dp_state`, `float8`, `float8`, `float8`.
///
/// The state of plain rows holds an `S`, or it is one of `O`.
#[inline(always)]
pub unsafe fn add_value<S: RowSums<Grid: ColumnGrid, Row = f64>, O: Others>(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: four arguments, by the declaration; a non-NULL first one is a varlena.
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
        let [lo, hi] = [argument(fcinfo, at::LO), argument(fcinfo, at::HI)];
        match State::<S>::of(state.value) {
            Some(group)
                if group.grid().bounds().map(f64::to_bits)
                    == [lo, hi].map(|bound| bound.value.value() as u64) =>
            {
                group.take(float8(x.value));
                state.value
            }
            None if O::take(state.value, float8(x.value), [lo, hi]) => state.value,
            _ => rest(fcinfo),
        }
    }
}

/// The transition function of a count of rows, `(state, ...)`.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function whose first argument is declared `dp_state`.
#[inline(always)]
pub unsafe fn count_row(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: one argument, by the declaration; a non-NULL one is a varlena.
    unsafe {
        let state = argument(fcinfo, at::STATE);
        if !fmgr::in_aggregate(fcinfo) || state.isnull {
            return rest(fcinfo);
        }
        match State::<Sums>::of(state.value) {
            Some(group) if group.grid().same(&Grid::NONE) => {
                group.add(0);
                state.value
            }
            _ => rest(fcinfo),
        }
    }
}

/// The transition function of a count of values, `(state, x, ...)`: NULL is ignored.
///
/// # Safety
/// As for [`count_row`], with a second argument.
#[inline(always)]
pub unsafe fn count_value(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: two arguments, by the declaration.
    unsafe {
        let [state, x] = [argument(fcinfo, at::STATE), argument(fcinfo, at::X)];
        if fmgr::in_aggregate(fcinfo) && x.isnull {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        count_row(fcinfo, rest)
    }
}
