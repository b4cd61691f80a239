//! The defences of the ledger.

use crate::pg::defence::defences;

defences! {
    /// A ledger that was copied from elsewhere is not charged.
    Home = "ledger_home",
    /// Few of the charges that are refused have a row of their own.
    Noted = "ledger_noted",
    /// A role that owns a budget is not dropped.
    Owner = "ledger_owner",
    /// A budget has one line for all together, and a role at most one.
    Lines = "ledger_lines",
    /// The lines of roles come to at least the line of all together.
    Sums = "ledger_sums",
    /// Nothing is charged to a line that this transaction made.
    Committed = "ledger_committed",
    /// Each line is that of a budget which is there.
    Orphans = "ledger_orphans",
    /// Nobody else's triggers are on a table that is written.
    Triggers = "ledger_triggers",
    /// Nobody else's indexes are on a table that is written.
    Indexes = "ledger_indexes",
    /// Nothing is charged into a table that a ROLLBACK would take back.
    Rewrites = "ledger_rewrites",
    /// How a budget adds up, and what it keeps for failures, is fixed with its first limit.
    Terms = "ledger_terms",
    /// A budget that is cut into periods is charged by these alone.
    Periods = "ledger_periods",
    /// What was spent of the budget itself counts in each period.
    Beside = "ledger_beside",
}
