//! Noise on every one of many counts.

use crate::encoding::sums::Totals;
use crate::memory;
use crate::random::{Bits, add_noise};
use crate::sampler::staircase::Staircase;

/// The first `length` counts with noise on each, drawn one after the other; kept in range, which
/// is post-processing. What the state does not have counts as 0.
pub(crate) fn noisy_counts<B: Bits>(
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
