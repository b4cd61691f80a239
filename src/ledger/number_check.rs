//! Whether the numbers of the ledger are such as calls write: none is negative, no limit is more than one that can be
//! promised, and no period has spent more than a limit allowed.

use std::collections::BTreeMap;

use dp_core::privacy::spending::{Limit, Spent};
use pgrx::pg_sys::Oid;

use crate::ledger::budgets;
use crate::ledger::errors::Refusal;
use crate::ledger::finding::{Finding, Names};
use crate::ledger::pages;
use crate::ledger::period_lines::Line;
use crate::ledger::periods::text_of_day;
use crate::ledger::rows;
use crate::ledger::tables::{
    ARCHIVED, CHARGE, DIVISION, HISTORY, Lock, PERIOD_SPENT, PROMISE, Shape, Table,
};

const KIND: &str = "number";

/// Tables with integers that are not negative: where the budget is, and the role if the table has one; and these
/// integers. Lines of `dp_mean.spent` are looked at with their sums.
const NOT_NEGATIVE: [(&Shape, usize, Option<usize>, &[usize]); 5] = [
    (&HISTORY, 0, None, &[1, 8, 9, 10]),
    (&CHARGE, 1, Some(5), &[2, 3, 4, 12]),
    (&ARCHIVED, 0, Some(1), &[2, 3, 4, 5, 6, 7]),
    (&DIVISION, 0, None, &[1]),
    (&PERIOD_SPENT, 0, Some(5), &[1, 2, 3, 4]),
];

/// How many rows have a number that cannot be, of each table, budget and role.
type Wrong = BTreeMap<(&'static str, i64, u32), usize>;

/// All numbers that cannot be.
///
/// # Errors
/// The ledger is damaged or locked.
pub fn check(names: &Names) -> Result<Vec<Finding>, Refusal> {
    let mut wrong = Wrong::new();
    for (shape, budget, role, numbers) in NOT_NEGATIVE {
        rows::each(&Table::open(shape, Lock::Read)?, shape, |row| {
            if numbers.iter().any(|i| row.integer(*i) < 0) {
                let role = role.map_or(0, |role| row.oid(role).to_u32());
                let key = (shape.title(), row.integer(budget), role);
                *wrong.entry(key).or_default() += 1;
            }
        });
    }
    // Before the limits: what was let through was within one that is there by then.
    let spent = spent_of_periods()?;
    let mut limits: BTreeMap<i64, Vec<Limit>> = BTreeMap::new();
    budgets::each_limit(|key, number, limit| {
        if number < 1 || !limit.is_possible() {
            let key = (PROMISE.title(), key.budget, key.role.to_u32());
            *wrong.entry(key).or_default() += 1;
        }
        if key.role == Oid::INVALID {
            limits.entry(key.budget).or_default().push(*limit);
        }
    })?;
    let wrong = wrong.into_iter().map(|((table, budget, role), count)| {
        let detail = format!("dp_mean.{table} has {count} rows with a number that no call writes");
        Finding::of_budget(KIND, names, budget, role, detail)
    });
    let mut found: Vec<Finding> = wrong.collect();
    for (budget, periods) in spent {
        // A budget without limits is another finding.
        let Some(limits) = limits.get(&budget) else {
            continue;
        };
        let is_past = |spent: &Spent| !limits.iter().any(|limit| limit.allows(spent));
        let past = periods.iter().filter(|(_, spent)| is_past(spent));
        let past: Vec<i32> = past.map(|(day, _)| *day).collect();
        if let Some(first) = past.first() {
            let detail = format!(
                "{} periods have spent more than any limit of the budget allowed, such as that from {}",
                past.len(),
                text_of_day(*first)
            );
            found.push(Finding::of_budget(KIND, names, budget, 0, detail));
        }
    }
    Ok(found)
}

/// What all together have spent of each period, of each budget.
fn spent_of_periods() -> Result<BTreeMap<i64, Vec<(i32, Spent)>>, Refusal> {
    let mut spent: BTreeMap<i64, Vec<(i32, Spent)>> = BTreeMap::new();
    pages::each(&Table::open(&PERIOD_SPENT, Lock::Read)?, |seen| {
        let line = Line::read(seen.data).filter(|line| line.key.role == 0);
        if let Some(Line { key, spent: of, .. }) = line {
            let periods = spent.entry(key.budget).or_default();
            periods.push((key.first_day, of));
        }
    });
    Ok(spent)
}
