//! What the call of an aggregate says of the states of its groups, and so need not travel with each.

use dp_core::encoding::grid::Grid;
use dp_core::encoding::sums::{Moments, Sums};
use pgrx::pg_sys::Datum;

use crate::citus::partial_state;
use crate::state::poisoned::Refused;
use crate::state::scalar::{RowSums, State};

/// What comes first in a state as it travels.
const NOTHING: u8 = 0;
/// Its sums follow, and no more.
const SUMS: u8 = 1;
/// All of it follows, but for its length.
const WHOLE: u8 = 2;

/// The length word of a varlena.
const LENGTH: usize = size_of::<u32>();

/// What the call says of the states of its groups.
pub enum Form {
    /// None has more bytes than these.
    Any(usize),
    /// Rows are these sums, on this grid.
    Sums(Grid),
    Moments(Grid),
}

impl Form {
    /// The bytes that any state takes as it travels, so far as the call says it.
    pub fn room(&self) -> usize {
        1 + match self {
            Self::Any(bytes) => bytes - LENGTH,
            Self::Sums(_) => size_of::<<Sums as RowSums>::Words>(),
            Self::Moments(_) => size_of::<<Moments as RowSums>::Words>(),
        }
    }

    /// Makes `short` what a state is as it travels; `None` where it is none. Sums on another grid are refused, as in
    /// the final function: `blame` gives the number of the argument to blame, from the name of a bound.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    pub unsafe fn shorten(
        &self,
        datum: Datum,
        blame: impl FnOnce(Option<&'static str>) -> u32,
        short: &mut Vec<u8>,
    ) -> Option<()> {
        short.clear();
        // SAFETY: the caller guarantees it.
        unsafe {
            if partial_state::is_nothing(datum) {
                short.push(NOTHING);
                return Some(());
            }
            match self {
                Self::Any(_) => whole(datum, short),
                Self::Sums(grid) => sums::<Sums>(datum, grid, blame, short),
                Self::Moments(grid) => sums::<Moments>(datum, grid, blame, short),
            }
        }
    }

    /// The state that was shortened so; `None` of what was not.
    pub fn lengthen(&self, short: &[u8]) -> Option<Datum> {
        let (kind, rest) = short.split_first()?;
        match (*kind, self) {
            (NOTHING, _) => rest.is_empty().then(partial_state::nothing),
            (SUMS, Self::Sums(grid)) => of_sums::<Sums>(*grid, rest),
            (SUMS, Self::Moments(grid)) => of_sums::<Moments>(*grid, rest),
            (WHOLE, _) => Some(partial_state::varlena(rest)),
            _ => None,
        }
    }
}

/// # Safety
/// `datum` is a dp_state.
unsafe fn whole(datum: Datum, short: &mut Vec<u8>) -> Option<()> {
    // SAFETY: the caller guarantees it.
    let bytes = unsafe { partial_state::bytes(datum) }?.get(LENGTH..)?;
    short.try_reserve(1 + bytes.len()).ok()?;
    short.push(WHOLE);
    short.extend_from_slice(bytes);
    Some(())
}

/// # Safety
/// `datum` is a dp_state.
unsafe fn sums<S: RowSums<Grid = Grid>>(
    datum: Datum,
    grid: &Grid,
    blame: impl FnOnce(Option<&'static str>) -> u32,
    short: &mut Vec<u8>,
) -> Option<()> {
    // SAFETY: the caller guarantees it, and what is refused is a state too.
    unsafe {
        let Some(state) = State::<S>::of(datum) else {
            return whole(datum, short);
        };
        if !state.grid().same(grid) {
            let refused = Refused::new(blame(state.grid().changed_bound(grid)));
            return whole(refused.into_datum(), short);
        }
        short.push(SUMS);
        for word in state.sums().pack().as_ref() {
            short.extend_from_slice(&word.to_ne_bytes());
        }
        Some(())
    }
}

fn of_sums<S: RowSums<Grid = Grid>>(grid: Grid, bytes: &[u8]) -> Option<Datum> {
    let mut words = S::default().pack();
    let (chunks, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() || chunks.len() != words.as_ref().len() {
        return None;
    }
    for (word, bytes) in words.as_mut().iter_mut().zip(chunks) {
        *word = u64::from_ne_bytes(*bytes);
    }
    let mut state = State::<S>::new(grid);
    state.merge(&S::unpack(words));
    Some(state.into_datum())
}
