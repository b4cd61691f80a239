//! The first two steps of a search for bounds: how many rows are not zero, and in which octave the largest magnitudes
//! are.
//!
//! The proof: docs/proofs/mean-auto.md.

use crate::encoding::log_bins::{BinSums, HIGHEST, LOWEST, Limits, OctaveCounts};
use crate::mechanism::bounds_search::ends::{Prior, Walk};
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, add_noise};
use crate::sampler::staircase::Staircase;

/// Shares of epsilon are 64ths: those of the count and of the ends. The octave has 3 to 22, and what was asked for has
/// the rest.
pub const PARTS: u64 = 64;
const OF_COUNT: u64 = 3;
const OF_ENDS: u64 = 16;
const OF_OCTAVE: [u64; 2] = [3, 22];

/// Below that many rows that are not zero, over epsilon, an answer is useless: it says so.
const FEW: f64 = 40.0;

/// From that many on, over epsilon, the ends are looked for among many.
const MANY: f64 = 250.0;

/// Where ends are looked for near an octave.
#[derive(Clone, Copy, Debug)]
pub struct Candidates {
    /// Powers of two from the octave's on, from the first to the last.
    pub powers: [i32; 2],
    /// Whether there are quarters between them.
    pub quarters: bool,
    /// By how much those that are farther away are less likely.
    pub prior: Prior,
}

impl Candidates {
    /// Near few rows.
    pub const FEW: Self = Self {
        powers: [0, 3],
        quarters: false,
        prior: Prior {
            wide: 4.0,
            narrow: 4.0,
        },
    };

    /// Near many rows.
    pub const fn many(prior: Prior) -> Self {
        Self {
            powers: [-4, 6],
            quarters: true,
            prior,
        }
    }
}

/// The first two steps, at shares of epsilon:
///
/// 1. the number of rows that are not zero, with two-sided geometric noise, at 3/64;
/// 2. the octave of the largest magnitudes, by a [`Walk`] from the outside in, at `k/64`; `k` is from 3 to 22, the more
///    the fewer rows there are by step 1.
///
/// Then 16/64 are for the ends, which are another choice, and `45 - k` for what was asked for; or `61 - k` for that
/// where there is nothing to choose from.
///
/// **Why it is private** (pure; neighbours by adding or removing one row). Step 1: a row moves the number by at most 1.
/// Step 2: see there. What is asked in a step, and at what share, depends on answers of those before it and on nothing
/// else of the rows; for any such answers the shares add up to 64 at most (basic composition, adaptive).
#[derive(Clone, Debug)]
pub struct Search {
    limits: Limits,
    epsilon: Epsilon,
    count: Staircase,
}

/// What the first two steps found.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The noisy number of rows that are not zero.
    pub nonzero: i128,
    /// Whether that is so small that what follows is as good as arbitrary.
    pub few: bool,
    /// Whether that is enough to choose the ends among many.
    pub many: bool,
    /// The octave of the largest magnitudes, if there is one.
    pub octave: Option<i32>,
    /// The 64ths of epsilon that are left for what was asked for.
    pub parts: u64,
}

impl Search {
    /// Between these limits, with so much to spend.
    pub fn new(limits: Limits, epsilon: Epsilon) -> Self {
        Self {
            limits,
            epsilon,
            count: Staircase::two_sided_geometric(epsilon.part(OF_COUNT, PARTS)),
        }
    }

    /// The limits of the column.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// All that there is to spend.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// What is spent on that many 64ths.
    pub fn share(&self, parts: u64) -> Epsilon {
        self.epsilon.part(parts, PARTS)
    }

    /// What the ends may spend.
    pub fn of_ends(epsilon: Epsilon) -> Epsilon {
        epsilon.part(OF_ENDS, PARTS)
    }

    /// The 64ths of epsilon that the octave may take where that many rows are not zero.
    pub fn of_octave(&self, nonzero: i128) -> u64 {
        let [least, most] = OF_OCTAVE;
        let wanted = (PARTS * 36) as f64 / self.in_noise(nonzero).max(1.0);
        // The cast saturates.
        (wanted.ceil() as u64).clamp(least, most)
    }

    /// That many rows, times epsilon.
    fn in_noise(&self, rows: i128) -> f64 {
        rows as f64 * self.epsilon.value()
    }

    /// Both steps, for rows that lie in the bins like this.
    pub fn start<S: BinSums, B: Bits>(
        &self,
        rows: &OctaveCounts<S>,
        counts: &[i128],
        bits: &mut B,
    ) -> Start {
        let all: i128 = counts.iter().sum();
        let zeros = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let noise = self.count.draw(bits).value;
        let nonzero = add_noise(all - zeros, noise, bits);

        let of_octave = self.of_octave(nonzero);
        let highest = self.limits.highest();
        let numbers = rows.outside_in(highest);
        let walk = Walk::new(self.share(of_octave), numbers.len());
        let octave = walk.stop(&numbers, bits);
        let octave = octave.map(|place| (highest - place as i32).clamp(LOWEST, HIGHEST - 1));

        let left = PARTS - OF_COUNT - of_octave;
        let chooses = octave.is_some() || self.limits.same(&Limits::NONE);
        Start {
            nonzero,
            few: self.in_noise(nonzero) < FEW,
            many: self.in_noise(nonzero) >= MANY,
            octave,
            parts: if chooses { left - OF_ENDS } else { left },
        }
    }
}
