//! Which parts came to an aggregate of the coordinator. They are told from each other for as long as it keeps what it
//! knows of its groups: a part that comes again in that time could come to a group that has it.

use dp_sealing::{Nonce, Seen};
use pgrx::pg_sys::AggState;

use crate::citus::errors;
use crate::citus::wrapper::{self, Wrapped};
use crate::pg::fmgr::Call;
use crate::pg::kept::{self, Kept};

/// The memory of an aggregate's groups, the call of Citus, and the grouping set: one part may be in a group of each.
type PartPlace = (usize, wrapper::CallPlace, i32);

thread_local! {
    static CAME: Kept<PartPlace, Seen> = const { Kept::new(Vec::new()) };
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
    let insert = |seen: &mut Seen| seen.insert(nonce);
    let is_new = kept::find(&CAME, |of| *of == place, insert).unwrap_or_else(|| {
        let mut seen = Seen::default();
        let is_new = insert(&mut seen);
        // SAFETY: the memory of the aggregate's groups.
        unsafe { kept::keep(&CAME, memory, place, seen) };
        is_new
    });
    is_new.unwrap_or_else(|_| errors::out_of_memory())
}
