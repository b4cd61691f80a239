//! Mechanisms for histograms: how many rows fall in each of some buckets.
//!
//! **Sensitivity space.** The buckets are public, and each row is counted in one of them at most:
//! which one is a function of its own value. So adding or removing a row moves one count by 1 or
//! -1, and no other.

pub mod counts;
pub mod geometric;
