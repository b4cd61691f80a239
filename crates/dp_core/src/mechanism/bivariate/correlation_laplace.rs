//! A correlation, and all that a regression has, with Laplace noise.
//!
//! The proof: docs/proofs/bivariate-correlation-laplace.md.

use crate::encoding::grid::{Bounds, PAIR_STEPS};
use crate::mechanism::bivariate::sums::{Design, Law, Pair, PairMechanism};
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, PURE};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::sampler::discrete_laplace::DiscreteLaplace;

pub(crate) const ENTRY: Entry<PairMechanism> = Entry {
    info: Info {
        name: "laplace",
        what: "discrete Laplace noise on six sums of products that a row moves by one unit \
               together",
        guarantee: PURE,
        loss: Loss::Laplace { steps: PAIR_STEPS },
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "laplace",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 3, here for products and squares of two columns; \
                 drawn as in Canonne, Kamath, Steinke 2020",
    },
    plan: None,
    build: |request| {
        let (bounds, epsilon) = (request.pair_bounds()?, request.row_epsilon()?);
        Ok(Box::new(laplace(bounds, PAIR_STEPS, epsilon)))
    },
};

/// See [`laplace`].
pub const DESIGN: Design<6> = Design {
    sums: [
        [7, 0, 0, 1, -3, -3],
        [1, 0, 0, 7, -3, -3],
        [0, 7, 1, 0, -3, -3],
        [0, 1, 7, 0, -3, -3],
        [0, 0, 0, 0, 8, 0],
        [0, 0, 0, 0, 0, 8],
    ],
    // With `g_i = f_i + 3/8 (f5 + f6)`: `48 t00 = 7 g1 - g2`, and so on.
    back: [
        [28, -4, 0, 0, 9, 9],
        [0, 0, 28, -4, 9, 9],
        [0, 0, -4, 28, 9, 9],
        [-4, 28, 0, 0, 9, 9],
        [0, 0, 0, 0, 24, 0],
        [0, 0, 0, 0, 0, 24],
    ],
    whole: 192,
};

/// What a row moves the sums by, all together at most, in units of `G^2`.
const SENSITIVITY: u64 = 8;

/// Independent discrete Laplace noise of scale `8 G^2 / epsilon` on the sums of
///
/// `7 t00 + t11 - 3 (p + q)`, `7 t11 + t00 - 3 (p + q)`, `7 t10 + t01 - 3 (p + q)`, `7 t01 + t10 - 3 (p + q)`, `8 p`,
/// `8 q`.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). The absolute values of the six add
/// up to at most `8 G^2` for every row, and to just that at the corners: for each choice of their signs the sum is a
/// quadratic in the row's place, and each of these has its maximum over the square at 8 or below. The proof page has it
/// by hand.
///
/// Within 3% of the best that numerical searches found, in the squared errors of twice the covariance and of both
/// spreads together; six budgets for six sums counted from the midpoints have seven times its squared error of the
/// covariance.
pub fn laplace(bounds: [Bounds; 2], steps: u64, epsilon: Epsilon) -> Pair<DiscreteLaplace, 6> {
    let noise = DiscreteLaplace::new(SENSITIVITY * steps * steps, epsilon);
    let law = Law::Laplace(SENSITIVITY as f64 / epsilon.value());
    Pair::new(bounds, steps, DESIGN, noise).with_law(law)
}
