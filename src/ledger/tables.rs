//! The tables of the ledger, opened with a lock that nobody is waited for long for.

use std::ffi::{CStr, CString, c_char};
use std::thread;
use std::time::{Duration, Instant};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::ledger::defence::Defence;
use crate::ledger::errors::{self, Refusal};
use crate::pg::nodes;

#[cfg(feature = "pg_test")]
pub mod tests;

/// How long another session's lock on the ledger is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The functions of the triggers on the tables: one refuses, the other [tells all processes](super::known).
const REFUSES: &CStr = c"dp_ledger_refuse";
const TELLS: &CStr = c"dp_ledger_tell";

/// A table of the schema `dp_mean`: its name, its columns' types, and how many indexes it has.
pub struct Shape {
    name: &'static CStr,
    columns: &'static [Oid],
    indexes: usize,
}

impl Shape {
    pub const fn new(name: &'static CStr, columns: &'static [Oid], indexes: usize) -> Self {
        Self {
            name,
            columns,
            indexes,
        }
    }

    /// The types of its columns.
    pub fn columns(&self) -> impl Iterator<Item = Oid> {
        self.columns.iter().copied()
    }

    /// Its name, for messages.
    pub fn title(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }

    /// How many columns it has.
    pub fn width(&self) -> usize {
        self.columns.len()
    }
}

use pg_sys::{
    BOOLOID as BOOL, DATEOID as DATE, FLOAT8OID as FLOAT8, INT8OID as INT8,
    REGCLASSOID as REGCLASS, REGROLEOID as REGROLE, TEXTOID as TEXT, TIMESTAMPTZOID as TIME,
};

/// A row for each budget.
pub const BUDGET: Shape = Shape {
    name: c"budget",
    columns: &[INT8, TEXT, REGROLE, TIME],
    indexes: 2,
};

/// A row for each limit that was ever promised.
pub const PROMISE: Shape = Shape {
    name: c"budget_limit",
    columns: &[
        INT8, REGROLE, INT8, FLOAT8, FLOAT8, INT8, INT8, INT8, BOOL, TIME, TEXT, TEXT, FLOAT8,
    ],
    indexes: 1,
};

/// A row for each owner of a budget, and for each home of its ledger.
pub const HISTORY: Shape = Shape {
    name: c"history",
    columns: &[
        INT8, INT8, REGROLE, INT8, INT8, INT8, INT8, INT8, INT8, INT8, INT8, TIME, TEXT,
    ],
    indexes: 1,
};

/// The lines: see [`Balance`](super::balance::Balance).
pub const SPENT: Shape = Shape {
    name: c"spent",
    columns: &[
        INT8, INT8, INT8, INT8, INT8, INT8, TIME, INT8, TIME, REGROLE,
    ],
    indexes: 0,
};

/// A row for each charge, and for some of those that were refused, and of the answers that were reused.
pub const CHARGE: Shape = Shape {
    name: c"charge",
    columns: &[
        TIME, INT8, INT8, INT8, INT8, REGROLE, REGROLE, REGCLASS, BOOL, BOOL, TEXT, TEXT, INT8,
        DATE,
    ],
    indexes: 0,
};

/// A row for each budget that is cut into periods: see [`Division`](super::division::Division).
pub const DIVISION: Shape = Shape {
    name: c"budget_period",
    columns: &[INT8, INT8, INT8, INT8, TIME, DATE],
    indexes: 0,
};

/// The lines of periods: see [`Line`](super::period_lines::Line).
pub const PERIOD_SPENT: Shape = Shape {
    name: c"period_spent",
    columns: &[INT8, INT8, INT8, INT8, INT8, REGROLE, DATE],
    indexes: 0,
};

/// A row for each budget and role whose rows of charges were taken out, each time that they were.
pub const ARCHIVED: Shape = Shape {
    name: c"archived",
    columns: &[
        INT8, REGROLE, INT8, INT8, INT8, INT8, INT8, INT8, TIME, TIME, TEXT,
    ],
    indexes: 1,
};

/// A row for each time that a role was allowed to ask about a protected table, or no longer.
pub const ALLOWANCE: Shape = Shape {
    name: c"allowance",
    columns: &[REGCLASS, REGROLE, INT8, BOOL, TIME, TEXT],
    indexes: 1,
};

/// How strong a lock on a table is.
#[derive(Clone, Copy)]
pub enum Lock {
    /// To read.
    Read,
    /// To change rows in place, beside others who do.
    Change,
    /// To add rows as a part of the transaction, beside others who do, until it ends.
    Add,
    /// To take rows out, beside others who add some and nobody else who takes some, until the transaction ends.
    Take,
    /// To be the only one who adds rows, until the transaction ends.
    Alone,
}

impl Lock {
    fn mode(self) -> pg_sys::LOCKMODE {
        let mode = match self {
            Self::Read => pg_sys::AccessShareLock,
            Self::Change | Self::Add => pg_sys::RowExclusiveLock,
            Self::Take => pg_sys::ShareUpdateExclusiveLock,
            Self::Alone => pg_sys::ShareRowExclusiveLock,
        };
        mode as pg_sys::LOCKMODE
    }

    /// Takes the lock, if nobody is in its way.
    fn take(self, table: Oid) -> bool {
        // SAFETY: a lock that does not wait.
        unsafe { pg_sys::ConditionalLockRelationOid(table, self.mode()) }
    }
}

/// An open table of the ledger. Its lock goes with it, but for those that last until the transaction ends.
pub struct Table {
    relation: pg_sys::Relation,
    unlock: pg_sys::LOCKMODE,
}

impl Table {
    /// Opens a table, or says that its lock was not to be had.
    pub fn open(shape: &Shape, lock: Lock) -> Result<Self, Refusal> {
        let table = Self::find(shape).ok_or_else(errors::ledger_damaged)?;
        let start = Instant::now();
        while !lock.take(table) {
            if start.elapsed() >= PATIENCE {
                return Err(errors::ledger_locked());
            }
            pgrx::check_for_interrupts!();
            thread::sleep(Duration::from_millis(5));
        }
        let table = Self::of(table, shape, lock).ok_or_else(errors::ledger_damaged)?;
        if !matches!(lock, Lock::Read) {
            table.check_write(shape)?;
        }
        if matches!(lock, Lock::Change) && Defence::Rewrites.stands() && table.is_rewritten() {
            return Err(errors::ledger_rewritten(shape.title()));
        }
        Ok(table)
    }

    /// Opens a table if it is there, as it should be, and its lock is to be had at once.
    pub fn open_at_once(shape: &Shape, lock: Lock) -> Option<Self> {
        let table = Self::find(shape).filter(|table| lock.take(*table))?;
        let table = Self::of(table, shape, lock)?;
        let is_ours = matches!(lock, Lock::Read) || table.check_write(shape).is_ok();
        is_ours.then_some(table)
    }

    /// The number of a table.
    pub fn find(shape: &Shape) -> Option<Oid> {
        // SAFETY: plain lookups by name; within a transaction, as all calls from SQL are.
        let table = unsafe {
            let schema = pg_sys::get_namespace_oid(c"dp_mean".as_ptr(), true);
            pg_sys::get_relname_relid(shape.name.as_ptr(), schema)
        };
        (table != Oid::INVALID).then_some(table)
    }

    /// A table that is locked; `None` if it is gone, or not of this shape.
    fn of(table: Oid, shape: &Shape, lock: Lock) -> Option<Self> {
        // SAFETY: the lock is held, so the table stays what it is; NULL if it went before that.
        let relation = unsafe { pg_sys::try_relation_open(table, pg_sys::NoLock as i32) };
        if relation.is_null() {
            return None;
        }
        let unlock = match lock {
            Lock::Add | Lock::Take | Lock::Alone => pg_sys::NoLock as pg_sys::LOCKMODE,
            Lock::Read | Lock::Change => lock.mode(),
        };
        let table = Self { relation, unlock };
        table.has(shape).then_some(table)
    }

    /// That nothing but the ledger itself counts on seeing each row that is written: it is written without triggers,
    /// and without entries in indexes where it is changed in place.
    pub fn check_write(&self, shape: &Shape) -> Result<(), Refusal> {
        if Defence::Triggers.stands() && self.has_foreign_triggers() {
            return Err(errors::ledger_watched(shape.title()));
        }
        if Defence::Indexes.stands() && self.indexes() != shape.indexes {
            return Err(errors::ledger_indexed(shape.title()));
        }
        Ok(())
    }

    /// Whether a trigger is on it that CREATE EXTENSION has not made, such as that of a tool which copies the table.
    fn has_foreign_triggers(&self) -> bool {
        self.triggers().any(|(function, _)| {
            function.is_none_or(|name| ![REFUSES, TELLS].contains(&name.as_c_str()))
        })
    }

    /// Whether every process hears of rows that SQL adds, changes or deletes, whatever the session has set.
    pub fn tells_of_changes(&self) -> bool {
        self.triggers().any(|(function, enabled)| {
            function.as_deref() == Some(TELLS) && enabled as u8 == pg_sys::TRIGGER_FIRES_ALWAYS
        })
    }

    /// The functions of the triggers on it, as far as they are of the ledger's own schema, and when each fires.
    fn triggers(&self) -> impl Iterator<Item = (Option<CString>, c_char)> {
        // SAFETY: an open relation has NULL, or that many triggers.
        let (all, count) = unsafe {
            let all = (*self.relation).trigdesc;
            match all.is_null() {
                true => (all, 0),
                false => (all, usize::try_from((*all).numtriggers).unwrap_or(0)),
            }
        };
        (0..count).map(move |i| {
            // SAFETY: the same; then lookups in the catalog by number.
            unsafe {
                let trigger = (*all).triggers.add(i);
                let function = (*trigger).tgfoid;
                let schema = (*(*self.relation).rd_rel).relnamespace;
                let name = pg_sys::get_func_name(function);
                let is_own = !name.is_null() && pg_sys::get_func_namespace(function) == schema;
                let name = is_own.then(|| CStr::from_ptr(name).to_owned());
                (name, (*trigger).tgenabled)
            }
        })
    }

    /// The unique index that has these columns first, in this order.
    pub fn index_on<const N: usize>(&self, columns: [usize; N]) -> Option<Oid> {
        // SAFETY: an open relation; the list is a copy; then lookups in the catalog by number, each released.
        unsafe {
            let list = pg_sys::RelationGetIndexList(self.relation);
            let indexes = nodes::oids(list);
            pg_sys::list_free(list);
            let cache = pg_sys::SysCacheIdentifier::INDEXRELID as i32;
            indexes.into_iter().find(|index| {
                let tuple = pg_sys::SearchSysCache1(cache, Datum::from(*index));
                if tuple.is_null() {
                    return false;
                }
                let form = pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_index>();
                let mut is_of_all = false;
                let predicate = pg_sys::Anum_pg_index_indpred as i16;
                pg_sys::SysCacheGetAttr(cache, tuple, predicate, &mut is_of_all);
                let first = (*form).indkey.values.as_ptr();
                let is = is_of_all
                    && (*form).indisunique
                    && (*form).indisvalid
                    && !(*form).indcheckxmin
                    && usize::try_from((*form).indnkeyatts).unwrap_or(0) >= N
                    && (0..N).all(|i| usize::try_from(*first.add(i)) == Ok(columns[i] + 1));
                pg_sys::ReleaseSysCache(tuple);
                is
            })
        }
    }

    fn indexes(&self) -> usize {
        // SAFETY: an open relation; the list is a copy.
        unsafe {
            let indexes = pg_sys::RelationGetIndexList(self.relation);
            let count = pg_sys::list_length(indexes);
            pg_sys::list_free(indexes);
            usize::try_from(count).unwrap_or(usize::MAX)
        }
    }

    /// Whether this transaction has put it into another file, which goes if it is rolled back.
    fn is_rewritten(&self) -> bool {
        // SAFETY: an open relation.
        let made_by = unsafe {
            #[cfg(feature = "pg15")]
            let made_by = (*self.relation).rd_firstRelfilenodeSubid;
            #[cfg(not(feature = "pg15"))]
            let made_by = (*self.relation).rd_firstRelfilelocatorSubid;
            made_by
        };
        // 0 represents none.
        made_by != 0
    }

    /// Whether it is a permanent table with these columns: its rows are read and written as they lie.
    fn has(&self, shape: &Shape) -> bool {
        // SAFETY: an open relation has both structures; SPI_gettypeid takes columns up to natts.
        unsafe {
            let (class, columns) = ((*self.relation).rd_rel, (*self.relation).rd_att);
            (*class).relkind as u8 == pg_sys::RELKIND_RELATION
                && (*class).relpersistence as u8 == pg_sys::RELPERSISTENCE_PERMANENT
                && usize::try_from((*columns).natts) == Ok(shape.width())
                && (1..)
                    .zip(shape.columns)
                    .all(|(i, column)| pg_sys::SPI_gettypeid(columns, i) == *column)
        }
    }

    /// Its number in the catalog.
    pub fn id(&self) -> Oid {
        // SAFETY: an open relation.
        unsafe { (*self.relation).rd_id }
    }

    /// The open relation, for as long as `self` lives.
    pub fn relation(&self) -> pg_sys::Relation {
        self.relation
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // After an ERROR PostgreSQL closes it itself.
        if !thread::panicking() {
            // SAFETY: opened by `open`, and closed once.
            unsafe { pg_sys::relation_close(self.relation, self.unlock) };
        }
    }
}
