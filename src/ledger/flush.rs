//! Waiting until a change is on disk.

use pgrx::pg_sys;

use crate::ledger::pages::Written;

#[cfg(feature = "testing")]
thread_local! {
    static NOTHING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// From now on nothing is waited for: what a test of crashes must notice.
#[cfg(feature = "testing")]
pub fn nothing() {
    NOTHING.set(true);
}

/// Waits until what was written is on disk.
pub fn flush(written: Written) {
    #[cfg(feature = "testing")]
    if NOTHING.get() {
        return;
    }
    // SAFETY: a place in the WAL that GenericXLogFinish has returned.
    unsafe { pg_sys::XLogFlush(written.0) }
}
