//! A sum that finds its bounds by itself: what a release does.
//!
//! The proof: docs/proofs/sum-auto.md.

use std::cell::OnceCell;

use crate::accuracy::interval::{Intervals, STEP};
use crate::accuracy::tail::quantile;
use crate::encoding::grid::{self, Grid};
use crate::encoding::octaves::{Limits, OctaveCounts, Range, magnitudes};
use crate::mechanism::definition::Mechanism;
use crate::mechanism::search::answer::AutoAnswer;
use crate::mechanism::search::ends::{Ends, Outside, Prior};
use crate::mechanism::search::octave::{Candidates, PARTS, Search};
use crate::mechanism::sum::kinds::AutoSum;
use crate::mechanism::sum::noise::SumNoise;
use crate::mechanism::sum::staircase::Staircase;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::staircase::{best_gamma, core_of};

/// Where the bound is looked for, and by how much larger ones are less likely.
const AMONG_MANY: Candidates = Candidates {
    powers: [-4, 6],
    quarters: true,
    prior: Prior {
        wide: 4.0,
        narrow: 4.0,
    },
};
const AMONG_FEW: Candidates = Candidates {
    powers: [0, 3],
    quarters: false,
    ..AMONG_MANY
};

/// By how much the rounding of bins can move a sum, in units of its bound: each of 801 bins is rounded down to a unit of 2^-32 of the bound
/// at most, and then to a step of 2^-31.
const ROUNDING: f64 = 1.0 / (1u64 << 20) as f64;

/// Four steps, at shares of epsilon that add up to it:
///
/// 1. and 2. the octave of the largest magnitudes: see [`Search`];
/// 3. a bound `U` of the rows' magnitudes, on a grid around that octave, by one choice ([`Ends::choose_one`]), at 16/64;
/// 4. the sum of the rows clamped to `[-U, U]`, with noise from the staircase distribution (Geng, Viswanath 2014), at the rest.
///
/// The noise of a sum depends on the larger of two bounds' magnitudes, so that a second bound would save nothing.
///
/// Where the walk finds no octave, `U` is the larger magnitude of the limits of the column, and step 4 has the share of step 3, too; without
/// limits `U` is 0, and so is the sum.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Steps 1 to 3: see there. Step 4: a row more moves the sum of
/// the grid steps of `[-U, U]` by an integer `t` from 0 to `G`, and so twice that, less `G` for each row, by `2 t - G`: by `G` at most
/// ([`OctaveCounts::steps_from_zero`]), as [`Staircase`] needs it.
#[derive(Clone, Debug)]
pub struct Auto {
    search: Search,
    widened: f64,
    ends: Ends,
}

impl Auto {
    /// Between these limits, with so much to spend, and intervals that are wide enough for so many rows outside, over epsilon.
    pub fn new(limits: Limits, epsilon: Epsilon, widened: f64) -> Self {
        Self {
            search: Search::new(limits, epsilon),
            widened,
            ends: Ends::new(Search::of_ends(epsilon)),
        }
    }

    /// How it looks for the octave.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// The noise of the sum, at these 64ths of epsilon.
    fn noise(&self, parts: u64) -> Staircase {
        let epsilon = self.search.share(parts);
        let core = core_of(best_gamma(epsilon.value()), grid::STEPS);
        Staircase::new(grid::STEPS, core, epsilon)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, rows: &OctaveCounts, bits: &mut B) -> AutoAnswer<f64> {
        let (counts, limits) = (rows.counts(), self.search.limits());
        let start = self.search.start(rows, &counts, bits);
        let range = match start.octave {
            Some(octave) => self.range(octave, start.many, &counts, bits),
            None if limits.same(&Limits::NONE) => Range::NOTHING,
            None => Range::around_limits(limits, limits.highest()),
        };

        let bound = range.upper();
        let noise = self.noise(start.parts).draw(bits);
        let noisy = add_noise(rows.steps_from_zero(&range), noise, bits);
        let noisy = noisy as f64 / grid::STEPS as f64;
        AutoAnswer {
            // Not -0.
            answer: noisy * bound + 0.0,
            bounds: limits.both().map(|limit| limit.clamp(-bound, bound) + 0.0),
            nonzero: start.nonzero,
            few: start.few,
            parts: start.parts,
        }
    }

    /// The bound near an octave, on both sides of zero.
    fn range<B: Bits>(&self, octave: i32, many: bool, counts: &[i128], bits: &mut B) -> Range {
        let limits = self.search.limits();
        let among = if many { AMONG_MANY } else { AMONG_FEW };
        let edges = magnitudes(limits, octave, among.powers, among.quarters);
        let at: Vec<i64> = edges.iter().map(|edge| edge.at).collect();
        let rows = Outside::on_both_sides(counts, &edges);
        let chosen = self.ends.choose_one(&rows, &at, among.prior, bits);
        Range::around(limits, octave, &edges[chosen])
    }

    /// The interval around an answer, for noise that is farther than this from 0, in units of the bound, seldom enough.
    fn interval(&self, reach: f64, found: &AutoAnswer<f64>) -> [f64; 2] {
        let [lo, hi] = self.search.limits().both();
        let least = if lo >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let most = if hi <= 0.0 { 0.0 } else { f64::INFINITY };
        let [lower, upper] = found.bounds;
        let bound = upper.abs().max(lower.abs());
        if bound == 0.0 || !found.answer.is_finite() {
            // Nothing was found that the rows could be clamped to.
            return [least, most];
        }
        let beyond = self.widened / self.search.epsilon().value();
        let half = (reach + ROUNDING + beyond) * bound + 4.0 * f64::EPSILON * found.answer.abs();
        [found.answer - half, found.answer + half].map(|end| end.clamp(least, most))
    }
}

impl Mechanism<OctaveCounts> for Auto {
    type Answer = AutoAnswer<f64>;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, rows: &OctaveCounts, generator: &mut Generator) -> AutoAnswer<f64> {
        self.release_from(rows, generator)
    }

    fn intervals(&self, miss: f64) -> Option<Intervals<AutoAnswer<f64>>> {
        let auto = self.clone();
        let reaches: Vec<OnceCell<f64>> = (0..=PARTS).map(|_| OnceCell::new()).collect();
        Some(Box::new(move |found| {
            let reach = || {
                let noise = auto.noise(found.parts);
                quantile(miss, |t| noise.tail(t)) + STEP
            };
            let known = reaches.get(found.parts as usize);
            let reach = known.map_or(f64::INFINITY, |known| *known.get_or_init(reach));
            auto.interval(reach, found)
        }))
    }
}

impl AutoSum for Auto {
    fn limits(&self) -> &Limits {
        self.search.limits()
    }
}
