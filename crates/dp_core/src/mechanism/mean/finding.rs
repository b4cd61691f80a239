//! A mean that finds its bounds by itself: what a release does.
//!
//! The proof: docs/proofs/mean-auto.md.

use std::cell::OnceCell;

use crate::accuracy::interval::{Intervals, Ratio, Reach, STEP};
use crate::encoding::grid::{self, Grid};
use crate::encoding::octaves::{HIGHEST, LOWEST, Limits, OctaveCounts, Range, edges};
use crate::mechanism::definition::Mechanism;
use crate::mechanism::mean::answer::{AutoAnswer, MeanAnswer};
use crate::mechanism::mean::ends::{Ends, Outside, Prior, Walk};
use crate::mechanism::mean::hourglass::Hourglass;
use crate::mechanism::mean::kinds::AutoMean;
use crate::mechanism::mean::pair::PairNoise;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::staircase::{Staircase, best_gamma, core_of};

/// Shares of epsilon are 64ths: those of the count and of the ends. The octave has 3 to 22, and the mean the rest.
const PARTS: u64 = 64;
const OF_COUNT: u64 = 3;
const OF_ENDS: u64 = 16;
const OF_OCTAVE: [u64; 2] = [3, 22];

/// Below so many rows that are not zero, over epsilon, an answer is useless: it says so.
const FEW: f64 = 40.0;

/// From so many on, over epsilon, the ends are looked for among many.
const MANY: f64 = 250.0;

/// Where the ends are looked for: powers of two from the octave's on, of the first to the last, and whether there are quarters
/// between them; and by how much wider pairs are less likely.
const AMONG_MANY: ([i32; 2], bool, Prior) = (
    [-4, 6],
    true,
    Prior {
        wide: 5.0,
        narrow: 2.0,
    },
);
const AMONG_FEW: ([i32; 2], bool, Prior) = (
    [0, 3],
    false,
    Prior {
        wide: 4.0,
        narrow: 4.0,
    },
);

/// Four steps, at shares of epsilon that add up to it:
///
/// 1. the number of rows that are not zero, with two-sided geometric noise, at 3/64;
/// 2. the octave of the largest magnitudes, by a [`Walk`] from the outside in, at `k/64`; `k` is from 3 to 22, the more the fewer
///    rows there are by step 1;
/// 3. both ends, on a grid around that octave, by one choice of a pair ([`Ends`]), at 16/64;
/// 4. the mean of the rows clamped to these ends, by algorithm 3 of Kulesza, Suresh and Wang (2024), at the rest.
///
/// Where the walk finds no octave, the ends are the limits of the column, and step 4 has the share of step 3, too; without limits
/// both ends are 0, and so is the mean.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Step 1: a row moves the number by at most 1.
/// Steps 2 and 3: see there. Step 4: whatever the ends are, a row more moves the sum of the grid steps by an integer `t` from
/// 0 to `G` ([`OctaveCounts::steps_between`]), and their complement by `G - t`: see [`Hourglass`]. What is
/// asked in a step depends on answers of those before it and on nothing else of the rows, and so does its share; for any
/// such answers the shares add up to 64 at most (basic composition, adaptive).
#[derive(Clone, Debug)]
pub struct Auto {
    limits: Limits,
    epsilon: Epsilon,
    widened: f64,
    count: Staircase,
    ends: Ends,
}

impl Auto {
    /// Between these limits, with so much to spend, and intervals that are wide enough for so many rows outside, over epsilon.
    pub fn new(limits: Limits, epsilon: Epsilon, widened: f64) -> Self {
        Self {
            limits,
            epsilon,
            widened,
            count: Staircase::two_sided_geometric(epsilon.part(OF_COUNT, PARTS)),
            ends: Ends::new(epsilon.part(OF_ENDS, PARTS)),
        }
    }

    /// The 64ths of epsilon that the octave may take where so many rows are not zero.
    pub fn of_octave(&self, nonzero: i128) -> u64 {
        let [least, most] = OF_OCTAVE;
        let wanted = (PARTS * 36) as f64 / self.in_noise(nonzero).max(1.0);
        // The cast saturates.
        (wanted.ceil() as u64).clamp(least, most)
    }

    /// So many rows, times epsilon.
    fn in_noise(&self, rows: i128) -> f64 {
        rows as f64 * self.epsilon.value()
    }

    /// The noise of the mean, at these 64ths of epsilon.
    fn noise(&self, parts: u64) -> Hourglass {
        let epsilon = self.epsilon.part(parts, PARTS);
        let core = core_of(best_gamma(epsilon.value()), grid::STEPS);
        Hourglass::new(grid::STEPS, core, epsilon)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, rows: &OctaveCounts, bits: &mut B) -> AutoAnswer {
        let counts = rows.counts();
        let all: i128 = counts.iter().sum();
        let zeros = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let noise = self.count.draw(bits).value;
        let nonzero = add_noise(all - zeros, noise, bits);

        let octaves = self.of_octave(nonzero);
        let highest = self.limits.highest();
        let numbers = rows.outside_in(highest);
        let walk = Walk::new(self.epsilon.part(octaves, PARTS), numbers.len());
        let octave = walk
            .stop(&numbers, bits)
            .map(|place| highest - place as i32);

        let left = PARTS - OF_COUNT - octaves;
        let (range, parts) = match octave {
            Some(j) => (self.range(j, nonzero, &counts, bits), left - OF_ENDS),
            None if self.limits.same(&Limits::NONE) => (Range::NOTHING, left - OF_ENDS),
            None => (Range::of_limits(&self.limits, highest), left),
        };

        let (x1, x2) = self.noise(parts).draw(bits);
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
                mean: Some(range.value(&self.limits, fraction)),
                count: Some(whole as f64 / steps as f64),
            },
            bounds: [0.0, 1.0].map(|part| range.value(&self.limits, part)),
            nonzero,
            few: self.in_noise(nonzero) < FEW,
            parts,
        }
    }

    /// The ends near an octave.
    fn range<B: Bits>(&self, octave: i32, nonzero: i128, counts: &[i128], bits: &mut B) -> Range {
        let octave = octave.clamp(LOWEST, HIGHEST - 1);
        let (powers, quarters, prior) = if self.in_noise(nonzero) >= MANY {
            AMONG_MANY
        } else {
            AMONG_FEW
        };
        let edges = edges(&self.limits, octave, powers, quarters);
        let at: Vec<i64> = edges.iter().map(|edge| edge.at).collect();
        let rows = Outside::new(counts, &edges);
        let (from, to) = self.ends.choose(&rows, &at, prior, bits);
        Range::between(&self.limits, octave, &edges[from], &edges[to])
    }

    /// The interval around an answer that misses with at most this probability.
    fn interval(&self, reach: &Reach, answer: &AutoAnswer) -> [f64; 2] {
        let [lo, hi] = answer.bounds;
        let limits = [self.limits.lo(), self.limits.hi()];
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
            self.widened / self.epsilon.value() * width / count
        } else {
            f64::INFINITY
        };
        [(lower - more).max(limits[0]), (upper + more).min(limits[1])]
    }
}

impl Mechanism<OctaveCounts> for Auto {
    type Answer = AutoAnswer;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, rows: &OctaveCounts, generator: &mut Generator) -> AutoAnswer {
        self.release_from(rows, generator)
    }

    fn intervals(&self, miss: f64) -> Option<Intervals<AutoAnswer>> {
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
                None => [auto.limits.lo(), auto.limits.hi()],
            }
        }))
    }
}

impl AutoMean for Auto {
    fn limits(&self) -> &Limits {
        &self.limits
    }
}
