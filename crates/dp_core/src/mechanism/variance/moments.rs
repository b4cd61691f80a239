//! What the mechanisms of variances share: noise on sums of powers, and the answer that follows.

use std::cell::OnceCell;

use crate::accuracy::interval::Intervals;
use crate::accuracy::population::{MeanEnds, MeanIntervals, Means};
use crate::accuracy::spread::{Spread, TripleNoise, WeightedReach};
use crate::encoding::grid::{Bounds, Grid};
use crate::encoding::sums::Moments;
use crate::mechanism::definition::Mechanism;
use crate::random::{Bits, Generator, add_noise};
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};

/// What a variance's release hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceAnswer {
    /// The private variance; infinite where it is too large for a float.
    pub variance: f64,
    /// Its root, in the column's own unit.
    pub stddev: f64,
    /// The private mean, inside the bounds.
    pub mean: f64,
    /// The noisy number of rows. It can be negative.
    pub count: f64,
    /// The noisy Bernstein sums that the others follow from, in rows. They can be negative.
    pub sums: [f64; 3],
}

impl VarianceAnswer {
    /// The ends of the interval of the variance, from those of the standard deviation.
    pub fn variance_between(&self, [lower, upper]: [f64; 2]) -> [f64; 2] {
        // Rounding alone can leave the answer outside.
        [
            (lower * lower).min(self.variance),
            (upper * upper).max(self.variance),
        ]
    }
}

/// The parameter `sample`.
pub(crate) const SAMPLE: Parameter = Parameter {
    name: "sample",
    kind: ParameterKind::Word(&["no", "yes"]),
    domain: "no or yes",
    description: "whether the rows are a sample, so that the variance is n / (n - 1) times as \
                  large, with the noisy n if that is above 2; by default they are all there is",
};

impl Request<'_> {
    /// Whether the rows are a sample of more.
    pub(crate) fn is_sample(&self) -> bool {
        self.choice.word(SAMPLE.name) == Some("yes")
    }
}

/// Three sums of the rows to put noise on, and the noise.
pub trait MomentNoise {
    /// Grid steps between the bounds.
    fn steps(&self) -> u64;

    /// The three sums, of the Bernstein sums `B0`, `B1` (which is even), `B2`.
    fn sums(&self, bernstein: [i128; 3]) -> [i128; 3];

    /// Eight times the Bernstein sums, of the three sums: an integer.
    fn eightfold_bernstein(&self, sums: [i128; 3]) -> [i128; 3];

    /// One draw of the noise of one of the three sums; they are independent.
    fn draw<B: Bits>(&self, bits: &mut B) -> i128;

    /// The scale of that noise, in units of `G^2`.
    fn scale(&self) -> f64;

    /// `P(|w0 X0 + w1 X1 + w2 X2| > t)`, of the weights and `t`, for such noise of scale 1.
    const TAIL: fn([f64; 3], f64) -> f64;

    /// As above, of that and a normal variable of this standard deviation.
    const TAIL_BESIDE_NORMAL: fn(f64, [f64; 3], f64) -> f64;

    /// The standard deviation of such noise of scale 1.
    const DEVIATION: f64;

    /// The least `t` for which that is at most this probability, of the weights.
    fn reach(miss: f64) -> WeightedReach;
}

/// The variance of the rows, with the noise `N`.
#[derive(Clone, Debug)]
pub struct Variance<N> {
    bounds: Bounds,
    is_sample: bool,
    noise: N,
}

impl<N: MomentNoise> Variance<N> {
    /// For a column with these bounds, of rows that are a sample or all there are.
    pub fn new(bounds: Bounds, is_sample: bool, noise: N) -> Self {
        Self {
            bounds,
            is_sample,
            noise,
        }
    }

    /// The three noisy sums: this is what the guarantee is about.
    #[inline]
    pub fn noisy<B: Bits>(&self, moments: &Moments, bits: &mut B) -> [i128; 3] {
        let bernstein = bernstein(moments, self.noise.steps());
        self.noise
            .sums(bernstein)
            .map(|sum| add_noise(sum, self.noise.draw(bits), bits))
    }

    /// One release from any source of words.
    #[inline]
    pub fn release_from<B: Bits>(&self, moments: &Moments, bits: &mut B) -> VarianceAnswer {
        self.answer(self.noisy(moments, bits))
    }

    /// The noise, for intervals.
    pub fn triple_noise(&self) -> TripleNoise {
        triple(&self.noise)
    }

    fn answer(&self, noisy: [i128; 3]) -> VarianceAnswer {
        let ends = [self.bounds.lo(), self.bounds.hi()];
        answer_between(&self.noise, ends, self.is_sample, noisy)
    }
}

/// Noise on three sums, for intervals.
pub(crate) fn triple<N: MomentNoise>(noise: &N) -> TripleNoise {
    let one = |i| std::array::from_fn(|j| i128::from(i == j));
    let back = |i| noise.eightfold_bernstein(one(i));
    TripleNoise {
        scale: noise.scale(),
        tail: N::TAIL,
        tail_beside_normal: N::TAIL_BESIDE_NORMAL,
        deviation: N::DEVIATION,
        reach: N::reach,
        back: std::array::from_fn(|i| back(i).map(|sum| sum as f64 / 8.0)),
    }
}

/// What follows from the noisy sums of rows between two ends, and from nothing else of the rows.
pub(crate) fn answer_between<N: MomentNoise>(
    noise: &N,
    [lo, hi]: [f64; 2],
    is_sample: bool,
    noisy: [i128; 3],
) -> VarianceAnswer {
    let eightfold = noise.eightfold_bernstein(noisy);
    let whole = eightfold.into_iter().fold(0, i128::saturating_add);
    let steps = noise.steps() as f64;
    let unit = 8.0 * steps * steps;
    let count = whole as f64 / unit;
    let (place, variance) = if whole > 0 {
        let positive = eightfold.map(|sum| sum.max(0) as f64);
        // Not 0: one of them is above 0.
        let whole: f64 = positive.iter().sum();
        let [p0, p1, p2] = positive.map(|sum| sum / whole);
        (p2 + p1 / 2.0, (p0 * p2 - p1 * p1 / 4.0).clamp(0.0, 0.25))
    } else {
        (0.5, 1.0 / 12.0)
    };
    let variance = match is_sample && count > 2.0 {
        true => variance * (count / (count - 1.0)),
        false => variance,
    };
    let width = hi - lo;
    VarianceAnswer {
        // In this order, so that no infinity meets a 0.
        variance: width * (width * variance),
        stddev: width * variance.sqrt(),
        // Rounding can leave the bounds by a digit, and even overflow at the largest floats.
        mean: (lo + width * place).clamp(lo, hi),
        count,
        sums: eightfold.map(|sum| sum as f64 / unit),
    }
}

/// The Bernstein sums `B0`, `B1`, `B2`.
pub(crate) fn bernstein(moments: &Moments, steps: u64) -> [i128; 3] {
    let steps = i128::from(steps);
    // Twice 2^63 rows of 2^24 steps are far below what an i128 holds.
    let squares = steps * steps * i128::from(moments.n);
    let crossed = moments.s.saturating_mul(2 * steps);
    [
        squares.saturating_sub(crossed).saturating_add(moments.q),
        crossed.saturating_sub(moments.q.saturating_mul(2)),
        moments.q,
    ]
}

impl<N: MomentNoise> Mechanism<Moments> for Variance<N> {
    type Answer = VarianceAnswer;

    fn grid(&self) -> Option<Grid> {
        Some(Grid::unit(&self.bounds))
    }

    fn release(&self, moments: &Moments, generator: &mut Generator) -> VarianceAnswer {
        self.release_from(moments, generator)
    }

    /// Of the standard deviation, which no bounds make too large or too small for a float.
    fn intervals(&self, miss: f64) -> Option<Intervals<VarianceAnswer>> {
        let (noise, is_sample) = (self.triple_noise(), self.is_sample);
        let width = self.bounds.width();
        // A row is off by half a step, their standard deviation by no more; that of a sample by the
        // root of 2 times as much at most.
        let step = 1.0 / self.noise.steps() as f64;
        // Set up at the first answer: what only takes in rows, as a parallel worker, has none.
        let spread = OnceCell::new();
        Some(Box::new(move |answer| {
            let spread = spread.get_or_init(|| Spread::new(noise, is_sample, miss));
            let [lower, upper] = spread.around(answer.sums).map(f64::sqrt);
            let most = width * spread.most().sqrt();
            [
                (width * (lower - step)).max(0.0).min(answer.stddev),
                (width * (upper + step)).min(most).max(answer.stddev),
            ]
        }))
    }

    fn mean_intervals(&self, miss: f64, alike: u32) -> Option<MeanIntervals<VarianceAnswer>> {
        let (noise, lo, hi) = (self.triple_noise(), self.bounds.lo(), self.bounds.hi());
        // A row is off by half a step, and the ends are rounded numbers.
        let slack = self.bounds.width() / self.noise.steps() as f64
            + 4.0 * f64::EPSILON * lo.abs().max(hi.abs());
        let means = OnceCell::new();
        Some(Box::new(move |answer| {
            let means = means.get_or_init(|| Means::new(noise, miss, alike));
            let ends = means.around(answer.sums);
            let place = |[from, to]: [f64; 2]| {
                let at = |place: f64| lo + (hi - lo) * place;
                [
                    (at(from) - slack).max(lo).min(answer.mean),
                    (at(to) + slack).min(hi).max(answer.mean),
                ]
            };
            MeanEnds {
                of_rows: place(ends.of_rows),
                of_population: place(ends.of_population),
            }
        }))
    }
}
