//! A regression without a delta: noise in the shape of a cube.
//!
//! The proof: docs/proofs/regression-knorm.md.

use crate::encoding::columns::Columns;
use crate::encoding::grid::PAIR_STEPS;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, PURE};
use crate::mechanism::regression::fit::{Fitting, Law};
use crate::mechanism::regression::parts::count;
use crate::mechanism::regression::sums::{Noise, Regression, Sums};
use crate::memory;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::max_norm::MaxNorm;

pub(crate) const ENTRY: Entry<Regression> = Entry {
    info: Info {
        name: "knorm",
        what: "noise in the shape of a cube on all sums of products, without a delta",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "knorm",
        source: "Hardt, Talwar 2010, On the geometry of differential privacy: the K-norm mechanism; on the sums of a \
                 row's products of two columns, which Wang 2018 (AdaSSP) releases too",
    },
    plan: None,
    build: |request| {
        let (columns, epsilon) = (request.columns()?, request.row_epsilon()?);
        Ok(Box::new(knorm(columns, PAIR_STEPS, epsilon)))
    },
};

/// Noise `x` with probability proportional to `exp(-max|x_j| epsilon / G^2)` on the `K` sums.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Each sum is moved by a row by at
/// most `G^2`: the number of rows by just that; `G u` and `u w` as `|u|, |w| <= G`; and `2 u^2 - G^2` is between `-G^2`
/// and `G^2`. So `max|x_j|` changes by at most `G^2`, and the probability by a factor of at most `exp(epsilon)`.
///
/// In this shape many sums cost less than in that of independent noise: each has variance `(K + 1) (K + 2) / 3` in
/// units of `(G^2 / epsilon)^2`, where Laplace noise for all of them has `2 K^2`.
pub fn knorm(columns: Columns, steps: u64, epsilon: Epsilon) -> Sums<MaxNorm> {
    let numbers = count(columns.count());
    let weights = memory::vector(numbers, std::iter::repeat(1));
    let law = Law::Cube {
        rate: epsilon.value(),
    };
    let noise = MaxNorm::new(numbers, steps * steps, epsilon);
    Sums::new(Fitting::new(columns, law, &weights), steps, weights, noise)
}

impl Noise for MaxNorm {
    fn draw<B: Bits>(&self, bits: &mut B) -> Vec<i128> {
        MaxNorm::draw(self, bits)
    }
}
