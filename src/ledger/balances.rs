//! The lines of a budget: where they are, and whether all of them are there. A load of a dump can lose rows and add
//! rows twice; then nobody knows what was spent, and nothing is charged until the owner says it.

use std::collections::BTreeSet;

use pgrx::pg_sys::{self, Oid};

use crate::ledger::balance::{Balance, BalanceKey};
use crate::ledger::defence::Defence;
use crate::ledger::errors::{self, Refusal};
use crate::ledger::known::{self, Survey};
use crate::ledger::pages::{self, Change, Extending, RowPlace, Tuple};
use crate::ledger::rows::{self, Value};
use crate::ledger::tables::{ARCHIVED, BUDGET, CHARGE, Lock, PROMISE, SPENT, Table};

/// What one look at all lines finds of a budget and a role.
struct Found {
    of_all: Vec<RowPlace>,
    of_role: Vec<RowPlace>,
    /// The line of all together, and the sum of the others.
    all: Balance,
    roles: Balance,
    /// One of the two was made by this transaction.
    uncommitted: bool,
    /// The budgets that have lines.
    budgets: BTreeSet<i64>,
    survey: Survey,
}

impl Found {
    fn look(spent: &Table, [all, own]: [BalanceKey; 2]) -> Self {
        let mut found = Self {
            of_all: Vec::new(),
            of_role: Vec::new(),
            all: Balance::new(all),
            roles: Balance::new(all),
            uncommitted: false,
            budgets: BTreeSet::new(),
            survey: Survey::begin(spent),
        };
        pages::each(spent, |seen| {
            let Some(line) = Balance::read(seen.data) else {
                return;
            };
            found.survey.see(seen, &line);
            found.budgets.insert(line.key.budget);
            if line.key == all || line.key == own {
                found.uncommitted |= seen.uncommitted;
            }
            if line.key == all {
                found.of_all.push(seen.place);
                found.all = line;
            } else if line.key.budget == all.budget {
                found.roles = found.roles.plus(&line);
                if line.key == own {
                    found.of_role.push(seen.place);
                }
            }
        });
        found
    }
}

/// Where the line of all together is, and that of a role, which is made if it is not there.
///
/// # Errors
/// The ledger does not know what was spent.
pub fn places(
    spent: &Table,
    budget: &str,
    keys: [BalanceKey; 2],
) -> Result<[RowPlace; 2], Refusal> {
    let places = keys.map(|key| known::place(spent, key));
    if let [Some(all), Some(own)] = places {
        return Ok([all, own]);
    }
    let found = check(spent, budget, keys)?;
    let place = |places: &[RowPlace], key| match places.first() {
        Some(place) => (*place, true),
        None => (place_of(spent, key), false),
    };
    let [(all, of_all), (own, of_role)] = [
        place(&found.of_all, keys[0]),
        place(&found.of_role, keys[1]),
    ];
    if found.survey.keep() && of_all && of_role {
        known::add(keys, [all, own]);
    }
    Ok([all, own])
}

/// That the ledger knows what was spent of a budget. It makes no line.
///
/// # Errors
/// It does not.
pub fn check_known(spent: &Table, budget: &str, keys: [BalanceKey; 2]) -> Result<(), Refusal> {
    match known::place(spent, keys[0]) {
        Some(_) => Ok(()),
        None => {
            check(spent, budget, keys)?.survey.keep();
            Ok(())
        }
    }
}

/// A look at all lines, with what it finds of two.
fn check(spent: &Table, budget: &str, keys: [BalanceKey; 2]) -> Result<Found, Refusal> {
    let of_all = keys[0];
    let found = Found::look(spent, keys);
    if Defence::Lines.stands() && (found.of_all.len() != 1 || found.of_role.len() > 1) {
        return Err(errors::spent_unknown(budget));
    }
    // Others charge while the lines are looked at, and each charge is added to both sums. So the line of all together,
    // which is read first, is never ahead of the others, unless one of these is lost.
    let is_short = |now: &Found| !now.roles.covers(&found.all);
    if Defence::Sums.stands() && is_short(&found) && is_short(&Found::look(spent, keys)) {
        return Err(errors::spent_unknown(budget));
    }
    if found.budgets.iter().any(|id| *id != of_all.budget) {
        refuse_orphans(found.budgets.clone())?;
    }
    if Defence::Committed.stands() && found.uncommitted {
        return Err(errors::spent_not_committed(budget));
    }
    Ok(found)
}

/// Where lines are, and what they say; `None` of one that is not there.
pub fn look<const N: usize>(
    spent: &Table,
    keys: [BalanceKey; N],
) -> [Option<(RowPlace, Balance)>; N] {
    let mut found = keys.map(|key| known::line(spent, key));
    if found.iter().all(Option::is_some) {
        return found;
    }
    found = [None; N];
    let mut survey = Survey::begin(spent);
    let mut budgets = BTreeSet::new();
    pages::each(spent, |seen| {
        let Some(line) = Balance::read(seen.data) else {
            return;
        };
        survey.see(seen, &line);
        budgets.insert(line.key.budget);
        for (found, key) in found.iter_mut().zip(keys) {
            if line.key == key {
                *found = found.or(Some((seen.place, line)));
            }
        }
    });
    if refuse_orphans(budgets).is_ok() {
        survey.keep();
    }
    found
}

/// Where a line is. It is made if it is not there.
pub fn place_of(spent: &Table, key: BalanceKey) -> RowPlace {
    if let Some(place) = known::place(spent, key) {
        return place;
    }
    let find = || {
        pages::find(spent, |row| {
            Balance::read(row).is_some_and(|line| line.key == key)
        })
    };
    if let Some(place) = find() {
        return place;
    }
    let line = Tuple::new(spent, &SPENT, &values(&Balance::new(key)));
    {
        // One at a time adds lines, so that there is one of each.
        let extending = Extending::of(spent);
        if find().is_none() {
            let page = extending.lock_to_append(&line);
            pages::write(spent, &[Change::Append(&page, &line)]);
        }
    }
    find().expect("a line that was made is there")
}

/// Makes a line as a part of the transaction.
pub fn insert(spent: &Table, line: &Balance) {
    rows::insert(spent, &SPENT, &values(line));
}

fn values(line: &Balance) -> [Value; 10] {
    let spent = &line.spent;
    [
        Value::Integer(line.key.budget),
        Value::Integer(spent.epsilon),
        Value::Integer(spent.rho),
        Value::Integer(spent.delta),
        Value::Integer(line.charges),
        Value::Integer(line.refused),
        Value::Time(line.noted),
        Value::Integer(line.reused),
        Value::Time(line.reuse_noted),
        Value::Role(line.key.role),
    ]
}

/// The line of all together of a new budget, as a part of the transaction that makes the budget. Its number is
/// random: the rows of two ledgers that are loaded into one do not mix.
///
/// # Errors
/// The ledger has rows of a budget that is gone: the new one could be that one.
pub fn new_budget() -> Result<i64, Refusal> {
    let spent = Table::open(&SPENT, Lock::Add)?;
    let mut known = BTreeSet::new();
    pages::each(&spent, |seen| {
        known.extend(Balance::read(seen.data).map(|line| line.key.budget));
    });
    for (shape, column) in [(&PROMISE, 0), (&CHARGE, 1), (&ARCHIVED, 0)] {
        let table = Table::open(shape, Lock::Read)?;
        rows::each(&table, shape, |row| {
            known.insert(row.integer(column));
        });
    }
    refuse_orphans(known.clone())?;
    let budget = loop {
        let budget = random();
        if !known.contains(&budget) {
            break budget;
        }
    };
    let role = Oid::INVALID;
    insert(&spent, &Balance::new(BalanceKey { budget, role }));
    Ok(budget)
}

/// A random number above 0.
fn random() -> i64 {
    let mut bytes = [0; 8];
    // SAFETY: it fills that many bytes.
    match unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) } {
        true => (i64::from_ne_bytes(bytes) & i64::MAX).max(1),
        false => errors::no_randomness(),
    }
}

/// That all these budgets are there.
fn refuse_orphans(mut budgets: BTreeSet<i64>) -> Result<(), Refusal> {
    if !Defence::Orphans.stands() {
        return Ok(());
    }
    let table = Table::open(&BUDGET, Lock::Read)?;
    rows::each(&table, &BUDGET, |row| {
        budgets.remove(&row.integer(0));
    });
    match budgets.is_empty() {
        true => Ok(()),
        false => Err(errors::budget_lost()),
    }
}
