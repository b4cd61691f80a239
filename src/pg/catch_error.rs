//! Drops errors that PostgreSQL's own functions raise, by their SQLSTATE. pgrx would make a panic of each first, which
//! takes ten times as long: many rows may have one, so this matters.

use std::mem::MaybeUninit;

use cee_scape::call_with_sigsetjmp;
use pgrx::pg_sys;

unsafe extern "C-unwind" {
    /// Raises again the error that was caught last.
    fn pg_re_throw() -> !;
}

/// What `work` answers, or `None` if it raised an error whose SQLSTATE, as PostgreSQL encodes it, is one `to_drop`.
/// Every other error unwinds, as from any function of PostgreSQL's that pgrx binds.
///
/// Nothing is undone, as a subtransaction would: memory goes with the memory context, and the state of errors is as it
/// was before.
///
/// # Safety
/// The backend's one thread. `work` calls C functions, does not panic, and owns nothing that needs dropping; what it
/// calls changes nothing that an error would have to take back, and holds no lock, pin or reference when it raises one.
pub unsafe fn drop_errors<T: Copy>(
    work: impl FnOnce() -> T,
    to_drop: impl FnOnce(i32) -> bool,
) -> Option<T> {
    let mut answer = MaybeUninit::uninit();
    // SAFETY: PostgreSQL's own variables, as PG_TRY and PG_CATCH of its headers use them. An error jumps to the buffer
    // only while this frame lives, as the stack is restored before it ends. On the way are C frames, and Rust frames
    // that own nothing, as the caller guarantees. `answer` is read only where `work` came to its end.
    unsafe {
        let memory = pg_sys::CurrentMemoryContext;
        let (exceptions, contexts) = (pg_sys::PG_exception_stack, pg_sys::error_context_stack);
        let jumped = call_with_sigsetjmp(false, |buffer| {
            pg_sys::PG_exception_stack = std::ptr::from_ref(buffer).cast_mut().cast();
            answer.write(work());
            0
        });
        pg_sys::PG_exception_stack = exceptions;
        pg_sys::error_context_stack = contexts;
        if jumped == 0 {
            return Some(answer.assume_init());
        }
        pg_sys::CurrentMemoryContext = memory;
        if to_drop(pg_sys::geterrcode()) {
            pg_sys::FlushErrorState();
            return None;
        }
        pg_sys::ffi::pg_guard_ffi_boundary(|| pg_re_throw())
    }
}
