//! Two-sided geometric noise on every count.
//!
//! The proof: docs/proofs/histogram-geometric.md.

use crate::encoding::buckets::Buckets;
use crate::encoding::grid::Grid;
use crate::encoding::sums::Totals;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, PURE};
use crate::mechanism::histogram::counts::noisy_counts;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator};
use crate::request::parameter::{Parameter, ParameterKind};
use crate::sampler::staircase::Staircase;

/// The parameter `outside`.
const OUTSIDE: Parameter = Parameter {
    name: "outside",
    kind: ParameterKind::Word(&["clamp", "drop"]),
    domain: "clamp or drop",
    description: "where values outside of [lo, hi] go: to the first and the last bucket (the \
                  default), or to none",
};

pub(crate) const ENTRY: Entry<Histogram> = Entry {
    info: Info {
        name: "geometric",
        what: "two-sided geometric noise on each bucket: a row is in one only",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[OUTSIDE],
        example: "geometric",
        source: "Dwork, McSherry, Nissim, Smith 2006, histograms; Ghosh, Roughgarden, Sundararajan \
                 2009, Universally utility-maximizing privacy mechanisms",
    },
    plan: None,
    build: |request| {
        let buckets = Buckets::new(&request.bounds()?, request.length)?;
        let drops = request.choice.word(OUTSIDE.name) == Some("drop");
        Ok(Box::new(Histogram::new(
            buckets,
            drops,
            request.row_epsilon()?,
        )))
    },
};

/// Every count with independent two-sided geometric noise, that of an empty bucket too.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Noise `x` has
/// probability proportional to `exp(-epsilon (|x_1| + ... + |x_d|))`. A row moves one count by 1
/// and no other, so the sum of absolute values by at most 1. With `outside=drop` a row outside of
/// the bounds moves none. The number of buckets and which there are is public, and all of them
/// answer: that a bucket is there tells nothing.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Buckets,
    drops: bool,
    noise: Staircase,
}

impl Histogram {
    /// With noise of scale `1 / epsilon`; with `drops`, without the rows outside of the bounds.
    pub fn new(buckets: Buckets, drops: bool, epsilon: Epsilon) -> Self {
        Self {
            buckets,
            drops,
            noise: Staircase::two_sided_geometric(epsilon),
        }
    }

    /// The buckets.
    pub fn buckets(&self) -> &Buckets {
        &self.buckets
    }

    /// Whether rows outside of the bounds are in no bucket.
    pub fn drops(&self) -> bool {
        self.drops
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Vec<i64> {
        noisy_counts(totals, self.buckets.count(), &self.noise, bits)
    }
}

impl Mechanism<Totals> for Histogram {
    type Answer = Vec<i64>;

    fn grid(&self) -> Option<Grid> {
        Some(self.buckets.grid())
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> Vec<i64> {
        self.release_from(totals, generator)
    }
}
