//! Days and times of labels: texts that are the same in every session, whatever its zone and its style of dates.

use dp_core::privacy::periods::{day_of, text_of};
use pgrx::pg_sys::{self, Datum, Oid};

/// Microseconds in a second, and in a day.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;

/// The days of years that have four digits, in PostgreSQL's numbers: from the year 1 to the year 9999.
const FIRST: i64 = -730_119;
const LAST: i64 = 2_921_939;

/// A value of a column of days or times, in microseconds since 2000, in UTC; `None` of one that no label can have.
pub fn of_value(kind: Oid, value: Datum) -> Option<i64> {
    let moment = match kind {
        pg_sys::DATEOID => i64::from(value.value() as i32).checked_mul(DAY)?,
        _ => value.value() as i64,
    };
    let day = moment.div_euclid(DAY);
    (FIRST..=LAST).contains(&day).then_some(moment)
}

/// That value. Of a date, the day of the moment.
pub fn value(kind: Oid, moment: i64) -> Datum {
    match kind {
        pg_sys::DATEOID => Datum::from(day(moment) as i32),
        _ => Datum::from(moment),
    }
}

/// The day of a moment, from 2000-01-01 on.
pub fn day(moment: i64) -> i64 {
    moment.div_euclid(DAY)
}

/// As a label has it: `2025-01-31`, or `2025-01-31 12:30:00.000001`.
pub fn text(moment: i64) -> String {
    let day = text_of(day(moment));
    let time = moment.rem_euclid(DAY);
    if time == 0 {
        return day;
    }
    let (seconds, rest) = (time / SECOND, time % SECOND);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let seconds = seconds % 60;
    format!("{day} {hours:02}:{minutes:02}:{seconds:02}.{rest:06}")
}

/// What [`text`] wrote; `None` of any other text.
pub fn read(text: &str) -> Option<i64> {
    let (day, time) = match text.split_once(' ') {
        None => (text, 0),
        Some((day, time)) => {
            let part = |from: usize, to: usize| time.get(from..to)?.parse::<u32>().ok();
            let [hours, minutes, seconds] = [part(0, 2)?, part(3, 5)?, part(6, 8)?].map(i64::from);
            let time = (hours * 3600 + minutes * 60 + seconds) * SECOND;
            (day, time + i64::from(part(9, 15)?))
        }
    };
    let moment = day_of(day)?.checked_mul(DAY)?.checked_add(time)?;
    (self::text(moment) == text).then_some(moment)
}
