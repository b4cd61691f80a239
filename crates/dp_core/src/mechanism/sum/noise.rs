//! The noisy sum of bounded rows, for any noise.

use crate::accuracy::interval::{Intervals, STEP};
use crate::accuracy::tail::quantile;
use crate::encoding::grid::{Bounds, Grid};
use crate::encoding::sums::Sums;
use crate::mechanism::definition::Mechanism;
use crate::random::{Bits, Generator, add_noise};

/// Noise for a sum of grid steps.
pub trait SumNoise {
    /// Grid steps in one unit of sensitivity.
    fn steps(&self) -> u64;

    /// One draw.
    fn draw<B: Bits>(&self, bits: &mut B) -> i128;

    /// `P(|x| > t)` for the noise `x`, in units of sensitivity.
    fn tail(&self, t: f64) -> f64;
}

/// The noisy sum of the rows, with the noise `N`.
#[derive(Clone, Debug)]
pub struct Sum<N> {
    bounds: Bounds,
    noise: N,
}

impl<N: SumNoise> Sum<N> {
    /// For a column with these bounds.
    pub fn new(bounds: Bounds, noise: N) -> Self {
        Self { bounds, noise }
    }

    /// The noisy sum in grid steps: this is what the guarantee is about.
    #[inline]
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> i128 {
        add_noise(sums.s, self.noise.draw(bits), bits)
    }

    /// One release from any source of words.
    #[inline]
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> f64 {
        let units = self.noisy(sums, bits) as f64 / self.noise.steps() as f64;
        units * self.bounds.magnitude()
    }
}

impl<N: SumNoise> Mechanism for Sum<N> {
    type Answer = f64;

    fn grid(&self) -> Option<Grid> {
        Some(Grid::signed(&self.bounds))
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> f64 {
        self.release_from(sums, generator)
    }

    /// The sum is where the answer is, give or take the noise; and rows that cannot be negative (or
    /// positive) have no such sum.
    fn intervals(&self, miss: f64) -> Option<Intervals<f64>> {
        let reach = quantile(miss, |t| self.noise.tail(t)) + STEP;
        let half = reach * self.bounds.magnitude();
        let least = if self.bounds.lo() >= 0.0 {
            0.0
        } else {
            f64::NEG_INFINITY
        };
        let most = if self.bounds.hi() <= 0.0 {
            0.0
        } else {
            f64::INFINITY
        };
        Some(Box::new(move |sum| {
            if !sum.is_finite() {
                return [least, most];
            }
            // The answer is a rounded number.
            let slack = 4.0 * f64::EPSILON * sum.abs();
            [sum - half - slack, sum + half + slack].map(|end| end.clamp(least, most))
        }))
    }
}
