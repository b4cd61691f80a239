//! Work that a statement does not need: where it fails, it is as if it had not been tried.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pgrx::pg_sys::panic::{CaughtError, ErrorReport, ErrorReportWithLevel};
use pgrx::{PgSqlErrorCode, pg_sys};

#[cfg(feature = "pg_test")]
pub mod tests;

/// What `work` answers; `None` if it raised an ERROR, which is dropped, with the locks and pins that it had taken. A
/// cancel passes, as does a mistake of ours.
///
/// Up to PostgreSQL 16 a parallel plan has no subtransactions: there each ERROR passes.
pub fn attempt<R>(work: impl FnOnce() -> R) -> Option<R> {
    if !has_subtransactions() {
        return Some(work());
    }
    // SAFETY: a subtransaction is begun and ended, and what it replaces is put back, as languages do it that catch
    // errors. An ERROR leaves the count of those who hold off interrupts to us.
    let result = unsafe {
        let (memory, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let held_off = pg_sys::InterruptHoldoffCount;
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(memory);
        let result = catch_unwind(AssertUnwindSafe(work));
        match result {
            Ok(_) => pg_sys::ReleaseCurrentSubTransaction(),
            Err(_) => {
                pg_sys::InterruptHoldoffCount = held_off;
                pg_sys::RollbackAndReleaseCurrentSubTransaction();
                pg_sys::FlushErrorState();
            }
        }
        pg_sys::MemoryContextSwitchTo(memory);
        pg_sys::CurrentResourceOwner = owner;
        result
    };
    match result {
        Ok(answer) => Some(answer),
        Err(payload) if is_dropped(&*payload) => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Whether what unwinds is the ERROR of a cancel, or of a timeout.
pub fn is_cancel(payload: &(dyn Any + Send)) -> bool {
    match payload.downcast_ref::<CaughtError>() {
        Some(CaughtError::PostgresError(report) | CaughtError::ErrorReport(report)) => {
            report.sql_error_code() == PgSqlErrorCode::ERRCODE_QUERY_CANCELED
        }
        _ => false,
    }
}

/// Whether what unwinds is an ERROR that nobody asked for.
fn is_dropped(payload: &(dyn Any + Send)) -> bool {
    match payload.downcast_ref::<CaughtError>() {
        Some(CaughtError::RustPanic { .. }) => false,
        Some(_) => !is_cancel(payload),
        None => payload.is::<ErrorReport>() || payload.is::<ErrorReportWithLevel>(),
    }
}

fn has_subtransactions() -> bool {
    // SAFETY: a question to the transaction's state.
    cfg!(any(feature = "pg17", feature = "pg18")) || !unsafe { pg_sys::IsInParallelMode() }
}
