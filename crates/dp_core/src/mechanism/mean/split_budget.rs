//! What the two baselines share: half of epsilon on a sum, half on the number of rows.

use crate::accuracy::tail;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, add_noise};
use crate::sampler::discrete_laplace::DiscreteLaplace;

/// Independent discrete Laplace noise of scale `G / (epsilon / 2)` on a sum of sensitivity `G` and
/// on `G` times the number of rows.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). A neighbour
/// moves the sum by at most `G`, and `G n` by `G`. Each is private at `epsilon / 2`, both together
/// at epsilon.
#[derive(Clone, Debug)]
pub(crate) struct Halves {
    steps: u64,
    epsilon: Epsilon,
    noise: DiscreteLaplace,
}

impl Halves {
    /// For 1 to 2^32 steps.
    pub fn new(steps: u64, epsilon: Epsilon) -> Self {
        Self {
            steps,
            epsilon,
            noise: DiscreteLaplace::new(steps, epsilon.half()),
        }
    }

    /// `G` times a number of rows.
    pub fn whole(&self, rows: i64) -> i128 {
        i128::from(self.steps) * i128::from(rows)
    }

    /// The noisy sum, and `G` times the noisy number of rows.
    pub fn add<B: Bits>(&self, sum: i128, rows: i64, bits: &mut B) -> (i128, i128) {
        let mut add = |exact| add_noise(exact, self.noise.draw(bits), bits);
        (add(sum), add(self.whole(rows)))
    }

    /// The variance of the noise on each, for a sensitivity of 1.
    pub fn variance(&self) -> f64 {
        2.0 / self.epsilon.half().value().powi(2)
    }

    /// `P(|X - u Y| > t)` for the noise `X` of the sum and `Y` of the number of rows, in units of
    /// sensitivity.
    pub fn tail(&self, u: f64, t: f64) -> f64 {
        let scale = 1.0 / self.epsilon.half().value();
        tail::laplace_pair(scale, u * scale, t)
    }

    /// The number of rows in what `add` gave as `G` times it.
    pub fn rows(&self, whole: i128) -> f64 {
        whole as f64 / self.steps as f64
    }
}
