//! What the catalog says of types.

use std::ffi::CStr;

use pgrx::pg_sys;

/// Whether a type is boolean, or a domain over it.
pub fn is_boolean(kind: pg_sys::Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::getBaseType(kind) == pg_sys::BOOLOID }
}

/// Whether a type is an array of booleans, or a domain over one.
pub fn is_boolean_array(kind: pg_sys::Oid) -> bool {
    // SAFETY: catalog look-ups by oid; the element type of what is no array is 0.
    is_boolean(unsafe { pg_sys::get_element_type(pg_sys::getBaseType(kind)) })
}

/// Whether values of a type are varlenas, as those of `dp_mechanism` are: bytes with their length.
pub fn is_varlena(kind: pg_sys::Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::get_typlen(kind) == -1 }
}

/// Whether a type is the `dp_contribution` of the extension that `function` belongs to, or a domain over it.
pub fn is_contribution(kind: pg_sys::Oid, function: pg_sys::Oid) -> bool {
    let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
    // SAFETY: catalog look-ups by oid. The type is one of an expression, so that it has an input function; the
    // name is NULL or a C string in PostgreSQL's memory.
    unsafe {
        pg_sys::getTypeInputInfo(pg_sys::getBaseType(kind), &mut input, &mut parameter);
        let name = pg_sys::get_func_name(input);
        !name.is_null()
            && CStr::from_ptr(name) == c"dp_contribution_in"
            && pg_sys::get_func_namespace(input) == pg_sys::get_func_namespace(function)
    }
}
