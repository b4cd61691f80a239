//! What privacy costs: epsilon, delta, and how guarantees convert and add up.

pub mod accounting;
pub mod delta;
pub mod epsilon;
