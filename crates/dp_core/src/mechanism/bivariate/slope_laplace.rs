//! A regression line with Laplace noise.
//!
//! The proof: docs/proofs/bivariate-slope-laplace.md.

use crate::encoding::grid::{Bounds, PAIR_STEPS};
use crate::mechanism::bivariate::sums::{Design, Pair, PairMechanism};
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, PURE};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::sampler::discrete_laplace::DiscreteLaplace;

pub(crate) const ENTRY: Entry<PairMechanism> = Entry {
    info: Info {
        name: "laplace",
        what: "discrete Laplace noise on five sums of products that a row moves by one unit \
               together",
        guarantee: PURE,
        loss: Loss::Laplace { steps: PAIR_STEPS },
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "laplace",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 3, here for products of two columns and one square; \
                 drawn as in Canonne, Kamath, Steinke 2020",
    },
    plan: None,
    build: |request| {
        let (bounds, epsilon) = (request.pair_bounds()?, request.row_epsilon()?);
        Ok(Box::new(laplace(bounds, PAIR_STEPS, epsilon)))
    },
};

/// See [`laplace`].
pub const DESIGN: Design<5> = Design {
    sums: [
        [8, -1, 0, 0, -5, 0],
        [-1, 8, 0, 0, -5, 0],
        [0, 0, 8, -1, -5, 0],
        [0, 0, -1, 8, -5, 0],
        [0, 0, 0, 0, 8, 0],
    ],
    // With `g_i = f_i + 5/8 f5`: `63 t00 = 8 g1 + g2`, and so on.
    back: [
        [64, 8, 0, 0, 45],
        [8, 64, 0, 0, 45],
        [0, 0, 64, 8, 45],
        [0, 0, 8, 64, 45],
        [0, 0, 0, 0, 63],
        [0; 5],
    ],
    whole: 504,
};

/// What a row moves the sums by, all together at most, in units of `G^2`.
const SENSITIVITY: u64 = 9;

/// Independent discrete Laplace noise of scale `9 G^2 / epsilon` on the sums of
///
/// `8 t00 - t10 - 5 p`, `8 t10 - t00 - 5 p`, `8 t01 - t11 - 5 p`, `8 t11 - t01 - 5 p`, `8 p`.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). The absolute values of the five add
/// up to at most `9 G^2` for every row: for each choice of their signs the sum is a quadratic in the row's place, and
/// each of these has its maximum over the square at 9 or below. The proof page has it by hand.
///
/// Taking parts off the corners costs nothing there and makes the noise that the spread of `x` takes up smaller; the
/// squared error of the covariance is within 1% of the best that numerical searches found for both.
pub fn laplace(bounds: [Bounds; 2], steps: u64, epsilon: Epsilon) -> Pair<DiscreteLaplace, 5> {
    let noise = DiscreteLaplace::new(SENSITIVITY * steps * steps, epsilon);
    Pair::new(bounds, steps, DESIGN, noise)
}
