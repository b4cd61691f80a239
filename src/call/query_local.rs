//! What is kept for a call under an aggregate of Citus, which brings a fresh record of our functions for every row: it
//! is kept for the query instead.

use std::ffi::c_void;

use pgrx::pg_sys::{MemoryContext, Oid};

use crate::citus::partial_state::Carried;
use crate::citus::wrapper::{self, Side, Wrapped};
use crate::pg::fmgr::Call;
use crate::pg::kept::{self, Kept};

/// The call of Citus, the function of ours.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CallKey {
    call: wrapper::CallPlace,
    function: Oid,
}

/// Where something is kept. For a final function, which has no arguments of its own, by the call of ours that came
/// with the parts, too.
pub struct QueryPlace<'a> {
    key: CallKey,
    parts: &'a [u8],
    /// That of the query.
    pub memory: MemoryContext,
}

thread_local! {
    /// The addresses of what is kept.
    static KEPT: Kept<(CallKey, Vec<u8>), *mut c_void> = const { Kept::new(Vec::new()) };
}

/// Whether these are the same. Rust's empty slices point to a page that is not there: with AVX-512 the C library takes
/// thirty times as long to compare no bytes of it.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

impl<'a> QueryPlace<'a> {
    /// The place of a call; `None` where no aggregate of Citus runs it. Its first argument is a state.
    pub fn of(call: Call) -> Option<Self> {
        let wrapped = wrapper::wrapped(call)?;
        let parts: &[u8] = match (wrapped.side, call.datum(0)) {
            // SAFETY: argument 0 of a support function is declared dp_state.
            (Side::Coordinator, Some(datum)) => unsafe { Carried::of(datum) }?.call(),
            _ => &[],
        };
        Some(Self {
            parts,
            ..Self::of_any(call, &wrapped)
        })
    }

    /// The place of a call that needs no more to be told from others; its first argument may be a text.
    pub fn of_any(call: Call, wrapped: &Wrapped) -> Self {
        // SAFETY: PostgreSQL always passes a valid fcinfo with its flinfo.
        let function = unsafe { (*call.flinfo()).fn_oid };
        Self {
            key: CallKey {
                call: wrapped.place,
                function,
            },
            parts: &[],
            memory: wrapped.memory,
        }
    }

    /// What is kept here.
    pub fn kept(&self) -> Option<*mut c_void> {
        let is = |(key, parts): &(CallKey, Vec<u8>)| *key == self.key && same(parts, self.parts);
        kept::find(&KEPT, is, |what| *what)
    }

    /// Keeps `what` here, which lives in the memory of the query.
    pub fn keep(self, what: *mut c_void) {
        // SAFETY: the memory of the query.
        unsafe { kept::keep(&KEPT, self.memory, (self.key, self.parts.to_vec()), what) };
    }
}
