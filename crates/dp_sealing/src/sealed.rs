//! Seals and opens: XChaCha20-Poly1305 with a random nonce of 24 bytes, so that no two need to be compared.
//!
//! ```text
//! version  1 byte                              \
//! key      1 byte: so many bytes of its name    | public, and
//! call     4 bytes: so many bytes of the call  /  authenticated
//! nonce    24 bytes
//! sealed:  mark 16 bytes, length of the state 4 bytes, the state, zeros
//! tag      16 bytes
//! ```
//!
//! as text: see `base64.rs`. Authenticated too, and not in the text: [`PURPOSE`].

use std::ops::Range;

use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::{AeadInOut, Tag, XNonce};
use rand::TryRng;
use rand::rngs::SysRng;

use crate::base64::{decode, encode};
use crate::keys::Keys;
use crate::marks::Mark;

/// The version of this layout.
const VERSION: u8 = 1;

/// What is sealed is memory of this version of the library, on machines of this kind: others do not read it.
const PURPOSE: &[u8] = concat!("dp_mean state ", env!("CARGO_PKG_VERSION")).as_bytes();
const WORD: [u8; 8] = 0x0102_0304_0506_0708_u64.to_ne_bytes();

const NONCE: usize = 24;
const MARK: usize = size_of::<Mark>();
const LENGTH: usize = 4;
const TAG: usize = 16;

/// The bytes that a state of so many bytes is filled up to, so that the text does not tell how many there are: one
/// length for all states that are one of a few numbers, and from there on powers of two.
pub fn room(bytes: usize) -> usize {
    const FEW: usize = 160;
    const MORE: usize = 1024;
    if bytes <= FEW {
        FEW
    } else {
        bytes.max(MORE).next_power_of_two()
    }
}

/// The longest call: what is public of a text is read before it is known to be ours.
const LONGEST_CALL: usize = 1 << 16;

/// A part that was opened.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    bytes: Vec<u8>,
    call: Range<usize>,
    state: Range<usize>,
    /// Another one for each part that is sealed.
    pub mark: Mark,
}

impl Part {
    /// The call that it belongs to.
    pub fn call(&self) -> &[u8] {
        &self.bytes[self.call.clone()]
    }

    /// The state that was sealed.
    pub fn state(&self) -> &[u8] {
        &self.bytes[self.state.clone()]
    }
}

/// Why a state was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsealed {
    /// The operating system gave no random bytes.
    NoRandomness,
    /// It gave no memory.
    NoMemory,
    /// The call is longer than 64 KB, or the state than 512 MB.
    TooLong,
}

/// Seals a state, in room for at least so many bytes, with the call that it belongs to.
///
/// # Errors
/// See [`Unsealed`].
pub fn seal(keys: &Keys, call: &[u8], state: &[u8], room: usize) -> Result<String, Unsealed> {
    let room = room.max(state.len());
    if call.len() > LONGEST_CALL || room > 1 << 29 {
        return Err(Unsealed::TooLong);
    }
    let key = keys.first();
    let mut random = [0; NONCE + MARK];
    SysRng
        .try_fill_bytes(&mut random)
        .map_err(|_| Unsealed::NoRandomness)?;
    let (nonce, mark) = random.split_at(NONCE);

    let head = 2 + key.id.len() + LENGTH + call.len();
    let end = head + NONCE + MARK + LENGTH + room;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(end + TAG)
        .map_err(|_| Unsealed::NoMemory)?;
    bytes.extend([VERSION, key.id.len() as u8]);
    bytes.extend(&key.id);
    bytes.extend((call.len() as u32).to_le_bytes());
    bytes.extend(call);
    let associated = associated(&bytes);
    bytes.extend(nonce);
    bytes.extend(mark);
    bytes.extend((state.len() as u32).to_le_bytes());
    bytes.extend(state);
    bytes.resize(end, 0);
    let nonce = XNonce::try_from(nonce).expect("24 bytes");
    let buffer = InOutBuf::from(&mut bytes[head + NONCE..]);
    let tag = key
        .cipher
        .encrypt_inout_detached(&nonce, &associated, buffer)
        .map_err(|_| Unsealed::TooLong)?;
    bytes.extend(tag);
    encode(&bytes).ok_or(Unsealed::NoMemory)
}

/// What was sealed under one of these keys; `None` for anything else.
pub fn open(keys: &Keys, text: &[u8]) -> Option<Part> {
    let mut bytes = decode(text)?;
    let ([version, id], rest) = bytes.split_first_chunk::<2>()?;
    let (id, rest) = rest.split_at_checked(usize::from(*id))?;
    let (call, rest) = rest.split_first_chunk::<LENGTH>()?;
    let call = u32::from_le_bytes(*call) as usize;
    let (_, rest) = rest.split_at_checked(call)?;
    let (nonce, rest) = rest.split_first_chunk::<NONCE>()?;
    let (_, tag) = rest.split_last_chunk::<TAG>()?;
    if *version != VERSION || call > LONGEST_CALL {
        return None;
    }
    let key = keys.named(id)?;
    let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
    let (head, end) = (2 + id.len() + LENGTH + call, bytes.len() - TAG);

    let associated = associated(&bytes[..head]);
    let buffer = InOutBuf::from(&mut bytes[head + NONCE..end]);
    key.cipher
        .decrypt_inout_detached(&nonce, &associated, buffer, &tag)
        .ok()?;
    let (mark, rest) = bytes[head + NONCE..end].split_first_chunk::<MARK>()?;
    let (length, rest) = rest.split_first_chunk::<LENGTH>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let state = end - rest.len();
    let mark = *mark;
    (length <= rest.len()).then_some(Part {
        bytes,
        call: head - call..head,
        state: state..state + length,
        mark,
    })
}

fn associated(head: &[u8]) -> Vec<u8> {
    [PURPOSE, &WORD, head].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(lines: &[(&str, u8)]) -> Keys {
        let line = |(id, first): &(&str, u8)| format!("{id} {first:02x}{}\n", "0a".repeat(31));
        Keys::parse(String::from_iter(lines.iter().map(line)).as_bytes()).unwrap()
    }

    fn sealed(keys: &Keys, call: &[u8], state: &[u8]) -> String {
        seal(keys, call, state, room(state.len())).unwrap()
    }

    #[test]
    fn what_was_sealed_is_opened() {
        let keys = keys(&[("a", 1)]);
        for length in [0, 1, 8, 64, 159, 160, 161, 1024, 1025, 100_000] {
            let state = Vec::from_iter((0..length).map(|i| i as u8));
            let text = sealed(&keys, b"call", &state);
            let part = open(&keys, text.as_bytes()).unwrap();
            assert_eq!((part.call(), part.state()), (&b"call"[..], &state[..]));
        }
    }

    /// The figures of draft-irtf-cfrg-xchacha-03, appendix A.3.1: that the cipher is the one it is called.
    #[test]
    fn the_cipher_is_xchacha20_poly1305() {
        use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
        let key: [u8; 32] = std::array::from_fn(|i| 0x80 + i as u8);
        let nonce: [u8; 24] = std::array::from_fn(|i| 0x40 + i as u8);
        let associated = [
            0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7,
        ];
        let mut text = *b"Ladies and Gentlemen of the class of '99: If I could offer you only \
                          one tip for the future, sunscreen would be it.";
        let cipher = XChaCha20Poly1305::new(&key.into());
        let tag = cipher
            .encrypt_inout_detached(&nonce.into(), &associated, InOutBuf::from(&mut text[..]))
            .unwrap();
        assert_eq!(text[..4], [0xbd, 0x6d, 0x17, 0x9d]);
        let published = 0xc087_5924_c1c7_9879_47de_afd8_780a_cf49_u128;
        assert_eq!(tag[..], published.to_be_bytes());
    }

    #[test]
    fn no_two_are_alike() {
        let keys = keys(&[("a", 1)]);
        let texts = [(); 2].map(|()| sealed(&keys, b"call", b"state"));
        assert_ne!(texts[0], texts[1]);
        let parts = texts.map(|text| open(&keys, text.as_bytes()).unwrap());
        assert_ne!(parts[0].mark, parts[1].mark);
    }

    #[test]
    fn lengths_are_those_of_the_room() {
        let keys = keys(&[("a", 1)]);
        let length = |bytes| sealed(&keys, b"call", &vec![7; bytes]).len();
        for bytes in 0..=160 {
            assert_eq!(length(bytes), length(0));
        }
        assert_eq!(length(161), length(1024));
        assert_eq!(length(1025), length(2048));
        assert_ne!(length(160), length(161));
        let given = |state: &[u8]| seal(&keys, b"call", state, 4096).unwrap().len();
        assert_eq!(given(&[]), given(&[7; 4096]));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let keys = keys(&[("a", 1)]);
        let long = vec![0; LONGEST_CALL];
        let text = sealed(&keys, &long, b"state");
        assert_eq!(open(&keys, text.as_bytes()).unwrap().call(), long);
        let longer = vec![0; LONGEST_CALL + 1];
        assert_eq!(seal(&keys, &longer, b"", 0), Err(Unsealed::TooLong));
        assert_eq!(seal(&keys, b"", b"", usize::MAX), Err(Unsealed::TooLong));
    }

    #[test]
    fn keys_are_turned_over() {
        let [old, both, new] = [
            &[("a", 1)][..],
            &[("b", 2), ("a", 1)],
            &[("b", 2), ("c", 3)],
        ]
        .map(keys);
        let by_old = sealed(&old, b"call", b"state");
        let by_both = sealed(&both, b"call", b"state");
        assert!(open(&both, by_old.as_bytes()).is_some());
        assert!(open(&both, by_both.as_bytes()).is_some());
        assert!(open(&new, by_both.as_bytes()).is_some());
        assert_eq!(open(&new, by_old.as_bytes()), None);
        assert_eq!(open(&old, by_both.as_bytes()), None);
        // The same name, another key; and the same key by another name.
        assert_eq!(open(&keys(&[("a", 9)]), by_old.as_bytes()), None);
        assert_eq!(open(&keys(&[("z", 1)]), by_old.as_bytes()), None);
    }

    #[test]
    fn nothing_that_was_changed_is_opened() {
        let keys = keys(&[("a", 1), ("b", 2)]);
        let text = sealed(&keys, b"dp_mean(1)", b"state").into_bytes();
        assert!(open(&keys, &text).is_some());
        for i in 0..text.len() {
            for byte in 0..=255 {
                if byte != text[i] {
                    let mut changed = text.clone();
                    changed[i] = byte;
                    assert_eq!(open(&keys, &changed), None, "{i} {byte}");
                }
            }
            assert_eq!(open(&keys, &text[..i]), None);
            assert_eq!(open(&keys, &text[i + 1..]), None);
            for more in [b"A", b"_", b"=", b" ", b"\n"] {
                assert_eq!(
                    open(&keys, &[&text[..i], &more[..], &text[i..]].concat()),
                    None
                );
            }
        }
        assert_eq!(open(&keys, &[&text[..], b"A"].concat()), None);
        assert_eq!(open(&keys, &[&text[..], &text[..]].concat()), None);
    }

    /// Parts of the head that are of another length say another call, or another key.
    #[test]
    fn what_is_public_cannot_be_shifted() {
        let keys = keys(&[("a", 1), ("ab", 1)]);
        let bytes = decode(sealed(&keys, b"bcall", b"state").as_bytes()).unwrap();
        for id in 0..=255 {
            for call in 0..=255 {
                let mut changed = bytes.clone();
                (changed[1], changed[3]) = (id, call);
                let opened = open(&keys, encode(&changed).unwrap().as_bytes());
                assert_eq!(opened.is_some(), changed == bytes, "{id} {call}");
            }
        }
    }
}
