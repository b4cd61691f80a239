//! Changes by SQL of the tables whose rows are changed in place, as this process hears of them. Where a process has found
//! rows, it finds them again by that, until it hears of a change: a trigger (`tell`) tells all processes when SQL adds,
//! changes or deletes a row, and PostgreSQL itself when a table is put into another file. Where that trigger does not
//! fire whatever a session sets, nothing is heard.

use std::cell::Cell;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::ledger::tables::{DIVISION, PERIOD_SPENT, SPENT, Shape, Table};

/// The tables that tell.
pub const TELLING: [&Shape; 3] = [&SPENT, &DIVISION, &PERIOD_SPENT];

/// Which of these a table is, by its place among them.
#[derive(Clone, Copy)]
pub enum Telling {
    Spent,
    Divisions,
    PeriodLines,
}

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// The tables whose changes count.
    static LISTENED: Cell<[Oid; TELLING.len()]> = const { Cell::new([Oid::INVALID; TELLING.len()]) };
    static IS_REGISTERED: Cell<bool> = const { Cell::new(false) };
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn changed(_context: Datum, relation: Oid) {
    if relation == Oid::INVALID || LISTENED.get().contains(&relation) {
        forget();
    }
}

/// From now on, this process hears of changes of the table.
pub fn listen(telling: Telling, table: &Table) {
    if !IS_REGISTERED.replace(true) {
        // SAFETY: a callback that stays for as long as the process.
        unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(changed), Datum::null()) };
    }
    let mut listened = LISTENED.get();
    if listened[telling as usize] != table.id() {
        listened[telling as usize] = table.id();
        LISTENED.set(listened);
        forget();
    }
}

/// Whether this process hears of each change of the table.
pub fn hears(telling: Telling, table: &Table) -> bool {
    LISTENED.get()[telling as usize] == table.id() && table.tells_of_changes()
}

/// How many changes this process has heard of: what was found holds while it is the same.
pub fn count() -> u64 {
    COUNT.get()
}

/// Forgets all that was found: a row was not where it was.
pub fn forget() {
    COUNT.set(COUNT.get().wrapping_add(1));
}

/// Tells all processes, when the transaction is committed, to look again. This one hears it before its next statement.
pub fn tell() {
    for table in TELLING.into_iter().filter_map(Table::find) {
        // SAFETY: a table by its number; of one that is gone it is an ERROR.
        unsafe { pg_sys::CacheInvalidateRelcacheByRelid(table) };
    }
}
