//! The mathematics of `dp_mean`, without PostgreSQL: an integer grid, exact samplers,
//! and mechanisms that turn exact integer sums into differentially private answers.
//!
//! How a value travels: [`encoding::grid::Grid`] maps a row to an integer number of grid steps;
//! [`encoding::sums::Sums`] adds integers; a [`mechanism::definition::Mechanism`] adds integer noise drawn exactly
//! (by the samplers in [`sampler`], from the words of a [`random::Bits`] source) and only then
//! turns the noisy integers into a floating-point answer, which is post-processing.
//!
//! No floating-point number is ever added to private data: such sums depend on the order of
//! rows, and such noise leaks (Mironov 2012; Casacuberta et al. 2022; Haney et al. 2022).
//!
//! ```
//! use dp_core::encoding::sums::Sums;
//! use dp_core::random::Generator;
//! use dp_core::registry::MEAN;
//! use dp_core::request::arguments::Arguments;
//!
//! let mechanism = MEAN.build(&Arguments {
//!     bounds: Some((Some(0.0), Some(200_000.0))),
//!     epsilon: Some(1.0),
//!     ..Arguments::default() // the default mechanism, hourglass
//! })?;
//! let mechanism = mechanism.sums().expect("the hourglass looks at sums alone");
//! let grid = mechanism.grid().expect("a mean has a grid");
//! let mut sums = Sums::default();
//! for salary in [41_000.0, 52_000.0, 250_000.0] {
//!     sums.add(grid.steps(salary)); // the last one is clamped
//! }
//! let answer = mechanism.release(&sums, &mut Generator::from_os()?);
//! assert!((0.0..=200_000.0).contains(&answer.mean.expect("it always has a mean")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(all(feature = "testing", not(debug_assertions)))]
compile_error!(
    "the feature `testing` lets a caller choose the noise: it cannot be in a release build"
);

pub mod accuracy;
pub mod encoding;
pub mod error;
pub mod estimate;
pub mod mechanism;
pub mod memory;
pub mod noise;
pub mod pause;
pub mod planning;
pub mod privacy;
pub mod random;
#[cfg(feature = "testing")]
pub mod recorder;
pub mod registry;
pub mod request;
pub mod sampler;
pub mod together;
