//! A mean from an independent sum and count, each at half of epsilon.
//!
//! The proof: docs/proofs/mean-independent.md.

use crate::accuracy::interval::{Intervals, Ratio};
use crate::encoding::grid::{self, Bounds, Grid};
use crate::encoding::sums::Sums;
use crate::mechanism::definition::{
    ADD_REMOVE, Entry, HOLDING_BOUNDS, Info, Mechanism, PURE, Plan,
};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::{Mean, SumsMean};
use crate::mechanism::mean::pair::{intervals_between, midpoint};
use crate::mechanism::mean::split_budget::Halves;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator};

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "independent",
        what: "Algorithm 1: as `shifted`, without centring; a baseline",
        guarantee: PURE,
        loss: Loss::TwoLaplaces { steps: grid::STEPS },
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "independent",
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 1, a baseline; drawn as in Canonne, \
                 Kamath, Steinke 2020",
    },
    plan: Some(Plan {
        text: "independent",
        needs: HOLDING_BOUNDS,
    }),
    build: |request| {
        let bounds = request.bounds()?;
        Mean::of_sums(Independent::new(
            bounds,
            grid::STEPS,
            request.row_epsilon()?,
        ))
    },
};

/// Algorithm 1 of Kulesza, Suresh and Wang (2024): a baseline.
///
/// Rows count from 0, in steps of `max(|lo|, |hi|) / G`: they lie in [-G, G].
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). A neighbour
/// moves the sum by at most `G`: see `Halves`. The division is post-processing.
#[derive(Clone, Debug)]
pub struct Independent {
    bounds: Bounds,
    noise: Halves,
}

impl Independent {
    /// For 1 to 2^32 steps.
    pub fn new(bounds: Bounds, steps: u64, epsilon: Epsilon) -> Self {
        Self {
            bounds,
            noise: Halves::new(steps, epsilon),
        }
    }

    /// The noisy sum in grid steps, and `G` times the noisy number of rows: this is what the
    /// guarantee is about.
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> (i128, i128) {
        self.noise.add(sums.s, sums.n, bits)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let (sum, whole) = self.noisy(sums, bits);
        let mean = if whole > 0 {
            let fraction = sum.clamp(-whole, whole) as f64 / whole as f64;
            (fraction * self.bounds.magnitude()).clamp(self.bounds.lo(), self.bounds.hi())
        } else {
            midpoint(&self.bounds)
        };
        MeanAnswer {
            mean: Some(mean),
            count: Some(self.noise.rows(whole)),
        }
    }
}

impl SumsMean for Independent {
    /// With noise `x` of the sum and `y` of the rows, in units of the larger bound, a mean of `m`
    /// such units moves by `(x - m y) / n` of them: by most at the larger bound.
    fn noise_sd(&self, rows: f64) -> f64 {
        self.bounds.magnitude() / rows * (2.0 * self.noise.variance()).sqrt()
    }

    /// Counted from 0, in units of the larger bound.
    fn ratio(&self) -> Option<Ratio<'_>> {
        let unit = self.bounds.magnitude();
        Some(Ratio {
            origin: 0.0,
            unit,
            range: [self.bounds.lo() / unit, self.bounds.hi() / unit],
            tail: Box::new(|u, t| self.noise.tail(u, t)),
        })
    }
}

impl Mechanism for Independent {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        Some(Grid::signed(&self.bounds))
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> MeanAnswer {
        self.release_from(sums, generator)
    }

    fn intervals(&self, miss: f64) -> Option<Intervals<MeanAnswer>> {
        intervals_between(&self.bounds, self.clone(), miss)
    }
}
