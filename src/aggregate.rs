//! What every aggregate shares: where its arguments stand, how a row reaches the state, how
//! states are combined, how a state becomes a release.
//!
//! The per-row functions ([`add_value`], [`count_row`], [`count_value`]) are what speed hangs on,
//! and they run unguarded: a panic or an ERROR in them would take the whole server down. They are
//! safe because they own nothing that needs dropping, can neither panic nor raise, and leave
//! everything but the plain case to a guarded function that is never inlined. A test disassembles
//! them and allows no other call.

use dp_core::encoding::grid::Grid;
use dp_core::encoding::sums::{Moments, Sums};
use dp_core::mechanism::definition::{Mechanism, Scalar};
use dp_core::registry::Factory;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::call_site::CallSite;
use crate::cell_state::CellState;
use crate::errors::{self, Refusal};
use crate::fmgr::{self, Call, argument, float8, sql_function};
use crate::plan::{self, Role};
use crate::release::release;
use crate::state::{Kept, Refused, State};
use crate::vector_state::{Layout, VectorState};

/// An aggregate, as its SQL declaration has it.
pub struct Aggregate<M: ?Sized + 'static> {
    /// Its SQL name.
    pub name: &'static str,
    /// What makes its mechanisms.
    pub mechanisms: &'static dyn Factory<M>,
    /// Where its arguments stand.
    pub shape: Shape,
}

/// Where an aggregate's arguments stand.
#[derive(Clone, Copy)]
pub enum Shape {
    /// `(x, lo, hi, eps [, mech [, confidence]])`; `x` may be an array.
    Bounded,
    /// `(eps)`, `(x, eps [, mech [, confidence]])`
    Counted,
    /// `(eps, delta [, mech])`
    Kept,
    /// `(x, lo, hi, buckets, eps [, mech])`
    Buckets,
    /// `(eps, mech, questions ...)`, or an array of questions as VARIADIC.
    Questions,
}

/// The index of each public argument; `bounds` is that of `lo`, with `hi` behind it.
pub struct Positions {
    pub bounds: Option<usize>,
    pub buckets: Option<usize>,
    pub epsilon: usize,
    pub delta: Option<usize>,
    pub mechanism: Option<usize>,
    pub confidence: Option<usize>,
}

impl Shape {
    /// The positions in a call with `arguments` arguments; `None` if there is no such call.
    pub fn positions(self, arguments: usize) -> Option<Positions> {
        let (bounds, epsilon, delta, mechanism) = match (self, arguments) {
            (Self::Bounded, 4) => (Some(1), 3, None, None),
            (Self::Bounded, 5 | 6) => (Some(1), 3, None, Some(4)),
            (Self::Counted, 1) => (None, 0, None, None),
            (Self::Counted, 2) => (None, 1, None, None),
            (Self::Counted, 3 | 4) => (None, 1, None, Some(2)),
            (Self::Kept, 2) => (None, 0, Some(1), None),
            (Self::Kept, 3) => (None, 0, Some(1), Some(2)),
            (Self::Buckets, 5) => (Some(1), 4, None, None),
            (Self::Buckets, 6) => (Some(1), 4, None, Some(5)),
            (Self::Questions, 3..) => (None, 0, None, Some(1)),
            _ => return None,
        };
        Some(Positions {
            bounds,
            buckets: matches!(self, Self::Buckets).then_some(3),
            epsilon,
            delta,
            mechanism,
            confidence: match (self, arguments) {
                (Self::Bounded, 6) | (Self::Counted, 4) => Some(arguments - 1),
                _ => None,
            },
        })
    }
}

impl<A: 'static> Aggregate<Scalar<A>> {
    /// What a transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let grid = CallSite::with(call, Role::Transition, self, |site| {
            Ok(site.mechanism_of_row(call)?.grid())
        })?;
        let mut state = State::<Sums>::new(grid.unwrap_or(Grid::NONE));
        match (grid, self.shape) {
            (Some(_), Shape::Bounded) => state.take(value(call)),
            _ => state.add(0),
        }
        // SAFETY: by the caller's word.
        unsafe { self.first_row(call, state) }
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    pub unsafe fn release(&'static self, call: Call) -> A {
        CallSite::with(call, Role::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            // SAFETY: by the caller's word.
            unsafe { self.release_state(call, mechanism) }
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

impl<M: ?Sized> Aggregate<M> {
    /// The state of a group with its first row in it, `first`; refused where the group has one.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn first_row<K: Kept>(&self, call: Call, first: State<K>) -> Result<Datum, Refusal> {
        if let Some(datum) = call.datum(0) {
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            unsafe { self.state_of::<K>(datum, first.grid()) }?;
            return Err(errors::bad_state());
        }
        // The executor copies it into the aggregate's own memory.
        Ok(first.into_datum())
    }

    /// The state of a group with a row of `t` steps more, its first or not.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn any_row(&self, call: Call, grid: Grid, t: i128) -> Result<Datum, Refusal> {
        let row = Sums { n: 1, s: t };
        let Some(datum) = call.datum(0) else {
            let mut state = State::new(grid);
            state.merge(&row);
            return Ok(state.into_datum());
        };
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        unsafe { self.state_of(datum, &grid) }?.merge(&row);
        Ok(datum)
    }

    /// A release of what the group's rows add up to.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    pub unsafe fn release_state<K: Kept, A: Mechanism<K> + ?Sized>(
        &self,
        call: Call,
        mechanism: &A,
    ) -> Result<A::Answer, Refusal> {
        let grid = mechanism.grid().unwrap_or(Grid::NONE);
        let kept = match call.datum(0) {
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            Some(datum) => unsafe { self.state_of(datum, &grid) }?.kept(),
            None => K::default(),
        };
        Ok(release(mechanism, &kept))
    }

    /// What was found behind a datum, or why it was not: its rows were refused, or it is no state of ours.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    pub unsafe fn found<S>(&self, state: Option<S>, datum: Datum) -> Result<S, Refusal> {
        // SAFETY: by the caller's word.
        state.ok_or_else(|| match unsafe { Refused::of(datum) } {
            Some(refused) => errors::depends_on_rows(self.name, refused.argument()),
            None => errors::bad_state(),
        })
    }

    /// The state of a group on this grid. Another grid means that an argument changed on the way,
    /// through a function that calls itself stable and is not.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    unsafe fn state_of<'a, K: Kept>(
        &self,
        datum: Datum,
        grid: &Grid,
    ) -> Result<&'a mut State<K>, Refusal> {
        // SAFETY: by the caller's word.
        let state = unsafe { self.found(State::of(datum), datum) }?;
        if state.grid().same(grid) {
            Ok(state)
        } else {
            let argument = state.grid().changed_bound(grid).unwrap_or("mech");
            Err(errors::depends_on_rows(self.name, argument))
        }
    }
}

impl<M: ?Sized> Aggregate<M> {
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
        // SAFETY: by the caller's word.
        let state = unsafe { self.found(VectorState::of(datum), datum) }?;
        let fed = state.layout();
        if fed.same(layout) {
            return Ok(state);
        }
        let argument = match fed.grid().changed_bound(layout.grid()) {
            Some(bound) => bound,
            None if fed.length() != layout.length() && matches!(self.shape, Shape::Buckets) => {
                "buckets"
            }
            None => "mech",
        };
        Err(errors::depends_on_rows(self.name, argument))
    }
}

/// What a transition function does with a row that is not in the plain case: `row`, but for a call that is
/// refused. Where the state is a part of a group's, that is kept in it, as an ERROR here would tell that
/// there is a row; the final function, which runs in any case, finds the mistake in the plan.
///
/// # Safety
/// `fcinfo` is PostgreSQL's own, of a call of a transition function; the caller is below a guard.
pub unsafe fn guarded_row(
    fcinfo: FunctionCallInfo,
    row: impl FnOnce(Call) -> Result<Datum, Refusal>,
) -> Datum {
    fmgr::guarded(|| {
        // SAFETY: by the caller's word; the SQL declarations make argument 0 a dp_state.
        let (call, refused) = unsafe {
            (*fcinfo).isnull = false;
            let call = Call::new(fcinfo);
            let state = call.datum(0);
            (call, state.filter(|state| Refused::of(*state).is_some()))
        };
        if let Some(refused) = refused {
            return refused;
        }
        row(call).unwrap_or_else(|refusal| {
            if plan::is_partial(call) {
                Refused::new(refusal.argument()).into_datum()
            } else {
                refusal.raise()
            }
        })
    })
}

/// The argument `x` of a row that is not in the plain case: not NULL, which the plain case ignores.
pub fn value(call: Call) -> f64 {
    float8(call.datum(1).expect("the plain case ignores NULL"))
}

/// The transition function of an aggregate of values, `(state, x, lo, hi, ...)`: NULL and NaN are
/// ignored, everything else becomes grid steps. `rest` takes all but the plain case.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared with at least four arguments, the
/// first four `dp_state`, `float8`, `float8`, `float8`.
///
/// The state of plain rows keeps a `K`. With `CELLS`, for an aggregate whose mechanisms may know no bounds, the state may be one of cells.
#[inline(always)]
pub unsafe fn add_value<K: Kept, const CELLS: bool>(
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
        match State::<K>::of(state.value) {
            Some(group)
                if group.grid().lo().to_bits() == lo.value.value() as u64
                    && group.grid().hi().to_bits() == hi.value.value() as u64 =>
            {
                group.take(float8(x.value));
                state.value
            }
            None if CELLS => match CellState::of(state.value) {
                Some(mut group) if !group.is_coined() => {
                    let place = group.line().cell_of(float8(x.value));
                    if group.add_to_known(place) {
                        state.value
                    } else {
                        rest(fcinfo)
                    }
                }
                _ => rest(fcinfo),
            },
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
        let state = argument(fcinfo, 0);
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
        let [state, x] = [argument(fcinfo, 0), argument(fcinfo, 1)];
        if fmgr::in_aggregate(fcinfo) && x.isnull {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        count_row(fcinfo, rest)
    }
}

/// Exports the transition function `$name` of aggregate `$aggregate`: `$plain` for a row in the
/// plain case, the aggregate's `other_row`, guarded and never inlined, for the rest.
macro_rules! transition_function {
    ($name:ident, $finfo:ident, $aggregate:expr, $plain:path) => {
        $crate::fmgr::finfo!($finfo);

        #[unsafe(no_mangle)]
        /// # Safety
        /// PostgreSQL calls it, with the arguments that the SQL declaration names.
        pub unsafe extern "C-unwind" fn $name(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            #[cold]
            #[inline(never)]
            #[pgrx::pg_guard]
            unsafe extern "C-unwind" fn guarded_rest(
                fcinfo: pgrx::pg_sys::FunctionCallInfo,
            ) -> pgrx::pg_sys::Datum {
                // SAFETY: PostgreSQL's own fcinfo, for the length of this call.
                unsafe { $crate::aggregate::guarded_row(fcinfo, |call| $aggregate.other_row(call)) }
            }
            // SAFETY: the SQL declaration gives it the arguments it needs.
            unsafe { $plain(fcinfo, guarded_rest) }
        }
    };
}

/// `dp_state_combine(dp_state, dp_state)`: one state for the rows of two. Shared by all.
fn combine(call: Call) -> Option<Datum> {
    if !call.in_aggregate() {
        errors::not_our_aggregate("dp_state_combine").raise();
    }
    let (left, right) = (call.datum(0), call.datum(1));
    // SAFETY: the SQL declaration makes both a dp_state.
    let state = |datum| unsafe { AnyState::of(datum) };
    match (left, right) {
        (Some(into), Some(from)) => {
            match (state(into), state(from)) {
                (AnyState::Sums(into), AnyState::Sums(from)) if into.grid().same(from.grid()) => {
                    into.merge(&from.kept());
                }
                (AnyState::Moments(into), AnyState::Moments(from))
                    if into.grid().same(from.grid()) =>
                {
                    into.merge(&from.kept());
                }
                (AnyState::Vector(mut into), AnyState::Vector(from))
                    if into.layout().same(from.layout()) =>
                {
                    into.merge(&from);
                }
                (AnyState::Cells(into), AnyState::Cells(from)) if into.line().same(from.line()) => {
                    return Some(into.merge(&from).into_datum());
                }
                (AnyState::Refused, _) => {}
                (_, AnyState::Refused) => return Some(from),
                // The call was not the same in all parts.
                _ => return Some(Refused::new("mech").into_datum()),
            }
            Some(into)
        }
        // Returned as it is: the executor copies it into the aggregate's own memory.
        (Some(one), None) | (None, Some(one)) => {
            state(one);
            Some(one)
        }
        (None, None) => None,
    }
}

/// A state of any kind.
enum AnyState<'a> {
    Sums(&'a mut State<Sums>),
    Moments(&'a mut State<Moments>),
    Vector(VectorState<'a>),
    Cells(CellState<'a>),
    Refused,
}

impl AnyState<'_> {
    /// # Safety
    /// `datum` is a `dp_state`.
    unsafe fn of(datum: Datum) -> Self {
        // SAFETY: by the caller's word; the states are told apart by their marks.
        unsafe {
            if let Some(state) = State::of(datum) {
                Self::Sums(state)
            } else if let Some(state) = State::of(datum) {
                Self::Moments(state)
            } else if let Some(state) = VectorState::of(datum) {
                Self::Vector(state)
            } else if let Some(state) = CellState::of(datum) {
                Self::Cells(state)
            } else if Refused::of(datum).is_some() {
                Self::Refused
            } else {
                errors::bad_state().raise()
            }
        }
    }
}

sql_function!(dp_state_combine, pg_finfo_dp_state_combine, combine);

pub(crate) use transition_function;
