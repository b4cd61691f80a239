//! Two-sided geometric noise on the numbers of rows below, inside and above.
//!
//! The proof: docs/proofs/clamped-geometric.md.

use crate::encoding::grid::{Bounds, Grid};
use crate::encoding::sides::SIDES;
use crate::encoding::sums::Totals;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, PURE};
use crate::mechanism::histogram::counts::noisy_counts;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator};
use crate::sampler::staircase::Staircase;

pub(crate) const ENTRY: Entry<Clamped> = Entry {
    info: Info {
        name: "geometric",
        what: "two-sided geometric noise on each of the three numbers: a row is in one only",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "geometric",
        source: "Dwork, McSherry, Nissim, Smith 2006, histograms; Ghosh, Roughgarden, Sundararajan \
                 2009, Universally utility-maximizing privacy mechanisms",
    },
    plan: None,
    build: |request| {
        Ok(Box::new(Clamped::new(
            &request.bounds()?,
            request.row_epsilon()?,
        )))
    },
};

/// The three counts with independent two-sided geometric noise, also where no row is.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Noise `x` has
/// probability proportional to `exp(-epsilon (|x_1| + |x_2| + |x_3|))`. A row moves one count by 1 and
/// no other, so the sum of absolute values by at most 1: the three together cost epsilon once. All
/// three always answer.
///
/// Answers may be negative: clipping them would be post-processing, but would bias them.
#[derive(Clone, Debug)]
pub struct Clamped {
    grid: Grid,
    noise: Staircase,
}

impl Clamped {
    /// With noise of scale `1 / epsilon`.
    pub fn new(bounds: &Bounds, epsilon: Epsilon) -> Self {
        Self {
            grid: Grid::unit(bounds),
            noise: Staircase::two_sided_geometric(epsilon),
        }
    }

    /// One release from any source of words: the numbers of rows below, inside and above.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> [i64; SIDES] {
        let noisy = noisy_counts(totals, SIDES, &self.noise, bits);
        std::array::from_fn(|side| noisy[side])
    }
}

impl Mechanism<Totals> for Clamped {
    type Answer = [i64; SIDES];

    fn grid(&self) -> Option<Grid> {
        Some(self.grid)
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> [i64; SIDES] {
        self.release_from(totals, generator)
    }
}
