//! Noise in the shape of an ellipse: for rows that say yes to few questions.
//!
//! The proof: docs/proofs/vector-ellipse.md.

use crate::encoding::grid::Bounds;
use crate::error::ParameterError;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info};
use crate::mechanism::gaussian::{self, GAUSSIAN};
use crate::mechanism::vector::additive::{Additive, VectorNoise};
use crate::mechanism::vector::items::{Items, LENGTH, Vector};
use crate::privacy::cost::Loss;
use crate::random::Bits;
use crate::request::budget::{DELTA, MU, RHO, outside};
use crate::request::parameter::{Parameter, ParameterKind};
use crate::sampler::normal::RoundedSums;

pub(crate) const ENTRY: Entry<Vector> = Entry {
    info: Info {
        name: "ellipse",
        what: "Joseph, Yu 2024: for rows that say yes to at most `k=` questions (of more, the \
               first `k` count)",
        guarantee: GAUSSIAN,
        loss: Loss::Gaussian,
        neighbours: ADD_REMOVE,
        parameters: &[DELTA, MU, RHO, MOST, LENGTH],
        example: "ellipse(delta=1e-6, k=3, d=64)",
        source: "Joseph, Yu 2024, Some constructions of private, efficient, and optimal k-norm and \
                 elliptic Gaussian noise: the Count ellipse",
    },
    plan: None,
    build: |request| {
        let (items, mu) = (request.items()?, request.row_mu()?);
        // With any other bounds a missing number, which counts as 0, would not be 0 steps.
        let from_0 = |bounds: Bounds| bounds.lo() == 0.0 || bounds.hi() == 0.0;
        if !items.bounds.is_none_or(from_0) {
            return Err(ParameterError::new(
                "lo",
                "or \"hi\" must be 0 for the mechanism ellipse",
                "It is made for rows of which few numbers are other than 0, all of one sign.",
            ));
        }
        let most = match request.choice.get(MOST.name) {
            Some(most) => most as usize,
            None => {
                return Err(ParameterError::new(
                    "mech",
                    "does not say how many numbers of a row may be other than 0",
                    "Give the parameter k, as in ellipse(delta=1e-6, k=3), or use correlated.",
                ));
            }
        };
        if !(1..=items.length / 2).contains(&most) {
            return Err(outside(&MOST));
        }
        let noise = Ellipse::new(&items, most, mu);
        Ok(Box::new(Additive::new(items, most, noise)))
    },
};

const MOST: Parameter = Parameter {
    name: "k",
    kind: ParameterKind::Whole,
    domain: "1 <= k <= d/2",
    description: "how many numbers of a row may be other than 0: in a row with more, the first k \
                  count",
};

/// Gaussian noise that is longer along (1, ..., 1) than across: a noise of its own for each sum,
/// and one that all share. The reals are added, then rounded once.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). A row has numbers from
/// 0 to `G`, at most `k` of them other than 0. The set of such rows, and the set of their opposites,
/// lies in the convex hull of those with `m <= k` numbers at `G`. Along (1, ..., 1) such a row
/// is `m / sqrt(d)` long (in units of `G`), at most `sqrt(p)` with `p = k^2 / d`; across it is
/// `sqrt(m - m^2 / d)`, which grows up to `m = d/2`, so at most `sqrt(q)` with `q = k - k^2 / d`.
/// With `T = sqrt(p) + sqrt(q (d - 1))` let the noise have variance `a1^2 = sqrt(p) T` along and
/// `a2^2 = sqrt(q / (d - 1)) T` in each direction across, over `mu^2`. Measured by this noise no row
/// is longer than `mu`, for `p / a1^2 + q / a2^2 = (sqrt(p) + sqrt(q (d - 1))) / T = 1`, and so
/// for the whole hull; Gaussian noise is mu-GDP if so. Since `k^2 >= k`, `a1 >= a2`: independent
/// noise of variance `a2^2` and a shared one of `(a1^2 - a2^2) / d` make this noise.
///
/// The shared noise is not released, so rounding the two apart would not be post-processing of the
/// Gaussian mechanism; rounding their sum is, since the sums are integers.
#[derive(Clone, Debug)]
pub struct Ellipse {
    own: f64,
    shared: f64,
    noise: RoundedSums,
}

impl Ellipse {
    /// For vectors of these items with at most `most` other than 0, `1 <= most <= d / 2`.
    pub fn new(items: &Items, most: usize, mu: f64) -> Self {
        let (length, most) = (items.length as f64, most as f64);
        let (p, q) = (most * most / length, most * (length - most) / length);
        let whole = p.sqrt() + (q * (length - 1.0)).sqrt();
        let across = (q / (length - 1.0)).sqrt() * whole;
        // sqrt(p) - sqrt(q / (d - 1)), without the loss of digits where the two are near.
        let longer =
            (most * (most - 1.0) / (length - 1.0)) / (p.sqrt() + (q / (length - 1.0)).sqrt());
        let unit = items.steps as f64 / mu;
        let own = gaussian::no_less(across.sqrt() * unit);
        let shared = gaussian::no_less((longer * whole / length).sqrt() * unit);
        Self {
            own,
            shared,
            noise: RoundedSums::new(own, shared),
        }
    }
}

impl VectorNoise for Ellipse {
    fn draw<B: Bits>(&self, length: usize, bits: &mut B) -> Vec<i128> {
        self.noise.draw(length, bits)
    }

    fn spread(&self) -> (f64, f64) {
        (self.own.hypot(self.shared), self.shared * self.shared)
    }
}
