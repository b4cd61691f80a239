//! Noise on a pair of sums, and the mean as a fraction of it.

use std::cell::OnceCell;

use crate::accuracy::interval::{Intervals, Ratio};
use crate::encoding::grid::{Bounds, Grid};
use crate::encoding::sums::Sums;
use crate::mechanism::definition::Mechanism;
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::SumsMean;
use crate::random::{Bits, Generator, add_noise};

/// Noise for the pair of sums `(S1, S2)`, in grid steps.
pub trait PairNoise {
    /// Grid steps in one unit of sensitivity.
    fn steps(&self) -> u64;

    /// One draw.
    fn draw<B: Bits>(&self, bits: &mut B) -> (i128, i128);

    /// The variance of the noise of one of the sums, the larger of the two, for a sensitivity of 1.
    fn variance(&self) -> f64;

    /// `P(|(1 - m) x1 - m x2| > t)` for the noise `(x1, x2)`, in units of sensitivity.
    fn tail(&self, m: f64, t: f64) -> f64;
}

/// Algorithm 3 with the noise `N`.
#[derive(Clone, Debug)]
pub struct Complement<N> {
    bounds: Bounds,
    noise: N,
}

impl<N: PairNoise> Complement<N> {
    /// For a column with these bounds.
    pub fn new(bounds: Bounds, noise: N) -> Self {
        Self { bounds, noise }
    }

    /// The noisy pair `(s1, s2)`: this is what the guarantee is about.
    #[inline]
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> (i128, i128) {
        let (x1, x2) = self.noise.draw(bits);
        let whole = i128::from(self.noise.steps()) * i128::from(sums.n);
        (
            add_noise(sums.s, x1, bits),
            add_noise(whole.saturating_sub(sums.s), x2, bits),
        )
    }

    /// One release from any source of words.
    #[inline]
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let (s1, s2) = self.noisy(sums, bits);
        let whole = s1.saturating_add(s2);
        let steps = self.noise.steps() as f64;
        MeanAnswer {
            mean: Some(mean_between(&self.bounds, s1, whole)),
            count: Some(whole as f64 / steps),
        }
    }
}

impl<N: PairNoise + Clone + 'static> SumsMean for Complement<N> {
    /// With noise `(x1, x2)` the mean at `m` of the way between the bounds moves by
    /// `((1 - m) x1 - m x2) / n` of it. The variance of that is a convex function of `m`: the
    /// largest is at an end, where one of the two is alone.
    fn noise_sd(&self, rows: f64) -> f64 {
        self.bounds.width() / rows * self.noise.variance().sqrt()
    }

    /// With `(x1, x2)` the noise, that of the number of rows is `x1 + x2`.
    fn ratio(&self) -> Option<Ratio<'_>> {
        Some(Ratio {
            origin: self.bounds.lo(),
            unit: self.bounds.width(),
            range: [0.0, 1.0],
            tail: Box::new(|m, t| self.noise.tail(m, t)),
        })
    }
}

impl<N: PairNoise + Clone + 'static> Mechanism for Complement<N> {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        Some(Grid::unit(&self.bounds))
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> MeanAnswer {
        self.release_from(sums, generator)
    }

    fn intervals(&self, miss: f64) -> Option<Intervals<MeanAnswer>> {
        intervals_between(&self.bounds, self.clone(), miss)
    }
}

/// The intervals of answers that are kept between the bounds. They are set up at the first answer:
/// what only takes in rows, as a parallel worker, has none.
pub(crate) fn intervals_between(
    bounds: &Bounds,
    mechanism: impl SumsMean + 'static,
    miss: f64,
) -> Option<Intervals<MeanAnswer>> {
    let (lo, hi) = (bounds.lo(), bounds.hi());
    mechanism.ratio()?;
    let around = OnceCell::new();
    Some(Box::new(move |answer| {
        let around = || {
            let ratio = mechanism.ratio()?;
            Some(around.get_or_init(|| ratio.intervals(miss, lo, hi)))
        };
        match (answer.mean, answer.count, around()) {
            (Some(mean), Some(count), Some(around)) => around(mean, count),
            _ => [lo, hi],
        }
    }))
}

/// The point `part / whole` of the way from `lo` to `hi`, kept inside; the midpoint where
/// `whole` is not positive.
pub(crate) fn mean_between(bounds: &Bounds, part: i128, whole: i128) -> f64 {
    if whole <= 0 {
        return midpoint(bounds);
    }
    let fraction = part.clamp(0, whole) as f64 / whole as f64;
    // Rounding can leave the bounds by a digit, and even overflow at the largest floats.
    (bounds.lo() + bounds.width() * fraction).clamp(bounds.lo(), bounds.hi())
}

/// The midpoint of the bounds. The mean where there is nothing to divide by: public.
pub(crate) fn midpoint(bounds: &Bounds) -> f64 {
    bounds.lo().midpoint(bounds.hi())
}

/// The point this fraction of the width above the midpoint, wherever that is: where clamping to the
/// bounds would bias. Infinite where it is beyond the largest floats.
pub(crate) fn from_midpoint(bounds: &Bounds, fraction: f64) -> f64 {
    midpoint(bounds) + bounds.width() * fraction
}
