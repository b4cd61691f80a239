//! Keys whose values a joined public table has, or a list that the query makes: those that are made of its columns
//! alone, and columns that the join says are equal to one. A row that is joined has the key of a row of that table, so
//! these are the groups, with rows or without. The table is read whole before the first private row, and the list is
//! made of what was read.

use std::collections::{BTreeMap, BTreeSet};

use pgrx::pg_sys::{self, Node, NodeTag};

use crate::gate::canonical_keys;
use crate::gate::defence::Defence;
use crate::gate::inputs;
use crate::gate::private_relation::from::From;
use crate::pg::execution;
use crate::pg::relation;
use crate::pg::tree::{self, Ref, Step};

/// The most rows of a table that makes a list, as PostgreSQL estimates them. Of a larger one most groups would be noise.
pub const MOST_ROWS: f64 = 1000.0;

/// The values of a key over the rows of a table.
#[derive(Clone)]
pub struct Rows<'t> {
    /// The number of the table in FROM.
    pub table: i32,
    /// The key, where the table is the only entry in FROM.
    pub key: Ref<'t, Node>,
    /// The key of a row with which none of the table is joined, where an outer join keeps such rows.
    pub missing: Option<Ref<'t, Node>>,
    /// How many rows there are, about.
    pub count: usize,
    /// A value in the place of NULL.
    pub any: &'static str,
}

/// The values of a key, as it is written and as it is shown, if they are those of a joined table. `conditions` are those
/// that all rows meet.
pub fn of<'t>(
    from: &From<'t>,
    written: Ref<'t, Node>,
    shown: Ref<'t, Node>,
    conditions: &[Ref<'t, Node>],
) -> Option<Rows<'t>> {
    let (kind, _) = tree::base_type(tree::type_of(written), -1);
    let any = canonical_keys::any_value(kind)?;
    // Without the defence the table is read row by row, and there is no list of its rows.
    if !Defence::Inputs.stands() || tree::has_sublinks(shown) {
        return None;
    }
    let (table, key) = match table_of(from, shown) {
        Some(table) => (table, shown),
        None => conditions
            .iter()
            .find_map(|condition| equal_to(from, written, *condition))?,
    };
    let rows = estimated_rows(tree::entry(from.query, table));
    if rows > MOST_ROWS {
        return None;
    }
    let with = |made: &dyn Fn(Ref<'t, Node>, i16) -> Ref<'t, Node>| {
        tree::change(key.copy(), &mut |node| {
            let column = node.cast::<pg_sys::Var>()?;
            Some(made(node, column.varattno()))
        })
    };
    let of_row = |node: Ref<'t, Node>, number| {
        let kind = tree::type_of(node);
        let (modifier, collation) = (tree::modifier_of(node), tree::collation_of(node));
        tree::var(node.memory(), 1, number, kind, modifier, collation)
    };
    let of_none = |node: Ref<'t, Node>, _| {
        let kind = tree::type_of(node);
        let (modifier, collation) = (tree::modifier_of(node), tree::collation_of(node));
        tree::null(node.memory(), kind, modifier, collation)
    };
    Some(Rows {
        table,
        key: with(&of_row),
        missing: from.may_be_missing(table).then(|| with(&of_none)),
        count: rows as usize,
        any,
    })
}

/// How many rows PostgreSQL takes a table to have, or a sub-query.
fn estimated_rows(entry: Ref<pg_sys::RangeTblEntry>) -> f64 {
    let Some(below) = entry.subquery() else {
        return relation::estimated_rows(entry.relid());
    };
    let plan = execution::plan(below.copy()).planTree();
    plan.map_or(f64::INFINITY, |plan| plan.plan_rows())
}

/// The combinations of values of several keys of one table, each with its number, as columns `k{i}`; `parameter` is the
/// number of an expression.
pub fn list<'t>(
    keys: &[(usize, &Rows<'t>)],
    parameter: &mut dyn FnMut(Ref<'t, Node>) -> usize,
) -> String {
    let Some((_, rows)) = keys.first() else {
        return String::new();
    };
    let columns = keys
        .iter()
        .map(|(i, rows)| format!("${} AS k{i}", parameter(rows.key)));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let missing = keys
        .iter()
        .map(|(_, rows)| Some(format!("${}", parameter(rows.missing?))));
    let missing = missing.collect::<Option<Vec<_>>>();
    let missing = missing.map_or(String::new(), |values| {
        format!(" UNION SELECT {}", values.join(", "))
    });
    format!(
        "SELECT DISTINCT {columns} FROM {}{missing}",
        inputs::place_of(rows.table)
    )
}

/// Whether each row of these tables may meet each of the others in a row of the query, so that their values are groups in
/// all combinations: no condition is about two of them, nor are two about the same column.
pub fn may_all_meet<'t>(from: &From<'t>, of: &[&Rows<'t>], conditions: &[Ref<'t, Node>]) -> bool {
    let tables: BTreeSet<i32> = of.iter().map(|rows| rows.table).collect();
    if tables.len() < 2 {
        return true;
    }
    // The columns that conditions on each compare it with.
    let mut joined: BTreeMap<i32, BTreeSet<(i32, i16)>> = BTreeMap::new();
    for condition in conditions {
        let mut columns = BTreeSet::new();
        tree::search(*condition, &mut |node, _| {
            columns.extend(
                node.cast::<pg_sys::Var>()
                    .map(|column| (column.varno(), column.varattno())),
            );
            Step::Below
        });
        let (inputs, others): (BTreeSet<_>, BTreeSet<_>) = columns
            .into_iter()
            .partition(|(table, _)| from.is_public(*table));
        let inputs: BTreeSet<i32> = inputs.into_iter().map(|(table, _)| table).collect();
        if inputs.len() > 1 {
            return false;
        }
        for table in inputs {
            joined.entry(table).or_default().extend(&others);
        }
    }
    let mut seen = BTreeSet::new();
    let is_joined = |table| joined.get(&table).is_some_and(|with| !with.is_empty());
    let mut of = of.iter();
    of.all(|rows| rows.missing.is_none() && is_joined(rows.table))
        && joined.values().flatten().all(|column| seen.insert(*column))
}

/// The number of the joined table that all columns of an expression are of.
pub fn table_of<'t>(from: &From<'t>, node: Ref<'t, Node>) -> Option<i32> {
    let mut found = None;
    let is_other = tree::search(node, &mut |node, level| {
        let Some(column) = node.cast::<pg_sys::Var>() else {
            return Step::Below;
        };
        let table = column.varno();
        let is_own = level == 0 && column.varlevelsup() == 0 && column.varattno() > 0;
        let is_it = is_own && found.is_none_or(|known| known == table);
        found = Some(table);
        match is_it && from.is_public(table) {
            true => Step::Below,
            false => Step::Stop,
        }
    });
    found.filter(|_| !is_other)
}

/// The column of a joined table, and its number in FROM, that a condition says a key is equal to, byte by byte.
fn equal_to<'t>(
    from: &From<'t>,
    key: Ref<'t, Node>,
    condition: Ref<'t, Node>,
) -> Option<(i32, Ref<'t, Node>)> {
    let comparison = condition.operator();
    let comparison = comparison.filter(|_| condition.tag() == NodeTag::T_OpExpr)?;
    let [one, other] = comparison.args().nodes()[..] else {
        return None;
    };
    let column = match (one.same(key), other.same(key)) {
        (true, false) => other,
        (false, true) => one,
        _ => return None,
    };
    let table = column
        .cast::<pg_sys::Var>()
        .and_then(|_| table_of(from, column))?;
    let kind = tree::type_of(key);
    let is_bytewise = tree::type_of(column) == kind
        && canonical_keys::has_one_form(kind, tree::collation_of(key))
        && canonical_keys::is_equality(kind, comparison);
    is_bytewise.then_some((table, column))
}
