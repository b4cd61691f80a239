//! What the catalog says of types.

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
