//! Tables by their numbers: a lock, and how large they are.

use pgrx::pg_sys::{self, Oid};

/// Locks a table in this mode until the transaction ends; false if there is none of this number.
pub fn lock(relation: Oid, mode: u32) -> bool {
    // SAFETY: a lock by number, and a lookup, which answers for any number.
    unsafe {
        pg_sys::LockRelationOid(relation, mode as i32);
        !pg_sys::get_rel_name(relation).is_null()
    }
}

/// How many rows a table has, as the planner estimates it, but that a table which is new is no larger than its pages.
pub fn estimated_rows(relation: Oid) -> f64 {
    let (mut pages, mut rows, mut visible) = (0, 0.0, 0.0);
    // SAFETY: a table that a query which is planned has locked; it is closed where this ends.
    let there = unsafe {
        let table = pgrx::PgRelation::open(relation);
        pg_sys::estimate_rel_size(
            table.as_ptr(),
            std::ptr::null_mut(),
            &raw mut pages,
            &raw mut rows,
            &raw mut visible,
        );
        pg_sys::RelationGetNumberOfBlocksInFork(table.as_ptr(), pg_sys::ForkNumber::MAIN_FORKNUM)
    };
    match pages {
        0 => rows,
        _ => rows * f64::from(there.min(pages)) / f64::from(pages),
    }
}
