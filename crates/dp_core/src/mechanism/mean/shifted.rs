//! The mean as most libraries compute it: half of epsilon on a centred sum, half on the count.

use super::super::{ADD_REMOVE, Entry, Info, MeanAnswer, Mechanism, PURE};
use super::mean_between;
use crate::epsilon::Epsilon;
use crate::grid::{self, Bounds, Grid};
use crate::random::{Bits, Generator};
use crate::sampler::discrete_laplace::DiscreteLaplace;
use crate::sampler::staircase::Staircase;
use crate::sums::Sums;

pub(in crate::mechanism) const ENTRY: Entry<MeanAnswer> = Entry {
    info: Info {
        name: "shifted",
        guarantee: PURE,
        neighbours: ADD_REMOVE,
        parameters: &[],
        source: "Kulesza, Suresh, Wang 2024 (ICML): algorithm 2, a baseline; drawn as in Canonne, \
                 Kamath, Steinke 2020",
    },
    build: |request| {
        let bounds = request.bounds()?;
        Ok(Box::new(Shifted::new(bounds, grid::STEPS, request.epsilon)))
    },
};

/// Algorithm 2 of Kulesza, Suresh and Wang (2024): a baseline.
///
/// Rows count from the midpoint, in half grid steps so that they stay integers: `2 t - G` lies
/// in [-G, G], and the sum of a table's rows is `2 S1 - G n`.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). A neighbour
/// moves that sum by at most `G` and the number of rows by 1. The sum gets discrete Laplace noise
/// of scale `G / (epsilon / 2)`, the number two-sided geometric noise at `epsilon / 2`: each is
/// private at `epsilon / 2`, both together at epsilon. The division is post-processing.
#[derive(Clone, Debug)]
pub struct Shifted {
    bounds: Bounds,
    steps: u64,
    sum: DiscreteLaplace,
    count: Staircase,
}

impl Shifted {
    /// For 1 to 2^32 steps.
    pub fn new(bounds: Bounds, steps: u64, epsilon: Epsilon) -> Self {
        Self {
            bounds,
            steps,
            sum: DiscreteLaplace::new(steps, epsilon.half()),
            count: Staircase::two_sided_geometric(epsilon.half()),
        }
    }

    /// The noisy sum in half grid steps from the midpoint, and the noisy number of rows: this
    /// is what the guarantee is about.
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> (i128, i128) {
        let whole = i128::from(self.steps) * i128::from(sums.n);
        let centred = sums.s.saturating_mul(2).saturating_sub(whole);
        let sum = centred.saturating_add(self.sum.draw(bits));
        (sum, i128::from(sums.n) + self.count.draw(bits).value)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let (sum, count) = self.noisy(sums, bits);
        // 1/2 + sum / (2 G count), as one fraction.
        let half = count.saturating_mul(i128::from(self.steps));
        let mean = mean_between(
            &self.bounds,
            half.saturating_add(sum),
            half.saturating_mul(2),
        );
        MeanAnswer {
            mean,
            count: count as f64,
        }
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
}
