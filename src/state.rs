//! `dp_state`: what an aggregate keeps for a group. 64 bytes, updated in place.
//!
//! A varlena of the extension's own rather than `internal`: as fast, and a distributed engine
//! can carry it. Its layout is private: it has no text or binary form, and privileges keep every
//! function that takes it away from users.

use dp_core::grid::Grid;
use dp_core::sums::Sums;
use pgrx::pg_sys::{self, Datum};

use crate::errors;
use crate::fmgr::{Call, sql_function};

const HEADER: u32 = length_word(size_of::<State>());

/// The length word of an uncompressed varlena of so many bytes, with a header of 4 bytes.
#[inline(always)]
pub const fn length_word(size: usize) -> u32 {
    if cfg!(target_endian = "little") {
        (size as u32) << 2
    } else {
        size as u32
    }
}

/// Whether a length word says: uncompressed, a header of 4 bytes, at least so many bytes.
#[inline(always)]
pub fn is_plain(word: u32, least: usize) -> bool {
    let (size, plain) = if cfg!(target_endian = "little") {
        (word >> 2, word & 3 == 0)
    } else {
        (word & 0x3fff_ffff, word >> 30 == 0)
    };
    plain && size as usize >= least
}

/// Marks a state, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_01;

/// `palloc` aligns to 8 bytes and no more, so the 128-bit sum is kept as two halves.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct State {
    header: u32,
    magic: u32,
    n: i64,
    s: [u64; 2],
    grid: Grid,
}

const _: () = assert!(size_of::<State>() == 64 && align_of::<State>() == 8);

impl State {
    /// No rows yet.
    pub fn new(grid: Grid) -> Self {
        Self {
            header: HEADER,
            magic: MAGIC,
            n: 0,
            s: [0; 2],
            grid,
        }
    }

    #[inline(always)]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    #[inline(always)]
    pub fn sums(&self) -> Sums {
        let s = (u128::from(self.s[1]) << 64 | u128::from(self.s[0])) as i128;
        Sums { n: self.n, s }
    }

    #[inline(always)]
    fn set(&mut self, sums: Sums) {
        self.n = sums.n;
        self.s = [sums.s as u64, (sums.s >> 64) as u64];
    }

    /// Takes in one row of `t` grid steps. Cannot panic.
    #[inline(always)]
    pub fn add(&mut self, t: i64) {
        let mut sums = self.sums();
        sums.add(t);
        self.set(sums);
    }

    /// Takes in one row of any number of grid steps.
    pub fn add_wide(&mut self, t: i128) {
        let sums = self.sums();
        self.set(Sums {
            n: sums.n.wrapping_add(1),
            s: sums.s.wrapping_add(t),
        });
    }

    /// Takes in another part of the same group.
    pub fn merge(&mut self, other: &Self) {
        let mut sums = self.sums();
        sums.merge(&other.sums());
        self.set(sums);
    }

    /// The state behind a datum, or `None` where the bytes are not a state of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn of<'a>(datum: Datum) -> Option<&'a mut Self> {
        let state = datum.cast_mut_ptr::<Self>();
        // SAFETY: a varlena has at least one byte, and an aligned one with this four-byte length
        // word has 64; the check of the address comes first, then of the word, then of what
        // follows it. Any 64 bytes are valid numbers. No other reference exists: PostgreSQL
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
        // SAFETY: palloc gives 64 bytes aligned to 8, or raises.
        unsafe {
            let place = pg_sys::palloc(size_of::<Self>()).cast::<Self>();
            place.write(self);
            Datum::from(place)
        }
    }
}

/// Refuses: see [`errors::no_external_state`].
fn refuse(_: Call) -> Option<Datum> {
    errors::no_external_state()
}

sql_function!(dp_state_in, pg_finfo_dp_state_in, refuse);
sql_function!(dp_state_out, pg_finfo_dp_state_out, refuse);
sql_function!(dp_state_recv, pg_finfo_dp_state_recv, refuse);
sql_function!(dp_state_send, pg_finfo_dp_state_send, refuse);
