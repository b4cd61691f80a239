//! The public parameters of a call, checked.

use crate::encoding::columns::{Columns, MOST_PREDICTORS};
use crate::encoding::grid::Bounds;
use crate::error::ParameterError;
use crate::privacy::delta::Delta;
use crate::privacy::epsilon::Epsilon;
use crate::request::choice::Choice;
use crate::request::ranks::Ranks;

/// The epsilon of a call: what a person may lose by all of it. It is not what noise is made for, so it is
/// no [`Epsilon`]; the share of one row in one group is, which the privacy unit gives
/// (`Request::row_epsilon`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallEpsilon {
    asked: f64,
    epsilon: Epsilon,
}

impl CallEpsilon {
    /// The argument `eps`.
    pub(crate) fn new(asked: Option<f64>) -> Result<Self, ParameterError> {
        let epsilon = Epsilon::new(asked)?;
        let asked = asked.unwrap_or_else(|| epsilon.value());
        Ok(Self { asked, epsilon })
    }

    /// The number as the call has it: what a release costs.
    pub fn asked(self) -> f64 {
        self.asked
    }

    /// The number, rounded down: what may be spent.
    pub fn value(self) -> f64 {
        self.epsilon.value()
    }

    /// For a mechanism that bounds people itself: it must be for all rows and groups of a person.
    pub(crate) fn of_person(self) -> Epsilon {
        self.epsilon
    }
}

/// The argument `delta` of a call, with the rules of [`CallEpsilon`].
#[derive(Clone, Copy, Debug)]
pub struct CallDelta(Delta);

impl CallDelta {
    /// As the argument `delta` has it.
    pub(crate) fn new(delta: Delta) -> Self {
        Self(delta)
    }

    /// See [`CallEpsilon::of_person`].
    pub(crate) fn of_person(self) -> Delta {
        self.0
    }
}

/// The public parameters of a call, checked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `None` where there are none to take.
    pub(crate) bounds: Option<Bounds>,
    /// Those of the column `x` where there are two.
    pub(crate) x_bounds: Option<Bounds>,
    /// Those of several columns `x`; of none where there is no such argument.
    pub(crate) columns: &'a [Bounds],
    /// `None` where the mechanism's own parameters say what one release may spend.
    pub(crate) call_epsilon: Option<CallEpsilon>,
    /// `None` where the aggregate takes no delta.
    pub(crate) call_delta: Option<CallDelta>,
    /// Which quantiles; `None` where the call does not say.
    pub(crate) ranks: Option<Ranks<'a>>,
    /// How many numbers the call asks for; `None` where the call does not say.
    pub(crate) length: Option<usize>,
    /// The mechanism and its parameters: those the mechanism takes.
    pub(crate) choice: &'a Choice,
    pub(crate) overspent: Overspent,
}

impl Request<'_> {
    /// The argument `delta`, for an aggregate that has one.
    pub(crate) fn call_delta(&self) -> Result<CallDelta, ParameterError> {
        self.call_delta
            .map_or_else(|| Delta::new(None).map(CallDelta::new), Ok)
    }

    /// The bounds, for a mechanism that needs them.
    pub(crate) fn bounds(&self) -> Result<Bounds, ParameterError> {
        self.bounds.ok_or_else(|| {
            ParameterError::new(
                "lo",
                "must be given",
                "Give the bounds of the column: lo, hi.",
            )
        })
    }

    /// The bounds of `y` and of `x`, for a mechanism of two columns.
    pub(crate) fn pair_bounds(&self) -> Result<[Bounds; 2], ParameterError> {
        let both = self.bounds.zip(self.x_bounds);
        both.map(|(y, x)| [y, x]).ok_or_else(|| {
            ParameterError::new(
                "ylo",
                "must be given",
                "Give the bounds of both columns: ylo, yhi, xlo, xhi.",
            )
        })
    }

    /// The columns of a regression.
    pub(crate) fn columns(&self) -> Result<Columns, ParameterError> {
        Ok(Columns::new(self.columns, self.bounds()?))
    }
}

/// The bounds of several columns `x`.
///
/// # Errors
/// None, too many, not as many lower as upper ones, or some that [`Bounds::new`] refuses.
pub(crate) fn column_bounds([lo, hi]: [&[Option<f64>]; 2]) -> Result<Vec<Bounds>, ParameterError> {
    if !(1..=MOST_PREDICTORS).contains(&lo.len()) {
        return Err(ParameterError::new(
            "xlo",
            format!("must have 1 to {MOST_PREDICTORS} numbers: one for each predictor"),
            "Give the bounds of the predictors in the order of x, as in ARRAY[0, 18], ARRAY[200, 65].",
        ));
    }
    if lo.len() != hi.len() {
        return Err(ParameterError::new(
            "xhi",
            "must have as many numbers as argument \"xlo\"",
            "Give a lower and an upper bound for each predictor, in the order of x.",
        ));
    }
    let pairs = lo.iter().zip(hi);
    pairs
        .map(|(lo, hi)| Bounds::named(["xlo", "xhi"], *lo, *hi))
        .collect()
}

/// How many times its budget a mechanism may spend: once, but in tests.
#[derive(Clone, Copy, Debug)]
pub struct Overspent(f64);

impl Overspent {
    /// What it was given.
    pub const NOT: Self = Self(1.0);

    /// That many times what it was given, which an audit must notice.
    #[cfg(feature = "testing")]
    pub fn times(factor: f64) -> Self {
        Self(factor)
    }

    /// 1; in tests, how many times the noise is too small.
    pub(crate) fn factor(self) -> f64 {
        self.0
    }
}
