//! Where long work that reads no rows asks whether somebody cancels it.
//!
//! Work on rows is cancelled where they are read. What takes long without them, as a simulation of noise does, calls
//! [`look`] now and then. Where the work is to end, `look` does not return: it unwinds.

use std::sync::OnceLock;

static LOOK: OnceLock<fn()> = OnceLock::new();

/// Says what [`look`] calls, for good: the first one stays. Without one it does nothing.
pub fn look_at(look: fn()) {
    LOOK.get_or_init(|| look);
}

/// Returns if the work is to go on.
#[inline]
pub fn look() {
    if let Some(look) = LOOK.get() {
        look();
    }
}
