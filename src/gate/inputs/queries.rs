//! Queries over one entry of FROM: what is read of a table, of a sub-query or of a list.

use pgrx::pg_sys::{
    self, FromExpr, Node, Oid, Query, RTEKind, RangeTblEntry, RangeTblRef, SubLink,
};

use crate::gate::access;
use crate::gate::inputs::columns::{Column, forget_names, used_flat};
use crate::pg::tree::{self, Memory, Ref};

/// `SELECT` of all columns of a function or of VALUES in FROM, as a sub-query in its place.
pub fn select_all<'t>(query: Ref<'t, Query>, index: i32) -> Ref<'t, Query> {
    let memory = query.memory();
    let entry = tree::entry(query, index).copy();
    let kinds = used_flat(query, index);
    let names = entry.eref().map(|names| names.colnames().nodes().len());
    let most = i16::try_from(names.unwrap_or_default()).expect("few columns");
    let targets = (1..=most).map(|number| {
        let value = match kinds.get(&number) {
            Some(column) => {
                let own = column.copy();
                own.set_varlevelsup(0);
                own.set_varno(1);
                own.node()
            }
            // Nobody reads it.
            None => tree::null(memory, pg_sys::INT4OID, -1, Oid::INVALID),
        };
        tree::target(value, number, "")
    });
    let below = memory.make::<Query>();
    below.set_commandType(pg_sys::CmdType::CMD_SELECT);
    below.set_canSetTag(true);
    below.set_targetList(tree::list_of(targets));
    below.set_rtable(tree::list_of([entry]));
    below.set_jointree(Some(from_first(memory, None)));
    below.set_hasSubLinks(tree::any(below.node(), |node| {
        node.cast::<SubLink>().is_some()
    }));
    forget_names(below.node());
    below
}

/// `SELECT` of a sub-query's value alone.
pub fn select_value(link: Ref<SubLink>) -> Ref<Query> {
    let memory = link.memory();
    let query = memory.make::<Query>();
    query.set_commandType(pg_sys::CmdType::CMD_SELECT);
    query.set_canSetTag(true);
    query.set_hasSubLinks(true);
    query.set_targetList(tree::list_of([tree::target(link.node(), 1, "value")]));
    query.set_jointree(Some(memory.make::<FromExpr>()));
    query
}

/// `FROM` the first entry, under a condition.
pub fn from_first<'t>(memory: Memory<'t>, condition: Option<Ref<'t, Node>>) -> Ref<'t, FromExpr> {
    let reference = memory.make::<RangeTblRef>();
    reference.set_rtindex(1);
    let from = memory.make::<FromExpr>();
    from.set_fromlist(tree::list_of([reference.node()]));
    from.set_quals(condition);
    from
}

/// `SELECT` of a sub-query's columns under conditions on them.
pub(super) fn filtered<'t>(
    entry: Ref<'t, RangeTblEntry>,
    below: Ref<'t, Query>,
    index: i32,
    columns: &[Column],
    conditions: Vec<Ref<'t, Node>>,
) -> Ref<'t, Query> {
    let own = below.memory().make::<RangeTblEntry>();
    own.set_rtekind(RTEKind::RTE_SUBQUERY);
    own.set_subquery(Some(below));
    own.set_security_barrier(entry.security_barrier());
    own.set_eref(entry.eref());
    own.set_inFromCl(true);
    select(below.memory(), own, index, columns, conditions)
}

/// `SELECT` of the columns that are used `FROM` the table. The others are NULL, so that all keep their numbers.
pub fn make_query<'t>(
    from: Ref<'t, Query>,
    entry: Ref<'t, RangeTblEntry>,
    index: i32,
    columns: &[Column],
    conditions: Vec<Ref<'t, Node>>,
) -> Ref<'t, Query> {
    let query = select(from.memory(), entry, index, columns, conditions);
    query.set_hasRowSecurity(from.hasRowSecurity());
    access::copy_table(from, entry, query);
    query
}

/// `SELECT` of columns from an entry, which had that number, under conditions.
pub(super) fn select<'t>(
    memory: Memory<'t>,
    entry: Ref<'t, RangeTblEntry>,
    index: i32,
    columns: &[Column],
    conditions: Vec<Ref<'t, Node>>,
) -> Ref<'t, Query> {
    let query = memory.make::<Query>();
    query.set_commandType(pg_sys::CmdType::CMD_SELECT);
    query.set_canSetTag(true);
    query.set_rtable(tree::list_of([entry]));
    let targets = columns.iter().zip(1..);
    let targets = targets.map(|(column, number)| column.target(memory, number));
    query.set_targetList(tree::list_of(targets));
    for condition in &conditions {
        rename_columns(*condition, index);
    }
    query.set_jointree(Some(from_first(memory, tree::all_of(conditions))));
    query
}

/// The columns of a condition are those of the first table of its query now.
fn rename_columns(condition: Ref<Node>, index: i32) {
    tree::each_column(condition, &mut |column| {
        if column.varno() == index {
            column.set_varno(1);
        }
    });
    forget_names(condition);
}
