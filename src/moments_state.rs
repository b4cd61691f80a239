//! `dp_state` of a variance: 80 bytes, updated in place. As in `state.rs`, and for the same
//! reasons.

use dp_core::grid::Grid;
use dp_core::sums::Moments;
use pgrx::pg_sys::{self, Datum};

use crate::state::length_word;

const HEADER: u32 = length_word(size_of::<MomentsState>());

/// Marks a state of moments, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_31;

/// `palloc` aligns to 8 bytes and no more, so the 128-bit sums are kept as two halves each.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct MomentsState {
    header: u32,
    magic: u32,
    n: i64,
    s: [u64; 2],
    q: [u64; 2],
    grid: Grid,
}

const _: () = assert!(size_of::<MomentsState>() == 80 && align_of::<MomentsState>() == 8);

impl MomentsState {
    /// No rows yet.
    pub fn new(grid: Grid) -> Self {
        Self {
            header: HEADER,
            magic: MAGIC,
            n: 0,
            s: [0; 2],
            q: [0; 2],
            grid,
        }
    }

    #[inline(always)]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    #[inline(always)]
    pub fn moments(&self) -> Moments {
        Moments {
            n: self.n,
            s: whole(self.s),
            q: whole(self.q),
        }
    }

    #[inline(always)]
    fn set(&mut self, moments: Moments) {
        self.n = moments.n;
        self.s = halves(moments.s);
        self.q = halves(moments.q);
    }

    /// Takes in one row of `t` steps of the coarser grid. Cannot panic.
    #[inline(always)]
    pub fn add(&mut self, t: u64) {
        let mut moments = self.moments();
        moments.add(t);
        self.set(moments);
    }

    /// Takes in another part of the same group.
    pub fn merge(&mut self, other: &Self) {
        let mut moments = self.moments();
        moments.merge(&other.moments());
        self.set(moments);
    }

    /// The state behind a datum, or `None` where the bytes are not one of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn of<'a>(datum: Datum) -> Option<&'a mut Self> {
        let state = datum.cast_mut_ptr::<Self>();
        // SAFETY: a varlena has at least one byte, and an aligned one with this four-byte length
        // word has 80; the check of the address comes first, then of the word, then of what
        // follows it. Any 80 bytes are valid numbers. No other reference exists: PostgreSQL
        // calls one support function at a time, and none of ours keeps a state.
        unsafe {
            if !state.is_aligned() || (*state).header != HEADER || (*state).magic != MAGIC {
                return None;
            }
            Some(&mut *state)
        }
    }

    /// A copy of this state in the current memory context, as a datum.
    pub fn into_datum(self) -> Datum {
        // SAFETY: palloc gives 80 bytes aligned to 8, or raises.
        unsafe {
            let place = pg_sys::palloc(size_of::<Self>()).cast::<Self>();
            place.write(self);
            Datum::from(place)
        }
    }
}

#[inline(always)]
fn whole([low, high]: [u64; 2]) -> i128 {
    (u128::from(high) << 64 | u128::from(low)) as i128
}

#[inline(always)]
fn halves(sum: i128) -> [u64; 2] {
    [sum as u64, (sum >> 64) as u64]
}
