//! A sum with Laplace noise.
//!
//! The proof: docs/proofs/sum-laplace.md.

use crate::accuracy::tail;
use crate::encoding::grid;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, PURE};
use crate::mechanism::sum::inputs::SumMechanism;
use crate::mechanism::sum::noise::{Sum, SumNoise};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::discrete_laplace::DiscreteLaplace;

pub(crate) const ENTRY: Entry<SumMechanism> = Entry {
    info: Info {
        name: "laplace",
        what: "discrete Laplace noise",
        guarantee: PURE,
        loss: Loss::Laplace { steps: grid::STEPS },
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "laplace",
        source: "Dwork, McSherry, Nissim, Smith 2006; drawn as in Canonne, Kamath, Steinke 2020",
    },
    plan: None,
    build: |request| {
        let noise = Laplace::new(grid::STEPS, request.row_epsilon()?);
        SumMechanism::of_sums(Sum::new(request.bounds()?, noise))
    },
};

/// Discrete Laplace noise of scale `G / epsilon`.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). `x` has
/// probability proportional to `exp(-|x| epsilon / G)`, and a shift by at most `G` changes `|x|`
/// by at most `G`.
#[derive(Clone, Debug)]
pub struct Laplace {
    steps: u64,
    epsilon: Epsilon,
    noise: DiscreteLaplace,
}

impl Laplace {
    /// For 1 to 2^32 steps.
    pub fn new(steps: u64, epsilon: Epsilon) -> Self {
        Self {
            steps,
            epsilon,
            noise: DiscreteLaplace::new(steps, epsilon),
        }
    }
}

impl SumNoise for Laplace {
    fn steps(&self) -> u64 {
        self.steps
    }

    #[inline]
    fn draw<B: Bits>(&self, bits: &mut B) -> i128 {
        self.noise.draw(bits)
    }

    fn tail(&self, t: f64) -> f64 {
        tail::laplace(1.0 / self.epsilon.value(), t)
    }
}
