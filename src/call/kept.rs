//! What is kept for a call under an aggregate of Citus, which brings a fresh record of our functions for every row: it is
//! kept for the query instead.

use std::cell::RefCell;
use std::ffi::c_void;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Oid};

use crate::pg::carried::Carried;
use crate::pg::citus::{Side, wrapped};
use crate::pg::fmgr::Call;

/// The query, the call of Citus, the function of ours; and for a final function the call of ours, which came with the
/// parts.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    query: usize,
    call: usize,
    function: Oid,
    parts: Vec<u8>,
}

thread_local! {
    static KEPT: RefCell<Vec<(Place, *mut c_void)>> = const { RefCell::new(Vec::new()) };
}

/// Takes what is kept of a query away when its memory goes.
struct Forget(Place);

impl Drop for Forget {
    fn drop(&mut self) {
        // Where the thread is at its end there is nothing to forget.
        let _ = KEPT.try_with(|kept| kept.borrow_mut().retain(|(place, _)| *place != self.0));
    }
}

impl Place {
    /// The place of a call, with the memory of its query; `None` where no aggregate of Citus runs it.
    pub fn of(call: Call) -> Option<(Self, pg_sys::MemoryContext)> {
        let side = wrapped(call)?.side;
        // SAFETY: an aggregate is the caller, so that its context is an AggState, which has the state of its query.
        // Argument 0 of a support function is declared dp_state.
        unsafe {
            let parts = match (side, call.datum(0)) {
                (Side::Coordinator, Some(datum)) => Carried::of(datum)?.call().to_vec(),
                _ => Vec::new(),
            };
            let aggregate = (*call.fcinfo()).context.cast::<pg_sys::AggState>();
            let query = (*aggregate).ss.ps.state;
            let place = Self {
                query: query as usize,
                call: pg_sys::AggGetAggref(call.fcinfo()) as usize,
                function: (*call.flinfo()).fn_oid,
                parts,
            };
            Some((place, (*query).es_query_cxt))
        }
    }

    /// What is kept here.
    pub fn kept(&self) -> Option<*mut c_void> {
        let found = |kept: &Vec<(Self, *mut c_void)>| {
            let mut all = kept.iter();
            all.find(|(place, _)| place == self).map(|(_, what)| *what)
        };
        KEPT.with_borrow(found)
    }

    /// Keeps `what` here, which lives in `memory`, that of the query.
    pub fn keep(self, memory: pg_sys::MemoryContext, what: *mut c_void) {
        PgMemoryContexts::For(memory).leak_and_drop_on_delete(Forget(self.clone()));
        KEPT.with_borrow_mut(|kept| kept.push((self, what)));
    }
}
