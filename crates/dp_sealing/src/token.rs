//! Tokens: bytes that only the process which made them takes back, HMAC-SHA-256 before them; and the digests that
//! answers are found by.

use hmac::{Hmac, KeyInit, Mac};
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The bytes of a tag, and of a digest.
pub const TAG: usize = 32;

/// The secret that tokens are made under.
pub struct Secret(Zeroizing<[u8; 32]>);

impl Secret {
    /// A secret of the operating system's random bits.
    ///
    /// # Errors
    /// The operating system has none.
    pub fn new() -> Result<Self, String> {
        let mut secret = Zeroizing::new([0; 32]);
        let filled = SysRng.try_fill_bytes(&mut *secret);
        filled.map_err(|error| error.to_string())?;
        Ok(Self(secret))
    }

    fn mac(&self, payload: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&*self.0);
        let mut mac = mac.expect("HMAC takes keys of any length");
        mac.update(payload);
        mac
    }

    /// The payload with its tag before it.
    pub fn seal(&self, payload: &[u8]) -> Vec<u8> {
        let tag = self.mac(payload).finalize().into_bytes();
        [&tag[..], payload].concat()
    }

    /// The payload of a token that was made under this secret; `None` of any other bytes.
    pub fn open<'a>(&self, token: &'a [u8]) -> Option<&'a [u8]> {
        let (tag, payload) = token.split_at_checked(TAG)?;
        // In constant time.
        self.mac(payload).verify_slice(tag).ok()?;
        Some(payload)
    }
}

/// SHA-256 of a sequence of parts. Sequences that differ have different digests, wherever their parts end.
#[derive(Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Adds a part.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// The digest of all parts.
    pub fn finish(self) -> [u8; TAG] {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret(Zeroizing::new([byte; 32]))
    }

    #[test]
    fn tags_are_those_of_rfc_4231() {
        // Test case 6: a key of 131 bytes is not ours; so case 1, whose key of 20 bytes is filled up with zeros.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let token = Secret(Zeroizing::new(key)).seal(b"Hi There");
        let tag: String = token[..TAG]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            tag,
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(&token[TAG..], b"Hi There");
    }

    #[test]
    fn a_token_opens_under_its_own_secret_only() {
        let token = secret(1).seal(b"question");
        assert_eq!(secret(1).open(&token), Some(&b"question"[..]));
        assert_eq!(secret(2).open(&token), None);
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_eq!(other.open(&one.seal(b"question")), None);
    }

    #[test]
    fn no_changed_token_opens() {
        let token = secret(1).seal(&[7; 500]);
        for i in 0..token.len() {
            for bit in 0..8 {
                let mut changed = token.clone();
                changed[i] ^= 1 << bit;
                assert_eq!(secret(1).open(&changed), None, "byte {i}, bit {bit}");
            }
        }
        for length in 0..token.len() {
            assert_eq!(secret(1).open(&token[..length]), None, "{length} bytes");
        }
        assert_eq!(secret(1).open(&[&token[..], &[0]].concat()), None);
        assert_eq!(secret(1).open(&token[1..]), None);
    }

    /// Changed, cut, lengthened, and put together of two: as many as `DP_MEAN_TOKENS` says.
    #[test]
    fn no_random_token_opens() {
        let count = std::env::var("DP_MEAN_TOKENS").ok();
        let count: usize = count.map_or(100_000, |count| count.parse().expect("a number"));
        let own = secret(1);
        let tokens = [own.seal(&[7; 300]), own.seal(b"question"), own.seal(b"")];
        let others = [secret(2).seal(b"question"), secret(2).seal(&[7; 300])];
        let mut state = 1_u64;
        let mut roll = |sides: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % sides
        };
        for _ in 0..count {
            let mut token = tokens[roll(tokens.len())].clone();
            match roll(5) {
                0 => token.truncate(roll(token.len())),
                1 => token.push(roll(256) as u8),
                2 => {
                    let other = &others[roll(others.len())];
                    token.splice(..TAG, other[..TAG].iter().copied());
                }
                3 => {
                    let other = &tokens[roll(tokens.len())];
                    token.truncate(TAG);
                    token.extend_from_slice(&other[TAG..]);
                }
                _ => {
                    for _ in 0..=roll(4) {
                        let i = roll(token.len());
                        token[i] ^= 1 << roll(8);
                    }
                }
            }
            let is_own = tokens.contains(&token);
            assert_eq!(own.open(&token).is_some(), is_own, "{token:?}");
        }
    }

    #[test]
    fn digests_know_where_parts_end() {
        let digest = |parts: &[&[u8]]| {
            let mut digest = Digest::default();
            parts.iter().for_each(|part| digest.add(part));
            digest.finish()
        };
        let all = [
            digest(&[]),
            digest(&[b""]),
            digest(&[b"ab"]),
            digest(&[b"a", b"b"]),
            digest(&[b"", b"ab"]),
            digest(&[b"ab", b""]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one));
        }
    }
}
