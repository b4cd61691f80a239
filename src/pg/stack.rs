//! The depth of the stack: what is nested too deeply for a server ends by one ERROR, as PostgreSQL ends it.

use crate::pg::errors;

// As PostgreSQL has it: pgrx's own has a guard.
unsafe extern "C-unwind" {
    /// Raises nothing.
    fn stack_is_too_deep() -> bool;
}

/// For each level of a function that calls itself: whether there is room for more, and whether somebody cancels.
#[inline]
pub fn check() {
    // SAFETY: it compares two addresses.
    if unsafe { stack_is_too_deep() } {
        errors::too_deep().raise();
    }
    pgrx::check_for_interrupts!();
}
