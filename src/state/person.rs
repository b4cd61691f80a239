//! What is kept of a person's rows until they are a contribution: the rules of [`PersonRows`] and [`PersonTotal`]
//! for a state.

use dp_core::encoding::contribution::{PersonRows, PersonTotal};
use dp_core::encoding::grid::{Grid, UnitGrid};

use crate::state::scalar::{RowSums, State, halves, whole};

// There is one for each person, and PostgreSQL takes a power of two for it. So the grid is its bounds alone: with all
// of the grid it would be 80 bytes, which take 128.
const _: () = assert!(size_of::<State<PersonRows>>() == 64);

impl RowSums for PersonRows {
    type Grid = UnitGrid;
    type Row = f64;
    type Words = [u64; 5];
    type Steps = u64;
    const MAGIC: u32 = 0xd9_3a_5e_02;

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
    fn steps(grid: &UnitGrid, x: f64) -> u64 {
        grid.grid().steps_above(x)
    }

    #[inline(always)]
    fn add(&mut self, steps: u64) {
        PersonRows::add(self, steps);
    }

    fn merge(&mut self, other: &Self) {
        PersonRows::merge(self, other);
    }
}

impl RowSums for PersonTotal {
    type Grid = Grid;
    type Row = f64;
    type Words = [u64; 3];
    type Steps = i64;
    const MAGIC: u32 = 0xd9_3a_5e_03;

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
        grid.unclamped_steps(x)
    }

    #[inline(always)]
    fn add(&mut self, steps: i64) {
        PersonTotal::add(self, steps);
    }

    fn merge(&mut self, other: &Self) {
        PersonTotal::merge(self, other);
    }
}
