//! What is known of the rows of FROM and of their columns, without a look at them.

use pgrx::pg_sys::Node;

use super::From;
use crate::gate::label::{self, ColumnLabel};
use crate::gate::private_relation::columns::{OneRow, Row, Source};
use crate::gate::private_relation::person::Column;
use crate::gate::private_relation::shared::Shared;
use crate::pg::tree;
use crate::safe_functions::range;

impl<'t> From<'t> {
    pub fn shared(&self) -> &Shared<'t> {
        &self.shared
    }

    /// Whether a column names the person of a row.
    pub fn is_person(&self, column: Column) -> bool {
        self.persons.contains(&column)
    }

    /// Whether all rows of a person have the same value of a private column.
    pub fn is_of_person(&self, column: Column) -> bool {
        let source = self.sources.get(&column.0);
        self.is_person(column) || source.is_some_and(|source| source.is_of_person(column.1))
    }

    /// Whether a column is of the single row that a person has in a source, or names them.
    pub fn is_of_single_row(&self, column: Column) -> bool {
        let is_single = |source: &Source| source.one_row.stands();
        self.is_person(column) || self.sources.get(&column.0).is_some_and(is_single)
    }

    /// Whether no two rows have the same person.
    pub fn one_row(&self) -> OneRow {
        match self.has_public {
            true => OneRow::No,
            false => {
                let rows = self.sources.values().map(|source| source.one_row);
                rows.min().unwrap_or(OneRow::No)
            }
        }
    }

    /// Whether any value of its type may be in a column.
    pub fn is_dense(&self, (entry, column): Column) -> bool {
        let source = self.sources.get(&entry);
        source.is_none_or(|source| source.is_dense(column))
    }

    /// The public list of a column's values.
    pub fn values(&self, (entry, column): Column) -> Option<Vec<String>> {
        match self.sources.get(&entry) {
            Some(source) => source.values(column).map(<[String]>::to_vec),
            None => self.declared((entry, column))?.values,
        }
    }

    /// Whether a column is a foreign key that says whose its row is.
    pub fn refers(&self, (entry, column): Column) -> bool {
        let source = self.sources.get(&entry);
        source.is_some_and(|source| source.refers(column))
    }

    /// The row of a protected table that a column says.
    pub fn row(&self, (entry, column): Column) -> Option<Row> {
        self.sources.get(&entry)?.row(column)
    }

    /// The public bounds of a column.
    pub fn bounds(&self, (entry, column): Column) -> Option<(f64, f64)> {
        match self.sources.get(&entry) {
            Some(source) => source.bounds(column),
            None => self.declared((entry, column))?.bounds,
        }
    }

    /// The public bounds of an expression itself: of one that is equal to it, as they are declared, and as the
    /// conditions say that all rows meet.
    pub fn bounds_of(&self, node: *mut Node) -> Option<(f64, f64)> {
        range::both(self.declared.find(node), self.said.find(node))
    }

    /// The first and the last of a private column's days or times, where they are public.
    pub fn ends(&self, (entry, column): Column) -> Option<(i64, i64)> {
        self.sources.get(&entry)?.ends(column)
    }

    /// The tables and sub-queries that are joined and public.
    pub fn public_entries(&self) -> Vec<i32> {
        [self.inputs.as_slice(), &self.lists].concat()
    }

    pub fn is_public(&self, entry: i32) -> bool {
        self.inputs.contains(&entry) || self.lists.contains(&entry)
    }

    /// Whether there may be rows with which none of a joined table is.
    pub fn may_be_missing(&self, table: i32) -> bool {
        self.missing.contains(&table)
    }

    /// What is declared of a column of a joined public table. It need not be true, and is no more than what a query may
    /// say itself: bounds clamp, and rows with another value are in no group.
    fn declared(&self, (entry, column): Column) -> Option<ColumnLabel> {
        if !self.inputs.contains(&entry) {
            return None;
        }
        let relation = tree::entry(self.query, entry).relid();
        ColumnLabel::read(&label::get(relation, column)?).ok()
    }

    /// Whether an outer join may have no row of a private entry.
    pub fn is_nullable(&self, entry: i32) -> bool {
        let source = self.sources.get(&entry);
        source.is_some_and(|source| source.is_nullable)
    }

    /// Whether a column is NULL in no row.
    pub fn is_not_null(&self, (entry, column): Column) -> bool {
        let source = self.sources.get(&entry);
        source.is_some_and(|source| source.is_not_null(column))
    }
}
