//! Where there are synchronous standbys, a charge is on their disks too before it returns.

use pgrx::pg_sys;

use crate::ledger::errors::{self, Refusal};
use crate::ledger::pages::Written;

/// Waits for the synchronous standbys, whatever the session has set `synchronous_commit` to.
pub fn wait(written: Written) -> Result<(), Refusal> {
    if !has_standbys() {
        return Ok(());
    }
    // SAFETY: the setting is put back as it was; the wait is to hold off interrupts, as it does at a COMMIT.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        pg_sys::set_config_option(
            c"synchronous_commit".as_ptr(),
            c"on".as_ptr(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
        pg_sys::InterruptHoldoffCount += 1;
        pg_sys::SyncRepWaitForLSN(written.0, true);
        pg_sys::InterruptHoldoffCount -= 1;
        pg_sys::AtEOXact_GUC(true, level);
    }
    // A cancel ends that wait with a WARNING only.
    if confirmed() >= written.0 {
        Ok(())
    } else {
        Err(errors::ledger_not_replicated())
    }
}

fn has_standbys() -> bool {
    // SAFETY: a setting: NULL, or a string.
    unsafe { !pg_sys::SyncRepStandbyNames.is_null() && *pg_sys::SyncRepStandbyNames != 0 }
}

/// How far the standbys have the WAL on disk.
fn confirmed() -> pg_sys::XLogRecPtr {
    // SAFETY: shared memory that lives as long as the server; a word that only grows, and is read at once.
    unsafe {
        let place = pg_sys::SYNC_REP_WAIT_FLUSH as usize;
        (&raw const (*pg_sys::WalSndCtl).lsn[place]).read_volatile()
    }
}
