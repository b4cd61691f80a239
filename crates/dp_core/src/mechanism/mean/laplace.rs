//! Algorithm 3 with Laplace noise.
//!
//! The proof: docs/proofs/mean-laplace.md.

use crate::accuracy::tail;
use crate::encoding::grid;
use crate::mechanism::definition::{ADD_REMOVE, Entry, HOLDING_BOUNDS, Info, PURE, Plan};
use crate::mechanism::mean::inputs::Mean;
use crate::mechanism::mean::pair::{Complement, PairNoise};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::discrete_laplace::DiscreteLaplace;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "laplace",
        what: "Algorithm 3 with discrete Laplace noise",
        guarantee: PURE,
        loss: Loss::Laplace { steps: grid::STEPS },
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "laplace",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 3 with Laplace noise; drawn as in \
                 Canonne, Kamath, Steinke 2020",
    },
    plan: Some(Plan {
        text: "laplace",
        needs: HOLDING_BOUNDS,
    }),
    build: |request| {
        let noise = Laplace::new(grid::STEPS, request.row_epsilon()?);
        Mean::of_sums(Complement::new(request.bounds()?, noise))
    },
};

/// Independent discrete Laplace noise of scale `G / epsilon` on `S1` and on `S2`.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). A pair
/// `(x, y)` has probability proportional to `exp(-(|x| + |y|) epsilon / G)`, and shifting it by
/// `(t, G - t)` changes `|x| + |y|` by at most `t + (G - t) = G`.
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

impl PairNoise for Laplace {
    fn steps(&self) -> u64 {
        self.steps
    }

    #[inline]
    fn draw<B: Bits>(&self, bits: &mut B) -> (i128, i128) {
        (self.noise.draw(bits), self.noise.draw(bits))
    }

    fn variance(&self) -> f64 {
        2.0 / self.epsilon.value().powi(2)
    }

    fn tail(&self, m: f64, t: f64) -> f64 {
        let epsilon = self.epsilon.value();
        tail::laplace_pair((1.0 - m) / epsilon, m / epsilon, t)
    }
}
