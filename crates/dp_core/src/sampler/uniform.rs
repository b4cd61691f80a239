//! Uniform integers.

use crate::random::Bits;

/// Uniform on the integers in [0, n); `n >= 1`.
///
/// Lemire's method (2019): a word `w` of `W` bits gives the high part of `w * n`. Among the
/// words with a given high part, those with low part at least `2^W mod n` are
/// `floor(2^W / n)` in number, whatever the high part; the others are drawn again. So each
/// value has the same number of words: exact.
///
/// Where `n` does not fit in a word, see [`below_wide`].
#[inline]
pub fn below<B: Bits>(n: u64, bits: &mut B) -> u64 {
    debug_assert!(n >= 1);
    let last = u64::MAX >> (64 - B::WIDTH);
    if n - 1 > last {
        return below_wide(u128::from(n), bits) as u64;
    }
    loop {
        let product = u128::from(bits.word()) * u128::from(n);
        let (high, low) = ((product >> B::WIDTH) as u64, product as u64 & last);
        // The remainder is below n, so most words need no division.
        if low >= n || u128::from(low) >= (u128::from(last) + 1) % u128::from(n) {
            return high;
        }
    }
}

/// Uniform on the integers in [0, n); `1 <= n <= 2^127`.
///
/// Draws as many bits as `n - 1` has, and again while they give `n` or more.
pub fn below_wide<B: Bits>(n: u128, bits: &mut B) -> u128 {
    debug_assert!(n >= 1);
    let last = u64::MAX >> (64 - B::WIDTH);
    if n - 1 <= u128::from(last) && n <= u128::from(u64::MAX) {
        return u128::from(below(n as u64, bits));
    }
    let length = 128 - (n - 1).leading_zeros();
    loop {
        let (mut value, mut missing) = (0, length);
        while missing > 0 {
            let taken = missing.min(B::WIDTH);
            value = value << taken | u128::from(bits.word() >> (B::WIDTH - taken));
            missing -= taken;
        }
        if value < n {
            return value;
        }
    }
}
