//! What is public of the columns of private rows.

use std::rc::Rc;

use pgrx::pg_sys::Oid;

use crate::gate::policy::Policy;
use crate::ledger::session;

/// What is public of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Its bounds; an end may be infinite.
    pub bounds: Option<(f64, f64)>,
    /// The first and the last of its days or times.
    pub ends: Option<(i64, i64)>,
    pub is_never_null: bool,
    /// The list of its values.
    pub values: Option<Rc<[String]>>,
    /// The row that its value says, if it comes from a table unchanged.
    pub row: Option<Row>,
    /// Whether a foreign key says so.
    pub refers: bool,
    /// Whether it is the same in all rows of a person.
    pub is_of_person: bool,
    /// Whether those of its values that are equal are the same bytes.
    pub has_one_form: bool,
    /// Whether any value of its type may be there: it is stored so, or counted.
    pub is_dense: bool,
}

/// Which row of a protected table a value says: where two values are equal, it is the same row, and the same person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub relation: Oid,
    pub key: i16,
}

impl Facts {
    /// What holds of a column that has values of both.
    pub fn or(self, other: Self) -> Self {
        let hull = |one: (f64, f64), other: (f64, f64)| (one.0.min(other.0), one.1.max(other.1));
        Self {
            bounds: self
                .bounds
                .zip(other.bounds)
                .map(|(one, other)| hull(one, other)),
            ends: None,
            is_never_null: self.is_never_null && other.is_never_null,
            values: None,
            row: self.row.filter(|row| other.row == Some(*row)),
            refers: self.refers && other.refers,
            // Of one the rows may have another value than of the other.
            is_of_person: false,
            has_one_form: self.has_one_form && other.has_one_form,
            is_dense: self.is_dense || other.is_dense,
        }
    }
}

/// Whether no two rows have the same person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OneRow {
    /// Several may have.
    No,
    /// As a unique index says, which a snapshot may be older than.
    Indexed,
    /// As the query says.
    Always,
}

impl OneRow {
    /// Whether it is so for the snapshot of this transaction, too, which may be older than the index.
    pub fn stands(self) -> bool {
        match self {
            Self::No => false,
            Self::Indexed => !session::keeps_a_snapshot(),
            Self::Always => true,
        }
    }
}

/// A private relation, checked and in its safe form.
pub struct Relation {
    pub facts: Vec<Facts>,
    /// The columns that name the person.
    pub persons: Vec<i16>,
    pub one_row: OneRow,
}

/// An entry of FROM whose rows are private.
pub struct Source {
    pub rows: Rows,
    pub one_row: OneRow,
    /// Whether it may be missing, in an outer join.
    pub is_nullable: bool,
}

/// What the rows of a source are.
pub enum Rows {
    Table(Rc<Policy>),
    /// Of a sub-query, with what is known of its columns.
    Query(Vec<Facts>),
}

impl Source {
    fn facts(&self, column: i16) -> Option<&Facts> {
        let Rows::Query(facts) = &self.rows else {
            return None;
        };
        facts.get(usize::try_from(column).ok()?.checked_sub(1)?)
    }

    /// The public bounds of a column.
    pub fn bounds(&self, column: i16) -> Option<(f64, f64)> {
        match &self.rows {
            Rows::Table(policy) => policy.bounds(column),
            Rows::Query(_) => self.facts(column)?.bounds,
        }
    }

    /// The first and the last of the days or times of a column, where they are public.
    pub fn ends(&self, column: i16) -> Option<(i64, i64)> {
        match &self.rows {
            Rows::Table(policy) => policy.ends(column),
            Rows::Query(_) => self.facts(column)?.ends,
        }
    }

    /// Which row a column says. A column that nothing refers to says none.
    pub fn row(&self, column: i16) -> Option<Row> {
        let policy = match &self.rows {
            Rows::Table(policy) => policy,
            Rows::Query(_) => return self.facts(column)?.row,
        };
        let reference = policy.reference.filter(|_| policy.unit == column);
        Some(match reference {
            Some(reference) => Row {
                relation: reference.relation,
                key: reference.key,
            },
            None => Row {
                relation: policy.relation,
                key: column,
            },
        })
    }

    /// Whether a column is a foreign key to rows by this key: it is unique then.
    pub fn refers_to(&self, row: Row) -> bool {
        match &self.rows {
            Rows::Table(policy) => {
                let reference = policy.reference;
                reference
                    .is_some_and(|known| (known.relation, known.key) == (row.relation, row.key))
            }
            Rows::Query(facts) => facts
                .iter()
                .any(|facts| facts.refers && facts.row == Some(row)),
        }
    }

    /// Whether a column is one.
    pub fn refers(&self, column: i16) -> bool {
        match &self.rows {
            Rows::Table(policy) => policy.reference.is_some() && policy.unit == column,
            Rows::Query(_) => self.facts(column).is_some_and(|facts| facts.refers),
        }
    }

    /// Whether all rows of a person have the same value of a column.
    pub fn is_of_person(&self, column: i16) -> bool {
        let is_one = self.one_row != OneRow::No;
        !self.is_nullable && (is_one || self.facts(column).is_some_and(|facts| facts.is_of_person))
    }

    /// Whether the equal values of a column are the same bytes, where those of a table with a length or a scale are.
    pub fn has_one_form(&self, column: i16, is_padded: bool) -> bool {
        match &self.rows {
            Rows::Table(_) => is_padded,
            Rows::Query(_) => self.facts(column).is_some_and(|facts| facts.has_one_form),
        }
    }

    /// Whether any value of its type may be there.
    pub fn is_dense(&self, column: i16) -> bool {
        match &self.rows {
            Rows::Table(_) => true,
            Rows::Query(_) => self.facts(column).is_some_and(|facts| facts.is_dense),
        }
    }

    /// The public list of a column's values.
    pub fn values(&self, column: i16) -> Option<&[String]> {
        match &self.rows {
            Rows::Table(policy) => policy.values(column),
            Rows::Query(_) => self.facts(column)?.values.as_deref(),
        }
    }

    /// Whether a column is NULL in no row.
    pub fn is_not_null(&self, column: i16) -> bool {
        let is = match &self.rows {
            Rows::Table(policy) => policy.is_not_null(column),
            Rows::Query(_) => self.facts(column).is_some_and(|facts| facts.is_never_null),
        };
        is && !self.is_nullable
    }
}
