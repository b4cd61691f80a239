//! `dp_state` of a call that is refused: it says which argument is to blame, and keeps nothing of the rows.

use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::length_word;

/// Marks a state of rows that were refused, and the version of its layout.
const MAGIC_OF_REFUSED: u32 = 0xd9_3a_5e_31;

/// What a part of a parallel plan keeps where the call is refused. An ERROR in a parallel worker would tell
/// that a row was there: without one, it is the leader's final function that finds the same mistake.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Refused {
    header: u32,
    magic: u32,
    argument: u32,
    spare: u32,
}

impl Refused {
    const HEADER: u32 = length_word(size_of::<Self>());

    /// Blames the argument with this number, 0 where none can be blamed.
    pub fn new(argument: u32) -> Self {
        Self {
            header: Self::HEADER,
            magic: MAGIC_OF_REFUSED,
            argument,
            spare: 0,
        }
    }

    /// The number of the argument to blame, if the final function finds nothing wrong with the call.
    pub fn argument(self) -> u32 {
        self.argument
    }

    /// What is behind a datum, or `None` where the bytes are something else.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let found = datum.cast_mut_ptr::<Self>();
        // SAFETY: as in `State::of`.
        unsafe {
            let is_one = found.is_aligned()
                && (*found).header == Self::HEADER
                && (*found).magic == MAGIC_OF_REFUSED;
            is_one.then(|| *found)
        }
    }

    /// A copy in the current memory context, as a datum.
    pub fn into_datum(self) -> Datum {
        // SAFETY: as in `State::into_datum`.
        unsafe {
            let copy = pg_sys::palloc(size_of::<Self>()).cast::<Self>();
            copy.write(self);
            Datum::from(copy)
        }
    }
}
