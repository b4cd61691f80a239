//! The kinds of variances, by what they see of the rows.

use crate::encoding::squares::Squares;
use crate::encoding::sums::Moments;
use crate::mechanism::bounds_search::release::Finding;
use crate::mechanism::definition::{Built, Mechanism};
use crate::mechanism::variance::moments::VarianceAnswer;

/// A mechanism that sees the number of rows, and the sums of their steps and of the squares.
pub type VarianceMechanism = dyn Mechanism<Moments, Answer = VarianceAnswer>;

/// A mechanism of variances, by what it sees of the rows.
pub enum SomeVariance {
    /// Their number, and the sums of their steps and of the squares.
    Moments(Box<VarianceMechanism>),
    /// How they lie in bins of equal relative width.
    Auto(Box<dyn Finding<Squares, VarianceAnswer>>),
}

impl SomeVariance {
    pub(crate) fn of_moments(
        mechanism: impl Mechanism<Moments, Answer = VarianceAnswer> + 'static,
    ) -> Built<Self> {
        Ok(Box::new(Self::Moments(Box::new(mechanism))))
    }

    /// The mechanism, if it sees the rows' moments.
    pub fn moments(self) -> Option<Box<VarianceMechanism>> {
        match self {
            Self::Moments(mechanism) => Some(mechanism),
            Self::Auto(_) => None,
        }
    }
}
