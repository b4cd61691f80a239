//! What several aggregates share.

pub mod bins;
pub mod estimate;
pub mod log_bins;
pub mod people;
pub mod scalars;
pub mod vectors;
