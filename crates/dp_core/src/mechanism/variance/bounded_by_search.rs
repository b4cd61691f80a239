//! A variance between bounds that it finds by itself.
//!
//! The proof: docs/proofs/variance-auto.md.

use crate::accuracy::spread::Spread;
use crate::encoding::grid::COARSE_STEPS;
use crate::encoding::log_bins::{LOWEST, Limits, OctaveCounts};
use crate::encoding::ranges::Range;
use crate::encoding::squares::{ROUNDING, Squares};
use crate::mechanism::bounds_search::answer::AutoAnswer;
use crate::mechanism::bounds_search::ends::Prior;
use crate::mechanism::bounds_search::release::{self, Statistic};
use crate::mechanism::variance::laplace::Laplace;
use crate::mechanism::variance::moments::{MomentNoise, VarianceAnswer, answer_between, triple};
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, add_noise};

/// A variance that finds its bounds.
pub type Auto = release::Auto<OfVariance>;

/// The variance of the rows clamped to the ends, by the noise of [`Laplace`] on the sums of `f0`, `f1`, `f2`, each
/// rounded down to an integer, in units of `1 / G^2`. Without ends it is 0.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Whatever the ends are, a row is at
/// a real `x` from 0 to 1 of the way between them, and moves the exact sums of the three by `2 G^2` together at most;
/// the integers, by `2 G^2 + 2`: see [`Laplace::of_floors`] and [`OctaveCounts::quadratics`].
#[derive(Clone, Copy, Debug, Default)]
pub struct OfVariance {
    is_sample: bool,
}

impl OfVariance {
    /// Of rows that are a sample, or all there are.
    pub fn new(is_sample: bool) -> Self {
        Self { is_sample }
    }
}

/// The noise of each of the three sums. A share of the least epsilon is at least 2^-22.
fn noise(epsilon: Epsilon) -> Laplace {
    Laplace::of_floors(COARSE_STEPS, epsilon.coarse())
}

impl Statistic for OfVariance {
    type Sums = Squares;
    type Answer = VarianceAnswer;
    type Reach = Spread;

    /// Twice that of a mean: noise grows with the square of the width.
    const PRIOR: Prior = Prior {
        wide: 10.0,
        narrow: 4.0,
    };

    fn release<B: Bits>(
        &self,
        rows: &OctaveCounts<Squares>,
        range: &Range,
        limits: &Limits,
        epsilon: Epsilon,
        bits: &mut B,
    ) -> VarianceAnswer {
        let noise = noise(epsilon);
        let sums = rows.quadratics(range, COARSE_STEPS * COARSE_STEPS);
        let noisy = sums.map(|sum| add_noise(sum, noise.draw(bits), bits));
        answer_between(&noise, Self::shown(limits, range), self.is_sample, noisy)
    }

    fn reach(&self, epsilon: Epsilon, miss: f64) -> Spread {
        Spread::new(triple(&noise(epsilon)), self.is_sample, miss)
    }

    /// Of the standard deviation.
    ///
    /// Rows beyond the ends make it larger than that of the clamped rows, and not smaller: clamping brings any two rows
    /// nearer to each other. If `k` of `n` rows are beyond, with distances to the ends whose mean square is `W^2`, it
    /// is larger by `W sqrt(k / n)` at most: by Minkowski's inequality, of the clamped rows and these distances.
    fn interval(
        &self,
        reach: &Spread,
        limits: &Limits,
        beyond: f64,
        found: &AutoAnswer<VarianceAnswer>,
    ) -> [f64; 2] {
        let ([lo, hi], answer) = (found.bounds, &found.answer);
        let width = hi - lo;
        let [least, most] = limits.both();
        let most = (most - least) * reach.most().sqrt();
        if width.is_nan() || width <= 0.0 {
            // Nothing was found that the rows could be clamped to.
            return [0.0, most];
        }
        let [lower, upper] = reach.around(answer.sums).map(f64::sqrt);
        // No row is off by more, and the standard deviation of rows that are all there are by no more than a row; that
        // of a sample by the root of 2 times as much. That sums are rounded down is far below the step that `Spread`
        // allows for.
        let off = ROUNDING * limits.farthest_of(found.bounds) + 2f64.powi(LOWEST);
        let slack = 2.0 * off + 8.0 * f64::EPSILON * lo.abs().max(hi.abs());
        let divisor = answer.count - f64::from(u8::from(self.is_sample));
        let more = match beyond {
            0.0 => 0.0,
            _ if divisor > 0.0 => width * (beyond / divisor).sqrt(),
            _ => f64::INFINITY,
        };
        [
            (width * lower - slack).max(0.0).min(answer.stddev),
            (width * upper + slack + more).min(most).max(answer.stddev),
        ]
    }
}
