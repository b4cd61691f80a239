//! Groups that are chosen by the noisy number of people that is released of them anyway.
//!
//! The proof: docs/proofs/keep-threshold.md.

use crate::accuracy::tail::{self, quantile};
use crate::error::ParameterError;
use crate::request::checked::Request;

/// Less than what the tail of a normal distribution may be off by, relative to it.
const MARGIN: f64 = 1e-9;

/// Above which noisy number of people a group is shown, where the noise is Gaussian, of `spread` times the standard
/// deviation of a count.
///
/// **Why it is private** (`mu`-GDP, but with probability `delta`; neighbours by adding or removing a person). Compare
/// a table with one without a person. In groups that others are in, too, the numbers and all other answers are a
/// Gaussian release, and which of them are shown follows from the numbers: post-processing. In groups that the person
/// is alone in, at most as many as `groups` of the request, the number is at most `rows`, and each is shown with
/// probability `delta / groups` at most: with probability `delta` any of them is. Else all of these are missing, as they
/// are in the table without the person.
pub(crate) fn above(request: &Request, spread: f64, delta: f64) -> Result<f64, ParameterError> {
    let unit = request.unit()?;
    let sd = spread / request.row_mu()?;
    let miss = delta / f64::from(unit.groups) * (1.0 - MARGIN);
    // The tail is of both sides. Noise is rounded to whole numbers.
    let reach = quantile(2.0 * miss, |t| tail::normal(sd, t));
    Ok(f64::from(unit.rows) + 0.5 + reach)
}
