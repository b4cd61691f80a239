//! The sum whose noise cannot be improved on.
//!
//! The proof: docs/proofs/sum-staircase.md.

use crate::accuracy::tail;
use crate::encoding::grid;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, PURE};
use crate::mechanism::gamma::GAMMA;
use crate::mechanism::sum::inputs::SumMechanism;
use crate::mechanism::sum::noise::{Sum, SumNoise};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::{self, staircase};

pub(crate) const ENTRY: Entry<SumMechanism> = Entry {
    info: Info {
        name: "staircase",
        what: "the least variance of all (Geng, Viswanath 2014)",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[GAMMA],
        example: "staircase",
        source: "Geng, Viswanath 2014, The optimal mechanism in differential privacy",
    },
    plan: None,
    build: |request| {
        let core = staircase::core_of(request.gamma(staircase::best_gamma)?, grid::STEPS);
        let noise = Staircase::new(grid::STEPS, core, request.row_epsilon()?);
        SumMechanism::of_sums(Sum::new(request.bounds()?, noise))
    },
};

/// Noise from the [staircase distribution](sampler::staircase::Staircase).
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). `x` has
/// probability proportional to `e^(-epsilon L)` at level `L`, which depends on `|x|` alone. A
/// shift by at most `G` changes `|x|` by at most `G`. Levels above 0 are `G` wide, so the level
/// changes by at most 1.
#[derive(Clone, Debug)]
pub struct Staircase {
    steps: u64,
    core: u64,
    epsilon: Epsilon,
    noise: sampler::staircase::Staircase,
}

impl Staircase {
    /// For 1 to 2^32 steps; the core is brought into `1..=steps`.
    pub fn new(steps: u64, core: u64, epsilon: Epsilon) -> Self {
        Self {
            steps,
            core: core.clamp(1, steps),
            epsilon,
            noise: sampler::staircase::Staircase::new(steps, core, epsilon),
        }
    }
}

impl SumNoise for Staircase {
    fn steps(&self) -> u64 {
        self.steps
    }

    #[inline]
    fn draw<B: Bits>(&self, bits: &mut B) -> i128 {
        self.noise.draw(bits).value
    }

    fn tail(&self, t: f64) -> f64 {
        let gamma = self.core as f64 / self.steps as f64;
        tail::staircase(self.epsilon.value(), gamma, t)
    }
}
