//! What answers are found by, and how much is kept.

use std::time::Duration;

/// A question, as a hash of all that its answer depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

/// The most bytes of an answer that is kept.
pub const MOST_BYTES: usize = 1 << 20;

/// The longest time that an answer is kept.
pub const LONGEST: Duration = Duration::from_hours(365 * 24);
