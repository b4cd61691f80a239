//! Warns of an argument that a sub-select looks up in a table that the call is about, as in
//! `dp_mean(x, 0, (SELECT max(x) FROM t), 1.0) FROM t`: the answer then shows what was looked up.
//!
//! It looks at the plan alone, so it warns whatever the rows are. It does not see through functions, nor that
//! somebody copied a number into the query.

use std::collections::BTreeSet;

use pgrx::pg_sys::{
    self, Aggref, Append, CoerceViaIO, CteScan, Expr, FuncExpr, MergeAppend, NodeTag, Oid, OpExpr,
    Param, ParamKind, Plan, PlannedStmt, RangeTblEntry, RelabelType, Scan, SubPlan,
};

use crate::pg::nodes::{children, elements, integers};
use crate::pg::stack;

/// Whether `argument` of a call whose rows come from below `plan` is looked up in one of the tables that these
/// rows come from, by anything but the aggregates whose states have type `state`.
///
/// # Safety
/// All of it belongs to one plan, which lives.
pub unsafe fn looks_at_the_rows(
    statement: *mut PlannedStmt,
    plan: *mut Plan,
    argument: *mut Expr,
    state: Oid,
) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe {
        let mut parameters = BTreeSet::new();
        collect_parameters(argument, &mut parameters);
        if parameters.is_empty() {
            return false;
        }
        let mut rows = Seen::default();
        rows.look(statement, (*plan).lefttree);
        subselects(statement).any(|(set, below)| {
            if !set.iter().any(|parameter| parameters.contains(parameter)) {
                return false;
            }
            let mut seen = Seen::default();
            seen.look(statement, below);
            let private =
                !seen.aggregates.is_empty() && seen.aggregates.iter().all(|of| *of == state);
            !private && seen.tables.iter().any(|table| rows.tables.contains(table))
        })
    }
}

/// The parameters of the executor that an expression takes, as far as casts and arithmetic lead.
unsafe fn collect_parameters(expr: *mut Expr, found: &mut BTreeSet<i32>) {
    stack::check();
    if expr.is_null() {
        return;
    }
    // SAFETY: the tag says which struct it is.
    unsafe {
        let arguments = match (*expr).type_ {
            NodeTag::T_Param => {
                let parameter = expr.cast::<Param>();
                if (*parameter).paramkind == ParamKind::PARAM_EXEC {
                    found.insert((*parameter).paramid);
                }
                return;
            }
            NodeTag::T_RelabelType => {
                return collect_parameters((*expr.cast::<RelabelType>()).arg, found);
            }
            NodeTag::T_CoerceViaIO => {
                return collect_parameters((*expr.cast::<CoerceViaIO>()).arg, found);
            }
            NodeTag::T_FuncExpr => (*expr.cast::<FuncExpr>()).args,
            NodeTag::T_OpExpr => (*expr.cast::<OpExpr>()).args,
            _ => return,
        };
        for argument in elements::<Expr>(arguments) {
            collect_parameters(argument, found);
        }
    }
}

/// The sub-selects of a statement that are computed once: the parameters that each sets, and its plan.
unsafe fn subselects(statement: *mut PlannedStmt) -> impl Iterator<Item = (Vec<i32>, *mut Plan)> {
    // SAFETY: see `looks_at_the_rows`.
    unsafe {
        let mut found = Vec::new();
        let others = elements::<Plan>((*statement).subplans);
        for top in std::iter::once((*statement).planTree).chain(others) {
            visit(top, &mut |plan| {
                for subplan in elements::<SubPlan>((*plan).initPlan) {
                    let set = integers((*subplan).setParam);
                    found.push((set, numbered(statement, (*subplan).plan_id)));
                }
            });
        }
        found.into_iter()
    }
}

/// What a part of a plan looks at.
#[derive(Default)]
struct Seen {
    tables: BTreeSet<u32>,
    /// Sub-plans that were looked at: a WITH may be named often.
    plans: BTreeSet<i32>,
    /// The type of the state of each aggregate.
    aggregates: Vec<Oid>,
}

impl Seen {
    unsafe fn look(&mut self, statement: *mut PlannedStmt, plan: *mut Plan) {
        stack::check();
        // SAFETY: see `looks_at_the_rows`; the tag says which struct it is.
        unsafe {
            let mut elsewhere = Vec::new();
            visit(plan, &mut |plan| {
                for subplan in elements::<SubPlan>((*plan).initPlan) {
                    elsewhere.push((*subplan).plan_id);
                }
                match (*plan).type_ {
                    NodeTag::T_SeqScan
                    | NodeTag::T_SampleScan
                    | NodeTag::T_IndexScan
                    | NodeTag::T_IndexOnlyScan
                    | NodeTag::T_BitmapHeapScan
                    | NodeTag::T_TidScan
                    | NodeTag::T_TidRangeScan
                    | NodeTag::T_ForeignScan => {
                        self.table(statement, (*plan.cast::<Scan>()).scanrelid as i32);
                    }
                    NodeTag::T_CteScan => elsewhere.push((*plan.cast::<CteScan>()).ctePlanId),
                    NodeTag::T_Append => {
                        self.parents(statement, (*plan.cast::<Append>()).apprelids)
                    }
                    NodeTag::T_MergeAppend => {
                        self.parents(statement, (*plan.cast::<MergeAppend>()).apprelids);
                    }
                    NodeTag::T_Agg => {
                        let aggregates = pg_sys::pull_var_clause(
                            (*plan).targetlist.cast(),
                            (pg_sys::PVC_INCLUDE_AGGREGATES
                                | pg_sys::PVC_RECURSE_WINDOWFUNCS
                                | pg_sys::PVC_RECURSE_PLACEHOLDERS)
                                as i32,
                        );
                        for node in elements::<Expr>(aggregates) {
                            if (*node).type_ == NodeTag::T_Aggref {
                                self.aggregates.push((*node.cast::<Aggref>()).aggtranstype);
                            }
                        }
                    }
                    _ => {}
                }
            });
            for number in elsewhere {
                if !self.plans.insert(number) {
                    continue;
                }
                self.look(statement, numbered(statement, number));
            }
        }
    }

    /// The partitioned tables whose partitions an Append reads.
    unsafe fn parents(&mut self, statement: *mut PlannedStmt, relations: *mut pg_sys::Bitmapset) {
        let mut relation = -1;
        loop {
            // SAFETY: a set of the plan's; NULL is the empty one.
            relation = unsafe { pg_sys::bms_next_member(relations, relation) };
            if relation < 0 {
                return;
            }
            // SAFETY: see `looks_at_the_rows`.
            unsafe { self.table(statement, relation) };
        }
    }

    unsafe fn table(&mut self, statement: *mut PlannedStmt, relation: i32) {
        let Some(i) = usize::try_from(relation)
            .ok()
            .and_then(|i| i.checked_sub(1))
        else {
            return;
        };
        // SAFETY: see `looks_at_the_rows`.
        unsafe {
            if let Some(entry) = elements::<RangeTblEntry>((*statement).rtable).nth(i) {
                self.tables.insert((*entry).relid.to_u32());
            }
        }
    }
}

/// Calls `look` for a node and all below it.
unsafe fn visit(plan: *mut Plan, look: &mut dyn FnMut(*mut Plan)) {
    stack::check();
    if plan.is_null() {
        return;
    }
    look(plan);
    // SAFETY: see `looks_at_the_rows`.
    unsafe {
        let (left, right) = ((*plan).lefttree, (*plan).righttree);
        for below in children(plan).filter(|below| *below != left) {
            visit(below, look);
        }
        visit(left, look);
        visit(right, look);
    }
}

/// The plan of sub-plan `number`, counted from 1; NULL where a parallel worker does not have it.
unsafe fn numbered(statement: *mut PlannedStmt, number: i32) -> *mut Plan {
    let i = usize::try_from(number).ok().and_then(|i| i.checked_sub(1));
    // SAFETY: see `looks_at_the_rows`.
    let plan = i.and_then(|i| unsafe { elements::<Plan>((*statement).subplans).nth(i) });
    plan.unwrap_or(std::ptr::null_mut())
}
