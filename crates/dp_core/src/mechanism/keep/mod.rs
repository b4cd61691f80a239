//! Mechanisms that say whether a group may be shown.
//!
//! **Sensitivity space.** Adding or removing a person moves the number of rows of a group by at
//! most as many rows as the person has in it, in at most as many groups as the person falls in:
//! both are 1 unless the call says otherwise.

pub mod optimal;
pub(crate) mod threshold;
