//! The mean as most libraries compute it: half of epsilon on a centred sum, half on the count.
//!
//! The proof: docs/proofs/mean-shifted.md.

use crate::accuracy::interval::{Intervals, Ratio};
use crate::encoding::grid::{self, Bounds, Grid};
use crate::encoding::sums::Sums;
use crate::mechanism::definition::{
    ADD_REMOVE, Entry, HOLDING_BOUNDS, Info, Mechanism, PURE, Plan,
};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::{Mean, SumsMean};
use crate::mechanism::mean::pair::{intervals_between, mean_between, midpoint};
use crate::mechanism::mean::split_budget::Halves;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator};

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "shifted",
        what: "Algorithm 2: half of eps on a centred sum, half on a count. What most libraries \
               do; a baseline",
        guarantee: PURE,
        loss: Loss::TwoLaplaces { steps: grid::STEPS },
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "shifted",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 2, a baseline; drawn as in Canonne, \
                 Kamath, Steinke 2020",
    },
    plan: Some(Plan {
        text: "shifted",
        needs: HOLDING_BOUNDS,
    }),
    build: |request| {
        let bounds = request.bounds()?;
        Mean::of_sums(Shifted::new(bounds, grid::STEPS, request.row_epsilon()?))
    },
};

/// Algorithm 2 of Kulesza, Suresh and Wang (2024): a baseline.
///
/// Rows count from the midpoint, in half grid steps so that they stay integers: `2 t - G` lies
/// in [-G, G], and the sum of a table's rows is `2 S1 - G n`.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). A neighbour
/// moves that sum by at most `G`: see `Halves`. The division is post-processing.
#[derive(Clone, Debug)]
pub struct Shifted {
    bounds: Bounds,
    noise: Halves,
}

impl Shifted {
    /// For 1 to 2^32 steps.
    pub fn new(bounds: Bounds, steps: u64, epsilon: Epsilon) -> Self {
        Self {
            bounds,
            noise: Halves::new(steps, epsilon),
        }
    }

    /// The noisy sum in half grid steps from the midpoint, and `G` times the noisy number of rows:
    /// this is what the guarantee is about.
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> (i128, i128) {
        let centred = sums.s.saturating_mul(2);
        let centred = centred.saturating_sub(self.noise.whole(sums.n));
        self.noise.add(centred, sums.n, bits)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let (sum, whole) = self.noisy(sums, bits);
        // 1/2 + sum / (2 whole), as one fraction.
        let part = whole.saturating_add(sum);
        MeanAnswer {
            mean: Some(mean_between(&self.bounds, part, whole.saturating_mul(2))),
            count: Some(self.noise.rows(whole)),
        }
    }
}

impl SumsMean for Shifted {
    /// With noise `x` of the centred sum and `y` of the rows, a mean at `m` of the way between the
    /// bounds moves by `(x - (2 m - 1) y) / (2 n)` of it: by most at an end.
    fn noise_sd(&self, rows: f64) -> f64 {
        self.bounds.width() / rows * (self.noise.variance() / 2.0).sqrt()
    }

    /// Counted from the midpoint, in half widths.
    fn ratio(&self) -> Option<Ratio<'_>> {
        Some(Ratio {
            origin: midpoint(&self.bounds),
            unit: self.bounds.width() / 2.0,
            range: [-1.0, 1.0],
            tail: Box::new(|u, t| self.noise.tail(u, t)),
        })
    }
}

impl Mechanism for Shifted {
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
