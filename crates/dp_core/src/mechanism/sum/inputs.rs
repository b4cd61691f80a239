//! The kinds of sums, by what they see of the rows.

use crate::encoding::log_bins::Content;
use crate::mechanism::bounds_search::release::Finding;
use crate::mechanism::definition::{Built, Scalar};
use crate::mechanism::sum::noise::{Sum, SumNoise};

/// A mechanism of sums, by what it sees of the rows.
pub enum SumMechanism {
    /// The sum of their grid steps.
    Sums(Box<Scalar<f64>>),
    /// How they lie in bins of equal relative width.
    Auto(Box<dyn Finding<Content, f64>>),
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
