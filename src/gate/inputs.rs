//! Tables and answers that are joined with private rows. A join would look into a table for some private rows and not
//! for others, and that leaves traces: pages are pruned, rows and indexes marked, reads counted; and it would ask for an
//! answer, which is charged, or not. So each is read whole before the first private row, as a WITH, and the block reads
//! what was kept of it.

pub mod columns;
pub mod pushdown;
pub mod queries;

use pgrx::pg_sys::{
    self, CTEMaterialize, CommonTableExpr, CteScan, CteScanState, EState, Oid, Query, RTEKind,
    RangeTblEntry,
};

use crate::gate::access;
use crate::gate::inputs::columns::{Column, shown, used};
use crate::gate::inputs::pushdown::Conditions;
use crate::gate::inputs::queries::{filtered, make_query, select};
use crate::pg::cte;
use crate::pg::tree::{self, Memory, Ref, Step};
use crate::safe_functions::work::LONGEST;

/// What the alias begins with that holds the place of a joined table in a list of its rows.
const PLACE: &str = "place of ";

/// An item of FROM in the place of a joined table: a list of its rows.
pub fn place_of(table: i32) -> String {
    format!("pg_catalog.generate_series(1, 1) AS \"{PLACE}{table}\"")
}

/// The number of the table whose place the only item in FROM of a query holds.
fn is_place_of(query: Ref<Query>) -> Option<i32> {
    let [entry] = query.rtable().nodes()[..] else {
        return None;
    };
    let alias = entry.eref()?.aliasname();
    alias.strip_prefix(PLACE)?.parse().ok()
}

/// A list of the rows of a joined table, with the number of queries around it, and that of its table.
pub type RowsOfTable<'t> = (Ref<'t, Query>, u32, i32);

/// The lists of rows of joined tables among the queries of a template itself: tables of an analyst may have any name.
pub fn lists<'t>(queries: &[(Ref<'t, Query>, u32)]) -> Vec<RowsOfTable<'t>> {
    let queries = queries.iter();
    let lists = queries.filter_map(|(query, level)| Some((*query, *level, is_place_of(*query)?)));
    lists.collect()
}

/// Puts a WITH in the place of each joined table and answer, in all queries through which the rows come, each with the
/// number of queries above it, and in the lists of rows of joined tables. `source` is the block itself, whose tables are
/// in the first of these queries, if there is one.
pub fn read_first<'t>(
    query: Ref<'t, Query>,
    source: Ref<'t, Query>,
    innermost: &[(Ref<'t, Query>, u32)],
    lists: &[RowsOfTable<'t>],
    mut conditions: Conditions<'t>,
    answers: &[i32],
    lifted: &[Ref<'t, CommonTableExpr>],
) {
    let first = match innermost.first() {
        Some((first, _)) => first,
        None if lists.is_empty() => return,
        None => &source,
    };
    for (query, depth) in innermost {
        deepen(*query, *depth, innermost);
    }
    let mut withs = tree::list_of(lifted.iter().copied());
    for index in answers {
        let own = Vec::from_iter(lists.iter().filter(|(_, _, list)| list == index));
        let readers = innermost.len() + own.len();
        if readers == 0 {
            continue;
        }
        let entry = tree::entry(*first, *index);
        let below = entry.subquery().expect("a joined answer");
        let columns = shown(below);
        let name = name(*index, Oid::INVALID);
        let with = make_with(query.memory(), &name, &columns);
        with.set_cterefcount(i32::try_from(readers).expect("few sets"));
        let body = match conditions.remove(index) {
            Some(conditions) if !conditions.is_empty() => {
                filtered(entry, below, *index, &columns, conditions)
            }
            _ => below,
        };
        with.set_ctequery(Some(body.node()));
        withs = withs.append(with);
        for (list, depth, _) in own {
            list.set_rtable(tree::list_of([scan_of(&name, *depth, with, &columns)]));
        }
        for (query, depth) in innermost {
            // The sub-query stays: if it is a view, rights on it are asked of its entry.
            let all = all_of_with(&name, depth + 1, with, &columns);
            tree::entry(*query, *index).set_subquery(Some(all));
        }
    }
    for (index, conditions) in conditions {
        let entry = tree::entry(*first, index);
        let own = lists.iter().filter(|(_, _, table)| *table == index);
        let own = Vec::from_iter(own);
        let readers = innermost.len() + own.len();
        if readers == 0 {
            continue;
        }
        let used_by_rows = innermost.iter().flat_map(|(query, _)| used(*query, index));
        let used_by_lists = own.iter().flat_map(|(list, ..)| used(*list, 1));
        let columns = columns::of_table(entry, &used_by_rows.chain(used_by_lists).collect());
        let name = name(index, entry.relid());
        let with = make_with(query.memory(), &name, &columns);
        with.set_cterefcount(i32::try_from(readers).expect("few sets"));
        let body = make_query(*first, entry, index, &columns, conditions);
        with.set_ctequery(Some(body.node()));
        withs = withs.append(with);
        for (query, depth) in innermost {
            let entry = tree::entry(*query, index);
            access::forget(entry);
            replace(entry, &name, *depth, with);
        }
        for (list, depth, _) in own {
            list.set_rtable(tree::list_of([scan_of(&name, *depth, with, &columns)]));
        }
    }
    query.set_cteList(withs.concat(query.cteList()));
}

/// Puts WITHs in the place of what is public in FROM of a query below the block, that many queries below it.
pub fn lift<'t>(
    query: Ref<'t, Query>,
    tables: &[i32],
    answers: &[i32],
    level: u32,
    lifted: &mut Vec<Ref<'t, CommonTableExpr>>,
) {
    for index in answers {
        let entry = tree::entry(query, *index);
        let below = entry.subquery().expect("a joined sub-query");
        entry.set_subquery(Some(lift_query(below, level + 1, lifted)));
    }
    for (index, conditions) in pushdown::take(query, tables) {
        let entry = tree::entry(query, index);
        let columns = columns::of_table(entry, &used(query, index));
        let body = make_query(query, entry, index, &columns, conditions);
        let with = lifted_with(entry.relid(), &columns, body, lifted);
        access::forget(entry);
        replace(entry, &with.ctename(), level, with);
    }
}

/// Puts a WITH in the place of a public sub-query, which is that many queries below the block.
pub fn lift_query<'t>(
    query: Ref<'t, Query>,
    level: u32,
    lifted: &mut Vec<Ref<'t, CommonTableExpr>>,
) -> Ref<'t, Query> {
    let columns = shown(query);
    let with = lifted_with(Oid::INVALID, &columns, query, lifted);
    all_of_with(&with.ctename(), level, with, &columns)
}

/// The WITH of a table or sub-query below a block: the same for the same.
fn lifted_with<'t>(
    relation: Oid,
    columns: &[Column],
    body: Ref<'t, Query>,
    lifted: &mut Vec<Ref<'t, CommonTableExpr>>,
) -> Ref<'t, CommonTableExpr> {
    let is_it = |known: &&Ref<'t, CommonTableExpr>| {
        known
            .ctequery()
            .is_some_and(|known| known.same(body.node()))
    };
    let with = lifted.iter().find(is_it).copied();
    let with = with.unwrap_or_else(|| {
        let number = LIFTED + i32::try_from(lifted.len()).expect("few sub-queries");
        let with = make_with(body.memory(), &name(number, relation), columns);
        with.set_ctequery(Some(body.node()));
        lifted.push(with);
        with
    });
    with.set_cterefcount(with.cterefcount() + 1);
    with
}

/// The numbers of WITHs that queries below the block name: no entry of a range table has such a number.
const LIFTED: i32 = 1_000_000;

/// Moves the names of lifted WITHs in the queries below one that is itself that many queries below where the WITHs are.
/// Of the queries through which the rows come, one may be in another: each is moved by itself.
fn deepen<'t>(query: Ref<'t, Query>, depth: u32, all: &[(Ref<'t, Query>, u32)]) {
    tree::search(query.node(), &mut |node, _| {
        if let Some(below) = node.cast::<Query>() {
            if below != query && all.iter().any(|(other, _)| below == *other) {
                return Step::Past;
            }
            for entry in below.rtable() {
                if relation_of(entry).is_some() {
                    entry.set_ctelevelsup(entry.ctelevelsup() + depth);
                }
            }
        }
        Step::Below
    });
}

/// Whether an entry is a table whose rows are where it says: no view, no partition, not on another server.
pub fn is_plain(entry: Ref<RangeTblEntry>) -> bool {
    let kind = entry.relkind() as u8;
    (kind == pg_sys::RELKIND_RELATION || kind == pg_sys::RELKIND_MATVIEW)
        && !tree::has_subclass(entry.relid())
}

/// What the names of these WITHs begin with. All other WITHs of a private query have the template's names.
const NAME: &str = "input ";

/// The name of the WITH for an entry, with the number of its table, for the statistics of that: a query that is kept as
/// a text has the name alone.
fn name(index: i32, relation: Oid) -> String {
    format!("{NAME}{index} {}", relation.to_u32())
}

/// Whether a WITH has what is read of a joined table, or an answer.
pub fn is_input(with: Ref<CommonTableExpr>) -> bool {
    with.ctename().starts_with(NAME)
}

/// The table that an entry of a WITH represents, 0 for an answer; `None` if it is no input.
fn relation_of(entry: Ref<RangeTblEntry>) -> Option<Oid> {
    if entry.rtekind() != RTEKind::RTE_CTE {
        return None;
    }
    let name = entry.ctename();
    let (_, relation) = name.strip_prefix(NAME)?.split_once(' ')?;
    relation.parse().ok().map(Oid::from_u32)
}

/// `SELECT` of all columns of a WITH that is that many queries above.
fn all_of_with<'t>(
    name: &str,
    depth: u32,
    with: Ref<'t, CommonTableExpr>,
    columns: &[Column],
) -> Ref<'t, Query> {
    let entry = scan_of(name, depth, with, columns);
    select(with.memory(), entry, 1, columns, Vec::new())
}

/// The entry of a WITH that is that many queries above.
fn scan_of<'t>(
    name: &str,
    depth: u32,
    with: Ref<'t, CommonTableExpr>,
    columns: &[Column],
) -> Ref<'t, RangeTblEntry> {
    let memory = with.memory();
    let entry = memory.make::<RangeTblEntry>();
    let names = memory.strings(columns.iter().map(|column| column.name.as_str()));
    entry.set_eref(Some(tree::alias("input", names)));
    entry.set_inFromCl(true);
    replace(entry, name, depth, with);
    entry
}

fn make_with<'t>(memory: Memory<'t>, name: &str, columns: &[Column]) -> Ref<'t, CommonTableExpr> {
    let with = memory.make::<CommonTableExpr>();
    with.set_ctename(Some(name));
    with.set_ctematerialized(CTEMaterialize::CTEMaterializeAlways);
    with.set_location(-1);
    let kinds: Vec<_> = columns.iter().map(|column| column.kind).collect();
    let modifiers: Vec<_> = columns.iter().map(|column| column.modifier).collect();
    let collations: Vec<_> = columns.iter().map(|column| column.collation).collect();
    with.set_ctecolnames(memory.strings(columns.iter().map(|column| column.name.as_str())));
    with.set_ctecoltypes(memory.oids(&kinds));
    with.set_ctecoltypmods(memory.integers(&modifiers));
    with.set_ctecolcollations(memory.oids(&collations));
    with
}

/// Makes an entry one that is for a WITH that many queries above.
fn replace<'t>(
    entry: Ref<'t, RangeTblEntry>,
    name: &str,
    depth: u32,
    with: Ref<'t, CommonTableExpr>,
) {
    entry.set_relid(Oid::INVALID);
    entry.set_rtekind(RTEKind::RTE_CTE);
    entry.set_ctename(Some(name));
    entry.set_ctelevelsup(depth);
    entry.set_coltypes(with.ctecoltypes());
    entry.set_coltypmods(with.ctecoltypmods());
    entry.set_colcollations(with.ctecolcollations());
    entry.set_relkind(0);
    entry.set_rellockmode(0);
    entry.set_inh(false);
}

/// Reads a joined table or answer, where this node scans one. Whether no value is too long.
pub fn fill<'t>(execution: Ref<'t, EState>, scan: Ref<'t, CteScanState>) -> bool {
    let plan = scan.state().plan().and_then(|plan| plan.cast::<CteScan>());
    let entries = execution.es_range_table().nodes();
    let entry = plan.and_then(|plan| {
        let index = usize::try_from(plan.scanrelid()).ok()?.checked_sub(1)?;
        entries.get(index).copied()
    });
    entry.and_then(relation_of).is_none() || cte::fill(scan, LONGEST as usize)
}

/// Puts what the planner knows of a column of a joined table in its hands. Whether the entry represents one.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub fn statistics<'t>(
    entry: Ref<'t, RangeTblEntry>,
    column: i16,
    found: Ref<'t, pg_sys::VariableStatData>,
) -> bool {
    let Some(relation) = relation_of(entry).filter(|relation| *relation != Oid::INVALID) else {
        return false;
    };
    // SAFETY: a lookup in the catalog; the planner gives back what it found.
    unsafe {
        (*found.pointer()).statsTuple = pg_sys::SearchSysCache3(
            pg_sys::SysCacheIdentifier::STATRELATTINH as i32,
            relation.into(),
            column.into(),
            false.into(),
        );
        (*found.pointer()).freefunc = Some(ReleaseSysCache);
    }
    true
}

// As the planner calls it.
#[cfg(any(feature = "pg15", feature = "pg16"))]
unsafe extern "C-unwind" {
    fn ReleaseSysCache(found: pg_sys::HeapTuple);
}
