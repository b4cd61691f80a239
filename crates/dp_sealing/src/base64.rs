//! Bytes as text, in the alphabet for URLs (RFC 4648, section 5), without padding. Each text stands for its own bytes
//! alone: what another encoder might write for the same bytes is no text.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};

/// `None` where memory ends.
pub fn encode(bytes: &[u8]) -> Option<String> {
    let length = base64::encoded_len(bytes.len(), false)?;
    let mut text = room(length)?;
    let written = BASE64_URL_SAFE_NO_PAD.encode_slice(bytes, &mut text).ok()?;
    text.truncate(written);
    String::from_utf8(text).ok()
}

/// `None` for what [`encode`] never writes, and where memory ends.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = room(base64::decoded_len_estimate(text.len()))?;
    let written = BASE64_URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    bytes.truncate(written);
    Some(bytes)
}

/// So many bytes.
fn room(length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From RFC 4648, section 10, without the padding.
    #[test]
    fn known_texts() {
        let known = ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"];
        for (i, text) in known.into_iter().enumerate() {
            let bytes = &b"foobar"[..i];
            assert_eq!(encode(bytes).as_deref(), Some(text));
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes));
        }
        assert_eq!(encode(&[0xfb, 0xff]).as_deref(), Some("-_8"));
    }

    #[test]
    fn each_text_has_bytes_of_its_own() {
        // All texts of up to three characters: those that have bytes are written again.
        let all = 0..=255u8;
        let mut decoded = 0;
        for a in all.clone() {
            for b in all.clone() {
                for c in all.clone() {
                    for text in [&[a, b, c][..], &[a, b]] {
                        if let Some(bytes) = decode(text) {
                            assert_eq!(encode(&bytes).unwrap().as_bytes(), text);
                            decoded += 1;
                        }
                    }
                }
            }
            assert_eq!(decode(&[a]), None);
        }
        assert_eq!(decoded, (1 << 16) + (1 << 8) * 256);
    }
}
