//! Brings a query into the shape that blocks are looked for in: what views, BI tools and WITH put around a table is
//! taken away where it changes nothing.

use pgrx::pg_sys::{self, CommonTableExpr, List, Query, RTEKind, RangeTblEntry};

use crate::gate::access;
use crate::gate::policy::Policy;
use crate::pg::tree::{self, Ref};

/// What inlining a function makes a plan depend on.
#[derive(Default)]
pub struct Depends {
    pub items: Vec<*mut List>,
    pub on_role: bool,
}

/// Whether a query only passes rows of a protected table on that the role may not read.
fn passes_on(query: Ref<Query>) -> bool {
    query.commandType == pg_sys::CmdType::CMD_SELECT
        && !query.hasAggs
        && query.groupClause.is_null()
        && query.setOperations.is_null()
        && reads(query)
}

/// Whether the FROM of a query has rows of a protected table that the role may not read.
fn reads(query: Ref<Query>) -> bool {
    tree::list::<RangeTblEntry>(query.rtable)
        .into_iter()
        .any(|entry| match entry.rtekind {
            RTEKind::RTE_SUBQUERY => Ref::of(entry.subquery).is_some_and(passes_on),
            RTEKind::RTE_RELATION => {
                access::is_denied(query, entry) && Policy::of(entry.relid).is_some()
            }
            _ => false,
        })
}

/// Whether a query, or one below it, reads a protected table that the role may not read.
pub fn is_concerned(query: Ref<Query>) -> bool {
    let here = tree::list::<RangeTblEntry>(query.rtable)
        .into_iter()
        .any(|entry| access::is_denied(query, entry) && Policy::of(entry.relid).is_some());
    here || tree::walk(query.node(), &mut visit_concerned)
}

fn visit_concerned(node: Ref<pg_sys::Node>) -> bool {
    match node.cast::<Query>() {
        Some(query) => is_concerned(query),
        None => tree::walk(node, &mut visit_concerned),
    }
}

/// Puts the body of an SQL function in FROM in its place, if it reads a protected table.
pub fn inline_functions(query: Ref<Query>, depends: &mut Depends) {
    for mut entry in tree::list::<RangeTblEntry>(query.rtable) {
        let functions = tree::list::<pg_sys::RangeTblFunction>(entry.functions);
        if entry.rtekind != RTEKind::RTE_FUNCTION || entry.funcordinality || functions.len() != 1 {
            continue;
        }
        let root = tree::planning(query, std::ptr::null_mut());
        // SAFETY: an entry of this query, and a record for it; NULL where the function stays.
        let body =
            unsafe { pg_sys::inline_set_returning_function(root.pointer(), entry.pointer()) };
        let Some(body) = Ref::of(body).filter(|body| is_concerned(*body)) else {
            continue;
        };
        entry.rtekind = RTEKind::RTE_SUBQUERY;
        entry.subquery = body.pointer();
        entry.security_barrier = false;
        entry.functions = std::ptr::null_mut();
        let global = Ref::of(root.glob).expect("planning() makes it");
        depends.items.push(global.invalItems);
        depends.on_role |= global.dependsOnRole;
    }
}

/// Puts a WITH where it is used: everywhere, if it only passes rows of a protected table on; else where rows of one are
/// joined with what comes out of it, if it is used nowhere else.
pub fn unwrap_withs(mut query: Ref<Query>) {
    for mut with in tree::list::<CommonTableExpr>(query.cteList) {
        let body = Ref::of(with.ctequery).and_then(|body| body.cast::<Query>());
        let Some(body) = body.filter(|_| !with.cterecursive) else {
            continue;
        };
        let uses = if passes_on(body) {
            put_everywhere(query, with, body, 0)
        } else if with.cterefcount == 1 && reads(query) && is_concerned(body) {
            put(query, with, body, 0)
        } else {
            continue;
        };
        with.cterefcount -= uses;
        if with.cterefcount == 0 {
            let others = tree::list::<CommonTableExpr>(query.cteList);
            query.cteList = tree::list_of(others.into_iter().filter(|other| *other != with));
        }
    }
}

/// Puts the body of a WITH where a query names it in FROM, so many levels below it. How many uses it found.
fn put(query: Ref<Query>, with: Ref<CommonTableExpr>, body: Ref<Query>, depth: u32) -> i32 {
    let mut uses = 0;
    for mut entry in tree::list::<RangeTblEntry>(query.rtable) {
        if entry.rtekind != RTEKind::RTE_CTE
            || entry.ctelevelsup != depth
            || entry.self_reference
            || tree::text_of(entry.ctename) != tree::text_of(with.ctename)
        {
            continue;
        }
        let body = body.copy();
        let depth = i32::try_from(depth).expect("few levels");
        // What it names of outer queries is further away there. SAFETY: a query that nobody else has.
        unsafe { pg_sys::IncrementVarSublevelsUp(body.node().pointer(), depth, 1) };
        entry.rtekind = RTEKind::RTE_SUBQUERY;
        entry.subquery = body.pointer();
        entry.security_barrier = false;
        entry.ctename = std::ptr::null_mut();
        entry.ctelevelsup = 0;
        entry.coltypes = std::ptr::null_mut();
        entry.coltypmods = std::ptr::null_mut();
        entry.colcollations = std::ptr::null_mut();
        uses += 1;
    }
    uses
}

/// The same in all queries below it too.
fn put_everywhere(
    query: Ref<Query>,
    with: Ref<CommonTableExpr>,
    body: Ref<Query>,
    depth: u32,
) -> i32 {
    let mut uses = put(query, with, body, depth);
    let mut below = |query| uses += put_everywhere(query, with, body, depth + 1);
    tree::walk(query.node(), &mut |node| each_query(node, &mut below));
    uses
}

/// Calls `visit` for each query at or right below a node.
fn each_query(node: Ref<pg_sys::Node>, visit: &mut dyn FnMut(Ref<Query>)) -> bool {
    match node.cast::<Query>() {
        Some(query) => {
            visit(query);
            false
        }
        None => tree::walk(node, &mut |node| each_query(node, visit)),
    }
}

/// Puts what only passes rows of a protected table on to the aggregates of this query into the query itself. Whether
/// the query can still be looked at: a UNION ALL beside it would be pulled up too, and leaves no query.
pub fn flatten(mut query: Ref<Query>) -> bool {
    let is_block = query.hasAggs || !query.groupClause.is_null() || !query.distinctClause.is_null();
    let any = tree::list::<RangeTblEntry>(query.rtable)
        .into_iter()
        .any(|entry| entry.rtekind == RTEKind::RTE_SUBQUERY);
    if query.commandType != pg_sys::CmdType::CMD_SELECT || !is_block || !any || !reads(query) {
        return true;
    }
    // PostgreSQL 18 keeps the keys of GROUP BY apart, which pulling up would not follow.
    tree::flatten_groups(query);
    let root = tree::planning(query, std::ptr::null_mut());
    tree::pull_up_subqueries(root);
    query.jointree = Ref::of(root.parse).expect("its query").jointree;
    root.append_rel_list.is_null() && root.rowMarks.is_null()
}
