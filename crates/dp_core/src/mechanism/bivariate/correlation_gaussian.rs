//! A correlation, and all that a regression has, with Gaussian noise.
//!
//! The proof: docs/proofs/bivariate-correlation-gaussian.md.

use crate::encoding::grid::{Bounds, PAIR_STEPS};
use crate::mechanism::bivariate::sums::{Design, Law, Pair, PairMechanism};
use crate::mechanism::definition::Entry;
use crate::mechanism::gaussian;
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<PairMechanism> = Entry {
    info: gaussian::info(
        "Gaussian noise on six sums of products",
        "Dong, Roth, Su 2022, Gaussian differential privacy: the Gaussian mechanism; on sums of an integer form \
         near the best one",
    ),
    plan: None,
    build: |request| {
        let (bounds, mu) = (request.pair_bounds()?, request.row_mu()?);
        Ok(Box::new(gaussian(bounds, PAIR_STEPS, mu)))
    },
};

/// See [`gaussian`]: with `1` the sum of the corners, `u^2 = 1 - 4 p` and `w^2 = 1 - 4 q`.
pub const DESIGN: Design<6> = Design {
    sums: [
        [0, 0, 0, 0, 28, 28],
        [8, 8, 8, 8, -16, -16],
        [0, 0, 0, 0, -44, 44],
        [-7, 7, -7, 7, 0, 0],
        [-7, -7, 7, 7, 0, 0],
        [9, -9, -9, 9, 0, 0],
    ],
    back: [
        [396, 693, 0, -792, -792, 616],
        [396, 693, 0, 792, -792, -616],
        [396, 693, 0, -792, 792, -616],
        [396, 693, 0, 792, 792, 616],
        [396, 0, -252, 0, 0, 0],
        [396, 0, 252, 0, 0, 0],
    ],
    whole: 22_176,
};

/// The square of what a row moves the sums by at most, in units of `G^2`.
const SQUARE: f64 = 243.0;

/// Independent Gaussian noise of standard deviation `sqrt(243) G^2 / mu`, rounded to integers, on the sums of
///
/// `14 - 7 s`, `4 s`, `11 (u^2 - w^2)`, `7 u`, `7 w`, `9 u w` in units of `G^2`,
///
/// with `u = 2 x - 1`, `w = 2 y - 1` and `s = u^2 + w^2`.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). With `a = u^2` and `b = w^2`, in [0, 1],
/// the squared length of a row's move is a convex quadratic in `(a, b)` (its Hessian has 372 on the diagonal and -31
/// beside it), so that it is largest at a vertex: 196 at (0, 0), 235 at (1, 0) and (0, 1), 243 at (1, 1). Gaussian
/// noise of that length over `mu` is `mu`-GDP (Dong, Roth, Su 2022). The sums are integers, so adding rounded noise is
/// rounding the noisy sums: post-processing, as is the rest.
///
/// The best quadratic form of the six, by semidefinite programming, is within 2% in each of the squared errors of
/// covariance and spreads. Without the spread of `y` a search found
/// less than 1% for the line's covariance and nothing for the spread of `x`, so that a line is of these six too.
pub fn gaussian(bounds: [Bounds; 2], steps: u64, mu: f64) -> Pair<[RoundedNormal; 6], 6> {
    let sigma = SQUARE.sqrt() * (steps * steps) as f64 / mu;
    let noise = std::array::from_fn(|_| RoundedNormal::new(gaussian::no_less(sigma)));
    let law = Law::Normal(SQUARE.sqrt() / mu);
    Pair::new(bounds, steps, DESIGN, noise).with_law(law)
}
