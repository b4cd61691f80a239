//! What a block costs: the sum of its releases, for all of a person's rows.

use dp_core::error::ParameterError;
use dp_core::noise::{self, OfPairs};
use dp_core::privacy::spending::{Accounting, Spent};
use dp_core::registry;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::ranks::Ranks;

use crate::gate::rejection::{Checked, Reason};

/// The bounds of a call that has such arguments.
pub type Bounds = Option<(Option<f64>, Option<f64>)>;

/// A call of one of our aggregates, as its price depends on it.
pub struct Call<'a> {
    pub aggregate: &'a str,
    pub bounds: Bounds,
    /// Of the second of two columns.
    pub x_bounds: Bounds,
    /// Of several columns: the lower and the upper ones.
    pub columns: Option<[&'a [Option<f64>]; 2]>,
    /// `None` where the mechanism has a budget of its own.
    pub epsilon: Option<f64>,
    pub delta: Option<f64>,
    pub length: Option<usize>,
    pub ranks: Option<Ranks<'a>>,
    pub mechanism: &'a str,
    /// What the numbers of the release count, in the unit of the answer: mostly 1.
    pub unit: f64,
}

impl<'a> Call<'a> {
    /// One without bounds, of a single number.
    pub fn of(aggregate: &'a str, epsilon: Option<f64>, mechanism: &'a str) -> Self {
        Self {
            aggregate,
            bounds: None,
            x_bounds: None,
            columns: None,
            epsilon,
            delta: None,
            length: None,
            ranks: None,
            mechanism,
            unit: 1.0,
        }
    }
}

/// A call that was priced, for those who ask how far off its answer is.
#[derive(Clone)]
pub struct Priced {
    aggregate: String,
    bounds: Bounds,
    x_bounds: Bounds,
    epsilon: Option<f64>,
    length: Option<usize>,
    quantiles: Quantiles,
    mechanism: String,
    /// What the numbers of the release count, in the unit of the answer.
    unit: f64,
    /// Which number of a release about two columns it is.
    number: Option<OfPairs>,
}

/// Which quantiles were asked for.
#[derive(Clone)]
enum Quantiles {
    None,
    One(Option<f64>),
    Many(Vec<Option<f64>>),
}

impl Quantiles {
    fn of(ranks: Option<Ranks>) -> Self {
        match ranks {
            None => Self::None,
            Some(Ranks::One(one)) => Self::One(one),
            Some(Ranks::Many(many)) => Self::Many(many.to_vec()),
        }
    }

    fn ranks(&self) -> Option<Ranks<'_>> {
        match self {
            Self::None => None,
            Self::One(one) => Some(Ranks::One(*one)),
            Self::Many(many) => Some(Ranks::Many(many)),
        }
    }
}

impl Priced {
    pub fn of(call: &Call) -> Self {
        Self {
            aggregate: call.aggregate.to_owned(),
            bounds: call.bounds,
            x_bounds: call.x_bounds,
            epsilon: call.epsilon,
            length: call.length,
            quantiles: Quantiles::of(call.ranks),
            mechanism: call.mechanism.to_owned(),
            unit: call.unit,
            number: None,
        }
    }

    /// For one of the numbers of a release about two columns.
    pub fn number(&self, number: OfPairs) -> Self {
        Self {
            number: Some(number),
            ..self.clone()
        }
    }

    /// A number of rows by the same mechanism.
    pub fn of_rows(&self) -> Self {
        Self {
            aggregate: "dp_count".to_owned(),
            bounds: None,
            ..self.clone()
        }
    }

    /// How far off its answer is, in 95% of releases: see [`noise::half_width`].
    pub fn half_width(&self, people: Option<f64>) -> Option<f64> {
        let arguments = self.arguments();
        let half_width = match self.number {
            Some(number) => noise::half_width_of(number, &arguments, people),
            None => noise::half_width(&self.aggregate, &arguments, people),
        };
        half_width.ok().flatten().map(|width| width * self.unit)
    }

    /// As above, for a mean of many rows, times their number.
    pub fn half_width_times_rows(&self) -> Option<f64> {
        noise::half_width_times_rows(&self.arguments())
            .ok()
            .flatten()
    }

    fn arguments(&self) -> Arguments<'_> {
        Arguments {
            bounds: self.bounds,
            x_bounds: self.x_bounds,
            epsilon: self.epsilon,
            length: self.length,
            ranks: self.quantiles.ranks(),
            mechanism: MechanismArgument::Given(Some(&self.mechanism)),
            ..Arguments::default()
        }
    }
}

/// What it costs, and the mechanism's own text.
pub fn of(call: &Call, accounting: Accounting) -> Checked<(Spent, String)> {
    let arguments = Arguments {
        bounds: call.bounds,
        x_bounds: call.x_bounds,
        columns: call.columns,
        epsilon: call.epsilon,
        delta: call.delta.map(Some),
        length: call.length,
        mechanism: MechanismArgument::Given(Some(call.mechanism)),
        ranks: call.ranks,
        ..Arguments::default()
    };
    let refused = |error: ParameterError| {
        Reason::with_hint(format!("{}: {error}", call.aggregate), error.hint.clone())
    };
    // Budgets are of people who are there or not.
    if !registry::hides_presence(call.mechanism).map_err(refused)? {
        return Err(Reason::with_hint(
            format!("mechanism {} needs a public number of rows", call.mechanism),
            "Use another mechanism, or none: dp_mechanisms() lists those whose neighbours add or remove a row.",
        ));
    }
    let made = registry::price(call.aggregate, &arguments);
    let made = made.ok_or_else(|| Reason::new(format!("{} has no price", call.aggregate)))?;
    let spent = made.map_err(refused)?;
    Ok((Spent::of(&spent.cost, accounting), spent.mechanism))
}
