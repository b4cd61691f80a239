//! Constants of a query as texts.

use pgrx::pg_sys::{self, Datum, Node, Oid};

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
    let array = Elements::of(constant)?;
    let there = array.values.iter().zip(array.nulls);
    let there = there.filter(|(_, is_null)| !**is_null);
    Some(there.map(|(value, _)| text(array.kind, *value)).collect())
}

/// The elements of a constant array, as constants; `None` if it is no array, or NULL.
pub fn each<'t>(constant: Ref<'t, pg_sys::Const>) -> Option<Vec<Ref<'t, Node>>> {
    let array = Elements::of(constant)?;
    let collation = tree::collation_of(constant.node());
    let each = array.values.iter().zip(array.nulls);
    let each = each.map(|(value, is_null)| {
        // SAFETY: it makes a node of a value of this type, or of NULL.
        unsafe {
            let length = i32::from(array.length);
            let (kind, by_value) = (array.kind, array.by_value);
            let made = pg_sys::makeConst(kind, -1, collation, length, *value, *is_null, by_value);
            Ref::of(made.cast::<Node>())
        }
    });
    each.collect()
}

/// What an array is made of.
struct Elements<'a> {
    kind: Oid,
    length: i16,
    by_value: bool,
    values: &'a [Datum],
    nulls: &'a [bool],
}

impl Elements<'_> {
    fn of(constant: Ref<pg_sys::Const>) -> Option<Self> {
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
        // SAFETY: a constant of an array type with these elements. What it is taken apart into is as long as `count`
        // says.
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
        Some(Self {
            kind,
            length,
            by_value,
            values,
            nulls,
        })
    }
}

fn text(kind: Oid, value: Datum) -> String {
    let (mut output, mut is_varlena) = (Oid::INVALID, false);
    // SAFETY: a value of this type.
    unsafe {
        pg_sys::getTypeOutputInfo(kind, &raw mut output, &raw mut is_varlena);
        tree::text_of(pg_sys::OidOutputFunctionCall(output, value))
    }
}
