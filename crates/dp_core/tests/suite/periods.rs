//! Periods: each day is in exactly one of them, and they are those of the calendar.

use dp_core::privacy::periods::{Every, Periods, date_of, day_of, text_of};

/// Days with their numbers, as PostgreSQL has them (`date - '2000-01-01'`).
const KNOWN: [(&str, i64); 8] = [
    ("1900-01-01", -36_524),
    ("1999-12-31", -1),
    ("2000-01-01", 0),
    ("2000-02-29", 59),
    ("2000-12-31", 365),
    ("2024-02-29", 8_825),
    ("2025-01-01", 9_132),
    ("2999-12-31", 365_242),
];

fn day(text: &str) -> i64 {
    day_of(text).unwrap_or_else(|| panic!("{text} is a date"))
}

#[test]
fn days_are_numbered_as_postgresql_numbers_them() {
    for (text, number) in KNOWN {
        assert_eq!(day(text), number, "{text}");
        assert_eq!(text_of(number), text);
    }
    // The day after each day, by the rules of the calendar alone.
    let (mut year, mut month, mut of_month) = (1900, 0, 1);
    for number in -36_524..=365_242 {
        assert_eq!(date_of(number), (year, month, of_month), "{number}");
        assert_eq!(day(&text_of(number)), number);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = match month {
            1 if is_leap => 29,
            1 => 28,
            3 | 5 | 8 | 10 => 30,
            _ => 31,
        };
        of_month += 1;
        if of_month > last {
            (month, of_month) = (month + 1, 1);
        }
        if month > 11 {
            (year, month) = (year + 1, 0);
        }
    }
}

#[test]
fn what_is_no_date_is_none() {
    for text in [
        "",
        "2025-02-29",
        "2025-13-01",
        "2025-00-01",
        "2025-01-00",
        "2025-1-01",
        "+025-01-01",
        "2025-01-01-01",
        "infinity",
        "12025-01-01",
    ] {
        assert_eq!(day_of(text), None, "{text}");
    }
}

#[test]
fn each_day_is_in_one_period() {
    let cases = [
        (Every::Months(1), "2025-01-01"),
        (Every::Months(3), "2024-11-01"),
        (Every::Months(7), "1999-06-01"),
        (Every::Months(12), "2020-03-01"),
        (Every::Days(1), "2025-01-01"),
        (Every::Days(7), "2024-02-29"),
        (Every::Days(30), "2031-12-31"),
    ];
    for (every, since) in cases {
        let periods = Periods::new(every, day(since)).expect("periods");
        assert_eq!(periods.first_day(0), day(since));
        let mut before = periods.number_of(-36_525);
        for day in -36_524..=365_242 {
            let number = periods.number_of(day);
            assert!(number == before || number == before + 1, "{every:?} {day}");
            let is_first = periods.first_day(number) == day;
            assert_eq!(is_first, number != before, "{every:?} {}", text_of(day));
            assert!(periods.first_day(number) <= day && day < periods.first_day(number + 1));
            before = number;
        }
    }
}

#[test]
fn an_interval_has_the_periods_of_its_days() {
    let months = Periods::new(Every::Months(1), day("2025-01-01")).expect("periods");
    let between = |first, last| months.between(day(first), day(last));
    assert_eq!(between("2025-01-01", "2025-01-01"), 0..1);
    assert_eq!(between("2025-01-31", "2025-02-01"), 0..2);
    assert_eq!(between("2026-01-01", "2026-03-31"), 12..15);
    assert_eq!(between("2020-05-05", "2025-02-28"), 0..2);
    assert!(between("2020-05-05", "2024-12-31").is_empty());
    assert!(between("2025-02-01", "2025-01-31").is_empty());
}

#[test]
fn periods_have_a_length_and_a_beginning() {
    let new = |every, since: &str| Periods::new(every, day(since));
    for (every, since, argument) in [
        (Every::Months(0), "2025-01-01", "every"),
        (Every::Months(1201), "2025-01-01", "every"),
        (Every::Days(0), "2025-01-01", "every"),
        (Every::Days(36_601), "2025-01-01", "every"),
        (Every::Months(1), "2025-01-02", "since"),
        (Every::Days(1), "1899-12-31", "since"),
        (Every::Days(1), "3000-01-01", "since"),
    ] {
        let error = new(every, since).expect_err("it is refused");
        assert_eq!(error.argument, argument, "{every:?} {since}");
    }
    for (every, unit) in [
        (Every::Months(1), "person-month"),
        (Every::Months(3), "person-quarter"),
        (Every::Months(12), "person-year"),
        (Every::Months(2), "person-period of 2 months"),
        (Every::Days(1), "person-day"),
        (Every::Days(7), "person-week"),
        (Every::Days(10), "person-period of 10 days"),
    ] {
        assert_eq!(new(every, "2025-01-01").expect("periods").unit(), unit);
    }
}
