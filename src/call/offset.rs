//! A random word that all parts of a query share, for the offset of a mean's cells.

use std::cell::RefCell;

use dp_core::random::mixed;
use pgrx::{PgMemoryContexts, pg_sys};

use crate::pg::fmgr::Call;

thread_local! {
    /// The running queries of this process that have a word, by the address of their state.
    static WORDS: RefCell<Vec<(usize, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Takes the word of a query away when its memory goes.
struct Forget(usize);

impl Drop for Forget {
    fn drop(&mut self) {
        let forget = |words: &RefCell<Vec<_>>| {
            words.borrow_mut().retain(|(query, _)| *query != self.0);
        };
        // Where the thread is at its end there is nothing to forget.
        let _ = WORDS.try_with(forget);
    }
}

/// A word that is the same in all parts of a query, and another one in the next. It does not depend
/// on the rows, and need not be secret.
///
/// It is that of the statement in which the query makes its first state. The rows of a cursor come
/// in several statements, and each would have another; workers are started, and run, in one.
///
/// # Safety
/// An aggregate is the caller.
pub unsafe fn word_of_query(call: Call) -> u64 {
    // SAFETY: an aggregate's context is an AggState, which has the state of its query.
    let (query, memory) = unsafe {
        let aggregate = (*call.fcinfo()).context.cast::<pg_sys::AggState>();
        let query = (*aggregate).ss.ps.state;
        (query as usize, (*query).es_query_cxt)
    };
    let known = WORDS.with_borrow(|words| words.iter().find(|(of, _)| *of == query).copied());
    if let Some((_, word)) = known {
        return word;
    }
    let word = word_of_statement();
    PgMemoryContexts::For(memory).leak_and_drop_on_delete(Forget(query));
    WORDS.with_borrow_mut(|words| words.push((query, word)));
    word
}

/// A word that is the same on all servers that work on a query: they share no time. It is the same in the next query
/// with that mechanism, too.
pub fn word_of_mechanism(text: &str) -> u64 {
    let take = |word: u64, byte: u8| mixed(word ^ u64::from(byte));
    text.bytes().fold(0, take)
}

/// A word that is the same in all processes that work on a statement, and another one in the next:
/// its time, mixed.
fn word_of_statement() -> u64 {
    // SAFETY: they read what PostgreSQL keeps of the running transaction; a parallel worker has it
    // from its leader.
    let (statement, transaction) = unsafe {
        (
            pg_sys::GetCurrentStatementStartTimestamp(),
            pg_sys::GetCurrentTransactionStartTimestamp(),
        )
    };
    mixed(statement as u64 ^ (transaction as u64).rotate_left(32))
}
