//! Finds the aggregate's call that a column of contributions comes from, as far as the plan shows it: through
//! sub-selects, WITH, joins, sorts and parallel parts. What it does not find has no name here: a table, a
//! function, a node that is not known.

use pgrx::pg_sys::{
    self, Aggref, CteScan, Expr, NodeTag, Oid, Plan, PlannedStmt, SubqueryScan, Var,
};

use crate::pg::nodes::{children, elements};
use crate::pg::plan::{PlannedCall, partial, target};

#[cfg(feature = "testing")]
pub mod checks;

/// A call in the plan, and the node that has its arguments' expressions.
type Found = (*mut Aggref, *mut Plan);

/// The calls of aggregates of this extension that argument `i` of a call comes from, as far as the plan shows.
/// Their arguments are computed as those of the call itself.
pub fn origins(planned: &PlannedCall, i: usize) -> Vec<PlannedCall> {
    let Some(expr) = planned.arguments.get(i) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    // SAFETY: all of it belongs to the plan of the call, which runs.
    unsafe {
        let query = (*planned.aggregate).ss.ps.state;
        let statement = (*query).es_plannedstmt;
        follow(statement, planned.plan, *expr, planned.state, &mut found);
        let call = |(call, plan)| PlannedCall::of(planned.aggregate, plan, call);
        found.into_iter().map(call).collect()
    }
}

/// Adds the calls with states of type `state` that `expr`, of the node `plan`, comes from.
///
/// # Safety
/// All of it belongs to one plan, which lives.
unsafe fn follow(
    statement: *mut PlannedStmt,
    plan: *mut Plan,
    expr: *mut Expr,
    state: Oid,
    found: &mut Vec<Found>,
) {
    // SAFETY: the caller guarantees it; each cast follows a check of the node's tag.
    unsafe {
        match (*expr).type_ {
            NodeTag::T_Aggref => {
                let call = expr.cast::<Aggref>();
                let origin = if (*call).aggsplit & pg_sys::AGGSPLITOP_COMBINE != 0 {
                    partial(call, plan)
                } else {
                    Some((call, plan))
                };
                found.extend(origin.filter(|(call, _)| (**call).aggtranstype == state));
            }
            NodeTag::T_Var => {
                let var = expr.cast::<Var>();
                for below in sources(statement, plan, (*var).varno) {
                    if let Some(expr) = target(below, (*var).varattno) {
                        follow(statement, below, expr, state, found);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The nodes whose columns a Var with this number, in a node's target list or arguments, stands for.
///
/// # Safety
/// As for [`follow`].
unsafe fn sources(statement: *mut PlannedStmt, plan: *mut Plan, number: i32) -> Vec<*mut Plan> {
    // SAFETY: the caller guarantees it; every plan node starts with a Plan.
    unsafe {
        let side = |node: *mut Plan| Vec::from_iter((!node.is_null()).then_some(node));
        match (number, (*plan).type_) {
            (pg_sys::INNER_VAR, _) => side((*plan).righttree),
            (pg_sys::OUTER_VAR, NodeTag::T_Append | NodeTag::T_MergeAppend) => {
                children(plan).collect()
            }
            (pg_sys::OUTER_VAR, _) => side((*plan).lefttree),
            (_, NodeTag::T_SubqueryScan) => side((*plan.cast::<SubqueryScan>()).subplan),
            (_, NodeTag::T_CteScan) => {
                let id = usize::try_from((*plan.cast::<CteScan>()).ctePlanId).unwrap_or(0);
                let subplan = id
                    .checked_sub(1)
                    .and_then(|id| elements::<Plan>((*statement).subplans).nth(id));
                side(subplan.unwrap_or(std::ptr::null_mut()))
            }
            _ => Vec::new(),
        }
    }
}
