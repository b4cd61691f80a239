//! What an aggregate knows of its rows: exact integers, and nothing else.

use crate::memory;

/// The number of rows and the sum of their grid steps.
///
/// Integers, so that any order of the rows, any split into parts and any order of merging the
/// parts gives the same two numbers. Both wrap on overflow (a count would need 2^63 rows), so
/// nothing here can panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Rows.
    pub n: i64,
    /// Sum of the rows' grid steps.
    pub s: i128,
}

impl Sums {
    /// Takes in one row of `t` grid steps.
    #[inline(always)]
    pub fn add(&mut self, t: i64) {
        self.n = self.n.wrapping_add(1);
        self.s = self.s.wrapping_add(i128::from(t));
    }

    /// Takes in the rows of another part of the same group.
    #[inline(always)]
    pub fn merge(&mut self, other: &Self) {
        self.n = self.n.wrapping_add(other.n);
        self.s = self.s.wrapping_add(other.s);
    }
}

/// The same, with the sum of the squares of the steps. Of rows on the grid of
/// [`COARSE_STEPS`](crate::encoding::grid::COARSE_STEPS) steps, so that the squares of 2^63 rows fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Rows.
    pub n: i64,
    /// Sum of the rows' grid steps.
    pub s: i128,
    /// Sum of the squares of the rows' grid steps.
    pub q: i128,
}

impl Moments {
    /// Takes in one row of `t` grid steps, at most 2^32.
    #[inline(always)]
    pub fn add(&mut self, t: u64) {
        self.n = self.n.wrapping_add(1);
        self.s = self.s.wrapping_add(i128::from(t));
        self.q = self.q.wrapping_add(i128::from(t.wrapping_mul(t)));
    }

    /// Takes in the rows of another part of the same group.
    #[inline(always)]
    pub fn merge(&mut self, other: &Self) {
        self.n = self.n.wrapping_add(other.n);
        self.s = self.s.wrapping_add(other.s);
        self.q = self.q.wrapping_add(other.q);
    }
}

/// The same for rows that are vectors: one number of rows, and a sum for each position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Rows.
    pub n: i64,
    /// For each position, the sum of the rows' grid steps there; of yes/no questions, the number
    /// of rows that say yes.
    pub s: Vec<i128>,
}

impl Totals {
    /// No rows yet, of vectors of this length.
    pub fn new(length: usize) -> Self {
        Self {
            n: 0,
            s: memory::vector(length, std::iter::repeat(0)),
        }
    }
}
