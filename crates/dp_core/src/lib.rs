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
//!
//! ```
//! use dp_core::mechanism::{Arguments, MEAN, MechanismArgument};
//! use dp_core::random::Generator;
//! use dp_core::sums::Sums;
//!
//! let mechanism = MEAN.build(&Arguments {
//!     bounds: Some((Some(0.0), Some(200_000.0))),
//!     epsilon: Some(1.0),
//!     delta: None,
//!     questions: None,
//!     mechanism: MechanismArgument::Omitted,
//!     pathological: false, // the default, hourglass
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

pub mod accounting;
pub mod buckets;
pub mod cells;
pub mod choice;
pub mod delta;
pub mod epsilon;
pub mod error;
pub mod grid;
pub mod interval;
pub mod magnitudes;
pub mod mechanism;
pub mod memory;
pub mod planning;
pub mod random;
#[cfg(feature = "testing")]
pub mod recorder;
pub mod sampler;
pub mod sides;
pub mod sums;
pub mod tail;
