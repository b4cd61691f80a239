//! Seals and opens: XChaCha20-Poly1305, under nonces that count up from a random one of 24 bytes.
//!
//! ```text
//! version  1 byte                              \
//! key      1 byte: that many bytes of its name    | public, and in
//! call     2 bytes: that many bytes of the call  /  the context
//! nonce    24 bytes: a stream of 16 and a number of 8
//! sealed:  the state, a byte 128, zeros
//! tag      16 bytes
//! ```
//!
//! as text: see `base64.rs`. It is sealed under a key of its context: [`PURPOSE`], the name of the aggregate, and what
//! is public before the nonce. These are the same for all parts of a call, so that key is made once, and authenticates
//! them: with each part they would be three quarters of what Poly1305 reads.
//!
//! XChaCha20-Poly1305 is ChaCha20-Poly1305 under a key that HChaCha20 makes from the key and the first 16 bytes of the
//! nonce (draft-irtf-cfrg-xchacha-03). These stay the same for the parts of a query, and so does that key.

use std::collections::HashMap;
use std::rc::Rc;

use rand::TryRng;
use rand::rngs::SysRng;
use zeroize::Zeroizing;

use crate::base64::{decode, encode};
use crate::cipher::{Cipher, KEY, TAG, key_of};
use crate::keys::Keys;

/// The version of this layout.
const VERSION: u8 = 3;

/// What is sealed is memory of this version of the library, on machines of this kind: others do not read it.
const PURPOSE: &[u8] = concat!("dp_mean state ", env!("CARGO_PKG_VERSION")).as_bytes();
const WORD: [u8; 8] = 0x0102_0304_0506_0708_u64.to_ne_bytes();

const STREAM: usize = 16;
const NONCE: usize = 24;
const LENGTH: usize = 2;
/// What ends a state.
const END: u8 = 0x80;

/// The bytes that a state of that many bytes is filled up to, so that the text does not tell how many there are: one
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
        u128::from_le_bytes(*self.beginning())
    }

    pub(crate) fn number(&self) -> u64 {
        u64::from_le_bytes(*self.end())
    }

    fn beginning(&self) -> &[u8; STREAM] {
        self.0.first_chunk().expect("16 bytes")
    }

    fn end(&self) -> &[u8; 8] {
        self.0.last_chunk().expect("8 bytes")
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

/// Seals the states of a call, under nonces of its own.
pub struct Sealer {
    /// That of the context.
    key: Zeroizing<[u8; KEY]>,
    cipher: Cipher,
    /// That of the next part.
    nonce: Nonce,
    /// The parts that may follow in this stream.
    left: u64,
    /// What is public of a text.
    head: Vec<u8>,
    bytes: Vec<u8>,
    text: Vec<u8>,
}

impl Sealer {
    /// One for a call of the aggregate with this name.
    ///
    /// # Errors
    /// See [`Unsealed`].
    pub fn new(keys: &Keys, name: &[u8], call: &[u8]) -> Result<Self, Unsealed> {
        if call.len() > LONGEST_CALL {
            return Err(Unsealed::TooLong);
        }
        let first = keys.first();
        let length = (call.len() as u16).to_le_bytes();
        let head = [
            &[VERSION, first.id.len() as u8],
            &first.id[..],
            &length,
            call,
        ]
        .concat();
        let key = key_of(&first.key, &context(name, &head));
        let (cipher, nonce) = begun(&key)?;
        Ok(Self {
            key,
            cipher,
            nonce,
            left: MOST,
            head,
            bytes: Vec::new(),
            text: Vec::new(),
        })
    }

    /// Seals a state, in room for at least that many bytes.
    ///
    /// # Errors
    /// See [`Unsealed`].
    pub fn seal(&mut self, state: &[u8], room: usize) -> Result<&[u8], Unsealed> {
        let room = room.max(state.len());
        if room > 1 << 29 {
            return Err(Unsealed::TooLong);
        }
        if self.left == 0 {
            (self.cipher, self.nonce) = begun(&self.key)?;
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
        let tag = self
            .cipher
            .seal(nonce.end(), &mut bytes[start..])
            .ok_or(Unsealed::TooLong)?;
        bytes.extend_from_slice(&tag);
        encode(bytes, &mut self.text).ok_or(Unsealed::NoMemory)?;
        Ok(&self.text)
    }
}

/// A new stream, with its first nonce: all of it random, its number too.
fn begun(key: &[u8; KEY]) -> Result<(Cipher, Nonce), Unsealed> {
    let mut random = [0; NONCE];
    SysRng
        .try_fill_bytes(&mut random)
        .map_err(|_| Unsealed::NoRandomness)?;
    let nonce = Nonce(random);
    Ok((Cipher::new(key, nonce.beginning()), nonce))
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
    /// That of the part that came last: parts of other contexts are few.
    known: Option<Context>,
    bytes: Vec<u8>,
}

/// What parts with the same head have in common.
struct Context {
    head: Box<[u8]>,
    key: Zeroizing<[u8; KEY]>,
    /// The ciphers of the streams from which parts came.
    streams: HashMap<u128, Cipher>,
    /// The one of the part that came last: mostly that of the next one too.
    last: Option<(u128, Cipher)>,
}

impl Opener {
    /// One for the aggregate with this name.
    pub fn new(keys: Rc<Keys>, name: &[u8]) -> Self {
        Self {
            keys,
            name: name.into(),
            known: None,
            bytes: Vec::new(),
        }
    }

    /// What was sealed for this aggregate under one of these keys; `None` for anything else.
    pub fn open(&mut self, text: &[u8]) -> Option<Part<'_>> {
        emptied(&mut self.bytes);
        let bytes = &mut self.bytes;
        decode(text, bytes)?;
        // A head says where it ends: what begins with a known one has that one.
        let known = self.known.as_ref();
        let known = known.filter(|known| bytes.starts_with(&known.head));
        let new = if known.is_none() {
            Some(Context::of(&self.keys, &self.name, bytes)?)
        } else {
            None
        };
        let context = known.or(new.as_ref())?;
        let (head, rest) = bytes.split_at_mut(context.head.len());
        let (nonce, rest) = rest.split_first_chunk_mut::<NONCE>()?;
        let (filled, tag) = rest.split_last_chunk_mut::<TAG>()?;
        let nonce = Nonce(*nonce);

        let last = context.last.as_ref();
        let last = last.filter(|(stream, _)| *stream == nonce.stream());
        let other = last.is_none().then(|| context.cipher(&nonce));
        let cipher = last.map(|(_, cipher)| cipher).or(other.as_ref())?;
        cipher.open(nonce.end(), filled, &(*tag).into())?;
        // Only contexts and streams that somebody with the key has begun.
        if new.is_some() {
            self.known = new;
        }
        if let (Some(other), Some(context)) = (other, &mut self.known) {
            context.keep(nonce.stream(), other);
        }
        let length = filled.iter().rposition(|byte| *byte != 0)?;
        let call = 2 + usize::from(head[1]) + LENGTH;
        (filled[length] == END).then_some(Part {
            call: &head[call..],
            state: &filled[..length],
            nonce,
        })
    }
}

impl Context {
    /// That of the part with these bytes; `None` of what has no head, and of one of an unknown key.
    fn of(keys: &Keys, name: &[u8], bytes: &[u8]) -> Option<Self> {
        let ([version, id], rest) = bytes.split_first_chunk::<2>()?;
        let (id, rest) = rest.split_at_checked(usize::from(*id))?;
        let (call, rest) = rest.split_first_chunk::<LENGTH>()?;
        let (_, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*call)))?;
        if *version != VERSION {
            return None;
        }
        let head = &bytes[..bytes.len() - rest.len()];
        Some(Self {
            key: key_of(&keys.named(id)?.key, &context(name, head)),
            head: head.into(),
            streams: HashMap::new(),
            last: None,
        })
    }

    /// That of the stream of this nonce.
    fn cipher(&self, nonce: &Nonce) -> Cipher {
        match self.streams.get(&nonce.stream()) {
            Some(known) => known.clone(),
            None => Cipher::new(&self.key, nonce.beginning()),
        }
    }

    fn keep(&mut self, stream: u128, cipher: Cipher) {
        if !self.streams.contains_key(&stream) {
            if self.streams.len() >= MOST_STREAMS {
                self.streams.clear();
            }
            // Without memory it is made again for the next part.
            if self.streams.try_reserve(1).is_ok() {
                self.streams.insert(stream, cipher.clone());
            }
        }
        self.last = Some((stream, cipher));
    }
}

/// What a key is made for: no two pairs of a name and a head have the same.
fn context(name: &[u8], head: &[u8]) -> Vec<u8> {
    let length = (name.len() as u32).to_le_bytes();
    [PURPOSE, &WORD, &length, name, head].concat()
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
        Sealer::new(keys, NAME, call).unwrap()
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

    /// What is sealed is what another XChaCha20-Poly1305 opens, under the whole nonce and the key of the context.
    #[test]
    fn a_text_is_one_of_xchacha20_poly1305() {
        use chacha20poly1305::aead::inout::InOutBuf;
        use chacha20poly1305::{AeadInOut, KeyInit, Tag, XChaCha20Poly1305, XNonce};
        let keys = keys(&[("a", 1)]);
        let mut sealer = sealer(&keys, b"call");
        for state in [&b"state"[..], b"another"] {
            let mut bytes = Vec::new();
            decode(sealer.seal(state, 8).unwrap(), &mut bytes).unwrap();
            let (head, rest) = bytes.split_at_mut(2 + 1 + LENGTH + 4);
            let (nonce, rest) = rest.split_at_mut(NONCE);
            let (inner, tag) = rest.split_at_mut(9);
            let key = key_of(&keys.first().key, &context(NAME, head));
            let nonce = XNonce::try_from(&*nonce).unwrap();
            let tag = Tag::try_from(&*tag).unwrap();
            XChaCha20Poly1305::new((&*key).into())
                .decrypt_inout_detached(&nonce, &[], InOutBuf::from(&mut *inner), &tag)
                .unwrap();
            assert_eq!(inner[..state.len()], *state);
            assert_eq!(inner[state.len()], END);
        }
    }

    /// Each of its parts tells it from others, wherever they meet.
    #[test]
    fn each_context_is_another() {
        let mut all = Vec::new();
        for name in [&b""[..], b"a", b"ab", b"abc"] {
            for head in [&b""[..], b"a", b"b", b"bc", b"bcd"] {
                all.push(context(name, head));
            }
        }
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "{one:?}");
            assert!(one.starts_with(PURPOSE));
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
        let refused = Sealer::new(&keys, NAME, &longer);
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

    /// Streams that happen to be the same are others under another key, and of another call.
    #[test]
    fn a_stream_belongs_to_its_context() {
        let both = keys(&[("a", 1), ("b", 2)]);
        let mut opener = opener(&both);
        for _ in 0..2 {
            for (lines, call) in [
                (&[("a", 1)][..], &b"call"[..]),
                (&[("a", 1)], b"cal"),
                (&[("b", 2)], b"call"),
            ] {
                let keys = keys(lines);
                let mut sealer = sealer(&keys, call);
                sealer.nonce = Nonce::new(7, 7);
                sealer.cipher = Cipher::new(&sealer.key, sealer.nonce.beginning());
                for _ in 0..2 {
                    let part = opener.open(sealer.seal(b"state", 8).unwrap());
                    assert_eq!(part.unwrap().call, call);
                }
            }
        }
    }

    /// What cannot be opened does not take the place of what is known.
    #[test]
    fn only_what_was_opened_is_remembered() {
        let keys = keys(&[("a", 1)]);
        let mut opener = opener(&keys);
        let (text, other) = (
            sealed(&keys, b"call", b"state"),
            sealed(&keys, b"another", b"state"),
        );
        let head = |opener: &Opener| opener.known.as_ref().map(|known| known.head.clone());
        let (mut changed, last) = (other.clone(), other.len() - 2);
        changed[last] ^= 1;
        assert!(opener.open(&changed).is_none());
        assert_eq!(head(&opener), None);
        assert!(opener.open(&text).is_some());
        let first = head(&opener);
        assert!(opener.open(&changed).is_none());
        assert_eq!(head(&opener), first);
        assert!(opener.open(&other).is_some());
        assert_ne!(head(&opener), first);
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
        let other = Sealer::new(&keys, &[NAME, b"\x02"].concat(), b"call");
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
        assert_eq!(opener.known.unwrap().streams.len(), 3);
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
