//! What the means share that show a row, as it is, with a small probability.

use crate::accuracy::forecast::{Forecast, Planned};
use crate::encoding::grid::{Bounds, Grid, STEPS};
use crate::encoding::sums::Sums;
use crate::error::ParameterError;
use crate::mechanism::definition::Mechanism;
use crate::mechanism::mean::answer::MeanAnswer;
use crate::random::{Bits, Generator, add_noise};
use crate::request::checked::Request;
use crate::sampler::staircase::Staircase;
use crate::sampler::uniform::below;

/// A coin that comes up once in that many tosses: with probability `1 / one_in`, at most delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    one_in: u64,
}

impl Sampling {
    /// The coin nearest to probability `delta` from below.
    ///
    /// # Errors
    /// A delta below 2^-40: what such a coin chooses would not fit the sums.
    pub(crate) fn new(delta: f64) -> Result<Self, ParameterError> {
        let one_in = (1.0 / delta).ceil();
        if one_in > (1u64 << 40) as f64 {
            return Err(ParameterError::new(
                "mech",
                "gives the parameter delta a value too small for a mechanism that shows rows",
                "Give a delta of at least 2^-39; at any smaller one the answer would be useless.",
            ));
        }
        // The quotient may have been rounded down to an integer. The sum is rounded but once, so its
        // sign is right: one over the result is never above delta.
        let is_above = one_in.mul_add(delta, -1.0) < 0.0;
        Ok(Self {
            one_in: one_in as u64 + u64::from(is_above),
        })
    }

    /// In how many tosses it comes up once.
    pub fn one_in(&self) -> u64 {
        self.one_in
    }

    /// One toss, exact.
    pub fn toss<B: Bits>(&self, bits: &mut B) -> bool {
        below(self.one_in, bits) == 0
    }
}

impl Request<'_> {
    /// The parameter `delta`, for a coin.
    pub(crate) fn coin(&self) -> Result<(f64, Sampling), ParameterError> {
        match self.row_delta()? {
            Some(delta) => Ok((delta, Sampling::new(delta)?)),
            None => Err(ParameterError::new(
                "mech",
                "does not say with what probability a row may be shown",
                "Give a delta, far below one over the number of rows, as in \
                 name_and_shame(delta=1e-9, n=1000).",
            )),
        }
    }

    /// An error unless mechanisms that show rows are allowed.
    pub(crate) fn allow_pathological(&self) -> Result<(), ParameterError> {
        if self.pathological {
            return Ok(());
        }
        Err(ParameterError::forbidden(
            "mech",
            "names a mechanism that shows a row, just as it is, with probability delta",
            "It meets the letter of (eps, delta)-differential privacy and protects nobody whose row \
             comes up. For an unbiased mean use smooth (rows between bounds) or symmetric (rows of a \
             symmetric distribution). A superuser can allow it: SET dp_mean.allow_pathological = on.",
        ))
    }
}

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
    pub(crate) coin: Sampling,
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
    pub fn coin(&self) -> Sampling {
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
        i128::from(head) + tail * i128::from(self.coin.one_in)
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
        let (delta, width) = (1.0 / self.coin.one_in as f64, self.bounds.width());
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
