//! What a person with many rows contributes to a group: at most `k` rows, which stand for all rows that the
//! person has.
//!
//! A person's rows are added up exactly ([`PersonRows`], [`PersonTotal`]), and scaled down to a
//! [`Contribution`] once all are there. That is a function of this person's rows and of public numbers alone,
//! and the result could be the rows of somebody who has no more than `k`. So a call with `rows=k` protects
//! the person, by the proof that it has for `k` rows.
//!
//! The proof: docs/proofs/contribution.md.

use crate::encoding::grid::{Bounds, COARSE_STEPS, Grid, STEPS};
use crate::encoding::sums::{Moments, Sums};
use crate::request::unit;

/// The most rows of a person that a contribution can stand for.
pub const MOST: u32 = unit::MOST_OF_A_PERSON;

/// All rows of a person in a group, as long as they come in: integers, so that neither their order nor a split
/// into parts matters. Of rows on a grid from `lo`, whose steps are not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PersonRows {
    /// Rows.
    pub n: i64,
    /// Sum of the rows' grid steps.
    pub s: i128,
    /// Sum of the squares of the rows' grid steps: 2^63 rows of 2^64 fit.
    pub q: i128,
}

impl PersonRows {
    /// Takes in one row of `t` grid steps, from 0 to 2^32. Cannot panic.
    #[inline(always)]
    pub fn add(&mut self, t: u64) {
        self.n = self.n.wrapping_add(1);
        self.s = self.s.wrapping_add(i128::from(t));
        self.q = self.q.wrapping_add((u128::from(t) * u128::from(t)) as i128);
    }

    /// Takes in another part of the same person's rows.
    #[inline(always)]
    pub fn merge(&mut self, other: &Self) {
        self.n = self.n.wrapping_add(other.n);
        self.s = self.s.wrapping_add(other.s);
        self.q = self.q.wrapping_add(other.q);
    }

    /// What a person with these rows contributes, of at most `k` rows; `None` without rows.
    pub fn contribution(&self, k: u32) -> Option<Contribution> {
        self.contribution_of_steps(k, STEPS)
    }

    /// The same on a grid of that many steps: 1 to 2^32.
    pub fn contribution_of_steps(&self, k: u32, steps: u64) -> Option<Contribution> {
        let n = u64::try_from(self.n).ok().filter(|n| *n > 0)?;
        let kept = n.min(u64::from(k.clamp(1, MOST)));
        let [s, q] = [self.s, self.q].map(|sum| scaled(u128::try_from(sum).unwrap_or(0), kept, n));
        Some(Contribution::brought_in(kept as u32, s, q, steps))
    }
}

/// The rows of a person whose total counts, in steps of a grid from 0 that does not end at the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PersonTotal {
    /// Rows.
    pub n: i64,
    /// Sum of the rows' steps.
    pub s: i128,
}

impl PersonTotal {
    /// Takes in one row of at most 2^62 steps in magnitude. Cannot panic.
    #[inline(always)]
    pub fn add(&mut self, t: i64) {
        self.n = self.n.wrapping_add(1);
        self.s = self.s.wrapping_add(i128::from(t));
    }

    /// Takes in another part of the same person's rows.
    #[inline(always)]
    pub fn merge(&mut self, other: &Self) {
        self.n = self.n.wrapping_add(other.n);
        self.s = self.s.wrapping_add(other.s);
    }

    /// One row, whose value is the person's total, clamped to the bounds; `None` without rows.
    pub fn contribution(&self, bounds: &Bounds) -> Option<Contribution> {
        let step = Grid::signed(bounds).value_of_steps() / STEPS as f64;
        let total = self.s as f64 * step;
        let t = Grid::unit(bounds).steps(total).max(0) as u128;
        (self.n > 0).then(|| Contribution::brought_in(1, t, t * t, STEPS))
    }
}

/// What a person contributes to a group: from 1 to `k` rows, the sum of their grid steps, and that of the
/// squares.
///
/// Whatever it was made from, `s` is between 0 and `G n`, so that it is the sum of `n` rows; and `q` is between
/// `s^2 / n` and `G s`, so that `(n, s, q)` is `n` times a mean of points `(1, t, t^2)` with `0 <= t <= G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contribution {
    n: u32,
    s: u64,
    q: u128,
}

impl Contribution {
    /// From numbers that may be anything, as they were read from memory; `None` where there are no rows.
    pub fn read(n: u32, s: u64, q: u128) -> Option<Self> {
        (n > 0).then(|| Self::brought_in(n, u128::from(s), q, STEPS))
    }

    /// The grid steps of a contribution of one row, from numbers that may be anything: what [`sums`](Self::sums) has of
    /// it on the grid that it was made on, if it is one row. Cannot panic.
    #[inline(always)]
    pub fn only_row(n: u32, s: u64) -> Option<i64> {
        (n == 1 && s <= STEPS).then_some(s as i64)
    }

    /// Brings any numbers to where a contribution on a grid of that many steps is. `n` is not 0.
    fn brought_in(n: u32, s: u128, q: u128, steps: u64) -> Self {
        let (n, steps) = (n.min(MOST), u128::from(steps));
        let rows = u128::from(n);
        let s = s.min(steps * rows);
        // s <= G n, and so s^2 / n <= G s, which is an integer: the lower end is not above the upper one.
        let least = if n == 1 {
            s * s
        } else {
            (s * s).div_ceil(rows)
        };
        let q = q.clamp(least, steps * s);
        Self { n, s: s as u64, q }
    }

    /// Rows.
    pub fn rows(&self) -> u32 {
        self.n
    }

    /// Sum of the rows' grid steps.
    pub fn sum(&self) -> u64 {
        self.s
    }

    /// Sum of the squares of the rows' grid steps.
    pub fn sum_of_squares(&self) -> u128 {
        self.q
    }

    /// The same person with no more than `k` rows. What a call takes in passes through here with the `rows` by
    /// which it divides its budget, so that no contribution can be more than that.
    #[must_use]
    pub fn at_most(&self, k: u32) -> Self {
        self.at_most_of_steps(k, STEPS)
    }

    fn at_most_of_steps(&self, k: u32, steps: u64) -> Self {
        let kept = self.n.min(k.max(1));
        let part = |sum| scaled(sum, u64::from(kept), u64::from(self.n));
        Self::brought_in(kept, part(u128::from(self.s)), part(self.q), steps)
    }

    /// The mean of the person's rows, of a contribution that was made with these bounds: between them.
    pub fn mean(&self, bounds: &Bounds) -> f64 {
        let (lo, hi) = (bounds.lo(), bounds.hi());
        let share = self.s as f64 / (f64::from(self.n) * STEPS as f64);
        (lo + (hi - lo) * share).clamp(lo, hi)
    }

    /// What a mean or a sum on `grid` takes in. On the grid that the contribution was made on, the sum as it
    /// is; on another one, that many rows at the person's mean.
    pub fn sums(&self, made_with: &Bounds, grid: &Grid) -> Sums {
        let (n, is_same) = (i64::from(self.n), Grid::unit(made_with).same(grid));
        let s = if is_same {
            i128::from(self.s)
        } else {
            i128::from(n) * i128::from(grid.steps(self.mean(made_with)))
        };
        Sums { n, s }
    }

    /// What a variance on `grid` takes in, in steps of the coarser grid. On other bounds than those that the
    /// contribution was made with, that many rows at the person's mean.
    pub fn moments(&self, made_with: &Bounds, grid: &Grid) -> Moments {
        const STEP: u128 = (STEPS / COARSE_STEPS) as u128;
        let to_nearest = |sum: u128, unit: u128| (sum + unit / 2) / unit;
        let (rows, s, q) = if Grid::unit(made_with).same(grid) {
            let s = to_nearest(u128::from(self.s), STEP);
            (self.n, s, to_nearest(self.q, STEP * STEP))
        } else {
            let t = u128::from(grid.coarse_steps(self.mean(made_with)));
            let rows = u128::from(self.n);
            (self.n, rows * t, rows * t * t)
        };
        let Self { n, s, q } = Self::brought_in(rows, s, q, COARSE_STEPS);
        Moments {
            n: i64::from(n),
            s: i128::from(s),
            q: q as i128,
        }
    }
}

/// `floor(sum part / whole)`, exactly, for `part <= whole < 2^63` and `part <= 2^20`: the product itself might
/// have more than 128 bits.
fn scaled(sum: u128, part: u64, whole: u64) -> u128 {
    let (part, whole) = (u128::from(part), u128::from(whole));
    // Divisions of 128 bits take most of the time of a contribution, and most people have few rows.
    if part == whole {
        return sum;
    }
    // sum = a whole + r, so the quotient is a part + floor(r part / whole); it is at most `sum`.
    (sum / whole) * part + (sum % whole) * part / whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All multisets of that many numbers from 0 to `most`.
    fn multisets(count: usize, most: u64) -> Vec<Vec<u64>> {
        let mut found = vec![Vec::new()];
        for _ in 0..count {
            found = found
                .into_iter()
                .flat_map(|rows: Vec<u64>| {
                    let least = rows.last().copied().unwrap_or(0);
                    (least..=most).map(move |t| [rows.as_slice(), &[t]].concat())
                })
                .collect();
        }
        found
    }

    fn added(rows: &[u64]) -> PersonRows {
        let mut person = PersonRows::default();
        rows.iter().for_each(|t| person.add(*t));
        person
    }

    #[test]
    fn one_row_is_what_the_sums_have_of_it() {
        let bounds = Bounds::new(Some(-2.0), Some(5.0)).unwrap();
        let grid = Grid::unit(&bounds);
        for n in [0, 1, 2, u32::MAX] {
            for s in [0, 1, STEPS - 1, STEPS, STEPS + 1, u64::MAX] {
                let given = Contribution::read(n, s, 0);
                let sums = given.map(|given| given.at_most(1).sums(&bounds, &grid));
                let Some(steps) = Contribution::only_row(n, s) else {
                    assert!(n != 1 || s > STEPS, "{n} {s}");
                    continue;
                };
                let expected = Sums {
                    n: 1,
                    s: i128::from(steps),
                };
                assert_eq!(sums, Some(expected), "{n} {s}");
            }
        }
    }

    #[test]
    fn a_contribution_is_that_of_some_rows() {
        for steps in 1..=4u64 {
            for rows in (1..=6).flat_map(|count| multisets(count, steps)) {
                let (n, person) = (rows.len() as u64, added(&rows));
                for k in 1..=7u32 {
                    let given = person.contribution_of_steps(k, steps).unwrap();
                    let kept = n.min(u64::from(k));
                    assert_eq!(u64::from(given.rows()), kept);
                    // Just the share of the sum, rounded down.
                    let sum: u64 = rows.iter().sum();
                    assert_eq!(given.sum(), sum * kept / n, "{rows:?} {k}");
                    let of_others = multisets(kept as usize, steps);
                    assert!(
                        of_others
                            .iter()
                            .any(|other| other.iter().sum::<u64>() == given.sum()),
                        "{rows:?} {k}: no {kept} rows have this sum"
                    );
                    if kept == n {
                        let squares: u64 = rows.iter().map(|t| t * t).sum();
                        assert_eq!(given.sum_of_squares(), u128::from(squares));
                    }
                    // A second limit is no other than a first one, but for what was rounded down.
                    for less in 1..=k {
                        let again = given.at_most_of_steps(less, steps);
                        let once = person.contribution_of_steps(less, steps).unwrap();
                        assert_eq!(again.rows(), once.rows());
                        assert!(again.sum() <= once.sum() && once.sum() - again.sum() <= 1);
                    }
                }
            }
        }
    }

    /// A variance looks at `(n, s, q)`: its noise is for sums of the quadratics of each mechanism in `t`.
    #[test]
    fn the_moments_of_a_contribution_move_a_variance_no_more_than_its_rows() {
        for steps in 1..=4u64 {
            let g = i128::from(steps);
            for rows in (1..=6).flat_map(|count| multisets(count, steps)) {
                let person = added(&rows);
                for k in 1..=7u32 {
                    let given = person.contribution_of_steps(k, steps).unwrap();
                    let n = i128::from(given.rows());
                    let (s, q) = (i128::from(given.sum()), given.sum_of_squares() as i128);
                    assert!(s * s <= n * q && q <= g * s, "{rows:?} {k}");
                    let (b0, b1, b2) = (n * g * g - 2 * g * s + q, 2 * (g * s - q), q);
                    assert!(b0 >= 0 && b1 >= 0 && b2 >= 0);
                    // laplace, in the sum of absolute values, times 2.
                    let f = [4 * b0 - b1, 4 * b1, 4 * b2 - b1];
                    let moved: i128 = f.iter().map(|f| f.abs()).sum();
                    assert!(moved <= 4 * g * g * n, "{rows:?} {k}");
                    // gaussian, in Euclidean distance, times 2.
                    let l = [2 * b0 - b1, 4 * b1, 2 * b2 - b1];
                    let moved: i128 = l.iter().map(|l| l * l).sum();
                    assert!(moved <= (2 * g * g * n).pow(2), "{rows:?} {k}");
                }
            }
        }
    }

    #[test]
    fn any_numbers_are_brought_to_where_contributions_are() {
        let most = u128::MAX;
        for n in [1, 2, 7, MOST, u32::MAX] {
            for s in [0, 1, STEPS - 1, STEPS, 7 * STEPS + 1, u64::MAX] {
                for q in [0, 1, u128::from(STEPS).pow(2), 1 << 90, most] {
                    let given = Contribution::read(n, s, q).unwrap();
                    let (rows, sum) = (u128::from(given.rows()), u128::from(given.sum()));
                    assert!(given.rows() <= MOST && sum <= rows * u128::from(STEPS));
                    let squares = given.sum_of_squares();
                    assert!(sum * sum <= rows * squares && squares <= u128::from(STEPS) * sum);
                    assert_eq!(given.at_most(given.rows()), given);
                    assert_eq!(given.at_most(0).rows(), 1);
                    let bounds = Bounds::new(Some(-8e307), Some(8e307)).unwrap();
                    let (unit, signed) = (Grid::unit(&bounds), Grid::signed(&bounds));
                    let n = i64::from(given.rows());
                    for grid in [unit, signed] {
                        let sums = given.sums(&bounds, &grid);
                        assert_eq!(sums.n, n);
                        assert!(sums.s.unsigned_abs() <= n as u128 * u128::from(STEPS));
                    }
                    let Moments { n: rows, s, q } = given.moments(&bounds, &unit);
                    assert_eq!(rows, n);
                    let (rows, g) = (i128::from(rows), i128::from(COARSE_STEPS));
                    assert!(s >= 0 && s * s <= rows * q && q <= g * s && s <= g * rows);
                }
            }
        }
        assert_eq!(Contribution::read(0, 5, 5), None);
        assert_eq!(PersonRows::default().contribution(3), None);
        let forged = PersonRows { n: -1, s: 5, q: 5 };
        assert_eq!(forged.contribution(3), None);
        let forged = PersonRows { n: 2, s: -5, q: -5 };
        assert_eq!(forged.contribution(3).unwrap().sum(), 0);
    }

    #[test]
    fn scaling_is_exact_beyond_128_bits() {
        for (sum, part, whole, is) in [
            (10, 1, 3, 3),
            (u128::MAX, 1 << 20, 1 << 20, u128::MAX),
            (
                i128::MAX as u128,
                1_000_000,
                (1 << 63) - 1,
                18_446_744_073_709_551_618_000_000,
            ),
            (
                (1 << 127) - 5,
                3,
                7,
                ((1u128 << 127) - 5) / 7 * 3 + ((1u128 << 127) - 5) % 7 * 3 / 7,
            ),
        ] {
            assert_eq!(scaled(sum, part, whole), is, "{sum} {part} {whole}");
        }
    }

    #[test]
    fn the_most_rows_of_a_person_can_be_held_exactly() {
        let (n, t) = (i64::MAX, STEPS);
        let (rows, steps) = (i128::from(n), i128::from(t));
        let person = PersonRows {
            n,
            s: rows * steps,
            q: rows * (steps * steps - 1) + rows,
        };
        for k in [1, 2, MOST] {
            let given = person.contribution(k).unwrap();
            assert_eq!(given.rows(), k);
            assert_eq!(given.sum(), u64::from(k) * t);
            assert_eq!(given.sum_of_squares(), u128::from(k) * u128::from(t).pow(2));
        }
    }

    #[test]
    fn a_mean_of_other_bounds_is_taken_in_as_rows_at_the_mean() {
        let made_with = Bounds::new(Some(0.0), Some(100.0)).unwrap();
        let grid = Grid::unit(&made_with);
        let rows: Vec<_> = [10.0, 30.0, 80.0].map(|x| grid.steps(x) as u64).to_vec();
        let given = added(&rows).contribution(2).unwrap();
        assert!((given.mean(&made_with) - 40.0).abs() < 1e-7);
        let same = given.sums(&made_with, &grid);
        assert_eq!(
            same,
            Sums {
                n: 2,
                s: i128::from(given.sum())
            }
        );
        for (lo, hi, at) in [(0.0, 200.0, 40.0), (50.0, 90.0, 50.0), (-10.0, 20.0, 20.0)] {
            let other = Bounds::new(Some(lo), Some(hi)).unwrap();
            for grid in [Grid::unit(&other), Grid::signed(&other)] {
                let sums = given.sums(&made_with, &grid);
                assert_eq!(sums.n, 2);
                let mean =
                    grid.origin() + sums.s as f64 / 2.0 / STEPS as f64 * grid.value_of_steps();
                assert!((mean - at).abs() < 1e-6, "{lo} {hi}: {mean}");
            }
            let moments = given.moments(&made_with, &Grid::unit(&other));
            assert_eq!(moments.n * moments.q as i64, (moments.s * moments.s) as i64);
        }
        // The moments are those of all rows.
        let moments = given.moments(&made_with, &grid);
        let steps = COARSE_STEPS as f64;
        let (mean, squares) = (
            moments.s as f64 / 2.0 / steps,
            moments.q as f64 / 2.0 / steps / steps,
        );
        assert!((mean - 0.4).abs() < 1e-6 && (squares - 0.74 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn totals_are_clamped_once_they_are_whole() {
        let bounds = Bounds::new(Some(0.0), Some(100.0)).unwrap();
        let grid = Grid::signed(&bounds);
        for (rows, total) in [
            (vec![10.0, 20.0], 30.0),
            (vec![5000.0, -4990.0], 10.0),
            (vec![70.0; 3], 100.0),
            (vec![-3.0], 0.0),
            (vec![f64::INFINITY, -1e9], 100.0),
            (vec![f64::INFINITY, f64::NEG_INFINITY, 7.0], 7.0),
        ] {
            let (mut forth, mut back) = (PersonTotal::default(), PersonTotal::default());
            rows.iter()
                .for_each(|x| forth.add(grid.unclamped_steps(*x)));
            for x in rows.iter().rev() {
                let mut part = PersonTotal::default();
                part.add(grid.unclamped_steps(*x));
                back.merge(&part);
            }
            assert_eq!(forth, back);
            let given = forth.contribution(&bounds).unwrap();
            assert_eq!(given.rows(), 1);
            assert!((given.mean(&bounds) - total).abs() < 1e-6, "{rows:?}");
        }
        assert_eq!(PersonTotal::default().contribution(&bounds), None);
    }
}
