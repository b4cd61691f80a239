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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Script;

    #[test]
    fn words_that_would_favour_a_value_are_drawn_again() {
        // One word of 2^64 is too many for 3 values: that of the low part 0.
        let draw = |n, words: &[u64]| Script::play(words, |bits| below(n, bits));
        assert_eq!(draw(3, &[0, 1 << 63]), (1, 2));
        assert_eq!(draw(3, &[0, 0, u64::MAX]), (2, 3));
        // The least low part that counts.
        let third = 0xAAAA_AAAA_AAAA_AAAB;
        assert_eq!((3u64.wrapping_mul(third), draw(3, &[third])), (1, (2, 1)));
        assert_eq!(draw(3, &[1]), (0, 1));
        // A quarter of all words is too many for 3/8 of 2^64 values: 0 and 3 are, 1 and 2 are not.
        let values = 3 << 61;
        assert_eq!(draw(values, &[0, 3, 1]), (0, 3));
        assert_eq!(draw(values, &[2]), (0, 1));
        // Powers of two take each word.
        for n in [1, 2, 1 << 63] {
            assert_eq!(draw(n, &[0]), (0, 1));
            assert_eq!(draw(n, &[u64::MAX]), (n - 1, 1));
        }
    }

    #[test]
    fn numbers_beyond_the_last_value_are_drawn_again() {
        let n = (1 << 64) + 1;
        let draw = |words: &[u64]| Script::play(words, |bits| below_wide(n, bits));
        let (half, all) = (1 << 63, u64::MAX);
        assert_eq!(draw(&[0, half]), (1, 2));
        assert_eq!(draw(&[half, 0]), (1 << 64, 2));
        assert_eq!(draw(&[half, half, all, all, 0, 0]), (0, 6));
    }
}
