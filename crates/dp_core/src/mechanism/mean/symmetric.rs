//! An unbiased mean without bounds, for rows whose distribution is symmetric.
//!
//! The proof: docs/proofs/mean-symmetric.md.

use crate::encoding::cells::CellCounts;
use crate::encoding::grid::Grid;
use crate::error::ParameterError;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, Plan};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::hourglass::Hourglass;
use crate::mechanism::mean::inputs::{CellsMean, Mean};
use crate::mechanism::mean::location::{BIN, Bins, CLIP, Location, NO_MU, NO_RHO, SHARE, Wanted};
use crate::mechanism::mean::pair::PairNoise;
use crate::mechanism::mean::parameters::SCALE;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::request::budget::DELTA;
use crate::sampler::staircase;

/// The guarantee of a mean without bounds.
pub(crate) const APPROXIMATE: &str = "(eps, delta)-differential privacy";

/// What the promise asks of the rows.
pub(crate) const SYMMETRIC: &str = "rows of a symmetric distribution, in their own unit, and a public bound \
                                    on their standard deviation; rows enough for a place";

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "symmetric",
        what: "no bias for rows of a symmetric distribution, and no bounds: `lo` and `hi` are \
               NULL. Kamath et al. 2023, Algorithm 2, with the hourglass inside. (eps, delta); \
               may answer NULL",
        guarantee: APPROXIMATE,
        loss: Loss::Approximate,
        neighbours: ADD_REMOVE,
        parameters: &[DELTA, SCALE, BIN, CLIP, SHARE, NO_MU, NO_RHO],
        example: "symmetric(delta=1e-6, scale=10)",
        source: "Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, A bias-accuracy-privacy \
                 trilemma for statistical estimation: algorithm 2, with the mean of Kulesza, Suresh, \
                 Wang 2024 inside",
    },
    plan: Some(Plan {
        text: "symmetric(delta={delta}, scale={psi})",
        needs: SYMMETRIC,
    }),
    build: |request| {
        let Wanted {
            bins,
            delta,
            epsilons: (coarse, fine),
        } = request.wanted()?;
        Mean::of_cells(Symmetric::new(bins, coarse, fine, delta)?)
    },
};

/// First a place, at `share` of epsilon and all of delta; then the mean of the rows clipped around
/// it, by algorithm 3 of Kulesza, Suresh and Wang (2024) at the rest of epsilon.
///
/// Algorithm 2 of Kamath et al. splits the rows instead of epsilon: some find the location, the others
/// make the mean, at the whole epsilon each. Here all rows do both. What finds the place is as strong
/// (a share of the votes against noise of the whole epsilon, or all of them against noise of a share),
/// but the mean is one of all rows; no coin is tossed for a row, so the same rows always make the
/// same integers; and nothing rests on which row comes first. (A split by position could not be
/// private: a row more moves all that follow to the other part.)
///
/// Their second step is Laplace noise for a known number of rows, and for an unknown one noise scaled
/// to smooth sensitivity, whose standard deviation is `3 * 2c / (epsilon n)`. That of the mean used
/// here is `2c / (epsilon n)` in the middle between the ends, which is where the rows are.
///
/// **Why it is private** ((epsilon, delta); neighbours by adding or removing one row). [`Location`] says
/// why the place is private at its part of epsilon and delta. For any place, public once it is
/// released, the rows are clipped to public ends and the pair of sums gets noise at the rest: see
/// `hourglass`, and [`Mirrored`]. Both parts add up (basic composition, adaptive). The count is a
/// function of the noisy pair whether there is a place or not.
///
/// **Why it is unbiased**, given that there is a place, for independent rows of any distribution symmetric
/// about its mean. Mirror all rows about that centre, and the offset and the noise with them, which
/// are as likely as their mirror images: the place is mirrored, so are the clipped rows, the noisy
/// fraction `s1 / (s1 + s2)` becomes `s2 / (s1 + s2)`, its clamping and the middle where there are no
/// rows are mirrored too. So the answer is as likely to be above the centre by some amount as to be
/// below by it. It takes no independence of the place from the mean. (The offset is a multiple of
/// 2^-53 of a bin, and floats are rounded: that is the size of the exceptions.)
///
/// For a distribution that is not symmetric, with the place within a bin of the mean, the bias is at most
/// `dp_clip_bias(moment, psi, clip - bin)`.
#[derive(Clone, Debug)]
pub struct Symmetric {
    location: Location,
    noise: Mirrored<Hourglass>,
}

impl Symmetric {
    /// With this much of epsilon for the place, and for the mean.
    ///
    /// # Errors
    /// As [`Location::new`].
    pub fn new(
        bins: Bins,
        coarse: Epsilon,
        fine: Epsilon,
        delta: f64,
    ) -> Result<Self, ParameterError> {
        let core = staircase::core_of(staircase::best_gamma(fine.value()), bins.steps());
        Ok(Self {
            location: Location::new(bins, coarse, delta, 1)?,
            noise: Mirrored(Hourglass::new(bins.steps(), core, fine)),
        })
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, histogram: &CellCounts, bits: &mut B) -> MeanAnswer {
        let place = self.location.find(histogram, bits);
        let bins = self.location.bins();
        let (x1, x2) = self.noise.draw(bits);
        let steps = i128::from(self.noise.steps());
        let whole = steps * i128::from(histogram.n);
        // Without a place all rows count as at the lower end: only their number is looked at.
        let to = |from| from + i64::from(bins.span);
        let sum = place.map_or(0, |from| histogram.sum_between(from, to(from)));
        let part = add_noise(sum, x1, bits);
        let whole = part.saturating_add(add_noise(whole.saturating_sub(sum), x2, bits));
        let mean = place.map(|from| {
            let fraction = if whole > 0 {
                part.clamp(0, whole) as f64 / whole as f64
            } else {
                0.5
            };
            let cells = from as f64 + fraction * f64::from(bins.span);
            histogram.line.value(cells)
        });
        MeanAnswer {
            mean,
            count: Some(whole as f64 / steps as f64),
        }
    }
}

impl Mechanism<CellCounts> for Symmetric {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, histogram: &CellCounts, generator: &mut Generator) -> MeanAnswer {
        self.release_from(histogram, generator)
    }
}

impl CellsMean for Symmetric {
    fn location(&self) -> &Location {
        &self.location
    }

    /// In the middle between the ends, half of the difference of the pair's noises moves the mean. The
    /// two are all but uncorrelated, so its variance is half of that of one.
    fn noise_sd(&self, rows: f64) -> f64 {
        self.location.bins().distance() * (self.noise.variance() / 2.0).sqrt() / rows
    }
}

/// Noise for a pair, with its two parts exchanged by a fair coin.
///
/// **Why it is private**: the rows that can be added are `(t, G - t)`, and exchanged they are rows
/// that can be added; so the exchanged noise is as private, and so is a mixture of the two.
///
/// It makes the noise as likely as its mirror image, which the hourglass alone is not.
#[derive(Clone, Debug)]
pub struct Mirrored<N>(pub N);

impl<N: PairNoise> PairNoise for Mirrored<N> {
    fn steps(&self) -> u64 {
        self.0.steps()
    }

    fn draw<B: Bits>(&self, bits: &mut B) -> (i128, i128) {
        let (x1, x2) = self.0.draw(bits);
        if bits.word() & 1 == 1 {
            (x2, x1)
        } else {
            (x1, x2)
        }
    }

    fn variance(&self) -> f64 {
        self.0.variance()
    }

    fn tail(&self, m: f64, t: f64) -> f64 {
        self.0.tail(m, t).midpoint(self.0.tail(1.0 - m, t))
    }
}
