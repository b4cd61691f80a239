//! The mechanisms, one a file, a folder for each kind of answer.

pub mod bivariate;
pub mod bounds;
pub mod bounds_search;
pub mod cdf;
pub mod clamped;
pub mod count;
pub mod definition;
pub mod distinct;
pub mod gamma;
pub mod gaussian;
pub mod histogram;
pub mod keep;
pub mod mean;
pub mod quantile;
pub mod regression;
pub mod sum;
pub mod variance;
pub mod vector;
