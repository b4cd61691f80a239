//! XChaCha20-Poly1305 for many short messages, by the crate `chacha20poly1305`: the step of HChaCha20 is made once for
//! all nonces that begin alike. And the keys that it is used under.

use chacha20::cipher::array::Array;
use chacha20::{R20, hchacha};
use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::{AeadInOut, ChaCha20Poly1305, KeyInit, Nonce, Tag};
use zeroize::{Zeroize, Zeroizing};

pub(crate) const KEY: usize = 32;
pub(crate) const TAG: usize = 16;

/// A key that HChaCha20 makes of another one and 16 bytes.
fn made(key: &[u8; KEY], of: &[u8; 16]) -> Zeroizing<[u8; KEY]> {
    let mut made = hchacha::<R20>(key.into(), of.into());
    let key = Zeroizing::new(made.0);
    made.as_mut_slice().zeroize();
    key
}

/// The key for what belongs to these bytes: HChaCha20, step by step, of how many they are and of each 16 of them. No
/// such sequence is the beginning of another one, so keys of different bytes are independent of each other.
pub(crate) fn key_of(key: &[u8; KEY], bytes: &[u8]) -> Zeroizing<[u8; KEY]> {
    let mut key = made(key, &(bytes.len() as u128).to_le_bytes());
    for chunk in bytes.chunks(16) {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        key = made(&key, &block);
    }
    key
}

/// XChaCha20-Poly1305 under nonces that have their first 16 bytes in common, without associated data.
#[derive(Clone)]
pub(crate) struct Cipher(ChaCha20Poly1305);

impl Cipher {
    /// The cipher for nonces that begin with these bytes.
    pub(crate) fn new(key: &[u8; KEY], beginning: &[u8; 16]) -> Self {
        let key = made(key, beginning);
        Self(ChaCha20Poly1305::new((&*key).into()))
    }

    /// Seals `text` in place, under the nonce that ends with these bytes. `None` if it is longer than the cipher
    /// allows.
    pub(crate) fn seal(&self, end: &[u8; 8], text: &mut [u8]) -> Option<Tag> {
        let sealed = self
            .0
            .encrypt_inout_detached(&nonce(end), &[], InOutBuf::from(text));
        sealed.ok()
    }

    /// Opens what `seal` made of a text, in place; `None` of anything else, which stays as it is.
    pub(crate) fn open(&self, end: &[u8; 8], text: &mut [u8], tag: &Tag) -> Option<()> {
        let opened = self
            .0
            .decrypt_inout_detached(&nonce(end), &[], InOutBuf::from(text), tag);
        opened.ok()
    }
}

/// The nonce that remains of 24 bytes which end with these.
fn nonce(end: &[u8; 8]) -> Nonce {
    let mut nonce = Array([0; 12]);
    nonce[4..].copy_from_slice(end);
    nonce
}

#[cfg(test)]
mod tests {
    use chacha20poly1305::XChaCha20Poly1305;

    use super::*;

    /// Numbers that look random.
    fn bytes<const N: usize>(seed: u64) -> [u8; N] {
        let mut word = seed;
        std::array::from_fn(|_| {
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (word >> 56) as u8
        })
    }

    /// The figures of draft-irtf-cfrg-xchacha-03, section 2.2.1.
    #[test]
    fn keys_are_made_by_hchacha20() {
        let key = std::array::from_fn(|i| i as u8);
        let of = [
            0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0, 0x31, 0x41, 0x59, 0x27,
        ];
        let made = made(&key, &of);
        assert_eq!(made[..4], [0x82, 0x41, 0x3b, 0x42]);
        assert_eq!(made[28..], [0x26, 0xd3, 0xec, 0xdc]);
    }

    /// Its appendix A.3.1: the text, and of the other library the tag too, which has associated data there.
    #[test]
    fn the_cipher_is_xchacha20_poly1305() {
        let key: [u8; KEY] = std::array::from_fn(|i| 0x80 + i as u8);
        let nonce: [u8; 24] = std::array::from_fn(|i| 0x40 + i as u8);
        let associated = [
            0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7,
        ];
        let text = b"Ladies and Gentlemen of the class of '99: If I could offer you only \
                     one tip for the future, sunscreen would be it.";
        let (mut ours, mut theirs) = (*text, *text);
        let cipher = Cipher::new(&key, nonce.first_chunk().unwrap());
        let _ = cipher.seal(nonce.last_chunk().unwrap(), &mut ours);
        assert_eq!(ours[..4], [0xbd, 0x6d, 0x17, 0x9d]);
        let tag = XChaCha20Poly1305::new(&key.into())
            .encrypt_inout_detached(&nonce.into(), &associated, InOutBuf::from(&mut theirs[..]))
            .unwrap();
        assert_eq!(ours, theirs);
        let published = 0xc087_5924_c1c7_9879_47de_afd8_780a_cf49_u128;
        assert_eq!(tag[..], published.to_be_bytes());
    }

    /// Byte for byte, of texts that end within the first blocks, with them, and after them.
    #[test]
    fn others_make_the_same() {
        for length in (0..700).chain([1024, 4095, 4096, 4097, 1 << 16, (1 << 16) + 7]) {
            let seed = length as u64;
            let (key, nonce) = (bytes::<KEY>(seed), bytes::<24>(!seed));
            let text = Vec::from_iter((0..length).map(|i| (i % 251 + length) as u8));
            let cipher = Cipher::new(&key, nonce.first_chunk().unwrap());
            let end = nonce.last_chunk().unwrap();
            let (mut ours, mut theirs) = (text.clone(), text.clone());
            let tag = cipher.seal(end, &mut ours).unwrap();
            let their_tag = XChaCha20Poly1305::new(&key.into())
                .encrypt_inout_detached(&nonce.into(), &[], InOutBuf::from(&mut theirs[..]))
                .unwrap();
            assert_eq!((&ours, tag), (&theirs, their_tag), "{length}");

            for bit in [0, 7, 64, 127] {
                let mut wrong = tag;
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(cipher.open(end, &mut ours, &wrong), None);
                assert_eq!(ours, theirs);
            }
            assert_eq!(cipher.open(end, &mut ours, &tag), Some(()));
            assert_eq!(ours, text, "{length}");
        }
    }

    /// Zeros at the end are bytes too, and each step needs the ones before it.
    #[test]
    fn keys_of_other_bytes_are_others() {
        let key = bytes::<KEY>(1);
        let mut all = vec![Zeroizing::new(key), key_of(&bytes::<KEY>(2), &[])];
        let text = bytes::<50>(3);
        for i in 0..text.len() {
            all.push(key_of(&key, &text[..i]));
            all.push(key_of(&key, &[&text[..i], &[0; 16]].concat()));
            let mut changed = text;
            changed[i] ^= 1;
            all.push(key_of(&key, &changed));
        }
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "{i}");
        }
        assert_eq!(key_of(&key, &text), key_of(&key, &text));
    }
}
