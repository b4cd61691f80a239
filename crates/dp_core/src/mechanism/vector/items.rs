//! What the mechanisms of vectors share: what a row is, and what a release hands back.

use crate::accuracy::cube;
use crate::accuracy::tail::{self, quantile};
use crate::encoding::grid::{self, Bounds, Grid};
use crate::encoding::sums::Totals;
use crate::error::ParameterError;
use crate::mechanism::definition::Mechanism;
use crate::memory;
use crate::request::budget::outside;
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};

/// The longest vector taken.
pub const LONGEST: usize = 100_000;

/// Steps in a unit of a count.
pub(crate) const COUNT_STEPS: u64 = 1 << 20;

/// A mechanism of vectors, with all its public parameters fixed.
pub trait VectorMechanism: Mechanism<Totals, Answer = VectorAnswer> {
    /// What a row is.
    fn rows(&self) -> Rows;

    /// The standard deviations and covariances of the noise in an answer: public numbers.
    fn spread(&self) -> Spread;
}

/// A mechanism of vectors.
pub type Vector = dyn VectorMechanism;

/// What the rows of a mechanism of vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Positions.
    pub length: usize,
    /// How many positions of a row may be other than 0: of those that are, the first ones count.
    pub most: usize,
}

/// What a release of a mechanism of vectors hands back.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorAnswer {
    /// The noisy number of rows, at no further cost, where the mechanism has one.
    pub total: Option<f64>,
    /// For each position, the noisy sum in units of sensitivity: a count, or how far the sum is
    /// from what it would be if all rows were at the value that counts as 0.
    pub parts: Vec<f64>,
    pub(crate) items: Items,
    pub(crate) origin: Origin,
}

/// How uncertain an answer is: all values have the same standard deviation, and all pairs of them the same covariance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The standard deviation of each value.
    pub sd: f64,
    /// The covariance of two values.
    pub covariance: f64,
    /// The standard deviation of the total, where there is one.
    pub total_sd: Option<f64>,
    /// The covariance of the total with each value.
    pub total_covariance: Option<f64>,
    /// The law of the noise.
    pub(crate) law: Law,
    /// A step of the noise in the unit of the values, and in rows.
    pub(crate) step: [f64; 2],
}

/// The law of noise, but for its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// The normal law.
    Normal,
    /// That of Laplace.
    Laplace,
    /// In the shape of a cube: a value is one of its numbers, plus the last one, which all values share.
    Cube {
        /// How many numbers have noise.
        numbers: usize,
        /// The scale of a value's own number.
        own: f64,
        /// The scale of the last number in a value.
        shared: f64,
        /// The scale of the last number in the total.
        unit: f64,
    },
}

/// Half of the widths of intervals, over the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfWidths {
    /// Of a value.
    pub value: f64,
    /// Of the difference of two, where there are two.
    pub difference: Option<f64>,
    /// Of the total, where there is one.
    pub total: Option<f64>,
}

/// What steps are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The lower bound: steps are from 0 to `G`.
    Lower,
    /// 0: steps are from `-G` to `G`.
    Zero,
}

/// What the numbers of a vector are, and the integers that stand for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Items {
    pub(crate) length: usize,
    /// `None` for yes/no questions.
    pub(crate) bounds: Option<Bounds>,
    /// `G`: steps in a unit of sensitivity.
    pub(crate) steps: u64,
    /// Steps in one step of the state.
    pub(crate) finer: u64,
}

impl Items {
    /// Answers to yes/no questions.
    pub fn questions(length: usize) -> Self {
        Self {
            length,
            bounds: None,
            steps: COUNT_STEPS,
            finer: COUNT_STEPS,
        }
    }

    /// Values with these bounds.
    pub fn values(length: usize, bounds: Bounds) -> Self {
        Self {
            length,
            bounds: Some(bounds),
            steps: grid::STEPS,
            finer: 1,
        }
    }

    /// The same, with noise in whole steps of the state.
    pub(crate) fn coarse(self) -> Self {
        Self {
            steps: self.steps / self.finer,
            finer: 1,
            ..self
        }
    }

    /// Positions.
    pub fn length(&self) -> usize {
        self.length
    }

    /// `G`: steps in a unit of sensitivity.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The sum at each position, in steps.
    pub(crate) fn sums<'a>(&'a self, totals: &'a Totals) -> impl Iterator<Item = i128> + 'a {
        let sums = totals.s.iter().take(self.length);
        sums.map(|sum| sum.saturating_mul(i128::from(self.finer)))
    }

    /// `2 S_j - G n` for each position: what is centred moves by at most `G` with a row.
    pub(crate) fn centred(&self, totals: &Totals) -> Vec<i128> {
        let whole = self.whole(totals);
        let sums = self.sums(totals);
        let centred = sums.map(|sum| sum.saturating_mul(2).saturating_sub(whole));
        memory::vector(self.length, centred)
    }

    /// Rows whose positions may all be other than 0.
    pub(crate) fn rows(&self) -> Rows {
        Rows {
            length: self.length,
            most: self.length,
        }
    }

    /// `G n`.
    pub(crate) fn whole(&self, totals: &Totals) -> i128 {
        i128::from(self.steps) * i128::from(totals.n)
    }

    pub(crate) fn grid(&self, origin: Origin) -> Option<Grid> {
        self.bounds.map(|bounds| match origin {
            Origin::Lower => Grid::unit(&bounds),
            Origin::Zero => Grid::signed(&bounds),
        })
    }

    /// How far apart two values that count from 0 can be on the grid, in units of sensitivity: 1 to
    /// 2 where the bounds have 0 between them.
    pub(crate) fn most_apart(&self) -> f64 {
        self.bounds.map_or(1.0, |bounds| {
            let grid = Grid::signed(&bounds);
            let steps = grid.steps(bounds.hi()) - grid.steps(bounds.lo());
            steps as f64 / grid::STEPS as f64
        })
    }

    /// Half of the width of the bounds, and the middle between them.
    pub(crate) fn half_and_middle(&self) -> [f64; 2] {
        let (lowest, width) = self.scale(Origin::Lower);
        let half = width / 2.0;
        [half, lowest + half]
    }

    /// A value of 0 parts per row, and that of one part.
    pub(crate) fn scale(&self, origin: Origin) -> (f64, f64) {
        match (self.bounds, origin) {
            (None, _) => (0.0, 1.0),
            (Some(bounds), Origin::Lower) => (bounds.lo(), bounds.width()),
            (Some(bounds), Origin::Zero) => (0.0, bounds.magnitude()),
        }
    }
}

impl Spread {
    /// Of intervals that miss with at most that probability, each for itself.
    pub fn half_widths(&self, miss: f64, length: usize) -> HalfWidths {
        // Of scale 1: a search in the smallest floats would not end.
        let normal = |sd: f64| sd * quantile(miss, |t| tail::normal(1.0, t));
        let variance = self.sd * self.sd;
        let apart = match variance.is_finite() {
            true => (2.0 * (variance - self.covariance).max(0.0)).sqrt(),
            false => f64::INFINITY,
        };
        let (value, difference, total) = match self.law {
            Law::Normal => (normal(self.sd), normal(apart), self.total_sd.map(normal)),
            Law::Laplace => {
                let scale = self.sd / 2f64.sqrt();
                let one = quantile(miss, |t| tail::laplace(1.0, t));
                let two = quantile(miss, |t| tail::laplace_pair(1.0, 1.0, t));
                (scale * one, scale * two, None)
            }
            Law::Cube {
                numbers,
                own,
                shared,
                unit,
            } => {
                let of = |weights| cube::reach(numbers, weights, miss);
                let total = self.total_sd.map(|_| of([unit, 0.0]));
                let difference = if length > 1 { of([own, own]) } else { 0.0 };
                (of([own, shared]), difference, total)
            }
        };
        let [step, step_of_total] = self.step;
        HalfWidths {
            value: value + step,
            difference: (length > 1).then_some(difference + 2.0 * step),
            total: total.map(|total| total + step_of_total),
        }
    }

    /// Of values that are half the width times a number `2 S_j - G n` plus the midpoint times the number of rows, with
    /// noise of these standard deviations, in units of sensitivity, that do not correlate.
    pub(crate) fn of_centred(items: &Items, sd: f64, sd_whole: f64) -> Self {
        let [half, middle] = items.half_and_middle();
        let shared = middle * sd_whole;
        let steps = items.steps as f64;
        Self {
            sd: (half * sd).hypot(shared),
            covariance: shared * shared,
            total_sd: Some(sd_whole),
            total_covariance: Some(shared * sd_whole),
            law: Law::Normal,
            step: [(half + middle.abs()) / steps, 1.0 / steps],
        }
    }
}

impl VectorAnswer {
    /// From the noisy `2 S_j - G n`, and the noisy `G n`.
    pub(crate) fn of_centred(items: Items, centred: Vec<i128>, whole: i128) -> Self {
        let steps = items.steps as f64;
        let part = |number: i128| number.saturating_add(whole) as f64 / (2.0 * steps);
        let parts = centred.into_iter().map(part);
        Self::new(items, Origin::Lower, Some(whole as f64 / steps), parts)
    }

    pub(crate) fn new(
        items: Items,
        origin: Origin,
        total: Option<f64>,
        parts: impl Iterator<Item = f64>,
    ) -> Self {
        Self {
            total,
            parts: memory::vector(items.length, parts),
            items,
            origin,
        }
    }

    /// The noisy counts, or the noisy sums in the unit of the values.
    pub fn values(&self) -> Vec<f64> {
        let (lowest, unit) = self.items.scale(self.origin);
        let base = match self.origin {
            Origin::Lower => self.total.unwrap_or(0.0),
            Origin::Zero => 0.0,
        };
        // Near the largest floats the two terms could be infinite where their sum is not.
        let shrink = if unit.max(lowest.abs()) > 1e200 {
            1e-100
        } else {
            1.0
        };
        let value = |part: &f64| (lowest * shrink * base + unit * shrink * part) / shrink;
        memory::vector(self.parts.len(), self.parts.iter().map(value))
    }

    /// The means: the noisy sums over the noisy number of rows, inside the bounds; the midpoint
    /// where that number is not positive or not known.
    pub fn means(&self) -> Vec<f64> {
        let (lo, hi) = self
            .items
            .bounds
            .map_or((0.0, 1.0), |bounds| (bounds.lo(), bounds.hi()));
        let total = self.total.filter(|total| *total > 0.0);
        let mean = |part: &f64| match total {
            None => lo.midpoint(hi),
            Some(total) => (lo + (hi - lo) * (part / total).clamp(0.0, 1.0)).clamp(lo, hi),
        };
        memory::vector(self.parts.len(), self.parts.iter().map(mean))
    }
}

/// Neighbours by adding or removing, or by replacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// One table has one row more.
    AddRemove,
    /// One row differs, and may be in another group.
    Replace,
}

/// The parameter `d`.
pub(crate) const LENGTH: Parameter = Parameter {
    name: "d",
    kind: ParameterKind::Whole,
    domain: "1 to 100000",
    description: "how many numbers a row has: needed where they come as an array",
};

/// The parameter `relation`.
pub(crate) const RELATION: Parameter = Parameter {
    name: "relation",
    kind: ParameterKind::Word(&["add_remove", "replace"]),
    domain: "add_remove or replace",
    description: "what neighbours differ by: one row more or less (the default), or one row \
                  replaced, also by one of another group",
};

/// The neighbours of a mechanism that takes `relation`.
pub(crate) const EITHER: &str = "add or remove one row; with relation=replace, replace one row";

impl Request<'_> {
    /// What the rows are.
    pub(crate) fn items(&self) -> Result<Items, ParameterError> {
        let given = self.choice.get(LENGTH.name).map(|length| length as usize);
        let length = match (self.length, given) {
            (None, None) => {
                return Err(ParameterError::new(
                    "mech",
                    "does not say how many numbers a row has",
                    "Give the parameter d, as in correlated(delta=1e-6, d=64): it must not come \
                     from the rows.",
                ));
            }
            (Some(questions), Some(length)) if questions != length => {
                return Err(ParameterError::new(
                    "mech",
                    "gives a d that is not the number of questions in the call",
                    "Leave out d, or write VARIADIC before an array of questions.",
                ));
            }
            (_, Some(length)) | (Some(length), None) => length,
        };
        if !(1..=LONGEST).contains(&length) {
            return Err(outside(&LENGTH));
        }
        Ok(match self.bounds {
            None => Items::questions(length),
            Some(bounds) => Items::values(length, bounds),
        })
    }

    pub(crate) fn relation(&self) -> Relation {
        match self.choice.word(RELATION.name) {
            Some("replace") => Relation::Replace,
            _ => Relation::AddRemove,
        }
    }
}
