//! A random word that all parts of a query share, for the offset of a mean's cells.

use dp_core::random::mixed;
use pgrx::pg_sys;

use crate::call::release::offset_word;
use crate::call::signature::at;
use crate::citus::wrapper;
use crate::pg::fmgr::Call;
use crate::pg::kept::{self, Kept};
use crate::plan::planned_call;
use crate::types::mechanism::text_of;

thread_local! {
    /// The running queries of this process that have a word, by the address of their state.
    static WORDS: Kept<usize, u64> = const { Kept::new(Vec::new()) };
}

/// A word for the offset of a group's cells: parts of a group must agree on it, and so do all groups of a query.
///
/// # Safety
/// `call` is a call of dp_mean's transition function, and an aggregate is the caller.
pub unsafe fn word_of_group(call: Call) -> u64 {
    if wrapper::wrapped(call).is_some() {
        let text = call.datum(at::MECHANISM);
        // SAFETY: the SQL declaration makes it a dp_mechanism.
        let text = text.map(|text| unsafe { text_of(text) });
        word_of_mechanism(&text.unwrap_or_default())
    } else if planned_call::is_partial(call) {
        // SAFETY: the caller guarantees it.
        unsafe { word_of_query(call) }
    } else {
        offset_word()
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
unsafe fn word_of_query(call: Call) -> u64 {
    // SAFETY: an aggregate's context is an AggState, which has the state of its query.
    let (query, memory) = unsafe {
        let aggregate = (*call.fcinfo()).context.cast::<pg_sys::AggState>();
        let query = (*aggregate).ss.ps.state;
        (query as usize, (*query).es_query_cxt)
    };
    kept::find(&WORDS, |of| *of == query, |word| *word).unwrap_or_else(|| {
        let word = word_of_statement();
        // SAFETY: the memory of the query.
        unsafe { kept::keep(&WORDS, memory, query, word) };
        word
    })
}

/// A word that is the same on all servers that work on a query: they share no time. It is the same in the next query
/// with that mechanism, too.
fn word_of_mechanism(text: &str) -> u64 {
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
