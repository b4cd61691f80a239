//! The first word of a varlena: its length, and how it is stored; and its bytes.

use pgrx::pg_sys::{self, Datum};

/// The length word of an uncompressed varlena of that many bytes, with a header of 4 bytes.
#[inline(always)]
pub const fn length_word(size: usize) -> u32 {
    if cfg!(target_endian = "little") {
        (size as u32) << 2
    } else {
        size as u32
    }
}

/// Whether a length word says: uncompressed, a header of 4 bytes, at least that many bytes.
#[inline(always)]
pub fn is_plain(word: u32, least: usize) -> bool {
    let (size, plain) = if cfg!(target_endian = "little") {
        (word >> 2, word & 3 == 0)
    } else {
        (word & 0x3fff_ffff, word >> 30 == 0)
    };
    plain && size as usize >= least
}

/// The bytes of a varlena that is neither compressed nor stored elsewhere. Cannot panic.
///
/// # Safety
/// `datum` is a non-NULL varlena, which lives.
#[inline(always)]
pub unsafe fn plain_bytes<'a>(datum: Datum) -> Option<&'a [u8]> {
    if cfg!(target_endian = "big") {
        return None;
    }
    let start = datum.cast_mut_ptr::<u8>();
    // SAFETY: the first byte says how long the header is: one byte (the lowest bit is set; alone it is a pointer to
    // elsewhere) or four (the two lowest are 0 if it is not compressed). The length is that of header and bytes.
    unsafe {
        let first = *start;
        if first & 1 == 1 {
            let length = usize::from(first >> 1);
            return (first != 1)
                .then(|| std::slice::from_raw_parts(start.add(1), length.saturating_sub(1)));
        }
        if first & 3 != 0 {
            return None;
        }
        let length = (start.cast::<u32>().read_unaligned() >> 2) as usize;
        Some(std::slice::from_raw_parts(
            start.add(4),
            length.saturating_sub(4),
        ))
    }
}

/// The bytes of a text, whether it is compressed or stored elsewhere or not.
///
/// # Safety
/// The datum is a `text`.
pub unsafe fn text_bytes(datum: Datum) -> Vec<u8> {
    // SAFETY: a varlena, as the caller says; the plain copy is only read here.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        pgrx::varlena::varlena_to_byte_slice(varlena).to_vec()
    }
}
