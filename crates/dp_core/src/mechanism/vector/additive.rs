//! Noise that is added to each sum, and no noisy number of rows.

use crate::encoding::grid::Grid;
use crate::encoding::sums::Totals;
use crate::mechanism::definition::Mechanism;
use crate::mechanism::vector::items::{
    Items, Law, Origin, Rows, Spread, VectorAnswer, VectorMechanism,
};
use crate::memory;
use crate::random::{Bits, Generator, add_noise};

/// Noise for all positions of a vector, in steps.
pub trait VectorNoise {
    /// One draw for each of `length` positions.
    fn draw<B: Bits>(&self, length: usize, bits: &mut B) -> Vec<i128>;

    /// The standard deviation of one draw and the covariance of two, in steps and in squares of
    /// steps.
    fn spread(&self) -> (f64, f64);

    /// The law of a draw.
    fn law(&self) -> Law {
        Law::Normal
    }
}

/// The sums with the noise `N` on them. Values count from 0.
#[derive(Clone, Debug)]
pub struct Additive<N> {
    items: Items,
    most: usize,
    noise: N,
}

impl<N: VectorNoise> Additive<N> {
    /// For rows with at most `most` positions other than 0.
    pub(crate) fn new(items: Items, most: usize, noise: N) -> Self {
        Self { items, most, noise }
    }

    /// The noisy sums in steps: this is what the guarantee is about.
    pub fn noisy<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Vec<i128> {
        let noise = self.noise.draw(self.items.length, bits);
        let sums = self.items.sums(totals).zip(noise);
        let noisy = sums.map(|(sum, noise)| add_noise(sum, noise, bits));
        memory::vector(self.items.length, noisy)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> VectorAnswer {
        let steps = self.items.steps as f64;
        let noisy = self.noisy(totals, bits);
        let parts = noisy.iter().map(|sum| *sum as f64 / steps);
        VectorAnswer::new(self.items, Origin::Zero, None, parts)
    }
}

impl<N: VectorNoise> Mechanism<Totals> for Additive<N> {
    type Answer = VectorAnswer;

    fn grid(&self) -> Option<Grid> {
        self.items.grid(Origin::Zero)
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> VectorAnswer {
        self.release_from(totals, generator)
    }
}

impl<N: VectorNoise> VectorMechanism for Additive<N> {
    fn rows(&self) -> Rows {
        Rows {
            length: self.items.length,
            most: self.most,
        }
    }

    fn spread(&self) -> Spread {
        let (_, unit) = self.items.scale(Origin::Zero);
        let step = unit / self.items.steps as f64;
        let (sd, covariance) = self.noise.spread();
        Spread {
            sd: sd * step,
            covariance: covariance * step * step,
            total_sd: None,
            total_covariance: None,
            law: self.noise.law(),
            step: [step; 2],
        }
    }
}
