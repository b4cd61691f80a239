//! What a mechanism is: its trait, what users should know of it, and how it is made for a call.

use crate::accuracy::interval::Intervals;
use crate::accuracy::population::MeanIntervals;
use crate::encoding::grid::Grid;
use crate::encoding::sums::Sums;
use crate::error::ParameterError;
use crate::privacy::cost::Loss;
use crate::random::Generator;
use crate::request::checked::Request;
use crate::request::parameter::Parameter;
use crate::request::unit;

/// A mechanism with all its public parameters fixed: integers in, noise drawn, answer out.
pub trait Mechanism<Data = Sums> {
    /// What a release hands back.
    type Answer;

    /// How a row's value becomes grid steps; `None` for a mechanism that only counts rows.
    fn grid(&self) -> Option<Grid>;

    /// One release: draws noise afresh at each call.
    fn release(&self, data: &Data, generator: &mut Generator) -> Self::Answer;

    /// From an answer to an interval that misses what it estimates with at most this probability;
    /// `None` where no interval follows from the answer and public numbers.
    fn intervals(&self, _miss: f64) -> Option<Intervals<Self::Answer>> {
        None
    }

    /// From an answer to the intervals of a mean that comes with it: of the rows, and of the population that persons were
    /// drawn from, each with at most `alike` rows. `None` where the answer has no second moment.
    fn mean_intervals(&self, _miss: f64, _alike: u32) -> Option<MeanIntervals<Self::Answer>> {
        None
    }
}

/// A mechanism of single numbers that answers with an `A`.
pub type Scalar<A> = dyn Mechanism<Answer = A>;

/// What a user should know of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name, as a user writes it.
    pub name: &'static str,
    /// What it is and when to take it, in Markdown, for the quick reference.
    pub what: &'static str,
    /// The privacy guarantee of one release.
    pub guarantee: &'static str,
    /// What bounds its privacy loss, and so what a release costs in other currencies.
    pub loss: Loss,
    /// The pairs of tables between which the guarantee holds.
    pub neighbours: &'static str,
    /// The parameters it takes, besides those that all take.
    pub parameters: &'static [Parameter],
    /// A text that works, with the parameters that are needed.
    pub example: &'static str,
    /// Where the mechanism comes from: paper and theorem or algorithm.
    pub source: &'static str,
}

impl Info {
    /// The parameters it takes: its own, and those that all mechanisms take.
    pub fn all_parameters(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().chain(&unit::PARAMETERS)
    }
}

/// The guarantee of a mechanism of pure differential privacy.
pub(crate) const PURE: &str = "eps-differential privacy";

/// What the means that clamp to the bounds need.
pub(crate) const HOLDING_BOUNDS: &str = "lo and hi between which the rows lie";

/// Neighbours by adding or removing.
pub(crate) const ADD_REMOVE: &str = "add or remove one row";

/// Neighbours by adding, removing or replacing.
pub(crate) const ADD_REMOVE_REPLACE: &str = "add, remove or replace one row";

/// What [`Entry::build`] gives: a mechanism, ready to release.
pub type Built<M> = Result<Box<M>, ParameterError>;

/// How to plan with a mechanism, before anything is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its text, with `{n}`, `{delta}`, `{moment}`, `{psi}` where these numbers of the plan go.
    pub text: &'static str,
    /// What its promises ask of the rows and of who calls it.
    pub needs: &'static str,
}

/// A mechanism in a registry.
pub struct Entry<M: ?Sized> {
    /// What to tell users.
    pub info: Info,
    /// How to plan with it; `None` where no forecast is made.
    pub plan: Option<Plan>,
    /// Makes the mechanism for a call; an error blames the argument `mech`, or one of those that
    /// must fit it.
    pub build: fn(&Request) -> Built<M>,
}
