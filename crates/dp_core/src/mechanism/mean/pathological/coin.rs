//! The coin that says which rows are shown.

use crate::error::ParameterError;
use crate::random::Bits;
use crate::request::checked::Request;
use crate::sampler::uniform::below;

/// A coin that comes up once in that many tosses: with probability `1 / one_in`, at most delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coin {
    one_in: u64,
}

impl Coin {
    /// The coin nearest to probability `delta` from below.
    ///
    /// # Errors
    /// A delta below 2^-40: what such a coin chooses would not fit the sums.
    pub(crate) fn new(delta: f64) -> Result<Self, ParameterError> {
        let one_in = (1.0 / delta).ceil();
        if one_in > (1u64 << 40) as f64 {
            return Err(ParameterError::new(
                "mech",
                "gives the parameter delta a value too small for a mechanism that shows rows",
                "Give a delta of at least 2^-39; at any smaller one the answer would be useless.",
            ));
        }
        // The quotient may have been rounded down to an integer. The sum is rounded but once, so its
        // sign is right: one over the result is never above delta.
        let is_above = one_in.mul_add(delta, -1.0) < 0.0;
        Ok(Self {
            one_in: one_in as u64 + u64::from(is_above),
        })
    }

    /// In how many tosses it comes up once.
    pub fn one_in(&self) -> u64 {
        self.one_in
    }

    /// One toss, exact.
    pub fn toss<B: Bits>(&self, bits: &mut B) -> bool {
        below(self.one_in, bits) == 0
    }
}

impl Request<'_> {
    /// The parameter `delta`, for a coin.
    pub(crate) fn coin(&self) -> Result<(f64, Coin), ParameterError> {
        match self.row_delta()? {
            Some(delta) => Ok((delta, Coin::new(delta)?)),
            None => Err(ParameterError::new(
                "mech",
                "does not say with what probability a row may be shown",
                "Give a delta, far below one over the number of rows, as in \
                 name_and_shame(delta=1e-9, n=1000).",
            )),
        }
    }
}
