//! The staircase distribution on the integers, and the two-sided geometric distribution.

use crate::accuracy::tail;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::branch::Branch;
use crate::sampler::geometric::Geometric;
use crate::sampler::staircase2::moments;
use crate::sampler::uniform::below;

/// The staircase distribution of Geng and Viswanath (2014) on the integers: steps of width
/// `steps` around a core of half-width `core`.
///
/// The *level* of `x` is 0 for `|x| < core`, and `L >= 1` for
/// `(L - 1) steps + core <= |x| < L steps + core`. Then `P(x)` is proportional to
/// `b^level(x)`, with `b = e^-epsilon`.
///
/// Drawn by parts: level 0 holds `2 core - 1` integers of weight 1, and each level above it
/// `2 steps` of weight `b^L`; the weight of all of these is `2 steps b / (1 - b) = 2 steps / z`
/// with `z = e^epsilon - 1`. A [`Branch`] with weights `(2 core - 1) z` and `2 steps` chooses;
/// given the second, `L - 1` is geometric and the place in the level and the sign are uniform.
#[derive(Clone, Debug)]
pub struct Staircase {
    steps: u64,
    core: u64,
    epsilon: Epsilon,
    tail: Branch,
    level: Geometric,
}

/// A draw: the value, and its level with the value's sign (0 at level 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stair {
    /// The integer drawn.
    pub value: i128,
    /// Its signed level.
    pub level: i128,
}

impl Staircase {
    /// For 1 to 2^32 steps. The core is brought into `1..=steps`: there must be one, which the
    /// hourglass needs to be private, and a wider one would only add noise.
    pub fn new(steps: u64, core: u64, epsilon: Epsilon) -> Self {
        let core = core.clamp(1, steps);
        let (tail, level_0) = (2 * u128::from(steps), 2 * u128::from(core) - 1);
        let tail = Branch::new(epsilon, [tail, 0, 0], [0, level_0, 0]);
        Self {
            steps,
            core,
            epsilon,
            tail,
            level: Geometric::new(epsilon),
        }
    }

    /// With the core of the least variance: the best noise there is for one number of sensitivity
    /// `steps`. For 1 to 2^32 steps.
    pub fn least(steps: u64, epsilon: Epsilon) -> Self {
        Self::new(steps, core_of(best_gamma(epsilon.value()), steps), epsilon)
    }

    /// The two-sided geometric distribution, `P(x)` proportional to `b^|x|`: the staircase with
    /// steps of width 1.
    pub fn two_sided_geometric(epsilon: Epsilon) -> Self {
        Self::new(1, 1, epsilon)
    }

    /// By what power of e its levels fall.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The variance, in squares of `steps`.
    pub fn variance(&self) -> f64 {
        variance(self.steps, self.core, self.epsilon.value())
    }

    /// `P(|x| > t)`, for `t` in units of `steps`.
    pub fn tail(&self, t: f64) -> f64 {
        let gamma = self.core as f64 / self.steps as f64;
        tail::staircase(self.epsilon.value(), gamma, t)
    }

    /// One draw.
    #[inline]
    pub fn draw<B: Bits>(&self, bits: &mut B) -> Stair {
        if self.tail.toss(bits) {
            let outer = self.level.draw(bits) as i128;
            let place = below(2 * self.steps, bits);
            let (negative, place) = (place & 1 == 1, place >> 1);
            let level = outer + 1;
            let value = outer * i128::from(self.steps) + i128::from(self.core) + i128::from(place);
            if negative {
                Stair {
                    value: -value,
                    level: -level,
                }
            } else {
                Stair { value, level }
            }
        } else {
            let value = i128::from(below(2 * self.core - 1, bits)) - i128::from(self.core - 1);
            Stair { value, level: 0 }
        }
    }
}

/// The core of the least mean squared error, as a fraction of a step: Geng and Viswanath 2014,
/// in a form that keeps its digits at small epsilon. Any fraction is equally private.
pub fn best_gamma(epsilon: f64) -> f64 {
    let b = (-epsilon).exp();
    let z = -(-epsilon).exp_m1();
    b * ((z * (1.0 + 2.0 * b) / (2.0 * b * b)).ln_1p() / 3.0).exp_m1() / z
}

/// `sigma^2(eps)`: the least variance of noise for one unit of sensitivity, and the least worst-case
/// squared error of a mean between bounds 0 and 1, times `n^2` (Geng and Viswanath 2014, theorem 7;
/// Kulesza, Suresh and Wang 2024, theorem 4).
pub fn least_variance(epsilon: f64) -> f64 {
    let b = (-epsilon).exp();
    let ends = 0.5f64.powf(2.0 / 3.0) * (-2.0 * epsilon / 3.0).exp() * (1.0 + b).powf(2.0 / 3.0);
    (ends + b) / (-epsilon).exp_m1().powi(2)
}

/// The core, in grid steps, for a fraction `gamma`: 1 to `steps`.
pub fn core_of(gamma: f64, steps: u64) -> u64 {
    // The cast saturates, and takes NaN to 0.
    ((gamma * steps as f64).round() as u64).clamp(1, steps)
}

/// The variance, in squares of `steps`: exact but for rounding.
///
/// A distribution that is constant on levels is a mixture of uniform distributions on the integers below the levels'
/// borders `r = core + L steps` in magnitude, each with weight `2 r - 1` times that of a geometric
/// `L`; the squares of these integers sum to `(r - 1) r (2 r - 1) / 3`.
pub fn variance(steps: u64, core: u64, epsilon: f64) -> f64 {
    let wide = steps as f64;
    let [r1, r2, r3, _] = moments(epsilon, core as f64 / wide);
    (2.0 * r3 - 3.0 * r2 / wide + r1 / (wide * wide)) / (3.0 * (2.0 * r1 - 1.0 / wide))
}
