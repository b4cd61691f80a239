//! Keeps messages from the client while private rows are read: warnings and notices, which may say what a row
//! holds, and lines of the log, whose number depends on the rows.
//!
//! While an answer is computed, no message below ERROR leaves. In the rest of the transaction those below INFO stay too:
//! nobody asks for them by a function of their own. The level of messages alone would not do, as it holds back no INFO.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

use pgrx::pg_sys;

use crate::gate::defence::Defence;
use crate::pg::transaction;

thread_local! {
    /// What the level of messages was before it was raised, and in which depth of transactions; 0 in none.
    static RAISED: Cell<(i32, i32)> = const { Cell::new((0, 0)) };
    /// Whether this transaction has asked about a protected table.
    static ASKED: Cell<bool> = const { Cell::new(false) };
    /// How messages to the client were sent before.
    static NEXT: Cell<Option<NonNull<Methods>>> = const { Cell::new(None) };
}

/// How PostgreSQL sends to its client (`libpq.h`).
#[derive(Clone, Copy)]
#[repr(C)]
struct Methods {
    reset: unsafe extern "C-unwind" fn(),
    flush: unsafe extern "C-unwind" fn() -> c_int,
    flush_if_writable: unsafe extern "C-unwind" fn() -> c_int,
    is_send_pending: unsafe extern "C-unwind" fn() -> bool,
    put: unsafe extern "C-unwind" fn(c_char, *const c_char, usize) -> c_int,
    put_now: unsafe extern "C-unwind" fn(c_char, *const c_char, usize),
}

unsafe extern "C" {
    static mut PqCommMethods: *mut Methods;
}

/// Sends what may be sent. It owns nothing, as an ERROR may pass.
unsafe extern "C-unwind" fn put(kind: c_char, bytes: *const c_char, length: usize) -> c_int {
    // SAFETY: PostgreSQL hands the bytes of a message; the methods of before live as long as the process.
    unsafe {
        if kind as u8 == b'N' && is_kept(std::slice::from_raw_parts(bytes.cast(), length)) {
            return 0;
        }
        match NEXT.get() {
            Some(next) => (next.as_ref().put)(kind, bytes, length),
            None => -1,
        }
    }
}

/// Whether a message below ERROR stays here: its fields, each a letter and a string.
fn is_kept(message: &[u8]) -> bool {
    if RAISED.get().1 != 0 {
        return Defence::Warnings.stands();
    }
    let mut fields = message.split(|byte| *byte == 0);
    let severity = fields.find_map(|field| field.strip_prefix(b"V"));
    let is_log = |severity: &[u8]| severity == b"LOG" || severity.starts_with(b"DEBUG");
    ASKED.get() && Defence::Quiet.stands() && severity.is_none_or(is_log)
}

/// From now on, this process sends its messages by [`put`].
fn listen() {
    // SAFETY: this process's one way to its client, which it has from its start on. The copy is never freed.
    unsafe {
        if let (None, Some(next)) = (NEXT.get(), NonNull::new(PqCommMethods)) {
            let methods = *next.as_ref();
            NEXT.set(Some(next));
            PqCommMethods = Box::leak(Box::new(Methods { put, ..methods }));
        }
    }
}

/// The time in which messages stay here. One within another changes nothing.
pub struct Silence {
    /// The level of messages to the client before; `None` if others had raised it.
    before: Option<i32>,
}

impl Silence {
    /// From now on, messages stay here.
    pub fn begin() -> Self {
        if RAISED.get().1 != 0 || !Defence::Quiet.stands() {
            return Self { before: None };
        }
        listen();
        let most = match Defence::Warnings.stands() {
            true => pg_sys::PGERROR as i32,
            false => pg_sys::NOTICE as i32,
        };
        // SAFETY: a setting of this process.
        unsafe {
            let before = pg_sys::client_min_messages;
            RAISED.set((before, transaction::depth()));
            // Parallel workers start with it.
            pg_sys::client_min_messages = before.max(most);
            Self {
                before: Some(before),
            }
        }
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            lower(before);
        }
    }
}

/// Puts the level back.
fn lower(before: i32) {
    // SAFETY: a setting of this process.
    unsafe { pg_sys::client_min_messages = before };
    RAISED.set((0, 0));
}

/// A transaction of this depth has ended by an error: what it raised is put back.
pub fn rolled_back(at: i32) {
    let (before, raised_at) = RAISED.get();
    if raised_at != 0 && raised_at >= at {
        lower(before);
    }
}

/// Says that this transaction has asked about a protected table, or that it has ended.
pub fn set_asked(asked: bool) {
    ASKED.set(asked);
    if asked && Defence::Quiet.stands() {
        listen();
    }
}
