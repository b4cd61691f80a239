//! Tables that are joined with private rows. A join would look into them for some private rows and not for others, and
//! that leaves traces: pages are pruned, rows and indexes marked, reads counted. So each is read whole before the
//! first private row, as a WITH, and the block reads what was kept of it.

use std::collections::{BTreeMap, BTreeSet};

use pgrx::pg_sys::{
    self, CTEMaterialize, CommonTableExpr, CteScan, CteScanState, EState, FromExpr, JoinExpr,
    JoinType, Node, Oid, Query, RTEKind, RangeTblEntry, RangeTblRef, Var,
};

use crate::gate::access;
use crate::gate::block::Block;
use crate::gate::defence::Defence;
use crate::pg::tree::{self, Ref, Step};
use crate::pg::{cte, stack};

/// The conditions on each joined table alone, by the number of the table.
type Conditions = BTreeMap<i32, Vec<Ref<Node>>>;

/// A column, as the WITH has it.
struct Column {
    name: String,
    kind: Oid,
    modifier: i32,
    collation: Oid,
    is_used: bool,
}

/// Takes the conditions on one joined table alone out of FROM and WHERE: they hold for what is read of it.
pub fn take_conditions(block: &Block) -> Conditions {
    let mut taken: Conditions = block.inputs.iter().map(|i| (*i, Vec::new())).collect();
    if Defence::Inputs.stands()
        && let Some(from) = Ref::of(block.query.jointree)
    {
        sift(from.node(), Vec::new(), &mut taken);
    }
    taken
}

/// Passes conditions, and those of FROM and its joins, down to where the only table is that they are about. What comes
/// back is left over.
fn sift(node: Ref<Node>, above: Vec<Ref<Node>>, taken: &mut Conditions) -> Vec<Ref<Node>> {
    stack::check();
    if let Some(table) = node.cast::<RangeTblRef>() {
        let Some(own) = taken.get_mut(&table.rtindex) else {
            return above;
        };
        let (found, left) = above
            .into_iter()
            .partition(|condition| tables_of(*condition) == BTreeSet::from([table.rtindex]));
        own.extend::<Vec<_>>(found);
        return left;
    }
    if let Some(mut join) = node.cast::<JoinExpr>() {
        let own = conjuncts(join.quals);
        let [Some(left), Some(right)] = [join.larg, join.rarg].map(Ref::of) else {
            return above;
        };
        // Rows of the other side stay whatever a condition in ON says, and rows of this one whatever one above says
        // of what may be missing.
        let (own, above) = match join.jointype {
            JoinType::JOIN_INNER => sift_both(own, above, &[left, right], taken),
            JoinType::JOIN_LEFT => (sift(right, own, taken), sift(left, above, taken)),
            JoinType::JOIN_RIGHT => (sift(left, own, taken), sift(right, above, taken)),
            _ => (own, above),
        };
        join.quals = all_of(own);
        return above;
    }
    let Some(mut from) = node.cast::<FromExpr>() else {
        return above;
    };
    let parts = tree::list::<Node>(from.fromlist);
    let (own, above) = sift_both(conjuncts(from.quals), above, &parts, taken);
    from.quals = all_of(own);
    above
}

/// Passes two lists of conditions down to the same parts, at once: each part is visited once.
fn sift_both(
    own: Vec<Ref<Node>>,
    above: Vec<Ref<Node>>,
    parts: &[Ref<Node>],
    taken: &mut Conditions,
) -> (Vec<Ref<Node>>, Vec<Ref<Node>>) {
    let all = [above, own.clone()].concat();
    let left = parts
        .iter()
        .fold(all, |left, part| sift(*part, left, taken));
    left.into_iter().partition(|one| own.contains(one))
}

/// The conditions that are joined by AND.
fn conjuncts(condition: *mut Node) -> Vec<Ref<Node>> {
    stack::check();
    let Some(condition) = Ref::of(condition) else {
        return Vec::new();
    };
    match condition.cast::<pg_sys::BoolExpr>() {
        Some(all) if all.boolop == pg_sys::BoolExprType::AND_EXPR => {
            let all = tree::list::<Node>(all.args);
            all.into_iter()
                .flat_map(|one| conjuncts(one.pointer()))
                .collect()
        }
        _ => vec![condition],
    }
}

fn all_of(conditions: Vec<Ref<Node>>) -> *mut Node {
    let conditions = conditions.into_iter().map(Ref::pointer);
    conditions.fold(std::ptr::null_mut(), tree::both)
}

/// The tables whose columns an expression names.
fn tables_of(node: Ref<Node>) -> BTreeSet<i32> {
    let mut tables = BTreeSet::new();
    each_column(node, &mut |column| {
        tables.insert(column.varno);
    });
    tables
}

fn each_column(node: Ref<Node>, visit: &mut dyn FnMut(Ref<Var>)) {
    tree::search(node, &mut |node, _| {
        if let Some(column) = node.cast::<Var>() {
            visit(column);
        }
        Step::Below
    });
}

/// Puts a WITH in the place of each joined table, in all queries through which the rows come, each with the number of
/// queries above it.
pub fn read_first(mut query: Ref<Query>, innermost: &[(Ref<Query>, u32)], conditions: Conditions) {
    let Some((first, _)) = innermost.first() else {
        return;
    };
    let mut withs = std::ptr::null_mut();
    for (index, conditions) in conditions {
        let entry = tree::entry(*first, index);
        let used = innermost.iter().flat_map(|(query, _)| used(*query, index));
        let columns = columns(entry, &used.collect());
        let name = format!("input {index}");
        let mut with = make_with(&name, &columns);
        with.cterefcount = i32::try_from(innermost.len()).expect("few sets");
        with.ctequery = make_query(*first, entry, index, &columns, conditions)
            .node()
            .pointer();
        withs = tree::append(withs, with);
        for (query, depth) in innermost {
            replace(tree::entry(*query, index), &name, *depth, with);
        }
    }
    query.cteList = tree::concat(withs, query.cteList);
}

/// The columns of a table that a query uses.
fn used(query: Ref<Query>, index: i32) -> BTreeSet<i16> {
    let mut used = BTreeSet::new();
    // Not the columns of joins, which have a list of all.
    let parts = [
        query.targetList.cast(),
        query.jointree.cast(),
        query.havingQual,
    ];
    for part in parts.into_iter().filter_map(Ref::of) {
        each_column(part, &mut |column| {
            if column.varno == index && column.varlevelsup == 0 {
                used.insert(column.varattno);
            }
        });
    }
    used
}

/// The columns of a table, each in its place.
fn columns(entry: Ref<RangeTblEntry>, used: &BTreeSet<i16>) -> Vec<Column> {
    // SAFETY: a table that the query has locked; it is closed where this ends.
    let table = unsafe { pgrx::PgRelation::open(entry.relid) };
    let columns = table.tuple_desc();
    let columns = columns.iter().zip(1..).map(|(column, number)| {
        let (kind, modifier, collation) = match column.attisdropped {
            true => (pg_sys::INT4OID, -1, Oid::INVALID),
            false => (column.atttypid, column.atttypmod, column.attcollation),
        };
        Column {
            name: column.name().to_owned(),
            kind,
            modifier,
            collation,
            is_used: used.contains(&number) && !column.attisdropped,
        }
    });
    columns.collect()
}

fn make_with(name: &str, columns: &[Column]) -> Ref<CommonTableExpr> {
    let mut with = tree::make::<CommonTableExpr>();
    with.ctename = tree::string(name);
    with.ctematerialized = CTEMaterialize::CTEMaterializeAlways;
    with.location = -1;
    let kinds: Vec<_> = columns.iter().map(|column| column.kind).collect();
    let modifiers: Vec<_> = columns.iter().map(|column| column.modifier).collect();
    let collations: Vec<_> = columns.iter().map(|column| column.collation).collect();
    with.ctecolnames = tree::strings(columns.iter().map(|column| column.name.as_str()));
    with.ctecoltypes = tree::oids(&kinds);
    with.ctecoltypmods = tree::integers(&modifiers);
    with.ctecolcollations = tree::oids(&collations);
    with
}

/// `SELECT` of the columns that are used `FROM` the table. The others are NULL, so that all keep their numbers.
fn make_query(
    from: Ref<Query>,
    entry: Ref<RangeTblEntry>,
    index: i32,
    columns: &[Column],
    conditions: Vec<Ref<Node>>,
) -> Ref<Query> {
    let mut query = tree::make::<Query>();
    query.commandType = pg_sys::CmdType::CMD_SELECT;
    query.canSetTag = true;
    query.hasRowSecurity = from.hasRowSecurity;
    access::copy_table(from, entry, query);
    let targets = columns.iter().zip(1..).map(|(column, number)| {
        let value = match column.is_used {
            true => tree::var(1, number, column.kind, column.modifier, column.collation),
            false => tree::null(column.kind, column.modifier, column.collation),
        };
        tree::target(value, number, &column.name)
    });
    query.targetList = tree::list_of(targets);
    let mut reference = tree::make::<RangeTblRef>();
    reference.rtindex = 1;
    let mut jointree = tree::make::<FromExpr>();
    jointree.fromlist = tree::list_of([reference]);
    let quals = all_of(conditions);
    for_each_var(quals, index);
    jointree.quals = quals;
    query.jointree = jointree.pointer();
    query
}

/// The columns of conditions are those of the first table of their query now.
fn for_each_var(conditions: *mut Node, index: i32) {
    if let Some(conditions) = Ref::of(conditions) {
        each_column(conditions, &mut |mut column| {
            if column.varno == index {
                column.varno = 1;
            }
        });
    }
}

/// Makes an entry one that is for a WITH that many queries above. It keeps the number of the table, which no entry of
/// a WITH has that somebody else wrote.
fn replace(mut entry: Ref<RangeTblEntry>, name: &str, depth: u32, with: Ref<CommonTableExpr>) {
    access::forget(entry);
    entry.rtekind = RTEKind::RTE_CTE;
    entry.ctename = tree::string(name);
    entry.ctelevelsup = depth;
    entry.coltypes = with.ctecoltypes;
    entry.coltypmods = with.ctecoltypmods;
    entry.colcollations = with.ctecolcollations;
    entry.relkind = 0;
    entry.rellockmode = 0;
    entry.inh = false;
}

/// Whether an entry represents a joined table that is read first.
fn is_input(entry: Ref<RangeTblEntry>) -> bool {
    entry.rtekind == RTEKind::RTE_CTE && entry.relid != Oid::INVALID
}

/// Reads a joined table, where this node scans one.
pub fn fill(execution: Ref<EState>, scan: Ref<CteScanState>) {
    let plan = Ref::of(scan.ss.ps.plan).and_then(|plan| plan.cast::<CteScan>());
    let entries = tree::list::<RangeTblEntry>(execution.es_range_table);
    let entry = plan.and_then(|plan| {
        let index = usize::try_from(plan.scan.scanrelid).ok()?.checked_sub(1)?;
        entries.get(index).copied()
    });
    if entry.is_some_and(is_input) {
        cte::fill(scan);
    }
}

/// Puts what the planner knows of a column of a joined table in its hands. Whether the entry represents one.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub fn statistics(
    entry: Ref<RangeTblEntry>,
    column: i16,
    mut found: Ref<pg_sys::VariableStatData>,
) -> bool {
    if !is_input(entry) {
        return false;
    }
    // SAFETY: a lookup in the catalog; the planner gives back what it found.
    found.statsTuple = unsafe {
        pg_sys::SearchSysCache3(
            pg_sys::SysCacheIdentifier::STATRELATTINH as i32,
            entry.relid.into(),
            column.into(),
            false.into(),
        )
    };
    found.freefunc = Some(ReleaseSysCache);
    true
}

// As the planner calls it.
#[cfg(any(feature = "pg15", feature = "pg16"))]
unsafe extern "C-unwind" {
    fn ReleaseSysCache(found: pg_sys::HeapTuple);
}
