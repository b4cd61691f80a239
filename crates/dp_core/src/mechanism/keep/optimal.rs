//! Optimal partition selection.
//!
//! The proof: docs/proofs/keep-optimal.md.

use crate::encoding::grid::Grid;
use crate::encoding::sums::Sums;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, Scalar};
use crate::privacy::cost::Loss;
use crate::privacy::delta::Delta;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, noted};
use crate::sampler::selection::Selection;

pub(crate) const ENTRY: Entry<Scalar<bool>> = Entry {
    info: Info {
        name: "keep",
        what: "Desfontaines, Voss, Gipson, Mandayam 2022: shows groups with the largest \
               probability there is. (eps, delta)",
        guarantee: "(eps, delta)-differential privacy",
        loss: Loss::Approximate,
        neighbours: ADD_REMOVE,
        parameters: &[],
        example: "keep(rows=3, groups=2)",
        source: "Desfontaines, Voss, Gipson, Mandayam 2022, Differentially private partition \
                 selection: theorem 1",
    },
    plan: None,
    build: |request| {
        // It bounds people itself: see `Optimal`.
        let epsilon = request.call_epsilon()?.of_person();
        let delta = request.call_delta()?.of_person();
        let unit = request.unit()?;
        Ok(Box::new(Optimal::new(
            epsilon,
            delta,
            unit.rows,
            unit.groups,
        )))
    },
};

/// Shows a group of `n` rows with probability `pi(n)`, the largest there is: see
/// [`Selection`]. A group without rows is never shown.
///
/// **Why it is private** ((epsilon, delta); neighbours by adding or removing one row). The answer is
/// one of two, and `pi` is made so that `pi(n) <= e^epsilon pi(n-1) + delta` and
/// `1 - pi(n-1) <= e^epsilon (1 - pi(n)) + delta`. As `pi` grows with `n`, the other two
/// inequalities, `pi(n-1) <= pi(n)` and `1 - pi(n) <= 1 - pi(n-1)`, leave room even at
/// epsilon and delta 0. An event is one answer, both or none: that is all.
///
/// *What the groups of a query show together*, the list of those that are kept, is as private:
/// a row is in one group, and the groups that are not in the table, which are the rest of all
/// thinkable ones, are never shown, just as `pi(0) = 0` has it. That is why a group that is not
/// there need not toss a coin, and why delta cannot be 0: a first row must be able to show its
/// group.
///
/// **With `rows=k`** (neighbours add or remove up to `k` rows of a group) it is `pi(ceil(n / k))`.
/// Up to `k` rows move `ceil(n / k)` by 0 or 1, so that the inequalities above are those that are
/// needed. And no mechanism shows more: if `p(0) = 0` and the inequalities hold for numbers of rows
/// up to `k` apart, then `p(n) <= pi(ceil(n / k))`, by induction from `n - k`, or from 0, to `n`. (Group
/// privacy, which is the way to go for noise, would take `k` steps of `epsilon / k` and of
/// `delta (e^(epsilon / k) - 1) / (e^epsilon - 1)`: that is one of those mechanisms, and shows less.)
///
/// **With `groups=l`** (neighbours differ in up to `l` groups) each group gets `epsilon / l` and
/// `delta / l`, rounded down: `l` answers that differ compose to at most `(epsilon, delta)`.
#[derive(Clone, Debug)]
pub struct Optimal {
    selection: Selection,
    rows: u32,
}

impl Optimal {
    /// For people with up to `rows` rows in each of up to `groups` groups; both from 1 to a million.
    pub fn new(epsilon: Epsilon, delta: Delta, rows: u32, groups: u32) -> Self {
        Self {
            selection: Selection::new(epsilon.over(groups), delta.over(groups)),
            rows: rows.max(1),
        }
    }

    /// The probability with which a group of `n` rows is shown, as a float.
    pub fn probability(&self, n: i64) -> f64 {
        self.selection.probability(self.steps(n))
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> bool {
        let steps = self.steps(sums.n);
        let kept = self.selection.toss(steps, bits);
        noted(&[i128::from(steps)], i128::from(kept), bits) == 1
    }

    /// How many people at least the rows are of. (A state that was tampered with may say less
    /// than none.)
    fn steps(&self, n: i64) -> u64 {
        u64::try_from(n).unwrap_or(0).div_ceil(u64::from(self.rows))
    }
}

impl Mechanism for Optimal {
    type Answer = bool;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> bool {
        self.release_from(sums, generator)
    }
}
