//! What an aggregate knows of its rows: two exact integers.

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
