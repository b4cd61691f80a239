//! One state for the rows of two.

use dp_core::encoding::contribution::{PersonRows, PersonTotal};
use dp_core::encoding::pairs::PairMoments;
use dp_core::encoding::squares::Squares;
use dp_core::encoding::sums::{Moments, Sums};
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::citus::errors::not_sealed;
use crate::citus::partial_state::{Carried, is_nothing};
use crate::pg::errors;
use crate::pg::fmgr::{Call, answer, argument, in_aggregate, unguarded_function};
use crate::state::bins::Bins;
use crate::state::bitmap::BitmapState;
use crate::state::cells::CellState;
use crate::state::coined_cells::CoinedCells;
use crate::state::groups::GroupsState;
use crate::state::log_bins::OctaveState;
use crate::state::poisoned::Refused;
use crate::state::scalar::{RowSums, State};

/// One state of two that hold an `S`: the left one with the rows of both, or the right one where the left has none,
/// which the executor copies. `None` of all else. Cannot panic.
///
/// # Safety
/// Both are non-NULL varlenas, and not the same.
#[inline(always)]
unsafe fn plain_sums<S: RowSums>(left: Datum, right: Datum) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe {
        let from = State::<S>::of(right)?;
        match State::<S>::of(left) {
            Some(into) => into.take_in(from).then_some(left),
            None => is_nothing(left).then_some(right),
        }
    }
}

/// The plain case: two parts of a mean, a sum or a count, or of one person's rows. It runs for each group of each
/// worker, and there may be millions, and so unguarded, as what runs for each row: see `aggregates/shared/scalars.rs`.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared with two arguments, both `dp_state`.
#[inline(always)]
unsafe fn combine_plain(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: two arguments, by the declaration; those that are not NULL are varlenas.
    unsafe {
        let [left, right] = [argument(fcinfo, 0), argument(fcinfo, 1)];
        if !in_aggregate(fcinfo) || left.isnull || right.isnull {
            return rest(fcinfo);
        }
        let [left, right] = [left.value, right.value];
        let one = plain_sums::<Sums>(left, right).or_else(|| plain_sums::<PersonRows>(left, right));
        match one {
            Some(one) => {
                (*fcinfo).isnull = false;
                one
            }
            None => rest(fcinfo),
        }
    }
}

/// `dp_state_combine(dp_state, dp_state)`: one state for the rows of two. Shared by all.
fn combine(call: Call) -> Option<Datum> {
    if !call.in_aggregate() {
        errors::not_our_aggregate("dp_state_combine").raise();
    }
    let [left, right] = [call.datum(0), call.datum(1)];
    // SAFETY: the SQL declaration makes both a dp_state.
    unsafe {
        let some = |datum: &Datum| !is_nothing(*datum);
        match (left.filter(some), right.filter(some)) {
            (Some(into), Some(from)) => match (Carried::of(into), Carried::of(from)) {
                (Some(into), Some(from)) => {
                    let group = into.take_in(from, |into, from| merge(into, from));
                    Some(group.unwrap_or_else(|| not_sealed()))
                }
                _ => Some(merge(into, from)),
            },
            // Returned as it is: the executor copies it into the aggregate's own memory.
            (Some(one), None) => {
                if Carried::of(one).is_none() {
                    AnyState::of(one);
                }
                Some(one)
            }
            (None, Some(one)) => {
                match Carried::of(one) {
                    Some(part) => {
                        part.alone().unwrap_or_else(|| not_sealed());
                    }
                    None => {
                        AnyState::of(one);
                    }
                }
                Some(one)
            }
            (None, None) => left.or(right),
        }
    }
}

/// One state for the rows of two: the first, or a new one.
///
/// # Safety
/// Both are a `dp_state`.
unsafe fn merge(left: Datum, right: Datum) -> Datum {
    // SAFETY: the caller guarantees it.
    let state = |datum| unsafe { AnyState::of(datum) };
    match (state(left), state(right)) {
        (AnyState::Sums(into), AnyState::Sums(from)) => return one_of(into, from),
        (AnyState::Moments(into), AnyState::Moments(from)) => return one_of(into, from),
        (AnyState::Pairs(into), AnyState::Pairs(from)) => return one_of(into, from),
        (AnyState::PersonRows(into), AnyState::PersonRows(from)) => return one_of(into, from),
        (AnyState::PersonTotal(into), AnyState::PersonTotal(from)) => return one_of(into, from),
        (AnyState::Vectors(into), AnyState::Vectors(from)) if into.layout().same(from.layout()) => {
            return into.merge(&from).into_datum();
        }
        (AnyState::Cells(into), AnyState::Cells(from)) if into.line().same(from.line()) => {
            return into.merge(&from).into_datum();
        }
        (AnyState::CoinedCells(into), AnyState::CoinedCells(from))
            if into.line().same(from.line()) =>
        {
            return into.merge(&from).into_datum();
        }
        (AnyState::Octaves(into), AnyState::Octaves(from)) if into.limits().same(from.limits()) => {
            return into.merge(&from).into_datum();
        }
        (AnyState::SquareOctaves(into), AnyState::SquareOctaves(from))
            if into.limits().same(from.limits()) =>
        {
            return into.merge(&from).into_datum();
        }
        (AnyState::Groups(into), AnyState::Groups(from)) => {
            let merged = into.merge(&from).map(GroupsState::into_datum);
            return merged.unwrap_or_else(|| Refused::new(0).into_datum());
        }
        (AnyState::Bitmap(into), AnyState::Bitmap(from)) if into.power() == from.power() => {
            return into.merge(&from).into_datum();
        }
        (AnyState::Refused, _) => {}
        (_, AnyState::Refused) => return right,
        // The call was not the same in all parts.
        _ => return Refused::new(0).into_datum(),
    }
    left
}

/// As above, for sums: refused where the call was not the same in all parts.
fn one_of<S: RowSums>(into: &mut State<S>, from: &State<S>) -> Datum {
    if into.take_in(from) {
        Datum::from(std::ptr::from_mut(into))
    } else {
        Refused::new(0).into_datum()
    }
}

/// A state of any kind.
enum AnyState<'a> {
    Sums(&'a mut State<Sums>),
    Moments(&'a mut State<Moments>),
    Pairs(&'a mut State<PairMoments>),
    PersonRows(&'a mut State<PersonRows>),
    PersonTotal(&'a mut State<PersonTotal>),
    Vectors(Bins<'a>),
    Cells(CellState<'a>),
    CoinedCells(CoinedCells<'a>),
    Octaves(OctaveState<'a>),
    SquareOctaves(OctaveState<'a, Squares>),
    Bitmap(BitmapState<'a>),
    Groups(GroupsState<'a>),
    Refused,
}

impl AnyState<'_> {
    /// # Safety
    /// `datum` is a `dp_state`.
    unsafe fn of(datum: Datum) -> Self {
        // SAFETY: the caller guarantees it; the states are told apart by their marks.
        unsafe {
            if let Some(state) = State::of(datum) {
                Self::Sums(state)
            } else if let Some(state) = State::of(datum) {
                Self::Moments(state)
            } else if let Some(state) = State::of(datum) {
                Self::Pairs(state)
            } else if let Some(state) = State::of(datum) {
                Self::PersonRows(state)
            } else if let Some(state) = State::of(datum) {
                Self::PersonTotal(state)
            } else if let Some(state) = Bins::of(datum) {
                Self::Vectors(state)
            } else if let Some(state) = CellState::of(datum) {
                Self::Cells(state)
            } else if let Some(state) = CoinedCells::of(datum) {
                Self::CoinedCells(state)
            } else if let Some(state) = OctaveState::of(datum) {
                Self::Octaves(state)
            } else if let Some(state) = OctaveState::of(datum) {
                Self::SquareOctaves(state)
            } else if let Some(state) = BitmapState::of(datum) {
                Self::Bitmap(state)
            } else if let Some(state) = GroupsState::of(datum) {
                Self::Groups(state)
            } else if Refused::of(datum).is_some() {
                Self::Refused
            } else {
                errors::bad_state().raise()
            }
        }
    }
}

unguarded_function!(dp_state_combine, combine_plain, |fcinfo| answer(
    fcinfo, combine
));
