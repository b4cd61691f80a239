//! The extension itself, as the catalog has it.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

/// Its name.
const NAME: &CStr = c"dp_mean";

/// Its number; `None` if it is not in this database.
pub fn oid() -> Option<Oid> {
    // SAFETY: a lookup in the catalog.
    let oid = unsafe { pg_sys::get_extension_oid(NAME.as_ptr(), true) };
    (oid != Oid::INVALID).then_some(oid)
}

/// Whether a function is a part of it.
pub fn has_function(function: Oid) -> bool {
    // SAFETY: a lookup in the catalog.
    let of = unsafe { pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, function) };
    oid() == Some(of)
}

/// The schema that CREATE EXTENSION, or ALTER EXTENSION, put its public objects into.
pub fn schema() -> Option<Oid> {
    read(|_, tuple| {
        // SAFETY: `read` gives a row of pg_extension.
        unsafe { (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_extension>()).extnamespace }
    })
}

/// The version of its SQL, which ALTER EXTENSION updates.
pub fn version() -> Option<String> {
    read(|table, tuple| {
        let column = pg_sys::Anum_pg_extension_extversion as i32;
        // SAFETY: `read` gives a row of pg_extension and its open table; the text of a value is a string that ends with
        // 0.
        unsafe {
            let text = pg_sys::SPI_getvalue(tuple, (*table).rd_att, column);
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    })
}

/// What `look` sees in its row, with the table that the row is of.
fn read<T>(look: impl FnOnce(pg_sys::Relation, pg_sys::HeapTuple) -> T) -> Option<T> {
    let extension = oid()?;
    // SAFETY: a scan of one row of the catalog by its number, which is read before the scan ends.
    unsafe {
        let lock = pg_sys::AccessShareLock as i32;
        let table = pg_sys::table_open(pg_sys::ExtensionRelationId, lock);
        let mut key = pg_sys::ScanKeyData::default();
        pg_sys::ScanKeyInit(
            &raw mut key,
            pg_sys::Anum_pg_extension_oid as i16,
            pg_sys::BTEqualStrategyNumber as u16,
            Oid::from_u32(pg_sys::F_OIDEQ),
            Datum::from(extension),
        );
        let index = Oid::from_u32(pg_sys::ExtensionOidIndexId);
        let scan =
            pg_sys::systable_beginscan(table, index, true, std::ptr::null_mut(), 1, &raw mut key);
        let tuple = pg_sys::systable_getnext(scan);
        let seen = (!tuple.is_null()).then(|| look(table, tuple));
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(table, lock);
        seen
    }
}
