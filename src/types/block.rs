//! `dp_mean.block`: a question about a protected table, in a plan. It has no text that can be read: only the gate makes
//! one, and its text says no more than that.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum};

use crate::pg::errors;
use crate::pg::fmgr::{Call, sql_function};

/// What EXPLAIN and the server's log show of any of them.
const TEXT: &CStr = c"sealed";

fn refuse(_: Call) -> Option<Datum> {
    errors::no_external_block()
}

fn output(_: Call) -> Option<Datum> {
    // SAFETY: a copy in the memory of the call.
    Some(Datum::from(unsafe { pg_sys::pstrdup(TEXT.as_ptr()) }))
}

sql_function!(dp_block_in, refuse);
sql_function!(dp_block_out, output);
