//! A sum between bounds that it finds by itself.
//!
//! The proof: docs/proofs/sum-auto.md.

use crate::accuracy::interval::STEP;
use crate::accuracy::tail::quantile;
use crate::encoding::grid;
use crate::encoding::log_bins::{Content, Limits, OctaveCounts};
use crate::encoding::ranges::{Range, magnitudes};
use crate::mechanism::bounds_search::answer::AutoAnswer;
use crate::mechanism::bounds_search::ends::{Ends, Outside, Prior};
use crate::mechanism::bounds_search::magnitude::Candidates;
use crate::mechanism::bounds_search::release::{self, Statistic};
use crate::mechanism::sum::noise::SumNoise;
use crate::mechanism::sum::staircase::Staircase;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, add_noise};
use crate::sampler::staircase::{best_gamma, core_of};

/// A sum that finds its bounds.
pub type Auto = release::Auto<OfSum>;

/// By how much the rounding of bins can move a sum, in units of its bound: each of 801 bins is rounded down to a unit
/// of 2^-32 of the bound at most, and then to a step of 2^-31.
const ROUNDING: f64 = 1.0 / (1u64 << 20) as f64;

/// The sum of the rows clamped to `[-U, U]`, with noise from the staircase distribution (Geng, Viswanath 2014). `U` is
/// a bound of the rows' magnitudes, on a grid around the octave, by one choice ([`Ends::choose_one`]).
///
/// The noise of a sum depends on the larger of two bounds' magnitudes, so that a second bound would save nothing.
///
/// Where the walk finds no octave, `U` is the larger magnitude of the limits of the column; without limits it is 0, and
/// so is the sum.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). The choice: see there. The sum: a
/// row more moves the sum of the grid steps of `[-U, U]` by an integer `t` from 0 to `G`, and so twice that, less `G`
/// for each row, by `2 t - G`: by `G` at most ([`OctaveCounts::steps_from_zero`]), as [`Staircase`] needs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfSum;

/// The noise of the sum.
fn noise(epsilon: Epsilon) -> Staircase {
    let core = core_of(best_gamma(epsilon.value()), grid::STEPS);
    Staircase::new(grid::STEPS, core, epsilon)
}

impl Statistic for OfSum {
    type Sums = Content;
    type Answer = f64;
    /// In units of the bound.
    type Reach = f64;

    const PRIOR: Prior = Prior {
        wide: 4.0,
        narrow: 4.0,
    };

    /// A bound on both sides of zero.
    fn range<B: Bits>(
        limits: &Limits,
        octave: i32,
        among: Candidates,
        counts: &[i128],
        ends: &Ends,
        bits: &mut B,
    ) -> Range {
        let edges = magnitudes(limits, octave, among.powers, among.quarters);
        let at: Vec<i64> = edges.iter().map(|edge| edge.at).collect();
        let rows = Outside::on_both_sides(counts, &edges);
        let chosen = ends.choose_one(&rows, &at, among.prior, bits);
        Range::around(limits, octave, &edges[chosen])
    }

    fn whole(limits: &Limits) -> Range {
        Range::around_limits(limits, limits.highest())
    }

    fn shown(limits: &Limits, range: &Range) -> [f64; 2] {
        let bound = range.upper();
        // Not -0.
        limits.both().map(|limit| limit.clamp(-bound, bound) + 0.0)
    }

    fn release<B: Bits>(
        &self,
        rows: &OctaveCounts,
        range: &Range,
        _limits: &Limits,
        epsilon: Epsilon,
        bits: &mut B,
    ) -> f64 {
        let noise = noise(epsilon).draw(bits);
        let noisy = add_noise(rows.steps_from_zero(range), noise, bits);
        let noisy = noisy as f64 / grid::STEPS as f64;
        // Not -0.
        noisy * range.upper() + 0.0
    }

    fn reach(&self, epsilon: Epsilon, miss: f64) -> f64 {
        let noise = noise(epsilon);
        quantile(miss, |t| noise.tail(t)) + STEP
    }

    fn interval(
        &self,
        reach: &f64,
        limits: &Limits,
        beyond: f64,
        found: &AutoAnswer<f64>,
    ) -> [f64; 2] {
        let [lo, hi] = limits.both();
        let least = if lo >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let most = if hi <= 0.0 { 0.0 } else { f64::INFINITY };
        let [lower, upper] = found.bounds;
        let bound = upper.abs().max(lower.abs());
        if bound == 0.0 || !found.answer.is_finite() {
            // Nothing was found that the rows could be clamped to.
            return [least, most];
        }
        let half = (reach + ROUNDING + beyond) * bound + 4.0 * f64::EPSILON * found.answer.abs();
        [found.answer - half, found.answer + half].map(|end| end.clamp(least, most))
    }
}
