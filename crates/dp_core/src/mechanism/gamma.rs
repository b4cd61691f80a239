//! The parameter that the staircase shapes share.

use crate::error::ParameterError;
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};

/// The parameter `gamma`.
pub(crate) const GAMMA: Parameter = Parameter {
    name: "gamma",
    kind: ParameterKind::Number,
    domain: "0 < gamma <= 1",
    description: "where the first step of the noise ends, as a fraction of the sensitivity; \
                  by default the one with the least squared error for eps",
};

impl Request<'_> {
    /// The parameter `gamma`, in (0, 1]; `best` of a row's epsilon where it is not given.
    pub(crate) fn gamma(&self, best: fn(f64) -> f64) -> Result<f64, ParameterError> {
        match self.choice.get(GAMMA.name) {
            None => Ok(best(self.row_epsilon()?.value())),
            Some(gamma) if gamma > 0.0 && gamma <= 1.0 => Ok(gamma),
            Some(_) => Err(ParameterError::new(
                "mech",
                "gives the parameter gamma a value outside its range",
                "The parameter gamma must be above 0 and at most 1; leave it out for the best one.",
            )),
        }
    }
}
