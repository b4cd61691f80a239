//! What keeps the server up where memory ends.
//!
//! What has a size that a call or the rows choose asks for its memory such that a refusal becomes an ERROR (`palloc`,
//! `dp_core::memory`). Small things do not ask: a boxed mechanism, the text of an error, the payload of a panic; and
//! where pgrx catches an ERROR, it takes memory for a copy of it. Without any, Rust would abort the process, or
//! PostgreSQL panic as an error of its own error: either restarts the server, with all sessions lost. So there is some
//! memory to spare, never touched, which goes back to the system where memory ends: enough to get out with the ERROR.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, ErrorContextCallback};

use crate::pg::errors;

/// What there is to spare: PostgreSQL's memory contexts may ask for 1 MB where they need a few bytes, and an ERROR may
/// pass several of them.
const SPARE: Layout = match Layout::from_size_align(4 << 20, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("a size and an alignment"),
};

/// What counts as small.
const SMALL: usize = 1 << 16;

/// The system's memory, with some to spare; NULL where it was given back, or was never taken.
struct Sparing(AtomicPtr<u8>);

#[global_allocator]
static MEMORY: Sparing = Sparing(AtomicPtr::new(std::ptr::null_mut()));

impl Sparing {
    /// Takes what there is to spare, if it is not there. Whether it is.
    fn take(&self) -> bool {
        if !self.0.load(Ordering::Relaxed).is_null() {
            return true;
        }
        // SAFETY: a layout that is not empty.
        let spare = unsafe { System.alloc(SPARE) };
        let none = std::ptr::null_mut();
        let taken = self
            .0
            .compare_exchange(none, spare, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_err() && !spare.is_null() {
            // SAFETY: taken above, and in no other place.
            unsafe { System.dealloc(spare, SPARE) };
        }
        !spare.is_null()
    }

    /// Gives it back to the system. Whether it was there.
    fn give_back(&self) -> bool {
        let spare = self.0.swap(std::ptr::null_mut(), Ordering::Relaxed);
        if !spare.is_null() {
            // SAFETY: `take` put it there, and nobody else has it now.
            unsafe { System.dealloc(spare, SPARE) };
        }
        !spare.is_null()
    }
}

// SAFETY: all blocks are the system's. Nothing here unwinds.
unsafe impl GlobalAlloc for Sparing {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees it.
        let block = unsafe { System.alloc(layout) };
        match block.is_null() && layout.size() <= SMALL && self.give_back() {
            // SAFETY: the same.
            true => unsafe { System.alloc(layout) },
            false => block,
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees it.
        unsafe { System.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees it.
        let grown = unsafe { System.realloc(block, layout, size) };
        match grown.is_null() && size <= SMALL && self.give_back() {
            // SAFETY: the same; where it fails, the block stays as it is.
            true => unsafe { System.realloc(block, layout, size) },
            false => grown,
        }
    }
}

// As PostgreSQL has it: pgrx's own would catch an ERROR, and this raises none.
unsafe extern "C-unwind" {
    fn geterrcode() -> c_int;
}

/// What PostgreSQL calls for an error before it leaves: where memory has ended, what catches it needs some.
unsafe extern "C-unwind" fn error_leaves(_: *mut c_void) {
    // SAFETY: PostgreSQL is in an error, whose code this is.
    if unsafe { geterrcode() } == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int {
        MEMORY.give_back();
    }
}

/// Puts back what is called for errors.
struct Restore(*mut ErrorContextCallback);

impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: what was there before, whose owner has not returned.
        unsafe { pg_sys::error_context_stack = self.0 };
    }
}

/// Runs `work` with memory to spare for the case that memory ends in it, by whomever it is asked for. Raises an ERROR if
/// there is none.
pub fn sparing<R>(work: impl FnOnce() -> R) -> R {
    if !MEMORY.take() {
        errors::out_of_memory();
    }
    // SAFETY: this process's own list, whose first element lives until `work` has returned or unwound. An ERROR that
    // passes both by is one for which PostgreSQL puts the list back itself.
    let before = unsafe { pg_sys::error_context_stack };
    let mut watch = ErrorContextCallback {
        previous: before,
        callback: Some(error_leaves),
        arg: std::ptr::null_mut(),
    };
    let _restore = Restore(before);
    // SAFETY: the same.
    unsafe { pg_sys::error_context_stack = &raw mut watch };
    work()
}

// As PostgreSQL has it: pgrx's own would catch the ERROR.
unsafe extern "C-unwind" {
    fn palloc(size: usize) -> *mut c_void;
}

/// Room for a `T` in the current memory context, whose address is a multiple of 8; or an ERROR.
///
/// # Safety
/// The caller is a C function that PostgreSQL calls, without a guard, and owns nothing: an ERROR skips its frame.
#[inline(always)]
pub unsafe fn unguarded_place<T>() -> *mut T {
    const { assert!(align_of::<T>() <= 8) };
    // SAFETY: the frames on the way of an ERROR are C's, and the caller's, which own nothing.
    unsafe { palloc(size_of::<T>()).cast() }
}

/// Asks the processor to fetch what lies at an address and in the 512 bytes behind it, all at once, for the code that
/// reads it next and would else wait for each part. Nothing is read: any address will do.
#[inline(always)]
pub fn fetch_soon(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..8 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint that never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(64 * line).cast()) };
    }
    // There is a hint for other processors in no stable Rust.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
