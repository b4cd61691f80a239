//! An unbiased mean without bounds, of a number of rows that is public.
//!
//! The proof: docs/proofs/mean-symmetric-known-n.md.

use crate::encoding::cells::CellCounts;
use crate::encoding::grid::Grid;
use crate::mechanism::definition::{Entry, Info, Mechanism, Plan};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::{CellsMean, Mean};
use crate::mechanism::mean::location::{BIN, CLIP, Location, NO_MU, NO_RHO, SHARE, Wanted};
use crate::mechanism::mean::parameters::{PUBLIC_N, REPLACE, SCALE};
use crate::mechanism::mean::pathological::raw_fallback::{self, FALLBACK};
use crate::mechanism::mean::symmetric::{APPROXIMATE, SYMMETRIC};
use crate::privacy::cost::Loss;
use crate::random::{Bits, Generator, add_noise};
use crate::request::budget::DELTA;
use crate::sampler::staircase::Staircase;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "symmetric_known_n",
        what: "`symmetric` for a public number of rows `n=`; neighbours replace a row",
        guarantee: APPROXIMATE,
        loss: Loss::Approximate,
        neighbours: REPLACE,
        parameters: &[
            DELTA, SCALE, PUBLIC_N, BIN, CLIP, SHARE, FALLBACK, NO_MU, NO_RHO,
        ],
        example: "symmetric_known_n(delta=1e-6, scale=10, n=10000)",
        source: "Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, A bias-accuracy-privacy \
                 trilemma for statistical estimation: algorithm 2, theorem 4.8; with the noise of \
                 Geng, Viswanath 2014, The optimal mechanism in differential privacy",
    },
    plan: Some(Plan {
        text: "symmetric_known_n(delta={delta}, scale={psi}, n={n})",
        needs: SYMMETRIC,
    }),
    build: |request| {
        let Wanted {
            bins,
            delta,
            epsilons: (coarse, fine),
        } = request.wanted()?;
        let rows = request.rows()?;
        let mean = |delta| {
            Ok(SymmetricKnownN {
                location: Location::new(bins, coarse, delta, 2)?,
                noise: Staircase::least(bins.steps(), fine),
                rows,
            })
        };
        if raw_fallback::is_asked(request.choice) {
            return raw_fallback::behind(delta, rows, mean);
        }
        Mean::of_cells(mean(delta)?)
    },
};

/// First a place, at `share` of epsilon; then the mean of the rows clipped around it, with
/// [staircase](Staircase) noise at the rest of epsilon, for the public number of rows.
///
/// As in [`Symmetric`](super::symmetric::Symmetric), all rows do both, where algorithm 2 of Kamath et
/// al. gives some rows to each. Their noise on the mean is Laplace's; this is the one of the least
/// variance.
///
/// **Why it is private** ((epsilon, delta); neighbours by replacing one row). [`Location`] says why the
/// place is private. For any place, replacing a row moves the sum of the clipped rows by at most `G`
/// and leaves their number; staircase noise with steps of `G` on the sum covers that, as
/// [`Clipped`](super::clipped::Clipped) says.
///
/// **Why it is unbiased**: as there. The noise is symmetric, and the result is not clamped.
#[derive(Clone, Debug)]
pub struct SymmetricKnownN {
    location: Location,
    noise: Staircase,
    rows: f64,
}

impl SymmetricKnownN {
    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, histogram: &CellCounts, bits: &mut B) -> MeanAnswer {
        let bins = self.location.bins();
        let noise = self.noise.draw(bits).value;
        let mean = self.location.find(histogram, bits).map(|from| {
            // Counted from the middle: should there be another number of rows than was said, the
            // answer is drawn towards the middle, not towards an end.
            let sum = histogram.sum_between(from, from + i64::from(bins.span));
            let whole = i128::from(bins.steps()) * i128::from(histogram.n);
            let noisy = add_noise(sum, noise, bits);
            let centred = noisy.saturating_mul(2).saturating_sub(whole);
            let half_spans = centred as f64 / bins.steps() as f64 / self.rows;
            let cells = from as f64 + f64::from(bins.span) * (0.5 + half_spans / 2.0);
            histogram.line.value(cells)
        });
        MeanAnswer {
            mean,
            count: Some(self.rows),
        }
    }
}

impl Mechanism<CellCounts> for SymmetricKnownN {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, histogram: &CellCounts, generator: &mut Generator) -> MeanAnswer {
        self.release_from(histogram, generator)
    }
}

impl CellsMean for SymmetricKnownN {
    fn location(&self) -> &Location {
        &self.location
    }

    fn noise_sd(&self, _: f64) -> f64 {
        self.location.bins().distance() / self.rows * self.noise.variance().sqrt()
    }
}
