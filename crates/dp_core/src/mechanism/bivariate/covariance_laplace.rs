//! A covariance with Laplace noise.
//!
//! The proof: docs/proofs/bivariate-covariance-laplace.md.

use crate::encoding::grid::{Bounds, PAIR_STEPS};
use crate::mechanism::bivariate::sums::{Design, Pair, PairMechanism};
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, PURE};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::sampler::discrete_laplace::DiscreteLaplace;

pub(crate) const ENTRY: Entry<PairMechanism> = Entry {
    info: Info {
        name: "laplace",
        what: "discrete Laplace noise on four sums of products that a row moves by one unit \
               together",
        guarantee: PURE,
        loss: Loss::Laplace { steps: PAIR_STEPS },
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "laplace",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 3, here for products of two columns; drawn as in \
                 Canonne, Kamath, Steinke 2020",
    },
    plan: None,
    build: |request| {
        let (bounds, epsilon) = (request.pair_bounds()?, request.row_epsilon()?);
        Ok(Box::new(laplace(bounds, PAIR_STEPS, epsilon)))
    },
};

/// The four corners themselves.
pub const DESIGN: Design<4> = Design {
    sums: [
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
    ],
    back: [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
        [0; 4],
        [0; 4],
    ],
    whole: 1,
};

/// What a row moves the sums by, all together, in units of `G^2`.
const SENSITIVITY: u64 = 1;

/// Independent discrete Laplace noise of scale `G^2 / epsilon` on the sums of `t00`, `t10`, `t01` and `t11`.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). None of the four is negative, and
/// they add up to `((G - X) + X) ((G - Y) + Y) = G^2` for every row. So a row shifts the sums by `G^2` in all, and the
/// probability of any output changes by a factor of at most `e^epsilon`.
///
/// Of all bases of the four products it is the best for the covariance up to a percent, by numerical search; four
/// budgets for four sums counted from the midpoints have four times its squared error.
pub fn laplace(bounds: [Bounds; 2], steps: u64, epsilon: Epsilon) -> Pair<DiscreteLaplace, 4> {
    let noise = DiscreteLaplace::new(SENSITIVITY * steps * steps, epsilon);
    Pair::new(bounds, steps, DESIGN, noise)
}
