//! A mean that finds its bounds by itself: what a release does.
//!
//! The proof: docs/proofs/mean-auto.md.

use std::cell::OnceCell;

use crate::accuracy::interval::{Intervals, Ratio, Reach, STEP};
use crate::encoding::grid::{self, Grid};
use crate::encoding::octaves::{Limits, OctaveCounts, Range, edges};
use crate::mechanism::definition::Mechanism;
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::hourglass::Hourglass;
use crate::mechanism::mean::kinds::AutoMean;
use crate::mechanism::mean::pair::PairNoise;
use crate::mechanism::search::answer::AutoAnswer;
use crate::mechanism::search::ends::{Ends, Outside, Prior};
use crate::mechanism::search::octave::{Candidates, PARTS, Search};
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::staircase::{best_gamma, core_of};

/// Where the ends are looked for, and by how much wider pairs are less likely.
const AMONG_MANY: Candidates = Candidates {
    powers: [-4, 6],
    quarters: true,
    prior: Prior {
        wide: 5.0,
        narrow: 2.0,
    },
};
const AMONG_FEW: Candidates = Candidates {
    powers: [0, 3],
    quarters: false,
    prior: Prior {
        wide: 4.0,
        narrow: 4.0,
    },
};

/// Four steps, at shares of epsilon that add up to it:
///
/// 1. and 2. the octave of the largest magnitudes: see [`Search`];
/// 3. both ends, on a grid around that octave, by one choice of a pair ([`Ends`]), at 16/64;
/// 4. the mean of the rows clamped to these ends, by algorithm 3 of Kulesza, Suresh and Wang (2024), at the rest.
///
/// Where the walk finds no octave, the ends are the limits of the column, and step 4 has the share of step 3, too; without limits
/// both ends are 0, and so is the mean.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Steps 1 to 3: see there. Step 4: whatever the
/// ends are, a row more moves the sum of the grid steps by an integer `t` from 0 to `G` ([`OctaveCounts::steps_between`]), and
/// their complement by `G - t`: see [`Hourglass`].
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

    /// The noise of the mean, at these 64ths of epsilon.
    fn noise(&self, parts: u64) -> Hourglass {
        let epsilon = self.search.share(parts);
        let core = core_of(best_gamma(epsilon.value()), grid::STEPS);
        Hourglass::new(grid::STEPS, core, epsilon)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(
        &self,
        rows: &OctaveCounts,
        bits: &mut B,
    ) -> AutoAnswer<MeanAnswer> {
        let (counts, limits) = (rows.counts(), self.search.limits());
        let all: i128 = counts.iter().sum();
        let start = self.search.start(rows, &counts, bits);
        let range = match start.octave {
            Some(octave) => self.range(octave, start.many, &counts, bits),
            None if limits.same(&Limits::NONE) => Range::NOTHING,
            None => Range::of_limits(limits, limits.highest()),
        };

        let (x1, x2) = self.noise(start.parts).draw(bits);
        let sum = rows.steps_between(&range);
        let steps = i128::from(grid::STEPS);
        let part = add_noise(sum, x1, bits);
        let rest = add_noise((steps * all).saturating_sub(sum), x2, bits);
        let whole = part.saturating_add(rest);
        let fraction = if whole > 0 {
            part.clamp(0, whole) as f64 / whole as f64
        } else {
            0.5
        };
        AutoAnswer {
            answer: MeanAnswer {
                mean: Some(range.value(limits, fraction)),
                count: Some(whole as f64 / steps as f64),
            },
            bounds: [0.0, 1.0].map(|part| range.value(limits, part)),
            nonzero: start.nonzero,
            few: start.few,
            parts: start.parts,
        }
    }

    /// The ends near an octave.
    fn range<B: Bits>(&self, octave: i32, many: bool, counts: &[i128], bits: &mut B) -> Range {
        let limits = self.search.limits();
        let among = if many { AMONG_MANY } else { AMONG_FEW };
        let edges = edges(limits, octave, among.powers, among.quarters);
        let at: Vec<i64> = edges.iter().map(|edge| edge.at).collect();
        let rows = Outside::new(counts, &edges);
        let (from, to) = self.ends.choose(&rows, &at, among.prior, bits);
        Range::between(limits, octave, &edges[from], &edges[to])
    }

    /// The interval around an answer that misses with at most this probability.
    fn interval(&self, reach: &Reach, answer: &AutoAnswer<MeanAnswer>) -> [f64; 2] {
        let [lo, hi] = answer.bounds;
        let limits = self.search.limits().both();
        let (Some(mean), Some(count)) = (answer.answer.mean, answer.answer.count) else {
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
        if self.widened == 0.0 {
            return [lower, upper];
        }
        let more = if count > 0.0 {
            self.widened / self.search.epsilon().value() * width / count
        } else {
            f64::INFINITY
        };
        [(lower - more).max(limits[0]), (upper + more).min(limits[1])]
    }
}

impl Mechanism<OctaveCounts> for Auto {
    type Answer = AutoAnswer<MeanAnswer>;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, rows: &OctaveCounts, generator: &mut Generator) -> AutoAnswer<MeanAnswer> {
        self.release_from(rows, generator)
    }

    fn intervals(&self, miss: f64) -> Option<Intervals<AutoAnswer<MeanAnswer>>> {
        let auto = self.clone();
        let reaches: Vec<OnceCell<Reach>> = (0..=PARTS).map(|_| OnceCell::new()).collect();
        Some(Box::new(move |answer| {
            let reach = || {
                let noise = auto.noise(answer.parts);
                let ratio = Ratio {
                    origin: 0.0,
                    unit: 1.0,
                    range: [0.0, 1.0],
                    tail: Box::new(move |m, t| noise.tail(m, t)),
                };
                ratio.reach(miss)
            };
            match reaches.get(answer.parts as usize) {
                Some(known) => auto.interval(known.get_or_init(reach), answer),
                None => auto.search.limits().both(),
            }
        }))
    }
}

impl AutoMean for Auto {
    fn limits(&self) -> &Limits {
        self.search.limits()
    }
}
