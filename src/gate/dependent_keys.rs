//! Keys of GROUP BY that are made of other keys alone, as `GROUP BY day, extract(isodow FROM day)`: groups by the others
//! are the same, and the key is computed of each group's. As a key of its own its values would be combined with those of
//! the others in groups that no row can be in.

use pgrx::pg_sys::{self, Node, Query, SortGroupClause};

use crate::pg::tree::{self, Ref, Step};

/// Leaves them out of GROUP BY.
pub fn leave_out<'t>(query: Ref<'t, Query>) {
    let clauses = query.groupClause().nodes();
    if clauses.len() < 2 || !query.groupingSets().is_empty() {
        return;
    }
    let key = |clause: Ref<'t, SortGroupClause>| {
        let target = tree::sort_group_target(clause, query.targetList());
        target.expr().expect("a target has an expression")
    };
    let mut kept = clauses.clone();
    for clause in clauses {
        let others = kept
            .iter()
            .filter(|one| **one != clause)
            .map(|one| key(*one));
        if is_made_of(key(clause), &others.collect::<Vec<_>>()) {
            kept.retain(|one| *one != clause);
        }
    }
    query.set_groupClause(tree::list_of(kept));
}

/// Whether an expression has other keys in it, and no column beside them.
fn is_made_of<'t>(expression: Ref<'t, Node>, keys: &[Ref<'t, Node>]) -> bool {
    let mut has_key = false;
    let has_other = tree::search(expression, &mut |node, _| {
        if keys.iter().any(|key| key.same(node)) {
            has_key = true;
            return Step::Past;
        }
        match node.cast::<pg_sys::Var>().is_some() || node.cast::<Query>().is_some() {
            true => Step::Stop,
            false => Step::Below,
        }
    });
    has_key && !has_other && !tree::is_volatile(expression)
}
