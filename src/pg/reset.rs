//! Calls back where memory of PostgreSQL's goes.

use std::ffi::c_void;

use pgrx::pg_sys::{self, MemoryContext, MemoryContextCallback};

/// From now on, `work` is called with `about` where the memory is reset or goes.
///
/// # Safety
/// A memory context that lives. The caller is below a guard, as memory may end; `work` raises no error.
pub unsafe fn on_reset(
    memory: MemoryContext,
    work: unsafe extern "C-unwind" fn(*mut c_void),
    about: *mut c_void,
) {
    // SAFETY: a callback in the memory that it is called for.
    unsafe {
        let size = size_of::<MemoryContextCallback>();
        let callback = pg_sys::MemoryContextAllocZero(memory, size).cast::<MemoryContextCallback>();
        (*callback).func = Some(work);
        (*callback).arg = about;
        pg_sys::MemoryContextRegisterResetCallback(memory, callback);
    }
}
