//! Every error this extension raises, with its SQLSTATE. No message holds a data value.

use dp_core::error::{Kind, ParameterError};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

/// Raises an ERROR. Must run below a guard (every function that PostgreSQL calls has one, but
/// for the per-row paths, which leave through a guarded function before they come here).
#[track_caller]
fn raise(code: PgSqlErrorCode, message: String, hint: &str) -> ! {
    ErrorReport::new(code, message, "dp_mean")
        .set_hint(hint)
        .report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}

/// An argument that breaks its rule.
pub fn parameter(aggregate: &str, error: &ParameterError) -> ! {
    let code = match error.kind {
        Kind::Value => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        Kind::Permission => PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
    };
    raise(code, format!("{aggregate}: {error}"), &error.hint)
}

/// A mechanism's text that names no mechanism.
pub fn mechanism_text(error: &ParameterError) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("dp_mechanism: the text {}", error.message),
        &error.hint,
    )
}

/// An argument that could differ from row to row.
pub fn depends_on_rows(aggregate: &str, argument: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("{aggregate}: argument \"{argument}\" must not depend on the rows"),
        "Give a constant, a parameter, or a sub-select that does not look at the query's rows; \
         no column and no volatile function.",
    )
}

/// A question that is not a boolean expression.
pub fn not_boolean(aggregate: &str, question: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!("{aggregate}: question {question} is not of type boolean"),
        "Write a condition, as in age >= 65, or NULL::boolean; give an array of questions as \
         VARIADIC, with its length d in the mechanism.",
    )
}

/// An array of questions that is no array of booleans.
pub fn not_boolean_array(aggregate: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!("{aggregate}: the VARIADIC argument is not of type boolean[]"),
        "Give an array of booleans, with its length d in the mechanism.",
    )
}

/// The plan hides the arguments of the call.
pub fn hidden_arguments(aggregate: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("{aggregate}: the query plan hides the arguments of the call"),
        "Run the query without the extension that changes the plan, or without parallel and \
         partial aggregation (SET max_parallel_workers_per_gather = 0).",
    )
}

/// A support function called by hand, or by an aggregate that is not of this extension.
pub fn not_our_aggregate(function: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("{function} works inside the aggregates of dp_mean only"),
        "Call an aggregate of dp_mean: dp_mean, dp_sum, dp_count, dp_variance, dp_stddev, dp_keep, \
         dp_counts, dp_sums, dp_means, dp_histogram, dp_bounds or dp_clamped.",
    )
}

/// A `dp_state` that no support function of this version made.
pub fn bad_state() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        "dp_state: not a state of this version of dp_mean".into(),
        "States are made and read by the aggregates of dp_mean alone.",
    )
}

/// The text or binary form of a `dp_state`.
pub fn no_external_state() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_state has no text and no binary form".into(),
        "A state holds the true sum and count; only the aggregates of dp_mean read it.",
    )
}

/// The operating system gave no randomness.
pub fn no_randomness() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_SYSTEM_ERROR,
        "dp_mean: the operating system's random source failed".into(),
        "No answer was computed. Try again; if it persists, see the operating system's log.",
    )
}
