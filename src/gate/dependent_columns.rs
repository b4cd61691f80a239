//! Columns that hang on a primary key of GROUP BY, which PostgreSQL lets a query show without naming them there:
//! `SELECT r.name, count(*) FROM visits v JOIN regions r USING (region) GROUP BY r.region`. They are put into GROUP BY,
//! which leaves the groups as they are.

use pgrx::pg_sys::{Aggref, Node, Query, Var};

use crate::gate::access;
use crate::pg::tree::{self, Ref, Step};

/// Puts them there. Rows with the same key have the same values, as PostgreSQL has found when it read the query.
pub fn group_by_them(query: Ref<Query>) {
    let is_none = query.constraintDeps().is_empty() || !query.groupingSets().is_empty();
    if is_none || !access::is_concerned(query) {
        return;
    }
    tree::flatten_groups(query);
    for column in of(query) {
        if let Some(clause) = tree::clause_for(query, column, "dependent column") {
            query.set_groupClause(query.groupClause().append(clause));
        }
    }
}

/// The columns of this query that are neither a key nor within an aggregate.
fn of<'t>(query: Ref<'t, Query>) -> Vec<Ref<'t, Node>> {
    let flat = |node| tree::flatten_joins(query, node);
    let keys = query.groupClause().into_iter().filter_map(|clause| {
        let target = tree::sort_group_target(clause, query.targetList());
        target.expr().map(flat)
    });
    let keys: Vec<_> = keys.collect();
    let shown = query.targetList().into_iter();
    let shown = shown.filter_map(|target| target.expr());
    let mut found: Vec<Ref<'t, Node>> = Vec::new();
    for shown in shown.chain(query.havingQual()) {
        tree::search(flat(shown), &mut |node, level| {
            let is_done = node.cast::<Aggref>().is_some() || level > 0;
            if is_done || keys.iter().chain(&found).any(|known| known.same(node)) {
                return Step::Past;
            }
            let column = node.cast::<Var>();
            if column.is_some_and(|column| column.varlevelsup() == 0) {
                found.push(node);
            }
            Step::Below
        });
    }
    found
}
