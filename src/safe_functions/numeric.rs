//! A `numeric` of few digits as a float. PostgreSQL writes a text and reads that, which takes ten times as long.

use pgrx::pg_sys::Datum;

use crate::pg::varlena;

/// The largest number up to which each integer is a float.
const LARGEST: u64 = 1 << 53;

/// Powers of ten that are floats.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The float that is nearest to it, as PostgreSQL has it; `None` where that is not sure, or the number is none.
///
/// # Safety
/// The datum is a `numeric`.
pub unsafe fn float(number: Datum) -> Option<f64> {
    // SAFETY: a varlena, as the caller says.
    let bytes = unsafe { varlena::plain_bytes(number) }?;
    let mut words = bytes.chunks_exact(2);
    let mut word = || {
        let word = words.next()?;
        Some(u16::from_ne_bytes([word[0], word[1]]))
    };
    let head = word()?;
    // The weight is the place of the first digit; each of these is four decimal digits.
    let (is_negative, weight) = match head >> 14 {
        3 => return None,
        // The short form, in which the weight has six bits and a sign.
        2 => {
            let weight = i32::from(head & 0x3f) - i32::from(head & 0x40);
            (head & 0x2000 != 0, weight)
        }
        sign => (sign == 1, i32::from(word()? as i16)),
    };
    let (mut whole, mut place) = (0u64, weight + 1);
    while let Some(digit) = word() {
        whole = whole.checked_mul(10_000)?.checked_add(digit.into())?;
        place -= 1;
    }
    if whole > LARGEST {
        return None;
    }
    // Both are floats, so the one operation rounds, and to the nearest float.
    let tens = TENS.get(usize::try_from(4 * place.unsigned_abs()).ok()?)?;
    let float = match place < 0 {
        true => whole as f64 / tens,
        false => whole as f64 * tens,
    };
    Some(if is_negative { -float } else { float })
}
