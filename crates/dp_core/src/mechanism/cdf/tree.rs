//! Two-sided geometric noise on the counts of a tree over the cells.
//!
//! The proof: docs/proofs/cdf-tree.md.

use crate::encoding::buckets::Buckets;
use crate::encoding::grid::Grid;
use crate::encoding::sums::Totals;
use crate::mechanism::cdf::consistent::{best_branches, leaves, rising};
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, PURE};
use crate::memory;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::sampler::staircase::Staircase;

pub(crate) const ENTRY: Entry<Cdf> = Entry {
    info: Info {
        name: "tree",
        what: "two-sided geometric noise on the counts of a tree, made consistent",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "tree",
        source: "Hay, Rastogi, Miklau, Suciu 2010, Boosting the accuracy of differentially private histograms through \
                 consistency; Qardaji, Yang, Li 2013, Understanding hierarchical methods for differentially private \
                 histograms",
    },
    plan: None,
    build: |request| {
        let cells = Buckets::points(&request.bounds()?, request.length)?;
        Ok(Box::new(Cdf::new(cells, request.row_epsilon()?)))
    },
};

/// The part of the rows up to each of many points.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). The cells are the leaves of a tree
/// whose nodes have as many children as is best for the number of leaves; a node counts the rows of the leaves below
/// it. A row is in one leaf, and so in one node of each level: of each level it moves one count by 1. Each level has
/// its share of epsilon, with noise of that scale on all of its counts, those of empty nodes too; the shares add up.
/// What follows is made of the noisy counts: they are made consistent and rising, and divided by the last.
#[derive(Clone, Debug)]
pub struct Cdf {
    cells: Buckets,
    branches: usize,
    levels: usize,
    noise: Staircase,
}

impl Cdf {
    /// With a share of epsilon for each level.
    pub fn new(cells: Buckets, epsilon: Epsilon) -> Self {
        let branches = best_branches(cells.count());
        let mut levels: u32 = 1;
        let mut nodes = cells.count();
        while nodes > branches {
            nodes = nodes.div_ceil(branches);
            levels += 1;
        }
        Self {
            cells,
            branches,
            levels: levels as usize,
            noise: Staircase::two_sided_geometric(epsilon.over(levels)),
        }
    }

    /// The cells.
    pub fn cells(&self) -> &Buckets {
        &self.cells
    }

    /// The noisy counts of the nodes, level by level, from the leaves on.
    pub fn counts_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Vec<Vec<i64>> {
        let exact = totals.s.iter().copied().chain(std::iter::repeat(0));
        let mut exact = memory::vector(self.cells.count(), exact);
        let mut levels = Vec::new();
        loop {
            let noisy = exact.iter().map(|count| {
                let noisy = add_noise(*count, self.noise.draw(bits).value, bits);
                noisy.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
            });
            levels.push(memory::vector(exact.len(), noisy));
            if levels.len() == self.levels {
                return levels;
            }
            let parents = exact.chunks(self.branches).map(|nodes| nodes.iter().sum());
            exact = memory::vector(exact.len().div_ceil(self.branches), parents);
        }
    }

    /// The guesses of the rows up to each point, from a release from any source of words.
    pub fn sums_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Vec<f64> {
        self.sums(&self.counts_from(totals, bits))
    }

    /// What these guesses are off by, in a release that hides nothing: those without rows.
    pub fn noise_from<B: Bits>(&self, bits: &mut B) -> Vec<f64> {
        let mut nodes = self.cells.count();
        let levels = (0..self.levels).map(|_| {
            let noise = (0..nodes).map(|_| self.noise.draw(bits).value as i64);
            let level = memory::vector(nodes, noise);
            nodes = nodes.div_ceil(self.branches);
            level
        });
        let levels: Vec<_> = levels.collect();
        self.sums(&levels)
    }

    fn sums(&self, levels: &[Vec<i64>]) -> Vec<f64> {
        let leaves = leaves(levels, self.branches);
        let mut sum = 0.0;
        let sums = leaves.iter().map(|leaf| {
            sum += leaf;
            sum
        });
        memory::vector(leaves.len(), sums)
    }

    /// The share of epsilon of each level.
    pub fn share(&self) -> Epsilon {
        self.noise.epsilon()
    }

    /// What the squares of the weights of the nodes add up to at most, in any of the sums and of those that are left
    /// of all.
    pub fn squares_of_weights(&self) -> f64 {
        let below = (self.levels - 1) as f64;
        let top =
            (1..self.levels).fold(self.cells.count(), |nodes, _| nodes.div_ceil(self.branches));
        top as f64 + below * self.branches as f64 / 2.0
    }

    /// The parts that follow from the guesses.
    pub fn parts(sums: &[f64]) -> Vec<f64> {
        let up_to = rising(sums);
        let all = up_to.last().copied().unwrap_or(0.0);
        let points = up_to.len();
        let parts = up_to.iter().enumerate().map(|(i, rows)| match all > 0.0 {
            true => rows / all,
            // Nothing is known: as if all were evenly between the bounds.
            false => (i + 1) as f64 / points as f64,
        });
        memory::vector(points, parts)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Vec<f64> {
        Self::parts(&self.sums_from(totals, bits))
    }
}

impl Mechanism<Totals> for Cdf {
    type Answer = Vec<f64>;

    fn grid(&self) -> Option<Grid> {
        Some(self.cells.grid())
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> Vec<f64> {
        self.release_from(totals, generator)
    }
}
