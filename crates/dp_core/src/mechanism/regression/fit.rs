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
//! **What is left out.** A direction without a spread that is seen may still explain `y`, and a coefficient takes
//! up some of that where it has a part in the direction, or where noise has turned the two towards each other. How
//! much the direction explains is not known, but no more than the whole spread of `y` over its own: that times the
//! part counts as a normal error more.
//!
//! **What is shown.** Slopes that are nearer to 0 where noise hides them: see [`shrunk`](super::shrunk). The center, the
//! intercept, `r2` and the residuals go with them. Standard errors, p values and intervals are those of least squares;
//! an interval that would not hold what is shown, as one of little confidence, is made longer to that end.
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
    /// What is shown; near 0 of a predictor whose spread is not seen.
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

/// What the noisy sums say: column 0 is the constant 1, then come the predictors, then `y`.
pub(super) struct Moments {
    /// The number of rows; it can be negative.
    pub(super) rows: f64,
    /// `M`, symmetric.
    sums: Vec<Vec<f64>>,
    pub(super) means: Vec<f64>,
}

/// A direction of the predictors, and their spread in it.
pub(super) struct Direction {
    pub(super) spread: f64,
    pub(super) along: Vec<f64>,
    /// The standard deviation of the noise on the spread.
    pub(super) noise: f64,
}

/// The directions with a spread that is seen, and the others.
pub(super) struct Directions {
    pub(super) seen: Vec<Direction>,
    pub(super) unseen: Vec<Direction>,
}

/// Slopes, and what they leave of the spread of `y`.
struct Plane {
    slopes: Vec<f64>,
    /// Where `y` is in the middle of all bounds.
    center: f64,
    /// `e`: what makes a residual of a row.
    residual: Vec<f64>,
    /// The variance of the residuals, and that of `y`.
    left: f64,
    whole: f64,
    /// That of the residuals, and one standard deviation of its noise.
    variance: f64,
}

/// How far off a combination of coefficients is: standard deviations.
struct Off {
    noise: f64,
    /// By the sample.
    sample: f64,
    /// By directions that are left out.
    left_out: f64,
}

impl Moments {
    fn new(columns: usize, sums: &[f64]) -> Self {
        let sums = matrix(columns, sums);
        let rows = sums[0][0];
        let mean = |sum: &f64| (sum / rows).clamp(-1.0, 1.0);
        let means = sums[0].iter().map(mean).collect();
        Self { rows, sums, means }
    }

    /// The column `y`.
    pub(super) fn y(&self) -> usize {
        self.means.len() - 1
    }

    pub(super) fn covariance(&self, i: usize, j: usize) -> f64 {
        let most = |i: usize| 1.0 - self.means[i] * self.means[i];
        let most = (most(i) * most(j)).sqrt();
        let product = self.means[i] * self.means[j];
        (self.sums[i][j] / self.rows - product).clamp(-most, most)
    }

    /// A combination of the predictors less their means, as one of `z`.
    pub(super) fn around_means(&self, v: &[f64]) -> Vec<f64> {
        let constant = -inner(v, &self.means[1..]);
        let all = [constant].into_iter().chain(v.iter().copied());
        all.chain([0.0]).collect()
    }

    /// The covariance of `y` with a combination of the predictors.
    pub(super) fn with_y(&self, along: &[f64]) -> f64 {
        let y = self.y();
        let with_y = (1..y).map(|i| self.covariance(i, y));
        along.iter().zip(with_y).map(|(a, s)| a * s).sum()
    }

    /// Where `y` is in the middle of all bounds, if these are the slopes.
    fn center(&self, slopes: &[f64]) -> f64 {
        self.means[self.y()] - inner(slopes, &self.means[1..])
    }

    /// `e` of these slopes: what makes a residual of a row.
    pub(super) fn residual(&self, slopes: &[f64]) -> Vec<f64> {
        let negative = slopes.iter().map(|slope| -slope);
        let residual = [-self.center(slopes)].into_iter().chain(negative);
        residual.chain([1.0]).collect()
    }

    fn plane(&self, slopes: Vec<f64>, noise: impl Fn(&[f64]) -> f64) -> Plane {
        let y = self.y();
        let residual = self.residual(&slopes);
        let rows = self.sums.iter().zip(&residual);
        let left: f64 = rows.map(|(row, e)| e * inner(row, &residual)).sum();
        let left = left / self.rows;
        Plane {
            center: self.center(&slopes),
            slopes,
            left,
            whole: self.covariance(y, y).max(0.0),
            variance: (left + noise(&residual) / self.rows).clamp(0.0, 1.0),
            residual,
        }
    }
}

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
        let bounds = self.columns.bounds();
        let y = bounds.len();
        let moments = Moments::new(y, sums);
        if moments.rows <= y as f64 {
            return self.nothing(moments.rows);
        }
        let directions = self.directions(&moments);
        let mut slopes = vec![0.0; y - 1];
        for seen in &directions.seen {
            add(
                &mut slopes,
                moments.with_y(&seen.along) / seen.spread,
                &seen.along,
            );
        }
        let found = moments.plane(slopes, |e| self.noise(e, e));
        let off = |of_center: f64, of_slopes: &[f64]| {
            self.off(&moments, &directions, &found, of_center, of_slopes)
        };
        let alone = |i: usize| Vec::from_iter((0..y - 1).map(|j| f64::from(u8::from(i == j))));
        let offs = Vec::from_iter((0..y - 1).map(|i| off(0.0, &alone(i))));
        let mut slopes = self.shrunk(&moments, &directions);
        for ((slope, found), off) in slopes.iter_mut().zip(&found.slopes).zip(&offs) {
            // So a slope that is large beyond doubt is not far off, whatever others are.
            if let Some(off) = off {
                let most = off.noise.hypot(off.left_out);
                *slope = slope.max(found - most).min(found + most);
            }
        }
        let shown = moments.plane(slopes, |e| self.noise(e, e));
        let of_y = &bounds[y - 1];
        let slope = |(i, off): (usize, Option<Off>)| {
            let unit = of_y.width() / bounds[i].width();
            self.coefficient(unit, 0.0, [found.slopes[i], shown.slopes[i]], off)
        };
        // Where a predictor is 0, in its unit here.
        let zero = |of: &Bounds| -(of.lo() / of.width() + of.hi() / of.width());
        let zeros = Vec::from_iter(bounds[..y - 1].iter().map(zero));
        let half = of_y.width() / 2.0;
        let at_zero = [&found, &shown].map(|plane| plane.center + inner(&plane.slopes, &zeros));
        let intercept = self.coefficient(half, of_y.lo() + half, at_zero, off(1.0, &zeros));
        let left = shown.left * moments.rows / (moments.rows - y as f64);
        let stddev = |i: usize| moments.covariance(i, i).max(0.0).sqrt();
        Fit {
            coefficients: [intercept]
                .into_iter()
                .chain(offs.into_iter().enumerate().map(slope))
                .collect(),
            r2: match shown.whole > 0.0 {
                true => (1.0 - shown.left / shown.whole).clamp(0.0, 1.0),
                false => 0.0,
            },
            residual_stddev: half * left.clamp(0.0, 1.0).sqrt(),
            means: bounds.iter().zip(&moments.means[1..]).map(place).collect(),
            stddevs: (bounds.iter().zip(1..))
                .map(|(of, i)| of.width() / 2.0 * stddev(i))
                .collect(),
            count: moments.rows,
        }
    }

    /// That of so few rows that nothing is seen.
    fn nothing(&self, count: f64) -> Fit {
        let bounds = self.columns.bounds();
        let half = |of: &Bounds| of.width() / 2.0;
        Fit {
            coefficients: bounds.iter().map(|_| unknown(0.0)).collect(),
            r2: 0.0,
            residual_stddev: bounds.last().map_or(0.0, half),
            means: bounds.iter().map(|of| place((of, &0.0))).collect(),
            stddevs: bounds.iter().map(half).collect(),
            count,
        }
    }

    fn directions(&self, moments: &Moments) -> Directions {
        let y = moments.y();
        let spreads = (1..y).map(|i| (1..y).map(|j| moments.covariance(i, j)).collect());
        let all = eigen(spreads.collect()).into_iter().map(|(spread, along)| {
            let z = moments.around_means(&along);
            let noise = self.noise(&z, &z) / moments.rows;
            Direction {
                spread,
                along,
                noise,
            }
        });
        // Eigenvalues of noise alone are farther out, the more there are.
        let farther = 2.0 + 1.5 * (y as f64 - 1.0).sqrt();
        let is_seen =
            |of: &Direction| of.spread.is_finite() && of.spread > (farther * of.noise).max(1e-12);
        let (seen, unseen) = all.partition(is_seen);
        Directions { seen, unseen }
    }

    /// How far off a combination of the slopes is, and of the center as many times; `None` if it is not seen.
    fn off(
        &self,
        moments: &Moments,
        directions: &Directions,
        plane: &Plane,
        of_center: f64,
        of_slopes: &[f64],
    ) -> Option<Off> {
        // The center is seen from the means of the predictors.
        let means = of_slopes.iter().zip(&moments.means[1..]);
        let a = Vec::from_iter(means.map(|(a, mean)| a - of_center * mean));
        let part = |of: &Direction| inner(&of.along, &a);
        let hidden: f64 = directions.unseen.iter().map(|of| part(of).powi(2)).sum();
        if hidden > 0.01 * inner(&a, &a) {
            return None;
        }
        let mut h = vec![0.0; a.len()];
        let mut own = of_center * of_center;
        for direction in &directions.seen {
            own += part(direction).powi(2) / direction.spread;
            add(&mut h, part(direction) / direction.spread, &direction.along);
        }
        let mut z = moments.around_means(&h);
        z[0] += of_center;
        // What is left out may explain no more than all of the spread of y.
        let left_out = directions.unseen.iter().map(|of| {
            let crossed = self.noise(&z, &moments.around_means(&of.along)) / moments.rows;
            let most = plane.whole.max(plane.variance) / of.spread.max(of.noise);
            most * (part(of).powi(2) + crossed.powi(2))
        });
        Some(Off {
            noise: self.noise(&z, &plane.residual) / moments.rows,
            sample: (plane.variance * own / (moments.rows - moments.y() as f64)).sqrt(),
            left_out: left_out.sum::<f64>().sqrt(),
        })
    }

    /// A coefficient by what least squares give for it and what is shown of it, both in the unit here, from `shift` on
    /// in units of the columns.
    fn coefficient(
        &self,
        unit: f64,
        shift: f64,
        [found, shown]: [f64; 2],
        off: Option<Off>,
    ) -> Coefficient {
        let from_zero = shift / unit + found;
        let [found, value] = [found, shown].map(|of| shift + unit * of);
        let off = off.filter(|_| [found, value, from_zero].iter().all(|of| of.is_finite()));
        let Some(off) = off else {
            return unknown(if value.is_finite() { value } else { 0.0 });
        };
        let around = |beside: f64| {
            let reach = unit * self.reach(off.noise, beside);
            [(found - reach).min(value), (found + reach).max(value)]
        };
        let beside = off.sample.hypot(off.left_out);
        Coefficient {
            value,
            standard_error: unit * off.noise.hypot(beside),
            p_value: self.tail(off.noise, beside, from_zero.abs()),
            of_rows: around(off.left_out),
            of_population: around(beside),
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
    pub(super) fn noise(&self, z: &[f64], e: &[f64]) -> f64 {
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

/// A place from -1 to 1 between bounds, as a value.
fn place((of, u): (&Bounds, &f64)) -> f64 {
    // Rounding can leave the bounds by a digit.
    (of.lo() + of.width() * ((1.0 + u) / 2.0)).clamp(of.lo(), of.hi())
}

/// Adds another vector, times a number.
pub(super) fn add(to: &mut [f64], times: f64, other: &[f64]) {
    for (number, more) in to.iter_mut().zip(other) {
        *number += times * more;
    }
}

/// Of those numbers that both have.
fn inner(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// `M`, of the released sums.
fn matrix(columns: usize, sums: &[f64]) -> Vec<Vec<f64>> {
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
