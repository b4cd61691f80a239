//! Where a ledger is kept. A standby that was promoted, a restored backup and a copied database have another home than
//! the ledger was charged at, and may lack charges that were made there.

use std::cell::Cell;
use std::fs;
use std::io::ErrorKind;

use pgrx::pg_sys;

use crate::ledger::tables::{HISTORY, Lock, Table};
use crate::pg::errors::Refusal;

/// A server that starts from a base backup leaves this file in its data directory, where the process works.
const BACKUP_LABEL: &str = "backup_label.old";

/// What tells one home from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// The system identifier: another one after initdb, `pg_upgrade` and logical replication.
    pub system: i64,
    /// The timeline: the next one after a promotion and after recovery to a point in time.
    pub timeline: i64,
    /// The database: another one after a dump and `CREATE DATABASE ... TEMPLATE`.
    pub database: i64,
    /// The table of this: another one after `DROP EXTENSION`.
    pub ledger: i64,
    /// Where the base backup began in the WAL that the server was started from; 0 if it was not, or nobody knows.
    pub backup: i64,
}

impl Home {
    /// Where this process is. The server must not be a standby.
    ///
    /// # Errors
    /// The ledger is damaged or locked.
    pub fn here() -> Result<Self, Refusal> {
        let table = Table::open(&HISTORY, Lock::Read)?;
        // SAFETY: words of shared memory and of this process; a promotion sets the timeline before recovery ends.
        let (system, timeline, database) = unsafe {
            (
                pg_sys::GetSystemIdentifier(),
                pg_sys::GetWALInsertionTimeLine(),
                pg_sys::MyDatabaseId,
            )
        };
        Ok(Self {
            system: system as i64,
            timeline: timeline.into(),
            database: database.to_u32().into(),
            ledger: table.id().to_u32().into(),
            backup: backup(),
        })
    }

    /// What of this home, where a ledger was charged, is another thing here: what it is, there and here.
    pub fn differs(&self, here: &Self) -> Option<(&'static str, i64, i64)> {
        let parts = [
            ("the system identifier", self.system, here.system),
            ("the timeline", self.timeline, here.timeline),
            ("the OID of the database", self.database, here.database),
            ("the OID of dp_mean.history", self.ledger, here.ledger),
            // The file may be deleted.
            (
                "the base backup",
                self.backup,
                if here.backup == 0 {
                    self.backup
                } else {
                    here.backup
                },
            ),
        ];
        parts.into_iter().find(|(_, there, here)| there != here)
    }
}

/// The base backup that the server was started from. It stays the same as long as the server runs.
fn backup() -> i64 {
    thread_local! {
        static KNOWN: Cell<Option<i64>> = const { Cell::new(None) };
    }
    KNOWN.get().unwrap_or_else(|| {
        let backup = match fs::read_to_string(BACKUP_LABEL) {
            Ok(label) => start_of(&label).unwrap_or(-1),
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(_) => -1,
        };
        KNOWN.set(Some(backup));
        backup
    })
}

/// The place that a label names, as in `START WAL LOCATION: 0/2000028 (file 000000010000000000000002)`.
fn start_of(label: &str) -> Option<i64> {
    let place = label
        .lines()
        .find_map(|line| line.strip_prefix("START WAL LOCATION: "))?;
    let (high, low) = place.split(' ').next()?.split_once('/')?;
    let number = |hex| u32::from_str_radix(hex, 16).ok().map(i64::from);
    Some(number(high)? << 32 | number(low)?)
}
