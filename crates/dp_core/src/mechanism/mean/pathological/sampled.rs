//! A mean from one sum of what coins chose of the rows.

use crate::accuracy::forecast::{Forecast, Planned};
use crate::encoding::grid::{Bounds, Grid, STEPS};
use crate::encoding::sums::Sums;
use crate::mechanism::definition::Mechanism;
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::pathological::coin::Coin;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::staircase::Staircase;

/// Farthest from the bounds that the chosen part of a row counts: 2^62 grid steps.
const FARTHEST: f64 = (1u64 << 62) as f64;

/// A mean from one sum, to which each row brings its head, if there is one, and with the toss of a
/// coin its tail, times the number of tosses that the coin takes to come up.
///
/// On average over the coins a row brings its head and its tail once: all of it. So does the sum, and
/// its noise is symmetric; the mean of any fixed rows, as far as they are within 2^30 widths of the
/// bounds, is right on average.
#[derive(Clone, Debug)]
pub struct SampledMean {
    pub(crate) bounds: Bounds,
    pub(crate) coin: Coin,
    pub(crate) rows: f64,
    /// Without it there are no heads, and all of a row is its tail.
    pub(crate) heads: Option<Box<ClippedPart>>,
}

/// Rows clipped to bounds, and noise on their sum.
#[derive(Clone, Debug)]
pub struct ClippedPart {
    pub(crate) noise: Staircase,
    /// How far beyond the range of the mean rows are clipped, and the moment that it was chosen for.
    pub(crate) radius: f64,
    pub(crate) moment: f64,
    pub(crate) psi: f64,
}

impl SampledMean {
    /// The coin that is tossed for each row.
    pub fn coin(&self) -> Coin {
        self.coin
    }

    /// The grid: of heads it starts at the lower bound, without heads at 0.
    fn steps_of(&self) -> Grid {
        match self.heads {
            Some(_) => Grid::unit(&self.bounds),
            None => Grid::signed(&self.bounds),
        }
    }

    /// What one row brings to the sum, in grid steps; not NaN.
    pub fn steps<B: Bits>(&self, x: f64, bits: &mut B) -> i128 {
        let grid = self.steps_of();
        let head = if self.heads.is_some() {
            grid.steps(x)
        } else {
            0
        };
        if !self.coin.toss(bits) {
            return i128::from(head);
        }
        let unit = grid.value_of_steps();
        let whole = (x - grid.origin()) / unit * STEPS as f64;
        let tail = whole.clamp(-FARTHEST, FARTHEST).round() as i128 - i128::from(head);
        i128::from(head) + tail * i128::from(self.coin.one_in())
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let grid = self.steps_of();
        let noise = self
            .heads
            .as_ref()
            .map_or(0, |heads| heads.noise.draw(bits).value);
        let steps = add_noise(sums.s, noise, bits) as f64 / STEPS as f64 / self.rows;
        let mean = grid.origin() + steps * grid.value_of_steps();
        MeanAnswer {
            mean: Some(mean.clamp(f64::MIN, f64::MAX)),
            count: Some(self.rows),
        }
    }
}

impl SampledMean {
    /// Without heads the coins' variance is `(1 - delta) / (delta n)` times the mean square of the
    /// rows (proposition 3.6 of Kamath et al. 2023), at most that of a mean at the bound farther from
    /// 0; with them it is bounded as in their proposition 3.7.
    pub(crate) fn forecast(&self, planned: &Planned) -> Forecast {
        let (delta, width) = (1.0 / self.coin.one_in() as f64, self.bounds.width());
        let chosen = delta * self.rows;
        let (sampling, noise) = match &self.heads {
            None => {
                let sampling = planned.sampling_sd(width).powi(2);
                let square = sampling * planned.rows + self.bounds.magnitude().powi(2);
                (sampling, (1.0 - delta) / chosen * square)
            }
            Some(heads) => {
                let ClippedPart {
                    radius,
                    moment,
                    psi,
                    ..
                } = **heads;
                let sampling = 2.0 * planned.sampling_sd(width - 2.0 * radius).powi(2);
                let noise = heads.noise.variance() * (width / self.rows).powi(2);
                let tails = 8.0 * (radius * (psi / radius).powf(moment / 2.0) / moment).powi(2);
                (sampling, noise + tails / chosen)
            }
        };
        Forecast {
            noise_sd: noise.sqrt(),
            bias: 0.0,
            rmse: (sampling + noise).sqrt(),
            null: 0.0,
        }
    }
}

impl Mechanism for SampledMean {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        Some(self.steps_of().apart())
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> MeanAnswer {
        self.release_from(sums, generator)
    }
}
