//! The first word of a varlena: its length, and how it is stored.

/// The length word of an uncompressed varlena of so many bytes, with a header of 4 bytes.
#[inline(always)]
pub const fn length_word(size: usize) -> u32 {
    if cfg!(target_endian = "little") {
        (size as u32) << 2
    } else {
        size as u32
    }
}

/// Whether a length word says: uncompressed, a header of 4 bytes, at least so many bytes.
#[inline(always)]
pub fn is_plain(word: u32, least: usize) -> bool {
    let (size, plain) = if cfg!(target_endian = "little") {
        (word >> 2, word & 3 == 0)
    } else {
        (word & 0x3fff_ffff, word >> 30 == 0)
    };
    plain && size as usize >= least
}
