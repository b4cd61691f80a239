//! Budgets that are cut into periods, as a whole: what may be charged to them, who cuts them, and how their lines are
//! put in order where a restore has lost some.

use std::collections::{BTreeMap, BTreeSet};

use dp_core::privacy::periods::{Periods, text_of};
use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::Oid;

use crate::ledger::budgets::{Budget, Name, Promise};
use crate::ledger::changes;
use crate::ledger::defence::Defence;
use crate::ledger::division::{self, Charged, Division, find};
use crate::ledger::errors::{self, Refusal};
use crate::ledger::period_known::{self, Cut, Look};
use crate::ledger::period_lines::{self, Line, LineKey, Tables};
use crate::ledger::rows;
use crate::ledger::session;
use crate::ledger::tables::{DIVISION, Lock, PERIOD_SPENT, SPENT, Table};

/// The most periods that one charge is for: with those of a role their lines lie on few pages.
pub const MOST_PERIODS: i64 = 400;

/// That a charge is for what the budget is cut into, or for a budget that is not cut.
///
/// # Errors
/// It is not, or nobody knows, or this transaction may still take the division back.
pub fn check(
    function: &str,
    name: &Name,
    budget: i64,
    charged: Option<&Charged>,
) -> Result<(), Refusal> {
    let name = name.text();
    let Some(periods) = periods_of(function, &name, budget)? else {
        return match charged {
            Some(_) => Err(errors::periods_unknown(&name)),
            None => Ok(()),
        };
    };
    match charged {
        _ if !Defence::Periods.stands() => Ok(()),
        None => Err(errors::by_period(function, &name, &periods)),
        Some(charged) if charged.periods != periods => {
            Err(errors::other_periods(function, &name, &periods))
        }
        Some(charged) if charged.count() > MOST_PERIODS => Err(errors::too_large(
            &format!(
                "{function}: the query is about {} periods, and {MOST_PERIODS} is the most",
                charged.count()
            ),
            "Nothing was spent. Ask about a shorter time, as in WHERE day >= '2026-01-01' AND day < '2026-04-01'.",
        )),
        Some(_) => Ok(()),
    }
}

/// How a budget is cut, if it is.
///
/// # Errors
/// Nobody knows, or this transaction may still take it back.
fn periods_of(function: &str, name: &str, budget: i64) -> Result<Option<Periods>, Refusal> {
    let divisions = Table::open(&DIVISION, Lock::Read)?;
    let lines = Table::open(&PERIOD_SPENT, Lock::Read)?;
    let tables = [&divisions, &lines];
    match period_known::cut(tables, budget) {
        Some(Cut::Not) => return Ok(None),
        Some(Cut::Into(_, periods)) => return Ok(Some(periods)),
        None => {}
    }
    let look = Look::begin(tables);
    let Some(found) = find(&divisions, budget) else {
        if period_lines::has_lines(&lines, budget) {
            return Err(errors::periods_unknown(name));
        }
        look.keep(budget, Cut::Not, &[], |_| false);
        return Ok(None);
    };
    if found.is_twice && Defence::Lines.stands() {
        return Err(errors::periods_unknown(name));
    }
    if found.uncommitted && Defence::Committed.stands() {
        return Err(errors::periods_not_committed(function, name));
    }
    let periods = found.division.periods();
    Ok(Some(periods.ok_or_else(|| errors::periods_unknown(name))?))
}

/// Cuts a budget into periods, from now on; `None`: that it is not cut. It is a part of the transaction, and nothing is
/// charged until that ends.
///
/// # Errors
/// It is cut otherwise, or nobody knows what was spent of its periods.
pub fn divide(
    function: &'static str,
    name: &Name,
    periods: Option<&Periods>,
) -> Result<(), Refusal> {
    let budget = Budget::owned(function, name)?.id;
    let known = find(&Table::open(&DIVISION, Lock::Read)?, budget);
    let is = known.map(|known| known.division.periods());
    match (is, periods) {
        (None, None) => return Ok(()),
        (Some(Some(is)), Some(periods)) if is == *periods => return Ok(()),
        (Some(Some(is)), None) => return Err(errors::by_period(function, &name.text(), &is)),
        (Some(Some(is)), Some(_)) => {
            return Err(errors::other_periods(function, &name.text(), &is));
        }
        (Some(None), _) => return Err(errors::periods_unknown(&name.text())),
        (None, Some(_)) => {}
    }
    let periods = periods.expect("it was looked at");
    // Nobody charges until this transaction ends: what is charged then sees the row.
    let spent = Table::open(&SPENT, Lock::Alone)?;
    let table = Table::open(&DIVISION, Lock::Alone)?;
    if find(&table, budget).is_some() {
        return Err(errors::ledger_locked());
    }
    let lines = Table::open(&PERIOD_SPENT, Lock::Read)?;
    if period_lines::has_lines(&lines, budget) {
        return Err(errors::spent_unknown(&name.text()));
    }
    drop(spent);
    changes::tell();
    let division = Division::new(budget, periods, session::now());
    rows::insert(&table, &DIVISION, &division.values());
    Ok(())
}

/// The words of a message for the period that has no room.
pub fn named(first_day: i32) -> String {
    format!("the period from {} of ", text_of_day(first_day))
}

/// A day, as PostgreSQL writes it.
pub fn text_of_day(day: i32) -> String {
    match day {
        i32::MIN => "-infinity".to_owned(),
        i32::MAX => "infinity".to_owned(),
        day => text_of(i64::from(day)),
    }
}

/// What was spent of a period, by all together or by a role.
pub fn spent(budget: i64, first_day: i32, role: Oid) -> Result<Spent, Refusal> {
    let tables = Tables::open()?;
    let key = LineKey {
        budget,
        first_day,
        role: role.to_u32(),
    };
    Ok(period_lines::line(&tables, key).spent)
}

/// The first period that has no room for an amount, for all together or for the role, beside what was spent of the budget
/// itself. Nothing is locked, and no line is made.
pub fn without_room(
    name: &str,
    budget: i64,
    charged: &Charged,
    amount: &Spent,
    accounts: [(Oid, Spent, Option<&Promise>); 2],
) -> Result<Option<(usize, i32)>, Refusal> {
    let tables = Tables::open()?;
    let keys = period_lines::keys(budget, accounts[1].0, charged);
    let lines = period_lines::lines(&tables, name, budget, &keys, charged)?;
    for first_day in charged.first_days() {
        for (i, (role, beside, promise)) in accounts.iter().enumerate() {
            let key = LineKey {
                budget,
                first_day,
                role: role.to_u32(),
            };
            let sum = lines[&key].spent.plus(beside).plus(amount);
            if promise.is_some_and(|promise| !promise.limit.allows(&sum)) {
                return Ok(Some((i, first_day)));
            }
        }
    }
    Ok(None)
}

/// Puts the lines of a budget in order, where rows were lost or loaded twice: each once, with the largest numbers that
/// are known; what no role is known to have spent is the payer's. Where nobody knows how the budget was cut, they go:
/// what they come to at most, by all together and by each role.
pub fn restore(budget: i64, payer: Oid) -> Result<Vec<(Oid, Spent)>, Refusal> {
    let table = Table::open(&PERIOD_SPENT, Lock::Alone)?;
    let mut lines: BTreeMap<LineKey, Line> = BTreeMap::new();
    rows::each(&table, &PERIOD_SPENT, |row| {
        if row.integer(0) != budget {
            return;
        }
        let key = LineKey {
            budget,
            first_day: row.day(6),
            role: row.oid(5).to_u32(),
        };
        let spent = Spent {
            epsilon: row.integer(1),
            rho: row.integer(2),
            delta: row.integer(3),
        };
        let line = lines.entry(key).or_insert(Line::new(key));
        line.spent = line.spent.at_least(&spent);
        line.charges = line.charges.max(row.integer(4));
    });
    // The line of all together, and those of the roles, come to the same.
    let days: BTreeSet<i32> = lines.keys().map(|key| key.first_day).collect();
    for first_day in days {
        let key = |role| LineKey {
            budget,
            first_day,
            role,
        };
        let (first, last) = (key(1), key(u32::MAX));
        let mut roles = Line::new(key(0));
        for (_, line) in lines.range(first..=last) {
            roles = roles.plus(&line.spent, line.charges);
        }
        let all = lines.entry(key(0)).or_insert(roles);
        all.spent = all.spent.at_least(&roles.spent);
        all.charges = all.charges.max(roles.charges);
        let (rest, charges) = (roles.spent.rest_of(&all.spent), all.charges - roles.charges);
        if rest != Spent::default() || charges > 0 {
            let key = key(payer.to_u32());
            let line = lines.entry(key).or_insert(Line::new(key));
            *line = line.plus(&rest, charges);
        }
    }
    let charges = lines.values().filter(|line| line.key.role == 0);
    let charges = charges.fold(0_i64, |sum, line| sum.saturating_add(line.charges));
    rows::delete(&table, &PERIOD_SPENT, |row| row.integer(0) == budget);
    if division::restore(budget, charges)? {
        for line in lines.values() {
            rows::insert(&table, &PERIOD_SPENT, &line.values());
        }
        return Ok(Vec::new());
    }
    let mut most: BTreeMap<u32, Spent> = BTreeMap::new();
    for line in lines.values() {
        let held = most.entry(line.key.role).or_default();
        *held = held.at_least(&line.spent);
    }
    let most = most.into_iter();
    Ok(most
        .map(|(role, spent)| (Oid::from_u32(role), spent))
        .collect())
}
