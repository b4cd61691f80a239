//! Lines of periods: as they lie in their rows, made once, and locked in one order.

use dp_core::privacy::periods::{Every, Periods, day_of};
use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::{self, Oid};
use pgrx::pg_test;
use std::ffi::CStr;

use crate::ledger::changes;
use crate::ledger::division::{Charged, Division, find};
use crate::ledger::lock_order;
use crate::ledger::pages::{self, Change, Extending, Tuple};
use crate::ledger::period_known::{Cut, cut};
use crate::ledger::period_lines::{
    Line, LineKey, Lines, Places, Tables, has_lines, keys, line, lines, places,
};
use crate::ledger::tables::tests::{open_scratch, scratch};
use crate::ledger::tables::{DIVISION, Lock, PERIOD_SPENT};
use crate::pg::test_helpers::sql;

const BUDGET: i64 = 7;
const ROLE: Oid = Oid::from_u32(10);
/// As many as one charge is for at most.
const MOST_PERIODS: i64 = 400;

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
    divided(Tables {
        divisions: scratch(&DIVISION, c"scratch_division"),
        lines: scratch(&PERIOD_SPENT, c"scratch_lines"),
    })
}

/// The same, where each process hears of what SQL changes.
fn telling_tables() -> Tables {
    let telling = |shape, name: &'static CStr| {
        drop(scratch(shape, name));
        let table = name.to_str().expect("a plain name");
        sql(&format!(
            "CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON dp_mean.{table} \
             FOR EACH ROW EXECUTE FUNCTION dp_mean.dp_ledger_tell(); \
             ALTER TABLE dp_mean.{table} ENABLE ALWAYS TRIGGER tell"
        ));
        open_scratch(shape, name, Lock::Change)
    };
    divided(Tables {
        divisions: telling(&DIVISION, c"scratch_division"),
        lines: telling(&PERIOD_SPENT, c"scratch_lines"),
    })
}

fn divided(tables: Tables) -> Tables {
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

/// How many pages a charge of these months looks at, when it is not the first one.
fn pages_of_a_charge(tables: &Tables, charged: &Charged) -> i64 {
    charge(tables, charged);
    // SAFETY: counters of this process, which nothing else changes.
    let count = || unsafe { (&raw const pg_sys::pgBufferUsage).read() };
    let before = count();
    charge(tables, charged);
    let after = count();
    (after.shared_blks_hit + after.shared_blks_read)
        - (before.shared_blks_hit + before.shared_blks_read)
}

/// A charge looks at its own lines, however many there are; where changes are not heard of, at all.
#[pg_test]
fn a_charge_of_a_period_costs_the_same_with_many_lines() {
    let telling: fn() -> Tables = telling_tables;
    for (make, is_told) in [(telling, true), (tables, false)] {
        let tables = make();
        let few = pages_of_a_charge(&tables, &months(0..3));
        charge(&tables, &months(0..MOST_PERIODS));
        charge(&tables, &months(MOST_PERIODS..2 * MOST_PERIODS));
        let many = pages_of_a_charge(&tables, &months(0..3));
        assert_eq!(many == few, is_told, "{few} {many}");
        assert!(many >= few);
        let found = lines(
            &tables,
            "b",
            BUDGET,
            &keys(BUDGET, ROLE, &months(0..3)),
            &months(0..3),
        );
        let found = found.unwrap_or_else(|refusal| panic!("{refusal:?}"));
        assert_eq!(found.len(), 6);
        for line in found.values() {
            assert_eq!((line.charges, line.spent.epsilon), (5, 25), "{line:?}");
        }
        drop(tables);
        sql("DROP TABLE dp_mean.scratch_division, dp_mean.scratch_lines");
    }
}

/// What is known holds until SQL changes a line.
#[pg_test]
fn a_line_that_was_changed_is_looked_for_again() {
    let tables = telling_tables();
    charge(&tables, &months(0..2));
    charge(&tables, &months(0..2));
    let key = keys(BUDGET, ROLE, &months(0..1))[0];
    assert_eq!(line(&tables, key).charges, 2);
    let cut = || cut(tables.both(), BUDGET);
    assert!(matches!(cut(), Some(Cut::Into(..))));
    // The triggers tell of the ledger's own tables, so these are told of here.
    for table in [tables.divisions.id(), tables.lines.id()] {
        // SAFETY: a table that is there.
        unsafe {
            pg_sys::CacheInvalidateRelcacheByRelid(table);
            pg_sys::CommandCounterIncrement();
        }
        assert_eq!(cut(), None);
        charge(&tables, &months(0..2));
        assert!(matches!(cut(), Some(Cut::Into(..))));
    }
    changes::forget();
    assert_eq!(cut(), None);
    assert_eq!(line(&tables, key).charges, 4);
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
