//! A weighted mean with Laplace noise.
//!
//! The proof: docs/proofs/bivariate-weighted-laplace.md.

use crate::accuracy::interval::{Intervals, Ratio};
use crate::accuracy::tail;
use crate::encoding::grid::{Bounds, Grid, PAIR_STEPS};
use crate::encoding::pairs::{PairGrid, PairMoments};
use crate::error::ParameterError;
use crate::mechanism::bivariate::sums::{OfPairs, Seen, combined, parts};
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, PURE};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::discrete_laplace::DiscreteLaplace;

/// Any that answers with a weighted mean.
pub type WeightedMechanism = dyn OfPairs<Answer = WeightedAnswer>;

/// What a release hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedAnswer {
    /// The private mean of `y`, each row as often as its weight `x` says; inside the bounds of `y`.
    pub mean: f64,
    /// The noisy sum of the weights. It can be negative.
    pub weight: f64,
}

pub(crate) const ENTRY: Entry<WeightedMechanism> = Entry {
    info: Info {
        name: "laplace",
        what: "discrete Laplace noise on the two parts of the weights, as values are near one bound or the other",
        guarantee: PURE,
        loss: Loss::Laplace { steps: PAIR_STEPS },
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "laplace",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 3, here with weights; drawn as in Canonne, Kamath, \
                 Steinke 2020",
    },
    plan: None,
    build: |request| {
        let ([y, x], epsilon) = (request.pair_bounds()?, request.row_epsilon()?);
        if x.lo() < 0.0 {
            return Err(ParameterError::new(
                "xlo",
                "must be at least 0: the bound of a weight",
                "A weight says how often a row counts. Give xlo as 0, and negative weights count as 0.",
            ));
        }
        Ok(Box::new(Weighted::new([y, x], PAIR_STEPS, epsilon)))
    },
};

/// Weights are whole parts of this one of the largest, beside what their steps add: 2^20 where the least is not 0.
const WHOLE: i128 = 1 << 20;

/// What two sums that are rounded down may move by more than what they are made of.
const ROUNDED: u64 = 2;

/// The weights, shared out by how near each row's value is to either bound, with Laplace noise on both parts.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). A row of weight `w`, in parts of the
/// largest, moves the two sums by `w (G - Y) G` and `w Y G`: by `w G^2` in all, and `w` is at most 1. Where the least
/// weight is not 0 they are divided and rounded down, which adds 1 to each at most. Independent discrete Laplace noise
/// of scale `(G^2 + 2) / epsilon`, or `G^2 / epsilon`, changes the probability of any output by `e^epsilon` at most.
#[derive(Clone, Copy, Debug)]
pub struct Weighted {
    /// Of `y` and of the weights `x`.
    bounds: [Bounds; 2],
    steps: u64,
    /// The weights of `x` at its bounds, and what they are parts of.
    ends: [i128; 2],
    whole: i128,
    epsilon: Epsilon,
    noise: DiscreteLaplace,
}

impl Weighted {
    /// For values and weights with these bounds, of that many steps each: 1 to 2^23. No weight is below 0.
    pub fn new(bounds: [Bounds; 2], steps: u64, epsilon: Epsilon) -> Self {
        let [_, x] = &bounds;
        let least = x.lo() / x.hi();
        let (ends, whole, rounded) = match least > 0.0 {
            true => {
                let least = (least * WHOLE as f64).round() as i128;
                ([least.clamp(0, WHOLE), WHOLE], WHOLE, ROUNDED)
            }
            false => ([0, 1], 1, 0),
        };
        Self {
            bounds,
            steps,
            ends,
            whole,
            epsilon,
            noise: DiscreteLaplace::new(steps * steps + rounded, epsilon),
        }
    }

    /// The two sums, of the weights that are at the lower bound of `y` and of those at the upper one.
    pub fn sums(&self, moments: &PairMoments) -> [i128; 2] {
        let [low, high] = self.ends;
        let parts = parts(moments, self.steps);
        // Of no weight and all of it at the lower bound, then at the upper one.
        let sums = [[low, high, 0, 0, 0, 0], [0, 0, low, high, 0, 0]];
        sums.map(|times| combined(&times, &parts).div_euclid(self.whole))
    }

    /// The noisy sums: this is what the guarantee is about.
    pub fn noisy<B: Bits>(&self, moments: &PairMoments, bits: &mut B) -> [i128; 2] {
        self.sums(moments)
            .map(|sum| add_noise(sum, self.noise.draw(bits), bits))
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, moments: &PairMoments, bits: &mut B) -> WeightedAnswer {
        let noisy = self.noisy(moments, bits);
        let unit = (self.steps as f64).powi(2);
        let [below, above] = noisy.map(|sum| sum as f64 / unit);
        let weight = below + above;
        let part = match weight > 0.0 {
            true => (above / weight).clamp(0.0, 1.0),
            false => 0.5,
        };
        let [y, x] = &self.bounds;
        WeightedAnswer {
            // Rounding can leave the bounds by a digit.
            mean: (y.lo() + y.width() * part).clamp(y.lo(), y.hi()),
            weight: weight * x.hi(),
        }
    }
}

impl Mechanism<PairMoments> for Weighted {
    type Answer = WeightedAnswer;

    /// That of one column: there is none.
    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, moments: &PairMoments, generator: &mut Generator) -> WeightedAnswer {
        self.release_from(moments, generator)
    }

    /// By Fieller's way, as those of means. The noise on `above - m weight` is `(1 - m) X - m Y` at the true mean `m`,
    /// whatever the rows and their weights.
    fn intervals(&self, miss: f64) -> Option<Intervals<WeightedAnswer>> {
        let [y, x] = self.bounds;
        let epsilon = self.epsilon.value();
        let ratio = Ratio {
            origin: y.lo(),
            unit: y.width(),
            range: [0.0, 1.0],
            tail: Box::new(move |m, t| tail::laplace_pair((1.0 - m) / epsilon, m / epsilon, t)),
        };
        let intervals = ratio.intervals(miss, y.lo(), y.hi());
        // A value is off by half a step at most.
        let step = y.width() / self.steps as f64;
        let largest = x.hi();
        Some(Box::new(move |answer| {
            let [lower, upper] = intervals(answer.mean, answer.weight / largest);
            [lower - step, upper + step].map(|end| end.clamp(y.lo(), y.hi()))
        }))
    }
}

impl OfPairs for Weighted {
    fn pair_grid(&self) -> PairGrid {
        let [y, x] = &self.bounds;
        PairGrid::new(y, x)
    }

    fn seen(&self) -> Option<Seen> {
        None
    }
}

/// Any that answers with an interval, too.
pub type WeightedEstimator = dyn OfPairs<Answer = WeightedEstimate>;

/// What a release with its interval hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedEstimate {
    /// The numbers.
    pub answer: WeightedAnswer,
    /// The ends of the interval of the mean.
    pub interval: [f64; 2],
}

/// A mechanism with the intervals of its answers.
///
/// **Why it is private**: they are a function of the answer and of public numbers: post-processing.
pub struct WithInterval {
    mechanism: Box<WeightedMechanism>,
    intervals: Intervals<WeightedAnswer>,
}

impl WithInterval {
    /// With intervals that miss with that probability; `None` of a mechanism that has none.
    pub fn new(mechanism: Box<WeightedMechanism>, miss: f64) -> Option<Self> {
        let intervals = mechanism.intervals(miss)?;
        Some(Self {
            mechanism,
            intervals,
        })
    }
}

impl Mechanism<PairMoments> for WithInterval {
    type Answer = WeightedEstimate;

    fn grid(&self) -> Option<Grid> {
        self.mechanism.grid()
    }

    fn release(&self, moments: &PairMoments, generator: &mut Generator) -> WeightedEstimate {
        let answer = self.mechanism.release(moments, generator);
        WeightedEstimate {
            interval: (self.intervals)(&answer),
            answer,
        }
    }
}

impl OfPairs for WithInterval {
    fn pair_grid(&self) -> PairGrid {
        self.mechanism.pair_grid()
    }

    fn seen(&self) -> Option<Seen> {
        self.mechanism.seen()
    }
}
