//! What a call that keeps some groups of each person asks for: how many.

use crate::error::ParameterError;

/// The most groups of a person that can be kept. What is kept of a person is as large as this allows.
pub const MOST: u32 = 1000;

/// Checks the most groups of a person; `None` also represents what no number of groups can be.
///
/// # Errors
/// Another number, or NULL.
pub fn most_groups(groups: Option<usize>) -> Result<u32, ParameterError> {
    let most = groups.and_then(|groups| u32::try_from(groups).ok());
    most.filter(|groups| (1..=MOST).contains(groups))
        .ok_or_else(|| {
            ParameterError::new(
                "groups",
                "must be a number from 1 to 1000, and not NULL",
                "Give the most groups that a person counts in, a constant, and groups= of the mechanism at least as \
                 large.",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_groups_are_a_number_from_1() {
        for groups in [1, 2, 1000] {
            assert_eq!(most_groups(Some(groups)).unwrap() as usize, groups);
        }
        for groups in [None, Some(0), Some(1001), Some(usize::MAX)] {
            assert_eq!(most_groups(groups).unwrap_err().argument, "groups");
        }
    }
}
