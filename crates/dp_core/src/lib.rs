//! The mathematics of `dp_mean`, without PostgreSQL: an integer grid, exact samplers,
//! and mechanisms that turn exact integer sums into differentially private answers.
//!
//! How a value travels: [`grid::Grid`] maps a row to an integer number of grid steps;
//! [`sums::Sums`] adds integers; a [`mechanism::Mechanism`] adds integer noise drawn exactly
//! (by the samplers in [`sampler`], from the words of a [`random::Bits`] source) and only then
//! turns the noisy integers into a floating-point answer, which is post-processing.
//!
//! No floating-point number is ever added to private data: such sums depend on the order of
//! rows, and such noise leaks (Mironov 2012; Casacuberta et al. 2022; Haney et al. 2022).

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(all(feature = "testing", not(debug_assertions)))]
compile_error!(
    "the feature `testing` lets a caller choose the noise: it cannot be in a release build"
);

pub mod choice;
pub mod epsilon;
pub mod error;
pub mod grid;
pub mod mechanism;
pub mod random;
pub mod sampler;
pub mod sums;
