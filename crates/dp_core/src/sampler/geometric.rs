//! The geometric distribution.

use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::exponential::Floor;

/// On 0, 1, 2, ...: `P(k) = (1 - b) b^k` with `b = e^-epsilon`.
///
/// `floor(E / epsilon)` for a standard exponential `E` is at least `k` with probability
/// `e^(-k epsilon)`: exact.
#[derive(Clone, Copy, Debug)]
pub struct Geometric {
    floor: Floor,
}

impl Geometric {
    /// With `b = e^-epsilon`.
    pub fn new(epsilon: Epsilon) -> Self {
        let numerator = 1u128 << epsilon.places();
        Self {
            floor: Floor::new(numerator, u128::from(epsilon.numerator())),
        }
    }

    /// One draw.
    #[inline]
    pub fn draw<B: Bits>(&self, bits: &mut B) -> u128 {
        self.floor.draw(bits)
    }
}
