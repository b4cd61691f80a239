//! The ends of transactions, and how deep the current one is.

use std::ffi::c_void;

use pgrx::pg_sys;

/// What is called where transactions end. It must not fail: an ERROR there ends the process.
pub struct Ends {
    /// A transaction has ended, by COMMIT, ROLLBACK or PREPARE TRANSACTION.
    pub ended: fn(),
    /// A subtransaction of this depth has been rolled back.
    pub rolled_back: fn(i32),
}

/// How deep the current transaction is: 1 outside of every savepoint.
pub fn depth() -> i32 {
    // SAFETY: it reads a number.
    unsafe { pg_sys::GetCurrentTransactionNestLevel() }
}

/// From now on, this process calls it.
pub fn listen(ends: &'static Ends) {
    let context = std::ptr::from_ref(ends).cast_mut().cast();
    // SAFETY: callbacks that stay for as long as the process, and so does what they are called with.
    unsafe {
        pg_sys::RegisterXactCallback(Some(transaction), context);
        pg_sys::RegisterSubXactCallback(Some(subtransaction), context);
    }
}

/// # Safety
/// It is called with what [`listen`] has registered.
unsafe fn registered(context: *mut c_void) -> &'static Ends {
    // SAFETY: as above.
    unsafe { &*context.cast::<Ends>() }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn transaction(event: pg_sys::XactEvent::Type, context: *mut c_void) {
    use pg_sys::XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PREPARE};
    if [XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PREPARE].contains(&event) {
        // SAFETY: PostgreSQL calls it with what was registered.
        (unsafe { registered(context) }.ended)();
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn subtransaction(
    event: pg_sys::SubXactEvent::Type,
    _own: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    context: *mut c_void,
) {
    if event == pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB {
        // SAFETY: PostgreSQL calls it with what was registered.
        (unsafe { registered(context) }.rolled_back)(depth());
    }
}
