//! The arguments of `dp_groups` behind the person: keys, and parts of contributions.

use pgrx::pg_sys::Oid;

use crate::call::signature::{OF_CONTRIBUTION, OF_GROUPS, OF_ROWS, OF_TOTAL, Signature, at};
use crate::pg::errors::{self, Refusal};
use crate::pg::grouping_keys::{KeyType, keeps_apart};
use crate::pg::sql_type;
use crate::plan::planned_call::{Grouping, PlannedCall};
use crate::state::groups::{Column, MOST_COLUMNS};

/// The argument of a call where the first of them is.
pub const FIRST: usize = at::PARTS - 1;

/// The argument of a call where the person is.
const PERSON: usize = at::PERSON - 1;

/// The functions whose calls are parts, with what they take.
const FUNCTIONS: [(&str, Signature); 3] = [
    ("dp_part", OF_CONTRIBUTION),
    ("dp_part_sum", OF_TOTAL),
    ("dp_part_rows", OF_ROWS),
];

/// What the plan says of a call of `dp_groups`.
pub struct Layout {
    pub person: KeyType,
    /// Whether the plan does not show that a group is a person: the rows have to.
    pub is_hidden: bool,
    /// A column for each argument behind the person, with its type if it is a key.
    pub columns: Vec<(Column, Option<KeyType>)>,
}

impl Layout {
    /// Reads it from the plan.
    ///
    /// # Errors
    /// What is wrong with the call, whatever its rows are.
    pub fn of(planned: &PlannedCall) -> Result<Self, Refusal> {
        let count = planned.len().saturating_sub(FIRST);
        let is_ours = OF_GROUPS.of_call(planned.len()).is_some();
        if !is_ours || planned.is_variadic() || count > MOST_COLUMNS {
            return Err(errors::too_many_parts(MOST_COLUMNS));
        }
        let grouping = planned.grouping_by(PERSON);
        if grouping == Grouping::Other {
            return Err(errors::not_by_person());
        }
        let types = Vec::from_iter(planned.types());
        let key = |i: usize| {
            let kind = KeyType::of(types[i], planned.collation(i));
            kind.ok_or_else(|| errors::no_hash(i + 1, &sql_type::name(types[i])))
        };
        let part_type = sql_type::own_type(c"dp_part");
        let person = key(PERSON)?;
        let columns = (FIRST..types.len()).map(|i| {
            if types[i] == part_type {
                part(planned, i).ok_or_else(|| errors::hidden_part(i + 1))?;
                return Ok((Column::CONTRIBUTION, None));
            }
            let kind = key(i)?;
            let column = Column::of_key(types[i], planned.collation(i), kind.lies());
            Ok((column, Some(kind)))
        });
        let columns = columns.collect::<Result<_, Refusal>>()?;
        Ok(Self {
            person,
            is_hidden: grouping == Grouping::Hidden,
            columns,
        })
    }

    /// Whether rows with columns of these types and collations can be made of what the call keeps.
    pub fn fits(&self, declared: &[(Oid, Oid)]) -> bool {
        let fits = |(declared, (column, _)): (&(Oid, Oid), &(Column, _))| match column.key() {
            Some(key) => keeps_apart(key, *declared),
            None => sql_type::is_contribution(declared.0),
        };
        declared.len() == self.columns.len() && declared.iter().zip(&self.columns).all(fits)
    }

    /// Whether all keys are among the columns that a call is grouped by.
    pub fn has_keys_among(&self, grouped: &[bool]) -> bool {
        let mut columns = self.columns.iter().zip(grouped);
        columns.all(|((column, _), grouped)| *grouped || column.key().is_none())
    }
}

/// The part that argument `i` of a call of `dp_groups` is: its function, what that takes, and its own call; `None`
/// where the argument is another expression.
pub fn part(groups: &PlannedCall, i: usize) -> Option<(&'static str, Signature, PlannedCall)> {
    let (name, call) = groups.function(i)?;
    let (name, signature) = FUNCTIONS.into_iter().find(|(known, _)| *known == name)?;
    signature.fits(&call).then_some((name, signature, call))
}
