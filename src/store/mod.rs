//! The store: answers that are kept for a while, so that the same question has the same answer, and costs nothing.
//!
//! It is a cache. What is kept may be there or not; what is damaged, too old or of another version is not there. It
//! lies in a table of its own, `dp_mean.answer` of `sql/store.sql`, whose pages are changed in place, outside of every
//! transaction: no ROLLBACK takes an answer back, and a transaction that is READ ONLY keeps one. A standby has what its
//! primary kept. Answers are cut into parts. Each part lies on one of a few pages that its key names, so that a look-up
//! needs no index.

mod cache;
mod format;
mod key;
mod lock;
mod pages;
#[cfg(feature = "pg_test")]
pub mod tests;

use std::time::Duration;

pub use key::{Key, LONGEST, MOST_BYTES};
pub use lock::lock;

use crate::ledger::session;
use crate::pg::attempt::attempt;
#[cfg(feature = "testing")]
use crate::pg::settings;
use crate::store::pages::Pages;

/// The answer that is kept of a question, if it has not expired. It works on standbys and in parallel plans.
pub fn find(key: &Key) -> Option<Vec<u8>> {
    attempt(|| cache::find(&Pages::open_to_read()?, key, now())).flatten()
}

/// Keeps an answer from now on for this long. What cannot be kept is not.
pub fn keep(key: &Key, answer: &[u8], lifetime: Duration) {
    if session::on_standby() || answer.len() > MOST_BYTES || lifetime.is_zero() {
        return;
    }
    let lifetime = lifetime.min(LONGEST).as_micros();
    let until = now().saturating_add(i64::try_from(lifetime).unwrap_or(0));
    attempt(|| {
        let kept = Pages::open_to_write()?;
        cache::keep(&kept, key, answer, now(), until)
    });
}

/// Now, in microseconds, as PostgreSQL counts them.
fn now() -> i64 {
    #[cfg(feature = "testing")]
    return session::now() + settings::clock_ahead();
    #[cfg(not(feature = "testing"))]
    session::now()
}
