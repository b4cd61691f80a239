//! The one form of queries that are the same question: without what views and tools put around a table, and without
//! names. It is made for the key of an answer alone, and never runs.

use std::collections::{BTreeMap, BTreeSet};

use dp_sealing::token::TAG;
#[cfg(not(feature = "pg15"))]
use pgrx::pg_sys;
use pgrx::pg_sys::{
    CommonTableExpr, FromExpr, JoinExpr, JoinType, Node, Oid, Query, RTEKind, RangeTblEntry,
    RangeTblRef, TargetEntry, Var,
};

use crate::gate::access;
use crate::gate::answer::{call, question};
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref, Step};
use crate::pg::tree_text;
use crate::pg::varlena::text_bytes;

/// The text of a query in that form.
pub fn text(query: Ref<Query>) -> Vec<u8> {
    let query = query.copy();
    // A value that is a whole row has the names of its columns.
    let names_rows = tree::any(query.node(), |node| {
        node.cast::<Var>()
            .is_some_and(|column| column.varattno() == 0)
    });
    if !names_rows {
        forget_names(query);
    }
    for query in all(query) {
        // Which columns are read is said where they are; rights are looked at by the query as it is.
        flatten(query);
        access::forget_columns(query);
    }
    let queries = all(query);
    rename_withs(&queries);
    forget_tags(&queries);
    sort_conditions(query);
    tree_text::write(query.node())
}

/// It, and all queries below it.
fn all(query: Ref<Query>) -> Vec<Ref<Query>> {
    let mut queries = Vec::new();
    tree::search(query.node(), &mut |node, _| {
        queries.extend(node.cast::<Query>());
        Step::Below
    });
    queries
}

/// Takes the names of tables and columns away.
fn forget_names(query: Ref<Query>) {
    tree::search(query.node(), &mut |node, _| {
        if let Some(query) = node.cast::<Query>() {
            for entry in query.rtable() {
                entry.set_alias(None);
                entry.set_eref(None);
                entry.set_join_using_alias(None);
            }
        } else if let Some(target) = node.cast::<TargetEntry>() {
            target.set_resname(None);
            target.set_resorigtbl(Oid::INVALID);
            target.set_resorigcol(0);
        } else if let Some(join) = node.cast::<JoinExpr>() {
            join.set_alias(None);
            join.set_join_using_alias(None);
            join.set_usingClause(List::EMPTY);
        } else if let Some(with) = node.cast::<CommonTableExpr>() {
            with.set_ctecolnames(List::EMPTY);
        }
        Step::Below
    });
}

/// Takes apart what only holds items of FROM together, and leaves the entries that are used, in the order of FROM.
fn flatten(query: Ref<Query>) {
    if !query.rowMarks().is_empty() {
        return;
    }
    let named = named(query);
    if let Some(from) = query.jointree() {
        let (items, conditions) = apart(from.node(), &named);
        from.set_fromlist(tree::list_of(items));
        from.set_quals(tree::all_of(conditions));
    }
    let mut order = Vec::new();
    let parts = [query.jointree().map(Ref::node), query.setOperations()];
    for part in parts.into_iter().flatten() {
        tree::search(part, &mut |node, level| {
            if level > 0 {
                return Step::Past;
            }
            order.extend(node.cast::<RangeTblRef>().map(|one| one.rtindex()));
            order.extend(node.cast::<JoinExpr>().map(|join| join.rtindex()));
            Step::Below
        });
    }
    order.retain(|index| *index > 0);
    let known = BTreeSet::from_iter(order.iter().copied());
    order.extend(named.difference(&known));
    renumber(query, &order);
}

/// The entries of a query that its columns name. What the columns of a join are is left to those that one of these is.
fn named(query: Ref<Query>) -> BTreeSet<i32> {
    let entries = query.rtable().nodes();
    let mut of_joins = BTreeMap::new();
    for (entry, index) in entries.iter().zip(1..) {
        if entry.rtekind() == RTEKind::RTE_JOIN {
            of_joins.insert(index, (*entry, entry.joinaliasvars()));
            entry.set_joinaliasvars(List::EMPTY);
        }
    }
    let mut named = BTreeSet::new();
    let mut open = columns(query.node(), 1);
    while let Some(index) = open.pop() {
        let is_new = named.insert(index);
        if let Some((entry, aliases)) = of_joins.remove(&index).filter(|_| is_new) {
            entry.set_joinaliasvars(aliases);
            open.extend(aliases.node().into_iter().flat_map(|list| columns(list, 0)));
        }
    }
    for (entry, _) in of_joins.into_values() {
        entry.set_joinmergedcols(0);
        entry.set_joinleftcols(List::EMPTY);
        entry.set_joinrightcols(List::EMPTY);
    }
    named
}

/// The entries that columns below a node name, of the query that is `above` queries above their own level.
fn columns(node: Ref<Node>, above: u32) -> Vec<i32> {
    let mut found = Vec::new();
    tree::search(node, &mut |node, level| {
        let column = node.cast::<Var>();
        let column = column.filter(|column| column.varlevelsup() + above == level);
        found.extend(column.map(Ref::varno));
        Step::Below
    });
    found
}

/// The items that an item of FROM consists of, and the conditions on them.
fn apart<'t>(
    item: Ref<'t, Node>,
    named: &BTreeSet<i32>,
) -> (Vec<Ref<'t, Node>>, Vec<Ref<'t, Node>>) {
    stack::check();
    let parts = if let Some(from) = item.cast::<FromExpr>() {
        Some((from.fromlist().nodes(), from.quals()))
    } else {
        item.cast::<JoinExpr>().and_then(|join| {
            let is_apart =
                join.jointype() == JoinType::JOIN_INNER && !named.contains(&join.rtindex());
            let sides = [join.larg(), join.rarg()].into_iter().flatten();
            is_apart.then(|| (sides.collect(), join.quals()))
        })
    };
    if let Some((parts, quals)) = parts {
        let (mut items, mut conditions) = (Vec::new(), Vec::new());
        for part in parts {
            let (own, of_part) = apart(part, named);
            items.extend(own);
            conditions.extend(of_part);
        }
        conditions.extend(tree::conjuncts(quals));
        return (items, conditions);
    }
    if let Some(join) = item.cast::<JoinExpr>() {
        join.set_larg(join.larg().map(|side| together(side, named)));
        join.set_rarg(join.rarg().map(|side| together(side, named)));
    }
    (vec![item], Vec::new())
}

/// One side of a join that stays.
fn together<'t>(side: Ref<'t, Node>, named: &BTreeSet<i32>) -> Ref<'t, Node> {
    let (items, conditions) = apart(side, named);
    if let ([one], true) = (items.as_slice(), conditions.is_empty()) {
        return *one;
    }
    let from = side.memory().make::<FromExpr>();
    from.set_fromlist(tree::list_of(items));
    from.set_quals(tree::all_of(conditions));
    from.node()
}

/// Leaves these entries of the range table, in this order.
fn renumber(query: Ref<Query>, order: &[i32]) {
    let entries = order.iter().map(|index| tree::entry(query, *index));
    query.set_rtable(tree::list_of(Vec::<Ref<RangeTblEntry>>::from_iter(entries)));
    let numbers = BTreeMap::from_iter(order.iter().copied().zip(1..));
    let number = |old: i32| numbers.get(&old).copied().unwrap_or(old);
    tree::search(query.node(), &mut |node, level| {
        if let Some(column) = node.cast::<Var>() {
            if column.varlevelsup() + 1 == level {
                column.set_varno(number(column.varno()));
                #[cfg(not(feature = "pg15"))]
                column.set_varnullingrels(renumbered(column.varnullingrels(), number));
            }
            column.set_varnosyn(0);
            column.set_varattnosyn(0);
        } else if level == 1 {
            if let Some(reference) = node.cast::<RangeTblRef>() {
                reference.set_rtindex(number(reference.rtindex()));
            } else if let Some(join) = node.cast::<JoinExpr>() {
                join.set_rtindex(number(join.rtindex()));
            }
        }
        Step::Below
    });
}

/// A set of entries by their new numbers.
#[cfg(not(feature = "pg15"))]
fn renumbered(set: *mut pg_sys::Bitmapset, number: impl Fn(i32) -> i32) -> *mut pg_sys::Bitmapset {
    let mut new = std::ptr::null_mut();
    let mut member = -1;
    loop {
        // SAFETY: a set of a node that lives, or NULL, and one that is made here.
        unsafe {
            member = pg_sys::bms_next_member(set, member);
            if member < 0 {
                return new;
            }
            new = pg_sys::bms_add_member(new, number(member));
        }
    }
}

/// Names each WITH by its place, and all that read it: two that had different names still have.
fn rename_withs(queries: &[Ref<Query>]) {
    let mut names = BTreeMap::new();
    let mut name = |old: String| {
        let next = names.len();
        names
            .entry(old)
            .or_insert_with(|| format!("w{next}"))
            .clone()
    };
    for query in queries {
        for with in query.cteList() {
            with.set_ctename(Some(&name(with.ctename())));
        }
    }
    for entry in queries.iter().flat_map(|query| query.rtable()) {
        if entry.rtekind() == RTEKind::RTE_CTE {
            entry.set_ctename(Some(&name(entry.ctename())));
        }
    }
}

/// Takes the tags of answers away, which differ from session to session.
fn forget_tags(queries: &[Ref<Query>]) {
    for entry in queries.iter().flat_map(|query| query.rtable()) {
        if let Some((token, _)) = call::question_of(entry) {
            // SAFETY: the value was opened.
            let bytes = unsafe { text_bytes(token.constvalue()) };
            token.set_constvalue(question::datum(&bytes[TAG..]));
        }
    }
}

/// Conditions that hold together, in the order of their texts: those with sub-queries behind the others, as they are.
fn sort_conditions(query: Ref<Query>) {
    tree::search(query.node(), &mut |node, _| {
        if let Some(from) = node.cast::<FromExpr>() {
            from.set_quals(sorted(from.quals()));
        } else if let Some(join) = node.cast::<JoinExpr>() {
            join.set_quals(sorted(join.quals()));
        }
        Step::Below
    });
}

fn sorted(condition: Option<Ref<Node>>) -> Option<Ref<Node>> {
    let conditions = tree::conjuncts(condition).into_iter();
    let (links, mut plain): (Vec<_>, Vec<_>) = conditions.partition(|one| tree::has_sublinks(*one));
    plain.sort_by_cached_key(|one| tree_text::write(*one));
    plain.extend(links);
    tree::all_of(plain)
}
