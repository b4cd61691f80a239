//! The hourglass distribution on pairs of integers.

use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::staircase::Staircase;

/// The hourglass distribution of Kulesza, Suresh and Wang (2024), in coordinates `(x, k)`: noise
/// for a sum of grid steps and for a number of rows.
///
/// `P(x, k)` is proportional to `b^(|K0(x)| + |k - K0(x)|)`, where `K0(x)` is the signed level of
/// `x` in the [staircase](Staircase) with the same steps and core, and `b = e^-epsilon`.
///
/// Drawn as `x` from that staircase, which brings `K0(x)` along, and `k - K0(x)` from the
/// two-sided geometric distribution: the product of their probabilities is the one above.
#[derive(Clone, Debug)]
pub struct Hourglass {
    sum: Staircase,
    count: Staircase,
}

impl Hourglass {
    /// For 1 to 2^32 steps; the core is brought into `1..=steps`.
    pub fn new(steps: u64, core: u64, epsilon: Epsilon) -> Self {
        Self {
            sum: Staircase::new(steps, core, epsilon),
            count: Staircase::two_sided_geometric(epsilon),
        }
    }

    /// One draw: `(x, k)`.
    #[inline]
    pub fn draw<B: Bits>(&self, bits: &mut B) -> (i128, i128) {
        let sum = self.sum.draw(bits);
        (sum.value, sum.level + self.count.draw(bits).value)
    }
}
