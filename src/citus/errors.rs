//! The errors of states on their way between nodes.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

use crate::pg::errors::raise;
pub use crate::pg::errors::{no_randomness, out_of_memory};

/// The text or binary form of a `dp_state`.
pub fn no_external_state() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_state has no text but what servers of Citus seal for each other, and no binary form"
            .into(),
        "A state holds the true sum and count; only the aggregates of dp_mean read it.",
    )
}

/// A text that is no part of the call, whatever the reason: the error does not depend on it.
pub fn not_sealed() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATA_EXCEPTION,
        "dp_state: partial state is from another call, or was not sealed with the same keys".into(),
        "All servers need the same keys, and the same version and settings of dp_mean; each part counts once.",
    )
}

/// No keys to seal or to open a state with.
pub fn no_keys(why: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("dp_state: no key configured for states exchanged between nodes: {why}"),
        "Make one as the user that runs PostgreSQL, in the data directory: (umask 077; echo \"key1 \
         $(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n')\" > dp_mean.keys); and copy the file to the other \
         servers. dp_mean.state_key_file is another place for it.",
    )
}

/// A state that is not sealed.
pub fn unsealed(reason: dp_sealing::Unsealed) -> ! {
    match reason {
        dp_sealing::Unsealed::NoRandomness => no_randomness(),
        dp_sealing::Unsealed::NoMemory => raise(
            PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
            "dp_state: out of memory while sealing a state".into(),
            "Try again with fewer groups or fewer positions at a time.",
        ),
        dp_sealing::Unsealed::TooLong => raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "dp_state: the arguments of the call are too long".into(),
            "States exchanged between nodes can carry at most 64 kB of arguments.",
        ),
    }
}

/// Contributions of persons in what another server should put together.
pub fn people_do_not_travel() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_state: contributions of persons cannot be combined across nodes".into(),
        "The bounds of a person are in the query of one node, and another cannot check them. Have the rows fetched: \
         FROM (SELECT ... OFFSET 0) in the place of the table.",
    )
}

/// Arguments of any type, which Citus does not hand on: the very error that it raises where there are rows.
pub fn citus_hands_on_no_any() -> ! {
    ErrorReport::new(
        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        "worker_partial_agg_sfunc could not confirm type correctness",
        "dp_mean",
    )
    .report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}
