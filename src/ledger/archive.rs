//! Takes rows of charges out of the ledger: what was spent stays, and so does what these rows add up to. All of it is a
//! part of the transaction that does it.

use std::collections::BTreeMap;

use dp_core::privacy::spending::{DELTA_UNIT, Spent, UNBOUNDED, UNIT};
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, Oid};

use crate::ledger::balance::{Balance, BalanceKey};
use crate::ledger::budgets::{Budget, Name};
use crate::ledger::errors::{self, Refusal};
use crate::ledger::rows::{self, Row, Value};
use crate::ledger::session;
use crate::ledger::tables::{ARCHIVED, CHARGE, Lock, Table};

/// Sums of rows that were charged, by the role's number.
pub type Sums = BTreeMap<(i64, u32), Balance>;

/// Adds a row of the audit to the sums, if something was spent. What periods paid is in lines of their own, and is a
/// charge of the budget that adds nothing to its line.
pub fn add_charge(sums: &mut Sums, row: &Row) {
    if row.boolean(8) || row.boolean(9) {
        return;
    }
    let amount = match row.integer(12) {
        0 => Spent {
            epsilon: row.integer(2),
            rho: row.integer(3),
            delta: row.integer(4),
        },
        _ => Spent::default(),
    };
    add(sums, row.integer(1), row.oid(5), amount, 1);
}

/// Adds what the rows came to that were taken out.
pub fn add_archived(sums: &mut Sums, archived: &Table) {
    rows::each(archived, &ARCHIVED, |row| {
        let amount = Spent {
            epsilon: row.integer(3),
            rho: row.integer(4),
            delta: row.integer(5),
        };
        add(sums, row.integer(0), row.oid(1), amount, row.integer(6));
    });
}

fn add(sums: &mut Sums, budget: i64, role: Oid, spent: Spent, charges: i64) {
    let nothing = Balance::new(BalanceKey { budget, role });
    let sum = sums.entry((budget, role.to_u32())).or_insert(nothing);
    *sum = sum.plus(&Balance {
        spent,
        charges,
        ..nothing
    });
}

/// How many columns `dp_ledger` has.
const COLUMNS: usize = 14;

/// A row as `dp_ledger` shows it.
fn shown(row: &Row, budget: &str) -> [Option<Datum>; COLUMNS] {
    let (epsilon, relation) = (row.integer(2), row.oid(7));
    let periods = Some(row.integer(12)).filter(|periods| *periods > 0);
    let nine_digits = |number: f64| (number * 1e9).ceil() / 1e9;
    [
        row.integer(0).into_datum(),
        budget.into_datum(),
        row.oid(5).into_datum(),
        row.oid(6).into_datum(),
        (relation != Oid::INVALID).then_some(relation).into_datum(),
        row.boolean(8).into_datum(),
        row.boolean(9).into_datum(),
        (epsilon < UNBOUNDED)
            .then(|| nine_digits(epsilon as f64 / UNIT))
            .into_datum(),
        (row.integer(3) as f64 / UNIT).into_datum(),
        (row.integer(4) as f64 / DELTA_UNIT).into_datum(),
        String::from_utf8_lossy(&row.text(10))
            .into_owned()
            .into_datum(),
        String::from_utf8_lossy(&row.text(11))
            .into_owned()
            .into_datum(),
        periods.into_datum(),
        periods.map(|_| Datum::from(row.day(13))),
    ]
}

/// Takes out the rows from before a time, of one budget or of all that the current role owns, and calls `each` with
/// each of them.
///
/// # Errors
/// The budget is not there, or it is another's; the ledger is locked.
pub fn archive(
    function: &'static str,
    before: i64,
    name: Option<&Name>,
    mut each: impl FnMut([Option<Datum>; COLUMNS]),
) -> Result<(), Refusal> {
    let budgets: BTreeMap<i64, String> = match name {
        Some(name) => [(Budget::owned(function, name)?.id, name.text())].into(),
        None => Budget::all_owned()?.into_iter().collect(),
    };
    if budgets.is_empty() && !session::is_superuser() {
        return Err(errors::owns_nothing(function));
    }
    // Rows are added meanwhile, and nobody else takes any out.
    let audit = Table::open(&CHARGE, Lock::Take)?;
    let archived = Table::open(&ARCHIVED, Lock::Alone)?;
    let mut sums = Sums::new();
    let mut taken: BTreeMap<(i64, u32), i64> = BTreeMap::new();
    rows::delete(&audit, &CHARGE, |row| {
        let budget = budgets.get(&row.integer(1));
        let Some(budget) = budget.filter(|_| row.integer(0) < before) else {
            return false;
        };
        add_charge(&mut sums, row);
        *taken
            .entry((row.integer(1), row.oid(5).to_u32()))
            .or_default() += 1;
        each(shown(row, budget));
        true
    });
    for ((budget, role), rows) in taken {
        let role_id = Oid::from_u32(role);
        let mut number = 0;
        let of_key = [(0, Value::Integer(budget)), (1, Value::Role(role_id))];
        rows::each_of(&archived, &ARCHIVED, of_key, |row| {
            number = number.max(row.integer(2));
        });
        let sum = sums.get(&(budget, role));
        let spent = sum.map_or(Spent::default(), |sum| sum.spent);
        let values = [
            Value::Integer(budget),
            Value::Role(role_id),
            Value::Integer(number + 1),
            Value::Integer(spent.epsilon),
            Value::Integer(spent.rho),
            Value::Integer(spent.delta),
            Value::Integer(sum.map_or(0, |sum| sum.charges)),
            Value::Integer(rows),
            Value::Time(before),
            Value::Time(session::now()),
            Value::Text(session::role_name()),
        ];
        rows::insert(&archived, &ARCHIVED, &values);
    }
    Ok(())
}
