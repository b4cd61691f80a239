//! Mechanisms for counts.
//!
//! **Sensitivity space.** Adding or removing a row moves the number of rows by 1 or -1.

pub mod gaussian;
pub mod geometric;
pub mod number;
pub mod undercount;
