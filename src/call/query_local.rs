//! What is kept for a call under an aggregate of Citus, which brings a fresh record of our functions for every row: it
//! is kept for the query instead.

use std::cell::RefCell;
use std::ffi::c_void;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{MemoryContext, Oid};

use crate::citus::partial_state::Carried;
use crate::citus::wrapper::{self, Side, Wrapped};
use crate::pg::fmgr::Call;

/// The call of Citus, the function of ours.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    call: wrapper::Place,
    function: Oid,
}

/// Where something is kept. For a final function, which has no arguments of its own, by the call of ours that came
/// with the parts, too.
pub struct Place<'a> {
    key: Key,
    parts: &'a [u8],
    /// That of the query.
    pub memory: MemoryContext,
}

/// What is kept: where, and its address.
struct Kept {
    key: Key,
    parts: Vec<u8>,
    what: *mut c_void,
}

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Takes what is kept of a query away when its memory goes.
struct Forget(*mut c_void);

impl Drop for Forget {
    fn drop(&mut self) {
        // Where the thread is at its end there is nothing to forget.
        let _ = KEPT.try_with(|kept| kept.borrow_mut().retain(|kept| kept.what != self.0));
    }
}

/// Whether these are the same. Rust's empty slices point to a page that is not there: with AVX-512 the C library takes
/// thirty times as long to compare no bytes of it.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

impl<'a> Place<'a> {
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
            key: Key {
                call: wrapped.place,
                function,
            },
            parts: &[],
            memory: wrapped.memory,
        }
    }

    /// What is kept here.
    pub fn kept(&self) -> Option<*mut c_void> {
        KEPT.with_borrow(|kept| {
            let found = |kept: &&Kept| kept.key == self.key && same(&kept.parts, self.parts);
            kept.iter().find(found).map(|kept| kept.what)
        })
    }

    /// Keeps `what` here, which lives in the memory of the query.
    pub fn keep(self, what: *mut c_void) {
        PgMemoryContexts::For(self.memory).leak_and_drop_on_delete(Forget(what));
        let kept = Kept {
            key: self.key,
            parts: self.parts.to_vec(),
            what,
        };
        KEPT.with_borrow_mut(|all| all.push(kept));
    }
}
