//! Policies as security labels: JSON on the table and on its columns, by the provider `dp_mean`. A label goes with
//! its table or column through renames, and into a dump.

use std::ffi::{CStr, CString};

use dp_core::privacy::periods::{Every, Periods, day_of, text_of};
use pgrx::pg_sys::{self, ObjectAddress, Oid};
use serde::{Deserialize, Serialize};

use crate::gate::errors::{self, Refusal};
use crate::gate::moments;

/// The provider of the labels.
pub const PROVIDER: &CStr = c"dp_mean";

/// What the label of a protected table says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TableLabel {
    /// The budget that questions about it are paid from.
    pub budget: String,
    /// The most groups of a query that a person counts in.
    pub groups: u32,
    /// The most rows that a person counts for, in each of them.
    pub rows: u32,
    /// What an aggregate costs, and a choice of groups.
    pub epsilon: f64,
    /// The delta of a choice of groups; absent: a thousandth of the budget's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// Whether means, sums and variances of what has no public bounds find some.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_bounds: bool,
    /// Whether counts of rows and sums find how much of a person counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_rows: bool,
    /// The least number of people, as it is released, of a group that is shown; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_people: Option<u32>,
    /// For how many seconds an answer is given again to the same question, free; 0: never.
    #[serde(default = "a_day", skip_serializing_if = "is_a_day")]
    pub reuse: u64,
    /// Expressions over its columns, with their public bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<ExpressionLabel>,
    /// The periods that a person's rows are cut into; absent: all of a person's rows are one privacy unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<PeriodLabel>,
}

/// An expression, as SQL in which a column is `$` and the number that its label has, and its public bounds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExpressionLabel {
    pub sql: String,
    pub bounds: (f64, f64),
}

/// The periods of a table, as its label has them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodLabel {
    /// How many months a period has, or how many days; the other one is 0.
    months: u32,
    days: u32,
    /// The first day of the first one.
    since: String,
}

impl PeriodLabel {
    pub fn of(periods: &Periods) -> Self {
        let (months, days) = match periods.every() {
            Every::Months(months) => (months, 0),
            Every::Days(days) => (0, days),
        };
        Self {
            months,
            days,
            since: text_of(periods.since()),
        }
    }

    /// # Errors
    /// They are none.
    pub fn read(&self) -> Result<Periods, String> {
        let every = match (self.months, self.days) {
            (months, 0) => Every::Months(months),
            (0, days) => Every::Days(days),
            _ => return Err("a period has months or days".to_owned()),
        };
        let since = day_of(&self.since).ok_or("argument \"since\" is no date")?;
        Periods::new(every, since).map_err(|error| error.to_string())
    }
}

/// How long answers are reused where an owner says nothing.
const DAY: u64 = 24 * 60 * 60;

fn a_day() -> u64 {
    DAY
}

// By reference, as serde calls it.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_a_day(seconds: &u64) -> bool {
    *seconds == DAY
}

/// What the label of a column of a protected table says.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnLabel {
    /// Whether the column names the person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unit: bool,
    /// Whether the column refers to a row of another protected table, which is about the person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub via: bool,
    /// Whether the column says in which period a row is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub period: bool,
    /// By which number expressions name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The public bounds of its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(f64, f64)>,
    /// The first and the last of its days or times, which are public, as `moments` writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<(String, String)>,
    /// The public list of its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// The most groups of a policy: dp_groups keeps no more of a person.
const MOST_GROUPS: u32 = 1000;

/// The most rows of a policy.
const MOST_ROWS: u32 = 1_000_000;

/// The most people that a group can be asked to have.
const MOST_PEOPLE: u32 = 1_000_000;

/// The longest time that an answer is reused, in seconds: a year.
const LONGEST_REUSE: u64 = 365 * DAY;

/// The largest size of a bound: beyond it, products of bounds have no finite float.
const LARGEST_BOUND: f64 = 1e100;

/// The most expressions of a table that have bounds.
const MOST_EXPRESSIONS: usize = 100;

/// The most values of a public list.
const MOST_VALUES: usize = 10_000;

/// # Errors
/// They are none.
fn check_bounds((lo, hi): (f64, f64)) -> Result<(), String> {
    let is_small = |bound: f64| bound.abs() <= LARGEST_BOUND;
    match lo < hi && is_small(lo) && is_small(hi) {
        true => Ok(()),
        false => {
            Err("arguments \"lo\" and \"hi\" must be lo < hi, from -1e100 to 1e100".to_owned())
        }
    }
}

impl TableLabel {
    /// # Errors
    /// Why the label is none.
    pub fn read(text: &str) -> Result<Self, String> {
        let label: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        label.check().map(|()| label)
    }

    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(&self) -> Result<(), String> {
        let whole = |name: &str, number: u32, most: u32| match (1..=most).contains(&number) {
            true => Ok(()),
            false => Err(format!("argument \"{name}\" must be from 1 to {most}")),
        };
        whole("groups", self.groups, MOST_GROUPS)?;
        whole("rows", self.rows, MOST_ROWS)?;
        if !(2f64.powi(-20)..=50.0).contains(&self.epsilon) {
            return Err("argument \"query_eps\" must be from 2^-20 to 50".to_owned());
        }
        if self
            .delta
            .is_some_and(|delta| !(delta > 0.0 && delta < 1.0))
        {
            return Err("argument \"query_delta\" must be above 0 and below 1".to_owned());
        }
        if let Some(least) = self.min_people {
            whole("min_people", least, MOST_PEOPLE)?;
        }
        if self.reuse > LONGEST_REUSE {
            return Err("argument \"reuse\" must be from 0 to 1 year".to_owned());
        }
        if self.budget.is_empty() {
            return Err("argument \"budget\" must not be empty".to_owned());
        }
        if self.expressions.len() > MOST_EXPRESSIONS {
            return Err(format!(
                "more than {MOST_EXPRESSIONS} expressions have bounds"
            ));
        }
        for expression in &self.expressions {
            check_bounds(expression.bounds)?;
        }
        if let Some(period) = &self.period {
            period.read()?;
            if self.min_people.is_some() {
                return Err(
                    "argument \"min_people\" counts people, and not with \"period\"".to_owned(),
                );
            }
        }
        Ok(())
    }
}

impl TableLabel {
    /// What holds where another table is read with this one.
    pub fn with(self, other: &Self) -> Self {
        let least = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            budget: self.budget,
            groups: self.groups.max(other.groups),
            rows: self.rows.max(other.rows),
            epsilon: self.epsilon.min(other.epsilon),
            delta: least(self.delta, other.delta),
            auto_bounds: self.auto_bounds && other.auto_bounds,
            auto_rows: self.auto_rows || other.auto_rows,
            min_people: self.min_people.max(other.min_people),
            reuse: self.reuse.min(other.reuse),
            expressions: self.expressions,
            period: self.period,
        }
    }
}

impl ColumnLabel {
    /// # Errors
    /// Why the label is none.
    pub fn read(text: &str) -> Result<Self, String> {
        let label: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        label.check().map(|()| label)
    }

    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(&self) -> Result<(), String> {
        if let Some(bounds) = self.bounds {
            check_bounds(bounds)?;
        }
        if self.moments.is_some() && self.ends().is_none_or(|(first, last)| first > last) {
            return Err("arguments \"lo\" and \"hi\" must be lo <= hi".to_owned());
        }
        if let Some(values) = &self.values
            && (values.is_empty() || values.len() > MOST_VALUES)
        {
            return Err(format!(
                "argument \"allowed_values\" must have 1 to {MOST_VALUES} values"
            ));
        }
        Ok(())
    }

    /// The first and the last of its days or times, in microseconds since 2000.
    pub fn ends(&self) -> Option<(i64, i64)> {
        let (first, last) = self.moments.as_ref()?;
        moments::read(first).zip(moments::read(last))
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The label of a table, or of a column of it.
pub fn get(relation: Oid, column: i16) -> Option<String> {
    let object = ObjectAddress {
        classId: pg_sys::RelationRelationId,
        objectId: relation,
        objectSubId: i32::from(column),
    };
    // SAFETY: a lookup in the catalog, of an address that lives for the call; NULL, or a string in its memory.
    unsafe {
        let label = pg_sys::GetSecurityLabel(&raw const object, PROVIDER.as_ptr());
        (!label.is_null()).then(|| CStr::from_ptr(label).to_string_lossy().into_owned())
    }
}

/// Sets the label of a table or of a column, or takes it away. The caller has checked that the current role may.
pub fn set(relation: Oid, column: i16, label: Option<&str>) {
    let object = ObjectAddress {
        classId: pg_sys::RelationRelationId,
        objectId: relation,
        objectSubId: i32::from(column),
    };
    let label = label.map(|label| CString::new(label).unwrap_or_default());
    let text = label
        .as_ref()
        .map_or(std::ptr::null(), |text| text.as_ptr());
    // SAFETY: an address and strings that live for the call.
    unsafe {
        pg_sys::SetSecurityLabel(&raw const object, PROVIDER.as_ptr(), text);
        pg_sys::CommandCounterIncrement();
        pg_sys::CacheInvalidateRelcacheByRelid(relation);
        pg_sys::CommandCounterIncrement();
    }
}

/// Checks what SECURITY LABEL is about to set; PostgreSQL has checked who may. Plans about the table are made again.
pub fn check(object: ObjectAddress, text: Option<&str>) -> Result<(), Refusal> {
    if object.classId != pg_sys::RelationRelationId {
        return Err(errors::label(
            "dp_mean security labels are for tables and columns only",
        ));
    }
    let result = match (text, object.objectSubId) {
        (None, _) => Ok(()),
        (Some(text), 0) => TableLabel::read(text).map(|_| ()),
        (Some(text), _) => ColumnLabel::read(text).map(|_| ()),
    };
    result.map_err(|error| errors::label(&error))?;
    // SAFETY: a table that is there; the next look reads it again.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(object.objectId) };
    Ok(())
}
