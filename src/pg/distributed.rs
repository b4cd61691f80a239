//! Tables whose rows Citus keeps on other servers.

use pgrx::PgRelation;
use pgrx::pg_sys::{self, Datum, Oid};

/// Whether Citus plans what is asked of a table: one that is distributed, a reference table, or one of this server that
/// it manages.
pub fn is_distributed(relation: Oid) -> bool {
    // SAFETY: a look-up by a name that is a C string, and a scan of the table that only Citus makes there, whose first
    // column is the OID of a table; both are closed where this ends.
    unsafe {
        let catalog = Oid::from_u32(pg_sys::PG_CATALOG_NAMESPACE);
        let all = pg_sys::get_relname_relid(c"pg_dist_partition".as_ptr(), catalog);
        if all == Oid::INVALID {
            return false;
        }
        let lock = pg_sys::AccessShareLock as i32;
        let table = pg_sys::table_open(all, lock);
        let mut key = pg_sys::ScanKeyData::default();
        pg_sys::ScanKeyInit(
            &raw mut key,
            1,
            pg_sys::BTEqualStrategyNumber as u16,
            Oid::from_u32(pg_sys::F_OIDEQ),
            Datum::from(relation),
        );
        let none = std::ptr::null_mut();
        let scan = pg_sys::systable_beginscan(table, Oid::INVALID, false, none, 1, &raw mut key);
        let found = !pg_sys::systable_getnext(scan).is_null();
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(table, lock);
        found
    }
}

/// Whether row-level security of a table holds for its owner too.
pub fn forces_row_security(relation: Oid) -> bool {
    // SAFETY: a table that the query has locked; it is closed where this ends.
    unsafe {
        let table = PgRelation::open(relation);
        (*(*table.as_ptr()).rd_rel).relforcerowsecurity
    }
}

/// Whether a role may log in, as Citus does in its name on other servers.
pub fn may_log_in(role: Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::AUTHOID as i32;
    // SAFETY: a look-up by OID; a value that is passed by itself is read before the row is released.
    unsafe {
        let found = pg_sys::SearchSysCache1(cache, Datum::from(role));
        if found.is_null() {
            return false;
        }
        let (column, mut null) = (pg_sys::Anum_pg_authid_rolcanlogin as i16, false);
        let value = pg_sys::SysCacheGetAttr(cache, found, column, &raw mut null);
        pg_sys::ReleaseSysCache(found);
        !null && value.value() != 0
    }
}

/// The attributes of `pg_aggregate` with the functions that Citus calls for an aggregate: its struct is not among the
/// bindings.
const SUPPORT: [i16; 3] = [4, 5, 6];

/// The functions of an aggregate that take in rows, answer, and combine what servers have computed.
pub fn support_functions(aggregate: Oid) -> Vec<Oid> {
    let cache = pg_sys::SysCacheIdentifier::AGGFNOID as i32;
    // SAFETY: a look-up by OID; OIDs are passed by themselves, and read before the row is released.
    unsafe {
        let found = pg_sys::SearchSysCache1(cache, Datum::from(aggregate));
        if found.is_null() {
            return Vec::new();
        }
        let mut null = false;
        let functions = SUPPORT.map(|column| {
            let value = pg_sys::SysCacheGetAttr(cache, found, column, &raw mut null);
            Oid::from_u32(value.value() as u32)
        });
        pg_sys::ReleaseSysCache(found);
        functions
            .into_iter()
            .filter(|function| *function != Oid::INVALID)
            .collect()
    }
}
