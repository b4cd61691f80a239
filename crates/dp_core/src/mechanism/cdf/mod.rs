//! Mechanisms for distribution functions: which part of the rows is below each of many points.
//!
//! **Sensitivity space.** The points are public, and each row is counted in one of the cells between them: which one is
//! a function of its own value. So adding or removing a row moves one count by 1 or -1, and no other.

pub mod band;
pub mod consistent;
pub mod tree;
