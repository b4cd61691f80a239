//! The mechanisms, one a file, and the registries that name them.
//!
//! To add a mechanism: write its file (with the reason it is private beside the code), add its
//! `ENTRY` to the registry of its aggregate below, and its tests and documentation.

pub mod bounds;
mod budget;
pub mod clamped;
pub mod count;
pub mod estimate;
pub mod histogram;
pub mod keep;
pub mod mean;
pub mod person;
pub mod sum;
pub mod variance;
pub mod vector;

use crate::choice::{self, Choice};
use crate::delta::Delta;
use crate::epsilon::Epsilon;
use crate::error::ParameterError;
use crate::grid::{Bounds, Grid};
use crate::interval::Intervals;
use crate::random::Generator;
use crate::sums::Sums;
use bounds::geometric::BoundsFinder;
pub(crate) use budget::replaces_epsilon;
use clamped::geometric::Clamped;
use histogram::geometric::Histogram;
use mean::Mean;
use variance::OfMoments;
use vector::VectorMechanism;

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
}

/// A mechanism of single numbers that answers with an `A`.
pub type Scalar<A> = dyn Mechanism<Answer = A>;

/// A mechanism of vectors.
pub type Vector = dyn VectorMechanism;

/// What a mean's release hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanAnswer {
    /// The private mean; `None` where the mechanism found no place for it.
    pub mean: Option<f64>,
    /// The noisy number of rows from the same release, at no further cost; `None` where the
    /// mechanism has none to give.
    pub count: Option<f64>,
}

/// The public parameters of a call, checked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    bounds: Option<Bounds>,
    /// `None` where the mechanism's own parameters say what one release may spend.
    epsilon: Option<Epsilon>,
    /// `None` where the aggregate takes no delta.
    delta: Option<Delta>,
    questions: Option<usize>,
    /// The mechanism and its parameters: those the mechanism takes.
    choice: &'a Choice,
    /// Whether a mechanism may be one that can show a row.
    pathological: bool,
    /// 1; in tests, how many times the noise is too small.
    overspent: f64,
}

impl Request<'_> {
    /// The argument `delta`, for an aggregate that has one.
    fn given_delta(&self) -> Result<Delta, ParameterError> {
        self.delta.map_or_else(|| Delta::new(None), Ok)
    }

    /// The bounds, for a mechanism that needs them.
    fn bounds(&self) -> Result<Bounds, ParameterError> {
        self.bounds.ok_or_else(|| {
            ParameterError::new(
                "lo",
                "must be given",
                "Give the bounds of the column: lo, hi.",
            )
        })
    }

    /// The parameter `gamma`, in (0, 1]; `best` where it is not given.
    fn gamma(&self, best: fn(f64) -> f64) -> Result<f64, ParameterError> {
        match self.choice.get(GAMMA.name) {
            None => Ok(best(self.epsilon()?.value())),
            Some(gamma) if gamma > 0.0 && gamma <= 1.0 => Ok(gamma),
            Some(_) => Err(ParameterError::new(
                "mech",
                "gives the parameter gamma a value outside its range",
                "The parameter gamma must be above 0 and at most 1; leave it out for the best one.",
            )),
        }
    }
}

/// The parameter that the staircase shapes share.
const GAMMA: Parameter = Parameter {
    name: "gamma",
    takes: Takes::Number,
    domain: "0 < gamma <= 1",
    description: "where the first step of the noise ends, as a fraction of the sensitivity; \
                  by default the one with the least squared error for eps",
};

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
    /// The argument `eps`.
    pub epsilon: Option<f64>,
    /// The argument `delta`; `None` where the aggregate takes none.
    pub delta: Option<Option<f64>>,
    /// How many numbers the call asks for: yes/no questions, `None` where they come as an array; or
    /// buckets, `None` for NULL.
    pub questions: Option<usize>,
    /// The argument `mech`.
    pub mechanism: MechanismArgument<'a>,
    /// Whether mechanisms are allowed that show a row, as it is, with probability delta.
    pub pathological: bool,
}

/// A parameter of a mechanism, as in `hourglass(gamma=0.4)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its key. Parameters of one key are the same wherever a mechanism of that name has them.
    pub name: &'static str,
    /// What a value looks like.
    pub takes: Takes,
    /// The values it takes, in words.
    pub domain: &'static str,
    /// What it does, and its default.
    pub description: &'static str,
}

/// What the value of a parameter looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A finite decimal number.
    Number,
    /// A whole number below 2^53, not negative.
    Whole,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// What a user should know of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name, as a user writes it.
    pub name: &'static str,
    /// The privacy guarantee of one release.
    pub guarantee: &'static str,
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
        self.parameters.iter().chain(&person::PARAMETERS)
    }
}

/// The guarantee of a mechanism of pure differential privacy.
const PURE: &str = "eps-differential privacy";

/// What the means that clamp to the bounds need.
pub(crate) const HOLDING_BOUNDS: &str = "lo and hi between which the rows lie";

/// Neighbours by adding or removing.
const ADD_REMOVE: &str = "add or remove one row";

/// Neighbours by adding, removing or replacing.
const ADD_REMOVE_REPLACE: &str = "add, remove or replace one row";

/// What [`Entry::build`] gives: a mechanism, ready to release.
pub type Built<M> = Result<Box<M>, ParameterError>;

/// How to plan with a mechanism, before anything is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its text, with `{n}`, `{delta}`, `{moment}`, `{psi}` where these numbers of the plan go.
    pub text: &'static str,
    /// What its promises ask of the rows and of whoever calls it.
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

/// The mechanisms of an aggregate. The first one is the default.
pub struct Registry<M: ?Sized + 'static> {
    /// The aggregate's name.
    pub aggregate: &'static str,
    /// Its mechanisms, the default first.
    pub entries: &'static [Entry<M>],
}

/// The mechanisms of means.
pub static MEAN: Registry<Mean> = Registry {
    aggregate: "dp_mean",
    entries: &[
        mean::hourglass::ENTRY,
        mean::laplace::ENTRY,
        mean::staircase::ENTRY,
        mean::gaussian::ENTRY,
        mean::smooth::ENTRY,
        mean::clipped::ENTRY,
        mean::shifted::ENTRY,
        mean::independent::ENTRY,
        mean::symmetric::ENTRY,
        mean::symmetric_known_n::ENTRY,
        mean::hybrid::ENTRY,
        mean::name_and_shame::ENTRY,
    ],
};

/// The mechanisms of sums. An answer may be infinite: where the bounds are near the largest
/// floats.
pub static SUM: Registry<Scalar<f64>> = Registry {
    aggregate: "dp_sum",
    entries: &[
        sum::staircase::ENTRY,
        sum::laplace::ENTRY,
        sum::gaussian::ENTRY,
    ],
};

/// The mechanisms of counts. An answer may be negative.
pub static COUNT: Registry<Scalar<i64>> = Registry {
    aggregate: "dp_count",
    entries: &[
        count::geometric::ENTRY,
        count::gaussian::ENTRY,
        count::undercount::ENTRY,
    ],
};

/// The mechanisms that say whether a group may be shown.
pub static KEEP: Registry<Scalar<bool>> = Registry {
    aggregate: "dp_keep",
    entries: &[keep::optimal::ENTRY],
};

/// The mechanisms of variances, and of what else their release gives.
pub static VARIANCE: Registry<OfMoments> = Registry {
    aggregate: "dp_variance",
    entries: &[variance::laplace::ENTRY, variance::gaussian::ENTRY],
};

/// The mechanisms of many counts at once. Answers may be negative.
pub static COUNTS: Registry<Vector> = Registry {
    aggregate: "dp_counts",
    entries: VECTORS,
};

/// The mechanisms of sums of vectors. Answers may be infinite, as those of [`SUM`].
pub static SUMS: Registry<Vector> = Registry {
    aggregate: "dp_sums",
    entries: VECTORS,
};

const VECTORS: &[Entry<Vector>] = &[
    vector::correlated::ENTRY,
    vector::gaussian::ENTRY,
    vector::known_n::ENTRY,
    vector::laplace::ENTRY,
    vector::ellipse::ENTRY,
];

/// The mechanisms of means of vectors: those that know the number of rows.
pub static MEANS: Registry<Vector> = Registry {
    aggregate: "dp_means",
    entries: &[vector::correlated::ENTRY, vector::known_n::ENTRY],
};

/// The mechanisms of histograms. Answers may be negative.
pub static HISTOGRAM: Registry<Histogram> = Registry {
    aggregate: "dp_histogram",
    entries: &[histogram::geometric::ENTRY],
};

/// The mechanisms that find bounds. An answer may be that there are none.
pub static BOUNDS: Registry<BoundsFinder> = Registry {
    aggregate: "dp_bounds",
    entries: &[bounds::geometric::ENTRY],
};

/// The mechanisms that say what clamping does. Answers may be negative.
pub static CLAMPED: Registry<Clamped> = Registry {
    aggregate: "dp_clamped",
    entries: &[clamped::geometric::ENTRY],
};

/// What makes the mechanism of a call from its arguments.
pub trait Make<M: ?Sized>: Sync {
    /// Checks the arguments and makes the mechanism. `confidence` is that argument; `None` where the
    /// call has none.
    ///
    /// # Errors
    /// The first argument that breaks its rule.
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Built<M>;
}

/// How many times its budget a mechanism may spend: once, but in tests.
#[derive(Clone, Copy, Debug)]
pub struct Overspent(f64);

impl Overspent {
    /// What it was given.
    pub const NOT: Self = Self(1.0);

    /// So many times what it was given, which an audit must notice.
    #[cfg(feature = "testing")]
    pub fn times(factor: f64) -> Self {
        Self(factor)
    }
}

impl<M: ?Sized + 'static> Make<M> for Registry<M> {
    fn make(
        &self,
        arguments: &Arguments,
        _confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Built<M> {
        self.make_chosen(arguments, overspent)
            .map(|(built, _)| built)
    }
}

/// All mechanisms of all aggregates: the aggregate's name, whether the mechanism is its
/// default, and the mechanism.
pub fn catalog() -> impl Iterator<Item = (&'static str, bool, &'static Info)> {
    let scalars = MEAN.infos().chain(SUM.infos()).chain(COUNT.infos());
    let vectors = COUNTS.infos().chain(SUMS.infos()).chain(MEANS.infos());
    let kept = KEEP.infos().chain(HISTOGRAM.infos());
    let kept = kept.chain(VARIANCE.infos());
    let found = BOUNDS.infos().chain(CLAMPED.infos());
    scalars.chain(kept).chain(vectors).chain(found)
}

impl<M: ?Sized + 'static> Registry<M> {
    fn infos(&'static self) -> impl Iterator<Item = (&'static str, bool, &'static Info)> {
        let entries = self.entries.iter().enumerate();
        entries.map(|(position, entry)| (self.aggregate, position == 0, &entry.info))
    }

    /// Checks the arguments of a call, always in the order `lo`, `hi`, `eps`, `delta`, `mech`, and
    /// makes the mechanism. Nothing here depends on data.
    ///
    /// # Errors
    /// The first argument that breaks its rule.
    pub fn build(&self, arguments: &Arguments) -> Built<M> {
        self.make(arguments, None, Overspent::NOT)
    }

    /// The same with noise for `factor` times the budget, which an audit must notice.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    #[cfg(feature = "testing")]
    pub fn build_with_budget_times(&self, factor: f64, arguments: &Arguments) -> Built<M> {
        self.make(arguments, None, Overspent::times(factor))
    }

    /// What a release by the mechanism of these arguments costs.
    ///
    /// # Errors
    /// The argument names no mechanism of this aggregate.
    pub fn spent(
        &self,
        epsilon: Option<f64>,
        mechanism: MechanismArgument,
    ) -> Result<estimate::Spent, ParameterError> {
        let (_, choice) = self.choose(mechanism)?;
        Ok(estimate::Spent::of(epsilon, &choice))
    }

    fn make_chosen(
        &self,
        arguments: &Arguments,
        overspent: Overspent,
    ) -> Result<(Box<M>, Choice), ParameterError> {
        let chosen = self.choose(arguments.mechanism);
        let own_scale = matches!(&chosen, Ok((entry, _)) if mean::replaces_bounds(&entry.info));
        let bounds = match arguments.bounds {
            Some((lo, hi)) if own_scale => {
                mean::refuse_bounds(lo, hi)?;
                None
            }
            Some((lo, hi)) => Some(Bounds::new(lo, hi)?),
            None => None,
        };
        let own_budget = matches!(&chosen, Ok((_, choice)) if budget::replaces_epsilon(choice));
        let epsilon = match arguments.epsilon {
            None if own_budget => None,
            // A mechanism with a scale refuses any other budget, by a better reason.
            Some(_) if own_budget && !own_scale => return Err(budget::epsilon_besides()),
            epsilon => Some(Epsilon::new(epsilon)?),
        };
        let delta = arguments.delta.map(Delta::new).transpose()?;
        let (entry, choice) = chosen?;
        let built = (entry.build)(&Request {
            bounds,
            epsilon,
            delta,
            questions: arguments.questions,
            choice: &choice,
            pathological: arguments.pathological,
            overspent: overspent.0,
        })?;
        Ok((built, choice))
    }

    fn choose(&self, argument: MechanismArgument) -> Result<(&Entry<M>, Choice), ParameterError> {
        let names = || {
            let names: Vec<_> = self.entries.iter().map(|entry| entry.info.name).collect();
            format!(
                "The mechanisms of {} are: {}.",
                self.aggregate,
                choice::listed(&names)
            )
        };
        let choice = match argument {
            MechanismArgument::Given(Some(text)) => Choice::parse(text)?,
            MechanismArgument::Given(None) => {
                return Err(ParameterError::new("mech", "must not be NULL", names()));
            }
            MechanismArgument::Omitted => Choice::of_default(&self.entries[0].info),
        };
        let Some(entry) = self
            .entries
            .iter()
            .find(|entry| entry.info.name == choice.name())
        else {
            let message = format!("is not a mechanism of {}", self.aggregate);
            return Err(ParameterError::new("mech", message, names()));
        };
        let parameters: Vec<Parameter> = entry.info.all_parameters().copied().collect();
        let taken = |key| parameters.iter().any(|parameter| parameter.name == key);
        if !choice.values().iter().all(|(key, _)| taken(*key)) {
            return Err(choice::unknown_key(entry.info.name, &parameters));
        }
        Ok((entry, choice))
    }
}
