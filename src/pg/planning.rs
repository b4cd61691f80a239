//! What of PostgreSQL's planner is done to a query tree before it is planned.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, NodeTag, Query};

use crate::pg::tree::{self, Parameters, Ref, Step, search};

// pgrx does not bind it. Each call passes the FFI boundary by `pg_guard_ffi_boundary`.
unsafe extern "C-unwind" {
    #[link_name = "pull_up_subqueries"]
    fn server_pull_up_subqueries(root: *mut pg_sys::PlannerInfo);
}

/// PostgreSQL's own record of a planning, with nothing in it but the query.
pub fn planning<'t>(
    query: Ref<'t, Query>,
    parameters: Parameters<'t>,
) -> Ref<'t, pg_sys::PlannerInfo> {
    let global = query.memory().make::<pg_sys::PlannerGlobal>();
    global.set_boundParams(parameters);
    let root = query.memory().make::<pg_sys::PlannerInfo>();
    root.set_glob(Some(global));
    root.set_parse(Some(query));
    root.set_query_level(1);
    root.set_wt_param_id(-1);
    root.use_own_memory();
    root
}

/// Puts simple sub-queries in FROM into the query itself, as the planner does; sub-queries in their expressions stay what
/// they are. The planner makes joins of those in conditions, which no query can be written with; nor can it be with what
/// the planner puts around a column that an outer join makes NULL and its expression would not. Sub-queries with such
/// columns stay where they are, if `may_stay` says so.
pub fn pull_up_subqueries<'t>(
    root: Ref<'t, pg_sys::PlannerInfo>,
    may_stay: &dyn Fn(Ref<'t, Query>) -> bool,
) {
    let query = root.parse().expect("its query");
    let all = all_in_from(query);
    for query in all.iter().copied().chain([query]) {
        for below in nullable(query) {
            let mut targets = below.targetList().into_iter();
            let has_others = targets.any(|target| target.expr().is_some_and(tree::is_not_strict));
            if has_others && may_stay(below) {
                // The planner leaves what locks rows where it is.
                below.set_hasForUpdate(true);
            }
        }
    }
    let hidden: Vec<_> = all
        .into_iter()
        .filter(|below| below.hasSubLinks())
        .collect();
    for below in &hidden {
        below.set_hasSubLinks(false);
    }
    // SAFETY: a PlannerInfo of a query that nobody has planned yet.
    unsafe { pg_guard_ffi_boundary(|| server_pull_up_subqueries(root.pointer())) }
    for below in &hidden {
        below.set_hasSubLinks(true);
    }
    // What was pulled up is a copy.
    for query in all_in_from(query).into_iter().chain([query]) {
        if !hidden.is_empty() {
            query.set_hasSubLinks(query.hasSubLinks() || has_own_sublinks(query));
        }
        query.set_hasForUpdate(query.hasForUpdate() && !query.rowMarks().is_empty());
    }
}

/// The sub-queries in FROM that an outer join may have no row of.
fn nullable<'t>(query: Ref<'t, Query>) -> Vec<Ref<'t, Query>> {
    let mut found = Vec::new();
    let mut open: Vec<_> = query
        .jointree()
        .map(|from| (from.node(), false))
        .into_iter()
        .collect();
    while let Some((node, may_be_missing)) = open.pop() {
        if let Some(from) = node.cast::<pg_sys::FromExpr>() {
            open.extend(
                from.fromlist()
                    .into_iter()
                    .map(|part| (part, may_be_missing)),
            );
        } else if let Some(join) = node.cast::<pg_sys::JoinExpr>() {
            use pgrx::pg_sys::JoinType::{JOIN_FULL, JOIN_LEFT, JOIN_RIGHT};
            let kind = join.jointype();
            let left = may_be_missing || [JOIN_FULL, JOIN_RIGHT].contains(&kind);
            let right = may_be_missing || [JOIN_FULL, JOIN_LEFT].contains(&kind);
            open.extend(join.larg().map(|side| (side, left)));
            open.extend(join.rarg().map(|side| (side, right)));
        } else if let Some(reference) = node.cast::<pg_sys::RangeTblRef>() {
            let below = tree::entry(query, reference.rtindex()).subquery();
            found.extend(below.filter(|_| may_be_missing));
        }
    }
    found
}

/// The sub-queries in FROM of a query, and those in theirs.
fn all_in_from<'t>(query: Ref<'t, Query>) -> Vec<Ref<'t, Query>> {
    let below = |query: Ref<'t, Query>| {
        let entries = query.rtable().into_iter();
        entries.filter_map(|entry| entry.subquery())
    };
    let mut found: Vec<_> = below(query).collect();
    let mut next = 0;
    while let Some(query) = found.get(next).copied() {
        found.extend(below(query));
        next += 1;
    }
    found
}

/// Whether an expression of a query itself has a sub-query.
fn has_own_sublinks(query: Ref<Query>) -> bool {
    search(
        query.node(),
        &mut |node, level| match (node.tag() == NodeTag::T_SubLink, level) {
            (true, 1) => Step::Stop,
            (_, 0 | 1) => Step::Below,
            _ => Step::Past,
        },
    )
}
