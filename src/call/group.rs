//! A group of a call: the state of its rows, checked against the call, and its release.

use dp_core::encoding::grid::Grid;
use dp_core::encoding::sums::Sums;
use dp_core::mechanism::definition::Mechanism;
use pgrx::pg_sys::Datum;

use crate::call::aggregate::Aggregate;
use crate::call::release::release;
use crate::call::signature::{Role, at};
use crate::citus::partial_state;
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::Call;
use crate::state::bins::Bins;
use crate::state::poisoned::Refused;
use crate::state::scalar::{GroupGrid, RowSums, State};
use crate::state::vector::{Layout, VectorState};

/// The state of a group, `None` of no rows.
///
/// # Safety
/// `call` is a call of a support function whose argument 0 is declared `dp_state`.
pub unsafe fn state(call: Call) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe { partial_state::state(call, at::STATE) }
}

impl<M: ?Sized> Aggregate<M> {
    /// The state of a group with its first row in it, `first`; refused where the group has one.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn first_row<S: RowSums>(
        &self,
        call: Call,
        first: State<S>,
    ) -> Result<Datum, Refusal> {
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        if let Some(datum) = unsafe { state(call) } {
            // SAFETY: the same.
            unsafe { self.state_of::<S>(datum, first.grid()) }?;
            return Err(errors::bad_state());
        }
        // The executor copies it into the aggregate's own memory.
        Ok(first.into_datum())
    }

    /// The state of a group with these sums more, its first or not.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn add_sums<S: RowSums>(
        &self,
        call: Call,
        grid: S::Grid,
        sums: &S,
    ) -> Result<Datum, Refusal> {
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let Some(datum) = (unsafe { state(call) }) else {
            let mut first = State::new(grid);
            first.merge(sums);
            return Ok(first.into_datum());
        };
        // SAFETY: the same.
        unsafe { self.state_of(datum, &grid) }?.merge(sums);
        Ok(datum)
    }

    /// What the rows of a group on this grid add up to.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    pub unsafe fn sums_of<S: RowSums>(&self, datum: Datum, grid: &S::Grid) -> Result<S, Refusal> {
        // SAFETY: the caller guarantees it.
        Ok(unsafe { self.state_of(datum, grid) }?.sums())
    }

    /// The state of a group with a row of `t` steps more, its first or not.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn any_row(&self, call: Call, grid: Grid, t: i128) -> Result<Datum, Refusal> {
        // SAFETY: the caller guarantees it.
        unsafe { self.add_sums(call, grid, &Sums { n: 1, s: t }) }
    }

    /// A release of what the group's rows add up to.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    pub unsafe fn release_state<S: RowSums<Grid = Grid>, A: Mechanism<S> + ?Sized>(
        &self,
        call: Call,
        mechanism: &A,
    ) -> Result<A::Answer, Refusal> {
        let grid = mechanism.grid().unwrap_or(Grid::NONE);
        // SAFETY: the caller guarantees it.
        unsafe { self.release_state_on(call, mechanism, &grid) }
    }

    /// The same, where the state is on this grid.
    ///
    /// # Safety
    /// As [`release_state`](Self::release_state).
    pub unsafe fn release_state_on<S: RowSums, A: Mechanism<S> + ?Sized>(
        &self,
        call: Call,
        mechanism: &A,
        grid: &S::Grid,
    ) -> Result<A::Answer, Refusal> {
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let sums = match unsafe { state(call) } {
            // SAFETY: the same.
            Some(datum) => unsafe { self.state_of(datum, grid) }?.sums(),
            None => S::default(),
        };
        Ok(release(mechanism, &sums))
    }

    /// What was found behind a datum, or why it was not: its rows were refused, or it is no state of ours.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    pub unsafe fn found<T>(&self, state: Option<T>, datum: Datum) -> Result<T, Refusal> {
        // SAFETY: the caller guarantees it.
        state.ok_or_else(|| match unsafe { Refused::of(datum) } {
            Some(refused) => {
                let blamed = Role::numbered(refused.argument()).unwrap_or(Role::Mechanism);
                errors::depends_on_rows(self.name, blamed.name())
            }
            None => errors::bad_state(),
        })
    }

    /// The state of a group on this grid. Another grid means that an argument changed on the way,
    /// through a function that calls itself stable and is not.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    unsafe fn state_of<'a, S: RowSums>(
        &self,
        datum: Datum,
        grid: &S::Grid,
    ) -> Result<&'a mut State<S>, Refusal> {
        // SAFETY: the caller guarantees it.
        let state = unsafe { self.found(State::<S>::of(datum), datum) }?;
        if state.grid().same(grid) {
            Ok(state)
        } else {
            let argument = state
                .grid()
                .changed_bound(grid)
                .unwrap_or(Role::Mechanism.name());
            Err(errors::depends_on_rows(self.name, argument))
        }
    }

    /// The state of vectors behind a datum. Refuses one that was fed otherwise than the call says: an argument
    /// changed on the way, through a function that calls itself stable and is not.
    ///
    /// # Safety
    /// `datum` is a `dp_state`.
    pub unsafe fn vector_state<'a>(
        &self,
        datum: Datum,
        layout: &Layout,
    ) -> Result<VectorState<'a>, Refusal> {
        // SAFETY: the caller guarantees it.
        let state = unsafe { self.found(VectorState::of(datum), datum) }?;
        self.check_fed(state.layout(), layout)?;
        Ok(state)
    }

    /// As above, for rows that are counted in one bin each.
    ///
    /// # Safety
    /// `datum` is a `dp_state`.
    pub unsafe fn bin_state<'a>(&self, datum: Datum, layout: &Layout) -> Result<Bins<'a>, Refusal> {
        // SAFETY: the caller guarantees it.
        let state = unsafe { self.found(Bins::of(datum), datum) }?;
        self.check_fed(state.layout(), layout)?;
        Ok(state)
    }

    fn check_fed(&self, fed: &Layout, layout: &Layout) -> Result<(), Refusal> {
        if fed.same(layout) {
            return Ok(());
        }
        let argument = match fed.grid().changed_bound(layout.grid()) {
            Some(bound) => bound,
            None if fed.length() != layout.length() && self.signature.has(Role::Buckets) => {
                Role::Buckets.name()
            }
            None => Role::Mechanism.name(),
        };
        Err(errors::depends_on_rows(self.name, argument))
    }
}
