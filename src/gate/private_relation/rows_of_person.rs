//! GROUP BY, DISTINCT and windows by a key of one person's rows, as an order's number among its lines: the person is put
//! beside that key. The groups are the same, and each is of one person, whatever the key says.

use pgrx::pg_sys::{Node, Query, SortGroupClause};

use crate::gate::private_relation::person::{self, PERSON};
use crate::pg::tree::{self, List, Ref};

/// Puts the person beside such keys of a query that is a private relation.
pub fn add_person<'t>(query: Ref<'t, Query>) {
    if query.setOperations().is_some() || !query.groupingSets().is_empty() {
        return;
    }
    tree::flatten_groups(query);
    let person_beside = |clauses: List<'t, SortGroupClause>| {
        let person = of_one_row(query, clauses)?;
        tree::clause_for(query, person, PERSON)
    };
    if let Some(clause) = person_beside(query.groupClause()) {
        query.set_groupClause(query.groupClause().append(clause));
    }
    if let Some(clause) = person_beside(query.distinctClause()) {
        // What is distinct ON is sorted by first.
        let before =
            |known: List<'t, SortGroupClause>| tree::list_of([clause].into_iter().chain(known));
        query.set_distinctClause(before(query.distinctClause()));
        if !query.sortClause().is_empty() {
            query.set_sortClause(before(query.sortClause()));
        }
    }
    for window in query.windowClause() {
        if let Some(clause) = person_beside(window.partitionClause()) {
            window.set_partitionClause(window.partitionClause().append(clause));
        }
    }
}

/// The person of the rows that such clauses put together, if they say it by a key and do not name them.
fn of_one_row<'t>(
    query: Ref<'t, Query>,
    clauses: List<'t, SortGroupClause>,
) -> Option<Ref<'t, Node>> {
    let keys = clauses.into_iter().filter_map(|clause| {
        let target = tree::sort_group_target(clause, query.targetList());
        target.expr()
    });
    let keys: Vec<_> = keys.collect();
    if keys.iter().any(|key| person::names_person(query, *key)) {
        return None;
    }
    let mut keys = keys.into_iter();
    let entry = keys.find_map(|key| person::row_of_person(query, key))?;
    let (entry, column) = person::person_beside(query, entry)?;
    tree::column(query, entry, column)
}
