//! Mechanisms that find bounds.
//!
//! **Sensitivity space.** The bins of magnitudes are fixed, and each row is counted in one of them:
//! adding or removing a row moves one count by 1 or -1, and no other.

pub mod geometric;
