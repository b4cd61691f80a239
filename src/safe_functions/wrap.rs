//! The node that is in for a call of a function that is not total: a call of `dp_mean.total`.

use pgrx::pg_sys::{self, CoercionForm, Datum, List, Node, NodeTag, Oid};

use crate::pg::errors;
use crate::pg::nodes::{Fixed, elements, fixed};
use crate::pg::procedure;
use crate::safe_functions::null_on_error;

/// The call of `dp_mean.total` that answers like the function, and NULL where that raises an error.
///
/// # Safety
/// The expressions are those of a call that was judged [`Partial`](super::judge::Judgement::Partial), of a tree that
/// lives; they are shared with the new node. The caller is below a guard.
pub unsafe fn variant(
    function: Oid,
    arguments: *mut List,
    result_type: Oid,
    result_collation: Oid,
    input_collation: Oid,
) -> Result<*mut Node, String> {
    // What is looked up at the first row, and the right that is not: whether a row is there must not show.
    {
        // SAFETY: the caller guarantees it.
        unsafe { null_on_error::check(function, arguments, result_type)? };
        if !procedure::may_execute(function) {
            let name = procedure::name(function);
            return Err(format!("no EXECUTE privilege on function {name}"));
        }
    }
    let total = procedure::internal(c"total", &[pg_sys::OIDOID, pg_sys::ANYOID]);
    let total = total.unwrap_or_else(|| errors::no_function("total").raise());
    // SAFETY: nodes are made in the current memory context, of expressions that live.
    unsafe {
        let function = pg_sys::makeConst(
            pg_sys::OIDOID,
            -1,
            pg_sys::InvalidOid,
            size_of::<Oid>() as i32,
            Datum::from(function),
            false,
            true,
        );
        let arguments = pg_sys::lcons(function.cast(), pg_sys::list_copy(arguments));
        let call = pg_sys::makeFuncExpr(
            total,
            result_type,
            arguments,
            result_collation,
            input_collation,
            CoercionForm::COERCE_EXPLICIT_CALL,
        );
        Ok(call.cast())
    }
}

/// The function that a call of `dp_mean.total` represents, and that function's arguments.
///
/// # Safety
/// An expression of a tree that lives.
pub unsafe fn original(expression: *mut Node) -> Option<(Oid, Vec<*mut Node>)> {
    // SAFETY: the caller guarantees it; the tag says which struct it is.
    unsafe {
        if expression.is_null() || (*expression).type_ != NodeTag::T_FuncExpr {
            return None;
        }
        let call = expression.cast::<pg_sys::FuncExpr>();
        let mut arguments = elements::<Node>((*call).args);
        let Fixed::Constant(pg_sys::OIDOID, Some(function)) = fixed(arguments.next()?) else {
            return None;
        };
        let total = procedure::internal(c"total", &[pg_sys::OIDOID, pg_sys::ANYOID]);
        if total != Some((*call).funcid) || (*call).funcvariadic {
            return None;
        }
        Some((Oid::from(function.value() as u32), arguments.collect()))
    }
}
