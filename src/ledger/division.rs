//! Budgets that are cut into periods: a person's rows of one period are a privacy unit of their own, and each period has
//! lines of its own, with the limit of the budget. How a budget is cut is fixed with the first table that is protected
//! so, as a part of that transaction.
//!
//! What is spent by a budget that is not cut, or was before it was, or that is charged as missing, counts in every
//! period.

use dp_core::privacy::periods::{Every, Periods, text_of};

use crate::ledger::budgets::{Budget, Name};
use crate::ledger::defence::Defence;
use crate::ledger::errors::{self, Refusal};
use crate::ledger::pages::{self, RowPlace};
use crate::ledger::period_lines;
use crate::ledger::rows::{self, Value};
use crate::ledger::session;
use crate::ledger::tables::{DIVISION, Lock, PERIOD_SPENT, SPENT, Table};

/// How many bytes a division has in its row.
pub const BYTES: usize = 44;

/// The most periods that one charge is for: with those of a role their lines lie on few pages.
pub const MOST_PERIODS: i64 = 400;

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
    /// One of which nothing is known yet.
    pub fn none(budget: i64) -> Self {
        Self {
            budget,
            charges: 0,
            every: [0; 2],
            at: 0,
            since: 0,
        }
    }

    /// From the data of its row, which has no NULLs and no padding; `None` for another length.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let number = |i: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * i..8 * i + 8]);
            i64::from_ne_bytes(word)
        };
        let mut since = [0; 4];
        since.copy_from_slice(&bytes[40..]);
        Some(Self {
            budget: number(0),
            charges: number(1),
            every: [number(2), number(3)],
            at: number(4),
            since: i32::from_ne_bytes(since),
        })
    }

    /// What [`read`](Self::read) reads.
    pub fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let [months, days] = self.every;
        for (i, number) in [self.budget, self.charges, months, days, self.at]
            .into_iter()
            .enumerate()
        {
            bytes[8 * i..8 * i + 8].copy_from_slice(&number.to_ne_bytes());
        }
        bytes[40..].copy_from_slice(&self.since.to_ne_bytes());
        bytes
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

    fn values(&self) -> [Value; 6] {
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
    uncommitted: bool,
    /// A load of a dump has brought it again.
    is_twice: bool,
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
    let found = find(&Table::open(&DIVISION, Lock::Read)?, budget);
    let Some(found) = found else {
        let lines = Table::open(&PERIOD_SPENT, Lock::Read)?;
        return match charged.is_some() || period_lines::has_lines(&lines, budget) {
            true => Err(errors::periods_unknown(&name)),
            false => Ok(()),
        };
    };
    if found.is_twice && Defence::Lines.stands() {
        return Err(errors::periods_unknown(&name));
    }
    if found.uncommitted && Defence::Committed.stands() {
        return Err(errors::periods_not_committed(function, &name));
    }
    let Some(periods) = found.division.periods() else {
        return Err(errors::periods_unknown(&name));
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
    let division = Division {
        budget,
        charges: 0,
        every: match periods.every() {
            Every::Months(months) => [i64::from(months), 0],
            Every::Days(days) => [0, i64::from(days)],
        },
        at: session::now(),
        since: periods.since() as i32,
    };
    rows::insert(&table, &DIVISION, &division.values());
    Ok(())
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

/// What stands in a message for the period that has no room.
pub fn named(first_day: i32) -> String {
    format!("the period from {} of ", text_of(i64::from(first_day)))
}
