//! The privacy unit: what every mechanism takes to protect a person with several rows instead of a row.
//!
//! More of it: docs/proofs/unit.md.

use crate::error::ParameterError;
use crate::privacy::epsilon::Epsilon;
use crate::request::budget::{DELTA, outside};
use crate::request::checked::{CallEpsilon, Request};
use crate::request::choice::{Choice, Value};
use crate::request::parameter::{Parameter, ParameterKind};

/// The parameter `rows`.
pub(crate) const MOST_ROWS: Parameter = Parameter {
    name: "rows",
    kind: ParameterKind::Whole,
    domain: "1 to 1000000",
    description: "the most rows that a person has in a group; by default 1. The query must keep to it, as by \
                  dp_contribution",
};

/// The parameter `groups`.
pub(crate) const MOST_GROUPS: Parameter = Parameter {
    name: "groups",
    kind: ParameterKind::Whole,
    domain: "1 to 1000000",
    description: "the most groups of the query that a person has rows in; by default 1. The query must \
                  keep to it, as by dp_groups",
};

/// The parameters that all mechanisms take.
pub const PARAMETERS: [Parameter; 2] = [MOST_ROWS, MOST_GROUPS];

/// The most rows, and the most groups, that a person can be said to have.
pub const MOST_OF_A_PERSON: u32 = 1_000_000;

/// The smallest share of `mu`. The most noise that a mechanism asks for is then that of `correlated`
/// on `G n`, for 100,000 values with the smallest weight: below 2^62 over this, which is below 2^100.
const LEAST_MU: f64 = 1e-11;

/// The privacy unit: a person who has at most that many rows in each of at most that many groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The most rows of a person in a group.
    pub rows: u32,
    /// The most groups that a person has rows in.
    pub groups: u32,
}

impl Unit {
    /// A row: one, in one group.
    pub const ROW: Self = Self { rows: 1, groups: 1 };

    /// Whether a person is a row.
    fn is_row(self) -> bool {
        self == Self::ROW
    }

    /// What an answer protects, in words: a person, where what came in is `of_people`; else a row, or the rows of a
    /// person that the query keeps to.
    pub fn description(self, of_people: bool) -> String {
        let Self { rows, groups } = self;
        let places = match groups {
            1 => "1 group".to_owned(),
            _ => format!("each of {groups} groups"),
        };
        match (of_people, rows) {
            (true, 1) => format!("person (at most 1 row in {places})"),
            (true, _) => format!("person (at most {rows} rows in {places})"),
            (false, _) if self.is_row() => "row".to_owned(),
            (false, _) => format!("row (at most {rows} of a person in {places})"),
        }
    }
}

/// The privacy unit of a choice that a mechanism was made from; of any other one the least.
pub(crate) fn unit_of(choice: &Choice) -> Unit {
    let of = |parameter| at_most(choice, parameter).unwrap_or(1);
    Unit {
        rows: of(&MOST_ROWS),
        groups: of(&MOST_GROUPS),
    }
}

/// The rows and groups that a mechanism's text says; `None` where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The most rows of a person in a group.
    pub rows: Option<u32>,
    /// The most groups that a person has rows in.
    pub groups: Option<u32>,
}

/// What was given for the two parameters.
pub(crate) fn given(choice: &Choice) -> Result<Given, ParameterError> {
    let given = |parameter: &Parameter| match choice.get(parameter.name) {
        None => Ok(None),
        Some(_) => at_most(choice, parameter).map(Some),
    };
    Ok(Given {
        rows: given(&MOST_ROWS)?,
        groups: given(&MOST_GROUPS)?,
    })
}

/// The choice with these rows and groups in the place of those that it has.
pub(crate) fn with(choice: Choice, rows: u32, groups: u32) -> Choice {
    [(&MOST_ROWS, rows), (&MOST_GROUPS, groups)]
        .into_iter()
        .fold(choice, |choice, (parameter, most)| {
            choice.with(parameter.name, Value::Whole(u64::from(most)))
        })
}

/// What was given for one of the two parameters.
fn at_most(choice: &Choice, parameter: &Parameter) -> Result<u32, ParameterError> {
    match choice.get(parameter.name) {
        None => Ok(1),
        Some(most) if (1.0..=f64::from(MOST_OF_A_PERSON)).contains(&most) => Ok(most as u32),
        Some(_) => Err(outside(parameter)),
    }
}

impl Request<'_> {
    /// The privacy unit, as the mechanism's parameters have it.
    pub(crate) fn unit(&self) -> Result<Unit, ParameterError> {
        Ok(Unit {
            rows: at_most(self.choice, &MOST_ROWS)?,
            groups: at_most(self.choice, &MOST_GROUPS)?,
        })
    }

    /// The call's epsilon, for a mechanism that shares it out in its own way.
    pub(crate) fn call_epsilon(&self) -> Result<CallEpsilon, ParameterError> {
        let factor = self.overspent.factor();
        let given = self.call_epsilon.map(|epsilon| epsilon.value() * factor);
        CallEpsilon::new(given)
    }

    /// What a mechanism may spend on one row in one group, for the call's epsilon to be what a person
    /// loses in all.
    ///
    /// **Why it is private**, for neighbours that differ by all rows of one person. Of the groups that
    /// the person has rows in, at most `groups`, each gets its share: basic composition. In one group
    /// the two tables are at most `rows` steps apart, each step a row: group privacy, which at
    /// `epsilon` a step gives `rows epsilon`.
    pub(crate) fn row_epsilon(&self) -> Result<Epsilon, ParameterError> {
        let (whole, unit) = (self.call_epsilon()?.of_person(), self.unit()?);
        let steps = u64::from(unit.rows) * u64::from(unit.groups);
        whole.shared(steps).ok_or_else(|| {
            ParameterError::new(
                "eps",
                "is too small for so many rows and groups of a person",
                "Over rows and groups it must be at least 2^-20; let the query keep fewer.",
            )
        })
    }

    /// As above, for the parameter `delta`; `None` where it was not given.
    ///
    /// Of `k` steps at `(epsilon, delta)` each, the last adds `delta`, the one before is followed by one
    /// that may make it `e^epsilon` times as large, and so on: `delta (e^(k epsilon) - 1) / (e^epsilon
    /// - 1)` in all.
    pub(crate) fn row_delta(&self) -> Result<Option<f64>, ParameterError> {
        let Some(delta) = self.choice.get(DELTA.name) else {
            return Ok(None);
        };
        if !(delta > 0.0 && delta < 1.0) {
            return Err(outside(&DELTA));
        }
        let unit = self.unit()?;
        if unit.is_row() {
            return Ok(Some(delta));
        }
        let step = self.row_epsilon()?.value();
        let steps = (f64::from(unit.rows) * step).exp_m1() / step.exp_m1();
        // Less by more than the roundings above could have added; where a float has fewer digits they
        // would be larger.
        let share = delta / f64::from(unit.groups) / steps * (1.0 - 1e-12);
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

    /// As above, for `mu` of Gaussian differential privacy, in which the squares of the groups' add up, and
    /// `k` steps at `mu` are one of `k mu` (Dong, Roth, Su 2022, corollary 3.3 and theorem 2.14).
    pub(crate) fn share_of_mu(&self, mu: f64) -> Result<f64, ParameterError> {
        let unit = self.unit()?;
        if unit.is_row() {
            return Ok(mu);
        }
        let share = mu / (f64::from(unit.rows) * f64::from(unit.groups).sqrt()) * (1.0 - 1e-15);
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
    use crate::registry;
    use crate::request::checked::Overspent;

    #[test]
    fn what_limits_a_person_is_what_shares_the_budget() {
        use crate::request::arguments::MechanismArgument;
        let unit = |text| registry::unit_of(MechanismArgument::Given(text));
        for (text, is) in [
            ("hourglass", (1, 1)),
            ("hourglass(rows=7)", (7, 1)),
            ("undercount(delta=1e-6, groups=3, rows=2)", (2, 3)),
            ("gaussian(mu=1, rows=1000000)", (1_000_000, 1)),
            // No mechanism is made of these.
            ("hourglass(rows=0, groups=1000001)", (1, 1)),
            ("hourglass(rows=1000001)", (1, 1)),
            ("no such", (1, 1)),
        ] {
            let Unit { rows, groups } = unit(Some(text));
            assert_eq!((rows, groups), is, "{text}");
        }
        assert_eq!(unit(None), Unit::ROW);
        assert_eq!(registry::unit_of(MechanismArgument::Omitted), Unit::ROW);
    }

    #[test]
    fn what_a_text_says_is_told_from_what_it_leaves_out() {
        let given = |text| registry::given_unit(text).map(|Given { rows, groups }| (rows, groups));
        assert_eq!(given("hourglass"), Ok((None, None)));
        assert_eq!(given("hourglass(rows=1)"), Ok((Some(1), None)));
        assert_eq!(given("geometric(groups=7, rows=3)"), Ok((Some(3), Some(7))));
        for text in ["hourglass(rows=0)", "hourglass(groups=1000001)", "no such"] {
            assert!(given(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_unit_is_told_in_words() {
        for (rows, groups, of_rows, of_people) in [
            (1, 1, "row", "person (at most 1 row in 1 group)"),
            (
                2,
                1,
                "row (at most 2 of a person in 1 group)",
                "person (at most 2 rows in 1 group)",
            ),
            (
                1,
                3,
                "row (at most 1 of a person in each of 3 groups)",
                "person (at most 1 row in each of 3 groups)",
            ),
            (
                1_000_000,
                2,
                "row (at most 1000000 of a person in each of 2 groups)",
                "person (at most 1000000 rows in each of 2 groups)",
            ),
        ] {
            let unit = Unit { rows, groups };
            assert_eq!(unit.description(false), of_rows);
            assert_eq!(unit.description(true), of_people);
        }
    }

    #[test]
    fn a_share_of_delta_is_below_what_floats_can_tell() {
        for (rows, groups) in [(1, 3), (2, 1), (5, 7), (100, 10)] {
            for (eps, delta) in [(0.5, 1e-9), (3.0, 1e-6), (50.0, 1e-2)] {
                let text = format!("undercount(delta={delta:?}, rows={rows}, groups={groups})");
                let request = Request {
                    bounds: None,
                    x_bounds: None,
                    columns: &[],
                    call_epsilon: Some(CallEpsilon::new(Some(eps)).unwrap()),
                    call_delta: None,
                    ranks: None,
                    length: None,
                    choice: &registry::parse(&text).unwrap(),
                    overspent: Overspent::NOT,
                };
                let step = request.row_epsilon().unwrap().value();
                let steps: f64 = (0..rows).map(|i| (f64::from(i) * step).exp()).sum();
                let whole = delta / f64::from(groups) / steps;
                let share = request.row_delta().unwrap().unwrap() / whole;
                assert!(share < 1.0 - 9e-13 && share > 1.0 - 11e-13, "{text}");
            }
        }
    }
}
