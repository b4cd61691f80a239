//! What of PostgreSQL's planner is done to a query tree before it is planned.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, NodeTag, Query};

use crate::pg::tree::{Parameters, Ref, Step, search};

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
/// they are. The planner makes joins of those in conditions, which no query can be written with.
pub fn pull_up_subqueries(root: Ref<pg_sys::PlannerInfo>) {
    let query = root.parse().expect("its query");
    let hidden: Vec<_> = all_in_from(query)
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
    if !hidden.is_empty() {
        // What was pulled up is a copy.
        for query in all_in_from(query).into_iter().chain([query]) {
            query.set_hasSubLinks(query.hasSubLinks() || has_own_sublinks(query));
        }
    }
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
