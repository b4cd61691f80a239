//! The count whose noise cannot be improved on.
//!
//! The proof: docs/proofs/count-geometric.md.

use crate::accuracy::interval::Intervals;
use crate::accuracy::tail::{self, quantile};
use crate::encoding::grid::Grid;
use crate::encoding::sums::Sums;
use crate::mechanism::count::number::{noisy_count, within};
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, PURE, Scalar};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator};
use crate::sampler::staircase::Staircase;

pub(crate) const ENTRY: Entry<Scalar<i64>> = Entry {
    info: Info {
        name: "geometric",
        what: "two-sided geometric noise: optimal for counts (Ghosh, Roughgarden, Sundararajan \
               2009)",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "geometric",
        source: "Ghosh, Roughgarden, Sundararajan 2009, Universally utility-maximizing privacy \
                 mechanisms",
    },
    plan: None,
    build: |request| Ok(Box::new(Geometric::new(request.row_epsilon()?))),
};

/// The number of rows plus two-sided geometric noise.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Noise `x` has
/// probability proportional to `e^(-epsilon |x|)`, and a shift by 1 changes `|x|` by 1.
///
/// The answer may be negative: clipping it would be post-processing, but would bias it.
#[derive(Clone, Debug)]
pub struct Geometric {
    epsilon: Epsilon,
    noise: Staircase,
}

impl Geometric {
    /// With noise of scale `1 / epsilon`.
    pub fn new(epsilon: Epsilon) -> Self {
        Self {
            epsilon,
            noise: Staircase::two_sided_geometric(epsilon),
        }
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> i64 {
        noisy_count(sums, self.noise.draw(bits).value, bits)
    }
}

impl Mechanism for Geometric {
    type Answer = i64;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> i64 {
        self.release_from(sums, generator)
    }

    fn intervals(&self, miss: f64) -> Option<Intervals<i64>> {
        let epsilon = self.epsilon.value();
        within(
            0.0,
            quantile(miss, |k| tail::two_sided_geometric(epsilon, k)).ceil(),
        )
    }
}
