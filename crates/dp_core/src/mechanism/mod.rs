//! The mechanisms, one a file, a folder for each kind of answer.

pub mod bounds;
pub mod cdf;
pub mod clamped;
pub mod columns;
pub mod count;
pub mod definition;
pub mod distinct;
pub mod gamma;
pub mod gaussian;
pub mod histogram;
pub mod keep;
pub mod mean;
pub mod quantile;
pub mod search;
pub mod sum;
pub mod variance;
pub mod vector;
