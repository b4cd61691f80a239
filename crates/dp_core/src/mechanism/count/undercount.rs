//! A count that is never above the number of rows.
//!
//! The proof: docs/proofs/count-undercount.md.

use crate::accuracy::interval::Intervals;
use crate::accuracy::tail::{self, quantile};
use crate::encoding::grid::Grid;
use crate::encoding::sums::Sums;
use crate::error::ParameterError;
use crate::mechanism::count::number::{noisy_count, within};
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, Scalar};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator};
use crate::request::budget::DELTA;
use crate::sampler::staircase::Staircase;

pub(crate) const ENTRY: Entry<Scalar<i64>> = Entry {
    info: Info {
        name: "undercount",
        what: "never above the number of rows. (eps, delta)",
        guarantee: "(eps, delta)-differential privacy",
        loss: Loss::Approximate,
        neighbours: ADD_REMOVE,
        parameters: &[DELTA],
        example: "undercount(delta=1e-6)",
        source: "Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, A bias-accuracy-privacy \
                 trilemma for statistical estimation: the N of proposition E.1, with the least v \
                 that its exact delta allows",
    },
    plan: None,
    build: |request| match request.row_delta()? {
        Some(delta) => Ok(Box::new(Undercount::new(request.row_epsilon()?, delta))),
        None => Err(ParameterError::new(
            "mech",
            "does not give delta",
            "Give the probability that may be spent beside eps, as in undercount(delta=1e-6): a \
             count that is never too large cannot do without.",
        )),
    },
};

/// The number of rows `n`, plus two-sided geometric noise `Z` clipped to [-v, v], less `v`: never
/// above `n`, never below `n - 2 v`, and off by `v` on average.
///
/// **Why it is private** ((epsilon, delta); neighbours by adding or removing one row). Let
/// `b = e^-epsilon`. The clipped noise has the probabilities `p(k) = b^|k| (1 - b) / (1 + b)` for
/// `|k| < v`, and at both ends, as the tails gather there, `a = b^v / (1 + b)`. For `n` rows
/// against `n + 1`, an output that is `k` from the first is `k - 1` from the second, so the sum of
/// what exceeds `e^epsilon` times the other goes over:
///
/// * `k = -v`, which `n + 1` rows never give: it exceeds by `a`;
/// * `k = 1 - v`: `p(v - 1) = (1 - b) b^(v-1) / (1 + b)` against `e^epsilon a = b^(v-1) / (1 + b)`,
///   which is more: nothing;
/// * in between: `p(k) <= e^epsilon p(k - 1)`: nothing;
/// * `k = v`: `a` against `e^epsilon p(v - 1) = (1 - b) b^(v-2) / (1 + b)`, so that it exceeds by
///   `(b^2 + b - 1) b^(v-2) / (1 + b)` where that is positive, at an epsilon below 0.48.
///
/// (So too with `v = 1`, where only `p(0)` is between the ends.) Together `b^v C`, with
/// `C = 1 / (1 + b)`, or `C = (2 b - 1) / b^2` if that is more. For `n + 1` rows against `n` all is
/// mirrored: `k` becomes `-k`, and the noise is symmetric. So that is the exact delta at this
/// epsilon, and `v` is the smallest number, 1 at least, that brings it to the delta that was given.
/// (The paper's `v` bounds it from above, and is larger.)
///
/// The answer may be negative: clipping it would be post-processing.
#[derive(Clone, Debug)]
pub struct Undercount {
    epsilon: Epsilon,
    reach: u64,
    noise: Staircase,
}

impl Undercount {
    /// For a `delta` above 0 and below 1.
    pub fn new(epsilon: Epsilon, delta: f64) -> Self {
        Self {
            epsilon,
            reach: reach(epsilon.value(), delta),
            noise: Staircase::two_sided_geometric(epsilon),
        }
    }

    /// `v`: how far below the number of rows the answer is on average, and half of what it is
    /// below at most.
    pub fn reach(&self) -> u64 {
        self.reach
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> i64 {
        let reach = i128::from(self.reach);
        let noise = self.noise.draw(bits).value.clamp(-reach, reach);
        noisy_count(sums, noise - reach, bits)
    }
}

/// The smallest `v >= 1` with `e^(-epsilon v) C <= delta`, or one more where floats cannot tell.
fn reach(epsilon: f64, delta: f64) -> u64 {
    // (2 b - 1) / b^2 = 1 - (1/b - 1)^2, which is not the larger one where it is not positive.
    let z = epsilon.exp_m1();
    let near = (-(z * z).min(1.0)).ln_1p();
    let far = -(-epsilon).exp().ln_1p();
    let (c, delta) = (near.max(far), delta.ln());
    // Each logarithm is off by less than 2^-48 of itself or of 1; 2^-40 covers that, the division
    // and more, and changes `v` as rarely.
    let margin = (1.0 - delta) / (1u64 << 40) as f64;
    let least = (c - delta + margin) / epsilon;
    // At most 2^30, as epsilon is at least 2^-20 and delta above 2^-1075.
    (least.ceil() as u64).max(1)
}

impl Mechanism for Undercount {
    type Answer = i64;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> i64 {
        self.release_from(sums, generator)
    }

    /// The number of rows is the answer and `v`, give or take the clipped noise: never less than the
    /// answer.
    fn intervals(&self, miss: f64) -> Option<Intervals<i64>> {
        let (epsilon, most) = (self.epsilon.value(), self.reach as f64);
        let reach = quantile(miss, |k| tail::two_sided_geometric(epsilon, k)).ceil();
        within(most, reach.min(most))
    }
}
