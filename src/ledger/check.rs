//! Whether the ledger is what charges have made of it: its pages, its lines, and whether these are what the rows of
//! charges add up to. It changes nothing, and charges go on meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::Oid;

use crate::ledger::archive::{self, Sums};
use crate::ledger::balance::{Balance, BalanceKey};
use crate::ledger::budgets;
use crate::ledger::changes;
use crate::ledger::errors::Refusal;
use crate::ledger::finding::{Finding, Names, differ};
use crate::ledger::number_check;
use crate::ledger::page_check;
use crate::ledger::pages;
use crate::ledger::period_check;
use crate::ledger::rows;
use crate::ledger::tables::{
    ARCHIVED, BUDGET, CHARGE, DIVISION, HISTORY, Lock, PERIOD_SPENT, PROMISE, SPENT, Shape, Table,
};

/// How often the sums are looked at again: an owner's word on what was spent may have come between.
const TRIES: u32 = 2;

/// All that is wrong.
///
/// # Errors
/// The ledger is locked, or its tables are not there.
pub fn check() -> Result<Vec<Finding>, Refusal> {
    let mut found = Vec::new();
    let shapes = [
        &BUDGET,
        &PROMISE,
        &HISTORY,
        &SPENT,
        &CHARGE,
        &ARCHIVED,
        &DIVISION,
        &PERIOD_SPENT,
    ];
    for shape in shapes {
        let table = Table::open(shape, Lock::Read)?;
        if let Err(refusal) = table.check_write(shape) {
            found.push(Finding::of_table("table", refusal.message().to_owned()));
        }
        page_check::check(&table, shape, |block, wrong| {
            let detail = format!("page {block} of dp_mean.{} {wrong}", shape.title());
            found.push(Finding::of_table("page", detail));
        });
    }
    // Rows are not read from pages that are damaged.
    if found.iter().any(|finding| finding.kind == "page") {
        return Ok(found);
    }
    let spent = Table::open(&SPENT, Lock::Read)?;
    for shape in changes::TELLING {
        if !Table::open(shape, Lock::Read)?.tells_of_changes() {
            let detail = format!(
                "trigger tell of dp_mean.{} does not fire always: each charge looks at all lines",
                shape.title()
            );
            found.push(Finding::of_table("table", detail));
        }
    }
    let names = names()?;
    found.extend(
        budgets::unfound()?
            .into_iter()
            .map(|detail| Finding::of_table("index", detail)),
    );
    found.extend(orphans(&names)?);
    found.extend(period_check::check(&names)?);
    found.extend(number_check::check(&names)?);
    let mut of_lines = lines(&spent, &names)?;
    for _ in 1..TRIES {
        if !of_lines.is_empty() {
            of_lines = lines(&spent, &names)?;
        }
    }
    found.extend(of_lines);
    Ok(found)
}

/// The budgets, with their names.
fn names() -> Result<Names, Refusal> {
    let mut names = Names::new();
    let table = Table::open(&BUDGET, Lock::Read)?;
    rows::each(&table, &BUDGET, |row| {
        let name = String::from_utf8_lossy(&row.text(1)).into_owned();
        names.insert(row.integer(0), name);
    });
    Ok(names)
}

/// Rows of budgets that are not there, and budgets without a limit.
fn orphans(names: &Names) -> Result<Vec<Finding>, Refusal> {
    let mut found = Vec::new();
    let mut limited = BTreeSet::new();
    let tables: [(&Shape, usize); 7] = [
        (&PROMISE, 0),
        (&HISTORY, 0),
        (&SPENT, 0),
        (&CHARGE, 1),
        (&ARCHIVED, 0),
        (&DIVISION, 0),
        (&PERIOD_SPENT, 0),
    ];
    for (shape, column) in tables {
        let table = Table::open(shape, Lock::Read)?;
        let mut lost = BTreeSet::new();
        rows::each(&table, shape, |row| {
            let budget = row.integer(column);
            if !names.contains_key(&budget) {
                lost.insert(budget);
            }
            if shape.title() == PROMISE.title() && row.oid(1) == Oid::INVALID {
                limited.insert(budget);
            }
        });
        for budget in lost {
            found.push(Finding {
                kind: "orphan",
                budget: Some(budget.to_string()),
                role: None,
                detail: format!(
                    "dp_mean.{} has rows of a budget that does not exist",
                    shape.title()
                ),
            });
        }
    }
    for (budget, name) in names {
        if !limited.contains(budget) {
            found.push(Finding {
                kind: "limit",
                budget: Some(name.clone()),
                role: None,
                detail: "has no limit".into(),
            });
        }
    }
    Ok(found)
}

/// The lines at one look: those of each key.
type Lines = BTreeMap<(i64, u32), Vec<Balance>>;

/// One look at the lines, and how many rows are none.
fn look(spent: &Table) -> (Lines, u64) {
    let (mut lines, mut damaged) = (Lines::new(), 0);
    pages::each(spent, |seen| match Balance::read(seen.data) {
        Some(line) if line.is_plausible() => {
            let key = (line.key.budget, line.key.role.to_u32());
            lines.entry(key).or_default().push(line);
        }
        _ => damaged += 1,
    });
    (lines, damaged)
}

/// What is wrong with the lines: charges go on, so what the rows add up to is compared with a look before they are read
/// and one after that.
fn lines(spent: &Table, names: &Names) -> Result<Vec<Finding>, Refusal> {
    let (before, damaged) = look(spent);
    let sums = sums()?;
    let (after, _) = look(spent);
    let mut found = Vec::new();
    if damaged > 0 {
        let detail = format!("dp_mean.spent has {damaged} rows that no charge has written");
        found.push(Finding::of_table("line", detail));
    }
    let mut say = |kind, budget: i64, role: u32, detail: String| {
        found.push(Finding::of_budget(kind, names, budget, role, detail));
    };
    for budget in names.keys() {
        if !after.contains_key(&(*budget, 0)) {
            say("line", *budget, 0, "has no line for all together".into());
        }
    }
    for ((budget, role), all) in &after {
        if all.len() > 1 {
            say("twins", *budget, *role, format!("has {} lines", all.len()));
        }
    }
    let nothing = |budget: i64, role: u32| {
        let role = Oid::from_u32(role);
        Balance::new(BalanceKey { budget, role })
    };
    let of = |lines: &Lines, key: (i64, u32)| {
        let line = lines.get(&key).and_then(|all| all.first().copied());
        line.unwrap_or(nothing(key.0, key.1))
    };
    let of_roles = |lines: &Lines, budget: i64| {
        let roles = lines.range((budget, 1)..=(budget, u32::MAX));
        let roles = roles.filter_map(|(_, all)| all.first());
        roles.fold(nothing(budget, 0), |sum, line| sum.plus(line))
    };
    let budgets: BTreeSet<i64> = after.keys().map(|(budget, _)| *budget).collect();
    for budget in budgets {
        let [all_before, all_after] = [&before, &after].map(|lines| of(lines, (budget, 0)));
        let [roles_before, roles_after] = [&before, &after].map(|lines| of_roles(lines, budget));
        if !roles_after.covers(&all_before) || !all_after.covers(&roles_before) {
            let roles = sum(&roles_after);
            let all = sum(&all_after);
            let detail = differ("the lines of roles", roles, "that of all together", all);
            say("sum", budget, 0, detail);
        }
    }
    let keys = after.keys().filter(|(_, role)| *role != 0);
    let keys: BTreeSet<(i64, u32)> = keys.chain(sums.keys()).copied().collect();
    for (budget, role) in keys {
        let key = (budget, role);
        let charged = sums.get(&key).copied().unwrap_or(nothing(budget, role));
        let [low, high] = [&before, &after].map(|lines| of(lines, key));
        if !charged.covers(&low) || !high.covers(&charged) {
            let detail = differ("the charges", sum(&charged), "the line", sum(&high));
            say("history", budget, role, detail);
        }
    }
    Ok(found)
}

/// What a line comes to.
fn sum(line: &Balance) -> (&Spent, i64) {
    (&line.spent, line.charges)
}

/// What the rows of charges add up to, for each role, those that were taken out among them.
fn sums() -> Result<Sums, Refusal> {
    let mut sums = Sums::new();
    let audit = Table::open(&CHARGE, Lock::Read)?;
    rows::each(&audit, &CHARGE, |row| archive::add_charge(&mut sums, row));
    archive::add_archived(&mut sums, &Table::open(&ARCHIVED, Lock::Read)?);
    Ok(sums)
}
