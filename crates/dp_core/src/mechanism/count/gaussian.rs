//! A count with Gaussian noise.
//!
//! The proof: docs/proofs/count-gaussian.md.

use crate::accuracy::interval::Intervals;
use crate::accuracy::tail::{self, quantile};
use crate::encoding::grid::Grid;
use crate::encoding::sums::Sums;
use crate::mechanism::count::number::{noisy_count, within};
use crate::mechanism::definition::{Entry, Mechanism, Scalar};
use crate::mechanism::gaussian;
use crate::random::{Bits, Generator};
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<Scalar<i64>> = Entry {
    info: gaussian::info(
        "Gaussian noise, rounded",
        "Dong, Roth, Su 2022, Gaussian differential privacy: the Gaussian mechanism; calibrated as \
         in Balle, Wang 2018",
    ),
    plan: None,
    build: |request| Ok(Box::new(Gaussian::new(request.row_mu()?))),
};

/// The number of rows plus Gaussian noise of standard deviation `1 / mu`, rounded.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). A neighbour moves the
/// number of rows by 1, and Gaussian noise of standard deviation `1 / mu` covers that (Dong, Roth,
/// Su 2022; Lebeda 2024, Lemma 2.1). The number is an integer, so adding rounded noise is rounding
/// the noisy number: post-processing.
///
/// The answer may be negative: clipping it would be post-processing, but would bias it.
#[derive(Clone, Debug)]
pub struct Gaussian {
    mu: f64,
    noise: RoundedNormal,
}

impl Gaussian {
    /// With noise of standard deviation `1 / mu`.
    pub fn new(mu: f64) -> Self {
        Self {
            mu,
            noise: RoundedNormal::new(gaussian::no_less(1.0 / mu)),
        }
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> i64 {
        noisy_count(sums, self.noise.draw(bits), bits)
    }
}

impl Mechanism for Gaussian {
    type Answer = i64;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> i64 {
        self.release_from(sums, generator)
    }

    /// Rounded noise is above `k` where it was at `k + 1/2` or beyond.
    fn intervals(&self, miss: f64) -> Option<Intervals<i64>> {
        let reach = quantile(miss, |t| tail::normal(1.0 / self.mu, t));
        within(0.0, (reach - 0.5).max(0.0).ceil())
    }
}
