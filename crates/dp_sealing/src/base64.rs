//! Bytes as text, in the alphabet for URLs (RFC 4648, section 5), without padding, by the crate `base64`. Each text is
//! that of its own bytes alone: what another encoder might write for the same bytes is refused.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};

/// Makes `text` that of these bytes. `None` where memory ends.
pub fn encode(bytes: &[u8], text: &mut Vec<u8>) -> Option<()> {
    resize(text, base64::encoded_len(bytes.len(), false)?)?;
    let written = BASE64_URL_SAFE_NO_PAD.encode_slice(bytes, text).ok()?;
    text.truncate(written);
    Some(())
}

/// Makes `bytes` those of this text. `None` for what [`encode`] never writes, and where memory ends.
pub fn decode(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    resize(bytes, base64::decoded_len_estimate(text.len()))?;
    let written = BASE64_URL_SAFE_NO_PAD.decode_slice(text, bytes).ok()?;
    bytes.truncate(written);
    Some(())
}

/// Gives `room` this length.
fn resize(room: &mut Vec<u8>, length: usize) -> Option<()> {
    let more = length.saturating_sub(room.len());
    room.try_reserve_exact(more).ok()?;
    room.resize(length, 0);
    Some(())
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
}
