//! What makes nodes of expressions, and what their types are.

use pgrx::pg_sys::{self, Node, Oid};

use super::node::{List, Memory, Ref, list_of, string};

/// The type of an expression.
pub fn type_of(node: Ref<Node>) -> Oid {
    // SAFETY: an expression that lives.
    unsafe { pg_sys::exprType(node.pointer()) }
}

/// The type modifier of an expression.
pub fn modifier_of(node: Ref<Node>) -> i32 {
    // SAFETY: the same.
    unsafe { pg_sys::exprTypmod(node.pointer()) }
}

/// The type that a domain is made of, with its modifier; of another type itself.
pub fn base_type(kind: Oid, mut modifier: i32) -> (Oid, i32) {
    // SAFETY: a lookup in the catalog.
    let kind = unsafe { pg_sys::getBaseTypeAndTypmod(kind, &raw mut modifier) };
    (kind, modifier)
}

/// The collation of an expression.
pub fn collation_of(node: Ref<Node>) -> Oid {
    // SAFETY: the same.
    unsafe { pg_sys::exprCollation(node.pointer()) }
}

/// A reference to a column.
pub fn var<'t>(
    _: Memory<'t>,
    relation: i32,
    column: i16,
    kind: Oid,
    modifier: i32,
    collation: Oid,
) -> Ref<'t, Node> {
    // SAFETY: it makes a node of plain numbers.
    let var = unsafe {
        Ref::of(pg_sys::makeVar(
            relation, column, kind, modifier, collation, 0,
        ))
    };
    var.expect("a node").node()
}

/// A NULL of a type.
pub fn null<'t>(_: Memory<'t>, kind: Oid, modifier: i32, collation: Oid) -> Ref<'t, Node> {
    // SAFETY: it makes a node of plain numbers.
    let null = unsafe { Ref::of(pg_sys::makeNullConst(kind, modifier, collation)) };
    null.expect("a node").node()
}

/// A column of a SELECT, from 1.
pub fn target<'t>(value: Ref<'t, Node>, number: i16, name: &str) -> Ref<'t, pg_sys::TargetEntry> {
    // SAFETY: it makes a node of an expression, a number and a name.
    let target = unsafe {
        let value = value.pointer().cast();
        Ref::of(pg_sys::makeTargetEntry(value, number, string(name), false))
    };
    target.expect("a node")
}

/// TRUE or FALSE, or a NULL of type boolean.
pub fn boolean<'t>(_: Memory<'t>, value: Option<bool>) -> Ref<'t, Node> {
    // SAFETY: it makes a node.
    let node = unsafe {
        Ref::of(pg_sys::makeBoolConst(
            value.unwrap_or(false),
            value.is_none(),
        ))
    };
    node.expect("a node")
}

/// A constant of a type of numbers that is passed by value, of that many bytes.
pub fn number<'t>(_: Memory<'t>, kind: Oid, length: i32, value: pg_sys::Datum) -> Ref<'t, Node> {
    // SAFETY: it makes a node of a number.
    let constant = unsafe {
        Ref::of(pg_sys::makeConst(
            kind,
            -1,
            Oid::INVALID,
            length,
            value,
            false,
            true,
        ))
    };
    constant.expect("a node").node()
}

/// The greatest or the least of two values; of one that is NULL the other.
pub fn choice<'t>(
    which: pg_sys::MinMaxOp::Type,
    kind: Oid,
    values: [Ref<'t, Node>; 2],
) -> Ref<'t, Node> {
    let choice = values[0].memory().make::<pg_sys::MinMaxExpr>();
    choice.set_minmaxtype(kind);
    choice.set_op(which);
    choice.set_args(list_of(values));
    choice.set_location(-1);
    choice.node()
}

/// A call of a function, with a collation where its answer has one.
pub fn call<'t>(
    _: Memory<'t>,
    function: Oid,
    kind: Oid,
    collation: Oid,
    arguments: impl IntoIterator<Item = Ref<'t, Node>>,
) -> Ref<'t, Node> {
    // SAFETY: it makes a node.
    let call = unsafe {
        Ref::of(pg_sys::makeFuncExpr(
            function,
            kind,
            list_of(arguments).pointer(),
            collation,
            collation,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        ))
    };
    call.expect("a node").node()
}

/// An expression cast to another type, explicitly; `None` if there is no such cast.
pub fn cast(node: Ref<Node>, to: Oid) -> Option<Ref<Node>> {
    // SAFETY: an expression that lives; without a ParseState, errors have no position.
    unsafe {
        Ref::of(pg_sys::coerce_to_target_type(
            std::ptr::null_mut(),
            node.pointer(),
            type_of(node),
            to,
            -1,
            pg_sys::CoercionContext::COERCION_EXPLICIT,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CAST,
            -1,
        ))
    }
}

/// The name of an entry of a range table, with those of its columns.
pub fn alias<'t>(name: &str, columns: List<'t, pg_sys::String>) -> Ref<'t, pg_sys::Alias> {
    // SAFETY: it makes a node of a name and a list of names.
    let alias = unsafe { Ref::of(pg_sys::makeAlias(string(name), columns.pointer())) };
    alias.expect("a node")
}
