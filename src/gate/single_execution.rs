//! Whether a plan answers each receipt once. A node that runs again draws noise again: many answers for one charge.
//!
//! What is not known to run once is taken to run often.

use std::collections::BTreeSet;

use pgrx::pg_sys::{self, Node, NodeTag, Plan, PlannedStmt, SubPlan};

use crate::gate::receipt;
use crate::pg::nodes::elements;
use crate::pg::stack;
use crate::pg::tree::{self, Ref};

/// Whether every receipt of a plan is answered at most once in an execution.
///
/// # Safety
/// A plan that lives.
pub unsafe fn answers_once(statement: *mut PlannedStmt) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe {
        // Sub-plans that run before the plan, or as a WITH does: once, unless they depend on something outside of them.
        let mut first = BTreeSet::new();
        let plans = elements::<Plan>((*statement).subplans);
        for plan in std::iter::once((*statement).planTree).chain(plans) {
            collect_first(plan, &mut first);
        }
        let mut plans = elements::<Plan>((*statement).subplans).zip(1..);
        judge((*statement).planTree, true)
            && plans.all(|(plan, id)| {
                plan.is_null() || {
                    let is_once = first.contains(&id) && (*plan).extParam.is_null();
                    judge(plan, is_once)
                }
            })
    }
}

/// The nodes right below one.
///
/// # Safety
/// A node of a plan that lives, or NULL.
unsafe fn below(plan: *mut Plan) -> Vec<*mut Plan> {
    // SAFETY: the caller guarantees it; the tag says which struct it is.
    unsafe {
        let mut all = vec![(*plan).lefttree, (*plan).righttree];
        match (*plan).type_ {
            NodeTag::T_Append => {
                all.extend(elements::<Plan>(
                    (*plan.cast::<pg_sys::Append>()).appendplans,
                ));
            }
            NodeTag::T_MergeAppend => {
                all.extend(elements::<Plan>(
                    (*plan.cast::<pg_sys::MergeAppend>()).mergeplans,
                ));
            }
            NodeTag::T_SubqueryScan => all.push((*plan.cast::<pg_sys::SubqueryScan>()).subplan),
            NodeTag::T_CustomScan => {
                all.extend(elements::<Plan>(
                    (*plan.cast::<pg_sys::CustomScan>()).custom_plans,
                ));
            }
            _ => {}
        }
        all.retain(|plan| !plan.is_null());
        all
    }
}

unsafe fn collect_first(plan: *mut Plan, first: &mut BTreeSet<i32>) {
    stack::check();
    if plan.is_null() {
        return;
    }
    // SAFETY: as for `below`.
    unsafe {
        first.extend(elements::<SubPlan>((*plan).initPlan).map(|sub| (*sub).plan_id));
        for plan in below(plan) {
            collect_first(plan, first);
        }
    }
}

/// Whether there is no receipt below that could be answered again.
unsafe fn judge(plan: *mut Plan, once: bool) -> bool {
    stack::check();
    // SAFETY: as for `below`.
    unsafe {
        if plan.is_null() {
            return true;
        }
        if !once && has_receipt(plan) {
            return false;
        }
        let all = below(plan);
        match (*plan).type_ {
            NodeTag::T_NestLoop => {
                let inner = (*plan).righttree;
                let has_parameters = !(*plan.cast::<pg_sys::NestLoop>()).nestParams.is_null();
                let is_kept = !inner.is_null()
                    && (*inner).type_ == NodeTag::T_Material
                    && !has_parameters
                    && (*inner).extParam.is_null();
                judge((*plan).lefttree, once) && judge(inner, once && is_kept)
            }
            NodeTag::T_RecursiveUnion => {
                judge((*plan).lefttree, once) && judge((*plan).righttree, false)
            }
            // Each process runs what is below.
            NodeTag::T_Gather
            | NodeTag::T_GatherMerge
            | NodeTag::T_Memoize
            | NodeTag::T_CustomScan => all.into_iter().all(|plan| judge(plan, false)),
            _ => all.into_iter().all(|plan| judge(plan, once)),
        }
    }
}

/// Whether a node has a receipt: one that answers, not a part of one.
unsafe fn has_receipt(plan: *mut Plan) -> bool {
    // SAFETY: as for `below`; lists are walked as nodes.
    unsafe {
        let lists = [(*plan).targetlist, (*plan).qual];
        lists
            .into_iter()
            .filter_map(|list| Ref::of(list.cast::<Node>()))
            .any(finds_receipt)
    }
}

fn finds_receipt(node: Ref<Node>) -> bool {
    tree::any(node, |node| {
        let call = node.cast::<pg_sys::Aggref>();
        call.is_some_and(receipt::is_answered_receipt)
    })
}
