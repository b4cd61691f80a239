//! Bounds that a mechanism finds by itself, before it releases what it is asked for.

pub mod answer;
pub mod ends;
pub mod magnitude;
pub(crate) mod parameters;
pub mod release;
