//! Bounds that a mechanism finds by itself, before it releases what it is asked for.

pub mod answer;
pub mod ends;
pub mod finding;
pub mod octave;
pub(crate) mod parameters;
