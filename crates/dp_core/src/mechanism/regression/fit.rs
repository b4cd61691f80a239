//! From noisy sums to coefficients, with their standard errors and intervals: post-processing.
//!
//! All is in units of half the width of the bounds, from their midpoints: `u = 2 X / G - 1`, from -1 to 1.
//!
//! **The fit.** The noisy sums give the number of rows `N`, the means and, with `z = (1, x_1, ..., x_p, y)`, the matrix
//! `M` of the sums of `z z^T`. Let `S` be the covariances of the predictors, with eigenvalues `l_k` and vectors `v_k`.
//! The sum over `k` of `v_k (v_k . s) / l_k`, with `s` the covariances with `y`, is the vector of slopes of least
//! squares. It leaves out each `k` whose `l_k` is not above the noise on it: there is no spread of the
//! predictors to be seen in that direction, and dividing by it would make noise of any size.
//!
//! **How far off it is.** With `e = (-b_0, ..., -b_p, 1)` at the true coefficients, and `w` the row of the inverse of `M`
//! that gives a coefficient, the coefficient is off by `w (r + E e)`: `r` are the sums of `z` times the true residuals,
//! `E` is the noise on `M`. The noise is a linear function of that on the released sums, whose law is public. The
//! residuals of a sample add a normal part of variance `v w M w^T`, with `v` their variance, as in every book; for `v`
//! stands what the noisy sums give, and one standard deviation of its noise. Both at the coefficients that were found:
//! the error is of second order.
//!
//! **What is left out.** A direction without a spread that is seen may still explain `y`, and a coefficient takes up some of
//! that where it has a part in the direction, or where noise has turned the two towards each other. How much the
//! direction explains is not known, but no more than the whole spread of `y` over its own: that times the part counts as
//! a normal error more.
//!
//! **What is not seen.** A coefficient whose direction is left out, by more than a tenth of its length, has an interval
//! without ends. So has each of them where the noisy number of rows is not above the number of coefficients.

use crate::accuracy::tail::{normal, quantile};
use crate::encoding::columns::Columns;
use crate::encoding::grid::Bounds;
use crate::mechanism::regression::parts::{Part, parts};
use crate::mechanism::regression::symmetric::eigen;

/// The law of the noise on the released sums, in units of what a row moves them by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Independent and normal.
    Normal {
        /// The standard deviation of each.
        sd: f64,
    },
    /// Alike on the cube of a radius, which has the density `R^K e^(-rate R)`.
    Cube {
        /// See above.
        rate: f64,
    },
}

/// A coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// What was found; 0 of a predictor whose spread is not seen.
    pub value: f64,
    /// Its standard error, of noise and sample together.
    pub standard_error: f64,
    /// How likely so large a value is where there is none.
    pub p_value: f64,
    /// The interval of what the rows have, clamped to their bounds.
    pub of_rows: [f64; 2],
    /// That of the population that they were drawn from.
    pub of_population: [f64; 2],
}

/// What a regression answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Where `y` is if all predictors are 0, then a slope for each predictor.
    pub coefficients: Vec<Coefficient>,
    /// The part of the spread of `y` that the predictors explain, from 0 to 1.
    pub r2: f64,
    /// The standard deviation of the residuals.
    pub residual_stddev: f64,
    /// The mean of each column, those of the predictors first, between its bounds.
    pub means: Vec<f64>,
    /// The standard deviation of each.
    pub stddevs: Vec<f64>,
    /// The noisy number of rows. It can be negative.
    pub count: f64,
}

/// Makes a [`Fit`] of noisy sums.
#[derive(Clone, Debug)]
pub struct Fitting {
    columns: Columns,
    law: Law,
    /// What the noise on each sum is divided by.
    weights: Vec<f64>,
    /// The probability with which an interval misses.
    pub(crate) miss: f64,
}

/// Symmetric, of `1 + D` rows.
type Matrix = Vec<Vec<f64>>;

impl Fitting {
    /// For sums that were each taken as many times as their weight, with noise of that law on them.
    pub(crate) fn new(columns: Columns, law: Law, weights: &[u8]) -> Self {
        Self {
            columns,
            law,
            weights: weights.iter().copied().map(f64::from).collect(),
            miss: 0.05,
        }
    }

    /// The columns.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The fit of these sums, in rows.
    pub fn fit(&self, sums: &[f64]) -> Fit {
        let y = self.columns.count();
        let noisy = matrix(y, sums);
        let count = noisy[0][0];
        let bounds = self.columns.bounds();
        let in_unit = |value: f64| bounds[y - 1].width() / 2.0 * value;
        let place = |(of, u): (&Bounds, f64)| {
            // Rounding can leave the bounds by a digit.
            (of.lo() + of.width() * ((1.0 + u) / 2.0)).clamp(of.lo(), of.hi())
        };
        if count <= y as f64 {
            let middle = bounds.iter().map(|of| place((of, 0.0)));
            return Fit {
                coefficients: (0..y).map(|_| unknown(0.0)).collect(),
                r2: 0.0,
                residual_stddev: in_unit(1.0),
                means: middle.collect(),
                stddevs: bounds.iter().map(|of| of.width() / 2.0).collect(),
                count,
            };
        }
        let mean = |i: usize| (noisy[0][i] / count).clamp(-1.0, 1.0);
        let means = Vec::from_iter((0..=y).map(mean));
        let covariance = |i: usize, j: usize| {
            let most = ((1.0 - means[i] * means[i]) * (1.0 - means[j] * means[j])).sqrt();
            (noisy[i][j] / count - means[i] * means[j]).clamp(-most, most)
        };
        let spread = (1..y).map(|i| (1..y).map(|j| covariance(i, j)).collect());
        let directions = eigen(spread.collect());
        let lifted = |v: &[f64]| -> Vec<f64> {
            let inner: f64 = v.iter().zip(&means[1..]).map(|(v, mean)| v * mean).sum();
            [-inner]
                .into_iter()
                .chain(v.iter().copied())
                .chain([0.0])
                .collect()
        };
        // Eigenvalues of noise alone are farther out, the more there are.
        let farther = 2.0 + 1.5 * (y as f64 - 1.0).sqrt();
        let (seen, unseen): (Vec<_>, Vec<_>) = directions.into_iter().partition(|(l, v)| {
            let z = lifted(v);
            l.is_finite() && *l > farther * self.noise(&z, &z) / count && *l > 1e-12
        });
        let (mut slopes, mut center) = (vec![0.0; y - 1], means[y]);
        for (l, v) in &seen {
            let along: f64 = v
                .iter()
                .enumerate()
                .map(|(i, v)| v * covariance(i + 1, y))
                .sum();
            for (slope, v) in slopes.iter_mut().zip(v) {
                *slope += v * along / l;
            }
        }
        for (slope, mean) in slopes.iter().zip(&means[1..]) {
            center -= slope * mean;
        }
        let mut residual = vec![-center];
        residual.extend(slopes.iter().map(|slope| -slope));
        residual.push(1.0);
        let rows = noisy.iter().zip(&residual);
        let left: f64 = rows.map(|(row, e)| e * inner(row, &residual)).sum();
        let (left, whole) = (left / count, covariance(y, y).max(0.0));
        let variance = (left + self.noise(&residual, &residual) / count).clamp(0.0, 1.0);
        let sample = variance / (count - y as f64);
        // What gives a combination of the slopes and, if it has one, of the center.
        let combination = |of_center: f64, a: &[f64]| {
            // Slopes are seen from the means of the predictors.
            let a = a
                .iter()
                .zip(&means[1..])
                .map(|(a, mean)| a - of_center * mean);
            let a = Vec::from_iter(a);
            let part = |v: &Vec<f64>| inner(v, &a);
            let mut h = vec![0.0; y - 1];
            let mut own = of_center * of_center;
            for (l, v) in &seen {
                own += part(v).powi(2) / l;
                for (h, w) in h.iter_mut().zip(v) {
                    *h += w * part(v) / l;
                }
            }
            let mut z = lifted(&h);
            z[0] += of_center;
            let hidden: f64 = unseen.iter().map(|(_, v)| part(v).powi(2)).sum();
            // What is left out may explain no more than all of the spread of y.
            let left_out = unseen.iter().map(|(l, v)| {
                let v_lifted = lifted(v);
                let seen_from = self.noise(&v_lifted, &v_lifted) / count;
                let crossed = self.noise(&z, &v_lifted) / count;
                whole.max(variance) / l.max(seen_from) * (part(v).powi(2) + crossed.powi(2))
            });
            let left_out = left_out.sum::<f64>();
            (z, own, left_out, hidden <= 0.01 * inner(&a, &a))
        };
        let coefficient = |unit: f64, shift: f64, value: f64, of_center: f64, a: &[f64]| {
            let (z, own, left_out, is_seen) = combination(of_center, a);
            let (from_zero, value) = (shift / unit + value, shift + unit * value);
            if !is_seen || !value.is_finite() || !from_zero.is_finite() {
                return unknown(if value.is_finite() { value } else { 0.0 });
            }
            let noise = self.noise(&z, &residual) / count;
            let chance = (sample * own + left_out).sqrt();
            let around = |chance| {
                let reach = unit * self.reach(noise, chance);
                [value - reach, value + reach]
            };
            Coefficient {
                value,
                standard_error: unit * noise.hypot(chance),
                p_value: self.tail(noise, chance, from_zero.abs()),
                of_rows: around(left_out.sqrt()),
                of_population: around(chance),
            }
        };
        // Where a predictor is 0, in its unit here.
        let zero = |of: &Bounds| -(of.lo() / of.width() + of.hi() / of.width());
        let zeros = Vec::from_iter(bounds[..y - 1].iter().map(zero));
        let of_y = &bounds[y - 1];
        let at_zero = center + inner(&slopes, &zeros);
        let intercept = coefficient(
            of_y.width() / 2.0,
            of_y.lo() + of_y.width() / 2.0,
            at_zero,
            1.0,
            &zeros,
        );
        let slope = |i: usize| {
            let direction = Vec::from_iter((0..y - 1).map(|j| f64::from(u8::from(i == j))));
            let unit = of_y.width() / bounds[i].width();
            coefficient(unit, 0.0, slopes[i], 0.0, &direction)
        };
        Fit {
            coefficients: [intercept]
                .into_iter()
                .chain((0..y - 1).map(slope))
                .collect(),
            r2: if whole > 0.0 {
                (1.0 - left / whole).clamp(0.0, 1.0)
            } else {
                0.0
            },
            residual_stddev: in_unit((left * count / (count - y as f64)).clamp(0.0, 1.0).sqrt()),
            means: bounds
                .iter()
                .zip(means[1..].iter().copied())
                .map(place)
                .collect(),
            stddevs: (1..=y)
                .map(|i| bounds[i - 1].width() / 2.0 * covariance(i, i).max(0.0).sqrt())
                .collect(),
            count,
        }
    }

    /// The length of what the noise of `z^T M e` is of the released sums: its standard deviation is as many times that
    /// of the noise on one.
    fn length(&self, z: &[f64], e: &[f64]) -> f64 {
        let columns = self.columns.count();
        let both = |i: usize, j: usize| z[i] * e[j] + z[j] * e[i];
        // The square of a column is half of what is released, and half of the number of rows.
        let times = |part| match part {
            Part::Rows => z[0] * e[0] + (1..=columns).map(|i| z[i] * e[i]).sum::<f64>() / 2.0,
            Part::Column(i) => both(0, i + 1),
            Part::Square(i) => z[i + 1] * e[i + 1] / 2.0,
            Part::Product(i, j) => both(i + 1, j + 1),
        };
        let each = parts(columns).map(times).zip(&self.weights);
        each.map(|(times, weight)| (times / weight).powi(2))
            .sum::<f64>()
            .sqrt()
    }

    /// The standard deviation of the noise of `z^T M e`, in rows.
    fn noise(&self, z: &[f64], e: &[f64]) -> f64 {
        self.length(z, e) * self.deviation()
    }

    /// The standard deviation of the noise on one sum.
    fn deviation(&self) -> f64 {
        let numbers = self.weights.len() as f64;
        match self.law {
            Law::Normal { sd } => sd,
            Law::Cube { rate } => ((numbers + 1.0) * (numbers + 2.0) / 3.0).sqrt() / rate,
        }
    }

    /// How likely noise of this standard deviation and a normal part beside it are together farther out than `t`.
    ///
    /// A combination of many numbers that are alike on a cube is nearly normal for each radius, and has narrower
    /// tails than that.
    fn tail(&self, noise: f64, chance: f64, t: f64) -> f64 {
        match self.law {
            Law::Normal { .. } => normal(noise.hypot(chance), t),
            Law::Cube { .. } => {
                let radii = radii(self.weights.len());
                let beyond = |(radius, weight): (f64, f64)| {
                    weight * normal((noise * radius).hypot(chance), t)
                };
                radii.map(beyond).sum::<f64>().min(1.0)
            }
        }
    }

    /// Beyond what both together lie with the probability of missing.
    fn reach(&self, noise: f64, chance: f64) -> f64 {
        let sd = noise.hypot(chance);
        let tail = |t: f64| self.tail(noise / sd, chance / sd, t);
        if sd > 0.0 {
            quantile(self.miss, tail) * sd
        } else {
            0.0
        }
    }
}

/// Of a cube in that many dimensions, radii in units of the root of their mean square, and how likely they are.
fn radii(numbers: usize) -> impl Iterator<Item = (f64, f64)> {
    const STEPS: i32 = 28;
    // A gamma variable of this shape, at points a quarter of its standard deviation apart, in its logarithm.
    let shape = numbers as f64 + 1.0;
    let at = move |i: i32| f64::from(i) / (4.0 * shape.sqrt());
    let density = move |i| shape * (at(i) - at(i).exp_m1());
    let whole: f64 = (-STEPS..=STEPS).map(|i| density(i).exp()).sum();
    let unit = (shape / (shape + 1.0)).sqrt();
    (-STEPS..=STEPS).map(move |i| (at(i).exp() * unit, density(i).exp() / whole))
}

/// A coefficient that is not seen.
fn unknown(value: f64) -> Coefficient {
    const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
    Coefficient {
        value,
        standard_error: f64::INFINITY,
        p_value: 1.0,
        of_rows: ANY,
        of_population: ANY,
    }
}

fn inner(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// `M`, of the released sums.
fn matrix(columns: usize, sums: &[f64]) -> Matrix {
    let mut matrix = vec![vec![0.0; columns + 1]; columns + 1];
    let mut set = |i: usize, j: usize, sum: f64| (matrix[i][j], matrix[j][i]) = (sum, sum);
    let rows = sums.first().copied().unwrap_or(0.0);
    for (part, sum) in parts(columns).zip(sums) {
        match part {
            Part::Rows => set(0, 0, *sum),
            Part::Column(i) => set(0, i + 1, *sum),
            Part::Square(i) => set(i + 1, i + 1, f64::midpoint(rows, *sum)),
            Part::Product(i, j) => set(i + 1, j + 1, *sum),
        }
    }
    matrix
}
