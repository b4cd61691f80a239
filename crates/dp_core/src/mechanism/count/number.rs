//! What the mechanisms of counts share.

use crate::accuracy::interval::Intervals;
use crate::encoding::sums::Sums;
use crate::random::{Bits, add_noise};

/// The interval of answers that lack `short`, give or take `reach`, of the number of rows; both are
/// whole numbers. No number of rows is negative.
pub(crate) fn within(short: f64, reach: f64) -> Option<Intervals<i64>> {
    Some(Box::new(move |count| {
        [short - reach, short + reach].map(|off| (*count as f64 + off).max(0.0))
    }))
}

/// The number of rows with this noise on it, kept in range (which is post-processing).
pub(crate) fn noisy_count<B: Bits>(sums: &Sums, noise: i128, bits: &mut B) -> i64 {
    let noisy = add_noise(i128::from(sums.n), noise, bits);
    noisy.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
