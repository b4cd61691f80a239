//! Whether the lines of periods are what charges have made of them: all there, once each, of the periods into which the
//! budget is cut, and those of the roles as much as those of all together. Charges go on meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use dp_core::privacy::periods::Periods;

use crate::ledger::division::Division;
use crate::ledger::errors::Refusal;
use crate::ledger::finding::{Finding, Names, differ};
use crate::ledger::pages;
use crate::ledger::period_lines::{Line, LineKey};
use crate::ledger::periods::text_of_day;
use crate::ledger::tables::{DIVISION, Lock, PERIOD_SPENT, Table};

const KIND: &str = "periods";

/// One look at how budgets are cut, and then at the lines.
struct Look {
    divisions: BTreeMap<i64, Vec<Division>>,
    lines: BTreeMap<LineKey, Vec<Line>>,
}

impl Look {
    fn at(divisions: &Table, lines: &Table) -> Self {
        let mut look = Self {
            divisions: BTreeMap::new(),
            lines: BTreeMap::new(),
        };
        pages::each(divisions, |seen| {
            if let Some(division) = Division::read(seen.data) {
                let all = look.divisions.entry(division.budget).or_default();
                all.push(division);
            }
        });
        pages::each(lines, |seen| {
            if let Some(line) = Line::read(seen.data) {
                look.lines.entry(line.key).or_default().push(line);
            }
        });
        look
    }

    /// The lines of a budget, those of each key.
    fn of_budget(&self, budget: i64) -> impl Iterator<Item = &Vec<Line>> {
        let key = |first_day, role| LineKey {
            budget,
            first_day,
            role,
        };
        let keys = key(i32::MIN, 0)..=key(i32::MAX, u32::MAX);
        self.lines.range(keys).map(|(_, lines)| lines)
    }

    /// What all together, and what the roles, have spent of each period of a budget.
    fn sums(&self, budget: i64) -> BTreeMap<i32, [Line; 2]> {
        let mut sums = BTreeMap::new();
        for line in self.of_budget(budget).filter_map(|lines| lines.first()) {
            let first_day = line.key.first_day;
            let none = Line::new(LineKey {
                role: 0,
                ..line.key
            });
            let [all, roles] = sums.entry(first_day).or_insert([none, none]);
            match line.key.role {
                0 => *all = *line,
                _ => *roles = roles.plus(&line.spent, line.charges),
            }
        }
        sums
    }
}

/// All that is wrong with the lines of periods.
///
/// # Errors
/// The ledger is damaged or locked.
pub fn check(names: &Names) -> Result<Vec<Finding>, Refusal> {
    let divisions = Table::open(&DIVISION, Lock::Read)?;
    let lines = Table::open(&PERIOD_SPENT, Lock::Read)?;
    let faults = || {
        let before = Look::at(&divisions, &lines);
        faults(names, &before, &Look::at(&divisions, &lines))
    };
    let found = faults();
    // An owner's word on what was spent may have come between, or somebody who cuts a budget.
    Ok(match found.is_empty() {
        true => found,
        false => faults(),
    })
}

/// What is wrong by a look before, and by one after that: numbers only grow from the first to the second.
fn faults(names: &Names, before: &Look, after: &Look) -> Vec<Finding> {
    let of_lines = after.lines.keys().map(|key| key.budget);
    let budgets: BTreeSet<i64> = of_lines.chain(after.divisions.keys().copied()).collect();
    let mut found = Vec::new();
    for budget in budgets {
        let mut say = |detail| found.push(Finding::of_budget(KIND, names, budget, 0, detail));
        let sums = [before, after].map(|look| look.sums(budget));
        let division = match after.divisions.get(&budget).map(Vec::as_slice) {
            Some([division]) => Some(division),
            _ => None,
        };
        if !division.is_some_and(|division| are_all_there(division, after, &sums)) {
            say("the lines of its periods are not all there, once each".to_owned());
        }
        if let Some(division) = division {
            match division.periods() {
                Some(periods) => say_strays(&periods, after.of_budget(budget), &mut say),
                None => say("its row of dp_mean.budget_period is none that cuts it".to_owned()),
            }
        }
        let [sums_before, sums_after] = &sums;
        let mut more = sums_after.iter().filter(|(day, [all, _])| {
            let before = sums_before.get(day);
            before.is_some_and(|[_, roles]| !all.covers(roles))
        });
        if let Some((first_day, [all, roles])) = more.next() {
            let day = text_of_day(*first_day);
            let roles = (&roles.spent, roles.charges);
            let all = (&all.spent, all.charges);
            let detail = differ("the lines of roles", roles, "that of all together", all);
            say(format!("in the period from {day}, {detail}"));
        }
    }
    found
}

/// Whether no line is missing or there twice: the division counts no more charges than the lines have, and those of the
/// roles come to at least that of all together.
fn are_all_there(
    division: &Division,
    after: &Look,
    [sums_before, sums_after]: &[BTreeMap<i32, [Line; 2]>; 2],
) -> bool {
    let charges = sums_after.values().map(|[all, _]| all.charges);
    let charges = charges.fold(0_i64, i64::saturating_add);
    let has_roles = |(day, [all, _]): (&i32, &[Line; 2])| {
        let after = sums_after.get(day);
        after.is_some_and(|[_, roles]| roles.covers(all))
    };
    let is_once = after
        .of_budget(division.budget)
        .all(|lines| lines.len() == 1);
    is_once && charges >= division.charges && sums_before.iter().all(has_roles)
}

/// Says whether lines are of no period of the budget.
fn say_strays<'a>(
    periods: &Periods,
    lines: impl Iterator<Item = &'a Vec<Line>>,
    say: &mut impl FnMut(String),
) {
    let is_stray = |line: &&Line| !begins(periods, line.key.first_day);
    let strays: Vec<&Line> = lines.flatten().filter(is_stray).collect();
    if let Some(first) = strays.first() {
        say(format!(
            "{} lines begin none of its periods, {}, such as that from {}",
            strays.len(),
            periods.text(),
            text_of_day(first.key.first_day)
        ));
    }
}

/// Whether a day is the first of a period.
fn begins(periods: &Periods, day: i32) -> bool {
    let number = periods.number_of(i64::from(day));
    number >= 0 && periods.first_day(number) == i64::from(day)
}
