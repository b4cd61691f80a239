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

/// Tells the owner of a table what the gate does not hide.
pub fn statistics_tell(table: &str) {
    let message = format!("statistics views reveal the number of rows of table {table}");
    ErrorReport::new(
        PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
        message,
        "dp_mean",
    )
    .set_hint("Roles that ask in private should not read these: the manual has the REVOKE list.")
    .report(PgLogLevel::NOTICE);
}

/// A security label that is none.
pub fn label(why: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("invalid dp_mean security label: {why}"),
        "dp_protect(table, unit, budget) and dp_declare(table, column, lo, hi) write the labels.",
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

/// EXPLAIN of a plan that reads private rows.
pub fn explain() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied: EXPLAIN would show estimates of private rows".to_owned(),
        "dp_cost('SELECT ...') says what a query would cost, and how it is rewritten.",
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

/// A plan in which a private answer could be drawn several times.
pub fn again() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied: the plan could run a private aggregate more than once".to_owned(),
        "Put the query about the protected table into a WITH ... AS MATERIALIZED of its own, which nothing outside of \
         it is used in.",
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

/// A plan whose cost cannot be read.
pub fn receipt_damaged() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        "dp_mean: the plan does not say what its private answers cost".to_owned(),
        "Nothing was released. Please report the query.",
    )
}

/// A private answer in an execution that has paid nothing.
pub fn not_charged() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied: private answer was not charged".to_owned(),
        "Nothing was released. Rows that are locked or changed cannot be joined with private answers: store these in a \
         table first.",
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
