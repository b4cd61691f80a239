//! Lines of periods: as they lie in their rows, made once, and locked in one order.

use dp_core::privacy::periods::{Every, Periods, day_of};
use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::Oid;
use pgrx::pg_test;

use crate::ledger::division::{Charged, Division, find};
use crate::ledger::lock_order;
use crate::ledger::pages::{self, Change, Extending, Tuple};
use crate::ledger::period_lines::{Line, LineKey, Lines, Places, Tables, has_lines, places};
use crate::ledger::tables::tests::scratch;
use crate::ledger::tables::{DIVISION, PERIOD_SPENT};

const BUDGET: i64 = 7;
const ROLE: Oid = Oid::from_u32(10);

fn periods() -> Periods {
    let since = day_of("2025-01-01").expect("a date");
    Periods::new(Every::Months(1), since).expect("periods")
}

/// The months of these numbers.
fn months(numbers: std::ops::Range<i64>) -> Charged {
    Charged {
        periods: periods(),
        numbers,
    }
}

/// Tables with a division of the budget, and no line.
fn tables() -> Tables {
    let tables = Tables {
        divisions: scratch(&DIVISION, c"scratch_division"),
        lines: scratch(&PERIOD_SPENT, c"scratch_lines"),
    };
    let division = Division::new(BUDGET, &periods(), 5);
    let tuple = Tuple::new(&tables.divisions, &DIVISION, &division.values());
    let page = Extending::of(&tables.divisions).lock_to_append(&tuple);
    pages::write(&tables.divisions, &[Change::Append(&page, &tuple)]);
    drop(page);
    let found = find(&tables.divisions, BUDGET).expect("the division");
    assert_eq!(found.division, division);
    assert_eq!(found.division.periods(), Some(periods()));
    tables
}

fn placed(tables: &Tables, charged: &Charged) -> Places {
    let places = places(tables, "b", BUDGET, ROLE, charged);
    places.unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// Charges months; what was locked meanwhile.
fn charge(tables: &Tables, charged: &Charged) -> Vec<(Oid, u32)> {
    let places = placed(tables, charged);
    let amount = Spent {
        epsilon: 5,
        rho: 3,
        delta: 2,
    };
    let mut lines = Lines::of(Some(tables), std::iter::once(&places))
        .unwrap_or_else(|refusal| panic!("{refusal:?}"));
    lock_order::noted();
    lines.lock().expect("no line has moved");
    let locked = lock_order::noted();
    for is_of_role in [false, true] {
        let nothing = Spent::default();
        let added = lines.add(&places, is_of_role, [&nothing, &amount], None, |_, _| ());
        added.expect("nothing limits it");
    }
    lines.finish();
    let changes: Vec<_> = lines.changes().collect();
    pages::write(&tables.lines, &changes);
    locked
}

#[pg_test]
fn a_line_of_a_period_lies_as_it_is_read() {
    let line = Line {
        key: LineKey {
            budget: BUDGET,
            first_day: 9_132,
            role: 10,
        },
        spent: Spent {
            epsilon: 1,
            rho: 2,
            delta: 3,
        },
        charges: 4,
    };
    assert_eq!(Line::read(&line.bytes()), Some(line));
    let table = scratch(&PERIOD_SPENT, c"scratch_lines");
    assert!(!has_lines(&table, BUDGET));
    let tuple = Tuple::new(&table, &PERIOD_SPENT, &line.values());
    let page = Extending::of(&table).lock_to_append(&tuple);
    pages::write(&table, &[Change::Append(&page, &tuple)]);
    drop(page);
    assert!(has_lines(&table, BUDGET) && !has_lines(&table, BUDGET + 1));
    let mut seen = Vec::new();
    pages::each(&table, |row| seen.extend(Line::read(row.data)));
    assert_eq!(seen, [line]);
}

#[pg_test]
fn lines_of_periods_are_made_once_and_added_to() {
    let tables = tables();
    charge(&tables, &months(0..3));
    charge(&tables, &months(2..5));
    let mut seen = Vec::new();
    pages::each(&tables.lines, |row| seen.extend(Line::read(row.data)));
    assert_eq!(seen.len(), 10);
    for line in seen {
        let twice = line.key.first_day == day_of("2025-03-01").expect("a date") as i32;
        assert_eq!(line.charges, 1 + i64::from(twice), "{line:?}");
        assert_eq!(line.spent.epsilon, 5 * line.charges);
    }
    let division = find(&tables.divisions, BUDGET).expect("the division");
    assert_eq!(division.division.charges, 6);
}

/// The row of the budget first, then the lines by the numbers of their pages, however they are asked for.
#[pg_test]
fn pages_of_periods_are_locked_in_one_order() {
    let tables = tables();
    // Two pages: the last months lie behind lines of another role.
    charge(&tables, &months(0..40));
    charge(&tables, &months(40..120));
    let (divisions, lines) = (tables.divisions.id(), tables.lines.id());
    for numbers in [0..120, 30..60, 100..120] {
        let locked = charge(&tables, &months(numbers));
        assert_eq!(locked[0], (divisions, 0));
        let of_lines = &locked[1..];
        assert!(!of_lines.is_empty() && of_lines.iter().all(|(table, _)| *table == lines));
        assert!(
            of_lines.windows(2).all(|pair| pair[0].1 < pair[1].1),
            "{locked:?}"
        );
    }
    assert!(
        charge(&tables, &months(0..120)).len() > 2,
        "more than one page of lines"
    );
}

#[pg_test]
fn a_line_that_has_moved_is_noticed() {
    let tables = tables();
    let places = placed(&tables, &months(0..2));
    let wrong = Places {
        budget: BUDGET,
        role: 11,
        division: places.division,
        lines: places
            .lines
            .iter()
            .map(|(place, key)| (*place, LineKey { role: 11, ..*key }))
            .collect(),
    };
    let mut lines = Lines::of(Some(&tables), std::iter::once(&wrong))
        .unwrap_or_else(|refusal| panic!("{refusal:?}"));
    assert_eq!(lines.lock(), None);
}
