//! The numbers that aggregates are about are floats. Sums, differences and products of `numeric` values below one are
//! computed as floats, too: that is many times as fast, and differs in the last of 53 bits.

use pgrx::pg_sys::{self, Node, NodeTag, Oid};

use crate::pg::stack;
use crate::pg::tree::{self, Ref};

/// What is computed of floats in the place of an operator of `numeric` values.
fn of_floats(function: u32) -> Option<u32> {
    Some(match function {
        pg_sys::F_NUMERIC_ADD => pg_sys::F_FLOAT8PL,
        pg_sys::F_NUMERIC_SUB => pg_sys::F_FLOAT8MI,
        pg_sys::F_NUMERIC_MUL => pg_sys::F_FLOAT8MUL,
        _ => return None,
    })
}

/// A number as a `float8`; `None` of what is no number. The expression stays as it is.
pub fn float<'t>(node: Ref<'t, Node>) -> Option<Ref<'t, Node>> {
    stack::check();
    let operator = node.operator().filter(|_| node.tag() == NodeTag::T_OpExpr);
    let function = operator.and_then(|operator| of_floats(operator.opfuncid().to_u32()));
    let Some((operator, function)) = operator.zip(function) else {
        return tree::cast(node.copy(), pg_sys::FLOAT8OID);
    };
    let arguments = operator.args().into_iter().map(float);
    let arguments = arguments.collect::<Option<Vec<_>>>()?;
    let (memory, kind) = (node.memory(), pg_sys::FLOAT8OID);
    Some(tree::call(
        memory,
        function.into(),
        kind,
        Oid::INVALID,
        arguments,
    ))
}
