//! What is public of the columns of a sub-query that is a private relation, by what it computes them of.

use std::rc::Rc;

use pgrx::pg_sys::{self, Aggref, Node, NodeTag, Oid, Query, WindowFunc};

use crate::gate::canonical_keys;
use crate::gate::conditions::Bounded;
use crate::gate::expression::{self, Checker};
use crate::gate::private_relation::columns::Facts;
use crate::gate::private_relation::from::From;
use crate::gate::private_relation::{calls, one_value};
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};
use crate::safe_functions::range;

/// What is public of the columns that are shown.
pub fn of<'t>(query: Ref<'t, Query>, from: &From<'t>, checker: &Checker<'t>) -> Vec<Facts> {
    let shown = query
        .targetList()
        .into_iter()
        .filter(|target| !target.resjunk());
    let having = Bounded::by(tree::conjuncts(query.havingQual()), |one| {
        checker.folded(one)
    });
    let facts = shown.map(|target| {
        let expr = target.expr().expect("a target has an expression");
        let expr = checker.folded(expr.copy());
        let (lo, hi) = limits(from, &having, expr);
        let is_of_person = one_value::is_of_person(from, expr, &[]);
        let column = expr.cast::<pg_sys::Var>();
        let column = column.filter(|column| column.varlevelsup() == 0);
        match column.map(|column| (column.varno(), column.varattno())) {
            Some(column) => Facts {
                bounds: (lo.is_finite() || hi.is_finite()).then_some((lo, hi)),
                ends: from.ends(column),
                is_never_null: from.is_not_null(column),
                values: from.values(column).map(Rc::from),
                row: from.row(column),
                refers: from.refers(column),
                is_of_person,
                has_one_form: from.has_one_form(column),
                is_dense: from.is_dense(column),
            },
            None => Facts {
                bounds: Some((lo, hi)),
                ends: None,
                is_never_null: is_count(expr),
                values: None,
                row: None,
                refers: false,
                is_of_person,
                is_dense: is_dense(from, expr),
                has_one_form: canonical_keys::has_one_form(
                    tree::base_type(tree::type_of(expr), -1).0,
                    tree::collation_of(expr),
                ),
            },
        }
    });
    facts.collect()
}

/// Whether any value of its type may be there, as far as anybody knows: it is stored so, or counted. Of what is computed
/// otherwise, as the first day of a month, the values between two ends are not all in rows.
fn is_dense<'t>(from: &From<'t>, expr: Ref<'t, Node>) -> bool {
    const DIFFERENCES: [u32; 9] = [
        pg_sys::F_INT4PL,
        pg_sys::F_INT4MI,
        pg_sys::F_INT8PL,
        pg_sys::F_INT8MI,
        pg_sys::F_INT84PL,
        pg_sys::F_INT84MI,
        pg_sys::F_DATE_MI,
        pg_sys::F_DATE_PLI,
        pg_sys::F_DATE_MII,
    ];
    stack::check();
    if let Some(column) = expr.cast::<pg_sys::Var>() {
        return column.varlevelsup() == 0 && from.is_dense((column.varno(), column.varattno()));
    }
    let first = |arguments: List<'t, Node>| {
        arguments
            .into_iter()
            .next()
            .is_some_and(|argument| is_dense(from, argument))
    };
    if let Some(call) = expr.cast::<Aggref>() {
        let arguments = call.args().into_iter().filter_map(|target| target.expr());
        return keeps_values(call.aggfnoid(), || first(arguments.collect()));
    }
    if let Some(call) = expr.cast::<WindowFunc>() {
        return keeps_values(call.winfnoid(), || first(call.args()));
    }
    if let Some(call) = expr.operator().filter(|_| expr.tag() == NodeTag::T_OpExpr) {
        let mut arguments = call.args().into_iter();
        return DIFFERENCES.contains(&call.opfuncid().to_u32())
            && arguments.any(|argument| is_dense(from, argument));
    }
    if let Some(same) = expr.cast::<pg_sys::RelabelType>() {
        return same.arg().is_some_and(|argument| is_dense(from, argument));
    }
    let choice = expr.cast::<pg_sys::CoalesceExpr>();
    choice.is_some_and(|choice| first(choice.args()))
}

/// Whether a function of one person's rows has any value that its argument may have, or counts.
fn keeps_values(function: Oid, argument: impl FnOnce() -> bool) -> bool {
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_func_name(function)) };
    match name.as_str() {
        "count" | "row_number" | "rank" | "dense_rank" | "ntile" => true,
        "min" | "max" | "sum" | "first_value" | "last_value" | "nth_value" | "lag" | "lead" => {
            argument()
        }
        _ => false,
    }
}

fn is_count(expr: Ref<Node>) -> bool {
    let call = expr.cast::<Aggref>();
    let function = call.map(|call| call.aggfnoid().to_u32());
    function.is_some_and(|function| [pg_sys::F_COUNT_, pg_sys::F_COUNT_ANY].contains(&function))
}

/// Between which bounds an expression lies, by those of columns and of aggregates of them, and by conditions.
fn limits<'t>(from: &From<'t>, having: &Bounded<'t>, expr: Ref<'t, Node>) -> (f64, f64) {
    let bounds = |entry: i32, column: i16| from.bounds((entry, column));
    let call = |node: *mut Node| {
        // SAFETY: a node of an expression that lives.
        let node: Ref<'t, Node> = unsafe { Ref::of(node) }?;
        let (function, arguments) = match node.tag() {
            NodeTag::T_Aggref => {
                let call = node.cast::<Aggref>()?;
                let arguments = call.args().into_iter();
                let arguments = arguments.filter_map(|target| target.expr());
                (call.aggfnoid(), arguments.collect::<Vec<_>>())
            }
            _ => {
                let call = node.cast::<WindowFunc>()?;
                (call.winfnoid(), call.args().nodes())
            }
        };
        let of_arguments = arguments
            .into_iter()
            .map(|argument| limits(from, having, argument));
        calls::limits(function, &of_arguments.collect::<Vec<_>>())
    };
    stack::check();
    let own = |node: *mut Node| range::both(from.bounds_of(node), having.find(node));
    expression::limits(expr, &bounds, &call, &own)
}
