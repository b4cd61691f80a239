//! The parameters that several mechanisms of means take.

use crate::error::ParameterError;
use crate::mechanism::definition::Info;
use crate::request::budget::outside;
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};

/// Neighbours by replacing, where the number of rows is public.
pub(crate) const REPLACE: &str = "replace one row; the number of rows, n, is public";

/// The parameter `n`.
pub(crate) const PUBLIC_N: Parameter = Parameter {
    name: "n",
    kind: ParameterKind::Whole,
    domain: "1 <= n < 2^53",
    description: "the number of rows, which is public; if it is wrong, no error says so",
};

impl Request<'_> {
    /// The parameter `n`.
    pub(crate) fn rows(&self) -> Result<f64, ParameterError> {
        match self.choice.get(PUBLIC_N.name) {
            Some(rows) if rows >= 1.0 => Ok(rows),
            Some(_) => Err(outside(&PUBLIC_N)),
            None => Err(ParameterError::new(
                "mech",
                "does not say how many rows there are",
                "Give the number of rows where it is public, as in clipped(n=10000); where it is \
                 not, use a mechanism that needs none, such as hourglass, smooth or symmetric.",
            )),
        }
    }
}

/// The parameter of a mechanism that needs no bounds.
pub(crate) const SCALE: Parameter = Parameter {
    name: "scale",
    kind: ParameterKind::Number,
    domain: "1e-290 <= scale <= 1e290",
    description: "a public bound on the standard deviation of the rows, in their own unit; lo and \
                  hi are NULL",
};

/// Whether a mechanism works with a scale in the place of bounds.
pub(crate) fn replaces_bounds(info: &Info) -> bool {
    info.parameters.contains(&SCALE)
}

/// Refuses bounds beside a scale.
pub(crate) fn refuse_bounds(lo: Option<f64>, hi: Option<f64>) -> Result<(), ParameterError> {
    let given = [("lo", lo), ("hi", hi)];
    match given.into_iter().find(|(_, bound)| bound.is_some()) {
        None => Ok(()),
        Some((argument, _)) => Err(ParameterError::new(
            argument,
            "must be NULL where the mechanism has a scale",
            "The mechanism finds its location by itself: write NULL for lo and hi. To clamp the \
             column to bounds, choose a mechanism without a scale, such as hourglass.",
        )),
    }
}
