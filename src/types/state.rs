//! `dp_state`: a type without a text and without a binary form. What is in it shows in the folder `state`.

use pgrx::pg_sys::Datum;

use crate::pg::errors;
use crate::pg::fmgr::{Call, sql_function};

/// Refuses: see [`errors::no_external_state`].
fn refuse(_: Call) -> Option<Datum> {
    errors::no_external_state()
}

sql_function!(dp_state_in, pg_finfo_dp_state_in, refuse);
sql_function!(dp_state_out, pg_finfo_dp_state_out, refuse);
sql_function!(dp_state_recv, pg_finfo_dp_state_recv, refuse);
sql_function!(dp_state_send, pg_finfo_dp_state_send, refuse);
