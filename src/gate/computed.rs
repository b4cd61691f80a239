//! What is computed from answers: post-processing of what was released. By functions of PostgreSQL, as an answer may
//! stand beside private rows, where no others may.

use pgrx::pg_sys::{self, Node, Oid};

use crate::gate::shown::Scale;
use crate::pg::tree::{self, Memory, Ref};

/// A number rounded to two decimal digits beyond the standard deviation of its noise, as a `float8` if that changes it;
/// of a mean `rows` is the noisy number of its rows. `None` if there is no such cast.
pub fn rounded<'t>(
    number: Ref<'t, Node>,
    scale: &Scale,
    rows: Option<Ref<'t, Node>>,
    is_whole: bool,
) -> Option<Ref<'t, Node>> {
    if rows.is_none() && is_whole && scale.digits() >= 0 {
        return Some(number);
    }
    let memory = number.memory();
    let digits = match rows {
        None => integer(memory, scale.digits()),
        Some(rows) => digits_of_mean(scale.sd(), rows)?,
    };
    let number = tree::cast(number, pg_sys::NUMERICOID)?;
    let number = call(
        pg_sys::F_ROUND_NUMERIC_INT4,
        pg_sys::NUMERICOID,
        [number, digits],
    );
    let number = tree::cast(number, pg_sys::FLOAT8OID)?;
    let Some((lo, hi)) = scale.bounds else {
        return Some(number);
    };
    // A bound may have more digits than are shown.
    Some(between(number, lo, hi))
}

/// As [`Scale::digits`], with this standard deviation over the number of rows.
fn digits_of_mean<'t>(sd: f64, rows: Ref<'t, Node>) -> Option<Ref<'t, Node>> {
    let memory = rows.memory();
    let kind = pg_sys::FLOAT8OID;
    let of = |function: u32, argument: Ref<'t, Node>| {
        let function = Oid::from_u32(function);
        tree::call(memory, function, kind, Oid::INVALID, [argument])
    };
    let greatest = pg_sys::MinMaxOp::IS_GREATEST;
    let rows = tree::choice(greatest, kind, [rows, float(memory, 1.0)]);
    let sd = call(pg_sys::F_FLOAT8DIV, kind, [float(memory, sd), rows]);
    let place = of(pg_sys::F_FLOOR_FLOAT8, of(pg_sys::F_LOG10_FLOAT8, sd));
    let place = tree::cast(place, pg_sys::INT4OID)?;
    let one = integer(memory, 1);
    Some(call(pg_sys::F_INT4MI, pg_sys::INT4OID, [one, place]))
}

pub fn integer<'t>(memory: Memory<'t>, value: i32) -> Ref<'t, Node> {
    tree::number(memory, pg_sys::INT4OID, 4, pg_sys::Datum::from(value))
}

pub fn float<'t>(memory: Memory<'t>, value: f64) -> Ref<'t, Node> {
    tree::number(
        memory,
        pg_sys::FLOAT8OID,
        8,
        pg_sys::Datum::from(value.to_bits()),
    )
}

/// A call of one of PostgreSQL's functions.
pub fn call(function: u32, kind: Oid, arguments: [Ref<Node>; 2]) -> Ref<Node> {
    let memory = arguments[0].memory();
    tree::call(
        memory,
        Oid::from_u32(function),
        kind,
        Oid::INVALID,
        arguments,
    )
}

/// A number cast to another type of numbers: a `float8` becomes the nearest one that the type can have, and so does each
/// of an array.
pub fn cast_within<'t>(number: Ref<'t, Node>, wanted: Oid) -> Option<Ref<'t, Node>> {
    match tree::type_of(number) {
        pg_sys::FLOAT8OID => tree::cast(within(number, wanted), wanted),
        pg_sys::FLOAT8ARRAYOID => {
            let cast = tree::cast(number, wanted)?;
            if let Some(array) = cast.cast::<pg_sys::ArrayCoerceExpr>() {
                let each = array.elemexpr()?;
                let element = tree::type_of(each);
                let each = tree::change(each, &mut |node| {
                    let is_element = node.tag() == pg_sys::NodeTag::T_CaseTestExpr;
                    is_element.then(|| within(node.copy(), element))
                });
                array.set_elemexpr(Some(each));
            }
            Some(cast)
        }
        _ => tree::cast(number, wanted),
    }
}

/// A number, or the nearest one that a type can have.
fn within<'t>(number: Ref<'t, Node>, wanted: Oid) -> Ref<'t, Node> {
    let (least, most) = match wanted {
        pg_sys::INT2OID => (f64::from(i16::MIN), f64::from(i16::MAX)),
        pg_sys::INT4OID => (f64::from(i32::MIN), f64::from(i32::MAX)),
        // The largest float8 below 2^63.
        pg_sys::INT8OID => (-9_223_372_036_854_774_784.0, 9_223_372_036_854_774_784.0),
        pg_sys::FLOAT4OID => (f64::from(f32::MIN), f64::from(f32::MAX)),
        _ => return number,
    };
    let (kind, memory) = (pg_sys::FLOAT8OID, number.memory());
    let above = call(pg_sys::F_FLOAT8LARGER, kind, [number, float(memory, least)]);
    call(pg_sys::F_FLOAT8SMALLER, kind, [above, float(memory, most)])
}

/// A number, or the nearer of two ends. No mean whose noise is known is NULL.
fn between(number: Ref<Node>, lo: f64, hi: f64) -> Ref<Node> {
    let [lo, hi] = [lo, hi].map(|end| float(number.memory(), end));
    let choice = |which, values| tree::choice(which, pg_sys::FLOAT8OID, values);
    let above = choice(pg_sys::MinMaxOp::IS_GREATEST, [number, lo]);
    choice(pg_sys::MinMaxOp::IS_LEAST, [above, hi])
}
