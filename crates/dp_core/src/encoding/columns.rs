//! Rows of several columns: their grids, and what they add up to.
//!
//! The columns are `x_1` to `x_p`, then `y`. What rows add up to are [`Totals`](crate::encoding::sums::Totals): their
//! number, then for each column the sum of the steps, then for each pair of columns that of the products, in the order
//! `11, 12, ..., 1D, 22, ..., DD`.

use crate::encoding::grid::{Bounds, Grid};
use crate::encoding::sums::Totals;
use crate::memory;
use crate::random::mixed;

/// The most columns `x` that are taken.
pub const MOST_PREDICTORS: usize = 16;

/// The most columns: with `y`.
pub const MOST_COLUMNS: usize = MOST_PREDICTORS + 1;

/// How many sums that many columns have.
pub const fn sums_of(columns: usize) -> usize {
    columns + columns * (columns + 1) / 2
}

/// Which columns the products are of, in their order.
pub fn pairs(columns: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..columns).flat_map(move |i| (i..columns).map(move |j| [i, j]))
}

/// The bounds of the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    bounds: Vec<Bounds>,
}

impl Columns {
    /// For columns `x` between these bounds, and `y` between others. There are at most [`MOST_PREDICTORS`] of them.
    pub fn new(x: &[Bounds], y: Bounds) -> Self {
        let all = x.iter().copied().take(MOST_PREDICTORS).chain([y]);
        Self {
            bounds: memory::vector(x.len().min(MOST_PREDICTORS) + 1, all),
        }
    }

    /// How many there are, `y` among them.
    pub fn count(&self) -> usize {
        self.bounds.len()
    }

    /// How a value becomes steps, for each column.
    pub fn grids(&self) -> impl Iterator<Item = Grid> {
        self.bounds.iter().map(Grid::unit)
    }

    /// The bounds of each.
    pub fn bounds(&self) -> &[Bounds] {
        &self.bounds
    }

    /// A grid that is another one where any bound is: by it a state of these columns is known from others.
    pub fn mark(&self) -> Grid {
        let ends = self.bounds.iter().flat_map(|of| [of.lo(), of.hi()]);
        let hash = ends.fold(0, |hash, end| mixed(hash ^ end.to_bits()));
        Grid::carrying(
            &self.bounds[self.bounds.len() - 1],
            f64::from_bits(hash),
            0.0,
        )
    }
}

/// What a row adds to each sum, in their order: its steps, then their products, each at most 2^46. Cannot panic.
#[inline(always)]
pub fn each_addend(steps: &[u64], mut take: impl FnMut(u64)) {
    for one in steps {
        take(*one);
    }
    let mut rest = steps;
    while let Some((one, others)) = rest.split_first() {
        take(one.wrapping_mul(*one));
        for other in others {
            take(one.wrapping_mul(*other));
        }
        rest = others;
    }
}

/// The sums of rows of that many columns. What adds them up in a server has a state of its own.
pub fn totals_of(columns: usize, rows: impl IntoIterator<Item = impl AsRef<[u64]>>) -> Totals {
    let mut totals = Totals::new(sums_of(columns));
    for row in rows {
        totals.n += 1;
        let mut sums = totals.s.iter_mut();
        each_addend(row.as_ref(), |addend| {
            if let Some(sum) = sums.next() {
                *sum += i128::from(addend);
            }
        });
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_an_order() {
        let mut addends = Vec::new();
        each_addend(&[2, 3, 5], |addend| addends.push(addend));
        assert_eq!(addends, [2, 3, 5, 4, 6, 10, 9, 15, 25]);
        assert_eq!(
            totals_of(3, [[2, 3, 5], [0, 1, 0]]).s,
            [2, 4, 5, 4, 6, 10, 10, 15, 25]
        );
        let pairs: Vec<_> = pairs(3).collect();
        assert_eq!(pairs, [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]);
        assert_eq!(sums_of(3), 9);
        assert_eq!(sums_of(MOST_COLUMNS), 170);
    }

    #[test]
    fn a_mark_tells_columns_apart() {
        let bounds = |lo, hi| Bounds::new(Some(lo), Some(hi)).unwrap();
        let of = |x: &[(f64, f64)], y| {
            let x: Vec<_> = x.iter().map(|(lo, hi)| bounds(*lo, *hi)).collect();
            Columns::new(&x, y).mark()
        };
        let y = bounds(0.0, 1.0);
        let one = of(&[(0.0, 1.0), (0.0, 2.0)], y);
        assert!(one.same(&of(&[(0.0, 1.0), (0.0, 2.0)], y)));
        assert!(!one.same(&of(&[(0.0, 2.0), (0.0, 1.0)], y)));
        assert!(!one.same(&of(&[(0.0, 1.0), (-0.0, 2.0)], y)));
        assert!(!one.same(&of(&[(0.0, 1.0), (0.0, 2.0)], bounds(0.0, 3.0))));
    }
}
