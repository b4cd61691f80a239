//! Kinds of `dp_state` that no aggregate makes. One is the first state of each group, of no rows: a group of
//! none is as good as one that has some, and what Citus carries does not show which. The others are what came from
//! other servers: a part, and what parts add up to, with the aggregate and the call that they belong to.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::citus::wrapper::{Side, wrapped};
use crate::pg::fmgr::Call;
use crate::pg::settings::allow_pathological;
use crate::pg::sql_type;
use crate::pg::varlena::{is_plain, length_word};

/// Marks a state of no rows.
const MAGIC_OF_NOTHING: u32 = 0xd9_3a_5e_81;
/// Marks a part that came from another server and is in no group yet, and the version of its layout.
const MAGIC_OF_PART: u32 = 0xd9_3a_5e_92;
/// Marks what parts of a group add up to.
const MAGIC_OF_GROUP: u32 = 0xd9_3a_5e_93;

/// The bytes of a varlena's head: its length and a mark.
const NOTHING: usize = 8;

#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    /// The aggregate that the coordinator asks for.
    aggregate: u32,
    /// Bytes of the call, which follows the head, in whole words. All that follows it is the state.
    call: u32,
}

const HEAD: usize = size_of::<Head>();
const _: () = assert!(HEAD == 16 && HEAD.is_multiple_of(8));

/// A varlena of that many bytes, all 0 but for its head.
fn allocate(bytes: usize, magic: u32) -> *mut u8 {
    // SAFETY: palloc0 gives that many bytes, aligned to 8, or raises; there are at least 8.
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
            if ![MAGIC_OF_PART, MAGIC_OF_GROUP].contains(&head.magic) {
                return None;
            }
            let call = head.call as usize;
            let (words, state) = rest.split_at_mut_checked(call.next_multiple_of(8))?;
            let is_state = state.len() >= NOTHING
                && state.starts_with(&length_word(state.len()).to_ne_bytes());
            is_state.then_some(Self {
                datum,
                head,
                call: &words[..call],
                state,
            })
        }
    }

    /// One of these, with a copy of `state`, which is a whole varlena.
    fn new(magic: u32, aggregate: u32, call: &[u8], state: &[u8]) -> Option<Self> {
        let words = call.len().next_multiple_of(8);
        let bytes = HEAD.checked_add(words)?.checked_add(state.len())?;
        // As much as a varlena holds.
        if bytes >= 1 << 30 || !state.starts_with(&length_word(state.len()).to_ne_bytes()) {
            return None;
        }
        let place = allocate(bytes, magic);
        // SAFETY: that many bytes are there, and nothing else refers to them.
        unsafe {
            let head = &mut *place.cast::<Head>();
            (head.aggregate, head.call) = (aggregate, call.len() as u32);
            let all = std::slice::from_raw_parts_mut(place, bytes);
            all[HEAD..HEAD + call.len()].copy_from_slice(call);
            all[HEAD + words..].copy_from_slice(state);
            Self::of(Datum::from(place))
        }
    }

    /// A part of `aggregate` that was opened just now.
    pub fn opened(aggregate: Oid, call: &[u8], state: &[u8]) -> Option<Self> {
        Self::new(MAGIC_OF_PART, aggregate.to_u32(), call, state)
    }

    /// The call that it belongs to.
    pub fn call(&self) -> &'a [u8] {
        self.call
    }

    /// The aggregate that it belongs to.
    pub fn aggregate(&self) -> Oid {
        Oid::from_u32(self.head.aggregate)
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

    /// The state in it, `None` of no rows. It lies within.
    pub fn state(&self) -> Option<Datum> {
        (*self.held() != NO_ROWS).then(|| Datum::from(self.state.cast::<u8>()))
    }

    /// A group of this part alone: from now on it is no part any more. `None` where it is none.
    pub fn alone(self) -> Option<Self> {
        if self.head.magic != MAGIC_OF_PART {
            return None;
        }
        self.head.magic = MAGIC_OF_GROUP;
        Some(self)
    }

    /// This group with a part more, by `merge`, which makes one state of two, in place of the first or again. `None`
    /// where these are no group and no part, or are of two calls. In the place of this one where there is room, so that
    /// many parts take time in proportion to their number.
    pub fn take_in(
        self,
        part: Carried,
        merge: impl FnOnce(Datum, Datum) -> Datum,
    ) -> Option<Datum> {
        let is_same = self.head.aggregate == part.head.aggregate && self.call == part.call;
        if self.head.magic != MAGIC_OF_GROUP || !is_same {
            return None;
        }
        let part = part.alone()?;
        let state = match (self.state(), part.state()) {
            (_, None) => return Some(self.datum),
            (None, Some(theirs)) => theirs,
            (Some(own), Some(theirs)) => match merge(own, theirs) {
                one if one == own => return Some(self.datum),
                one => one,
            },
        };
        // SAFETY: a state that is a part of the other, or that was just made.
        let state = unsafe { bytes(state) }?;
        if state.len() == self.held().len() {
            // SAFETY: the bytes are there as long as this is, and the others are elsewhere.
            unsafe { (*self.state).copy_from_slice(state) };
            return Some(self.datum);
        }
        let Head { aggregate, .. } = *self.head;
        let group = Self::new(MAGIC_OF_GROUP, aggregate, self.call, state)?;
        Some(group.datum)
    }
}

/// A call as it is sealed with a state: what is known of each argument.
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

/// What an argument of a call begins with.
const OF_ROWS: u8 = 0;
const NULL: u8 = 1;
const BYTES: u8 = 2;
/// And how many bytes of the word follow, up to 8.
const WORD: u8 = 3;
const WORD_OF_8: u8 = WORD + 8;

/// What a call begins with: whether mechanisms are allowed that show rows. Servers that allow other ones would tell
/// rows from none.
pub fn beginning() -> u8 {
    u8::from(allow_pathological())
}

/// The bytes of a call; `None` of more than 255 arguments.
pub fn call(arguments: &[Given]) -> Option<Vec<u8>> {
    let mut bytes = vec![beginning(), u8::try_from(arguments.len()).ok()?];
    for argument in arguments {
        match argument {
            Given::OfRows => bytes.push(OF_ROWS),
            Given::Null => bytes.push(NULL),
            // Round numbers end with zeros, which are left out.
            Given::Word(word) => {
                let length = 8 - word.trailing_zeros() as usize / 8;
                bytes.push(WORD + length as u8);
                bytes.extend(&word.to_be_bytes()[..length]);
            }
            Given::Bytes(value) => {
                bytes.push(BYTES);
                bytes.extend(u32::try_from(value.len()).ok()?.to_ne_bytes());
                bytes.extend(value);
            }
        }
    }
    Some(bytes)
}

/// The arguments in the bytes of a call.
fn arguments(call: &[u8]) -> Option<Vec<Given>> {
    let ([_, count], mut rest) = call.split_first_chunk()?;
    let mut all = Vec::new();
    for _ in 0..*count {
        let (kind, after) = rest.split_first()?;
        let (given, after) = match kind {
            &OF_ROWS => (Given::OfRows, after),
            &NULL => (Given::Null, after),
            WORD..=WORD_OF_8 => {
                let (given, after) = after.split_at_checked(usize::from(kind - WORD))?;
                let mut word = [0; 8];
                word[..given.len()].copy_from_slice(given);
                (Given::Word(u64::from_be_bytes(word)), after)
            }
            &BYTES => {
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

/// The values of the arguments in the bytes of a call of an aggregate with these types: `None` of one that differs from
/// row to row.
pub fn values(types: &[Oid], call: &[u8]) -> Option<Vec<Option<Option<Datum>>>> {
    let given = arguments(call)?;
    if given.len() != types.len() {
        return None;
    }
    let value = |(kind, given): (&Oid, Given)| match given {
        Given::OfRows => Some(None),
        Given::Null => Some(Some(None)),
        Given::Word(word) => {
            // SAFETY: a catalog look-up by oid.
            let by_value = unsafe { pg_sys::get_typbyval(*kind) };
            by_value.then(|| Some(Some(Datum::from(word))))
        }
        Given::Bytes(bytes) => sql_type::is_varlena(*kind).then(|| Some(Some(varlena(&bytes)))),
    };
    types.iter().zip(given).map(value).collect()
}

/// A varlena of these bytes in the current memory context.
pub fn varlena(bytes: &[u8]) -> Datum {
    let length = size_of::<u32>() + bytes.len();
    // SAFETY: palloc gives that many bytes, aligned to 8, or raises.
    unsafe {
        let place = pg_sys::palloc(length).cast::<u8>();
        place.cast::<u32>().write(length_word(length));
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.add(size_of::<u32>()), bytes.len());
        Datum::from(place)
    }
}
