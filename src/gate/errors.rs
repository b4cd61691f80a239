//! The errors of the gate.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

pub use crate::pg::errors::{Refusal, no_role, parameter, too_large};

/// A table of another owner.
pub fn not_owner(table: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("must be owner of table {table}"),
        "Its owner, and members of that role, protect it.",
    )
}

fn notice(message: String, hint: String) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    ErrorReport::new(code, message, "dp_mean")
        .set_hint(hint)
        .report(PgLogLevel::NOTICE);
}

/// Tells the owner of a table what the gate does not hide.
pub fn statistics_tell(table: &str) {
    notice(
        format!("statistics views reveal the number of rows of table {table}"),
        "Roles that ask in private should not read these: the manual has the REVOKE list.".into(),
    );
}

/// Tells the owner of a table that a role reads it without the gate.
pub fn reads_rows(role: &str, table: &str, how: &str) {
    notice(
        format!(
            "role \"{role}\" can read the rows of table {table} itself, exactly and without paying ({how})"
        ),
        "Take that right from the role, or allow another role to ask: dp_check(role) says how it reads rows.".into(),
    );
}

/// Tells the owner of a table that the sessions of a role do not load the library.
pub fn library_not_loaded(role: &str, quoted: &str) {
    notice(
        format!("sessions of role \"{role}\" do not load dp_mean, so its questions are refused"),
        format!(
            "ALTER ROLE {quoted} SET session_preload_libraries = 'dp_mean'; for its next sessions."
        ),
    );
}

/// A security label that is none.
pub fn label(why: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("invalid dp_mean security label: {why}"),
        "dp_protect(table, unit, budget) and dp_declare(table, column, lo, hi) write the labels.",
    )
}

/// What cannot be said of a table or a column.
pub fn unfit(function: &str, why: &str, hint: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("{function}: {why}"),
        hint,
    )
}

/// A plan about a protected table whose policy no longer allows it.
pub fn not_allowed(table: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("permission denied for table {table}"),
        "Its owner allows a role to ask by dp_allow(table, role).",
    )
}

/// A question in a transaction whose locks show which rows it read.
pub fn serializable() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied: a serializable transaction would show which private rows it read"
            .to_owned(),
        "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ; has the same snapshot for all questions.",
    )
}

/// A question that reads rows as they were before the unique index by which they are bounded.
pub fn older_than_index(table: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
        format!(
            "could not read {table} because its unique index is newer than the snapshot of the query"
        ),
        "Ask again: nothing was spent.",
    )
}

/// A question with a function or an operator of others.
pub fn foreign_code() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied for the question: it calls functions or operators that are not PostgreSQL's own".to_owned(),
        "Nothing was spent. This is an error of dp_mean: please report the query.",
    )
}

/// A question that names a table, a type or a collation that is not there any more.
pub fn dropped() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        "a table, a type or a collation of the query was dropped after it was planned".to_owned(),
        "Ask again: nothing was spent.",
    )
}

/// A call of `dp_mean.answer` that the gate has not made in this session.
pub fn no_question() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied for function answer: it is not called by name".to_owned(),
        "Ask the protected table itself, as in SELECT count(*) FROM visits.",
    )
}

/// A distributed table whose rows its owner could not get, or not all of them.
pub fn distributed(table: &str, why: &str, hint: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("permission denied for distributed table {table}: {why}"),
        hint,
    )
}

/// A SET that Citus would send to other servers, in the name of others too.
pub fn sent_settings() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied to send settings to other servers".to_owned(),
        "SET citus.propagate_set_commands = none; and begin another transaction.",
    )
}

/// A question whose answer depends on settings that code of others has set while it was planned.
pub fn set_meanwhile() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
        "settings were changed while the query was planned".to_owned(),
        "A function in the condition of an index of a joined table sets them. Drop the index, or leave the table out.",
    )
}

/// A RESET ALL of code that is run while a private query is planned.
pub fn resets() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
        "RESET ALL cannot run while an answer is computed".to_owned(),
        "Reset settings one by one.",
    )
}

/// An answer that a parallel plan asks for.
pub fn no_worker() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_TRANSACTION_STATE,
        "private answers cannot be computed in a parallel operation".to_owned(),
        "Functions that ask about protected tables must not be declared PARALLEL SAFE.",
    )
}

/// A plan, or a cursor, that is older than the policy.
pub fn policy_changed(table: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("the policy of table {table} has changed since the query was planned"),
        "Run the query again. Nothing was spent.",
    )
}

/// A question about people, or about groups that are chosen by their number, of several periods: each person would
/// count once for each of them.
pub fn of_one_period(table: &str) -> Refusal {
    gated(
        table,
        "it counts people, or has groups of undeclared values, and is about several periods",
        "Ask about one period by WHERE, or GROUP BY the period too, as in date_trunc('month', day), or \
         date_trunc('month', at AT TIME ZONE 'UTC') of a timestamptz; the owner can declare the values of a key by \
         dp_declare(table, column, values).",
    )
}

/// A query about a protected table that has no private answer.
pub fn gated(table: &str, why: &str, hint: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("permission denied for table {table}: {why}"),
        hint,
    )
}
