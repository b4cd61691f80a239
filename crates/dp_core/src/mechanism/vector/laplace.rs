//! Laplace noise on each of the sums: whole numbers, without a delta.
//!
//! The proof: docs/proofs/vector-laplace.md.

use crate::mechanism::definition::{Entry, Info, PURE};
use crate::mechanism::vector::additive::{Additive, VectorNoise};
use crate::mechanism::vector::items::{EITHER, Items, LENGTH, Law, RELATION, Relation, Vector};
use crate::memory;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::discrete_laplace::DiscreteLaplace;

pub(crate) const ENTRY: Entry<Vector> = Entry {
    info: Info {
        name: "laplace",
        what: "discrete Laplace noise on each, without a delta: counts stay whole numbers",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: EITHER,
        parameters: &[LENGTH, RELATION],
        example: "laplace(d=64)",
        source: "Dwork, McSherry, Nissim, Smith 2006; drawn as in Canonne, Kamath, Steinke 2020",
    },
    plan: None,
    build: |request| {
        let items = request.items()?.coarse();
        let noise = Laplace::new(&items, request.relation(), request.row_epsilon()?);
        Ok(Box::new(Additive::new(items, items.length, noise)))
    },
};

/// Independent discrete Laplace noise of scale `d G / epsilon` on each sum; of counts, `G` is 1.
///
/// **Why it is private** (pure, epsilon). A vector of noise `x` has probability proportional to
/// `exp(-sum |x_j| epsilon / (d G))`. Adding or removing a row moves each of `d` sums by at most
/// `G`, so the sum of the absolute values by at most `d G`. Replacing a row moves it by at most
/// twice that, and noise of scale `2 d G / epsilon` covers it.
#[derive(Clone, Debug)]
pub struct Laplace {
    /// `epsilon` over the largest move: the noise `x` has probability proportional to
    /// `exp(-|x| rate)`.
    rate: f64,
    noise: DiscreteLaplace,
}

impl Laplace {
    /// For vectors of these items.
    pub fn new(items: &Items, relation: Relation, epsilon: Epsilon) -> Self {
        let rows = match relation {
            Relation::AddRemove => 1,
            Relation::Replace => 2,
        };
        let distance = rows * items.length as u64 * items.steps;
        Self {
            rate: epsilon.value() / distance as f64,
            noise: DiscreteLaplace::new(distance, epsilon),
        }
    }
}

impl VectorNoise for Laplace {
    fn draw<B: Bits>(&self, length: usize, bits: &mut B) -> Vec<i128> {
        memory::vector(length, (0..length).map(|_| self.noise.draw(bits)))
    }

    fn spread(&self) -> (f64, f64) {
        // The variance of the discrete distribution, 2 p / (1 - p)^2 with p = e^-rate.
        (0.5f64.sqrt() / (self.rate / 2.0).sinh(), 0.0)
    }

    fn law(&self) -> Law {
        Law::Laplace
    }
}
