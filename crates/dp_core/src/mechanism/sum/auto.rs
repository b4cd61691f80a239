//! A sum that finds its bounds by itself.
//!
//! The proof: docs/proofs/sum-auto.md.

use crate::encoding::log_bins::{LOWEST, Limits};
use crate::error::ParameterError;
use crate::mechanism::bounds_search::parameters::BEYOND;
use crate::mechanism::bounds_search::release;
use crate::mechanism::definition::Entry;
use crate::mechanism::sum::bounded_by_search::OfSum;
use crate::mechanism::sum::inputs::SumMechanism;
use crate::request::checked::Request;

pub(crate) const ENTRY: Entry<SumMechanism> = Entry {
    info: release::info(
        "no bounds needed, as `auto` of `dp_mean`: one bound for the rows' magnitudes, then \
         the staircase. 1.7 to 2.0 times the error of the best bound, from 500 / eps rows \
         on",
        "Dwork, Roth 2014, The algorithmic foundations of differential privacy: AboveThreshold, over octaves, and the \
         exponential mechanism, over bounds of magnitude; then Geng, Viswanath 2014",
        &[BEYOND],
    ),
    plan: None,
    build: |request| {
        let limits = limits(request)?;
        Ok(Box::new(SumMechanism::Auto(request.auto(OfSum, limits)?)))
    },
};

/// The limits of the column, if it has any: of sums, which count rows from 0.
fn limits(request: &Request) -> Result<Limits, ParameterError> {
    let Some(bounds) = &request.bounds else {
        return Ok(Limits::NONE);
    };
    if bounds.magnitude() < 2f64.powi(LOWEST) {
        return Err(ParameterError::new(
            "hi",
            "is too near to 0, as is argument \"lo\", for a mechanism that looks for bounds between them",
            "Give staircase as the mechanism: the bounds are near enough for it.",
        ));
    }
    Ok(Limits::around_zero(bounds))
}
