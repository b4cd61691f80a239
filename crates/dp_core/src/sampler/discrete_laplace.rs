//! The discrete Laplace distribution.

use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::exponential::Floor;

/// On all integers: `P(x)` proportional to `exp(-|x| epsilon / steps)`.
///
/// A magnitude `floor(E * steps / epsilon)` with a fair sign, drawn again on minus zero, which
/// 0 would otherwise have twice (Canonne, Kamath and Steinke 2020, algorithm 2). The scale is
/// large where this is used (an `epsilon` of 50 leaves it at 2^26), so that is rare; for the
/// two-sided geometric distribution, where it is not, see
/// [`Staircase::two_sided_geometric`](super::staircase::Staircase::two_sided_geometric).
#[derive(Clone, Copy, Debug)]
pub struct DiscreteLaplace {
    floor: Floor,
}

impl DiscreteLaplace {
    /// For 1 to 2^50 steps.
    pub fn new(steps: u64, epsilon: Epsilon) -> Self {
        let numerator = u128::from(steps) << epsilon.places();
        Self {
            floor: Floor::new(numerator, u128::from(epsilon.numerator())),
        }
    }

    /// One draw.
    #[inline]
    pub fn draw<B: Bits>(&self, bits: &mut B) -> i128 {
        loop {
            let magnitude = self.floor.draw(bits) as i128;
            let negative = bits.word() & 1 == 1;
            if !negative {
                return magnitude;
            }
            if magnitude != 0 {
                return -magnitude;
            }
        }
    }
}
