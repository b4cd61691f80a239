//! Mechanisms for means.
//!
//! Hourglass, laplace and staircase follow algorithm 3 of Kulesza, Suresh and Wang (2024), here
//! on integers. Grid steps `t` of a row lie in [0, G]. With `n` rows and `S1` the sum of their
//! steps, let `S2 = G n - S1` be the sum of their distances from the upper bound. Noise goes on
//! the pair, and the mean is read off as the fraction `s1 / (s1 + s2)` of the noisy pair.
//!
//! **Sensitivity space.** Adding a row of `t` steps moves `(S1, S2)` by `(t, G - t)`, removing
//! one moves it by `(-t, t - G)`; nothing else happens between neighbours. So noise is private
//! at epsilon if shifting it by `(t, G - t)`, for each integer `t` in [0, G], changes the
//! probability of any pair by a factor of at most `e^epsilon` either way: each mechanism shows
//! that for its noise. In the coordinates `(S1, n)` the same move is `(t, 1)`. The grid is
//! fixed row by row, so the rounding to it is part of the data's domain and costs no privacy.
//!
//! **Post-processing.** The fraction, its clipping to [0, 1], the midpoint where the noisy
//! number of rows is not positive, and the noisy number of rows are functions of the noisy pair
//! and of public numbers.

pub mod clipped;
pub mod coins;
pub mod gaussian;
mod halves;
pub mod hourglass;
pub(super) mod hybrid;
pub mod independent;
pub mod laplace;
pub(super) mod name_and_shame;
pub mod place;
pub mod shifted;
pub mod smooth;
pub mod staircase;
pub mod symmetric;
pub mod symmetric_known_n;

use std::cell::OnceCell;

use super::budget::outside;
use super::{Built, Info, MeanAnswer, Mechanism, Parameter, Request, Scalar, Takes};
use crate::cells::{Histogram, Line};
use crate::error::ParameterError;
use crate::grid::{Bounds, Grid};
use crate::interval::{Intervals, Ratio};
use crate::planning::{Forecast, Planned};
use crate::random::{Bits, Generator, add_noise};
use crate::sums::Sums;
use coins::{Coin, Coined};
use place::Place;

/// A mechanism of means, by what it sees of the rows.
pub enum Mean {
    /// Their number, and the sum of their grid steps.
    Sums(Box<dyn OfSums>),
    /// The same, of steps that depend on a secret coin for each row.
    Coins(Coined),
    /// How they lie in the cells of a line without ends.
    Cells(Box<dyn OfCells>),
}

/// A mechanism of means that sees the number of rows and the sum of their grid steps.
pub trait OfSums: Mechanism<Answer = MeanAnswer> {
    /// The standard deviation of the noise in the mean of so many rows, in the unit of the column:
    /// the largest over where the mean can lie between the bounds, to leading order in `1 / rows`.
    ///
    /// Public: it knows the number of rows that a plan is made for, never that of a group.
    fn noise_sd(&self, rows: f64) -> f64;

    /// A bound on the bias of the answer where all of so many rows lie between the bounds: the
    /// largest over where the mean can lie, to leading order in `1 / rows`; in the unit of the
    /// column.
    ///
    /// An answer that is kept between the bounds, as here, is biased where the mean lies at an end:
    /// for centred noise `X` by `E max(0, X) = E|X| / 2`, at most half of its standard deviation.
    /// It is not where the mean lies far from the ends. A mechanism whose answers may lie outside
    /// and that is unbiased between the bounds says 0.
    fn answer_bias(&self, rows: f64) -> f64 {
        self.noise_sd(rows) / 2.0
    }

    /// The mean as a ratio of what is released; `None` of a mechanism that releases no such pair.
    fn ratio(&self) -> Option<Ratio<'_>> {
        None
    }

    /// What half of an interval's width is for so many rows, at most and to leading order in
    /// `1 / rows`; `None` where answers have no interval.
    fn half_width(&self, rows: f64, miss: f64) -> Option<f64> {
        let ratio = self.ratio()?;
        let most = (ratio.range[1] - ratio.range[0]) / 2.0;
        Some(ratio.unit * (ratio.reach(miss).largest() / rows).min(most))
    }

    /// The root mean squared error of the answer about the mean of so many clamped rows, where that is
    /// at the worst place.
    fn rmse(&self, rows: f64) -> f64 {
        let noise_sd = self.noise_sd(rows);
        match self.ratio() {
            Some(ratio) => ratio.unit * ratio.worst_rmse(rows, noise_sd / ratio.unit),
            None => noise_sd,
        }
    }
}

/// A mechanism of means that sees how rows lie in the cells of a line without ends.
pub trait OfCells: Mechanism<Histogram, Answer = MeanAnswer> {
    /// The coarse step.
    fn place(&self) -> &Place;

    /// The cells for a random word, which must be uniform and must not depend on the rows. It need
    /// not be secret, and the same in all parts of a group.
    fn line(&self, word: u64) -> Line {
        self.place().shape().line(word)
    }

    /// A coin to toss for each row, if some are to be chosen.
    fn coin(&self) -> Option<Coin> {
        None
    }

    /// The standard deviation of the noise in the mean of so many rows, or somewhat more.
    fn noise_sd(&self, rows: f64) -> f64;
}

impl Mean {
    fn of_sums(mechanism: impl OfSums + 'static) -> Built<Self> {
        Ok(Box::new(Self::Sums(Box::new(mechanism))))
    }

    fn of_coins(mechanism: Coined) -> Built<Self> {
        Ok(Box::new(Self::Coins(mechanism)))
    }

    fn of_cells(mechanism: impl OfCells + 'static) -> Built<Self> {
        Ok(Box::new(Self::Cells(Box::new(mechanism))))
    }

    /// How far from the mean of the population an answer may be, for rows that a plan is made for.
    pub fn forecast(&self, planned: &Planned) -> Forecast {
        match self {
            Self::Sums(mechanism) => {
                let grid = mechanism.grid().unwrap_or(Grid::NONE);
                let [noise_sd, answer_bias] = [
                    mechanism.noise_sd(planned.rows),
                    mechanism.answer_bias(planned.rows),
                ];
                planned.of_clamped(grid.hi() - grid.lo(), noise_sd, answer_bias)
            }
            Self::Coins(mechanism) => mechanism.forecast(planned),
            Self::Cells(mechanism) => {
                let noise_sd = mechanism.noise_sd(planned.rows);
                mechanism.place().forecast(planned, noise_sd)
            }
        }
    }

    /// The root mean squared error of the answer about the mean of so many rows as they are clamped,
    /// where that is at the worst place; of the noise alone where there are no bounds.
    pub fn rmse(&self, rows: f64) -> f64 {
        match self {
            Self::Sums(mechanism) => mechanism.rmse(rows),
            Self::Coins(_) | Self::Cells(_) => {
                self.forecast(&Planned { rows, moment: None }).noise_sd
            }
        }
    }

    /// Half of the width of an interval for so many rows; `None` where answers have none.
    pub fn half_width(&self, rows: f64, miss: f64) -> Option<f64> {
        match self {
            Self::Sums(mechanism) => mechanism.half_width(rows, miss),
            Self::Coins(_) | Self::Cells(_) => None,
        }
    }

    /// The mechanism, if it sees the rows' number and sum.
    pub fn sums(self) -> Option<Box<Scalar<MeanAnswer>>> {
        match self {
            Self::Sums(mechanism) => Some(mechanism),
            Self::Coins(_) | Self::Cells(_) => None,
        }
    }
}

/// Neighbours by replacing, where the number of rows is public.
const REPLACE: &str = "replace one row; the number of rows, n, is public";

/// The parameter `n`.
const ROWS: Parameter = Parameter {
    name: "n",
    takes: Takes::Whole,
    domain: "1 <= n < 2^53",
    description: "the number of rows, which is public; if it is wrong, no error says so",
};

impl Request<'_> {
    /// The parameter `n`.
    fn rows(&self) -> Result<f64, ParameterError> {
        match self.choice.get(ROWS.name) {
            Some(rows) if rows >= 1.0 => Ok(rows),
            Some(_) => Err(outside(&ROWS)),
            None => Err(ParameterError::new(
                "mech",
                "does not say how many rows there are",
                "Give the number of rows where it is public, as in clipped(n=10000); where it is \
                 not, use a mechanism that needs none, such as hourglass, smooth or symmetric.",
            )),
        }
    }
}

/// The parameter of a mechanism that needs no bounds.
const SCALE: Parameter = Parameter {
    name: "scale",
    takes: Takes::Number,
    domain: "1e-290 <= scale <= 1e290",
    description: "a public bound on the standard deviation of the rows, in their own unit; lo and \
                  hi are NULL",
};

/// Whether a mechanism works with a scale in the place of bounds.
pub(crate) fn replaces_bounds(info: &Info) -> bool {
    info.parameters.contains(&SCALE)
}

/// Refuses bounds beside a scale.
pub(super) fn refuse_bounds(lo: Option<f64>, hi: Option<f64>) -> Result<(), ParameterError> {
    let given = [("lo", lo), ("hi", hi)];
    match given.into_iter().find(|(_, bound)| bound.is_some()) {
        None => Ok(()),
        Some((argument, _)) => Err(ParameterError::new(
            argument,
            "must be NULL where the mechanism has a scale",
            "The mechanism finds its place by itself: write NULL for lo and hi. To clamp the \
             column to bounds, choose a mechanism without a scale, such as hourglass.",
        )),
    }
}

/// Noise for the pair of sums `(S1, S2)`, in grid steps.
pub trait PairNoise {
    /// Grid steps in one unit of sensitivity.
    fn steps(&self) -> u64;

    /// One draw.
    fn draw<B: Bits>(&self, bits: &mut B) -> (i128, i128);

    /// The variance of the noise of one of the sums, the larger of the two, for a sensitivity of 1.
    fn variance(&self) -> f64;

    /// `P(|(1 - m) x1 - m x2| > t)` for the noise `(x1, x2)`, in units of sensitivity.
    fn tail(&self, m: f64, t: f64) -> f64;
}

/// Algorithm 3 with the noise `N`.
#[derive(Clone, Debug)]
pub struct Complement<N> {
    bounds: Bounds,
    noise: N,
}

impl<N: PairNoise> Complement<N> {
    /// For a column with these bounds.
    pub fn new(bounds: Bounds, noise: N) -> Self {
        Self { bounds, noise }
    }

    /// The noisy pair `(s1, s2)`: this is what the guarantee is about.
    #[inline]
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> (i128, i128) {
        let (x1, x2) = self.noise.draw(bits);
        let whole = i128::from(self.noise.steps()) * i128::from(sums.n);
        (
            add_noise(sums.s, x1, bits),
            add_noise(whole.saturating_sub(sums.s), x2, bits),
        )
    }

    /// One release from any source of words.
    #[inline]
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let (s1, s2) = self.noisy(sums, bits);
        let whole = s1.saturating_add(s2);
        let steps = self.noise.steps() as f64;
        MeanAnswer {
            mean: Some(mean_between(&self.bounds, s1, whole)),
            count: Some(whole as f64 / steps),
        }
    }
}

impl<N: PairNoise + Clone + 'static> OfSums for Complement<N> {
    /// With noise `(x1, x2)` the mean at `m` of the way between the bounds moves by
    /// `((1 - m) x1 - m x2) / n` of it. The variance of that is a convex function of `m`: the
    /// largest is at an end, where one of the two is alone.
    fn noise_sd(&self, rows: f64) -> f64 {
        self.bounds.width() / rows * self.noise.variance().sqrt()
    }

    /// With `(x1, x2)` the noise, that of the number of rows is `x1 + x2`.
    fn ratio(&self) -> Option<Ratio<'_>> {
        Some(Ratio {
            origin: self.bounds.lo(),
            unit: self.bounds.width(),
            range: [0.0, 1.0],
            tail: Box::new(|m, t| self.noise.tail(m, t)),
        })
    }
}

impl<N: PairNoise + Clone + 'static> Mechanism for Complement<N> {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        Some(Grid::unit(&self.bounds))
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> MeanAnswer {
        self.release_from(sums, generator)
    }

    fn intervals(&self, miss: f64) -> Option<Intervals<MeanAnswer>> {
        intervals_between(&self.bounds, self.clone(), miss)
    }
}

/// The intervals of answers that are kept between the bounds. They are set up at the first answer:
/// what only takes in rows, as a parallel worker, has none.
fn intervals_between(
    bounds: &Bounds,
    mechanism: impl OfSums + 'static,
    miss: f64,
) -> Option<Intervals<MeanAnswer>> {
    let (lo, hi) = (bounds.lo(), bounds.hi());
    mechanism.ratio()?;
    let around = OnceCell::new();
    Some(Box::new(move |answer| {
        let around = || {
            let ratio = mechanism.ratio()?;
            Some(around.get_or_init(|| ratio.intervals(miss, lo, hi)))
        };
        match (answer.mean, answer.count, around()) {
            (Some(mean), Some(count), Some(around)) => around(mean, count),
            _ => [lo, hi],
        }
    }))
}

/// The point `part / whole` of the way from `lo` to `hi`, kept inside; the midpoint where
/// `whole` is not positive.
fn mean_between(bounds: &Bounds, part: i128, whole: i128) -> f64 {
    if whole <= 0 {
        return midpoint(bounds);
    }
    let fraction = part.clamp(0, whole) as f64 / whole as f64;
    // Rounding can leave the bounds by a digit, and even overflow at the largest floats.
    (bounds.lo() + bounds.width() * fraction).clamp(bounds.lo(), bounds.hi())
}

/// The midpoint of the bounds. The mean where there is nothing to divide by: public.
fn midpoint(bounds: &Bounds) -> f64 {
    bounds.lo().midpoint(bounds.hi())
}

/// The point this fraction of the width above the midpoint, wherever that is: where clamping to the
/// bounds would bias. Infinite where it is beyond the largest floats.
fn from_midpoint(bounds: &Bounds, fraction: f64) -> f64 {
    midpoint(bounds) + bounds.width() * fraction
}
