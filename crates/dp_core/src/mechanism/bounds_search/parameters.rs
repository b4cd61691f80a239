//! What a call of a mechanism that finds its bounds takes.

use crate::error::ParameterError;
use crate::mechanism::definition::Info;
use crate::request::budget::outside;
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};

/// The parameter `beyond`.
pub(crate) const BEYOND: Parameter = Parameter {
    name: "beyond",
    kind: ParameterKind::Number,
    domain: "0 <= beyond <= 1000000",
    description: "intervals are wide enough for so many rows, over eps, beyond the bounds that were found, as far beyond as these \
                  are apart (of a sum: as the farther one is from 0; of a variance: in the root of the mean square); by default 0: \
                  the interval is for the mean, the sum or the variance of the rows clamped to these bounds",
};

/// Whether a mechanism finds bounds by itself, so that those of the call may both be NULL.
pub(crate) fn finds_bounds(info: &Info) -> bool {
    info.parameters.contains(&BEYOND)
}

impl Request<'_> {
    /// The parameter `beyond`.
    pub(crate) fn beyond(&self) -> Result<f64, ParameterError> {
        let beyond = self.choice.get(BEYOND.name).unwrap_or(0.0);
        if (0.0..=1e6).contains(&beyond) {
            Ok(beyond)
        } else {
            Err(outside(&BEYOND))
        }
    }
}
