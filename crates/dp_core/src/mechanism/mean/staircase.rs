//! Algorithm 3 with the two-dimensional staircase.
//!
//! The proof: docs/proofs/mean-staircase.md.

use crate::accuracy::tail;
use crate::encoding::grid;
use crate::mechanism::definition::{ADD_REMOVE, Entry, HOLDING_BOUNDS, Info, PURE, Plan};
use crate::mechanism::gamma::GAMMA;
use crate::mechanism::mean::inputs::Mean;
use crate::mechanism::mean::pair::{Complement, PairNoise};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::staircase::core_of;
use crate::sampler::staircase2::{self, Staircase2, best_gamma};

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "staircase",
        what: "Algorithm 3 with two-dimensional staircase noise (Geng, Kairouz, Oh, Viswanath \
               2015)",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[GAMMA],
        example: "staircase",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 3; noise of Geng, Kairouz, Oh, \
                 Viswanath 2015, The staircase mechanism in differential privacy",
    },
    plan: Some(Plan {
        text: "staircase",
        needs: HOLDING_BOUNDS,
    }),
    build: |request| {
        let core = core_of(request.gamma(best_gamma)?, grid::STEPS);
        let noise = Staircase::new(grid::STEPS, core, request.row_epsilon()?);
        Mean::of_sums(Complement::new(request.bounds()?, noise))
    },
};

/// Noise for `(S1, S2)` from the [two-dimensional staircase](Staircase2).
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). A pair has
/// probability proportional to `e^(-epsilon L)` at level `L`, which depends on `|x| + |y|` alone.
/// Shifting by `(t, G - t)` changes `|x| + |y|` by at most `G`. Levels above 0 are `G` wide,
/// so the level changes by at most 1.
#[derive(Clone, Debug)]
pub struct Staircase {
    steps: u64,
    core: u64,
    epsilon: Epsilon,
    noise: Staircase2,
}

impl Staircase {
    /// For 1 to 2^32 steps; the core is brought into `1..=steps`.
    pub fn new(steps: u64, core: u64, epsilon: Epsilon) -> Self {
        Self {
            steps,
            core: core.clamp(1, steps),
            epsilon,
            noise: Staircase2::new(steps, core, epsilon),
        }
    }
}

impl PairNoise for Staircase {
    fn steps(&self) -> u64 {
        self.steps
    }

    #[inline]
    fn draw<B: Bits>(&self, bits: &mut B) -> (i128, i128) {
        self.noise.draw(bits)
    }

    fn variance(&self) -> f64 {
        staircase2::variance(self.steps, self.core, self.epsilon.value())
    }

    fn tail(&self, m: f64, t: f64) -> f64 {
        let gamma = self.core as f64 / self.steps as f64;
        tail::staircase2(self.epsilon.value(), gamma, m, t)
    }
}
