//! Mechanisms that say what clamping does: how many rows are below the bounds, inside and above.
//!
//! **Sensitivity space.** The bounds are public, and each row is counted on one of three sides: which
//! one is a function of its own value. So adding or removing a row moves one count by 1 or -1, and no
//! other.

pub mod geometric;
