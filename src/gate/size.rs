//! How long a value can be, whatever the rows are: an array of values that are too long together is an error.

use pgrx::pg_sys::{self, ArrayExpr, Node, Oid};

use crate::pg::tree::{self, Ref};
use crate::safe_functions::work::LONGEST;
use crate::safe_functions::wrap;

/// Of a `numeric`: 131072 digits before the point, 16383 behind it, four of them in two bytes.
const NUMBER: u64 = 80_000;

/// Of what is made a text by way of its output: a digit of a number is a byte there.
const PRINTED: u64 = 2 * NUMBER;

/// Of a character.
const CHARACTER: u64 = 4;

/// Whether the elements of an array are surely short enough to stand in one.
pub fn is_short_array(array: Ref<ArrayExpr>) -> bool {
    let elements = array.elements();
    let sizes: Option<Vec<_>> = elements.into_iter().map(most_bytes).collect();
    sizes.is_some_and(|sizes| sizes.iter().sum::<u64>() <= LONGEST * 4)
}

/// The most bytes of an expression's value; `None` if nothing bounds them.
fn most_bytes(node: Ref<Node>) -> Option<u64> {
    let kind = tree::type_of(node);
    // SAFETY: a lookup in the catalog.
    if let Ok(fixed) = u64::try_from(unsafe { pg_sys::get_typlen(kind) }) {
        return Some(fixed.max(8));
    }
    of_length(kind, tree::modifier_of(node)).or_else(|| of_expression(node))
}

/// As above, for a type with a length.
fn of_length(kind: Oid, modifier: i32) -> Option<u64> {
    match kind {
        pg_sys::NUMERICOID => Some(NUMBER),
        // What PostgreSQL keeps of the length is 4 more.
        pg_sys::VARCHAROID | pg_sys::BPCHAROID => Some(u64::try_from(modifier).ok()? * CHARACTER),
        _ => None,
    }
}

fn of_expression(node: Ref<Node>) -> Option<u64> {
    let longest = |nodes: Vec<Ref<Node>>| {
        let sizes: Option<Vec<_>> = nodes.into_iter().map(most_bytes).collect();
        sizes?.into_iter().max()
    };
    if let Some(constant) = node.cast::<pg_sys::Const>() {
        return match constant.constisnull() {
            true => Some(0),
            false if constant.constlen() == -1 => {
                // SAFETY: a value of a type that has no fixed length.
                Some(unsafe { pg_sys::toast_raw_datum_size(constant.constvalue()) } as u64)
            }
            false => None,
        };
    }
    if let Some(same) = node.cast::<pg_sys::RelabelType>() {
        return most_bytes(same.arg()?);
    }
    if node.cast::<pg_sys::CoerceViaIO>().is_some() {
        return Some(PRINTED);
    }
    if let Some(coalesce) = node.cast::<pg_sys::CoalesceExpr>() {
        return longest(coalesce.args().nodes());
    }
    if let Some(case) = node.cast::<pg_sys::CaseExpr>() {
        let cases = case.args().into_iter();
        let cases = cases.filter_map(|when| when.cast::<pg_sys::CaseWhen>());
        let results = cases.filter_map(|when| when.result());
        let default = case.defresult();
        return longest(results.chain(default).collect());
    }
    // left(text, n), right(text, n), as what is called in their place.
    // SAFETY: an expression of a tree that lives.
    let (function, _) = unsafe { wrap::original(node.pointer()) }?;
    if ![3060, 3061].contains(&function.to_u32()) {
        return None;
    }
    let call = node.cast::<pg_sys::FuncExpr>()?;
    let count = call.args().into_iter().nth(2);
    let count = tree::constant(count?)?.map_or(0, |count| count.value() as i32);
    Some(u64::try_from(count).ok()? * CHARACTER)
}
