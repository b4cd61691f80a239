//! Two kinds of `dp_state` that no aggregate makes. One is the first state of each group, of no rows: a group of
//! none is as good as one that has some, and what Citus carries does not show which. The other is what came from
//! other servers: a call, the marks of its parts, and the state that they add up to.

use dp_sealing::marks::{self, Mark};
use pgrx::pg_sys::{self, Datum};

use crate::pg::citus::{Side, wrapped};
use crate::pg::fmgr::Call;
use crate::pg::settings::allow_pathological;
use crate::pg::varlena::{is_plain, length_word};

/// Marks a state of no rows.
const MAGIC_OF_NOTHING: u32 = 0xd9_3a_5e_81;
/// Marks a state that came from other servers, and the version of its layout.
const MAGIC_OF_CARRIED: u32 = 0xd9_3a_5e_91;

/// The bytes of a varlena's head: its length and a mark.
const NOTHING: usize = 8;

#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    /// Bytes of the call, which follows the head, in whole words.
    call: u32,
    /// Parts it was put together from.
    parts: u32,
    /// Places for their marks, which follow the call.
    places: u32,
    /// Bytes of the state, which follows them.
    state: u32,
}

const HEAD: usize = size_of::<Head>();
const _: () = assert!(HEAD == 24 && HEAD.is_multiple_of(8) && size_of::<Mark>() == 16);

/// A varlena of so many bytes, all 0 but for its head.
fn allocate(bytes: usize, magic: u32) -> *mut u8 {
    // SAFETY: palloc0 gives so many bytes, aligned to 8, or raises; there are at least 8.
    unsafe {
        let place = pg_sys::palloc0(bytes.max(NOTHING)).cast::<u8>();
        place.cast::<[u32; 2]>().write([length_word(bytes), magic]);
        place
    }
}

/// The first state of a group.
pub fn nothing() -> Datum {
    Datum::from(allocate(NOTHING, MAGIC_OF_NOTHING))
}

/// The bytes of a state, its head included; `None` where they are not as PostgreSQL keeps a state.
///
/// # Safety
/// `datum` is a non-NULL varlena, which lives.
pub unsafe fn bytes<'a>(datum: Datum) -> Option<&'a mut [u8]> {
    let start = datum.cast_mut_ptr::<u32>();
    // SAFETY: an aligned varlena with an uncompressed length word has as many bytes as that says.
    unsafe {
        if !start.cast::<u64>().is_aligned() || !is_plain(*start, NOTHING) {
            return None;
        }
        let length = (*start >> 2) as usize;
        Some(std::slice::from_raw_parts_mut(start.cast(), length))
    }
}

/// Whether a state is that of no rows.
///
/// # Safety
/// `datum` is a non-NULL varlena, which lives.
pub unsafe fn is_nothing(datum: Datum) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { bytes(datum) }.is_some_and(|bytes| *bytes == NO_ROWS)
}

const NO_ROWS: [u8; NOTHING] = {
    let (header, magic) = (
        length_word(NOTHING).to_ne_bytes(),
        MAGIC_OF_NOTHING.to_ne_bytes(),
    );
    let [a, b, c, d] = header;
    let [e, f, g, h] = magic;
    [a, b, c, d, e, f, g, h]
};

/// The state of a group that argument `i` of a call is, `None` of no rows. What came from other servers is opened up
/// for the coordinator's own aggregate alone.
///
/// # Safety
/// The argument is declared `dp_state`.
pub unsafe fn state(call: Call, i: usize) -> Option<Datum> {
    let datum = call.datum(i)?;
    // SAFETY: the caller guarantees it.
    unsafe {
        if is_nothing(datum) {
            return None;
        }
        match Carried::of(datum) {
            Some(parts) if is_coordinator(call) => parts.state(),
            _ => Some(datum),
        }
    }
}

fn is_coordinator(call: Call) -> bool {
    wrapped(call).is_some_and(|wrapped| wrapped.side == Side::Coordinator)
}

/// A state that came from other servers.
pub struct Carried<'a> {
    datum: Datum,
    head: &'a mut Head,
    call: &'a [u8],
    marks: &'a mut [Mark],
    /// Aligned to 8, as all of it is. What adds up states changes it in place.
    state: *mut [u8],
}

impl<'a> Carried<'a> {
    /// The one behind a datum, or `None` where it is another state.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena, which lives, and nothing else refers to it.
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        // SAFETY: the caller guarantees it. What is read lies in the bytes by the checks, and any bytes are valid
        // numbers. The parts do not overlap.
        unsafe {
            let all = bytes(datum)?;
            let (head, rest) = all.split_at_mut_checked(HEAD)?;
            let head = &mut *head.as_mut_ptr().cast::<Head>();
            if head.magic != MAGIC_OF_CARRIED {
                return None;
            }
            let call = head.call as usize;
            let (words, rest) = rest.split_at_mut_checked(call.next_multiple_of(8))?;
            let length = (head.places as usize).checked_mul(size_of::<Mark>())?;
            let (marks, state) = rest.split_at_mut_checked(length)?;
            let is_state = state.len() == head.state as usize
                && state.len() >= NOTHING
                && state.starts_with(&length_word(state.len()).to_ne_bytes());
            is_state.then_some(Self {
                datum,
                head,
                call: &words[..call],
                marks: marks.as_chunks_mut().0,
                state,
            })
        }
    }

    /// A new one, with room for the marks of so many parts, and for so many bytes of a state.
    fn allocated(call: &[u8], parts: usize, state: usize) -> Option<Self> {
        let places = marks::places(parts);
        let words = call.len().next_multiple_of(8);
        let table = places.checked_mul(size_of::<Mark>())?;
        let bytes = HEAD
            .checked_add(words)?
            .checked_add(table)?
            .checked_add(state)?;
        // As much as a varlena holds.
        if bytes >= 1 << 30 || state < NOTHING {
            return None;
        }
        let place = allocate(bytes, MAGIC_OF_CARRIED);
        // SAFETY: so many bytes are there, and nothing else refers to them.
        unsafe {
            let head = &mut *place.cast::<Head>();
            (head.call, head.places) = (call.len() as u32, places as u32);
            head.state = state as u32;
            std::slice::from_raw_parts_mut(place.add(HEAD), call.len()).copy_from_slice(call);
            let state = place.add(HEAD + words + table).cast::<u32>();
            state.write(length_word(bytes - HEAD - words - table));
            Self::of(Datum::from(place))
        }
    }

    /// One of a part that was opened. `state` is a whole varlena.
    pub fn opened(call: &[u8], mark: &Mark, state: &[u8]) -> Option<Self> {
        if !state.starts_with(&length_word(state.len()).to_ne_bytes()) {
            return None;
        }
        let mut opened = Self::allocated(call, 1, state.len())?;
        marks::insert(opened.marks, mark).ok()?;
        opened.head.parts = 1;
        opened.put(state);
        Some(opened)
    }

    /// The call that it belongs to.
    pub fn call(&self) -> &[u8] {
        self.call
    }

    /// As a datum.
    pub fn datum(&self) -> Datum {
        self.datum
    }

    /// The bytes of the state in it.
    fn held(&self) -> &[u8] {
        // SAFETY: they are there as long as this is, and nothing changes them while they are looked at.
        unsafe { &*self.state }
    }

    /// Puts another state of the same length in its place.
    fn put(&mut self, state: &[u8]) {
        // SAFETY: the same; what is put there is no part of it.
        unsafe { (*self.state).copy_from_slice(state) }
    }

    /// The state in it, `None` of no rows. It lies within.
    pub fn state(&self) -> Option<Datum> {
        (*self.held() != NO_ROWS).then(|| Datum::from(self.state.cast::<u8>()))
    }

    /// One for the rows of two, where `merge` makes one state of two, in place of the first or anew. `None` where they
    /// are of two calls, or have a part in common. In the place of this one where there is room, so that many
    /// parts take time in proportion to their number.
    pub fn take_in(
        self,
        other: &Carried,
        merge: impl FnOnce(Datum, Datum) -> Option<Datum>,
    ) -> Option<Datum> {
        if self.call != other.call {
            return None;
        }
        let state = match (self.state(), other.state()) {
            (_, None) => None,
            (None, Some(theirs)) => Some(theirs),
            (Some(own), Some(theirs)) => Some(merge(own, theirs)?).filter(|one| *one != own),
        };
        // SAFETY: a state that is a part of one of these, or that was just made.
        let state = match state {
            Some(state) => Some(unsafe { bytes(state) }?),
            None => None,
        };
        let parts = (self.head.parts as usize).checked_add(other.head.parts as usize)?;
        let held = self.held().len();
        let length = state.as_ref().map_or(held, |state| state.len());
        let is_room = marks::places(parts) <= self.marks.len() && length == held;
        let mut into = if is_room {
            self
        } else {
            let mut into = Self::allocated(self.call, parts, length)?;
            for mark in marks::all(self.marks) {
                marks::insert(into.marks, mark).ok()?;
            }
            if state.is_none() {
                into.put(self.held());
            }
            into
        };
        for mark in marks::all(other.marks) {
            marks::insert(into.marks, mark).ok()?;
        }
        into.head.parts = u32::try_from(parts).ok()?;
        if let Some(state) = state {
            into.put(state);
        }
        Some(into.datum)
    }
}

/// A call as it is sealed with a state: the aggregate's name, and what is known of each argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// It differs from row to row.
    OfRows,
    Null,
    /// Passed by value.
    Word(u64),
    /// A varlena, without its head.
    Bytes(Vec<u8>),
}

/// What a call begins with: the name of its aggregate, and whether mechanisms are allowed that show rows. Servers that
/// allow other ones would tell rows from none.
pub fn beginning(name: &[u8]) -> Vec<u8> {
    [name, &[0, u8::from(allow_pathological())]].concat()
}

/// The bytes of a call; `None` of more than 255 arguments.
pub fn call(name: &[u8], arguments: &[Given]) -> Option<Vec<u8>> {
    let mut bytes = beginning(name);
    bytes.push(u8::try_from(arguments.len()).ok()?);
    for argument in arguments {
        match argument {
            Given::OfRows => bytes.push(0),
            Given::Null => bytes.push(1),
            Given::Word(word) => {
                bytes.push(2);
                bytes.extend(word.to_ne_bytes());
            }
            Given::Bytes(value) => {
                bytes.push(3);
                bytes.extend(u32::try_from(value.len()).ok()?.to_ne_bytes());
                bytes.extend(value);
            }
        }
    }
    Some(bytes)
}

/// The arguments in the bytes of a call.
pub fn arguments(call: &[u8]) -> Option<Vec<Given>> {
    let name = call.iter().position(|byte| *byte == 0)?;
    let ([_, _, count], mut rest) = call.get(name..)?.split_first_chunk()?;
    let mut all = Vec::new();
    for _ in 0..*count {
        let (kind, after) = rest.split_first()?;
        let (given, after) = match kind {
            0 => (Given::OfRows, after),
            1 => (Given::Null, after),
            2 => {
                let (word, after) = after.split_first_chunk()?;
                (Given::Word(u64::from_ne_bytes(*word)), after)
            }
            3 => {
                let (length, after) = after.split_first_chunk()?;
                let length = u32::from_ne_bytes(*length) as usize;
                let (value, after) = after.split_at_checked(length)?;
                (Given::Bytes(value.to_vec()), after)
            }
            _ => return None,
        };
        all.push(given);
        rest = after;
    }
    rest.is_empty().then_some(all)
}

/// A varlena of these bytes in the current memory context.
pub fn varlena(bytes: &[u8]) -> Datum {
    let length = size_of::<u32>() + bytes.len();
    // SAFETY: palloc gives so many bytes, aligned to 8, or raises.
    unsafe {
        let place = pg_sys::palloc(length).cast::<u8>();
        place.cast::<u32>().write(length_word(length));
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.add(size_of::<u32>()), bytes.len());
        Datum::from(place)
    }
}
