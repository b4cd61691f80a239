//! What the mechanisms of regressions share: the sums that noise goes on, and the release.

use crate::encoding::columns::Columns;
use crate::encoding::grid::Grid;
use crate::encoding::sums::Totals;
use crate::mechanism::definition::Mechanism;
use crate::mechanism::regression::fit::{Fit, Fitting};
use crate::mechanism::regression::parts::{Part, count, parts};
use crate::memory;
use crate::random::{Bits, Generator, add_noise};

/// A mechanism of regressions.
pub trait OfColumns: Mechanism<Totals, Answer = Fit> {
    /// The columns, and their bounds.
    fn columns(&self) -> &Columns;

    /// The same with intervals that miss with this probability, and not with 1 in 20.
    fn missing(self: Box<Self>, miss: f64) -> Box<Regression>;
}

/// Any of them.
pub type Regression = dyn OfColumns;

/// The sums of rows on a grid of that many steps.
pub fn exact(totals: &Totals, columns: usize, steps: u64) -> Vec<i128> {
    let (g, n) = (i128::from(steps), i128::from(totals.n));
    // Of 2^63 rows all are below 2^114; saturation is for what no rows add up to.
    let whole = n.saturating_mul(g * g);
    let sum = |i: usize| totals.s.get(i).copied().unwrap_or(0);
    // Where the products with column `i` begin.
    let products = |i: usize| columns + i * columns - i * i.saturating_sub(1) / 2;
    let product = |i: usize, j: usize| sum(products(i) + j - i);
    let centred = |i: usize| g.saturating_mul(sum(i).saturating_mul(2).saturating_sub(n * g));
    let of = |part: Part| match part {
        Part::Rows => whole,
        Part::Column(i) => centred(i),
        Part::Square(i) => product(i, i)
            .saturating_sub(sum(i).saturating_mul(g))
            .saturating_mul(8)
            .saturating_add(whole),
        Part::Product(i, j) => {
            let lines = sum(i).saturating_add(sum(j)).saturating_mul(2 * g);
            let product = product(i, j).saturating_mul(4);
            product.saturating_sub(lines).saturating_add(whole)
        }
    };
    memory::vector(count(columns), parts(columns).map(of))
}

/// Noise on all sums together.
pub trait Noise {
    /// One draw for each of them.
    fn draw<B: Bits>(&self, bits: &mut B) -> Vec<i128>;
}

/// A regression, by sums with the noise `N`.
#[derive(Clone, Debug)]
pub struct Sums<N> {
    fitting: Fitting,
    steps: u64,
    /// How many times each sum is taken.
    weights: Vec<u8>,
    noise: N,
}

impl<N: Noise> Sums<N> {
    /// For rows of that many steps in each column, 1 to 2^23.
    pub(crate) fn new(fitting: Fitting, steps: u64, weights: Vec<u8>, noise: N) -> Self {
        Self {
            fitting,
            steps,
            weights,
            noise,
        }
    }

    /// What noise goes on: the sums, each times its weight.
    pub fn coordinates(&self, totals: &Totals) -> Vec<i128> {
        let mut sums = exact(totals, self.fitting.columns().count(), self.steps);
        for (sum, weight) in sums.iter_mut().zip(&self.weights) {
            *sum = sum.saturating_mul(i128::from(*weight));
        }
        sums
    }

    /// The noisy numbers: this is what the guarantee is about.
    pub fn noisy<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Vec<i128> {
        let mut numbers = self.coordinates(totals);
        let noise = self.noise.draw(bits);
        for (number, noise) in numbers.iter_mut().zip(noise) {
            *number = add_noise(*number, noise, bits);
        }
        numbers
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Fit {
        let unit = (self.steps * self.steps) as f64;
        let noisy = self.noisy(totals, bits);
        let sums = noisy.iter().zip(&self.weights);
        let sums = sums.map(|(sum, weight)| *sum as f64 / (f64::from(*weight) * unit));
        self.fitting.fit(&memory::vector(noisy.len(), sums))
    }
}

impl<N: Noise> Mechanism<Totals> for Sums<N> {
    type Answer = Fit;

    /// That of one column: there is none.
    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> Fit {
        self.release_from(totals, generator)
    }
}

impl<N: Noise + 'static> OfColumns for Sums<N> {
    fn columns(&self) -> &Columns {
        self.fitting.columns()
    }

    fn missing(mut self: Box<Self>, miss: f64) -> Box<Regression> {
        self.fitting.miss = miss;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::columns::totals_of;

    #[test]
    fn sums_are_those_of_the_centred_rows() {
        let steps = 4;
        for rows in [
            &[&[0, 4, 1][..]][..],
            &[&[3, 2, 2], &[1, 1, 4], &[0, 0, 0]],
            &[&[4, 1, 3, 2], &[2, 0, 4, 1]],
        ] {
            let columns = rows[0].len();
            let centred = |row: &[u64], i: usize| 2 * row[i] as i128 - steps;
            let of = |part| {
                let of_row = |row: &&[u64]| match part {
                    Part::Rows => steps * steps,
                    Part::Column(i) => steps * centred(row, i),
                    Part::Square(i) => 2 * centred(row, i).pow(2) - steps * steps,
                    Part::Product(i, j) => centred(row, i) * centred(row, j),
                };
                rows.iter().map(of_row).sum::<i128>()
            };
            let expected: Vec<_> = parts(columns).map(of).collect();
            assert_eq!(
                exact(&totals_of(columns, rows), columns, steps as u64),
                expected
            );
            assert_eq!(count(columns), expected.len());
        }
    }

    /// Over all rows of a small grid: no sum moves by more than the unit, and each moves by as much both ways.
    #[test]
    fn a_row_moves_no_sum_by_more_than_the_unit() {
        for (columns, steps) in [(2usize, 6u64), (3, 4), (4, 2)] {
            let all = (steps + 1).pow(columns as u32);
            let row = |k: u64| -> Vec<u64> {
                let digit = |i| k / (steps + 1).pow(i as u32) % (steps + 1);
                (0..columns).map(digit).collect()
            };
            let mut most = vec![[0; 2]; count(columns)];
            for k in 0..all {
                let sums = exact(&totals_of(columns, [row(k)]), columns, steps);
                for (most, sum) in most.iter_mut().zip(sums) {
                    *most = [most[0].min(sum), most[1].max(sum)];
                }
            }
            let unit = i128::from(steps * steps);
            for (part, [least, greatest]) in parts(columns).zip(most) {
                let of_rows = part == Part::Rows;
                assert_eq!(greatest, unit, "{part:?}");
                assert_eq!(least, if of_rows { 0 } else { -unit }, "{part:?}");
            }
        }
    }
}
