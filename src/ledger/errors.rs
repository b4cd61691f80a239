//! The errors of the ledger.

use dp_core::privacy::periods::Periods;
use dp_core::privacy::spending::{
    Accounting, DELTA_UNIT, Limit, Spent, UNBOUNDED, UNIT, float_down, float_up,
};
use pgrx::PgSqlErrorCode;

pub use crate::pg::errors::{
    Refusal, log, no_randomness, no_role, out_of_memory, parameter, too_large,
};

/// A budget that is not there.
pub fn no_budget(function: &str, budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("{function}: budget \"{budget}\" does not exist"),
        "dp_set_budget(name, eps, delta) makes one; dp_budgets lists those that you may see.",
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

/// A role that owns no budget.
pub fn owns_nothing(function: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("{function}: must be owner of a budget"),
        "The owner of a budget takes out the rows of its charges, and superusers those of all. Ask one of them.",
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
         says how much was spent that is not in this ledger: dp_continue_budget(name, eps, delta), with 0 and 0 if \
         nothing is missing.",
    )
}

/// A budget that was ended.
pub fn budget_closed(function: &str, budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("{function}: budget \"{budget}\" is closed"),
        "What was spent from it stays on record. A closed budget is not opened again.",
    )
}

/// A budget that adds up in other terms, or keeps another share of delta for failures, since its first limit.
pub fn other_terms(function: &str, budget: &str, first: &Limit) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "{function}: accounting of budget \"{budget}\" is {}, with failures {}, and cannot be changed",
            first.accounting.name(),
            first.failures,
        ),
        "It is fixed with the first limit of a budget: what was spent is added up in its terms. Leave both arguments \
         out, or make another budget.",
    )
}

/// A budget that is cut into periods, and a charge or a table that names none.
pub fn by_period(function: &str, budget: &str, periods: &Periods) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "{function}: budget \"{budget}\" has a limit for each period, {}, and this is of no period",
            periods.text()
        ),
        "Protect the table with period, every and since as the others of this budget, or with a budget of its own. \
         dp_charge charges no budget by period.",
    )
}

/// A budget that is cut into other periods.
pub fn other_periods(function: &str, budget: &str, periods: &Periods) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "{function}: periods of budget \"{budget}\" are {}, and cannot be changed",
            periods.text()
        ),
        "They are fixed with the first table that is protected by period. Give the same every and since, or make \
         another budget.",
    )
}

/// A budget whose periods were lost, or are there twice.
pub fn periods_unknown(budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("dp_mean: periods of budget \"{budget}\" are unknown after a restore"),
        "Nothing was spent. The database was restored without all rows of dp_mean.budget_period, or with some of them \
         twice. The owner of the budget says what was spent by dp_restore_budget(name, eps, delta), and protects its \
         tables again by dp_protect.",
    )
}

/// Periods that may still be taken back.
pub fn periods_not_committed(function: &str, budget: &str) -> Refusal {
    Refusal::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("{function}: periods of budget \"{budget}\" were set in this transaction"),
        "COMMIT first: a charge is for good, and periods that may be rolled back do not count yet.",
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
    who: &str,
    limit: &Limit,
    spent: &Spent,
    asked: (f64, f64),
    amount: &Spent,
) -> Refusal {
    const HINT: &str = "Nothing was spent. The views dp_budgets and dp_budget_periods show what was spent and what is \
                        left; only the owner of the budget can raise the limit, with dp_set_budget.";
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
        let takes = float_up(amount.rho, UNIT);
        match limit.accounting {
            Accounting::Zcdp => ("rho", left, of, takes),
            // As prices, which are shares of epsilon.
            Accounting::Gaussian => {
                let price = |part: f64| (part / of * limit.asked.0 * 1e9).round() / 1e9;
                ("a price of", price(left), limit.asked.0, price(takes))
            }
        }
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
         The owner of the budget says what was spent by dp_restore_budget(name, eps, delta).",
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
