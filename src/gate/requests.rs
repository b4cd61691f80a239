//! What the aggregates of a block ask for, and between which bounds.

pub mod asked;
pub mod collect;
mod numbers;
mod own;
