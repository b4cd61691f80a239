//! The standard Gaussian mechanism: independent noise for the largest move.
//!
//! The proof: docs/proofs/vector-gaussian.md.

use crate::mechanism::definition::{Entry, Info};
use crate::mechanism::gaussian::{self, GAUSSIAN};
use crate::mechanism::vector::additive::{Additive, VectorNoise};
use crate::mechanism::vector::items::{EITHER, Items, LENGTH, RELATION, Relation, Vector};
use crate::memory;
use crate::privacy::cost::Loss;
use crate::random::Bits;
use crate::request::budget::{DELTA, MU, RHO};
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<Vector> = Entry {
    info: Info {
        name: "gaussian",
        what: "the standard: independent Gaussian noise",
        guarantee: GAUSSIAN,
        loss: Loss::Gaussian,
        neighbours: EITHER,
        parameters: &[DELTA, MU, RHO, LENGTH, RELATION],
        example: "gaussian(delta=1e-6, d=64)",
        source: "Dong, Roth, Su 2022, Gaussian differential privacy; Lebeda 2024: lemmas 2.1 and \
                 4.1, the standard that correlated noise improves on",
    },
    plan: None,
    build: |request| {
        let (items, relation, mu) = (request.items()?, request.relation(), request.row_mu()?);
        let noise = Gaussian::new(&items, relation, mu);
        Ok(Box::new(Additive::new(items, items.length, noise)))
    },
};

/// Independent Gaussian noise of standard deviation `sqrt(d) G / mu` on each sum, rounded.
///
/// **Why it is private** (mu-GDP). Adding or removing a row moves each of `d` sums by at most
/// `G`, all together by at most `sqrt(d) G` in Euclidean distance. Replacing a row by one of another
/// group moves two groups by that each, so by at most `sqrt(2 d) G`; by one of the same group it
/// moves each sum by at most the width of the bounds: that is more where they have 0 between them.
/// Noise of the larger distance over `mu` is mu-GDP (Lebeda 2024, Lemma 2.1); the sums are integers,
/// so rounded noise is post-processing.
#[derive(Clone, Debug)]
pub struct Gaussian {
    sigma: f64,
    noise: RoundedNormal,
}

impl Gaussian {
    /// For vectors of these items.
    pub fn new(items: &Items, relation: Relation, mu: f64) -> Self {
        let one = match relation {
            Relation::AddRemove => 1.0,
            Relation::Replace => 2f64.sqrt().max(items.most_apart()),
        };
        let distance = one * (items.length as f64).sqrt() * items.steps as f64;
        let sigma = gaussian::no_less(distance / mu);
        Self {
            sigma,
            noise: RoundedNormal::new(sigma),
        }
    }
}

impl VectorNoise for Gaussian {
    fn draw<B: Bits>(&self, length: usize, bits: &mut B) -> Vec<i128> {
        memory::vector(length, (0..length).map(|_| self.noise.draw(bits)))
    }

    fn spread(&self) -> (f64, f64) {
        (self.sigma, 0.0)
    }
}
