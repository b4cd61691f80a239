//! Constants of a query as texts.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::execution;
use crate::pg::tree::{self, Ref};

/// Whether the text of any value of a type is read as that value: some styles of dates write time zones by abbreviations
/// that several of them have.
pub fn is_read_as_written(kind: Oid) -> bool {
    kind != pg_sys::TIMESTAMPTZOID || execution::setting(c"DateStyle").starts_with(b"ISO")
}

/// A constant that is not NULL, as text.
pub fn text_of(constant: Ref<pg_sys::Const>) -> String {
    text(tree::type_of(constant.node()), constant.constvalue())
}

/// The elements of a constant array that are not NULL, as texts; `None` if it is no array, or NULL.
pub fn elements(constant: Ref<pg_sys::Const>) -> Option<Vec<String>> {
    if constant.constisnull() {
        return None;
    }
    // SAFETY: a lookup in the catalog, which answers for any number.
    let kind = unsafe { pg_sys::get_element_type(tree::type_of(constant.node())) };
    if kind == Oid::INVALID {
        return None;
    }
    let (mut length, mut by_value, mut align) = (0, false, 0);
    let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    // SAFETY: a constant of an array type with these elements. What it is taken apart into is as long as `count` says.
    let (values, nulls) = unsafe {
        pg_sys::get_typlenbyvalalign(kind, &raw mut length, &raw mut by_value, &raw mut align);
        let array = pg_sys::pg_detoast_datum(constant.constvalue().cast_mut_ptr());
        pg_sys::deconstruct_array(
            array.cast(),
            kind,
            i32::from(length),
            by_value,
            align,
            &raw mut values,
            &raw mut nulls,
            &raw mut count,
        );
        let count = usize::try_from(count).unwrap_or(0);
        match count {
            0 => (&[][..], &[][..]),
            _ => (
                std::slice::from_raw_parts(values, count),
                std::slice::from_raw_parts(nulls, count),
            ),
        }
    };
    let there = values.iter().zip(nulls).filter(|(_, is_null)| !**is_null);
    Some(there.map(|(value, _)| text(kind, *value)).collect())
}

fn text(kind: Oid, value: Datum) -> String {
    let (mut output, mut is_varlena) = (Oid::INVALID, false);
    // SAFETY: a value of this type.
    unsafe {
        pg_sys::getTypeOutputInfo(kind, &raw mut output, &raw mut is_varlena);
        tree::text_of(pg_sys::OidOutputFunctionCall(output, value))
    }
}
