//! The hourglass mechanism: the mean whose noise cannot be improved on.
//!
//! The proof: docs/proofs/mean-hourglass.md.

use crate::accuracy::tail;
use crate::encoding::grid;
use crate::mechanism::definition::{ADD_REMOVE, Entry, HOLDING_BOUNDS, Info, PURE, Plan};
use crate::mechanism::gamma::GAMMA;
use crate::mechanism::mean::inputs::Mean;
use crate::mechanism::mean::pair::{Complement, PairNoise};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::{self, staircase};

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "hourglass",
        what: "Kulesza, Suresh, Wang 2024, Algorithm 3 with the hourglass noise: min-max optimal \
               at every eps",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[GAMMA],
        example: "hourglass",
        source: "Kulesza, Suresh, Wang 2024 (ICML), Mean estimation in the add-remove model of \
                 differential privacy: algorithm 3 with the hourglass noise",
    },
    plan: Some(Plan {
        text: "hourglass",
        needs: HOLDING_BOUNDS,
    }),
    build: |request| {
        let core = staircase::core_of(request.gamma(staircase::best_gamma)?, grid::STEPS);
        let noise = Hourglass::new(grid::STEPS, core, request.row_epsilon()?);
        Mean::of_sums(Complement::new(request.bounds()?, noise))
    },
};

/// Noise `(x, G k - x)` for `(S1, S2)`, with `(x, k)` from the
/// [hourglass distribution](sampler::hourglass::Hourglass): `k` goes on the number of rows, so
/// the noisy number is an integer.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). A neighbour
/// shifts `(x, k)` by `(t, 1)` or `(-t, -1)` with `0 <= t <= G`. Let `K0(x)` be the signed level
/// of `x` and `f(x, k) = |K0(x)| + |k - K0(x)|`, so that `(x, k)` has probability proportional to
/// `e^(-epsilon f)`. It is enough that `f(x + t, k + 1)` and `f(x, k)` differ by at most 1; a
/// removal is the same with the two exchanged. `K0` never falls, and goes up at `-g + 1`, `g`,
/// and every `G` from there outwards, so over `t <= G` it rises by `d`, 0 or 1, or by 2 from -1
/// to 1, over the core, where that is narrower than `G`:
///
/// * `d = 0`: the first term stays, `k + 1 - K0` is one more than `k - K0`;
/// * `d = 1`: the second term stays, the first is that of an integer one larger;
/// * `d = 2`: the first term is 1 before and after, the second goes from `|k + 1|` to `|k|`.
///
/// This needs `g >= 1`: with no core between levels -1 and 1, `K0` could rise by 3, from -2 to 1.
#[derive(Clone, Debug)]
pub struct Hourglass {
    steps: u64,
    core: u64,
    epsilon: Epsilon,
    noise: sampler::hourglass::Hourglass,
}

impl Hourglass {
    /// For 1 to 2^32 steps; the core is brought into `1..=steps`.
    pub fn new(steps: u64, core: u64, epsilon: Epsilon) -> Self {
        Self {
            steps,
            core: core.clamp(1, steps),
            epsilon,
            noise: sampler::hourglass::Hourglass::new(steps, core, epsilon),
        }
    }
}

impl PairNoise for Hourglass {
    fn steps(&self) -> u64 {
        self.steps
    }

    #[inline]
    fn draw<B: Bits>(&self, bits: &mut B) -> (i128, i128) {
        let (x, k) = self.noise.draw(bits);
        (x, k * i128::from(self.steps) - x)
    }

    /// That of the staircase for `x`, and the same for `G k - x`. For that is `D G + (G K0 - x)`, with the
    /// two-sided geometric `D = k - K0` independent of `x`, so that the two differ by `E (D G)^2` on one side
    /// and by `E ((G K0)^2 + 2 G K0 (x - G K0))` on the other. At level `L >= 1`, `x - G K0` is
    /// `(2 g - G - 1) / 2` on average; with the weights `2 g - 1` of level 0 and `G e^(-L epsilon)` of each
    /// other, both are `2 G^2 e^-epsilon / (1 - e^-epsilon)^2`, whatever the core is.
    fn variance(&self) -> f64 {
        staircase::variance(self.steps, self.core, self.epsilon.value())
    }

    fn tail(&self, m: f64, t: f64) -> f64 {
        let gamma = self.core as f64 / self.steps as f64;
        tail::hourglass(self.epsilon.value(), gamma, m, t)
    }
}
