//! The kinds of sums, by what they see of the rows.

use crate::encoding::octaves::{Limits, OctaveCounts};
use crate::mechanism::definition::{Built, Mechanism, Scalar};
use crate::mechanism::search::answer::AutoAnswer;
use crate::mechanism::sum::noise::{Sum, SumNoise};

/// A mechanism of sums, by what it sees of the rows.
pub enum SumMechanism {
    /// The sum of their grid steps.
    Sums(Box<Scalar<f64>>),
    /// How they lie in bins of equal relative width.
    Auto(Box<dyn AutoSum>),
}

/// A mechanism of sums that sees how rows lie in bins of equal relative width, and finds its bound in them.
pub trait AutoSum: Mechanism<OctaveCounts, Answer = AutoAnswer<f64>> {
    /// The limits of the column.
    fn limits(&self) -> &Limits;
}

impl SumMechanism {
    pub(crate) fn of_sums<N: SumNoise + 'static>(sum: Sum<N>) -> Built<Self> {
        Ok(Box::new(Self::Sums(Box::new(sum))))
    }

    /// The mechanism, if it sees the rows' sum.
    pub fn sums(self) -> Option<Box<Scalar<f64>>> {
        match self {
            Self::Sums(mechanism) => Some(mechanism),
            Self::Auto(_) => None,
        }
    }
}
