//! Bins of magnitudes: powers of two of both signs, and zero. Each row is in one, by a fixed
//! function of its value alone.

/// The magnitudes told apart are from `2^LOWEST` to `2^HIGHEST`.
const LOWEST: i64 = -64;
const HIGHEST: i64 = 64;

/// Bins of one sign: magnitudes from a power of two, included, to the next, not included.
const OF_A_SIGN: usize = (HIGHEST - LOWEST) as usize;

/// All bins, in the order of the values in them; the one of zero is in the middle.
pub const BINS: usize = 2 * OF_A_SIGN + 1;

/// The bin of a row, counted from 0: below [`BINS`], whatever `x` is. Magnitudes below 2^-64 are
/// in the bin of zero, those of 2^64 and above, infinities too, in the last bin of their sign.
/// Cannot panic: the hot path calls it for each row.
#[inline(always)]
pub fn bin(x: f64) -> usize {
    // The exponent is in the bits: below all others for zero and denormals, above for
    // infinities.
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i64 - 1023;
    let magnitude = (exponent - LOWEST + 1).clamp(0, OF_A_SIGN as i64) as usize;
    if x.is_sign_negative() {
        OF_A_SIGN - magnitude
    } else {
        OF_A_SIGN + magnitude
    }
}

/// The smallest and the largest value that a bin represents: two powers of two next to each
/// other, or twice 0.
pub fn ends(bin: usize) -> [f64; 2] {
    let power = |magnitude: usize| 2f64.powi(magnitude as i32 + LOWEST as i32 - 1);
    match bin.abs_diff(OF_A_SIGN) {
        0 => [0.0, 0.0],
        magnitude if bin < OF_A_SIGN => [-power(magnitude + 1), -power(magnitude)],
        magnitude => [power(magnitude), power(magnitude + 1)],
    }
}
