//! A mean between bounds that it finds by itself.
//!
//! The proof: docs/proofs/mean-auto.md.

use crate::accuracy::interval::{Ratio, Reach, STEP};
use crate::encoding::grid;
use crate::encoding::log_bins::{Content, Limits, OctaveCounts};
use crate::encoding::ranges::Range;
use crate::mechanism::bounds_search::answer::AutoAnswer;
use crate::mechanism::bounds_search::ends::Prior;
use crate::mechanism::bounds_search::release::{self, Statistic};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::hourglass::Hourglass;
use crate::mechanism::mean::pair::PairNoise;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, add_noise};
use crate::sampler::staircase::{best_gamma, core_of};

/// A mean that finds its bounds.
pub type Auto = release::Auto<OfMean>;

/// The mean of the rows clamped to the ends, by algorithm 3 of Kulesza, Suresh and Wang (2024). Without ends it is 0.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Whatever the ends are, a row more
/// moves the sum of the grid steps by an integer `t` from 0 to `G` ([`OctaveCounts::steps_between`]), and their
/// complement by `G - t`: see [`Hourglass`].
#[derive(Clone, Copy, Debug, Default)]
pub struct OfMean;

/// The noise of the mean.
fn noise(epsilon: Epsilon) -> Hourglass {
    let core = core_of(best_gamma(epsilon.value()), grid::STEPS);
    Hourglass::new(grid::STEPS, core, epsilon)
}

impl Statistic for OfMean {
    type Sums = Content;
    type Answer = MeanAnswer;
    type Reach = Reach;

    const PRIOR: Prior = Prior {
        wide: 5.0,
        narrow: 2.0,
    };

    fn release<B: Bits>(
        &self,
        rows: &OctaveCounts,
        range: &Range,
        limits: &Limits,
        epsilon: Epsilon,
        bits: &mut B,
    ) -> MeanAnswer {
        let (x1, x2) = noise(epsilon).draw(bits);
        let sum = rows.steps_between(range);
        let steps = i128::from(grid::STEPS);
        let part = add_noise(sum, x1, bits);
        let rest = add_noise((steps * rows.rows()).saturating_sub(sum), x2, bits);
        let whole = part.saturating_add(rest);
        let fraction = if whole > 0 {
            part.clamp(0, whole) as f64 / whole as f64
        } else {
            0.5
        };
        MeanAnswer {
            mean: Some(range.value(limits, fraction)),
            count: Some(whole as f64 / steps as f64),
        }
    }

    fn reach(&self, epsilon: Epsilon, miss: f64) -> Reach {
        let noise = noise(epsilon);
        let ratio = Ratio {
            origin: 0.0,
            unit: 1.0,
            range: [0.0, 1.0],
            tail: Box::new(move |m, t| noise.tail(m, t)),
        };
        ratio.reach(miss)
    }

    fn interval(
        &self,
        reach: &Reach,
        limits: &Limits,
        beyond: f64,
        found: &AutoAnswer<MeanAnswer>,
    ) -> [f64; 2] {
        let [lo, hi] = found.bounds;
        let limits = limits.both();
        let (Some(mean), Some(count)) = (found.answer.mean, found.answer.count) else {
            return limits;
        };
        let width = hi - lo;
        if width.is_nan() || width <= 0.0 {
            // Nothing was found that the rows could be clamped to.
            return limits;
        }
        let around = reach.around((mean - lo) / width, count);
        let slack = 4.0 * f64::EPSILON * lo.abs().max(hi.abs()) + STEP * width;
        let [lower, upper] = around.map(|part| lo + width * part);
        let [lower, upper] = [(lower - slack).max(lo), (upper + slack).min(hi)];
        if beyond == 0.0 {
            return [lower, upper];
        }
        let more = if count > 0.0 {
            beyond * width / count
        } else {
            f64::INFINITY
        };
        [(lower - more).max(limits[0]), (upper + more).min(limits[1])]
    }
}
