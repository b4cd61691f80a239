//! What the mechanisms of two columns share: noise on sums of products, and the answer that follows.

use crate::encoding::grid::{Bounds, Grid};
use crate::encoding::pairs::{PairGrid, PairMoments};
use crate::mechanism::definition::Mechanism;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::discrete_laplace::DiscreteLaplace;
use crate::sampler::normal::RoundedNormal;

/// A mechanism that sees the number of rows of two columns, and the sums of their steps and of the products.
pub trait OfPairs: Mechanism<PairMoments> {
    /// How a row becomes grid steps.
    fn pair_grid(&self) -> PairGrid;

    /// What is public of its noise, where it tells both spreads.
    fn seen(&self) -> Option<Seen>;
}

/// Any that answers with numbers alone.
pub type PairMechanism = dyn OfPairs<Answer = PairAnswer>;

/// What a release hands back. Numbers in the units of the columns are infinite where they are too large for a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairAnswer {
    /// The private covariance.
    pub covariance: f64,
    /// The private mean of `y`, inside its bounds.
    pub y_mean: f64,
    /// That of `x`.
    pub x_mean: f64,
    /// The noisy number of rows. It can be negative.
    pub count: f64,
    /// Of a mechanism that sees the spread of `x`.
    pub line: Option<RegressionLine>,
    /// Of a mechanism that sees the spread of both.
    pub strength: Option<Strength>,
    /// The noisy sums of [`PARTS`], counted in rows.
    pub parts: [f64; PARTS],
}

/// The regression line of `y` on `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegressionLine {
    /// By how much `y` rises with `x`; 0 where no spread of `x` is seen.
    pub slope: f64,
    /// Where the line is at `x = 0`.
    pub intercept: f64,
    /// The private standard deviation of `x`.
    pub x_stddev: f64,
}

/// How close the rows are to a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strength {
    /// The correlation, from -1 to 1; 0 where no spread of a column is seen.
    pub correlation: f64,
    /// The private standard deviation of `y`.
    pub y_stddev: f64,
}

/// What a row is seen by: `t00`, `t10`, `t01`, `t11`, `p`, `q`.
pub const PARTS: usize = 6;

/// The law of the noise on the released sums, the same on each, in units of `G^2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Independent and normal, with this standard deviation.
    Normal(f64),
    /// Independent Laplace noise of this scale.
    Laplace(f64),
}

/// What is public of a release of six sums: how many times each of them each part is, and their noise.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// See above.
    pub back: [[f64; PARTS]; PARTS],
    /// See above.
    pub law: Law,
}

/// The sums that noise goes on.
#[derive(Clone, Copy, Debug)]
pub struct Design<const K: usize> {
    /// Each of them: how many times each part it is.
    pub sums: [[i128; PARTS]; K],
    /// `whole` times each part: how many times each of them. All 0 for a part that they do not tell.
    pub back: [[i128; K]; PARTS],
    /// See `back`.
    pub whole: i128,
}

impl<const K: usize> Design<K> {
    /// Whether the sums tell a part.
    fn tells(&self, part: usize) -> bool {
        self.back[part].iter().any(|times| *times != 0)
    }
}

/// A combination of numbers, kept in the range of an `i128`.
pub(crate) fn combined(times: &[i128], numbers: &[i128]) -> i128 {
    let terms = times.iter().zip(numbers).map(|(a, b)| a.saturating_mul(*b));
    terms.fold(0, i128::saturating_add)
}

/// The sums of the parts over the rows.
pub fn parts(moments: &PairMoments, steps: u64) -> [i128; PARTS] {
    let steps = i128::from(steps);
    let &PairMoments {
        y, x, yy, xy, xx, ..
    } = moments;
    // Of 2^63 rows all are below 2^112; saturation is for what no rows add up to.
    let [rows, x, y] =
        [i128::from(moments.n).saturating_mul(steps), x, y].map(|sum| sum.saturating_mul(steps));
    let neither = rows.saturating_sub(x).saturating_sub(y);
    [
        neither.saturating_add(xy),
        x.saturating_sub(xy),
        y.saturating_sub(xy),
        xy,
        x.saturating_sub(xx),
        y.saturating_sub(yy),
    ]
}

/// Independent noise on sums.
pub trait Noise {
    /// One draw of the noise on this sum.
    fn draw<B: Bits>(&self, sum: usize, bits: &mut B) -> i128;
}

/// The same on each sum.
impl Noise for DiscreteLaplace {
    #[inline]
    fn draw<B: Bits>(&self, _sum: usize, bits: &mut B) -> i128 {
        DiscreteLaplace::draw(self, bits)
    }
}

/// One for each sum.
impl<const K: usize> Noise for [RoundedNormal; K] {
    #[inline]
    fn draw<B: Bits>(&self, sum: usize, bits: &mut B) -> i128 {
        self[sum].draw(bits)
    }
}

/// Two columns, by `K` sums with the noise `N`.
#[derive(Clone, Debug)]
pub struct Pair<N, const K: usize> {
    /// Of `y` and of `x`.
    bounds: [Bounds; 2],
    steps: u64,
    design: Design<K>,
    noise: N,
    /// Of noise that is alike on all sums.
    law: Option<Law>,
}

impl<N: Noise, const K: usize> Pair<N, K> {
    /// For columns `y` and `x` with these bounds, of that many steps each: 1 to 2^23.
    pub(crate) fn new(bounds: [Bounds; 2], steps: u64, design: Design<K>, noise: N) -> Self {
        Self {
            bounds,
            steps,
            design,
            noise,
            law: None,
        }
    }

    /// With noise that is alike on all sums.
    pub(crate) fn with_law(self, law: Law) -> Self {
        Self {
            law: Some(law),
            ..self
        }
    }

    /// The noisy sums: this is what the guarantee is about.
    #[inline]
    pub fn noisy<B: Bits>(&self, moments: &PairMoments, bits: &mut B) -> [i128; K] {
        let parts = parts(moments, self.steps);
        let mut noisy = [0; K];
        for (i, (noisy, times)) in noisy.iter_mut().zip(&self.design.sums).enumerate() {
            let noise = self.noise.draw(i, bits);
            *noisy = add_noise(combined(times, &parts), noise, bits);
        }
        noisy
    }

    /// One release from any source of words.
    #[inline]
    pub fn release_from<B: Bits>(&self, moments: &PairMoments, bits: &mut B) -> PairAnswer {
        self.answer(self.noisy(moments, bits))
    }

    /// What follows from the noisy sums, and from nothing else of the rows.
    fn answer(&self, noisy: [i128; K]) -> PairAnswer {
        let parts = self
            .design
            .back
            .each_ref()
            .map(|times| combined(times, &noisy));
        let in_rows = self.design.whole as f64 * (self.steps as f64).powi(2);
        let seen = parts.map(|part| part as f64 / in_rows);
        let [corners @ .., p, q] = parts;
        let whole = corners.into_iter().fold(0, i128::saturating_add);
        let count = whole as f64 / in_rows;
        let (corners, inner) = if whole > 0 {
            let corners: [f64; 4] = corners.map(|sum| sum.max(0) as f64);
            // Not 0: one of them is above 0.
            let whole: f64 = corners.iter().sum();
            // A row has at most a quarter.
            let inner = [q, p].map(|sum| (sum.max(0) as f64 / whole).min(0.25));
            (corners.map(|sum| sum / whole), inner)
        } else {
            ([0.25; 4], [1.0 / 6.0; 2])
        };
        let [p00, p10, p01, p11] = corners;
        let means = [p01 + p11, p10 + p11].map(|mean: f64| mean.min(1.0));
        let most = means.map(|mean| mean * (1.0 - mean));
        let spread = |i: usize| (most[i] - inner[i]).max(0.0);
        let [tells_x, tells_y] = [4, 5].map(|part| self.design.tells(part));
        let [y, x] = &self.bounds;
        let [y_mean, x_mean] = [(y, means[0]), (x, means[1])].map(|(bounds, mean)| {
            // Rounding can leave the bounds by a digit, and even overflow at the largest floats.
            (bounds.lo() + bounds.width() * mean).clamp(bounds.lo(), bounds.hi())
        });
        // What is not seen of a spread is no more than rows with these means can have.
        let of_y = if tells_y { spread(0) } else { most[0] };
        let of_x = if tells_x { spread(1) } else { most[1] };
        let reach = of_y.sqrt() * of_x.sqrt();
        let covariance = (p11 * p00 - p10 * p01).clamp(-reach, reach);
        let line = tells_x.then(|| {
            let slope = if of_x > 0.0 { covariance / of_x } else { 0.0 };
            // In this order, so that no infinity meets a 0.
            let slope = slope * y.width() / x.width();
            let rise = slope * x_mean;
            RegressionLine {
                slope,
                // Of an infinite slope at a mean of 0, it is not known.
                intercept: y_mean - if rise.is_nan() { 0.0 } else { rise },
                x_stddev: x.width() * of_x.sqrt(),
            }
        });
        let strength = (tells_x && tells_y).then(|| Strength {
            correlation: if reach > 0.0 {
                (covariance / reach).clamp(-1.0, 1.0)
            } else {
                0.0
            },
            y_stddev: y.width() * of_y.sqrt(),
        });
        PairAnswer {
            covariance: y.width() * (x.width() * covariance),
            y_mean,
            x_mean,
            count,
            line,
            strength,
            parts: seen,
        }
    }
}

impl<N: Noise, const K: usize> Mechanism<PairMoments> for Pair<N, K> {
    type Answer = PairAnswer;

    /// That of one column: there is none.
    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, moments: &PairMoments, generator: &mut Generator) -> PairAnswer {
        self.release_from(moments, generator)
    }
}

impl<N: Noise, const K: usize> OfPairs for Pair<N, K> {
    fn pair_grid(&self) -> PairGrid {
        let [y, x] = &self.bounds;
        PairGrid::new(y, x)
    }

    fn seen(&self) -> Option<Seen> {
        let whole = self.design.whole as f64;
        let tells_both = self.design.tells(4) && self.design.tells(5);
        let law = self.law.filter(|_| tells_both)?;
        let mut back = [[0.0; PARTS]; PARTS];
        for (back, times) in back.iter_mut().zip(&self.design.back) {
            for (back, times) in back.iter_mut().zip(times) {
                *back = *times as f64 / whole;
            }
        }
        Some(Seen { back, law })
    }
}
