//! What a session is: who asks, in which words, and whether it can write.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid, Snapshot, TransactionId};

use crate::ledger::rows::Text;

/// The role whose rights count now.
pub fn role() -> Oid {
    // SAFETY: within a transaction it is always set.
    unsafe { pg_sys::GetUserId() }
}

/// Whether the current role is a superuser.
pub fn is_superuser() -> bool {
    // SAFETY: a lookup in the catalog.
    unsafe { pg_sys::superuser() }
}

/// The role that the session has for SET ROLE to go from.
pub fn session_role() -> Oid {
    // SAFETY: the same.
    unsafe { pg_sys::GetSessionUserId() }
}

/// Whether the current role has the rights of another.
pub fn has_rights_of(other: Oid) -> bool {
    // SAFETY: a lookup in the catalog.
    unsafe { pg_sys::has_privs_of_role(role(), other) }
}

/// Whether a role has the rights of another.
pub fn has_rights(role: Oid, other: Oid) -> bool {
    // SAFETY: a lookup in the catalog.
    unsafe { pg_sys::has_privs_of_role(role, other) }
}

/// Whether the transaction looks at one snapshot throughout: it may be older than an index, and see rows that the index
/// would not have had.
pub fn keeps_a_snapshot() -> bool {
    // SAFETY: it reads a number of this process.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Whether a snapshot has what a transaction did, another one or this one itself.
pub fn is_seen(transaction: TransactionId, snapshot: Snapshot) -> bool {
    // SAFETY: a snapshot of a plan that has started, and the number of a transaction that made a row of the catalog.
    unsafe {
        pg_sys::TransactionIdIsCurrentTransactionId(transaction)
            || !snapshot.is_null() && !pg_sys::XidInMVCCSnapshot(transaction, snapshot)
    }
}

/// Whether the current role may become another, as a role that gives it something must.
pub fn can_set_role(other: Oid) -> bool {
    // SAFETY: a lookup in the catalog.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::is_member_of_role(role(), other);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::member_can_set_role(role(), other);
    }
}

/// The name of the database.
pub fn database() -> String {
    // SAFETY: a lookup in the catalog; NULL, or a string in memory of this call.
    unsafe {
        let name = pg_sys::get_database_name(pg_sys::MyDatabaseId);
        match name.is_null() {
            true => String::new(),
            false => CStr::from_ptr(name).to_string_lossy().into_owned(),
        }
    }
}

/// The name of a role; `None` if there is none with this number.
pub fn name_of(role: Oid) -> Option<String> {
    // SAFETY: a lookup in the catalog; NULL, or a string in memory of this call.
    unsafe {
        let name = pg_sys::GetUserNameFromId(role, true);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// The name of the role whose rights count now, as it is kept with what it did: unlike its number, a dump can be
/// restored with it where the role is missing.
pub fn role_name() -> Text {
    Text::new(name_of(role()).unwrap_or_default().as_bytes())
}

/// The text that the client sent, cut where a character ends: at most that many bytes.
pub fn query(most: usize) -> Text {
    // SAFETY: NULL, or a string that lives as long as the statement; pg_mbcliplen reads as many bytes as it has.
    let query = unsafe {
        let query = pg_sys::debug_query_string;
        if query.is_null() {
            return Text::new(b"");
        }
        CStr::from_ptr(query)
    };
    let length = i32::try_from(query.count_bytes()).unwrap_or(i32::MAX);
    let most = i32::try_from(most).unwrap_or(i32::MAX);
    // SAFETY: the same.
    let length = unsafe { pg_sys::pg_mbcliplen(query.as_ptr(), length, most) };
    Text::new(&query.to_bytes()[..length as usize])
}

/// Now, and not when the transaction began.
pub fn now() -> i64 {
    // SAFETY: it reads a clock.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// Whether this server only follows another.
pub fn on_standby() -> bool {
    // SAFETY: a question to shared memory.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// Whether the transaction keeps a lock on each row that it reads, which everybody sees in pg_locks.
pub fn shows_reads() -> bool {
    // SAFETY: it reads a number.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}

/// Whether this process takes part in a parallel plan.
pub fn in_parallel() -> bool {
    // SAFETY: a question to the transaction's state.
    unsafe { pg_sys::IsInParallelMode() }
}

/// Whether this process is a parallel worker.
pub fn is_worker() -> bool {
    // SAFETY: it reads a number of this process.
    unsafe { pg_sys::ParallelWorkerNumber >= 0 }
}

/// Refuses, by PostgreSQL's own ERROR, where the transaction cannot write.
pub fn refuse_read_only(command: &'static CStr) {
    // SAFETY: a string that lives for good.
    unsafe {
        pg_sys::PreventCommandDuringRecovery(command.as_ptr());
        pg_sys::PreventCommandIfReadOnly(command.as_ptr());
        pg_sys::PreventCommandIfParallelMode(command.as_ptr());
    }
}
