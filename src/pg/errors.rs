//! Every error this extension raises, with its SQLSTATE. No message holds a data value.

use std::any::Any;
use std::ffi::{CString, c_char, c_int};
use std::panic::resume_unwind;

use dp_core::error::{Kind, ParameterError};
use dp_core::memory::OutOfMemory;
use dp_core::privacy::spending::{DELTA_UNIT, Limit, Spent, UNBOUNDED, UNIT, float_down, float_up};
use dp_core::registry;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport, ErrorReportWithLevel};
use pgrx::{PgLogLevel, PgSqlErrorCode, pg_sys};

use crate::pg::counters::{Event, count};

/// Raises an ERROR. Must run below a guard (every function that PostgreSQL calls has one, but
/// for the per-row paths, which leave through a guarded function before they come here).
#[track_caller]
fn raise(code: PgSqlErrorCode, message: String, hint: &str) -> ! {
    count(event(code));
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
    fn new(code: PgSqlErrorCode, message: String, hint: impl Into<String>) -> Self {
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

    /// Raises the ERROR.
    #[track_caller]
    pub fn raise(self) -> ! {
        raise(self.code, self.message, &self.hint)
    }
}

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

/// The text or binary form of a `dp_state`.
pub fn no_external_state() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_state has no text and no binary form".into(),
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

/// A text or a binary form that should become a `dp_contribution`.
pub fn no_external_contribution() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "dp_contribution has no text and no binary form".into(),
        "Contributions are made by dp_contribution and dp_contribution_sum alone.",
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

/// A budget that is not there.
pub fn no_budget(function: &str, budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("{function}: budget \"{budget}\" does not exist"),
        "dp_set_budget(name, epsilon, delta) makes one; dp_budgets lists those that you may see.",
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

/// A budget that is another's.
pub fn not_budget_owner(function: &str, budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("{function}: must be owner of budget \"{budget}\""),
        "Its owner is the role that made it, or was given it by dp_set_budget_owner. Ask them, or become a \
         member of that \
         role.",
    )
}

/// A budget that would be given to a role whose rights the giver does not have.
pub fn cannot_give(function: &str, role: Option<String>) -> Refusal {
    let role = role.unwrap_or_default();
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("{function}: must be able to SET ROLE \"{role}\""),
        "As for ALTER TABLE ... OWNER TO: be a member of the new owner, or ask a superuser.",
    )
}

/// An owner, or a home, that may still be taken back.
pub fn history_not_committed(function: &str, budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "{function}: the owner of budget \"{budget}\" was set, or it was continued, in this transaction"
        ),
        "COMMIT first: a charge is for good, and this may be rolled back.",
    )
}

/// A ledger that was copied from elsewhere: what is another thing than there, there and here.
pub fn other_home(function: &str, budget: &str, difference: (&str, i64, i64)) -> Refusal {
    let (what, there, here) = difference;
    let message = format!(
        "{function}: charges of budget \"{budget}\" may be missing: {what} was {there} where it was charged, and is \
         {here} here"
    );
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message,
        "Nothing was spent. After a promotion, a restore, an upgrade or a copy of the database, the owner of \
         the budget \
         says how much was spent that is not in this ledger: dp_continue_budget(name, epsilon, delta), with 0 and 0 if \
         nothing is missing.",
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

/// A budget that was ended.
pub fn budget_closed(function: &str, budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("{function}: budget \"{budget}\" is closed"),
        "What was spent from it stays on record. A closed budget is not opened again.",
    )
}

/// A limit that may still be taken back.
pub fn limit_not_committed(function: &str, budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("{function}: a limit of budget \"{budget}\" was set in this transaction"),
        "COMMIT first: a charge is for good, and a limit that may be rolled back does not count yet.",
    )
}

/// A charge that would pass a limit: of the budget, or of a role in it.
pub fn over_limit(
    function: &str,
    budget: &str,
    role: Option<&str>,
    limit: &Limit,
    spent: &Spent,
    asked: (f64, f64),
    amount: &Spent,
) -> Refusal {
    let who = match role {
        Some(role) => format!("role \"{role}\" in budget \"{budget}\""),
        None => format!("budget \"{budget}\""),
    };
    const HINT: &str = "Nothing was spent. The view dp_budgets shows what was spent and what is left; only the \
     owner of the \
                        budget can raise the limit, with dp_set_budget.";
    let left = limit.delta.saturating_sub(spent.delta).max(0);
    let delta_left = float_down(left, DELTA_UNIT);
    let (what, left, of, takes) = if asked.1 > delta_left {
        (
            "delta",
            delta_left,
            float_down(limit.delta, DELTA_UNIT),
            asked.1,
        )
    } else if amount.epsilon == UNBOUNDED && amount.rho < UNBOUNDED {
        // No epsilon alone bounds Gaussian noise: such releases are added up by their rho, which takes a delta.
        if limit.rho == 0 {
            return Refusal::new(
                PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!("{function}: {who} has no delta, which Gaussian noise needs"),
                format!("{HINT} Any mechanism but gaussian and ellipse needs no delta."),
            );
        }
        let left = limit.rho.saturating_sub(spent.rho).max(0);
        let (left, of) = (float_down(left, UNIT), float_down(limit.rho, UNIT));
        ("rho", left, of, float_up(amount.rho, UNIT))
    } else {
        // As the view dp_budgets shows it: what rounding leaves over is nothing.
        let left = (limit.left(spent) * 1e9).floor() / 1e9;
        ("epsilon", left, limit.asked.0, asked.0)
    };
    Refusal::new(
        PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        format!(
            "{function}: {who} has {what} {} left of {}, and this takes {}",
            few_digits(left.min(takes)),
            few_digits(of),
            match takes.is_finite() {
                true => few_digits(takes),
                false => format!("more than {}", few_digits(float_up(UNBOUNDED, UNIT))),
            }
        ),
        HINT,
    )
}

/// A number with six digits.
fn few_digits(value: f64) -> String {
    match format!("{value:.5e}").parse::<f64>() {
        Ok(short) if short == 0.0 || short.abs() >= 1e-4 => short.to_string(),
        Ok(short) => format!("{short:e}"),
        Err(_) => value.to_string(),
    }
}

/// Another session's lock.
pub fn ledger_locked() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
        "dp_mean: the ledger of budgets is locked by another session".into(),
        "Nothing was spent. Try again; a transaction that sets limits, and VACUUM FULL of the tables in the schema \
         dp_mean, hold it for as long as they last.",
    )
}

/// Tables of the ledger that are not what CREATE EXTENSION made.
pub fn ledger_damaged() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "dp_mean: the tables of the ledger are not as CREATE EXTENSION made them".into(),
        "Nothing was spent. Run ALTER EXTENSION dp_mean UPDATE; if that is not it, restore the tables of the schema \
         dp_mean from a backup.",
    )
}

/// A budget whose lines were lost, or are there twice.
pub fn spent_unknown(budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("dp_mean: spending of budget \"{budget}\" is unknown after a restore"),
        "Nothing was spent now. The database was restored without all rows of dp_mean.spent, or with some of \
         them twice. \
         The owner of the budget says what was spent by dp_restore_budget(name, epsilon, delta).",
    )
}

/// Lines of a budget that may still be taken back.
pub fn spent_not_committed(budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("dp_mean: what was spent of budget \"{budget}\" was set in this transaction"),
        "COMMIT first: a charge is for good, and would be rolled back with it.",
    )
}

/// A budget whose limit was lost.
pub fn limit_unknown(budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("dp_mean: limit of budget \"{budget}\" is unknown after a restore"),
        "Nothing was spent. The database was restored without rows of dp_mean.budget_limit. The owner of the \
         budget says its \
         limit, and those of roles, by dp_set_budget.",
    )
}

/// Rows of a budget that is not there.
pub fn budget_lost() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "dp_mean: the ledger has rows of a budget that does not exist".into(),
        "Nothing was spent. The database was restored without all rows of dp_mean.budget. Load them again, or insert \
         them as a superuser: the manual says how.",
    )
}

/// A table of the ledger with a trigger that would miss rows.
pub fn ledger_watched(table: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("dp_mean: trigger on table dp_mean.{table} would miss changes"),
        "Nothing was changed. Wait until pg_repack has ended, and let it leave out the tables of the extension \
         (--exclude-extension=dp_mean), or drop the trigger: the ledger is written without triggers.",
    )
}

/// A table of the ledger with an index that would miss rows.
pub fn ledger_indexed(table: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("dp_mean: table dp_mean.{table} has other indexes than CREATE EXTENSION made"),
        "Nothing was changed. Drop the others: an index would miss rows that are written in place.",
    )
}

/// A table of the ledger that the transaction may take back.
pub fn ledger_rewritten(table: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("dp_mean: this transaction has rewritten table dp_mean.{table}"),
        "COMMIT first: a charge is for good, and a ROLLBACK of the rewritten table would take it back.",
    )
}

/// A charge that only this server has.
pub fn ledger_not_replicated() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "dp_mean: no synchronous standby has confirmed the charge".into(),
        "It is spent on this server, and there is no answer. Try again when the standbys of synchronous_standby_names \
         follow.",
    )
}

/// SQL that would change the ledger.
pub fn ledger_is_shut() -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "dp_mean: the ledger cannot be changed by UPDATE, DELETE or TRUNCATE".into(),
        "dp_set_budget sets a limit, dp_close_budget ends a budget. What was spent stays spent.",
    )
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

/// A charge on a server that only follows another.
pub fn on_standby(function: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        format!("{function}: cannot charge a budget on a standby"),
        "Ask the primary server.",
    )
}

/// A charge within a parallel plan.
pub fn in_parallel(function: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INVALID_TRANSACTION_STATE,
        format!("{function}: cannot charge a budget in a parallel plan"),
        "SET max_parallel_workers_per_gather = 0.",
    )
}
