//! Mechanisms for quantiles: a value with a given part of the rows below it.
//!
//! **Sensitivity space.** The bins are public, and each row is counted in one of them: which one is a function of
//! its own value. So adding or removing a row moves one count by 1 or -1, and no other.

pub mod above_threshold;
pub mod estimate;
mod even;
pub mod exponential;
mod parameters;
pub mod ranks;
