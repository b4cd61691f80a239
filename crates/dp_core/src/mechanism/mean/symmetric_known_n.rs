//! An unbiased mean without bounds, of a number of rows that is public.
//!
//! The proof: docs/proofs/mean-symmetric-known-n.md.

use super::super::budget::DELTA;
use super::super::{Entry, Info, MeanAnswer, Mechanism, Parameter, Plan, Takes};
use super::coins::Coin;
use super::place::{BIN, CLIP, NO_MU, NO_RHO, Place, SHARE, Wanted};
use super::symmetric::{APPROXIMATE, SYMMETRIC};
use super::{Mean, OfCells, REPLACE, ROWS, SCALE};
use crate::cells::Histogram;
use crate::grid::Grid;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::staircase::Staircase;

pub(in crate::mechanism) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "symmetric_known_n",
        guarantee: APPROXIMATE,
        neighbours: REPLACE,
        parameters: &[
            DELTA, SCALE, ROWS, BIN, CLIP, SHARE, FALLBACK, NO_MU, NO_RHO,
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
            shape,
            delta,
            epsilons: (coarse, fine),
        } = request.wanted()?;
        let rows = request.rows()?;
        let raw = request.choice.word(FALLBACK.name) == Some("raw");
        let (delta, coin) = if raw {
            request.allow_pathological()?;
            (delta / 2.0, Some(Coin::new(delta / 2.0)?))
        } else {
            (delta, None)
        };
        Mean::of_cells(SymmetricKnownN {
            place: Place::new(shape, coarse, delta, 2)?,
            noise: Staircase::least(shape.steps(), fine),
            rows,
            coin,
        })
    },
};

const FALLBACK: Parameter = Parameter {
    name: "fallback",
    takes: Takes::Word(&["none", "raw"]),
    domain: "none or raw",
    description: "where there is no place: none (the default) answers NULL; raw adds up rows as they \
                  are, each with probability delta / 2, which dp_mean.allow_pathological must allow",
};

/// First a place, at `share` of epsilon; then the mean of the rows clipped around it, with
/// [staircase](Staircase) noise at the rest of epsilon, for the public number of rows.
///
/// As in [`Symmetric`](super::symmetric::Symmetric), all rows do both, where algorithm 2 of Kamath et
/// al. gives some rows to each. Their noise on the mean is Laplace's; this is the one of the least
/// variance.
///
/// **Why it is private** ((epsilon, delta); neighbours by replacing one row). [`Place`] says why the
/// place is private. For any place, replacing a row moves the sum of the clipped rows by at most `G`
/// and leaves their number; staircase noise with steps of `G` on the sum covers that, as
/// [`Clipped`](super::clipped::Clipped) says.
/// With `fallback=raw` the place takes half of delta, and where there is none, rows come out as they
/// are: with probability at most delta / 2 the replaced row is among them, and if it is not, the
/// replacement changes nothing.
///
/// **Why it is unbiased**: as there. The noise is symmetric, and what comes out is not clamped. With
/// `fallback=raw` it is unbiased whether there is a place or not: the chosen rows, each over the
/// probability of being chosen, add up to the sum of all rows on average.
#[derive(Clone, Debug)]
pub struct SymmetricKnownN {
    place: Place,
    noise: Staircase,
    rows: f64,
    coin: Option<Coin>,
}

impl SymmetricKnownN {
    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, histogram: &Histogram, bits: &mut B) -> MeanAnswer {
        let shape = self.place.shape();
        let noise = self.noise.draw(bits).value;
        let mean = if let Some(from) = self.place.find(histogram, bits) {
            // Counted from the middle: should there be another number of rows than was said, the
            // answer is drawn towards the middle, not towards an end.
            let sum = histogram.sum_between(from, from + i64::from(shape.span));
            let whole = i128::from(shape.steps()) * i128::from(histogram.n);
            let noisy = add_noise(sum, noise, bits);
            let centred = noisy.saturating_mul(2).saturating_sub(whole);
            let half_spans = centred as f64 / shape.steps() as f64 / self.rows;
            let cells = from as f64 + f64::from(shape.span) * (0.5 + half_spans / 2.0);
            Some(histogram.line.value(cells))
        } else {
            self.coin.map(|coin| {
                let cells = histogram.chosen.sum(&histogram.line) * coin.one_in() as f64;
                (cells / self.rows * shape.width).clamp(f64::MIN, f64::MAX)
            })
        };
        MeanAnswer {
            mean,
            count: Some(self.rows),
        }
    }
}

impl Mechanism<Histogram> for SymmetricKnownN {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, histogram: &Histogram, generator: &mut Generator) -> MeanAnswer {
        self.release_from(histogram, generator)
    }
}

impl OfCells for SymmetricKnownN {
    fn place(&self) -> &Place {
        &self.place
    }

    fn coin(&self) -> Option<Coin> {
        self.coin
    }

    fn noise_sd(&self, _: f64) -> f64 {
        self.place.shape().distance() / self.rows * self.noise.variance().sqrt()
    }
}
