//! What the catalog says of types.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

/// Whether a type is boolean, or a domain over it.
pub fn is_boolean(kind: Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::getBaseType(kind) == pg_sys::BOOLOID }
}

/// Whether a type is one of PostgreSQL's of numbers.
pub fn is_number(kind: Oid) -> bool {
    [
        pg_sys::INT2OID,
        pg_sys::INT4OID,
        pg_sys::INT8OID,
        pg_sys::FLOAT4OID,
        pg_sys::FLOAT8OID,
        pg_sys::NUMERICOID,
    ]
    .contains(&kind)
}

/// Whether a type is an array of booleans, or a domain over one.
pub fn is_boolean_array(kind: Oid) -> bool {
    // SAFETY: catalog look-ups by oid; the element type of what is no array is 0.
    is_boolean(unsafe { pg_sys::get_element_type(pg_sys::getBaseType(kind)) })
}

/// Whether values of a type are varlenas, as those of `dp_mechanism` are: bytes with their length.
pub fn is_varlena(kind: Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::get_typlen(kind) == -1 }
}

/// Whether values of a type are also values of another, as they are.
pub fn has_bytes_of(kind: Oid, other: Oid) -> bool {
    // SAFETY: a catalog look-up by oids.
    kind == other || !is_any(other) && unsafe { pg_sys::IsBinaryCoercible(kind, other) }
}

/// The schema of what works inside the extension, where its support functions are.
pub fn own_schema() -> Oid {
    // SAFETY: a catalog look-up by name.
    unsafe { pg_sys::get_namespace_oid(c"dp_mean".as_ptr(), true) }
}

/// Whether a type is the `dp_contribution` of the extension, or a domain over it.
pub fn is_contribution(kind: Oid) -> bool {
    let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
    // SAFETY: catalog look-ups by oid. The type is one of an expression, so that it has an input function; the
    // name is NULL or a C string in PostgreSQL's memory.
    unsafe {
        pg_sys::getTypeInputInfo(pg_sys::getBaseType(kind), &mut input, &mut parameter);
        let name = pg_sys::get_func_name(input);
        !name.is_null()
            && CStr::from_ptr(name) == c"dp_contribution_in"
            && pg_sys::get_func_namespace(input) == own_schema()
    }
}

/// Whether a type is that of an argument that takes several, as `"any"`.
pub fn is_any(kind: Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::get_typtype(kind) == pg_sys::TYPTYPE_PSEUDO as std::ffi::c_char }
}

/// Whether a type holds what a person contributes, to one group or to several.
pub fn is_of_person(kind: Oid) -> bool {
    [c"dp_contribution", c"dp_groups", c"dp_part"]
        .into_iter()
        .any(|name| kind != pg_sys::InvalidOid && kind == own_type(name))
}

/// The type of the extension's with this name; 0 if there is none.
pub fn own_type(name: &CStr) -> Oid {
    let cache = pg_sys::SysCacheIdentifier::TYPENAMENSP as i32;
    // SAFETY: catalog look-ups by oid and by name; the name is read as a C string.
    unsafe {
        let schema = own_schema();
        let (name, none) = (Datum::from(name.as_ptr()), Datum::null());
        let column = pg_sys::Anum_pg_type_oid as i16;
        pg_sys::GetSysCacheOid(cache, column, name, Datum::from(schema), none, none)
    }
}

/// Whether values of a type can be read as those of another one.
pub fn is_coercible(from: Oid, to: Oid) -> bool {
    // SAFETY: catalog look-ups by oid.
    unsafe { pg_sys::IsBinaryCoercible(from, to) }
}

/// How a type is named in errors.
pub fn name(kind: Oid) -> String {
    // SAFETY: a C string in PostgreSQL's memory, of any oid.
    unsafe {
        let name = pg_sys::format_type_be(kind);
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}
