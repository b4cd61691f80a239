//! What is counted of each database, for those who watch a server: in shared memory, where the library is loaded with
//! the server. What is counted never goes into an answer or a message.

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use pgrx::pg_sys::{self, Oid};
use pgrx::shmem::PGRXSharedMemory;
use pgrx::{PgAtomic, pg_guard, pg_shmem_init};

#[cfg(feature = "pg_test")]
pub mod tests;

/// What is counted.
#[derive(Clone, Copy)]
pub enum Event {
    /// A query about protected tables was charged, and ran.
    Query,
    /// A charge of a budget.
    Charge,
    /// Noise was drawn for an answer.
    Release,
    /// A query was refused: it is not proven private, or not allowed.
    RefusedQuery,
    /// A charge was refused, as the budget has no room.
    RefusedBudget,
    /// An argument was refused.
    RefusedArgument,
    /// What was asked cannot be had now: locks, standbys, memory.
    Unavailable,
    /// A mistake of ours, or a ledger that was damaged.
    Internal,
}

/// How many kinds of events there are.
pub const EVENTS: usize = 8;

/// For how many databases there is a line. The last line adds up those that came later.
const DATABASES: usize = 1024;

/// What was counted of a database.
struct DatabaseCounts {
    /// Its number; 0: of none yet.
    database: AtomicU32,
    events: [AtomicU64; EVENTS],
}

impl DatabaseCounts {
    const fn new() -> Self {
        Self {
            database: AtomicU32::new(0),
            events: [const { AtomicU64::new(0) }; EVENTS],
        }
    }

    fn count(&self, event: Event) {
        self.events[event as usize].fetch_add(1, Relaxed);
    }
}

struct Lines {
    /// When the server started to count.
    since: pg_sys::TimestampTz,
    lines: [DatabaseCounts; DATABASES],
}

// SAFETY: numbers and atomic numbers, without pointers: the same in every process.
unsafe impl PGRXSharedMemory for Lines {}

// SAFETY: nobody else has this name.
static LINES: PgAtomic<Lines> = unsafe { PgAtomic::new(c"dp_mean counters") };

/// Whether `LINES` is there: every process has this from the postmaster.
static COUNTS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The line of this process's database, once it was looked for.
    static OWN: Cell<Option<&'static DatabaseCounts>> = const { Cell::new(None) };
}

/// Called when the library is loaded: where the server does it, as it starts, there will be counters.
// The macro asks for versions of PostgreSQL that this crate has no feature for.
#[allow(unexpected_cfgs)]
pub fn install() {
    // SAFETY: PostgreSQL sets it before it loads a library.
    if unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        pg_shmem_init!(
            LINES = Lines {
                // SAFETY: it reads a clock.
                since: unsafe { pg_sys::GetCurrentTimestamp() },
                lines: [const { DatabaseCounts::new() }; DATABASES],
            }
        );
        COUNTS.store(true, Relaxed);
    }
}

/// Counts an event of this process's database, if anything is counted.
pub fn count(event: Event) {
    if !COUNTS.load(Relaxed) {
        return;
    }
    let line = OWN.get().or_else(|| {
        // SAFETY: a number of this process.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        let line = (database != 0).then(|| line_of(&LINES.get().lines, database));
        OWN.set(line);
        line
    });
    if let Some(line) = line {
        line.count(event);
    }
}

/// The line of a database, made if it is not there; the last one, if there is no room.
fn line_of(lines: &[DatabaseCounts], database: u32) -> &DatabaseCounts {
    let (last, others) = lines.split_last().expect("there are lines");
    let own = others.iter().find(|line| {
        let found = line
            .database
            .compare_exchange(0, database, Relaxed, Relaxed);
        found.is_ok() || found == Err(database)
    });
    own.unwrap_or(last)
}

/// What was counted of a database.
pub struct Counted {
    /// Its number; `None` of all those without a line of their own.
    pub database: Option<Oid>,
    pub events: [u64; EVENTS],
}

/// What was counted, and since when; `None` if nothing is.
pub fn counted() -> Option<(pg_sys::TimestampTz, Vec<Counted>)> {
    if !COUNTS.load(Relaxed) {
        return None;
    }
    let Lines { since, lines } = LINES.get();
    Some((*since, read(lines)))
}

/// The lines that are somebody's.
fn read(lines: &[DatabaseCounts]) -> Vec<Counted> {
    let counted = lines.iter().map(|line| {
        let database = Some(line.database.load(Relaxed)).filter(|number| *number != 0);
        Counted {
            database: database.map(Oid::from_u32),
            events: line.events.each_ref().map(|event| event.load(Relaxed)),
        }
    });
    let is_used = |line: &Counted| line.database.is_some() || line.events != [0; EVENTS];
    counted.filter(is_used).collect()
}
