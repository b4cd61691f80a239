//! The salt of a database: random bytes that CREATE EXTENSION put into a table.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::sql_type::own_schema;

/// The salt that was made first: where a dump was restored, that of the dump, and not the one that CREATE EXTENSION
/// made there. Without a row, bytes of zero: nothing hangs on it but that it stays the same.
pub fn salt() -> [u8; 16] {
    const COLUMNS: [Oid; 2] = [pg_sys::TIMESTAMPTZOID, pg_sys::UUIDOID];
    let mut first: Option<(i64, [u8; 16])> = None;
    // SAFETY: look-ups by name, then a scan of all of an open table, whose columns are checked before their values
    // are read; after an ERROR PostgreSQL closes what is open. A uuid has 16 bytes.
    unsafe {
        let table = pg_sys::get_relname_relid(c"salt".as_ptr(), own_schema());
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        let relation = if table == Oid::INVALID {
            std::ptr::null_mut()
        } else {
            pg_sys::try_relation_open(table, lock)
        };
        if relation.is_null() {
            return [0; 16];
        }
        let columns = (*relation).rd_att;
        let is_a_table = (*(*relation).rd_rel).relkind as u8 == pg_sys::RELKIND_RELATION;
        let is_it = is_a_table
            && usize::try_from((*columns).natts) == Ok(COLUMNS.len())
            && (1..)
                .zip(COLUMNS)
                .all(|(i, column)| pg_sys::SPI_gettypeid(columns, i) == column);
        if is_it {
            let (snapshot, none) = (pg_sys::GetActiveSnapshot(), std::ptr::null_mut());
            let scan = pg_sys::systable_beginscan(relation, Oid::INVALID, false, snapshot, 0, none);
            loop {
                let row = pg_sys::systable_getnext(scan);
                if row.is_null() {
                    break;
                }
                let (mut values, mut nulls) =
                    ([Datum::null(); COLUMNS.len()], [true; COLUMNS.len()]);
                pg_sys::heap_deform_tuple(row, columns, values.as_mut_ptr(), nulls.as_mut_ptr());
                let [made, salt] = values;
                if !nulls.contains(&true) {
                    let made = (made.value() as i64, *salt.cast_mut_ptr::<[u8; 16]>());
                    first = Some(first.map_or(made, |first| first.min(made)));
                }
            }
            pg_sys::systable_endscan(scan);
        }
        pg_sys::relation_close(relation, lock);
    }
    first.map_or([0; 16], |(_, salt)| salt)
}
