//! What is known when a question is asked takes its place in it: values of parameters, the current time and role, and
//! whatever follows from these. So the same question has the same tree.

use pgrx::pg_sys::{self, FuncExpr, Node, NodeTag, PlannerInfo, Query};

use crate::pg::planning;
use crate::pg::procedure;
use crate::pg::stack;
use crate::pg::tree::{self, Memory, Parameters, Ref};

/// The query with constants where its values are known, for these parameters.
pub fn settle<'t>(query: Ref<'t, Query>, parameters: Parameters<'t>) -> Ref<'t, Query> {
    let root = planning::planning(query, parameters);
    settled(root, query).cast().expect("a query stays one")
}

/// The queries in an expression are settled first: what follows from constants is computed without a look into them.
fn settled<'t>(root: Ref<'t, PlannerInfo>, query: Ref<'t, Query>) -> Ref<'t, Node> {
    stack::check();
    let below = |node: Ref<'t, Node>| match tree::has_sublinks(node) {
        true => tree::change(node, &mut |node| {
            node.cast::<Query>().map(|below| settled(root, below))
        }),
        false => node,
    };
    tree::change(query.node(), &mut |node| {
        is_computed(node).then(|| tree::estimate(root, below(node)))
    })
}

/// Whether a node is computed of what is below it. What only holds others together is not, and is looked into; so are
/// aggregates, and calls of our own functions, which a plan must have as they were written.
fn is_computed(node: Ref<Node>) -> bool {
    if let Some(call) = node.cast::<FuncExpr>() {
        return procedure::is_pinned(call.funcid());
    }
    matches!(
        node.tag(),
        NodeTag::T_Param
            | NodeTag::T_OpExpr
            | NodeTag::T_DistinctExpr
            | NodeTag::T_NullIfExpr
            | NodeTag::T_ScalarArrayOpExpr
            | NodeTag::T_BoolExpr
            | NodeTag::T_SQLValueFunction
            | NodeTag::T_CoerceViaIO
            | NodeTag::T_ArrayCoerceExpr
            | NodeTag::T_RelabelType
            | NodeTag::T_CaseExpr
            | NodeTag::T_CoalesceExpr
            | NodeTag::T_MinMaxExpr
            | NodeTag::T_ArrayExpr
            | NodeTag::T_RowExpr
            | NodeTag::T_NullTest
            | NodeTag::T_BooleanTest
            | NodeTag::T_FieldSelect
            | NodeTag::T_SubscriptingRef
    )
}

/// The values of parameters, for a query in which they have the numbers from 1 on.
pub fn parameters<'t>(
    _: Memory<'t>,
    values: &[(pg_sys::Oid, Option<pg_sys::Datum>)],
) -> Parameters<'t> {
    if values.is_empty() {
        return None;
    }
    let count = i32::try_from(values.len()).expect("few parameters");
    // SAFETY: a list of as many parameters, in the memory of this call.
    unsafe {
        let list = pg_sys::makeParamList(count);
        let places = (*list).params.as_mut_ptr();
        for (i, (kind, value)) in values.iter().enumerate() {
            let place = places.add(i);
            (*place).value = value.unwrap_or(pg_sys::Datum::null());
            (*place).isnull = value.is_none();
            (*place).pflags = pg_sys::PARAM_FLAG_CONST as u16;
            (*place).ptype = *kind;
        }
        Ref::of(list)
    }
}
