//! What keeps the server up where memory ends.
//!
//! What has a size that a call or the rows choose asks for its memory such that a refusal becomes an
//! ERROR (`palloc`, `dp_core::memory`). Small things do not ask: a boxed mechanism, the text of an error,
//! the payload of a panic. Rust would abort the process where the system has no room for them, and
//! PostgreSQL would restart, with all sessions lost. So there is a reserve for them, long enough
//! to get out with the ERROR. What happens without it: ARCHITECTURE.md, Memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::pg::errors;

/// Blocks of the reserve have sizes of powers of two, from 2^4 to 2^13 bytes.
const SMALLEST: u32 = 4;
const CLASSES: usize = 10;
/// More than what is alive at a time of small things, by far.
const SIZE: usize = 1 << 19;

/// The system's memory, and a reserve for small things where it ends.
struct Reserving {
    reserve: UnsafeCell<Reserve>,
    /// The reserve's memory: never read as a value, only handed out.
    room: UnsafeCell<Room>,
    busy: AtomicBool,
    /// Blocks of the reserve that are in use.
    taken: AtomicUsize,
}

#[repr(C, align(4096))]
struct Room([u8; SIZE]);

/// What of the room is free: all from `fresh` on, and for each size a list of blocks that came back.
struct Reserve {
    fresh: usize,
    free: [*mut u8; CLASSES],
}

// SAFETY: who looks at the reserve holds `busy`; see `with_reserve`.
unsafe impl Sync for Reserving {}

#[global_allocator]
static MEMORY: Reserving = Reserving {
    reserve: UnsafeCell::new(Reserve {
        fresh: 0,
        free: [std::ptr::null_mut(); CLASSES],
    }),
    room: UnsafeCell::new(Room([0; SIZE])),
    busy: AtomicBool::new(false),
    taken: AtomicUsize::new(0),
};

/// Raises an ERROR if memory has ended: if something lives in the reserve and the system still has no room
/// for more.
pub fn check() {
    if MEMORY.taken.load(Ordering::Relaxed) > 0 && Vec::<u8>::new().try_reserve(SIZE).is_err() {
        errors::out_of_memory();
    }
}

/// The size class of a block, or `None` for what is too large for the reserve.
fn class(layout: Layout) -> Option<usize> {
    let size = layout.size().max(layout.align()).next_power_of_two();
    let class = size.trailing_zeros().saturating_sub(SMALLEST) as usize;
    (class < CLASSES).then_some(class)
}

impl Reserving {
    fn with_reserve<R>(&self, work: impl FnOnce(&mut Reserve) -> R) -> R {
        while self
            .busy
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            std::hint::spin_loop();
        }
        // SAFETY: `busy` was false and is true now, so nobody else is here. `work` does not allocate.
        let result = work(unsafe { &mut *self.reserve.get() });
        self.busy.store(false, Ordering::Release);
        result
    }

    /// A block of the reserve, or NULL where there is none.
    #[cold]
    fn take(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class(layout) else {
            return std::ptr::null_mut();
        };
        let size = 1usize << (class as u32 + SMALLEST);
        let block = self.with_reserve(|reserve| {
            let free = reserve.free[class];
            if !free.is_null() {
                // SAFETY: a block on the list is free, aligned, and starts with the address of the next.
                reserve.free[class] = unsafe { free.cast::<*mut u8>().read() };
                return free;
            }
            // A block is aligned to its size.
            let start = reserve.fresh.next_multiple_of(size);
            if start + size > SIZE {
                return std::ptr::null_mut();
            }
            reserve.fresh = start + size;
            // SAFETY: the block lies in the room.
            unsafe { self.room.get().cast::<u8>().add(start) }
        });
        if !block.is_null() {
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
        block
    }

    fn holds(&self, block: *mut u8) -> bool {
        let start = self.room.get() as usize;
        (start..start + SIZE).contains(&(block as usize))
    }

    #[cold]
    fn give_back(&self, block: *mut u8, layout: Layout) {
        let Some(class) = class(layout) else { return };
        self.with_reserve(|reserve| {
            // SAFETY: the block came from `take` with this layout and nobody uses it any more; it has
            // at least 16 bytes and is aligned to its size.
            unsafe { block.cast::<*mut u8>().write(reserve.free[class]) };
            reserve.free[class] = block;
        });
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

// SAFETY: blocks come from the system's allocator, or else from the room, where each is handed out to one
// owner until it is given back, is as large and as aligned as the layout asks, and is known by its address.
// Nothing here unwinds.
unsafe impl GlobalAlloc for Reserving {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees it.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() {
            self.take(layout)
        } else {
            block
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.holds(block) {
            self.give_back(block, layout);
        } else {
            // SAFETY: it is not the reserve's, so it is the system's.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.holds(block) {
            // SAFETY: it is not the reserve's, so it is the system's.
            let grown = unsafe { System.realloc(block, layout, size) };
            if !grown.is_null() {
                return grown;
            }
        }
        // SAFETY: the caller guarantees a layout; both blocks have room for the smaller size, and
        // are two.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
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
