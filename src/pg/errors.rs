//! How errors are raised, with their SQLSTATE, and those that belong to no folder alone. No message holds a data value.

use std::any::Any;
use std::ffi::{CString, c_char, c_int};
use std::panic::resume_unwind;

use dp_core::error::{Kind, ParameterError};
use dp_core::memory::OutOfMemory;
use dp_core::registry;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport, ErrorReportWithLevel};
use pgrx::{PgLogLevel, PgSqlErrorCode, pg_sys};

use crate::pg::counters::{Event, count};
use crate::pg::settings;

/// Raises an ERROR. Must run below a guard (every function that PostgreSQL calls has one, but
/// for the per-row paths, which leave through a guarded function before they come here).
#[track_caller]
pub fn raise(code: PgSqlErrorCode, message: String, hint: &str) -> ! {
    count(event(code));
    // For clients that show the message alone.
    let message = match settings::has_hints_in_messages() && !hint.is_empty() {
        true => format!("{message} (hint: {hint})"),
        false => message,
    };
    report(ErrorReport::new(code, message, "dp_mean").set_hint(hint))
}

/// What an ERROR is counted as.
fn event(code: PgSqlErrorCode) -> Event {
    use PgSqlErrorCode as Code;
    match code {
        Code::ERRCODE_INSUFFICIENT_PRIVILEGE | Code::ERRCODE_FEATURE_NOT_SUPPORTED => {
            Event::RefusedQuery
        }
        Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED => Event::RefusedBudget,
        Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE
        | Code::ERRCODE_INVALID_TRANSACTION_STATE
        | Code::ERRCODE_LOCK_NOT_AVAILABLE
        | Code::ERRCODE_READ_ONLY_SQL_TRANSACTION
        | Code::ERRCODE_OUT_OF_MEMORY
        | Code::ERRCODE_SYSTEM_ERROR => Event::Unavailable,
        Code::ERRCODE_INTERNAL_ERROR | Code::ERRCODE_DATA_CORRUPTED => Event::Internal,
        _ => Event::RefusedArgument,
    }
}

#[track_caller]
fn report(report: ErrorReport) -> ! {
    report.report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}

/// Why a call of an aggregate has no answer: an error that was not raised yet. It follows from the call
/// alone, and is the same whatever the rows are.
#[derive(Clone, Debug)]
pub struct Refusal {
    code: PgSqlErrorCode,
    message: String,
    hint: String,
    /// The argument to blame.
    argument: &'static str,
}

impl Refusal {
    pub fn new(code: PgSqlErrorCode, message: String, hint: impl Into<String>) -> Self {
        let (hint, argument) = (hint.into(), "mech");
        Self {
            code,
            message,
            hint,
            argument,
        }
    }

    /// The argument that it blames.
    pub fn argument(&self) -> &'static str {
        self.argument
    }

    /// Whether it says that a budget has no room.
    pub fn is_over_limit(&self) -> bool {
        self.code == PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same, with one more way out.
    pub fn or(self, way_out: &str) -> Self {
        let hint = match self.hint.as_str() {
            "" => way_out.to_owned(),
            hint => format!("{hint} {way_out}"),
        };
        Self { hint, ..self }
    }

    /// Raises the ERROR.
    #[track_caller]
    pub fn raise(self) -> ! {
        raise(self.code, self.message, &self.hint)
    }
}

/// An argument that breaks its rule.
pub fn parameter(aggregate: &str, error: &ParameterError) -> Refusal {
    let code = match error.kind {
        Kind::Value => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        Kind::Permission => PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
    };
    Refusal {
        argument: error.argument,
        ..Refusal::new(code, format!("{aggregate}: {error}"), error.hint.as_str())
    }
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
pub fn depends_on_rows(aggregate: &str, argument: &'static str) -> Refusal {
    let refusal = Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("{aggregate}: argument \"{argument}\" must not depend on the rows"),
        "Give a constant, a parameter, or a sub-select that does not look at the query's rows; \
         no column and no volatile function.",
    );
    Refusal {
        argument,
        ..refusal
    }
}

/// Contributions of persons that were made with another bound than the call's.
pub fn other_bound(aggregate: &str, argument: &'static str, made_by: &str) -> Refusal {
    let refusal = Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("{aggregate}: argument \"{argument}\" differs from that of {made_by}"),
        "Give both calls the same bounds.",
    );
    Refusal {
        argument,
        ..refusal
    }
}

/// Contributions of persons that stand for more or for fewer rows than the call's.
pub fn other_rows(aggregate: &str, rows: u32, k: u32, made_by: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("{aggregate}: argument \"mech\" has rows={rows}, but {made_by} has k = {k}"),
        format!(
            "Give the mechanism rows={k}, or {made_by} the k that the mechanism has. Without them both are 1."
        ),
    )
}

/// Contributions of persons who are kept in more groups than the call's.
pub fn other_groups(aggregate: &str, groups: u32, kept: u64) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("{aggregate}: argument \"mech\" has groups={groups}, but dp_groups keeps {kept}"),
        format!(
            "Give the mechanism groups={kept}, or dp_groups no more than the mechanism has. Without it that is 1."
        ),
    )
}

/// A call over the groups of persons that takes several of them together.
pub fn not_by_keys(aggregate: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("{aggregate}: the query is not grouped by all keys of dp_groups"),
        "Write GROUP BY with the column of each key, as dp_unnest has it, and no GROUPING SETS: a person has one \
         contribution in a group then. For other groups give dp_groups other keys.",
    )
}

/// The plan hides how many groups of a person are kept.
pub fn hidden_groups(aggregate: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("{aggregate}: the query plan hides the call of dp_groups"),
        "Let dp_unnest take the column of a sub-select of the same query that calls dp_groups.",
    )
}

/// A call of dp_groups in a query that does not group by the person.
pub fn not_by_person() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        "dp_groups: argument \"person\" must be the GROUP BY key of the sub-select".into(),
        "Write GROUP BY with the person's column and nothing else, and give dp_groups the same column.",
    )
}

/// A key or a person of a type that cannot be hashed.
pub fn no_hash(argument: usize, kind: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!("dp_groups: argument {argument} is of type {kind}, which cannot be hashed"),
        "Give a key of a type that has a hash operator class, as all that GROUP BY hashes; cast it, as in data::text.",
    )
}

/// A part of a contribution that is not a call.
pub fn hidden_part(argument: usize) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!(
            "dp_groups: argument {argument} is not a call of dp_part, dp_part_sum or dp_part_rows"
        ),
        "Write the call itself as the argument, not a column that a sub-select made of it.",
    )
}

/// More columns than there may be, or an array in their place.
pub fn too_many_parts(most: usize) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!(
            "dp_groups: argument \"parts\" must be at most {most} arguments, none of them VARIADIC"
        ),
        "Write the keys and the calls of dp_part one by one.",
    )
}

/// Columns of dp_unnest that are not those of dp_groups.
pub fn other_columns() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        "dp_unnest: the columns are not the arguments of dp_groups".into(),
        "Name a column for each argument behind the person, in the same order: a key has its own type, and a call of \
         dp_part the type dp_contribution.",
    )
}

/// Warns of an argument that was looked up in the table.
pub fn looked_up(aggregate: &str, argument: &str) {
    let message = format!(
        "{aggregate}: argument \"{argument}\" is read from a table that the call aggregates"
    );
    ErrorReport::new(PgSqlErrorCode::ERRCODE_WARNING, message, "dp_mean")
        .set_hint(
            "The answer reveals what was looked up, and no epsilon covers that. Give a constant, or the answer of \
             a private aggregate, such as dp_bounds.",
        )
        .report(PgLogLevel::WARNING);
}

/// A predicate that is not a boolean expression.
pub fn not_boolean(aggregate: &str, predicate: usize) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!("{aggregate}: predicate {predicate} is not of type boolean"),
        "Write a condition, as in age >= 65, or NULL::boolean; give an array of predicates as \
         VARIADIC, with its length d in the mechanism.",
    )
}

/// An array of predicates that is no array of booleans.
pub fn not_boolean_array(aggregate: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!("{aggregate}: the VARIADIC argument is not of type boolean[]"),
        "Give an array of booleans, with its length d in the mechanism.",
    )
}

/// Ids of a type whose values cannot be told apart by a hash.
pub fn no_hash_of_ids(aggregate: &str) -> Refusal {
    let refusal = Refusal::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
        format!("{aggregate}: argument \"id\" is of a type that has no hash function"),
        "Cast it to a type that GROUP BY can hash, such as text.",
    );
    Refusal {
        argument: "id",
        ..refusal
    }
}

/// The plan hides the arguments of the call.
pub fn hidden_arguments(aggregate: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("{aggregate}: the query plan hides the arguments of the call"),
        "Run the query without the extension that changes the plan, or without parallel and \
         partial aggregation (SET max_parallel_workers_per_gather = 0).",
    )
}

/// A support function called by hand, or by an aggregate that is not of this extension.
pub fn not_our_aggregate(function: &str) -> Refusal {
    let mut names: Vec<&str> = registry::catalog()
        .map(|(aggregate, ..)| aggregate)
        .collect();
    names.dedup();
    Refusal::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("{function} works inside the aggregates of dp_mean only"),
        format!(
            "Call an aggregate of dp_mean, such as {}.",
            names.join(", ")
        ),
    )
}

/// A `dp_state` that no support function of this version made.
pub fn bad_state() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        "dp_state: not a state of this version of dp_mean".into(),
        "States are made and read by the aggregates of dp_mean alone.",
    )
}

/// A text or a binary form that should become a `dp_contribution`.
pub fn no_external_contribution() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_contribution has no text and no binary form".into(),
        "Contributions are made by dp_contribution and dp_contribution_sum alone.",
    )
}

/// Something that would look into a contribution outside of a private query.
pub fn contribution_is_shut() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "contributions are looked into by private queries of protected tables alone".into(),
        "Ask for dp_count or dp_sum of the contributions: these are answers with noise.",
    )
}

/// A text or a binary form that should become a `dp_groups`.
pub fn no_external_groups() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_groups has no text and no binary form".into(),
        "The groups of a person are kept by the aggregate dp_groups alone.",
    )
}

/// A text in the place of a `dp_mean.block`.
pub fn no_external_block() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_mean.block: values cannot be written as text".to_owned(),
        "Only dp_mean makes one, in the plan of a query about a protected table.",
    )
}

/// Memory has ended.
pub fn out_of_memory() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        "out of memory".into(),
        "Ask for fewer groups or shorter vectors at a time, or lower work_mem.",
    )
}

/// What is nested so deeply that the stack ends: the same SQLSTATE and message as PostgreSQL's own.
pub fn too_deep() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_STATEMENT_TOO_COMPLEX,
        "stack depth limit exceeded".to_owned(),
        "Nest less deeply, or let the administrator set max_stack_depth higher.",
    )
}

/// A query that the gate would make too large.
pub fn too_large(what: &str, hint: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_STATEMENT_TOO_COMPLEX,
        format!("dp_mean: the query becomes too large: {what}"),
        hint,
    )
}

/// Raises what unwound up to a guard, as an ERROR that says no more than PostgreSQL would: pgrx adds a
/// backtrace where the server's environment asks for one, and that tells which function was running.
pub fn caught(payload: Box<dyn Any + Send>) -> ! {
    if payload.is::<OutOfMemory>() {
        out_of_memory();
    }
    match payload.downcast::<CaughtError>() {
        Ok(caught) => match *caught {
            CaughtError::PostgresError(raised) => {
                let (code, message) = (raised.sql_error_code(), raised.message().to_owned());
                let mut again = ErrorReport::new(code, message, "dp_mean");
                if let Some(detail) = raised.detail() {
                    again = again.set_detail(detail);
                }
                if let Some(hint) = raised.hint() {
                    again = again.set_hint(hint);
                }
                report(again)
            }
            other => other.rethrow(),
        },
        Err(payload) if is_report(&*payload) => resume_unwind(payload),
        Err(payload) => {
            // A mistake of ours. A message that was put together could hold a value.
            let message = payload.downcast_ref::<&str>().unwrap_or(&"internal error");
            raise(
                PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                format!("dp_mean: {message}"),
                "This is a bug in dp_mean. Please report it, with the call but without its data.",
            )
        }
    }
}

/// Whether an ERROR of ours unwinds.
fn is_report(payload: &(dyn Any + Send)) -> bool {
    payload.is::<ErrorReport>() || payload.is::<ErrorReportWithLevel>()
}

/// The operating system gave no randomness.
pub fn no_randomness() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_SYSTEM_ERROR,
        "dp_mean: the operating system's random source failed".into(),
        "No answer was computed. Try again; if it persists, see the operating system's log.",
    )
}

/// A role that is not there.
pub fn no_role(function: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("{function}: argument \"role\" is not a role"),
        "Give the name of a role, as in 'ann'::regrole.",
    )
}

/// Tells the server's log, and no client. The statement is not added.
pub fn log(message: String) {
    // As PostgreSQL has them; pgrx shows them to nobody.
    unsafe extern "C-unwind" {
        fn errstart(level: c_int, domain: *const c_char) -> bool;
        fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
    }
    let message = CString::new(message).unwrap_or_default();
    // SAFETY: strings that live as long as the call; what may end in an ERROR is turned into a panic on its way.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            if errstart(pg_sys::LOG_SERVER_ONLY as c_int, std::ptr::null()) {
                pg_sys::errmsg_internal(c"%s".as_ptr(), message.as_ptr());
                pg_sys::errhidestmt(true);
                pg_sys::errhidecontext(true);
                errfinish(c"errors.rs".as_ptr(), line!() as c_int, c"log".as_ptr());
            }
        });
    }
}

/// `dp_mean.total`, called otherwise than in a query that was checked.
pub fn not_partial(reason: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("dp_mean.total: {reason}"),
        "Call the function itself: dp_mean.total replaces it in queries over protected tables.",
    )
}

/// A call of `dp_mean.key` by hand.
pub fn not_key() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_mean.key: cannot be called directly".into(),
        "Use the value itself: dp_mean.key wraps GROUP BY keys in queries over protected tables.",
    )
}

/// No function of this name in the schema `dp_mean`.
pub fn no_function(name: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
        format!("dp_mean: function dp_mean.{name} does not exist"),
        "Run ALTER EXTENSION dp_mean UPDATE.",
    )
}

/// `dp_stats` where nothing is counted.
pub fn not_counted() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "dp_stats: dp_mean must be loaded with shared_preload_libraries".into(),
        "Put dp_mean into shared_preload_libraries in postgresql.conf, and restart the server.",
    )
}
