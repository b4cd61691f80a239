//! Which parts came to an aggregate of the coordinator. They are told from each other for as long as it keeps what it
//! knows of its groups: a part that comes again in that time could come to a group that has it.

use std::cell::RefCell;

use dp_sealing::{Nonce, Seen};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::AggState;

use crate::citus::errors;
use crate::citus::wrapper::{self, Wrapped};
use crate::pg::fmgr::Call;

/// The memory of an aggregate's groups, the call of Citus, and the grouping set: one part may be in a group of each.
type Place = (usize, wrapper::Place, i32);

thread_local! {
    static CAME: RefCell<Vec<(Place, Seen)>> = const { RefCell::new(Vec::new()) };
}

/// Takes what is known of an aggregate away when the memory of its groups goes.
struct Forget(Place);

impl Drop for Forget {
    fn drop(&mut self) {
        // Where the thread is at its end there is nothing to forget.
        let _ = CAME.try_with(|came| came.borrow_mut().retain(|(place, _)| *place != self.0));
    }
}

/// Whether a part comes for the first time to the groups of the call of Citus, `wrapped`, that runs `call`.
pub fn comes_once(call: Call, wrapped: &Wrapped, nonce: &Nonce) -> bool {
    // SAFETY: an aggregate of Citus is the caller, so that its context is an AggState, which says in which memory the
    // groups are of the set that it calls for.
    let (set, memory) = unsafe {
        let aggregate = (*call.fcinfo()).context.cast::<AggState>();
        let groups = (*aggregate).curaggcontext;
        ((*aggregate).current_set, (*groups).ecxt_per_tuple_memory)
    };
    let place = (memory as usize, wrapped.place, set);
    let is_known = CAME.with_borrow(|came| came.iter().any(|(of, _)| *of == place));
    if !is_known {
        PgMemoryContexts::For(memory).leak_and_drop_on_delete(Forget(place));
        CAME.with_borrow_mut(|came| came.push((place, Seen::default())));
    }
    let is_new = CAME.with_borrow_mut(|came| {
        let mut all = came.iter_mut();
        let (_, seen) = all.find(|(of, _)| *of == place)?;
        seen.insert(nonce).ok()
    });
    is_new.unwrap_or_else(|| errors::out_of_memory())
}
