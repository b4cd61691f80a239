//! `dp_state`: what an aggregate keeps for a group. 64 bytes, or 80 for a variance, updated in place.
//!
//! A varlena of the extension's own rather than `internal`: as fast, and a distributed engine
//! can carry it. Its layout is private: it has no text or binary form, and privileges keep every
//! function that takes it away from users.

use dp_core::encoding::grid::Grid;
use dp_core::encoding::sums::{Moments, Sums};
use pgrx::pg_sys::{self, Datum};

use crate::errors;
use crate::fmgr::{Call, sql_function};

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

/// Marks a state, and the version of its layout. What it keeps shows in its length.
const MAGIC: u32 = 0xd9_3a_5e_01;

/// What a state keeps of its rows: integers, which it takes in and merges by their own rules.
pub trait Kept: Copy + Default {
    /// The same in words: `palloc` aligns to 8 bytes and no more, so a 128-bit sum is two halves.
    type Words: Copy;
    /// What a row comes to.
    type Steps;

    fn pack(self) -> Self::Words;
    fn unpack(words: Self::Words) -> Self;
    /// What a value that is not NaN comes to on this grid. Cannot panic.
    fn steps(grid: &Grid, x: f64) -> Self::Steps;
    /// Takes in one row. Cannot panic.
    fn add(&mut self, steps: Self::Steps);
    /// Takes in the rows of another part of the same group.
    fn merge(&mut self, other: &Self);
}

#[inline(always)]
fn whole(low: u64, high: u64) -> i128 {
    (u128::from(high) << 64 | u128::from(low)) as i128
}

#[inline(always)]
fn halves(sum: i128) -> [u64; 2] {
    [sum as u64, (sum >> 64) as u64]
}

impl Kept for Sums {
    type Words = [u64; 3];
    type Steps = i64;

    #[inline(always)]
    fn pack(self) -> [u64; 3] {
        let [low, high] = halves(self.s);
        [self.n as u64, low, high]
    }

    #[inline(always)]
    fn unpack([n, low, high]: [u64; 3]) -> Self {
        Self {
            n: n as i64,
            s: whole(low, high),
        }
    }

    #[inline(always)]
    fn steps(grid: &Grid, x: f64) -> i64 {
        grid.steps(x)
    }

    #[inline(always)]
    fn add(&mut self, steps: i64) {
        Sums::add(self, steps);
    }

    fn merge(&mut self, other: &Self) {
        Sums::merge(self, other);
    }
}

impl Kept for Moments {
    type Words = [u64; 5];
    type Steps = u64;

    #[inline(always)]
    fn pack(self) -> [u64; 5] {
        let [[low, high], [low_squares, high_squares]] = [self.s, self.q].map(halves);
        [self.n as u64, low, high, low_squares, high_squares]
    }

    #[inline(always)]
    fn unpack([n, low, high, low_squares, high_squares]: [u64; 5]) -> Self {
        Self {
            n: n as i64,
            s: whole(low, high),
            q: whole(low_squares, high_squares),
        }
    }

    #[inline(always)]
    fn steps(grid: &Grid, x: f64) -> u64 {
        grid.coarse_steps(x)
    }

    #[inline(always)]
    fn add(&mut self, steps: u64) {
        Moments::add(self, steps);
    }

    fn merge(&mut self, other: &Self) {
        Moments::merge(self, other);
    }
}

/// What is kept of a group's rows, and the grid they are on.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct State<K: Kept> {
    header: u32,
    magic: u32,
    words: K::Words,
    grid: Grid,
}

const _: () = assert!(size_of::<State<Sums>>() == 64 && align_of::<State<Sums>>() == 8);
const _: () = assert!(size_of::<State<Moments>>() == 80 && align_of::<State<Moments>>() == 8);

impl<K: Kept> State<K> {
    const HEADER: u32 = length_word(size_of::<Self>());

    /// No rows yet.
    pub fn new(grid: Grid) -> Self {
        Self {
            header: Self::HEADER,
            magic: MAGIC,
            words: K::default().pack(),
            grid,
        }
    }

    #[inline(always)]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What is kept of the rows.
    #[inline(always)]
    pub fn kept(&self) -> K {
        K::unpack(self.words)
    }

    /// Takes in one row. Cannot panic.
    #[inline(always)]
    pub fn add(&mut self, steps: K::Steps) {
        let mut kept = self.kept();
        kept.add(steps);
        self.words = kept.pack();
    }

    /// Takes in a row with a value that is not NaN. Cannot panic.
    #[inline(always)]
    pub fn take(&mut self, x: f64) {
        self.add(K::steps(&self.grid, x));
    }

    /// Takes in other rows of the same group.
    pub fn merge(&mut self, other: &K) {
        let mut kept = self.kept();
        kept.merge(other);
        self.words = kept.pack();
    }

    /// The state behind a datum, or `None` where the bytes are not a state of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn of<'a>(datum: Datum) -> Option<&'a mut Self> {
        let state = datum.cast_mut_ptr::<Self>();
        // SAFETY: a varlena has at least one byte, and an aligned one with this four-byte length
        // word has as many as it says; the check of the address comes first, then of the word, then
        // of what follows it. Any bytes are valid numbers. No other reference exists: PostgreSQL
        // calls one support function at a time, and none of ours keeps a state.
        unsafe {
            if !state.is_aligned() || (*state).header != Self::HEADER || (*state).magic != MAGIC {
                return None;
            }
            Some(&mut *state)
        }
    }

    /// A copy of this state in the current memory context, as a datum.
    pub fn into_datum(self) -> Datum {
        // SAFETY: palloc gives so many bytes aligned to 8, or raises.
        unsafe {
            let place = pg_sys::palloc(size_of::<Self>()).cast::<Self>();
            place.write(self);
            Datum::from(place)
        }
    }
}

/// Marks a state of rows that were refused, and the version of its layout.
const MAGIC_OF_REFUSED: u32 = 0xd9_3a_5e_31;

/// The arguments that a refusal may blame.
const ARGUMENTS: [&str; 7] = ["mech", "lo", "hi", "eps", "delta", "buckets", "confidence"];

/// What a part of a parallel plan keeps where the call is refused. An ERROR in a parallel worker would tell
/// that a row was there: without one, it is the leader's final function that finds the same mistake.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Refused {
    header: u32,
    magic: u32,
    argument: u32,
    spare: u32,
}

impl Refused {
    const HEADER: u32 = length_word(size_of::<Self>());

    /// Blames this argument.
    pub fn new(argument: &str) -> Self {
        let blamed = ARGUMENTS.iter().position(|name| *name == argument);
        Self {
            header: Self::HEADER,
            magic: MAGIC_OF_REFUSED,
            argument: blamed.unwrap_or(0) as u32,
            spare: 0,
        }
    }

    /// The argument to blame, if the final function finds nothing wrong with the call.
    pub fn argument(self) -> &'static str {
        let blamed = ARGUMENTS.get(self.argument as usize);
        blamed.unwrap_or(&ARGUMENTS[0])
    }

    /// What is behind a datum, or `None` where the bytes are something else.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let place = datum.cast_mut_ptr::<Self>();
        // SAFETY: as in `State::of`.
        unsafe {
            let is_one = place.is_aligned()
                && (*place).header == Self::HEADER
                && (*place).magic == MAGIC_OF_REFUSED;
            is_one.then(|| *place)
        }
    }

    /// A copy in the current memory context, as a datum.
    pub fn into_datum(self) -> Datum {
        // SAFETY: as in `State::into_datum`.
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
