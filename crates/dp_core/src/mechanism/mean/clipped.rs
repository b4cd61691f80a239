//! The mean of clipped rows with staircase noise, where the number of rows is public.
//!
//! The proof: docs/proofs/mean-clipped.md.

use crate::accuracy::interval::{Intervals, STEP};
use crate::accuracy::tail::quantile;
use crate::encoding::grid::{self, Bounds, Grid};
use crate::encoding::sums::Sums;
use crate::mechanism::definition::{Entry, Info, Mechanism, PURE, Plan};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::{Mean, SumsMean};
use crate::mechanism::mean::pair::{from_midpoint, midpoint};
use crate::mechanism::mean::parameters::{PUBLIC_N, REPLACE};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::staircase::Staircase;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "clipped",
        what: "Kamath et al. 2023, Proposition 3.5, with staircase noise: the least there is on a \
               clipped sum. For a public number of rows `n=`; neighbours replace a row",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: REPLACE,
        parameters: &[PUBLIC_N],
        example: "clipped(n=10000)",
        source: "Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, A bias-accuracy-privacy \
                 trilemma for statistical estimation: the noisy clipped mean, proposition 3.5; \
                 with the noise of Geng, Viswanath 2014, The optimal mechanism in differential \
                 privacy",
    },
    plan: Some(Plan {
        text: "clipped(n={n})",
        needs: "lo and hi between which the rows lie, and a number of rows that is public",
    }),
    build: |request| {
        let (bounds, rows, epsilon) = (request.bounds()?, request.rows()?, request.row_epsilon()?);
        Mean::of_sums(Clipped::new(bounds, grid::STEPS, rows, epsilon))
    },
};

/// [Staircase](Staircase) noise of the least variance for a sensitivity of `G` on the sum of the rows'
/// steps, read as a distance from the midpoint and divided by the number of rows that was given.
///
/// Rows count from the midpoint, in half grid steps so that they stay integers: a table of `N` rows
/// whose steps sum to `s` has the sum `2 s - G N`. The noise on it is `2 Z`, for a `Z` from the
/// staircase with steps of `G`. `Z` is symmetric, and nothing is clamped after it is added, so the
/// answer has no bias but that of clipping rows to the bounds.
///
/// **Why it is private** (pure, epsilon; neighbours by replacing one row). The number of rows `N`
/// is the same in both tables, and a row of `t` steps, 0 to `G`, that becomes one of `t'` moves
/// `2 s - G N` by `2 (t' - t)`: it shifts `Z` by `t' - t`, by at most `G`. `Z` has probability
/// proportional to `e^(-epsilon L)` at level `L`, which depends on `|Z|` alone; levels above 0 are
/// `G` wide, so the shift changes the level by at most 1. The division by the number that was given
/// is post-processing.
///
/// Adding or removing a row costs no more. It moves `2 s - G N` by `2 t - G`, which is in [-G, G];
/// and `G`, which is 2^32, is even, so that shifts `Z` by a whole number, of `G / 2` at most. That can
/// lead from one level to the next: at most epsilon again, and not half of it. So the true number of
/// rows is as private as the rows are.
///
/// **Where `n` is not the number of rows**, that is no error: an error would tell. The answer's
/// distance from the midpoint is then `N / n` times the mean's, and its noise is that of `n` rows.
#[derive(Clone, Debug)]
pub struct Clipped {
    bounds: Bounds,
    steps: u64,
    rows: f64,
    noise: Staircase,
}

impl Clipped {
    /// For 1 to 2^32 steps, and a table that has, for all anybody knows, `rows` rows.
    pub fn new(bounds: Bounds, steps: u64, rows: f64, epsilon: Epsilon) -> Self {
        Self {
            bounds,
            steps,
            rows,
            noise: Staircase::least(steps, epsilon),
        }
    }

    /// The noisy sum in half grid steps from the midpoint: this is what the guarantee is about.
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> i128 {
        let whole = i128::from(self.steps) * i128::from(sums.n);
        let centred = sums.s.saturating_mul(2).saturating_sub(whole);
        let noise = 2 * self.noise.draw(bits).value;
        add_noise(centred, noise, bits)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let whole = 2.0 * self.steps as f64 * self.rows;
        let fraction = self.noisy(sums, bits) as f64 / whole;
        MeanAnswer {
            mean: Some(from_midpoint(&self.bounds, fraction)),
            count: Some(self.rows),
        }
    }
}

impl SumsMean for Clipped {
    /// To the grid's digits; of the number of rows that was given.
    fn noise_sd(&self, _: f64) -> f64 {
        self.bounds.width() / self.rows * self.noise.variance().sqrt()
    }

    /// Answers are not kept between the bounds.
    fn answer_bias(&self, _: f64) -> f64 {
        0.0
    }

    /// Of the number of rows that was given.
    fn half_width(&self, _: f64, miss: f64) -> Option<f64> {
        let reach = quantile(miss, |t| self.noise.tail(t));
        Some(self.bounds.width() / self.rows * (reach + STEP))
    }
}

impl Mechanism for Clipped {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        Some(Grid::unit(&self.bounds))
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> MeanAnswer {
        self.release_from(sums, generator)
    }

    /// The mean is where the answer is, give or take the noise over `n`, and between the bounds.
    fn intervals(&self, miss: f64) -> Option<Intervals<MeanAnswer>> {
        let bounds = self.bounds;
        let half = self.half_width(self.rows, miss)?;
        Some(Box::new(move |answer| {
            let mean = answer.mean.unwrap_or_else(|| midpoint(&bounds));
            [mean - half, mean + half].map(|end| end.clamp(bounds.lo(), bounds.hi()))
        }))
    }
}
