//! A mean with Gaussian noise.
//!
//! The proof: docs/proofs/mean-gaussian.md.

use crate::accuracy::interval::{Intervals, Ratio};
use crate::accuracy::tail;
use crate::encoding::grid::{self, Bounds, Grid};
use crate::encoding::sums::Sums;
use crate::mechanism::definition::{Entry, HOLDING_BOUNDS, Mechanism, Plan};
use crate::mechanism::gaussian;
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::{Mean, SumsMean};
use crate::mechanism::mean::pair::{intervals_between, mean_between, midpoint};
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: gaussian::info(
        "Gaussian noise, rounded",
        "Lebeda 2024, Better Gaussian mechanism using correlated noise: algorithm 1 with \
         d = 1; the same distribution as Fitzsimons, Honaker, Shoemate, Singhal 2024",
    ),
    plan: Some(Plan {
        text: "gaussian(delta={delta})",
        needs: HOLDING_BOUNDS,
    }),
    build: |request| {
        let bounds = request.bounds()?;
        Mean::of_sums(Gaussian::new(bounds, grid::STEPS, request.row_mu()?))
    },
};

/// Independent Gaussian noise of standard deviation `sqrt(2) G / mu` on the sum counted from the
/// midpoint, `2 S1 - G n`, and on `G n`; both rounded to whole steps.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). A row of `t` steps
/// moves the pair by `(2 t - G, G)`, or by the opposite: `2 t - G` is in [-G, G], so by at most
/// `sqrt(2) G` in Euclidean distance, and Gaussian noise of that distance over `mu` in each
/// coordinate is mu-GDP (Dong, Roth, Su 2022; Lebeda 2024, Lemma 2.1). The pair is of integers, so adding
/// rounded noise is rounding the noisy pair: post-processing, as is the division.
#[derive(Clone, Debug)]
pub struct Gaussian {
    bounds: Bounds,
    steps: u64,
    mu: f64,
    noise: RoundedNormal,
}

impl Gaussian {
    /// For 1 to 2^32 steps.
    pub fn new(bounds: Bounds, steps: u64, mu: f64) -> Self {
        let sigma = 2f64.sqrt() * steps as f64 / mu;
        Self {
            bounds,
            steps,
            mu,
            noise: RoundedNormal::new(gaussian::no_less(sigma)),
        }
    }

    /// The noisy sum in half grid steps from the midpoint, and `G` times the noisy number of rows:
    /// this is what the guarantee is about.
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> (i128, i128) {
        let whole = i128::from(self.steps) * i128::from(sums.n);
        let centred = sums.s.saturating_mul(2).saturating_sub(whole);
        let mut add = |exact| add_noise(exact, self.noise.draw(bits), bits);
        (add(centred), add(whole))
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let (centred, whole) = self.noisy(sums, bits);
        MeanAnswer {
            mean: Some(mean_between(
                &self.bounds,
                whole.saturating_add(centred),
                whole.saturating_mul(2),
            )),
            count: Some(whole as f64 / self.steps as f64),
        }
    }
}

impl SumsMean for Gaussian {
    /// With noise `x` of the centred sum and `y` of the rows, both of variance `2 / mu^2`, a mean
    /// at `m` of the way between the bounds moves by `(x - (2 m - 1) y) / (2 n)` of it: by most at
    /// an end.
    fn noise_sd(&self, rows: f64) -> f64 {
        self.bounds.width() / rows / self.mu
    }

    /// Counted from the midpoint, in half widths.
    fn ratio(&self) -> Option<Ratio<'_>> {
        Some(Ratio {
            origin: midpoint(&self.bounds),
            unit: self.bounds.width() / 2.0,
            range: [-1.0, 1.0],
            tail: Box::new(|u, t| tail::normal_pair(2f64.sqrt() / self.mu, u, t)),
        })
    }

    /// The noise is `sqrt(1 + u^2)` wide: no place is looked at but an end. Each question of a mean is planned with this.
    fn half_width(&self, rows: f64, miss: f64) -> Option<f64> {
        let ratio = self.ratio()?;
        Some(ratio.unit * (ratio.reach_at(1.0, miss) / rows).min(1.0))
    }
}

impl Mechanism for Gaussian {
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
