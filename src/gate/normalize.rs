//! Brings a query into the shape that blocks are looked for in: what views, BI tools and WITH put around a table is
//! taken away where it changes nothing.

use pgrx::pg_sys::{self, CommonTableExpr, Node, Query, RTEKind, RangeTblEntry};

use crate::gate::defence::Defence;
use crate::gate::errors::{self, Refusal};
use crate::gate::{access, beyond, private_relation, released};

use crate::pg::planning;
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref, Step};

/// The most nodes that the gate adds to one query by copies, some 100 bytes each.
const MOST_COPIED: usize = 300_000;

/// The least nodes that the body of a function counts for: reading it takes longer than copying it.
const LEAST_INLINED: usize = 300;

/// How many more nodes may be copied into a query.
pub struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MOST_COPIED)
    }
}

impl Room {
    /// Takes room for a number of nodes, a number of times. What names itself twice, and is named twice, grows without
    /// end.
    pub fn take(&mut self, nodes: usize, times: usize) -> Option<()> {
        let left = self.0.checked_sub(nodes.saturating_mul(times));
        match left {
            Some(left) => self.0 = left,
            None if Defence::Copies.stands() => return None,
            None => self.0 = 0,
        }
        Some(())
    }
}

/// What a plan depends on that its query does not name: functions that were inlined, and tables that list groups.
#[derive(Default)]
pub struct Depends<'t> {
    pub items: Vec<List<'t, pg_sys::PlanInvalItem>>,
    pub relations: Vec<pg_sys::Oid>,
    pub on_role: bool,
}

/// Whether a query only passes rows of a protected table on that the role may not read.
fn passes_on(query: Ref<Query>) -> bool {
    stack::check();
    query.commandType() == pg_sys::CmdType::CMD_SELECT
        && !query.hasAggs()
        && query.groupClause().is_empty()
        && query.setOperations().is_none()
        && reads(query)
}

/// Whether the FROM of a query has rows of a protected table that the role may not read.
fn reads(query: Ref<Query>) -> bool {
    query
        .rtable()
        .into_iter()
        .any(|entry| match entry.rtekind() {
            RTEKind::RTE_SUBQUERY => entry.subquery().is_some_and(passes_on),
            RTEKind::RTE_RELATION => access::denied_policy(query, entry).is_some(),
            _ => false,
        })
}

/// Puts the bodies of SQL functions in FROM in their places, in a query and all below it, as far as they read protected
/// tables: all before the first query is pulled up, where PostgreSQL would do it without a limit.
pub fn inline_functions<'t>(
    query: Ref<'t, Query>,
    depends: &mut Depends<'t>,
    room: &mut Room,
) -> Result<(), Refusal> {
    stack::check();
    inline_in(query, depends, room)?;
    let mut below = tree::queries_below(query).into_iter();
    below.try_for_each(|below| inline_functions(below, depends, room))
}

fn inline_in<'t>(
    query: Ref<'t, Query>,
    depends: &mut Depends<'t>,
    room: &mut Room,
) -> Result<(), Refusal> {
    for entry in query.rtable() {
        let functions = entry.functions().nodes();
        if entry.rtekind() != RTEKind::RTE_FUNCTION
            || entry.funcordinality()
            || functions.len() != 1
        {
            continue;
        }
        let root = planning::planning(query, None);
        let body = match beyond::body(root, functions[0].funcexpr())? {
            Some(body) => {
                depends.items.push(body.depends);
                Some(body.query)
            }
            // SAFETY: an entry of this query, and a record for it; NULL where the function stays.
            None => unsafe {
                let (root, entry) = (root.pointer(), entry.pointer());
                Ref::of(pg_sys::inline_set_returning_function(root, entry))
            },
        };
        let Some(body) = body.filter(|body| access::is_concerned(*body)) else {
            continue;
        };
        let size = tree::size(body.node()).max(LEAST_INLINED);
        room.take(size, 1).ok_or_else(|| {
            errors::too_large(
                "an SQL function is recursive, or called too often",
                "Call each function once, and let none call itself.",
            )
        })?;
        entry.set_rtekind(RTEKind::RTE_SUBQUERY);
        entry.set_subquery(Some(body));
        entry.set_security_barrier(false);
        entry.set_functions(List::EMPTY);
        let global = root.glob().expect("planning() makes it");
        depends.items.push(global.invalItems());
        depends.on_role |= global.dependsOnRole();
    }
    Ok(())
}

/// Puts a WITH where it is used: everywhere, if it is a private relation; else where rows of one are joined with the
/// result of it, if it is used nowhere else. What is public goes where private rows are read, which become a query of
/// their own.
pub fn unwrap_withs(query: Ref<Query>, room: &mut Room) -> Result<(), Refusal> {
    if query.cteList().is_empty() || !access::is_concerned(query) {
        return Ok(());
    }
    for with in query.cteList() {
        let Some(body) = body_of(with).filter(|body| access::is_concerned(*body)) else {
            continue;
        };
        if passes_on(body) || private_relation::is_relation(body) {
            unwrap(query, with, body, uses_everywhere(query, with), room)?;
        } else if with.cterefcount() == 1 && private_relation::has_private(query) {
            unwrap(query, with, body, uses(query, with, 0), room)?;
        }
    }
    // The last one first: what it names is in its place then.
    for with in query.cteList().into_iter().rev() {
        let body = body_of(with).filter(|body| !access::is_concerned(*body));
        let body = body.filter(|body| released::check_read_first(*body, u32::MAX).is_ok());
        if let Some(body) = body {
            unwrap(query, with, body, uses_beside_private(query, with), room)?;
        }
    }
    Ok(())
}

/// The query of a WITH that does not name itself.
fn body_of<'t>(with: Ref<'t, CommonTableExpr>) -> Option<Ref<'t, Query>> {
    let body = with.ctequery().filter(|_| !with.cterecursive());
    body.and_then(|body| body.cast::<Query>())
}

/// Puts the body of a WITH where it is used.
fn unwrap<'t>(
    query: Ref<'t, Query>,
    with: Ref<'t, CommonTableExpr>,
    body: Ref<'t, Query>,
    uses: Vec<Use<'t>>,
    room: &mut Room,
) -> Result<(), Refusal> {
    let count = i32::try_from(uses.len()).expect("few uses");
    // The last use has the body itself, if there is no other.
    let copies = uses.len() - usize::from(count > 0 && count == with.cterefcount());
    if copies > 0 {
        room.take(tree::size(body.node()), copies).ok_or_else(|| {
            errors::too_large(
                &format!("WITH \"{}\" is referenced too often", with.ctename()),
                "Reference a WITH query over a protected table in few places only.",
            )
        })?;
    }
    with.set_cterefcount(with.cterefcount() - count);
    for (i, (entry, depth)) in uses.into_iter().enumerate() {
        put(entry, if i < copies { body.copy() } else { body }, depth);
    }
    if with.cterefcount() == 0 {
        let others = query.cteList();
        query.set_cteList(tree::list_of(
            others.into_iter().filter(|other| *other != with),
        ));
    }
    Ok(())
}

/// A place in FROM that names a WITH, that many levels below it.
type Use<'t> = (Ref<'t, RangeTblEntry>, u32);

/// Where a query names a WITH in FROM, that many levels below it.
fn uses<'t>(query: Ref<'t, Query>, with: Ref<'t, CommonTableExpr>, depth: u32) -> Vec<Use<'t>> {
    let entries = query.rtable().into_iter();
    let uses = entries.filter(|entry| {
        entry.rtekind() == RTEKind::RTE_CTE
            && entry.ctelevelsup() == depth
            && !entry.self_reference()
            && entry.ctename() == with.ctename()
    });
    uses.map(|entry| (entry, depth)).collect()
}

/// As above, for all queries below it too.
fn uses_everywhere<'t>(query: Ref<'t, Query>, with: Ref<'t, CommonTableExpr>) -> Vec<Use<'t>> {
    let mut found = Vec::new();
    tree::search(query.node(), &mut |node, depth| {
        if let Some(query) = node.cast::<Query>() {
            found.extend(uses(query, with, depth));
        }
        Step::Below
    });
    found
}

/// As above, for queries with private rows, and all below them.
fn uses_beside_private<'t>(query: Ref<'t, Query>, with: Ref<'t, CommonTableExpr>) -> Vec<Use<'t>> {
    let mut found = Vec::new();
    // Of each query around the current one, whether private rows are in its FROM.
    let mut around: Vec<bool> = Vec::new();
    tree::search(query.node(), &mut |node, depth| {
        if let Some(query) = node.cast::<Query>() {
            around.truncate(usize::try_from(depth).expect("few levels"));
            let is_beside = around.contains(&true) || private_relation::has_private(query);
            around.push(is_beside);
            if is_beside {
                found.extend(uses(query, with, depth));
            }
        }
        Step::Below
    });
    found
}

/// Puts the body of a WITH where it is named.
fn put<'t>(entry: Ref<'t, RangeTblEntry>, body: Ref<'t, Query>, depth: u32) {
    let depth = i32::try_from(depth).expect("few levels");
    // What it names of outer queries is further away there. SAFETY: a query that nobody else has.
    unsafe { pg_sys::IncrementVarSublevelsUp(body.node().pointer(), depth, 1) };
    entry.set_rtekind(RTEKind::RTE_SUBQUERY);
    entry.set_subquery(Some(body));
    entry.set_security_barrier(false);
    entry.set_ctename(None);
    entry.set_ctelevelsup(0);
    entry.set_coltypes(List::EMPTY);
    entry.set_coltypmods(List::EMPTY);
    entry.set_colcollations(List::EMPTY);
}

/// Has a UNION ALL of public rows stay a sub-query, which is read before the private rows: OFFSET 0 keeps PostgreSQL from
/// pulling it up.
fn keep_public_unions(query: Ref<Query>) {
    for below in query
        .rtable()
        .into_iter()
        .filter_map(|entry| entry.subquery())
    {
        if below.setOperations().is_some()
            && below.limitOffset().is_none()
            && !access::is_concerned(below)
        {
            let none = tree::number(query.memory(), pg_sys::INT8OID, 8, pg_sys::Datum::from(0));
            below.set_limitOffset(Some(none));
        }
    }
}

/// Items of FROM without those of one row and no column, which pulling up leaves of `(SELECT date '2025-01-01' AS day)`.
fn without_single_rows<'t>(query: Ref<'t, Query>, items: List<'t, Node>) -> List<'t, Node> {
    let left = items
        .into_iter()
        .filter_map(|item| without_single_row(query, item));
    tree::list_of(left)
}

/// An item, without such inner ones; `None` if nothing is left of it.
fn without_single_row<'t>(query: Ref<'t, Query>, item: Ref<'t, Node>) -> Option<Ref<'t, Node>> {
    stack::check();
    if let Some(reference) = item.cast::<pg_sys::RangeTblRef>() {
        let entry = tree::entry(query, reference.rtindex());
        return (entry.rtekind() != RTEKind::RTE_RESULT).then_some(item);
    }
    if let Some(from) = item.cast::<pg_sys::FromExpr>() {
        from.set_fromlist(without_single_rows(query, from.fromlist()));
        let is_empty = from.fromlist().is_empty() && from.quals().is_none();
        return (!is_empty).then_some(item);
    }
    let join = item.cast::<pg_sys::JoinExpr>();
    let join = join.filter(|join| join.jointype() == pg_sys::JoinType::JOIN_INNER);
    let Some(join) = join else {
        return Some(item);
    };
    let sides = [join.larg(), join.rarg()].into_iter().flatten();
    let sides = sides.filter_map(|side| without_single_row(query, side));
    let sides = Vec::from_iter(sides);
    match (sides.as_slice(), join.quals()) {
        ([left, right], _) => {
            join.set_larg(Some(*left));
            join.set_rarg(Some(*right));
            Some(item)
        }
        ([], None) => None,
        ([one], None) => Some(*one),
        (_, quals) => {
            let from = query.memory().make::<pg_sys::FromExpr>();
            from.set_fromlist(tree::list_of(sides));
            from.set_quals(quals);
            Some(from.node())
        }
    }
}

/// Whether a query takes rows together.
pub fn is_block(query: Ref<Query>) -> bool {
    query.hasAggs()
        || !query.groupClause().is_empty()
        || !query.groupingSets().is_empty()
        || !query.distinctClause().is_empty()
}

/// Puts what only passes rows of a protected table on to the aggregates of this query into the query itself. Whether
/// the query can still be looked at: a UNION ALL beside it would be pulled up too, and leaves no query.
pub fn flatten(query: Ref<Query>) -> bool {
    let any = query
        .rtable()
        .into_iter()
        .any(|entry| entry.rtekind() == RTEKind::RTE_SUBQUERY);
    if query.commandType() != pg_sys::CmdType::CMD_SELECT
        || !is_block(query)
        || !any
        || !reads(query)
    {
        return true;
    }
    // PostgreSQL 18 keeps the keys of GROUP BY apart, which pulling up would not follow.
    tree::flatten_groups(query);
    keep_public_unions(query);
    let root = planning::planning(query, None);
    // The planner would put something around what is grouped by GROUPING SETS.
    let sets = query.groupingSets();
    query.set_groupingSets(List::EMPTY);
    planning::pull_up_subqueries(root, &passes_on);
    query.set_groupingSets(sets);
    query.set_jointree(root.parse().expect("its query").jointree());
    if let Some(from) = query.jointree() {
        from.set_fromlist(without_single_rows(query, from.fromlist()));
    }
    root.append_rel_list().is_empty() && root.rowMarks().is_empty()
}
