//! Seals and opens: XChaCha20-Poly1305, under nonces that count up from a random one of 24 bytes.
//!
//! ```text
//! version  1 byte                              \
//! key      1 byte: so many bytes of its name    | public, and
//! call     2 bytes: so many bytes of the call  /  authenticated
//! nonce    24 bytes: a stream of 16 and a number of 8
//! sealed:  the state, a byte 128, zeros
//! tag      16 bytes
//! ```
//!
//! as text: see `base64.rs`. Authenticated too, and not in the text: [`PURPOSE`], and the name of the aggregate.
//!
//! XChaCha20-Poly1305 is ChaCha20-Poly1305 under a key that HChaCha20 makes from the key and the first 16 bytes of the
//! nonce (draft-irtf-cfrg-xchacha-03). These stay the same for the parts of a query, and so does that key.

use std::collections::HashMap;
use std::rc::Rc;

use chacha20::{R20, hchacha};
use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::{AeadInOut, ChaCha20Poly1305, KeyInit, Tag};
use rand::TryRng;
use rand::rngs::SysRng;
use zeroize::Zeroize;

use crate::base64::{decode, encode};
use crate::keys::{Key, Keys};

/// The version of this layout.
const VERSION: u8 = 2;

/// What is sealed is memory of this version of the library, on machines of this kind: others do not read it.
const PURPOSE: &[u8] = concat!("dp_mean state ", env!("CARGO_PKG_VERSION")).as_bytes();
const WORD: [u8; 8] = 0x0102_0304_0506_0708_u64.to_ne_bytes();

const STREAM: usize = 16;
const NONCE: usize = 24;
const LENGTH: usize = 2;
/// What ends a state.
const END: u8 = 0x80;
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
const LONGEST_CALL: usize = u16::MAX as usize;

/// The parts of a stream: few enough that a number does not come again.
const MOST: u64 = 1 << 32;

/// The streams that an opener remembers.
const MOST_STREAMS: usize = 1 << 12;

/// The room that is kept for the next part.
const KEPT: usize = 1 << 20;

/// What no two parts have in common: of a key none is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce([u8; NONCE]);

impl Nonce {
    pub(crate) fn new(stream: u128, number: u64) -> Self {
        let mut bytes = [0; NONCE];
        bytes[..STREAM].copy_from_slice(&stream.to_le_bytes());
        bytes[STREAM..].copy_from_slice(&number.to_le_bytes());
        Self(bytes)
    }

    pub(crate) fn stream(&self) -> u128 {
        u128::from_le_bytes(*self.0.first_chunk().expect("16 bytes"))
    }

    pub(crate) fn number(&self) -> u64 {
        u64::from_le_bytes(*self.0.last_chunk().expect("8 bytes"))
    }

    /// What is left of it for the cipher of the stream: four zeros, and the number.
    fn rest(&self) -> chacha20poly1305::Nonce {
        let mut rest = [0; 12];
        rest[4..].copy_from_slice(&self.0[STREAM..]);
        rest.into()
    }
}

/// The cipher of a stream.
fn cipher(key: &Key, stream: u128) -> ChaCha20Poly1305 {
    let mut made = hchacha::<R20>((&*key.key).into(), &stream.to_le_bytes().into());
    let cipher = ChaCha20Poly1305::new(&made);
    made.as_mut_slice().zeroize();
    cipher
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

/// Seals the states of a call, under nonces of its own.
pub struct Sealer {
    keys: Rc<Keys>,
    cipher: ChaCha20Poly1305,
    /// That of the next part.
    nonce: Nonce,
    /// The parts that may follow in this stream.
    left: u64,
    /// What is public of a text.
    head: Vec<u8>,
    associated: Vec<u8>,
    bytes: Vec<u8>,
    text: Vec<u8>,
}

impl Sealer {
    /// One for a call of the aggregate with this name.
    ///
    /// # Errors
    /// See [`Unsealed`].
    pub fn new(keys: Rc<Keys>, name: &[u8], call: &[u8]) -> Result<Self, Unsealed> {
        if call.len() > LONGEST_CALL {
            return Err(Unsealed::TooLong);
        }
        let (cipher, nonce) = begun(keys.first())?;
        let id = &keys.first().id;
        let length = (call.len() as u16).to_le_bytes();
        let head = [&[VERSION, id.len() as u8], &id[..], &length, call].concat();
        let mut new = Self {
            keys,
            cipher,
            nonce,
            left: MOST,
            associated: Vec::new(),
            head,
            bytes: Vec::new(),
            text: Vec::new(),
        };
        associate(&mut new.associated, name, &new.head);
        Ok(new)
    }

    /// Seals a state, in room for at least so many bytes.
    ///
    /// # Errors
    /// See [`Unsealed`].
    pub fn seal(&mut self, state: &[u8], room: usize) -> Result<&[u8], Unsealed> {
        let room = room.max(state.len());
        if room > 1 << 29 {
            return Err(Unsealed::TooLong);
        }
        if self.left == 0 {
            (self.cipher, self.nonce) = begun(self.keys.first())?;
            self.left = MOST;
        }
        // Before it is used, so that it is not used again, whatever follows.
        let nonce = self.nonce;
        self.nonce = Nonce::new(nonce.stream(), nonce.number().wrapping_add(1));
        self.left -= 1;

        let start = self.head.len() + NONCE;
        let end = start + room + 1;
        emptied(&mut self.bytes);
        emptied(&mut self.text);
        let bytes = &mut self.bytes;
        bytes
            .try_reserve_exact(end + TAG)
            .map_err(|_| Unsealed::NoMemory)?;
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(&nonce.0);
        bytes.extend_from_slice(state);
        bytes.push(END);
        bytes.resize(end, 0);
        let buffer = InOutBuf::from(&mut bytes[start..]);
        let tag = self
            .cipher
            .encrypt_inout_detached(&nonce.rest(), &self.associated, buffer)
            .map_err(|_| Unsealed::TooLong)?;
        bytes.extend_from_slice(&tag);
        encode(bytes, &mut self.text).ok_or(Unsealed::NoMemory)?;
        Ok(&self.text)
    }
}

/// A new stream, with its first nonce: all of it random, its number too.
fn begun(key: &Key) -> Result<(ChaCha20Poly1305, Nonce), Unsealed> {
    let mut random = [0; NONCE];
    SysRng
        .try_fill_bytes(&mut random)
        .map_err(|_| Unsealed::NoRandomness)?;
    let nonce = Nonce(random);
    Ok((cipher(key, nonce.stream()), nonce))
}

/// Room for the next part; what a long one took is given back.
fn emptied(room: &mut Vec<u8>) {
    if room.capacity() > KEPT {
        *room = Vec::new();
    }
    room.clear();
}

/// A part that was opened.
#[derive(Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The call that it belongs to.
    pub call: &'a [u8],
    /// The state that was sealed.
    pub state: &'a [u8],
    /// Another one for each part that is sealed.
    pub nonce: Nonce,
}

/// Opens the parts of an aggregate.
pub struct Opener {
    keys: Rc<Keys>,
    name: Box<[u8]>,
    /// The ciphers of streams from which parts came, by their key.
    streams: HashMap<(usize, u128), ChaCha20Poly1305>,
    associated: Vec<u8>,
    bytes: Vec<u8>,
}

impl Opener {
    /// One for the aggregate with this name.
    pub fn new(keys: Rc<Keys>, name: &[u8]) -> Self {
        Self {
            keys,
            name: name.into(),
            streams: HashMap::new(),
            associated: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// What was sealed for this aggregate under one of these keys; `None` for anything else.
    pub fn open(&mut self, text: &[u8]) -> Option<Part<'_>> {
        emptied(&mut self.bytes);
        let bytes = &mut self.bytes;
        decode(text, bytes)?;
        let ([version, id], rest) = bytes.split_first_chunk::<2>()?;
        let (id, rest) = rest.split_at_checked(usize::from(*id))?;
        let (call, rest) = rest.split_first_chunk::<LENGTH>()?;
        let call = usize::from(u16::from_le_bytes(*call));
        let (_, rest) = rest.split_at_checked(call)?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE>()?;
        let (_, tag) = rest.split_last_chunk::<TAG>()?;
        if *version != VERSION {
            return None;
        }
        let (which, key) = self.keys.named(id)?;
        let (nonce, tag) = (Nonce(*nonce), Tag::from(*tag));
        let (head, end) = (2 + id.len() + LENGTH + call, bytes.len() - TAG);

        associate(&mut self.associated, &self.name, &bytes[..head]);
        let stream = (which, nonce.stream());
        let known = self.streams.get(&stream);
        let made = known.is_none().then(|| cipher(key, nonce.stream()));
        let buffer = InOutBuf::from(&mut bytes[head + NONCE..end]);
        known
            .or(made.as_ref())?
            .decrypt_inout_detached(&nonce.rest(), &self.associated, buffer, &tag)
            .ok()?;
        // Only streams that somebody with the key has begun.
        if let Some(made) = made {
            if self.streams.len() >= MOST_STREAMS {
                self.streams.clear();
            }
            // Without memory it is made again for the next part.
            if self.streams.try_reserve(1).is_ok() {
                self.streams.insert(stream, made);
            }
        }
        let filled = &bytes[head + NONCE..end];
        let length = filled.iter().rposition(|byte| *byte != 0)?;
        (filled[length] == END).then_some(Part {
            call: &bytes[head - call..head],
            state: &filled[..length],
            nonce,
        })
    }
}

/// Makes `associated` what is authenticated beside what is sealed.
fn associate(associated: &mut Vec<u8>, name: &[u8], head: &[u8]) {
    associated.clear();
    associated.extend_from_slice(PURPOSE);
    associated.extend_from_slice(&WORD);
    associated.extend_from_slice(&(name.len() as u32).to_le_bytes());
    associated.extend_from_slice(name);
    associated.extend_from_slice(head);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(lines: &[(&str, u8)]) -> Rc<Keys> {
        let line = |(id, first): &(&str, u8)| format!("{id} {first:02x}{}\n", "0a".repeat(31));
        Rc::new(Keys::parse(String::from_iter(lines.iter().map(line)).as_bytes()).unwrap())
    }

    const NAME: &[u8] = b"dp_mean(float8)";

    fn sealer(keys: &Rc<Keys>, call: &[u8]) -> Sealer {
        Sealer::new(Rc::clone(keys), NAME, call).unwrap()
    }

    fn sealed(keys: &Rc<Keys>, call: &[u8], state: &[u8]) -> Vec<u8> {
        let mut sealer = sealer(keys, call);
        sealer.seal(state, room(state.len())).unwrap().to_vec()
    }

    fn opener(keys: &Rc<Keys>) -> Opener {
        Opener::new(Rc::clone(keys), NAME)
    }

    /// Whether a new opener opens it.
    fn opens(keys: &Rc<Keys>, text: &[u8]) -> bool {
        opener(keys).open(text).is_some()
    }

    #[test]
    fn what_was_sealed_is_opened() {
        let keys = keys(&[("a", 1)]);
        let (mut sealer, mut opener) = (sealer(&keys, b"call"), opener(&keys));
        // Long and short ones by turns.
        for length in [0, 100_000, 1, 8, 2 << 20, 64, 159, 160, 161, 1024, 1025] {
            let state = Vec::from_iter((0..length).map(|i| i as u8));
            // Some that end with what follows them.
            let state = [state, vec![END, 0, END, 0][..length % 5].to_vec()].concat();
            let text = sealer.seal(&state, room(state.len())).unwrap();
            let part = opener.open(text).unwrap();
            assert_eq!((part.call, part.state), (&b"call"[..], &state[..]));
        }
    }

    /// The figures of draft-irtf-cfrg-xchacha-03, appendix A.3.1: that the cipher is the one it is called.
    #[test]
    fn the_cipher_is_xchacha20_poly1305() {
        let key = Key {
            id: Box::default(),
            key: zeroize::Zeroizing::new(std::array::from_fn(|i| 0x80 + i as u8)),
        };
        let nonce = Nonce(std::array::from_fn(|i| 0x40 + i as u8));
        let associated = [
            0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7,
        ];
        let mut text = *b"Ladies and Gentlemen of the class of '99: If I could offer you only \
                          one tip for the future, sunscreen would be it.";
        let tag = cipher(&key, nonce.stream())
            .encrypt_inout_detached(&nonce.rest(), &associated, InOutBuf::from(&mut text[..]))
            .unwrap();
        assert_eq!(text[..4], [0xbd, 0x6d, 0x17, 0x9d]);
        let published = 0xc087_5924_c1c7_9879_47de_afd8_780a_cf49_u128;
        assert_eq!(tag[..], published.to_be_bytes());
    }

    /// What is sealed is what the library's own XChaCha20-Poly1305 opens, under the whole nonce.
    #[test]
    fn a_text_is_one_of_xchacha20_poly1305() {
        use chacha20poly1305::{XChaCha20Poly1305, XNonce};
        let keys = keys(&[("a", 1)]);
        let mut sealer = sealer(&keys, b"call");
        for state in [&b"state"[..], b"another"] {
            let (mut bytes, mut associated) = (Vec::new(), Vec::new());
            decode(sealer.seal(state, 8).unwrap(), &mut bytes).unwrap();
            let (head, rest) = bytes.split_at_mut(2 + 1 + LENGTH + 4);
            let (nonce, rest) = rest.split_at_mut(NONCE);
            let (inner, tag) = rest.split_at_mut(9);
            associate(&mut associated, NAME, head);
            let nonce = XNonce::try_from(&*nonce).unwrap();
            let tag = Tag::try_from(&*tag).unwrap();
            XChaCha20Poly1305::new((&*keys.first().key).into())
                .decrypt_inout_detached(&nonce, &associated, InOutBuf::from(&mut *inner), &tag)
                .unwrap();
            assert_eq!(inner[..state.len()], *state);
            assert_eq!(inner[state.len()], END);
        }
    }

    #[test]
    fn no_two_are_alike() {
        let keys = keys(&[("a", 1)]);
        let mut nonces = Vec::new();
        for _ in 0..3 {
            let mut sealer = sealer(&keys, b"call");
            // Over the end of the numbers, and of the stream.
            sealer.nonce = Nonce::new(sealer.nonce.stream(), u64::MAX - 1);
            sealer.left = 5;
            for _ in 0..8 {
                let text = sealer.seal(b"state", 160).unwrap().to_vec();
                nonces.push(opener(&keys).open(&text).unwrap().nonce);
            }
        }
        for (i, nonce) in nonces.iter().enumerate() {
            assert!(!nonces[..i].contains(nonce), "{i}");
        }
        let streams = Vec::from_iter(nonces.iter().map(Nonce::stream));
        assert_eq!(streams[0], streams[4]);
        assert_ne!(streams[4], streams[5]);
        assert_eq!(streams[5], streams[7]);
        assert_ne!(streams[7], streams[8]);
    }

    /// Not after what was refused either.
    #[test]
    fn no_nonce_is_used_again() {
        let keys = keys(&[("a", 1)]);
        let mut sealer = sealer(&keys, b"call");
        let first = sealer.nonce;
        let _ = sealer.seal(b"state", 160).unwrap();
        assert_eq!(sealer.seal(b"state", usize::MAX), Err(Unsealed::TooLong));
        let text = sealer.seal(b"state", 160).unwrap().to_vec();
        let next = opener(&keys).open(&text).unwrap().nonce;
        assert_eq!(next.stream(), first.stream());
        assert_eq!(next.number(), first.number().wrapping_add(1));
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
        let given = |state: &[u8]| sealer(&keys, b"call").seal(state, 4096).unwrap().len();
        assert_eq!(given(&[]), given(&[7; 4096]));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let keys = keys(&[("a", 1)]);
        let long = vec![0; LONGEST_CALL];
        let text = sealed(&keys, &long, b"state");
        assert_eq!(opener(&keys).open(&text).unwrap().call, long);
        let longer = vec![0; LONGEST_CALL + 1];
        let refused = Sealer::new(Rc::clone(&keys), NAME, &longer);
        assert_eq!(refused.err(), Some(Unsealed::TooLong));
        let refused = sealer(&keys, b"").seal(b"", usize::MAX).err();
        assert_eq!(refused, Some(Unsealed::TooLong));
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
        assert!(opens(&both, &by_old));
        assert!(opens(&both, &by_both));
        assert!(opens(&new, &by_both));
        assert!(!opens(&new, &by_old));
        assert!(!opens(&old, &by_both));
        // The same name, another key; and the same key by another name.
        assert!(!opens(&keys(&[("a", 9)]), &by_old));
        assert!(!opens(&keys(&[("z", 1)]), &by_old));
    }

    /// Streams of two keys that happen to be the same are two.
    #[test]
    fn a_stream_belongs_to_its_key() {
        let both = keys(&[("a", 1), ("b", 2)]);
        let mut opener = opener(&both);
        for lines in [&[("a", 1)][..], &[("b", 2)]] {
            let keys = keys(lines);
            let mut sealer = sealer(&keys, b"call");
            sealer.nonce = Nonce::new(7, 7);
            sealer.cipher = cipher(keys.first(), 7);
            for _ in 0..2 {
                assert!(opener.open(sealer.seal(b"state", 8).unwrap()).is_some());
            }
        }
        assert_eq!(opener.streams.len(), 2);
    }

    #[test]
    fn parts_of_other_aggregates_are_refused() {
        let keys = keys(&[("a", 1)]);
        let text = sealed(&keys, b"call", b"state");
        for name in [
            &b""[..],
            b"dp_mean(float8",
            b"dp_mean(float8) ",
            b"dp_sum(float8)",
        ] {
            assert!(Opener::new(Rc::clone(&keys), name).open(&text).is_none());
        }
        // What is of the name cannot be of the head.
        let other = Sealer::new(Rc::clone(&keys), &[NAME, b"\x02"].concat(), b"call");
        let text = other.unwrap().seal(b"state", 8).unwrap().to_vec();
        assert!(!opens(&keys, &text));
    }

    #[test]
    fn streams_are_remembered_up_to_a_number() {
        let keys = keys(&[("a", 1)]);
        let mut opener = opener(&keys);
        for _ in 0..MOST_STREAMS + 3 {
            let text = sealed(&keys, b"call", b"state");
            assert!(opener.open(&text).is_some());
            let mut changed = text;
            changed[60] ^= 1;
            assert!(opener.open(&changed).is_none());
        }
        assert_eq!(opener.streams.len(), 3);
    }

    #[test]
    fn nothing_that_was_changed_is_opened() {
        let keys = keys(&[("a", 1), ("b", 2)]);
        let text = sealed(&keys, b"dp_mean(1)", b"state");
        // One that knows the stream.
        let mut opener = opener(&keys);
        assert!(opener.open(&text).is_some());
        let mut refused = |changed: &[u8]| {
            assert_eq!(opener.open(changed), None);
        };
        for i in 0..text.len() {
            for byte in 0..=255 {
                if byte != text[i] {
                    let mut changed = text.clone();
                    changed[i] = byte;
                    refused(&changed);
                }
            }
            refused(&text[..i]);
            refused(&text[i + 1..]);
            for more in [b"A", b"_", b"=", b" ", b"\n"] {
                refused(&[&text[..i], &more[..], &text[i..]].concat());
            }
        }
        refused(&[&text[..], b"A"].concat());
        refused(&[&text[..], &text[..]].concat());
        assert!(opener.open(&text).is_some());
    }

    /// Parts of the head that are of another length say another call, or another key.
    #[test]
    fn what_is_public_cannot_be_shifted() {
        let keys = keys(&[("a", 1), ("ab", 1)]);
        let (mut bytes, mut text) = (Vec::new(), Vec::new());
        decode(&sealed(&keys, b"bcall", b"state"), &mut bytes).unwrap();
        for id in 0..=255 {
            for call in 0..=255 {
                let mut changed = bytes.clone();
                (changed[1], changed[3]) = (id, call);
                encode(&changed, &mut text).unwrap();
                assert_eq!(opens(&keys, &text), changed == bytes, "{id} {call}");
            }
        }
    }
}
