//! In which order pages were locked, for `#[pg_test]`s: only in the build with them.

use std::cell::Cell;

use pgrx::pg_sys::{BlockNumber, Oid};

/// The last locks. Of a fixed size, as nothing may allocate while a page is locked.
const MOST: usize = 8;

thread_local! {
    static LOCKED: Cell<[Option<(Oid, BlockNumber)>; MOST]> = const { Cell::new([None; MOST]) };
}

/// A page of this table is locked.
pub fn note(table: Oid, block: BlockNumber) {
    let mut locked = LOCKED.get();
    locked.rotate_right(1);
    locked[0] = Some((table, block));
    LOCKED.set(locked);
}

/// What was locked since this was asked last, the first one first; up to eight.
pub fn noted() -> Vec<(Oid, BlockNumber)> {
    let locked = LOCKED.replace([None; MOST]);
    locked.into_iter().rev().flatten().collect()
}
