//! Who asks a question first is waited for by those who ask the same meanwhile: it is then paid once.
//!
//! The lock is one of the session, as of `pg_advisory_lock`, but with a number that SQL cannot name. A transaction would
//! keep it for too long: it is let go as soon as the answer is kept.

use std::cell::RefCell;

use pgrx::pg_sys::{self, LOCKTAG};

use crate::ledger::session;
use crate::pg::transaction::{self, Ends};
use crate::store::key::Key;

/// What tells our locks from those of SQL, which have 1 and 2.
const CLASS: u16 = 77;

const MODE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;

/// A lock that this session has, the depth of the transaction that took it, and a number of its own.
struct Taken {
    number: u64,
    tag: LOCKTAG,
    depth: i32,
}

/// The locks of this session.
#[derive(Default)]
struct All {
    last: u64,
    taken: Vec<Taken>,
}

thread_local! {
    static ALL: RefCell<Option<All>> = const { RefCell::new(None) };
}

/// An [`Asking`] may be lost that was not dropped.
static ENDS: Ends = Ends {
    ended: || release(|_| true),
    rolled_back: |depth| release(|taken| taken.depth >= depth),
};

/// The right to answer a question, which nobody else has as long as this lives.
pub struct Asking(u64);

impl Drop for Asking {
    fn drop(&mut self) {
        let is_own = |taken: &Taken| taken.number == self.0;
        release(is_own);
    }
}

/// Waits until nobody else answers the question. A cancel and a timeout end the wait, by their ERROR. `None` on a
/// standby, which answers nothing new.
pub fn lock(key: &Key) -> Option<Asking> {
    if session::on_standby() {
        return None;
    }
    // Before the lock is taken all else is done that can fail.
    let number = ALL.with_borrow_mut(|all| {
        let all = all.get_or_insert_with(|| {
            transaction::listen(&ENDS);
            All::default()
        });
        all.taken.reserve(1);
        all.last += 1;
        all.last
    });
    let tag = tag(key);
    // SAFETY: the tag of a lock; it is let go by `release`, whatever comes.
    unsafe { pg_sys::LockAcquire(&raw const tag, MODE, true, false) };
    let depth = transaction::depth();
    let taken = Taken { number, tag, depth };
    ALL.with_borrow_mut(|all| all.get_or_insert_default().taken.push(taken));
    Some(Asking(number))
}

/// The lock of a question. Two questions may share one.
fn tag(key: &Key) -> LOCKTAG {
    let word = |i: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| key.0[4 * i + j]);
        u32::from_ne_bytes([a, b, c, d])
    };
    LOCKTAG {
        // SAFETY: a number of this process.
        locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
        locktag_field2: word(0),
        locktag_field3: word(1),
        locktag_field4: CLASS,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

/// Lets those locks go that are `done`.
fn release(done: impl Fn(&Taken) -> bool) {
    while let Some(taken) = ALL.with_borrow_mut(|all| {
        let taken = &mut all.as_mut()?.taken;
        let place = taken.iter().position(&done)?;
        Some(taken.swap_remove(place))
    }) {
        // SAFETY: a lock of the session. pg_advisory_unlock_all() may have let it go before.
        unsafe {
            if is_held(&taken.tag) {
                pg_sys::LockRelease(&raw const taken.tag, MODE, true);
            }
        }
    }
}

/// # Safety
/// Within a transaction, or where one ends.
unsafe fn is_held(tag: &LOCKTAG) -> bool {
    // SAFETY: it looks into the session's own locks.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return pg_sys::LockHeldByMe(tag, MODE);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::LockHeldByMe(tag, MODE, false);
    }
}
