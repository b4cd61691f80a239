//! Opening the ledger's tables, as they are and as they should not be.

use pgrx::pg_test;
use std::ffi::CStr;

use pgrx::pg_sys::{self, LOCKMODE};

use crate::ledger::tables::{
    BUDGET, CHARGE, DIVISION, HISTORY, Lock, PERIOD_SPENT, PROMISE, SPENT, Shape, Table,
};
use crate::pg::test_helpers::sql;

/// A new table of this shape, which goes with the check.
pub fn scratch(shape: &Shape, name: &'static CStr) -> Table {
    let [new, like] = [name, shape.name].map(|name| name.to_str().expect("a plain name"));
    sql(&format!("CREATE TABLE dp_mean.{new} (LIKE dp_mean.{like})"));
    open_scratch(shape, name, Lock::Change)
}

/// The table that [`scratch`] made, opened again.
pub fn open_scratch(shape: &Shape, name: &'static CStr, lock: Lock) -> Table {
    let columns = shape.columns;
    let table = Table::open(
        &Shape {
            name,
            columns,
            indexes: 0,
        },
        lock,
    );
    table.unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// Whether this session holds a lock of this kind.
fn holds(table: pg_sys::Oid, mode: u32) -> bool {
    // SAFETY: it looks into the session's own locks.
    unsafe { pg_sys::CheckRelationOidLockedByMe(table, mode as LOCKMODE, false) }
}

/// That a table is refused, as one that CREATE EXTENSION has not made.
fn damaged(shape: &Shape) {
    match Table::open(shape, Lock::Read) {
        Ok(_) => panic!("{:?} is opened", shape.name),
        Err(refusal) => {
            let words = format!("{refusal:?}");
            assert!(
                words.contains("not as CREATE EXTENSION made them"),
                "{words}"
            );
        }
    }
}

#[pg_test]
fn every_table_of_the_ledger_has_its_shape() {
    for (shape, width) in [
        (&BUDGET, 4),
        (&PROMISE, 13),
        (&HISTORY, 13),
        (&SPENT, 10),
        (&CHARGE, 14),
        (&DIVISION, 6),
        (&PERIOD_SPENT, 7),
    ] {
        assert_eq!(shape.width(), width);
        assert_eq!(shape.columns().count(), width);
        for lock in [Lock::Read, Lock::Change, Lock::Add, Lock::Alone] {
            assert!(Table::open(shape, lock).is_ok(), "{:?}", shape.name);
        }
    }
}

#[pg_test]
fn a_lock_goes_with_its_table_but_two() {
    for (lock, mode, stays) in [
        (Lock::Read, pg_sys::AccessShareLock, false),
        (Lock::Change, pg_sys::RowExclusiveLock, false),
        (Lock::Add, pg_sys::RowExclusiveLock, true),
        (Lock::Alone, pg_sys::ShareRowExclusiveLock, true),
    ] {
        let table = scratch(&SPENT, c"scratch_locks");
        let id = table.id();
        drop(table);
        let table = open_scratch(&SPENT, c"scratch_locks", lock);
        assert!(holds(id, mode));
        drop(table);
        assert_eq!(holds(id, mode), stays);
        sql("DROP TABLE dp_mean.scratch_locks");
    }
}

#[pg_test]
fn what_is_not_there_is_refused() {
    damaged(&Shape {
        name: c"no_such_table",
        columns: SPENT.columns,
        indexes: 0,
    });
    // A table of the search path is none of the ledger's.
    sql(
        "CREATE TABLE public.elsewhere (LIKE dp_mean.spent); SET LOCAL search_path = public, dp_mean",
    );
    damaged(&Shape {
        name: c"elsewhere",
        columns: SPENT.columns,
        indexes: 0,
    });
}

#[pg_test]
fn other_columns_are_refused() {
    for change in [
        "ADD COLUMN more int",
        "DROP COLUMN charges",
        "ALTER COLUMN charges TYPE int",
        "ALTER COLUMN role TYPE oid",
    ] {
        sql(&format!(
            "CREATE TABLE dp_mean.changed (LIKE dp_mean.spent); ALTER TABLE dp_mean.changed {change}"
        ));
        damaged(&Shape {
            name: c"changed",
            columns: SPENT.columns,
            indexes: 0,
        });
        sql("DROP TABLE dp_mean.changed");
    }
}

#[pg_test]
fn what_is_no_permanent_table_is_refused() {
    for make in [
        "CREATE UNLOGGED TABLE dp_mean.changed (LIKE dp_mean.spent)",
        "CREATE VIEW dp_mean.changed AS SELECT * FROM dp_mean.spent",
        "CREATE MATERIALIZED VIEW dp_mean.changed AS SELECT * FROM dp_mean.spent",
        "CREATE TABLE dp_mean.changed (LIKE dp_mean.spent) PARTITION BY LIST (budget)",
    ] {
        sql(make);
        damaged(&Shape {
            name: c"changed",
            columns: SPENT.columns,
            indexes: 0,
        });
        let kind = make
            .split(' ')
            .find(|word| ["TABLE", "VIEW", "MATERIALIZED"].contains(word));
        let kind = kind
            .expect("a kind")
            .replace("MATERIALIZED", "MATERIALIZED VIEW");
        sql(&format!("DROP {kind} dp_mean.changed"));
    }
}
