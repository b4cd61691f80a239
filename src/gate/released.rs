//! What was released already, in a query: a call that the gate made. It may be joined with private rows, as anything
//! that is public.

use pgrx::pg_sys::{self, Query};

use crate::gate::answer::call;
use crate::gate::expression::Checker;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::tree::Ref;

/// Checks a sub-query that is joined inside of a block: what was released may be, with harmless expressions around it.
/// They run beside private rows, so they must be total too.
pub fn check_released<'t>(query: Ref<'t, Query>, checker: &Checker<'t>) -> Checked<()> {
    let entries = query.rtable().nodes();
    let is_released = query.commandType() == pg_sys::CmdType::CMD_SELECT
        && query.setOperations().is_none()
        && !query.hasSubLinks()
        && !query.hasTargetSRFs()
        && !query.hasAggs()
        && query.groupClause().is_empty()
        && !query.hasWindowFuncs()
        && query.rowMarks().is_empty()
        && query.cteList().is_empty()
        && entries.len() == 1
        && call::is_answer(entries[0]);
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
