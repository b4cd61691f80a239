//! Keeps messages below NOTICE from the client while private rows are read: how many of them there are, of sorts and of
//! reads, depends on the rows.

use std::cell::Cell;

use pgrx::pg_sys::{self, ErrorData, PlanState, TupleTableSlot};

use crate::gate::defence::Defence;

thread_local! {
    /// What the level of messages was before it was raised, and in which depth of transactions; 0 in none.
    static RAISED: Cell<(i32, i32)> = const { Cell::new((0, 0)) };
    /// Whether this transaction has asked about a protected table.
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// The level of messages to the client, before it was raised.
pub type Level = i32;

/// How deep the current transaction is.
pub fn depth() -> i32 {
    // SAFETY: it reads a number.
    unsafe { pg_sys::GetCurrentTransactionNestLevel() }
}

/// From now on, messages below NOTICE stay here. What comes back is for [`lower`].
pub fn raise() -> Level {
    // SAFETY: a setting of this process, which nothing else changes meanwhile.
    unsafe {
        let before = pg_sys::client_min_messages;
        if Defence::Quiet.stands() && before < pg_sys::NOTICE as i32 {
            if RAISED.get().1 == 0 {
                RAISED.set((before, depth()));
            }
            pg_sys::client_min_messages = pg_sys::NOTICE as i32;
        }
        before
    }
}

/// Puts the level back.
pub fn lower(before: Level) {
    // SAFETY: the same.
    unsafe { pg_sys::client_min_messages = before };
    if RAISED.get().0 == before {
        RAISED.set((0, 0));
    }
}

/// A transaction of this depth has ended by an error: what it raised is put back.
pub fn aborted(at: i32) {
    let (before, raised_at) = RAISED.get();
    if raised_at != 0 && raised_at >= at {
        lower(before);
        RAISED.set((0, 0));
    }
}

/// Whether messages can be kept from the client: not those of a server that logs none of them, where the hook is not
/// called.
pub fn can_keep() -> bool {
    // SAFETY: settings of this process.
    let (server, client) = unsafe { (pg_sys::log_min_messages, pg_sys::client_min_messages) };
    server < pg_sys::FATAL as i32 || client >= pg_sys::NOTICE as i32 || !Defence::Quiet.stands()
}

/// Says that this transaction has asked about a protected table, or that it has ended.
pub fn set_asked(asked: bool) {
    ASKED.set(asked);
}

/// Keeps what goes to the server's log from the client too.
pub fn log(error: *mut ErrorData) {
    if ASKED.get() && Defence::Quiet.stands() {
        // SAFETY: PostgreSQL hands the message that it is about to write.
        unsafe {
            if (*error).elevel < pg_sys::NOTICE as i32 {
                (*error).output_to_client = false;
            }
        }
    }
}

type Execute = unsafe extern "C-unwind" fn(*mut PlanState) -> *mut TupleTableSlot;

thread_local! {
    /// PostgreSQL's own function that runs an Agg node: there is one.
    static EXECUTE: Cell<Option<Execute>> = const { Cell::new(None) };
}

/// Runs an Agg node without a message to the client. An ERROR passes it by, so it owns nothing.
unsafe extern "C-unwind" fn quietly(state: *mut PlanState) -> *mut TupleTableSlot {
    let before = raise();
    let execute = EXECUTE.get();
    // SAFETY: PostgreSQL calls it with a node that `silence` was called with.
    let slot = match execute {
        Some(execute) => unsafe { execute(state) },
        None => std::ptr::null_mut(),
    };
    lower(before);
    slot
}

/// From now on, what runs at and below this node is quiet.
pub fn silence(state: *mut PlanState) {
    if !Defence::Quiet.stands() {
        return;
    }
    // SAFETY: the state of an Agg node of a plan that has started, and has not run yet.
    unsafe {
        let Some(execute) = (*state).ExecProcNodeReal else {
            return;
        };
        if execute as usize != quietly as *const () as usize {
            EXECUTE.set(Some(execute));
            (*state).ExecProcNodeReal = Some(quietly);
        }
    }
}
