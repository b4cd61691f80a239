//! Noise in the shape of a cube: as likely at each point as its largest coordinate says.

use crate::memory;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::exponential::Floor;
use crate::sampler::uniform;

/// On all vectors of `D` integers: `P(x)` proportional to `q^max|x_j|`, with `q = exp(-epsilon / steps)`.
///
/// A radius `R` with probability proportional to `q^R (2R + 1)^D`, then a point of the cube
/// `{-R, ..., R}^D`, all alike. The point `x` comes of each `R` from `max|x_j|` on, with probability
/// proportional to `q^R`: in all to `q^max|x_j| / (1 - q)`.
///
/// The radius: the sum of `D + 1` geometric variables is `R` with probability proportional to
/// `q^R C(R + D, D)`. It is accepted with probability
/// `(2R + 1)^D / ((2R + 2) (2R + 4) ... (2R + 2D))`, which is `(2R + 1)^D / C(R + D, D)` over `2^D D!`: a
/// coin of probability `(2R + 1) / (2R + 2k)` for each `k` from 1 to `D`. All of them come up about
/// `exp(-D epsilon / (2 steps))` of the time, so `steps` should be at least `D epsilon`.
#[derive(Clone, Copy, Debug)]
pub struct MaxNorm {
    length: usize,
    geometric: Floor,
}

impl MaxNorm {
    /// For vectors of 1 to 100,001 integers, and 1 to 2^50 steps.
    pub fn new(length: usize, steps: u64, epsilon: Epsilon) -> Self {
        let numerator = u128::from(steps) << epsilon.places();
        Self {
            length,
            geometric: Floor::new(numerator, u128::from(epsilon.numerator())),
        }
    }

    /// One draw.
    pub fn draw<B: Bits>(&self, bits: &mut B) -> Vec<i128> {
        let radius = self.radius(bits);
        let coordinate = |_| uniform::below_wide(2 * radius + 1, bits) as i128 - radius as i128;
        memory::vector(self.length, (0..self.length).map(coordinate))
    }

    fn radius<B: Bits>(&self, bits: &mut B) -> u128 {
        let length = self.length as u128;
        loop {
            // Below 2^17 numbers below 2^107.
            let sum: u128 = (0..=length).map(|_| self.geometric.draw(bits)).sum();
            let inside = 2 * sum + 1;
            // The coins that fail most often first.
            let accepted = (1..=length)
                .rev()
                .all(|k| uniform::below_wide(2 * (sum + k), bits) < inside);
            if accepted {
                return sum;
            }
        }
    }
}
