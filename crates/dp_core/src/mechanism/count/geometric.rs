//! The count whose noise cannot be improved on.

use super::super::{ADD_REMOVE, Entry, Info, Mechanism, PURE};
use crate::epsilon::Epsilon;
use crate::grid::Grid;
use crate::random::{Bits, Generator};
use crate::sampler::staircase::Staircase;
use crate::sums::Sums;

pub(in crate::mechanism) const ENTRY: Entry<i64> = Entry {
    info: Info {
        name: "geometric",
        guarantee: PURE,
        neighbours: ADD_REMOVE,
        parameters: &[],
        source: "Ghosh, Roughgarden, Sundararajan 2009, Universally utility-maximizing privacy \
                 mechanisms",
    },
    build: |request| Ok(Box::new(Geometric::new(request.epsilon))),
};

/// The number of rows plus two-sided geometric noise.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Noise `x` has
/// probability proportional to `e^(-epsilon |x|)`, and a shift by 1 changes `|x|` by 1.
///
/// The answer may be negative: clipping it would be post-processing, but would bias it.
#[derive(Clone, Debug)]
pub struct Geometric {
    noise: Staircase,
}

impl Geometric {
    /// With noise of scale `1 / epsilon`.
    pub fn new(epsilon: Epsilon) -> Self {
        Self {
            noise: Staircase::two_sided_geometric(epsilon),
        }
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> i64 {
        let noisy = i128::from(sums.n) + self.noise.draw(bits).value;
        noisy.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }
}

impl Mechanism for Geometric {
    type Answer = i64;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> i64 {
        self.release_from(sums, generator)
    }
}
