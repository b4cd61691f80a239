//! A sum with Gaussian noise.
//!
//! The proof: docs/proofs/sum-gaussian.md.

use crate::accuracy::tail;
use crate::encoding::grid;
use crate::mechanism::definition::Entry;
use crate::mechanism::gaussian;
use crate::mechanism::sum::inputs::SumMechanism;
use crate::mechanism::sum::noise::{Sum, SumNoise};
use crate::random::Bits;
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<SumMechanism> = Entry {
    info: gaussian::info(
        "Gaussian noise, rounded",
        "Dong, Roth, Su 2022, Gaussian differential privacy: the Gaussian mechanism; calibrated as \
         in Balle, Wang 2018",
    ),
    plan: None,
    build: |request| {
        let noise = Gaussian::new(grid::STEPS, request.row_mu()?);
        SumMechanism::of_sums(Sum::new(request.bounds()?, noise))
    },
};

/// Gaussian noise of standard deviation `G / mu`, rounded to whole steps.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). A neighbour moves the
/// sum by at most `G`, and Gaussian noise of standard deviation `G / mu` covers that (Dong, Roth,
/// Su 2022; Lebeda 2024, Lemma 2.1). The sum is an integer, so adding rounded noise is rounding the
/// noisy sum: post-processing.
#[derive(Clone, Debug)]
pub struct Gaussian {
    steps: u64,
    mu: f64,
    noise: RoundedNormal,
}

impl Gaussian {
    /// For 1 to 2^32 steps.
    pub fn new(steps: u64, mu: f64) -> Self {
        Self {
            steps,
            mu,
            noise: RoundedNormal::new(gaussian::no_less(steps as f64 / mu)),
        }
    }
}

impl SumNoise for Gaussian {
    fn steps(&self) -> u64 {
        self.steps
    }

    #[inline]
    fn draw<B: Bits>(&self, bits: &mut B) -> i128 {
        self.noise.draw(bits)
    }

    fn tail(&self, t: f64) -> f64 {
        tail::normal(1.0 / self.mu, t)
    }
}
