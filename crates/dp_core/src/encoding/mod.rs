//! How a row becomes integers, and what a state adds up: no floating-point number is ever added to
//! private data.

pub mod bitmap;
pub mod buckets;
pub mod cells;
pub mod columns;
pub mod contribution;
pub mod grid;
pub mod groups;
pub mod log_bins;
pub mod pairs;
pub mod power_of_two_bins;
pub mod ranges;
pub mod ranks;
pub mod sides;
pub mod squares;
pub mod sums;
