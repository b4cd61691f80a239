//! How many columns the rows within a plan may have. A row with more than PostgreSQL forms is an error that is raised
//! when the first one is there. So a query with more is refused before any row is read.

use std::collections::BTreeSet;

use pgrx::pg_sys::{Aggref, Query, SubLink, Var, WindowFunc};

use crate::gate::rejection::{Checked, Reason};
use crate::pg::stack;
use crate::pg::tree::{self, Ref, Step};
use crate::safe_functions::work::LONGEST;

/// The most columns: PostgreSQL forms rows of 1664. With texts as long as expressions make them (256 kB), they are less
/// than the gigabyte that a row may have.
const MOST: usize = 1600;

/// Refuses a private query in whose plan a row may have too many columns.
pub fn check(query: Ref<Query>) -> Checked<()> {
    let mut most = 0;
    let width = of(query, &mut most);
    match most.max(width) > MOST {
        false => Ok(()),
        true => Err(Reason::with_hint(
            format!("the query uses more than {MOST} columns at once"),
            "Use fewer columns and tables in one query; name those of a sub-query that are needed, instead of *.",
        )),
    }
}

/// Whether a row of a private query has room for values of this length in all of its columns.
pub fn has_room(query: Ref<Query>, longest: u64) -> bool {
    let mut most = 0;
    let width = of(query, &mut most).max(most) as u64;
    width.saturating_mul(longest) <= MOST as u64 * LONGEST
}

/// How many columns the rows of a query's plan have at most, whether sub-queries are planned for themselves or with it:
/// the columns that it uses, what it computes, and those of its sub-queries. The largest of a WITH goes to `most`, as it
/// is kept by itself.
fn of(query: Ref<Query>, most: &mut usize) -> usize {
    stack::check();
    let entries = || {
        query
            .rtable()
            .into_iter()
            .filter_map(|entry| entry.subquery())
    };
    for with in query.cteList() {
        if let Some(body) = with.ctequery().and_then(|body| body.cast::<Query>()) {
            *most = of(body, most).max(*most);
        }
    }
    let targets = query.targetList();
    let computed = targets.into_iter().filter(|target| {
        let column = target.expr().and_then(|expr| expr.cast::<Var>());
        column.is_none()
    });
    let mut width = computed.count();
    let mut columns = BTreeSet::new();
    let parts = [
        targets.node(),
        query.jointree().map(Ref::node),
        query.havingQual(),
    ];
    let parts = parts.into_iter().flatten().chain(entries().map(Ref::node));
    for part in parts {
        tree::search(part, &mut |node, level| {
            if let Some(column) = node.cast::<Var>() {
                let is_own = column.varlevelsup() == level;
                columns.extend(is_own.then(|| (column.varno(), column.varattno())));
            }
            let is_call = node.cast::<Aggref>().is_some() || node.cast::<WindowFunc>().is_some();
            width += usize::from(level == 0 && is_call);
            if level == 0
                && let Some(link) = node.cast::<SubLink>()
                && let Some(below) = link.subselect().and_then(|below| below.cast::<Query>())
            {
                width += of(below, most);
            }
            Step::Below
        });
    }
    let below = entries().map(|entry| of(entry, most));
    let below = match query.setOperations() {
        // One after the other.
        Some(_) => below.max().unwrap_or(0),
        None => below.sum(),
    };
    width + columns.len() + below
}
