//! The aggregates, one a file.

pub mod count;
pub mod mean;
pub mod sum;
