//! What the crate promises, checked from outside: privacy by enumeration (`privacy`), samplers
//! against the laws that the enumeration is about (`samplers`, `tapes`), accuracy against the
//! literature (`accuracy`), and behaviour at the edges (`order`, `parsing`, `extremes`).

mod accuracy;
mod extremes;
mod law;
mod order;
mod parsing;
mod privacy;
mod samplers;
mod stats;
mod tapes;
mod words;
