//! The data of rows that are changed in place: `bigint`s, and behind them columns of four bytes, without NULLs and
//! without padding. Nothing here takes memory.

/// One of the `bigint`s.
pub fn long(bytes: &[u8], i: usize) -> i64 {
    let mut long = [0; 8];
    long.copy_from_slice(&bytes[8 * i..8 * i + 8]);
    i64::from_ne_bytes(long)
}

/// The column of four bytes that begins there.
pub fn short(bytes: &[u8], at: usize) -> [u8; 4] {
    let mut short = [0; 4];
    short.copy_from_slice(&bytes[at..at + 4]);
    short
}

/// The data of as many columns as fit.
pub fn data<const BYTES: usize>(longs: &[i64], shorts: &[[u8; 4]]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let (first, second) = bytes.split_at_mut(8 * longs.len());
    for (place, long) in first.chunks_exact_mut(8).zip(longs) {
        place.copy_from_slice(&long.to_ne_bytes());
    }
    for (place, short) in second.chunks_exact_mut(4).zip(shorts) {
        place.copy_from_slice(short);
    }
    bytes
}
