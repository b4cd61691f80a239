//! Mechanisms for histograms: how many rows fall in each of some buckets.
//!
//! **Sensitivity space.** The buckets are public, and each row is counted in one of them at most:
//! which one is a function of its own value. So adding or removing a row moves one count by 1 or
//! -1, and no other.

pub mod geometric;

use crate::memory;
use crate::random::{Bits, add_noise};
use crate::sampler::staircase::Staircase;
use crate::sums::Totals;

/// The first `length` counts with noise on each, drawn one after the other; kept in range, which
/// is post-processing. What the state does not have counts as 0.
pub(super) fn noisy_counts<B: Bits>(
    totals: &Totals,
    length: usize,
    noise: &Staircase,
    bits: &mut B,
) -> Vec<i64> {
    let counts = totals.s.iter().copied().chain(std::iter::repeat(0));
    let noisy = counts.map(|count| add_noise(count, noise.draw(bits).value, bits));
    let kept = noisy.map(|count| count.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64);
    memory::vector(length, kept)
}
