//! Tables and answers that are joined with private rows. A join would look into a table for some private rows and not
//! for others, and that leaves traces: pages are pruned, rows and indexes marked, reads counted; and it would ask for an
//! answer, which is charged, or not. So each is read whole before the first private row, as a WITH, and the block reads
//! what was kept of it.

use std::collections::{BTreeMap, BTreeSet};

use pgrx::pg_sys::{
    self, CTEMaterialize, CommonTableExpr, CteScan, CteScanState, EState, FromExpr, JoinExpr,
    JoinType, Node, Oid, Query, RTEKind, RangeTblEntry, RangeTblRef, SubLink, TargetEntry, Var,
};

use crate::gate::access;
use crate::gate::defence::Defence;
use crate::pg::tree::{self, Memory, Ref, Step};
use crate::pg::{cte, stack};
use crate::safe_functions::work::LONGEST;

/// The conditions on each joined table alone, by the number of the table.
pub type Conditions<'t> = BTreeMap<i32, Vec<Ref<'t, Node>>>;

/// A column, as the WITH has it.
pub struct Column {
    pub name: String,
    pub kind: Oid,
    pub modifier: i32,
    pub collation: Oid,
    is_used: bool,
}

impl Column {
    /// It, as a column of a SELECT from the first entry; NULL if it is not used.
    pub fn target<'t>(&self, memory: Memory<'t>, number: i16) -> Ref<'t, TargetEntry> {
        let value = match self.is_used {
            true => tree::var(memory, 1, number, self.kind, self.modifier, self.collation),
            false => tree::null(memory, self.kind, self.modifier, self.collation),
        };
        tree::target(value, number, &self.name)
    }
}

/// Takes the conditions on one joined table alone out of FROM and WHERE: they hold for what is read of it.
pub fn take_conditions<'t>(query: Ref<'t, Query>, tables: &[i32]) -> Conditions<'t> {
    let mut taken: Conditions = tables.iter().map(|i| (*i, Vec::new())).collect();
    if Defence::Inputs.stands()
        && let Some(from) = query.jointree()
    {
        sift(from.node(), Vec::new(), &mut taken);
    }
    taken
}

/// Passes conditions, and those of FROM and its joins, down to where the only table is that they are about. What comes
/// back is left over.
pub fn sift<'t>(
    node: Ref<'t, Node>,
    above: Vec<Ref<'t, Node>>,
    taken: &mut Conditions<'t>,
) -> Vec<Ref<'t, Node>> {
    stack::check();
    if let Some(table) = node.cast::<RangeTblRef>() {
        let Some(own) = taken.get_mut(&table.rtindex()) else {
            return above;
        };
        let (found, left) = above
            .into_iter()
            .partition(|condition| is_about(*condition, table.rtindex()));
        own.extend::<Vec<_>>(found);
        return left;
    }
    if let Some(join) = node.cast::<JoinExpr>() {
        let own = tree::conjuncts(join.quals());
        let [Some(left), Some(right)] = [join.larg(), join.rarg()] else {
            return above;
        };
        // Rows of the other side stay whatever a condition in ON says, and rows of this one whatever one above says
        // of what may be missing.
        let (own, above) = match join.jointype() {
            JoinType::JOIN_INNER => sift_both(own, above, &[left, right], taken),
            JoinType::JOIN_LEFT => (sift(right, own, taken), sift(left, above, taken)),
            JoinType::JOIN_RIGHT => (sift(left, own, taken), sift(right, above, taken)),
            _ => (own, above),
        };
        join.set_quals(all_of(own));
        return above;
    }
    let Some(from) = node.cast::<FromExpr>() else {
        return above;
    };
    let parts = from.fromlist().nodes();
    let (own, above) = sift_both(tree::conjuncts(from.quals()), above, &parts, taken);
    from.set_quals(all_of(own));
    above
}

/// Passes two lists of conditions down to the same parts, at once: each part is visited once.
fn sift_both<'t>(
    own: Vec<Ref<'t, Node>>,
    above: Vec<Ref<'t, Node>>,
    parts: &[Ref<'t, Node>],
    taken: &mut Conditions<'t>,
) -> (Vec<Ref<'t, Node>>, Vec<Ref<'t, Node>>) {
    let all = [above, own.clone()].concat();
    let left = parts
        .iter()
        .fold(all, |left, part| sift(*part, left, taken));
    left.into_iter().partition(|one| own.contains(one))
}

pub fn all_of(conditions: Vec<Ref<Node>>) -> Option<Ref<Node>> {
    let conditions = conditions.into_iter().map(Some);
    conditions.fold(None, tree::both)
}

/// Whether a condition is about the columns of one table alone, and of no query around it.
fn is_about(condition: Ref<Node>, index: i32) -> bool {
    if tree::has_sublinks(condition) {
        return false;
    }
    let (mut names_it, mut names_other) = (false, false);
    tree::search(condition, &mut |node, _| {
        if let Some(column) = node.cast::<Var>() {
            let is_it = column.varno() == index && column.varlevelsup() == 0;
            names_it |= is_it;
            names_other |= !is_it;
        }
        Step::Below
    });
    names_it && !names_other
}

/// Calls `visit` for each column of a query itself in an expression of it, also from within the sub-queries there.
fn each_column<'t>(node: Ref<'t, Node>, visit: &mut dyn FnMut(Ref<'t, Var>)) {
    tree::search(node, &mut |node, level| {
        if let Some(column) = node
            .cast::<Var>()
            .filter(|column| column.varlevelsup() == level)
        {
            visit(column);
        }
        Step::Below
    });
}

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
        deepen(*query, *depth);
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
        let columns = columns(entry, &used_by_rows.chain(used_by_lists).collect());
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

/// `SELECT` of a sub-query's columns under conditions on them.
fn filtered<'t>(
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
    let mut conditions: Conditions = tables.iter().map(|i| (*i, Vec::new())).collect();
    if let Some(from) = query.jointree() {
        sift(from.node(), Vec::new(), &mut conditions);
    }
    for (index, conditions) in conditions {
        let entry = tree::entry(query, index);
        let columns = columns(entry, &used(query, index));
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
pub fn deepen(query: Ref<Query>, depth: u32) {
    tree::search(query.node(), &mut |node, _| {
        if let Some(query) = node.cast::<Query>() {
            for entry in query.rtable() {
                if relation_of(entry).is_some() {
                    entry.set_ctelevelsup(entry.ctelevelsup() + depth);
                }
            }
        }
        Step::Below
    });
}

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

/// The columns of an entry that a query uses, also by the names that its joins have for them.
pub fn used_flat<'t>(query: Ref<'t, Query>, index: i32) -> BTreeMap<i16, Ref<'t, Var>> {
    let mut found = BTreeMap::new();
    let parts = [
        query.targetList().node(),
        query.jointree().map(Ref::node),
        query.havingQual(),
    ];
    for part in parts.into_iter().flatten() {
        each_column(tree::flatten_joins(query, part), &mut |column| {
            if column.varno() == index {
                found.insert(column.varattno(), column);
            }
        });
    }
    found
}

/// Leaves out of a sub-query what the query around it does not use.
pub fn forget_unused<'t>(query: Ref<'t, Query>, used: &BTreeMap<i16, Ref<'t, Var>>) {
    // A whole row is all of them.
    if query.setOperations().is_some() || used.keys().any(|column| *column <= 0) {
        return;
    }
    for target in query.targetList() {
        let is_free = target.ressortgroupref() == 0 && !target.resjunk();
        if let Some(value) = target
            .expr()
            .filter(|_| is_free && !used.contains_key(&target.resno()))
        {
            let (kind, modifier) = (tree::type_of(value), tree::modifier_of(value));
            let null = tree::null(query.memory(), kind, modifier, tree::collation_of(value));
            target.set_expr(Some(null));
        }
    }
}

/// Gives a sub-query in FROM a name for each of its columns, where some were added.
pub fn add_column_names<'t>(entry: Ref<'t, RangeTblEntry>, query: Ref<'t, Query>) {
    let Some(names) = entry.eref() else {
        return;
    };
    let known = names.colnames().nodes().len();
    let shown = shown(query);
    if shown.len() > known {
        let added = shown.iter().skip(known).map(|column| column.name.as_str());
        let added = query.memory().strings(added);
        names.set_colnames(names.colnames().concat(added));
    }
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

/// The columns of a sub-query.
pub fn shown(query: Ref<Query>) -> Vec<Column> {
    let targets = query.targetList().into_iter();
    let shown = targets.filter(|target| !target.resjunk()).map(|target| {
        let value = target.expr().expect("a target has an expression");
        Column {
            name: target.resname(),
            kind: tree::type_of(value),
            modifier: tree::modifier_of(value),
            collation: tree::collation_of(value),
            is_used: true,
        }
    });
    shown.collect()
}

/// `SELECT` of all columns of a WITH that is that many queries above.
fn all_of_with<'t>(
    name: &str,
    depth: u32,
    with: Ref<'t, CommonTableExpr>,
    columns: &[Column],
) -> Ref<'t, Query> {
    let memory = with.memory();
    let entry = scan_of(name, depth, with, columns);
    let query = memory.make::<Query>();
    query.set_commandType(pg_sys::CmdType::CMD_SELECT);
    query.set_canSetTag(true);
    query.set_rtable(tree::list_of([entry]));
    let targets = columns.iter().zip(1..);
    let targets = targets.map(|(column, number)| column.target(memory, number));
    query.set_targetList(tree::list_of(targets));
    query.set_jointree(Some(from_first(memory, None)));
    query
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

/// `FROM` the first entry, under a condition.
pub fn from_first<'t>(memory: Memory<'t>, condition: Option<Ref<'t, Node>>) -> Ref<'t, FromExpr> {
    let reference = memory.make::<RangeTblRef>();
    reference.set_rtindex(1);
    let from = memory.make::<FromExpr>();
    from.set_fromlist(tree::list_of([reference.node()]));
    from.set_quals(condition);
    from
}

/// The columns of a table that a query uses.
pub fn used(query: Ref<Query>, index: i32) -> BTreeSet<i16> {
    let mut used = BTreeSet::new();
    // Not the columns of joins, which have a list of all.
    let parts = [
        query.targetList().node(),
        query.jointree().map(Ref::node),
        query.havingQual(),
    ];
    for part in parts.into_iter().flatten() {
        each_column(part, &mut |column| {
            if column.varno() == index {
                used.insert(column.varattno());
            }
        });
    }
    used
}

/// The columns of a table, each in its place.
pub fn columns(entry: Ref<RangeTblEntry>, used: &BTreeSet<i16>) -> Vec<Column> {
    // SAFETY: a table that the query has locked; it is closed where this ends.
    let table = unsafe { pgrx::PgRelation::open(entry.relid()) };
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
fn select<'t>(
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
    query.set_jointree(Some(from_first(memory, all_of(conditions))));
    query
}

/// The columns of a condition are those of the first table of its query now.
fn rename_columns(condition: Ref<Node>, index: i32) {
    each_column(condition, &mut |column| {
        if column.varno() == index {
            column.set_varno(1);
        }
    });
    forget_names(condition);
}

/// Columns are those that they are, whatever was written: a query that is made into a text has no other tables.
pub fn forget_names(node: Ref<Node>) {
    each_column(node, &mut |column| {
        column.set_varnosyn(u32::try_from(column.varno()).expect("a table of a query"));
        column.set_varattnosyn(column.varattno());
    });
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
