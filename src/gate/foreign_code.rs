//! Code that did not come with PostgreSQL: functions, and operators, which may be made of PostgreSQL's functions. The
//! planner looks at more of an operator than at its function. It puts the negator in its place, and asks both how many
//! rows they hold for by calling them with values of the table.

use std::collections::BTreeSet;

use pgrx::pg_sys::{self, Node, Oid, Query};

use crate::pg::extension;
use crate::pg::procedure;
use crate::pg::tree::{self, Ref};

/// Whether a query calls any of others than PostgreSQL and this extension.
pub fn is_in(query: Ref<Query>) -> bool {
    let mut called = BTreeSet::new();
    let has_operator = tree::any(query.node(), |node| {
        called.extend(function(node).map(|function| function.to_u32()));
        let mut operators = operators(node).into_iter();
        operators.any(|operator| !procedure::is_pinned(operator))
    });
    let mut called = called.into_iter().map(Oid::from_u32);
    has_operator || called.any(|one| !procedure::is_pinned(one) && !extension::has_function(one))
}

/// Whether a node calls any that is not PostgreSQL's own.
pub fn is_called(node: Ref<Node>) -> bool {
    let mut all = function(node).into_iter().chain(operators(node));
    all.any(|called| !procedure::is_pinned(called))
}

fn function(node: Ref<Node>) -> Option<Oid> {
    if let Some(call) = node.cast::<pg_sys::FuncExpr>() {
        Some(call.funcid())
    } else if let Some(call) = node.cast::<pg_sys::Aggref>() {
        Some(call.aggfnoid())
    } else if let Some(call) = node.cast::<pg_sys::WindowFunc>() {
        Some(call.winfnoid())
    } else {
        let call = node.operator()?;
        // SAFETY: a lookup in the catalog, into a field of a node that lives.
        unsafe { pg_sys::set_opfuncid(call.pointer()) };
        Some(call.opfuncid())
    }
}

fn operators(node: Ref<Node>) -> Vec<Oid> {
    if let Some(call) = node.operator() {
        vec![call.opno()]
    } else if let Some(call) = node.cast::<pg_sys::ScalarArrayOpExpr>() {
        vec![call.opno()]
    } else if let Some(rows) = node.cast::<pg_sys::RowCompareExpr>() {
        rows.opnos().oids()
    } else {
        Vec::new()
    }
}
