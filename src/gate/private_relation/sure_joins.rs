//! `LEFT JOIN` of a public table by a foreign key, as tools write it for each table around a fact: `orders LEFT JOIN
//! shops ON shops.id = orders.shop`. Each order has a shop, so it is asked as the inner join: there is no group of
//! orders without one, and the groups of keys of both tables are the rows of the table.

use pgrx::PgRelation;
use pgrx::pg_sys::{FromExpr, JoinExpr, JoinType, Node, Oid, Query, RTEKind, RangeTblRef};

use crate::gate::policy::{self, Policy};
use crate::gate::private_relation::person::{self, Column};
use crate::gate::{access, inputs};
use crate::pg::stack;
use crate::pg::tree::{self, Ref};

/// Makes inner joins of those in FROM. If the foreign key did not hold, rows would be missing; what is private does not
/// hang on it.
pub fn turn<'t>(query: Ref<'t, Query>) {
    if let Some(from) = query.jointree() {
        turn_in(query, from.node());
    }
}

fn turn_in<'t>(query: Ref<'t, Query>, node: Ref<'t, Node>) {
    stack::check();
    if let Some(from) = node.cast::<FromExpr>() {
        from.fromlist()
            .into_iter()
            .for_each(|part| turn_in(query, part));
    }
    let Some(join) = node.cast::<JoinExpr>() else {
        return;
    };
    for side in [join.larg(), join.rarg()].into_iter().flatten() {
        turn_in(query, side);
    }
    let sides = match join.jointype() {
        JoinType::JOIN_LEFT => [join.larg(), join.rarg()],
        JoinType::JOIN_RIGHT => [join.rarg(), join.larg()],
        _ => return,
    };
    if let [Some(kept), Some(other)] = sides
        && has_a_row_for_each(query, join, kept, other)
    {
        tree::make_inner(query, join);
    }
}

/// Whether a row of the one side meets one of the other by a foreign key that holds, and by nothing else.
fn has_a_row_for_each<'t>(
    query: Ref<'t, Query>,
    join: Ref<'t, JoinExpr>,
    kept: Ref<'t, Node>,
    other: Ref<'t, Node>,
) -> bool {
    let Some(table) = other.cast::<RangeTblRef>() else {
        return false;
    };
    let condition = join.quals().map(|on| tree::flatten_joins(query, on));
    let [condition] = tree::conjuncts(condition)[..] else {
        return false;
    };
    let Some([one, another]) = person::equality(condition) else {
        return false;
    };
    let table = table.rtindex();
    let refers = |own: Column, key: Column| {
        key.0 == table
            && person::is_kept(kept, own.0)
            && shows_all(query, table)
            && column_of_table(query, own).is_some_and(|(relation, column)| {
                refers(relation, column, (tree::entry(query, table).relid(), key.1))
            })
    };
    refers(one, another) || refers(another, one)
}

/// Whether the role sees all rows of a table that it may read.
fn shows_all(query: Ref<Query>, index: i32) -> bool {
    let entry = tree::entry(query, index);
    let is_public = entry.rtekind() == RTEKind::RTE_RELATION
        && inputs::is_plain(entry)
        && entry.tablesample().is_none()
        && entry.securityQuals().is_empty()
        && !access::is_denied(query, entry);
    is_public && {
        // SAFETY: a table that the query has locked; its row of pg_class is there as long as it is open.
        unsafe {
            let table = PgRelation::open(entry.relid());
            !(*table.rd_rel).relrowsecurity
        }
    }
}

/// The column of a protected table that a column of private rows is, without an outer join that could make it NULL.
pub fn column_of_table(query: Ref<Query>, (index, number): Column) -> Option<(Oid, i16)> {
    stack::check();
    let entry = tree::entry(query, index);
    match entry.rtekind() {
        RTEKind::RTE_RELATION => {
            access::denied_policy(query, entry)?;
            Some((entry.relid(), number))
        }
        RTEKind::RTE_SUBQUERY => {
            let below = entry.subquery()?;
            if below.setOperations().is_some() || !below.groupingSets().is_empty() {
                return None;
            }
            let mut targets = below.targetList().into_iter();
            let target = targets.find(|target| target.resno() == number && !target.resjunk())?;
            let value = tree::flatten_joins(below, tree::ungrouped(below, target.expr()?));
            let column = person::own_column(value)?;
            let is_there = person::is_kept(below.jointree()?.node(), column.0);
            is_there.then(|| column_of_table(below, column))?
        }
        _ => None,
    }
}

/// Whether a column that is NULL in no row refers to that key by a foreign key that holds for all rows.
fn refers(relation: Oid, column: i16, key: (Oid, i16)) -> bool {
    let policy = Policy::of(relation);
    let is_not_null = policy.is_some_and(|policy| policy.is_not_null(column));
    if !is_not_null || Policy::of(key.0).is_some() {
        return false;
    }
    // SAFETY: a table that the query has locked; it is closed where this ends.
    let table = unsafe { PgRelation::open(relation) };
    let reference = policy::valid_reference(&table, column);
    !policy::has_children(&table)
        && reference.is_some_and(|reference| (reference.relation, reference.key) == key)
}
