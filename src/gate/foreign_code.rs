//! Code that did not come with PostgreSQL: functions, and operators, which may be made of PostgreSQL's functions. The
//! planner looks at more of an operator than at its function. It puts the negator in its place, and asks both how many
//! rows they hold for by calling them with values of the table.

use pgrx::pg_sys::{self, Node, Oid, Query};

use crate::pg::extension;
use crate::pg::procedure;
use crate::pg::tree::{self, Ref};

/// Whether a query calls any of others than PostgreSQL and this extension.
pub fn is_in(query: Ref<Query>) -> bool {
    tree::any(query.node(), |node| {
        let is_known =
            |function| procedure::is_pinned(function) || extension::has_function(function);
        functions(node)
            .into_iter()
            .any(|function| !is_known(function))
            || operators(node)
                .into_iter()
                .any(|operator| !procedure::is_pinned(operator))
    })
}

/// Whether a node calls any that is not PostgreSQL's own.
pub fn is_called(node: Ref<Node>) -> bool {
    let mut all = functions(node).into_iter().chain(operators(node));
    all.any(|called| !procedure::is_pinned(called))
}

fn functions(node: Ref<Node>) -> Option<Oid> {
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
