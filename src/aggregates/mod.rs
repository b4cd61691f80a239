//! The aggregates, one a file.

mod bounds;
mod clamped;
mod count;
mod counts;
mod histogram;
mod keep;
mod mean;
mod means;
mod shared;
mod sum;
mod sums;
mod variance;
