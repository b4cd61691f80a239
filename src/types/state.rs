//! `dp_state`: a type without a binary form, and with no text but the one that is sealed for another server (see
//! `aggregates/sealed.rs`). What is in it shows in the folder `state`.

use pgrx::pg_sys::Datum;

use crate::citus::errors;
use crate::pg::fmgr::{Call, sql_function};

/// Of the SQL of 0.1.0, whose script is run before that of its update: see [`errors::no_external_state`].
fn refuse(_: Call) -> Option<Datum> {
    errors::no_external_state()
}

sql_function!(dp_state_recv, refuse);
sql_function!(dp_state_send, refuse);
