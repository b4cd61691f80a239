//! Budgets that are cut into periods: a person's rows of one period are a privacy unit of their own, and each period has
//! lines of its own, with the limit of the budget. How a budget is cut is fixed with the first table that is protected
//! so, as a part of that transaction.
//!
//! What is spent by a budget that is not cut, or was before it was, or that is charged as missing, counts in every
//! period.

use dp_core::privacy::periods::{Every, Periods, text_of};

use crate::ledger::errors::Refusal;
use crate::ledger::fields;
use crate::ledger::pages::{self, RowPlace};
use crate::ledger::rows::{self, Value};
use crate::ledger::tables::{DIVISION, Lock, Table};

/// How many bytes a division has in its row.
pub const BYTES: usize = 44;

/// The periods that a charge is for: each of them pays it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    pub periods: Periods,
    pub numbers: std::ops::Range<i64>,
}

impl Charged {
    /// The first days of the periods.
    pub fn first_days(&self) -> impl Iterator<Item = i32> {
        let periods = self.periods;
        self.numbers
            .clone()
            .map(move |number| periods.first_day(number) as i32)
    }

    /// The first day of the first one.
    pub fn first_day(&self) -> i32 {
        self.periods.first_day(self.numbers.start) as i32
    }

    /// How many there are, and since when, for the server's log.
    pub fn text(&self) -> String {
        let first = text_of(i64::from(self.first_day()));
        format!("{} periods from {first}", self.count())
    }

    /// How many there are.
    pub fn count(&self) -> i64 {
        self.numbers.end - self.numbers.start
    }
}

/// What the row of `dp_mean.budget_period` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    pub budget: i64,
    /// How many charges all lines of all together have, in all periods.
    pub charges: i64,
    every: [i64; 2],
    at: i64,
    since: i32,
}

impl Division {
    /// One that nothing is known of yet.
    pub fn none(budget: i64) -> Self {
        Self {
            budget,
            charges: 0,
            every: [0; 2],
            at: 0,
            since: 0,
        }
    }

    /// A new one.
    pub fn new(budget: i64, periods: &Periods, at: i64) -> Self {
        Self {
            every: match periods.every() {
                Every::Months(months) => [i64::from(months), 0],
                Every::Days(days) => [0, i64::from(days)],
            },
            at,
            since: periods.since() as i32,
            ..Self::none(budget)
        }
    }

    /// From the data of its row, which has no NULLs and no padding; `None` for another length.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let number = |i| fields::long(bytes, i);
        Some(Self {
            budget: number(0),
            charges: number(1),
            every: [number(2), number(3)],
            at: number(4),
            since: i32::from_ne_bytes(fields::short(bytes, 40)),
        })
    }

    /// What [`read`](Self::read) reads.
    pub fn bytes(&self) -> [u8; BYTES] {
        let [months, days] = self.every;
        let numbers = [self.budget, self.charges, months, days, self.at];
        fields::data(&numbers, &[self.since.to_ne_bytes()])
    }

    /// Its periods; `None` of a row that no call has made.
    pub fn periods(&self) -> Option<Periods> {
        let number = |number: i64| u32::try_from(number).ok();
        let every = match self.every {
            [months, 0] => Every::Months(number(months)?),
            [0, days] => Every::Days(number(days)?),
            _ => return None,
        };
        Periods::new(every, i64::from(self.since)).ok()
    }

    pub fn values(&self) -> [Value; 6] {
        let [months, days] = self.every;
        [
            Value::Integer(self.budget),
            Value::Integer(self.charges),
            Value::Integer(months),
            Value::Integer(days),
            Value::Time(self.at),
            Value::Day(self.since),
        ]
    }
}

/// A division that was found.
#[derive(Clone, Copy)]
pub struct FoundDivision {
    pub place: RowPlace,
    pub division: Division,
    /// This transaction made it, and may still take it back.
    pub uncommitted: bool,
    /// A load of a dump has brought it again.
    pub is_twice: bool,
}

/// The division of a budget, if it has one.
pub fn find(table: &Table, budget: i64) -> Option<FoundDivision> {
    let mut found = None::<FoundDivision>;
    pages::each(table, |seen| {
        let Some(division) = Division::read(seen.data) else {
            return;
        };
        if division.budget == budget {
            found = Some(FoundDivision {
                place: seen.place,
                division,
                uncommitted: seen.uncommitted,
                is_twice: found.is_some(),
            });
        }
    });
    found
}

/// Puts the division of a budget in order, where rows were lost or loaded twice: one row, with as many charges as the
/// lines that are there. `false` if it is not cut into periods, as far as anyone knows.
pub fn restore(budget: i64, charges: i64) -> Result<bool, Refusal> {
    let table = Table::open(&DIVISION, Lock::Alone)?;
    let Some(found) = find(&table, budget) else {
        return Ok(false);
    };
    rows::delete(&table, &DIVISION, |row| row.integer(0) == budget);
    let division = Division {
        charges,
        ..found.division
    };
    rows::insert(&table, &DIVISION, &division.values());
    Ok(true)
}
