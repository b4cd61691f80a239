//! Periods of a budget: the time since a day, cut into parts of equal length. A person's rows of one period are a
//! privacy unit of their own, with a limit of its own.
//!
//! More of it: docs/proofs/periods.md.
//!
//! Days are numbered from 2000-01-01, as PostgreSQL numbers them. A day belongs to exactly one period.
//!
//! ```
//! use dp_core::privacy::periods::{Every, Periods, day_of};
//!
//! let since = day_of("2025-01-01").expect("a date");
//! let periods = Periods::new(Every::Months(1), since)?;
//! assert_eq!(periods.unit(), "person-month");
//! let day = day_of("2025-03-31").expect("a date");
//! assert_eq!(periods.number_of(day), 2);
//! assert_eq!(periods.first_day(2), day_of("2025-03-01").expect("a date"));
//! # Ok::<(), dp_core::error::ParameterError>(())
//! ```

use std::ops::Range;

use crate::error::ParameterError;

/// The most months of a period, and the most days.
const MOST_MONTHS: u32 = 1200;
const MOST_DAYS: u32 = 36_600;

/// The first and the last day that periods can begin: 1900-01-01 and 2999-12-31.
const DAYS: Range<i64> = -36_524..365_243;

/// The lengths of months in a year that is no leap year.
const MONTHS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// How long a period is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Whole months of the calendar.
    Months(u32),
    /// Whole days.
    Days(u32),
}

/// The periods of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    every: Every,
    since: i64,
}

impl Periods {
    /// Periods of this length, the first of them from this day on.
    ///
    /// # Errors
    /// The length is 0 or too large, the day is far away, or months do not begin on the first of a month.
    pub fn new(every: Every, since: i64) -> Result<Self, ParameterError> {
        let is_long = match every {
            Every::Months(months) => (1..=MOST_MONTHS).contains(&months),
            Every::Days(days) => (1..=MOST_DAYS).contains(&days),
        };
        if !is_long {
            return Err(ParameterError::new(
                "every",
                "must be whole months, from 1 to 1200, or whole days, from 1 to 36600",
                "Give the length of a period, as in '1 month' or '7 days'.",
            ));
        }
        if !DAYS.contains(&since) {
            return Err(ParameterError::new(
                "since",
                "must be from 1900-01-01 to 2999-12-31",
                "Give the first day that may be asked about, as in '2025-01-01'.",
            ));
        }
        if matches!(every, Every::Months(_)) && date_of(since).2 != 1 {
            return Err(ParameterError::new(
                "since",
                "must be the first day of a month, where periods are months",
                "Give the first day that may be asked about, as in '2025-01-01'.",
            ));
        }
        Ok(Self { every, since })
    }

    /// How long each is.
    pub fn every(&self) -> Every {
        self.every
    }

    /// The first day of the first one.
    pub fn since(&self) -> i64 {
        self.since
    }

    /// The number of the period that a day is in, from 0; negative before the first one.
    pub fn number_of(&self, day: i64) -> i64 {
        match self.every {
            Every::Months(months) => {
                let month_of = |day| month_number(date_of(day));
                (month_of(day) - month_of(self.since)).div_euclid(i64::from(months))
            }
            Every::Days(days) => (day - self.since).div_euclid(i64::from(days)),
        }
    }

    /// The first day of the period of a number.
    pub fn first_day(&self, number: i64) -> i64 {
        match self.every {
            Every::Months(months) => {
                let month = month_number(date_of(self.since)) + number * i64::from(months);
                day_number(month.div_euclid(12), month.rem_euclid(12), 1)
            }
            Every::Days(days) => self.since + number * i64::from(days),
        }
    }

    /// The numbers of the periods that have one of these days, none before the first.
    pub fn between(&self, first: i64, last: i64) -> Range<i64> {
        if first > last {
            return 0..0;
        }
        let numbers = self.number_of(first).max(0)..self.number_of(last) + 1;
        match numbers.is_empty() {
            true => 0..0,
            false => numbers,
        }
    }

    /// How they are cut, for messages: `every 1 month since 2025-01-01`.
    pub fn text(&self) -> String {
        let (count, name) = match self.every {
            Every::Months(months) => (months, "month"),
            Every::Days(days) => (days, "day"),
        };
        let plural = if count == 1 { "" } else { "s" };
        format!("every {count} {name}{plural} since {}", text_of(self.since))
    }

    /// What neighbours differ in: one person's rows of one period.
    pub fn unit(&self) -> String {
        match self.every {
            Every::Months(1) => "person-month".to_owned(),
            Every::Months(3) => "person-quarter".to_owned(),
            Every::Months(12) => "person-year".to_owned(),
            Every::Months(months) => format!("person-period of {months} months"),
            Every::Days(1) => "person-day".to_owned(),
            Every::Days(7) => "person-week".to_owned(),
            Every::Days(days) => format!("person-period of {days} days"),
        }
    }
}

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// How many days a month has, which is counted from 0.
fn length(year: i64, month: i64) -> i64 {
    let leap = month == 1 && is_leap(year);
    MONTHS[month as usize] + i64::from(leap)
}

/// How many days there are between 2000-01-01 and the first day of a year.
fn year_start(year: i64) -> i64 {
    // Leap years before a year, from year 1 on.
    let leaps = |year: i64| {
        let before = year - 1;
        before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400)
    };
    365 * (year - 2000) + leaps(year) - leaps(2000)
}

/// The number of a day, of a year, a month from 0, and a day from 1.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let months = (0..month).map(|month| length(year, month));
    year_start(year) + months.sum::<i64>() + day - 1
}

/// The year, the month from 0, and the day from 1 of a number.
pub fn date_of(number: i64) -> (i64, i64, i64) {
    // 400 years have 146,097 days. The guess is right, or one off.
    let guess = 2000 + (number * 400).div_euclid(146_097);
    let year = match guess {
        year if year_start(year) > number => year - 1,
        year if year_start(year + 1) <= number => year + 1,
        year => year,
    };
    let mut left = number - year_start(year);
    let mut month = 0;
    while left >= length(year, month) {
        left -= length(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

fn month_number((year, month, _): (i64, i64, i64)) -> i64 {
    12 * year + month
}

/// The number of a day, written as `2025-01-31`; `None` if there is no such day.
pub fn day_of(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let mut part = |length: usize| {
        let part = parts.next().filter(|part| part.len() == length)?;
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<i64>().ok()).flatten()
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    let is_date = parts.next().is_none()
        && (1..=12).contains(&month)
        && (1..=length(year, month - 1)).contains(&day);
    is_date.then(|| day_number(year, month - 1, day))
}

/// A day as `2025-01-31`.
pub fn text_of(number: i64) -> String {
    let (year, month, day) = date_of(number);
    format!("{year:04}-{:02}-{day:02}", month + 1)
}
