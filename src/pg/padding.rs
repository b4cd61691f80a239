//! Work that seems to end at fixed times alone: at a multiple of a time after it began, with an answer or with an ERROR.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use pgrx::pg_sys;

use crate::pg::attempt::is_cancel;

/// What `work` answers, or the ERROR that it raised, at the next multiple of `time` after its start; at once if `time` is
/// zero.
///
/// A cancel ends the wait as it ends the work: at once. So the wait looks like the work to who cancels.
pub fn padded<R>(time: Duration, work: impl FnOnce() -> R) -> R {
    if time.is_zero() {
        return work();
    }
    let start = Instant::now();
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => {
            wait(start, time, || true);
            answer
        }
        Err(payload) => {
            if !is_cancel(&*payload) {
                wait_after_error(start, time);
            }
            resume_unwind(payload)
        }
    }
}

/// An ERROR that is on its way is kept back until the next multiple.
fn wait_after_error(start: Instant, time: Duration) {
    // SAFETY: the end of the transaction, or of a subtransaction, begins with it too: nobody may wait for what the ERROR
    // has left locked. The ERROR has ended what held off interrupts.
    unsafe { pg_sys::LWLockReleaseAll() };
    // Workers of a parallel plan may go on, and raise an ERROR of their own, which must not end the wait. What a cancel
    // raises is looked for before their messages.
    // SAFETY: flags of this process, which signals set.
    wait(start, time, || unsafe {
        let is_ended = pg_sys::QueryCancelPending != 0 || pg_sys::ProcDiePending != 0;
        is_ended || !is_set(pg_sys::ParallelMessagePending)
    });
}

/// Whether a flag is set, which is a `bool` or a number, as the version of PostgreSQL has it.
fn is_set(flag: impl Into<i32>) -> bool {
    flag.into() != 0
}

/// Waits until the next multiple of `time` after `start`. Interrupts are processed where they may.
fn wait(start: Instant, time: Duration, may_be_interrupted: impl Fn() -> bool) {
    let end = start + next_multiple(start.elapsed(), time);
    loop {
        if may_be_interrupted() {
            pgrx::check_for_interrupts!();
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
        // At least the rest of the time, as whole milliseconds.
        let milliseconds = left.as_millis() + 1;
        // SAFETY: the latch of this process. No kind of wait is shown in pg_stat_activity: it would say that the work is
        // done.
        unsafe {
            let milliseconds = milliseconds.try_into().unwrap_or(std::ffi::c_long::MAX);
            pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, milliseconds, 0);
            pg_sys::ResetLatch(pg_sys::MyLatch);
        }
    }
}

/// The first multiple of `time`, which is not zero, that is greater than `elapsed`.
fn next_multiple(elapsed: Duration, time: Duration) -> Duration {
    let past = elapsed.as_nanos() % time.as_nanos();
    let left = time.as_nanos() - past;
    elapsed + Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX))
}
