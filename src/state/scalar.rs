//! `dp_state`: what an aggregate keeps for a group. 64 bytes, 80 for a variance, or 160 for two columns, updated in
//! place.
//!
//! A varlena of the extension's own rather than `internal`: as fast, and a distributed engine
//! can carry it. Its layout is private: it has no text or binary form, and privileges keep every
//! function that takes it away from users.

use dp_core::encoding::grid::{Grid, UnitGrid};
use dp_core::encoding::pairs::{PairGrid, PairMoments};
use dp_core::encoding::sums::{Moments, Sums};
use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::length_word;

/// How the rows of a group become steps: fixed by the call, and the same in each of its states.
pub trait GroupGrid: Copy {
    /// Whether two grids are the same, bit by bit.
    fn same(&self, other: &Self) -> bool;
    /// The name of a bound in which two grids differ.
    fn changed_bound(&self, other: &Self) -> Option<&'static str>;
}

/// How the rows of one column become steps.
pub trait ColumnGrid: GroupGrid {
    /// The bounds, the lower first.
    fn bounds(&self) -> [f64; 2];
}

impl ColumnGrid for Grid {
    #[inline(always)]
    fn bounds(&self) -> [f64; 2] {
        [self.lo(), self.hi()]
    }
}

impl ColumnGrid for UnitGrid {
    #[inline(always)]
    fn bounds(&self) -> [f64; 2] {
        [self.lo(), self.hi()]
    }
}

impl GroupGrid for UnitGrid {
    #[inline(always)]
    fn same(&self, other: &Self) -> bool {
        self.bounds().map(f64::to_bits) == other.bounds().map(f64::to_bits)
    }

    fn changed_bound(&self, other: &Self) -> Option<&'static str> {
        self.grid().changed_bound(&other.grid())
    }
}

impl GroupGrid for Grid {
    fn same(&self, other: &Self) -> bool {
        Grid::same(self, other)
    }

    fn changed_bound(&self, other: &Self) -> Option<&'static str> {
        Grid::changed_bound(self, other)
    }
}

impl GroupGrid for PairGrid {
    fn same(&self, other: &Self) -> bool {
        PairGrid::same(self, other)
    }

    fn changed_bound(&self, other: &Self) -> Option<&'static str> {
        PairGrid::changed_bound(self, other)
    }
}

/// What the rows of a group add up to, by rules of its own: [`Sums`], [`Moments`] or [`PairMoments`].
pub trait RowSums: Copy + Default {
    /// How rows become steps.
    type Grid: GroupGrid;
    /// The values of a row.
    type Row;
    /// The same in words: `palloc` aligns to 8 bytes and no more, so a 128-bit sum is two halves.
    type Words: Copy + AsRef<[u64]> + AsMut<[u64]>;
    /// What a row comes to.
    type Steps;
    /// Marks a state of these sums, and the version of its layout.
    const MAGIC: u32;

    fn pack(self) -> Self::Words;
    fn unpack(words: Self::Words) -> Self;
    /// What a row without NaN comes to on this grid. Cannot panic.
    fn steps(grid: &Self::Grid, row: Self::Row) -> Self::Steps;
    /// Takes in one row. Cannot panic.
    fn add(&mut self, steps: Self::Steps);
    /// Takes in the rows of another part of the same group. Cannot panic.
    fn merge(&mut self, other: &Self);
}

#[inline(always)]
pub fn whole(low: u64, high: u64) -> i128 {
    (u128::from(high) << 64 | u128::from(low)) as i128
}

#[inline(always)]
pub fn halves(sum: i128) -> [u64; 2] {
    [sum as u64, (sum >> 64) as u64]
}

impl RowSums for Sums {
    type Grid = Grid;
    type Row = f64;
    type Words = [u64; 3];
    type Steps = i64;
    const MAGIC: u32 = 0xd9_3a_5e_01;

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

impl RowSums for Moments {
    type Grid = Grid;
    type Row = f64;
    type Words = [u64; 5];
    type Steps = u64;
    // Told apart from the one above by its length.
    const MAGIC: u32 = 0xd9_3a_5e_01;

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

impl RowSums for PairMoments {
    type Grid = PairGrid;
    type Row = [f64; 2];
    type Words = [u64; 11];
    type Steps = [u64; 2];
    const MAGIC: u32 = 0xd9_3a_5e_04;

    #[inline(always)]
    fn pack(self) -> [u64; 11] {
        let Self {
            n,
            y,
            x,
            yy,
            xy,
            xx,
        } = self;
        let [[y0, y1], [x0, x1]] = [y, x].map(halves);
        let [[yy0, yy1], [xy0, xy1], [xx0, xx1]] = [yy, xy, xx].map(halves);
        [n as u64, y0, y1, x0, x1, yy0, yy1, xy0, xy1, xx0, xx1]
    }

    #[inline(always)]
    fn unpack([n, y0, y1, x0, x1, yy0, yy1, xy0, xy1, xx0, xx1]: [u64; 11]) -> Self {
        Self {
            n: n as i64,
            y: whole(y0, y1),
            x: whole(x0, x1),
            yy: whole(yy0, yy1),
            xy: whole(xy0, xy1),
            xx: whole(xx0, xx1),
        }
    }

    #[inline(always)]
    fn steps(grid: &PairGrid, row: [f64; 2]) -> [u64; 2] {
        grid.steps(row)
    }

    #[inline(always)]
    fn add(&mut self, steps: [u64; 2]) {
        PairMoments::add(self, steps);
    }

    fn merge(&mut self, other: &Self) {
        PairMoments::merge(self, other);
    }
}

/// What a group's rows add up to, and the grid they are on.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct State<S: RowSums> {
    header: u32,
    magic: u32,
    words: S::Words,
    grid: S::Grid,
}

const _: () = assert!(size_of::<State<Sums>>() == 64 && align_of::<State<Sums>>() == 8);
const _: () = assert!(size_of::<State<Moments>>() == 80 && align_of::<State<Moments>>() == 8);
const _: () =
    assert!(size_of::<State<PairMoments>>() == 160 && align_of::<State<PairMoments>>() == 8);

impl<S: RowSums> State<S> {
    const HEADER: u32 = length_word(size_of::<Self>());

    /// No rows yet.
    pub fn new(grid: S::Grid) -> Self {
        Self {
            header: Self::HEADER,
            magic: S::MAGIC,
            words: S::default().pack(),
            grid,
        }
    }

    #[inline(always)]
    pub fn grid(&self) -> &S::Grid {
        &self.grid
    }

    /// What the rows add up to.
    #[inline(always)]
    pub fn sums(&self) -> S {
        S::unpack(self.words)
    }

    /// Takes in one row. Cannot panic.
    #[inline(always)]
    pub fn add(&mut self, steps: S::Steps) {
        let mut sums = self.sums();
        sums.add(steps);
        self.words = sums.pack();
    }

    /// Takes in a row without NaN. Cannot panic.
    #[inline(always)]
    pub fn take(&mut self, row: S::Row) {
        self.add(S::steps(&self.grid, row));
    }

    /// Takes in other rows of the same group.
    pub fn merge(&mut self, other: &S) {
        let mut sums = self.sums();
        sums.merge(other);
        self.words = sums.pack();
    }

    /// Takes in another part of the same group; `false` of one on another grid. Cannot panic.
    #[inline(always)]
    pub fn take_in(&mut self, part: &Self) -> bool {
        let is_same = self.grid.same(&part.grid);
        if is_same {
            self.merge(&part.sums());
        }
        is_same
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
            if !state.is_aligned() || (*state).header != Self::HEADER || (*state).magic != S::MAGIC
            {
                return None;
            }
            Some(&mut *state)
        }
    }

    /// A copy of this state in the current memory context, as a datum.
    pub fn into_datum(self) -> Datum {
        // SAFETY: palloc gives that many bytes aligned to 8, or raises.
        unsafe {
            let copy = pg_sys::palloc(size_of::<Self>()).cast::<Self>();
            copy.write(self);
            Datum::from(copy)
        }
    }
}
