//! A covariance with Gaussian noise.
//!
//! The proof: docs/proofs/bivariate-covariance-gaussian.md.

use crate::encoding::grid::{Bounds, PAIR_STEPS};
use crate::mechanism::bivariate::sums::{Design, Pair, PairMechanism};
use crate::mechanism::definition::Entry;
use crate::mechanism::gaussian;
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<PairMechanism> = Entry {
    info: gaussian::info(
        "Gaussian noise on four sums of products",
        "Dong, Roth, Su 2022, Gaussian differential privacy: the Gaussian mechanism; on sums counted from the \
         midpoints, each with noise of its own size",
    ),
    plan: None,
    build: |request| {
        let (bounds, mu) = (request.pair_bounds()?, request.row_mu()?);
        Ok(Box::new(gaussian(bounds, PAIR_STEPS, mu)))
    },
};

/// The number of rows, and the sums of `u`, `w` and `u w`.
pub const DESIGN: Design<4> = Design {
    sums: [
        [1, 1, 1, 1, 0, 0],
        [-1, 1, -1, 1, 0, 0],
        [-1, -1, 1, 1, 0, 0],
        [1, -1, -1, 1, 0, 0],
    ],
    back: [
        [1, -1, -1, 1],
        [1, 1, -1, -1],
        [1, -1, 1, -1],
        [1, 1, 1, 1],
        [0; 4],
        [0; 4],
    ],
    whole: 4,
};

/// Independent Gaussian noise on the sums of `1`, `u = 2 x - 1`, `w = 2 y - 1` and `u w` (in units of `G^2`, and
/// rounded to integers), of standard deviation `3 / mu` for the first, `3 / (sqrt(2) mu)` for the next two and
/// `3 / (2 mu)` for the last.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). Divided by `mu` times the standard
/// deviations, a row's move is `(1, sqrt(2) u, sqrt(2) w, 2 u w) / 3`, whose squared length is
/// `(1 + 2 u^2) (1 + 2 w^2) / 9`: at most 1, as `u` and `w` are in [-1, 1]. So it is `mu`-GDP (Dong, Roth, Su 2022).
/// The sums are integers, so adding rounded noise is rounding the noisy sums: post-processing, as is the rest.
///
/// The best quadratic form of the four, by semidefinite programming, has half a percent less squared error.
pub fn gaussian(bounds: [Bounds; 2], steps: u64, mu: f64) -> Pair<[RoundedNormal; 4], 4> {
    let most = 3.0 * (steps * steps) as f64 / mu;
    let root = most / std::f64::consts::SQRT_2;
    let noise = [most, root, root, most / 2.0];
    let noise = noise.map(|sigma| RoundedNormal::new(gaussian::no_less(sigma)));
    Pair::new(bounds, steps, DESIGN, noise)
}
