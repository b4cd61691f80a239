//! What a call that makes contributions asks for: bounds, and the most rows that a person counts for.

use crate::encoding::grid::Bounds;
use crate::error::ParameterError;
use crate::request::arguments::Arguments;
use crate::request::unit::MOST_OF_A_PERSON;

/// The arguments of a call that makes contributions, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContributionRule {
    /// The bounds of each row, or of the person's total.
    pub bounds: Bounds,
    /// The most rows that a person counts for.
    pub k: u32,
}

impl ContributionRule {
    /// Checks the bounds, and `k`, which stands as the length: 1 where it was not given.
    ///
    /// # Errors
    /// The first argument that breaks its rule.
    pub fn new(arguments: &Arguments) -> Result<Self, ParameterError> {
        let (lo, hi) = arguments.bounds.unwrap_or_default();
        Ok(Self {
            bounds: Bounds::new(lo, hi)?,
            k: arguments.length.map_or(Ok(1), most_rows)?,
        })
    }
}

/// Checks the most rows of a person, `k`; 0 also represents NULL, and for what no number of rows can be.
fn most_rows(k: usize) -> Result<u32, ParameterError> {
    let most = u32::try_from(k).ok();
    most.filter(|k| (1..=MOST_OF_A_PERSON).contains(k))
        .ok_or_else(|| {
            ParameterError::new(
                "k",
                "must be a number from 1 to 1000000, and not NULL",
                "Give the most rows that a person counts for, a constant: 1 is right for most means.",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_rows_are_a_number_from_1() {
        let rule = |length, hi| {
            ContributionRule::new(&Arguments {
                bounds: Some((Some(0.0), hi)),
                length,
                ..Arguments::default()
            })
        };
        for (k, is) in [(None, 1), (Some(1), 1), (Some(1_000_000), 1_000_000)] {
            assert_eq!(rule(k, Some(1.0)).unwrap().k, is);
        }
        for k in [0, 1_000_001, 1 << 40, usize::MAX] {
            assert_eq!(rule(Some(k), Some(1.0)).unwrap_err().argument, "k");
        }
        for hi in [None, Some(0.0), Some(f64::NAN)] {
            assert_eq!(rule(Some(0), hi).unwrap_err().argument, "hi");
        }
    }
}
