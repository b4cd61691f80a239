//! Bounds from noisy counts of magnitudes.
//!
//! The proof: docs/proofs/bounds-geometric.md.

use crate::encoding::grid::Grid;
use crate::encoding::power_of_two_bins::{BINS, ends};
use crate::encoding::sums::Totals;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, PURE};
use crate::mechanism::histogram::counts::noisy_counts;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator};
use crate::request::budget::outside;
use crate::request::parameter::{Parameter, ParameterKind};
use crate::sampler::staircase::Staircase;

/// The parameter `beta`, and what it is by default.
const BETA: Parameter = Parameter {
    name: "beta",
    kind: ParameterKind::Number,
    domain: "1e-300 <= beta < 1",
    description: "the probability that noise alone makes a bin without rows count; 1e-9 by default",
};
const USUAL_BETA: f64 = 1e-9;

pub(crate) const ENTRY: Entry<BoundsFinder> = Entry {
    info: Info {
        name: "geometric",
        what: "two-sided geometric noise on numbers of rows between powers of two; at eps 1 it \
               takes about 26 rows between two powers of two to be noticed",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[BETA],
        example: "geometric",
        source: "Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020, Differentially \
                 private SQL with bounded user contribution; with geometric noise",
    },
    plan: None,
    build: |request| {
        let beta = request.choice.get(BETA.name).unwrap_or(USUAL_BETA);
        if !(1e-300..1.0).contains(&beta) {
            return Err(outside(&BETA));
        }
        Ok(Box::new(BoundsFinder::new(request.row_epsilon()?, beta)))
    },
};

/// Noisy counts of all bins of magnitudes; those that reach a threshold are kept, and the answer is
/// the smallest interval that covers them.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Noise `x` on
/// the counts has probability proportional to `exp(-epsilon (|x_1| + ... + |x_d|))`, and a row moves
/// one count by 1 and no other. The bins and the threshold are public numbers; which bins are kept,
/// and the interval, are computed from noisy counts alone: post-processing.
///
/// **What it finds.** All bins without rows stay out with probability `1 - beta` at least, so that
/// the interval goes at most to the powers of two around the extreme rows. A bin with as many rows
/// as the threshold is kept with probability one half and more.
#[derive(Clone, Debug)]
pub struct BoundsFinder {
    threshold: i64,
    noise: Staircase,
}

impl BoundsFinder {
    /// With noise of scale `1 / epsilon`, and bins without rows kept out but for a probability of
    /// `beta`, above 0 and below 1.
    pub fn new(epsilon: Epsilon, beta: f64) -> Self {
        Self {
            threshold: threshold(epsilon.value(), beta),
            noise: Staircase::two_sided_geometric(epsilon),
        }
    }

    /// What a noisy count must reach.
    pub fn threshold(&self) -> i64 {
        self.threshold
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Option<[f64; 2]> {
        self.cover(&noisy_counts(totals, BINS, &self.noise, bits))
    }

    /// The smallest interval that covers all bins whose noisy count reaches the threshold.
    pub fn cover(&self, noisy: &[i64]) -> Option<[f64; 2]> {
        let kept = |count: &i64| *count >= self.threshold;
        let [first, last] = [noisy.iter().position(kept)?, noisy.iter().rposition(kept)?];
        Some([ends(first)[0], ends(last)[1]])
    }
}

/// The smallest `t >= 1` for which [`BINS`] independent draws of noise all stay below `t` with
/// probability `1 - beta` at least: `P(noise >= t) = b^t / (1 + b)` with `b = e^-epsilon` may be `p`
/// with `(1 - p)^BINS = 1 - beta`.
fn threshold(epsilon: f64, beta: f64) -> i64 {
    let p = -((-beta).ln_1p() / BINS as f64).exp_m1();
    let reached = -(p.ln() + (-epsilon).exp().ln_1p()) / epsilon;
    // At most 2^30 at the smallest epsilon.
    (reached.ceil() as i64).max(1)
}

impl Mechanism<Totals> for BoundsFinder {
    type Answer = Option<[f64; 2]>;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> Option<[f64; 2]> {
        self.release_from(totals, generator)
    }
}
