//! Bytes as text, in the alphabet for URLs (RFC 4648, section 5), without padding. Each text stands for its own bytes
//! alone: what another encoder might write for the same bytes is no text.
//!
//! Texts are read here, sixteen letters at once without a table or a branch, which compilers make vector instructions of:
//! in a third of the library's time, and the coordinator reads the parts of all workers.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};

/// How many bytes sixteen letters are.
const BYTES: usize = 12;
const LETTERS: usize = 16;

/// Makes `text` that of these bytes. `None` where memory ends.
pub fn encode(bytes: &[u8], text: &mut Vec<u8>) -> Option<()> {
    resize(text, base64::encoded_len(bytes.len(), false)?)?;
    let written = BASE64_URL_SAFE_NO_PAD.encode_slice(bytes, text).ok()?;
    text.truncate(written);
    Some(())
}

/// Makes `bytes` those of this text. `None` for what [`encode`] never writes, and where memory ends.
pub fn decode(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let (chunks, rest) = text.as_chunks::<LETTERS>();
    resize(bytes, (chunks.len() + 1).checked_mul(BYTES)?)?;
    bytes.clear();
    let mut are_letters = true;
    for chunk in chunks {
        let (chunk, is_right) = of_letters(*chunk);
        bytes.extend_from_slice(&chunk);
        are_letters &= is_right;
    }
    // The last bytes, and bits that are left over, which have to be zeros: as many as one letter has are too many.
    let mut last = [b'A'; LETTERS];
    last[..rest.len()].copy_from_slice(rest);
    let (last, is_right) = of_letters(last);
    let (last, none) = last.split_at(rest.len() * 3 / 4);
    bytes.extend_from_slice(last);
    let is_whole = rest.len() % 4 != 1 && none.iter().all(|byte| *byte == 0);
    (are_letters && is_right && is_whole).then_some(())
}

/// Gives room so many bytes.
fn resize(room: &mut Vec<u8>, length: usize) -> Option<()> {
    let more = length.saturating_sub(room.len());
    room.try_reserve_exact(more).ok()?;
    room.resize(length, 0);
    Some(())
}

/// All bits, or none.
#[inline(always)]
fn mask(is_so: bool) -> u8 {
    0_u8.wrapping_sub(u8::from(is_so))
}

/// The bytes of these letters, and whether they are some.
#[inline(always)]
fn of_letters(letters: [u8; LETTERS]) -> ([u8; BYTES], bool) {
    let (mut values, mut are_letters) = (letters, [0; LETTERS]);
    for (value, is_letter) in values.iter_mut().zip(&mut are_letters) {
        let letter = *value;
        let upper = mask(letter.wrapping_sub(b'A') < 26);
        let lower = mask(letter.wrapping_sub(b'a') < 26);
        let digit = mask(letter.wrapping_sub(b'0') < 10);
        let (dash, underscore) = (mask(letter == b'-'), mask(letter == b'_'));
        *value = letter.wrapping_sub(b'A') & upper
            | letter.wrapping_sub(b'a' - 26) & lower
            | letter.wrapping_sub(b'0').wrapping_add(52) & digit
            | 62 & dash
            | 63 & underscore;
        *is_letter = upper | lower | digit | dash | underscore;
    }
    let [a, b] = [&values[..8], &values[8..]].map(gathered);
    let mut bytes = [0; BYTES];
    bytes.copy_from_slice(&(a << 80 | b << 32).to_be_bytes()[..BYTES]);
    (bytes, u128::from_ne_bytes(are_letters) == u128::MAX)
}

/// The 48 bits of eight values: each eighth, then each quarter, then each half moves to its place.
#[inline(always)]
fn gathered(values: &[u8]) -> u128 {
    let bits = u64::from_be_bytes(*values.first_chunk().expect("8 bytes"));
    let bits = (bits & 0x3f00_3f00_3f00_3f00) >> 2 | bits & 0x003f_003f_003f_003f;
    let bits = (bits & 0x0fff_0000_0fff_0000) >> 4 | bits & 0x0000_0fff_0000_0fff;
    let bits = (bits & 0x00ff_ffff_0000_0000) >> 8 | bits & 0x00ff_ffff;
    bits.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8]) -> Vec<u8> {
        // What is in the room before does not matter.
        let mut text = vec![7; 5];
        encode(bytes, &mut text).unwrap();
        text
    }

    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![7; 5];
        decode(text, &mut bytes).map(|()| bytes)
    }

    /// From RFC 4648, section 10, without the padding.
    #[test]
    fn known_texts() {
        let known = ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"];
        for (i, text) in known.into_iter().enumerate() {
            let bytes = &b"foobar"[..i];
            assert_eq!(encoded(bytes), text.as_bytes());
            assert_eq!(decoded(text.as_bytes()).as_deref(), Some(bytes));
        }
        assert_eq!(encoded(&[0xfb, 0xff]), b"-_8");
    }

    #[test]
    fn each_text_has_bytes_of_its_own() {
        // All texts of up to three characters: those that have bytes are written again.
        let all = 0..=255u8;
        let mut found = 0;
        for a in all.clone() {
            for b in all.clone() {
                for c in all.clone() {
                    for text in [&[a, b, c][..], &[a, b]] {
                        if let Some(bytes) = decoded(text) {
                            assert_eq!(encoded(&bytes), text);
                            found += 1;
                        }
                    }
                }
            }
            assert_eq!(decoded(&[a]), None);
        }
        assert_eq!(found, (1 << 16) + (1 << 8) * 256);
    }

    /// Each letter at each place, and each byte, against another library.
    #[test]
    fn others_write_and_read_the_same() {
        use base64::prelude::{BASE64_URL_SAFE_NO_PAD as OTHER, Engine};
        for length in 0..100_usize {
            for seed in 0..50 {
                let byte = |i: usize| (i * i * 31 + i * seed * 7 + seed * 83 + length) as u8;
                let bytes = Vec::from_iter((0..length).map(byte));
                let text = encoded(&bytes);
                assert_eq!(text, OTHER.encode(&bytes).as_bytes());
                assert_eq!(decoded(&text), Some(bytes));
            }
            let text = encoded(&vec![0; length]);
            for i in 0..text.len() {
                for letter in 0..=255 {
                    let mut changed = text.clone();
                    changed[i] = letter;
                    assert_eq!(decoded(&changed), OTHER.decode(&changed).ok());
                }
            }
            let text = vec![b'A'; length];
            assert_eq!(decoded(&text), OTHER.decode(&text).ok());
        }
    }
}
