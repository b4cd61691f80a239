//! What the owner says was spent, where a restored ledger does not know it. It is a part of the transaction: until it
//! is committed nothing is charged, and if it is rolled back the ledger is as it was.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::Oid;

use crate::ledger::archive::{self, Sums};
use crate::ledger::balance::{Balance, BalanceKey};
use crate::ledger::balances;
use crate::ledger::budgets::{Budget, Name};
use crate::ledger::changes;
use crate::ledger::charge::TEXT_BYTES;
use crate::ledger::errors::{self, Refusal};
use crate::ledger::periods;
use crate::ledger::rows::{self, Row, Text, Value};
use crate::ledger::session;
use crate::ledger::tables::{ARCHIVED, CHARGE, Lock, SPENT, Table};

/// What the ledger still knows of a budget.
struct Known {
    budget: i64,
    /// The line of all together; of several the largest numbers.
    all: Option<Balance>,
    /// Those of roles, by their numbers.
    roles: BTreeMap<u32, Balance>,
}

impl Known {
    /// From the lines of the budget, and from the audit, which knows each charge if it is whole.
    fn read(budget: i64, spent: &Table, audit: &Table, archived: &Table) -> Self {
        let mut known = Self {
            budget,
            all: None,
            roles: BTreeMap::new(),
        };
        rows::each(spent, &SPENT, |row| {
            if row.integer(0) != budget {
                return;
            }
            let line = Balance {
                refused: row.integer(5),
                noted: row.integer(6),
                reused: row.integer(7),
                reuse_noted: row.integer(8),
                ..known.line(row.oid(9), amount(row, 1), row.integer(4))
            };
            if line.key.role == Oid::INVALID {
                known.all = Some(known.all.map_or(line, |all| largest(all, &line)));
            } else {
                known.raise(&line);
            }
        });
        let mut audited: BTreeMap<u32, Balance> = BTreeMap::new();
        let mut seen = HashSet::<u64, BuildHasherDefault<DefaultHasher>>::default();
        rows::each(audit, &CHARGE, |row| {
            // What periods paid is in lines of their own.
            let is_of_periods = row.integer(12) != 0;
            if row.integer(1) != budget || row.boolean(8) || row.boolean(9) || is_of_periods {
                return;
            }
            let role = row.oid(5);
            let charge = known.line(role, amount(row, 2), 1);
            // A dump that was loaded over its own ledger has brought rows again.
            if seen.try_reserve(1).is_err() {
                errors::out_of_memory();
            }
            let which = (row.integer(0), charge.bytes(), row.text(10), row.text(11));
            if seen.insert(seen.hasher().hash_one(which)) {
                let sum =
                    audited
                        .entry(role.to_u32())
                        .or_insert(known.line(role, Spent::default(), 0));
                *sum = sum.plus(&charge);
            }
        });
        // After the audit: what is taken out of it meanwhile counts twice, and not never.
        let mut taken = Sums::new();
        archive::add_archived(&mut taken, archived);
        for ((_, role), sum) in taken.range((budget, 0)..=(budget, u32::MAX)) {
            let line = audited.entry(*role).or_insert(Balance::new(sum.key));
            *line = line.plus(sum);
        }
        for line in audited.values() {
            known.raise(line);
        }
        known
    }

    fn line(&self, role: Oid, spent: Spent, charges: i64) -> Balance {
        let budget = self.budget;
        Balance {
            spent,
            charges,
            ..Balance::new(BalanceKey { budget, role })
        }
    }

    fn raise(&mut self, line: &Balance) {
        let held = self.roles.entry(line.key.role.to_u32()).or_insert(*line);
        *held = largest(*held, line);
    }

    fn sum(&self) -> Balance {
        let nothing = self.line(Oid::INVALID, Spent::default(), 0);
        self.roles
            .values()
            .fold(nothing, |sum, line| sum.plus(line))
    }

    /// Adds a charge to the account of a role.
    fn charge(&mut self, role: Oid, spent: Spent) {
        let charge = self.line(role, spent, 1);
        self.roles
            .entry(role.to_u32())
            .and_modify(|line| *line = line.plus(&charge))
            .or_insert(charge);
    }
}

/// Epsilon, rho and delta of a row, from this column on.
fn amount(row: &Row, first: usize) -> Spent {
    Spent {
        epsilon: row.integer(first),
        rho: row.integer(first + 1),
        delta: row.integer(first + 2),
    }
}

fn largest(line: Balance, other: &Balance) -> Balance {
    Balance {
        key: line.key,
        spent: line.spent.at_least(&other.spent),
        charges: line.charges.max(other.charges),
        refused: line.refused.max(other.refused),
        noted: line.noted.max(other.noted),
        reused: line.reused.max(other.reused),
        reuse_noted: line.reuse_noted.max(other.reuse_noted),
    }
}

/// Sets what counts as spent: of all together, or by a role; at least what the ledger still knows. The rest is charged
/// to the current role, or to the one that it is said of, with a row in the audit.
pub fn restore(
    function: &'static str,
    name: &Name,
    said: Spent,
    role: Option<Oid>,
) -> Result<(), Refusal> {
    let budget = Budget::owned(function, name)?.id;
    // Nobody charges until this transaction ends.
    let spent = Table::open(&SPENT, Lock::Alone)?;
    let audit = Table::open(&CHARGE, Lock::Add)?;
    let archived = Table::open(&ARCHIVED, Lock::Read)?;
    let mut known = Known::read(budget, &spent, &audit, &archived);
    let payer = role.unwrap_or_else(session::role);
    // What was spent of periods that nobody knows any more counts in all of them.
    for (role, spent) in periods::restore(budget, session::role())? {
        let line = known.line(role, spent, 0);
        match role {
            Oid::INVALID => known.all = Some(known.all.map_or(line, |all| all.plus(&line))),
            role => known.charge(role, spent),
        }
    }
    let rest = match role {
        Some(role) => {
            let before = known.roles.get(&role.to_u32()).map(|line| line.spent);
            before.unwrap_or_default().rest_of(&said)
        }
        None => {
            let whole = known.all.map_or(said, |all| said.at_least(&all.spent));
            known.sum().spent.rest_of(&whole)
        }
    };
    known.charge(payer, rest);
    rows::insert(&audit, &CHARGE, &entry(budget, payer, &rest));
    let sum = known.sum();
    let all = match (role, known.all) {
        (None, _) => Some(sum),
        // What all spent together is said another time.
        (Some(_), all) => all.map(|all| largest(all, &sum)),
    };
    changes::tell();
    rows::delete(&spent, &SPENT, |row| row.integer(0) == budget);
    for line in all.iter().chain(known.roles.values()) {
        balances::insert(&spent, line);
    }
    Ok(())
}

/// The row of the audit.
fn entry(budget: i64, role: Oid, rest: &Spent) -> [Value; 14] {
    [
        Value::Time(session::now()),
        Value::Integer(budget),
        Value::Integer(rest.epsilon),
        Value::Integer(rest.rho),
        Value::Integer(rest.delta),
        Value::Role(role),
        Value::Role(session::session_role()),
        Value::Relation(Oid::INVALID),
        Value::Boolean(false),
        Value::Boolean(false),
        Value::Text(Text::new(b"")),
        Value::Text(session::query(TEXT_BYTES)),
        Value::Integer(0),
        Value::Day(0),
    ]
}
