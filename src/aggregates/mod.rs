//! The aggregates, one a file.

pub mod bounds;
pub mod clamped;
pub mod count;
pub mod counts;
pub mod histogram;
pub mod keep;
pub mod mean;
pub mod means;
pub mod sum;
pub mod sums;
pub mod variance;
