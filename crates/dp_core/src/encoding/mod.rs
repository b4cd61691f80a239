//! How a row becomes integers, and what a state adds up: no floating-point number is ever added to
//! private data.

pub mod buckets;
pub mod cells;
pub mod contribution;
pub mod grid;
pub mod groups;
pub mod magnitudes;
pub mod occupied;
pub mod octaves;
pub mod pairs;
pub mod ranges;
pub mod ranks;
pub mod sides;
pub mod squares;
pub mod sums;
