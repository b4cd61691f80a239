//! People with several rows: what every mechanism takes to protect a person instead of a row.
//!
//! More of it: docs/proofs/persons.md.

use super::budget::{DELTA, outside};
use super::{Parameter, Request, Takes};
use crate::epsilon::Epsilon;
use crate::error::ParameterError;

/// The parameter `rows`.
pub(super) const ROWS: Parameter = Parameter {
    name: "rows",
    takes: Takes::Whole,
    domain: "1 to 1000000",
    description: "the most rows that a person has in a group; by default 1. The query must keep to it",
};

/// The parameter `groups`.
pub(super) const GROUPS: Parameter = Parameter {
    name: "groups",
    takes: Takes::Whole,
    domain: "1 to 1000000",
    description: "the most groups of the query that a person has rows in; by default 1. The query must \
                  keep to it",
};

/// The parameters that all mechanisms take.
pub const PARAMETERS: [Parameter; 2] = [ROWS, GROUPS];

const MOST: f64 = 1e6;

/// The smallest share of `mu`. The most noise that a mechanism asks for is then that of `correlated`
/// on `G n`, for 100,000 values with the smallest weight: below 2^62 over this, which is below 2^100.
const LEAST_MU: f64 = 1e-11;

impl Request<'_> {
    /// What was given for one of the two parameters.
    pub(super) fn at_most(&self, parameter: &Parameter) -> Result<u64, ParameterError> {
        match self.choice.get(parameter.name) {
            None => Ok(1),
            Some(most) if (1.0..=MOST).contains(&most) => Ok(most as u64),
            Some(_) => Err(outside(parameter)),
        }
    }

    /// The call's epsilon, for a mechanism that shares it out in its own way.
    pub(super) fn whole_epsilon(&self) -> Result<Epsilon, ParameterError> {
        Epsilon::new(self.epsilon.map(|epsilon| epsilon.value() * self.overspent))
    }

    /// What a mechanism may spend on one row in one group, for the call's epsilon to be what a person
    /// loses in all.
    ///
    /// **Why it is private**, for neighbours that differ by all rows of one person. Of the groups that
    /// the person has rows in, at most `groups`, each gets its share: basic composition. In one group
    /// the two tables are at most `rows` steps apart, each step a row: group privacy, which at
    /// `epsilon` a step gives `rows epsilon`.
    pub(super) fn epsilon(&self) -> Result<Epsilon, ParameterError> {
        let whole = self.whole_epsilon()?;
        let (rows, groups) = (self.at_most(&ROWS)?, self.at_most(&GROUPS)?);
        whole.shared(rows * groups).ok_or_else(|| {
            ParameterError::new(
                "eps",
                "is too small for so many rows and groups of a person",
                "Over rows and groups it must be at least 2^-20; let the query keep fewer.",
            )
        })
    }

    /// The same of the parameter `delta`; `None` where it was not given.
    ///
    /// Of `k` steps at `(epsilon, delta)` each, the last adds `delta`, the one before is followed by one
    /// that may make it `e^epsilon` times as large, and so on: `delta (e^(k epsilon) - 1) / (e^epsilon
    /// - 1)` in all.
    pub(super) fn delta(&self) -> Result<Option<f64>, ParameterError> {
        let Some(delta) = self.choice.get(DELTA.name) else {
            return Ok(None);
        };
        if !(delta > 0.0 && delta < 1.0) {
            return Err(outside(&DELTA));
        }
        let (rows, groups) = (self.at_most(&ROWS)?, self.at_most(&GROUPS)?);
        if rows * groups == 1 {
            return Ok(Some(delta));
        }
        let step = self.epsilon()?.value();
        let steps = (rows as f64 * step).exp_m1() / step.exp_m1();
        // Less by more than the roundings above could have added; where a float has fewer digits they
        // would be larger.
        let share = delta / groups as f64 / steps * (1.0 - 1e-12);
        if share.is_normal() {
            Ok(Some(share))
        } else {
            Err(ParameterError::new(
                "mech",
                "gives a delta too small to be shared by so many rows and groups of a person",
                "Give a larger delta, or let the query keep fewer rows and groups of a person.",
            ))
        }
    }

    /// The same of `mu` of Gaussian differential privacy, in which the squares of the groups' add up, and
    /// `k` steps at `mu` are one of `k mu` (Dong, Roth, Su 2022, corollary 3.3 and theorem 2.14).
    pub(super) fn share_of_mu(&self, mu: f64) -> Result<f64, ParameterError> {
        let (rows, groups) = (self.at_most(&ROWS)?, self.at_most(&GROUPS)?);
        if rows * groups == 1 {
            return Ok(mu);
        }
        let share = mu / (rows as f64 * (groups as f64).sqrt()) * (1.0 - 1e-15);
        if share >= LEAST_MU {
            Ok(share)
        } else {
            Err(ParameterError::new(
                "mech",
                "leaves too little of its budget for so many rows and groups of a person",
                "Over rows and the root of groups mu must be at least 1e-11; let the query keep fewer.",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Choice;

    #[test]
    fn a_share_of_delta_is_below_what_floats_can_tell() {
        for (rows, groups) in [(1, 3), (2, 1), (5, 7), (100, 10)] {
            for (eps, delta) in [(0.5, 1e-9), (3.0, 1e-6), (50.0, 1e-2)] {
                let text = format!("undercount(delta={delta:?}, rows={rows}, groups={groups})");
                let request = Request {
                    bounds: None,
                    epsilon: Some(Epsilon::new(Some(eps)).unwrap()),
                    delta: None,
                    questions: None,
                    choice: &Choice::parse(&text).unwrap(),
                    pathological: false,
                    overspent: 1.0,
                };
                let step = request.epsilon().unwrap().value();
                let steps: f64 = (0..rows).map(|i| (f64::from(i) * step).exp()).sum();
                let whole = delta / f64::from(groups) / steps;
                let share = request.delta().unwrap().unwrap() / whole;
                assert!(share < 1.0 - 9e-13 && share > 1.0 - 11e-13, "{text}");
            }
        }
    }
}
