//! Values that are the same in all rows of a person: of columns that name them, of private rows where each person has
//! one, and of the row of a public table that such a value says. A person is in one group by such keys, so that the noise
//! need not be for as many as the policy has.
//!
//! Where a table or a sub-query has a single row of each person, as a unique index or the query says, the rows of a
//! person are grouped by its columns with the person. On all else nothing private hangs: a person who is in several
//! groups all the same is kept in one of them.

use pgrx::pg_sys::{self, Node, NodeTag};

use crate::gate::policy;
use crate::gate::private_relation::from::From;
use crate::gate::private_relation::person::{self, Column};
use crate::pg::tree::{self, Ref};

/// Whether an expression has one value in all rows of a person. `conditions` are some that all rows meet.
pub fn is_of_person<'t>(
    from: &From<'t>,
    node: Ref<'t, Node>,
    conditions: &[Ref<'t, Node>],
) -> bool {
    let equalities: Vec<_> = conditions
        .iter()
        .filter_map(|condition| person::equality(*condition))
        .collect();
    !tree::any(node, |node| {
        if let Some(column) = node.cast::<pg_sys::Var>() {
            let place = (column.varno(), column.varattno());
            return column.varlevelsup() > 0 || !is_column(from, place, &equalities);
        }
        matches!(
            node.tag(),
            NodeTag::T_SubLink
                | NodeTag::T_Aggref
                | NodeTag::T_WindowFunc
                | NodeTag::T_GroupingFunc
        )
    })
}

/// Whether an expression is made of columns of sources with a single row of each person, which no join leaves out. No
/// person is in two groups by it, so nothing need keep them in one.
pub fn is_of_single_rows<'t>(from: &From<'t>, node: Ref<'t, Node>) -> bool {
    is_of_person(from, node, &[])
        && !tree::any(node, |node| {
            let column = node.cast::<pg_sys::Var>();
            column.is_some_and(|column| !from.is_of_single_row((column.varno(), column.varattno())))
        })
}

/// Whether an expression is a key of a protected table, so that no two of its rows have the same value.
pub fn is_of_one_row(from: &From, node: Ref<Node>) -> bool {
    let row = person::own_column(node).and_then(|column| from.row(column));
    row.is_some_and(|row| policy::is_unique(row.relation, row.key))
}

fn is_column(from: &From, column: Column, equalities: &[[Column; 2]]) -> bool {
    from.is_of_person(column) || is_said(from, column.0, equalities)
}

/// Whether a row of a public table is one that a column of the person says: it is equal to a key of that table.
fn is_said(from: &From, table: i32, equalities: &[[Column; 2]]) -> bool {
    if !from.inputs.contains(&table) || from.may_be_missing(table) {
        return false;
    }
    let relation = tree::entry(from.query, table).relid();
    let says = |key: Column, other: Column| {
        key.0 == table && from.is_of_person(other) && policy::is_unique(relation, key.1)
    };
    equalities
        .iter()
        .any(|[one, other]| says(*one, *other) || says(*other, *one))
}
