//! What was released already, in a query: a WITH that the gate made. It may be joined with private rows, as anything
//! that is public.

use pgrx::pg_sys::{self, CommonTableExpr, Query, RangeTblEntry, TargetEntry};

use crate::gate::expression::Checker;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::tree::{self, Ref};

/// The mark of a WITH that is ours: a place in the query's text that no query has.
pub const OURS: i32 = -12_345;

/// Whether a WITH is one that the gate made.
fn is_ours(with: Ref<CommonTableExpr>) -> bool {
    with.location == OURS
}

/// Checks a sub-query that is joined inside of a block: what was released may be, with harmless expressions around it.
/// They run beside private rows, so they must be total too.
pub fn check_released(mut query: Ref<Query>, checker: &Checker) -> Checked<()> {
    let withs = tree::list::<CommonTableExpr>(query.cteList);
    let entries = tree::list::<RangeTblEntry>(query.rtable);
    let is_released = query.commandType == pg_sys::CmdType::CMD_SELECT
        && query.setOperations.is_null()
        && !query.hasSubLinks
        && !query.hasTargetSRFs
        && !query.hasAggs
        && query.groupClause.is_null()
        && !query.hasWindowFuncs
        && query.rowMarks.is_null()
        && entries.len() == 1
        && withs.len() == 1
        && is_ours(withs[0]);
    if !is_released {
        return Err(Reason::with_hint(
            "a joined sub-query is neither a plain table nor a private answer",
            "Join plain tables that you may read, or join the result of the query.",
        ));
    }
    let checker = Checker {
        query: None,
        root: checker.root,
    };
    for mut target in tree::list::<TargetEntry>(query.targetList) {
        let expr = Ref::of(target.expr)
            .expect("a target has an expression")
            .node();
        target.expr = checker.safe(expr)?.pointer().cast();
    }
    let mut from = Ref::of(query.jointree).expect("a query has FROM");
    let condition = checker.safe_if(from.quals)?;
    from.quals = condition.map_or(std::ptr::null_mut(), Ref::pointer);
    let count = checker.safe_if(query.limitCount)?;
    query.limitCount = count.map_or(std::ptr::null_mut(), Ref::pointer);
    let offset = checker.safe_if(query.limitOffset)?;
    query.limitOffset = offset.map_or(std::ptr::null_mut(), Ref::pointer);
    Ok(())
}
