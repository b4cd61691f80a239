//! The mechanisms, one a file, and the registry that names them.
//!
//! To add a mechanism: write its file (with the reason it is private beside the code), add one
//! [`Entry`] to the registry of its aggregate below, and its tests and documentation.

pub mod hourglass;

use crate::choice::Choice;
use crate::epsilon::Epsilon;
use crate::error::ParameterError;
use crate::grid::{Bounds, Grid};
use crate::random::Generator;
use crate::sums::Sums;

/// A mechanism with all its public parameters fixed: integers in, noise drawn, answer out.
pub trait Mechanism {
    /// What a release hands back.
    type Answer;

    /// How a row's value becomes grid steps; `None` for a mechanism that only counts rows.
    fn grid(&self) -> Option<Grid>;

    /// One release: draws noise afresh at each call.
    fn release(&self, sums: &Sums, generator: &mut Generator) -> Self::Answer;
}

/// What a mean's release hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanAnswer {
    /// The private mean, inside the bounds.
    pub mean: f64,
    /// The noisy number of rows from the same release, at no further cost.
    pub count: f64,
}

/// The public parameters of a call, checked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `None` for counts.
    pub bounds: Option<Bounds>,
    pub epsilon: Epsilon,
    pub choice: &'a Choice,
}

/// The mechanism argument of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MechanismArgument<'a> {
    /// The call has no such argument.
    Omitted,
    /// The text of a mechanism, or NULL.
    Given(Option<&'a str>),
}

/// The arguments of a call as they stand; `None` is NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arguments<'a> {
    /// `None` where the aggregate takes no bounds.
    pub bounds: Option<(Option<f64>, Option<f64>)>,
    pub epsilon: Option<f64>,
    pub mechanism: MechanismArgument<'a>,
}
