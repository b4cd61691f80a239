//! What was released already, in a query: a WITH that the gate made. It may be joined with private rows, as anything
//! that is public.

use pgrx::pg_sys::{self, CommonTableExpr, Query};

use crate::gate::expression::Checker;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::tree::Ref;

/// The mark of a WITH that is ours: a place in the query's text that no query has.
pub const OURS: i32 = -12_345;

/// Whether a WITH is one that the gate made.
fn is_ours(with: Ref<CommonTableExpr>) -> bool {
    with.location() == OURS
}

/// Checks a sub-query that is joined inside of a block: what was released may be, with harmless expressions around it.
/// They run beside private rows, so they must be total too.
pub fn check_released<'t>(query: Ref<'t, Query>, checker: &Checker<'t>) -> Checked<()> {
    let (withs, entries) = (query.cteList().nodes(), query.rtable().nodes());
    let is_released = query.commandType() == pg_sys::CmdType::CMD_SELECT
        && query.setOperations().is_none()
        && !query.hasSubLinks()
        && !query.hasTargetSRFs()
        && !query.hasAggs()
        && query.groupClause().is_empty()
        && !query.hasWindowFuncs()
        && query.rowMarks().is_empty()
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
    for target in query.targetList() {
        let expr = target.expr().expect("a target has an expression");
        target.set_expr(Some(checker.safe(expr)?));
    }
    let from = query.jointree().expect("a query has FROM");
    from.set_quals(checker.safe_if(from.quals())?);
    query.set_limitCount(checker.safe_if(query.limitCount())?);
    query.set_limitOffset(checker.safe_if(query.limitOffset())?);
    Ok(())
}
