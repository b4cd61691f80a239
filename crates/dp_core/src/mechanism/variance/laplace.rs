//! A variance with Laplace noise.
//!
//! The proof: docs/proofs/variance-laplace.md.

use std::f64::consts::SQRT_2;

use crate::accuracy::spread::WeightedReach;
use crate::accuracy::tail::{self, quantile};
use crate::encoding::grid;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, PURE};
use crate::mechanism::variance::inputs::SomeVariance;
use crate::mechanism::variance::moments::{MomentNoise, SAMPLE, Variance};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::discrete_laplace::DiscreteLaplace;

pub(crate) const ENTRY: Entry<SomeVariance> = Entry {
    info: Info {
        name: "laplace",
        what: "discrete Laplace noise on three sums that a row moves by one unit together",
        guarantee: PURE,
        loss: Loss::Laplace {
            steps: grid::COARSE_STEPS,
        },
        neighbours: ADD_REMOVE,
        parameters: &[SAMPLE],
        example: "laplace",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 3, here for polynomials of degree \
                 two; drawn as in Canonne, Kamath, Steinke 2020",
    },
    plan: None,
    build: |request| {
        let noise = Laplace::new(grid::COARSE_STEPS, request.row_epsilon()?);
        let (bounds, is_sample) = (request.bounds()?, request.is_sample());
        SomeVariance::of_moments(Variance::new(bounds, is_sample, noise))
    },
};

/// Independent discrete Laplace noise of scale `2 G^2 / epsilon` on the sums of
///
/// `f0 = 2 b0 - b1 / 2`, `f1 = 2 b1`, `f2 = 2 b2 - b1 / 2`
///
/// (integers: `b1 = 2 t (G - t)` is even).
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). The noise
/// `(x0, x1, x2)` has probability proportional to
/// `exp(-(|x0| + |x1| + |x2|) epsilon / (2 G^2))`, and a row shifts the sums by `(f0, f1, f2)`. So
/// `|f0| + |f1| + |f2| <= 2 G^2` is to be shown for every `t` in [0, G]. In units of `G^2`, with
/// `x = t / G`: `f0 = (1 - x) (2 - 3 x)`, `f1 = 4 x (1 - x)`, `f2 = x (3 x - 1)`.
///
/// * For `1/3 <= x <= 2/3` none is negative, and they add up to `2 - 2 x (1 - x) < 2`.
/// * For `x < 1/3` only `f2` is, and `f0 + f1 - f2 = 2 - 4 x^2`: at most 2, and 2 at `x = 0`.
/// * For `x > 2/3` it is the mirror image of that.
///
/// **Why not the Bernstein sums themselves.** Twice `b0`, `b1`, `b2` are private at the same scale:
/// they are not negative and add up to `2 G^2`. On the variance their noise acts by `c0 = mean^2 -
/// variance`, `c2 = (1 - mean)^2 - variance` and `c1 = (c0 + c2) / 2 - 1/2` (as `c0 b0 + c1 b1 + c2
/// b2` is `x^2` and lower powers). Here a quarter of `b1` is taken off the outer ones. That leaves
/// `c0` and `c2` as they are, and as `b0 = f0 / 2 + f1 / 8` and so on, `c1` becomes `3 (c0 + c2) /
/// 4 - 1/2`. The variance of the answer goes with `c0^2 + c1^2 + c2^2`. That is 1/16 more at most
/// (all rows at a bound), and less wherever `c0 + c2 < 4/5`: 1.41 times less for the uniform distribution,
/// 1.33 times for one narrow around the middle. Half of `b1` is private too; it is 2 and 1.5 times
/// better there, but makes it 1/4 more for rows at a bound. The price is paid by the number of
/// rows, whose variance is 4.25 times `2 / epsilon^2` instead of 3 times.
#[derive(Clone, Debug)]
pub struct Laplace {
    steps: u64,
    sensitivity: u64,
    epsilon: Epsilon,
    noise: DiscreteLaplace,
}

impl Laplace {
    /// For 1 to 2^24 steps.
    pub fn new(steps: u64, epsilon: Epsilon) -> Self {
        Self::of_sensitivity(steps, 2 * steps * steps, epsilon)
    }

    /// The same for sums of exact numbers, each rounded down to an integer.
    ///
    /// A row moves the exact numbers by `2 G^2` together, at any real `t` from 0 to `G`, and each integer by less than
    /// 1 more than the number that it is of: by less than `2 G^2 + 3` together, and so by `2 G^2 + 2` at most, as they
    /// are integers.
    pub fn of_floors(steps: u64, epsilon: Epsilon) -> Self {
        Self::of_sensitivity(steps, 2 * steps * steps + 2, epsilon)
    }

    fn of_sensitivity(steps: u64, sensitivity: u64, epsilon: Epsilon) -> Self {
        Self {
            steps,
            sensitivity,
            epsilon,
            noise: DiscreteLaplace::new(sensitivity, epsilon),
        }
    }
}

impl MomentNoise for Laplace {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn sums(&self, [b0, b1, b2]: [i128; 3]) -> [i128; 3] {
        let [outer0, outer2] = [b0, b2].map(|b| b.saturating_mul(2).saturating_sub(b1 / 2));
        [outer0, b1.saturating_mul(2), outer2]
    }

    fn eightfold_bernstein(&self, [f0, f1, f2]: [i128; 3]) -> [i128; 3] {
        let [outer0, outer2] = [f0, f2].map(|f| f.saturating_mul(4).saturating_add(f1));
        [outer0, f1.saturating_mul(4), outer2]
    }

    #[inline]
    fn draw<B: Bits>(&self, bits: &mut B) -> i128 {
        self.noise.draw(bits)
    }

    fn scale(&self) -> f64 {
        let unit = self.steps * self.steps;
        self.sensitivity as f64 / unit as f64 / self.epsilon.value()
    }

    const TAIL: fn([f64; 3], f64) -> f64 = tail::laplace_triple;

    const TAIL_BESIDE_NORMAL: fn(f64, [f64; 3], f64) -> f64 = tail::laplace_triple_beside_normal;

    const DEVIATION: f64 = SQRT_2;

    fn reach(miss: f64) -> WeightedReach {
        Box::new(move |weights| quantile(miss, |t| tail::laplace_triple(weights, t)))
    }
}
