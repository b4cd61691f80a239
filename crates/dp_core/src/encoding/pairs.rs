//! Rows of two columns: their grids, and what they add up to.

use crate::encoding::grid::{Bounds, Grid};

/// The grids of the two columns, in the order of the arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct PairGrid {
    y: Grid,
    x: Grid,
}

impl PairGrid {
    /// For columns between these bounds.
    pub fn new(y: &Bounds, x: &Bounds) -> Self {
        Self {
            y: Grid::unit(y),
            x: Grid::unit(x),
        }
    }

    /// `ylo`, `yhi`, `xlo`, `xhi`.
    #[inline(always)]
    pub fn ends(&self) -> [f64; 4] {
        [self.y.lo(), self.y.hi(), self.x.lo(), self.x.hi()]
    }

    /// The steps of one row, each between 0 and [`PAIR_STEPS`](crate::encoding::grid::PAIR_STEPS). Depends on the
    /// row and the public bounds alone. Cannot panic.
    #[inline(always)]
    pub fn steps(&self, [y, x]: [f64; 2]) -> [u64; 2] {
        [self.y.pair_steps(y), self.x.pair_steps(x)]
    }

    /// Whether two grids are the same, bit by bit.
    pub fn same(&self, other: &Self) -> bool {
        self.y.same(&other.y) && self.x.same(&other.x)
    }

    /// The name of a bound in which two grids differ.
    pub fn changed_bound(&self, other: &Self) -> Option<&'static str> {
        let names = ["ylo", "yhi", "xlo", "xhi"].into_iter();
        let mut ends = names.zip(self.ends().into_iter().zip(other.ends()));
        let changed = ends.find(|(_, (one, other))| one.to_bits() != other.to_bits());
        changed.map(|(name, _)| name)
    }
}

/// Of rows of two columns: their number, and the sums of the steps, of their squares and of their product.
///
/// Integers that wrap on overflow, as those of [`Sums`](crate::encoding::sums::Sums). 2^63 rows of
/// [`PAIR_STEPS`](crate::encoding::grid::PAIR_STEPS) steps fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairMoments {
    /// Rows.
    pub n: i64,
    /// Sum of the steps of `y`.
    pub y: i128,
    /// Sum of the steps of `x`.
    pub x: i128,
    /// Sum of the squares of the steps of `y`.
    pub yy: i128,
    /// Sum of the products.
    pub xy: i128,
    /// Sum of the squares of the steps of `x`.
    pub xx: i128,
}

impl PairMoments {
    /// Takes in one row of that many steps, at most 2^31 each.
    #[inline(always)]
    pub fn add(&mut self, [y, x]: [u64; 2]) {
        let sum = |sum: i128, steps: u64| sum.wrapping_add(i128::from(steps));
        *self = Self {
            n: self.n.wrapping_add(1),
            y: sum(self.y, y),
            x: sum(self.x, x),
            yy: sum(self.yy, y.wrapping_mul(y)),
            xy: sum(self.xy, x.wrapping_mul(y)),
            xx: sum(self.xx, x.wrapping_mul(x)),
        };
    }

    /// That many rows of the same steps: those that stand for a person, at their means.
    pub fn of_rows([y, x]: [u64; 2], n: u32) -> Self {
        let sum = |steps: u64| i128::from(steps) * i128::from(n);
        Self {
            n: i64::from(n),
            y: sum(y),
            x: sum(x),
            yy: sum(y * y),
            xy: sum(x * y),
            xx: sum(x * x),
        }
    }

    /// Takes in the rows of another part of the same group.
    #[inline(always)]
    pub fn merge(&mut self, other: &Self) {
        *self = Self {
            n: self.n.wrapping_add(other.n),
            y: self.y.wrapping_add(other.y),
            x: self.x.wrapping_add(other.x),
            yy: self.yy.wrapping_add(other.yy),
            xy: self.xy.wrapping_add(other.xy),
            xx: self.xx.wrapping_add(other.xx),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_person_are_added_at_once() {
        for steps in [[0, 0], [1, 2], [1 << 31, 1 << 31], [7, 0]] {
            for n in [0, 1, 5, 1000] {
                let mut added = PairMoments::default();
                (0..n).for_each(|_| added.add(steps));
                assert_eq!(PairMoments::of_rows(steps, n), added);
            }
        }
        // The most that a person can have.
        let most = PairMoments::of_rows([1 << 31; 2], 1_000_000);
        assert_eq!(most.xy, 1_000_000 << 62);
    }
}
