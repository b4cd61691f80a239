//! Bytes as text, in the alphabet for URLs (RFC 4648, section 5), without padding. Each text stands for its own bytes
//! alone: what another encoder might write for the same bytes is no text.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const NONE: u8 = 64;

/// What each character stands for.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut i = 0;
    while i < DIGITS.len() {
        values[DIGITS[i] as usize] = i as u8;
        i += 1;
    }
    values
};

/// `None` where memory ends.
pub fn encode(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    text.try_reserve_exact(bytes.len().div_ceil(3) * 4).ok()?;
    for chunk in bytes.chunks(3) {
        let byte = |i| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..=chunk.len() {
            let digit = word >> (18 - 6 * i) & 63;
            text.push(char::from(DIGITS[digit as usize]));
        }
    }
    Some(text)
}

/// `None` for what [`encode`] never writes, and where memory ends.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(text.len() / 4 * 3 + 3).ok()?;
    for chunk in text.chunks(4) {
        let mut word = 0;
        for i in 0..4 {
            let value = chunk.get(i).map_or(0, |digit| VALUES[usize::from(*digit)]);
            if value == NONE {
                return None;
            }
            word = word << 6 | u32::from(value);
        }
        let [_, decoded @ ..] = word.to_be_bytes();
        let (kept, rest) = decoded.split_at_checked(chunk.len() - 1)?;
        // One character alone is no byte, and what is left over of the last is 0.
        if chunk.len() == 1 || rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend(kept);
    }
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
