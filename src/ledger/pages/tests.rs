//! Rows changed in place: sizes, full pages, two lines on one page and on two, and what a mistake leaves.

use pgrx::Spi;
use pgrx::pg_sys::{self, BlockNumber, Oid, XLogRecPtr};
use pgrx::pg_test;

use crate::ledger::balance::{BYTES, Balance, BalanceKey};
use crate::ledger::pages::{Change, Extending, Locked, RowPlace, Tuple, blocks, find, write};
use crate::ledger::rows::{Text, Value};
use crate::ledger::tables::tests::scratch;
use crate::ledger::tables::{CHARGE, SPENT, Table};
use crate::pg::test_helpers::{fails, sql};

/// The header of a tuple without NULLs, as it is aligned.
const HEAD: usize = 24;

/// A line of the ledger, as a row of a table like `dp_mean.spent`.
pub fn line_tuple(table: &Table, budget: i64, role: u32) -> Tuple {
    let zero = || Value::Integer(0);
    let role = Value::Role(Oid::from_u32(role));
    let never = || Value::Time(i64::MIN);
    let values = [
        Value::Integer(budget),
        zero(),
        zero(),
        zero(),
        zero(),
        zero(),
        never(),
        zero(),
        never(),
        role,
    ];
    Tuple::new(table, &SPENT, &values)
}

/// A row of the audit with a query of that many bytes.
pub fn entry_tuple(table: &Table, query: usize) -> Tuple {
    let role = || Value::Role(Oid::from_u32(10));
    let values = [
        Value::Time(0),
        Value::Integer(1),
        Value::Integer(2),
        Value::Integer(3),
        Value::Integer(4),
        role(),
        role(),
        Value::Relation(Oid::INVALID),
        Value::Boolean(false),
        Value::Boolean(false),
        Value::Text(Text::new(b"")),
        Value::Text(Text::new(&vec![b'q'; query])),
        Value::Integer(0),
        Value::Day(0),
    ];
    Tuple::new(table, &CHARGE, &values)
}

/// Adds a tuple; its page.
fn append(table: &Table, tuple: &Tuple) -> BlockNumber {
    let page = Locked::lock_to_append(table, tuple);
    write(table, &[Change::Append(&page, tuple)]);
    page.block
}

/// Where the line of this budget is.
pub fn line_of(table: &Table, budget: i64) -> Option<RowPlace> {
    find(table, |row| {
        Balance::read(row).is_some_and(|line| line.key.budget == budget)
    })
}

/// What a row holds.
fn line_at(table: &Table, place: RowPlace) -> Option<Balance> {
    Locked::lock(table, place)
        .row(table, place)
        .and_then(Balance::read)
}

/// As many lines as two pages need, of budgets from 0; the places of the first and of the last.
pub fn two_pages(table: &Table) -> [RowPlace; 2] {
    let last = (0..).find(|budget| append(table, &line_tuple(table, *budget, 0)) == 1);
    [0, last.expect("a second page")].map(|budget| line_of(table, budget).expect("a line"))
}

/// The line of this budget after `charges` charges.
fn charged(budget: i64, charges: i64) -> Balance {
    let role = Oid::INVALID;
    Balance {
        charges,
        ..Balance::new(BalanceKey { budget, role })
    }
}

/// The record of the WAL that changed a page last.
fn record_of(page: &Locked) -> XLogRecPtr {
    // SAFETY: the page is locked; its head begins with the place of the record.
    unsafe {
        let head: pg_sys::PageHeader = pg_sys::BufferGetPage(page.buffer).cast();
        u64::from((*head).pd_lsn.xlogid) << 32 | u64::from((*head).pd_lsn.xrecoff)
    }
}

fn value(query: &str) -> i64 {
    Spi::get_one(query).expect("an answer").expect("a number")
}

#[pg_test]
fn a_tuple_takes_what_its_columns_take() {
    let spent = scratch(&SPENT, c"scratch_spent");
    assert_eq!(line_tuple(&spent, 1, 2).size(), HEAD + BYTES);
    let audit = scratch(&CHARGE, c"scratch_charge");
    // Numbers, the flags, an empty text. A text of more than 126 bytes has a head of 4 bytes at a multiple of 4. Behind
    // the texts a number at a multiple of 8, and a day.
    for query in [0_usize, 1, 126] {
        let texts = (54 + 1 + 1 + query).next_multiple_of(8);
        assert_eq!(entry_tuple(&audit, query).size(), HEAD + texts + 12);
    }
    for query in [127_usize, 500, 1000] {
        let texts = (56 + 4 + query).next_multiple_of(8);
        assert_eq!(entry_tuple(&audit, query).size(), HEAD + texts + 12);
    }
}

#[pg_test]
fn a_row_made_in_place_is_frozen_and_seen_by_sql() {
    let spent = scratch(&SPENT, c"scratch_spent");
    append(&spent, &line_tuple(&spent, 7, 10));
    let frozen = "SELECT count(*) FROM dp_mean.scratch_spent WHERE budget = 7 AND role::oid = 10
                  AND xmin = '2' AND xmax = '0' AND cmin = '0'";
    assert_eq!(value(frozen), 1);
    // Every snapshot sees it, one from before it was made too.
    let place = line_of(&spent, 7).expect("the line");
    let line = line_at(&spent, place).expect("the line");
    assert_eq!(
        (line.key.budget, line.key.role, line.charges),
        (7, Oid::from_u32(10), 0)
    );
}

#[pg_test]
fn an_empty_table_gets_its_first_page() {
    let spent = scratch(&SPENT, c"scratch_spent");
    assert_eq!(blocks(&spent), 0);
    assert_eq!(line_of(&spent, 0), None);
    assert_eq!(append(&spent, &line_tuple(&spent, 0, 0)), 0);
    assert_eq!(blocks(&spent), 1);
    assert_eq!(line_of(&spent, 0), Some(RowPlace { block: 0, row: 1 }));
    assert_eq!(append(&spent, &line_tuple(&spent, 1, 0)), 0);
    assert_eq!(line_of(&spent, 1), Some(RowPlace { block: 0, row: 2 }));
    assert_eq!(line_of(&spent, 2), None);
}

#[pg_test]
fn a_full_page_is_followed_by_a_new_one() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let [_, last] = two_pages(&spent);
    // A page's head has 24 bytes, and each row 4 more than its own, which are rounded up to 8.
    let fit = (pg_sys::BLCKSZ as usize - 24) / (4 + (HEAD + BYTES).next_multiple_of(8));
    assert_eq!(last, RowPlace { block: 1, row: 1 });
    let fit = i64::try_from(fit).expect("few");
    for budget in 0..fit {
        let row = u16::try_from(budget + 1).expect("few");
        assert_eq!(line_of(&spent, budget), Some(RowPlace { block: 0, row }));
    }
    assert_eq!(line_of(&spent, fit), Some(last));
    assert_eq!(value("SELECT count(*) FROM dp_mean.scratch_spent"), fit + 1);
    assert_eq!(
        value("SELECT count(DISTINCT budget) FROM dp_mean.scratch_spent"),
        fit + 1
    );
}

#[pg_test]
fn the_last_bytes_of_a_page_are_used() {
    let audit = scratch(&CHARGE, c"scratch_charge");
    // Seven entries of 1104 bytes, with 4 for each, leave 412: an entry of 408 fits, and one of 416 does not.
    let size = |tuple: &Tuple| tuple.size().next_multiple_of(8);
    let long = entry_tuple(&audit, 1000);
    assert_eq!(size(&long), 1104);
    for _ in 0..7 {
        assert_eq!(append(&audit, &long), 0);
    }
    let over = entry_tuple(&audit, 309);
    assert_eq!(size(&over), 416);
    assert!(Locked::with_room(&audit, std::slice::from_ref(&over)).is_none());
    let fits = entry_tuple(&audit, 308);
    assert_eq!(size(&fits), 408);
    assert_eq!(append(&audit, &fits), 0);
    assert_eq!(append(&audit, &over), 1);
    assert_eq!(value("SELECT count(*) FROM dp_mean.scratch_charge"), 9);
}

#[pg_test]
fn two_lines_of_one_page_change_together() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let audit = scratch(&CHARGE, c"scratch_charge");
    for budget in 0..3 {
        append(&spent, &line_tuple(&spent, budget, 0));
    }
    let [first, last] = [0, 2].map(|budget| line_of(&spent, budget).expect("a line"));
    let entry = entry_tuple(&audit, 3);
    let (new, page) = (
        Locked::lock_to_append(&audit, &entry),
        Locked::lock(&spent, first),
    );
    let before = record_of(&page);
    let written = write(
        &spent,
        &[
            Change::Append(&new, &entry),
            Change::Overwrite(&page, first, &charged(0, 5).bytes()),
            Change::Overwrite(&page, last, &charged(2, 6).bytes()),
        ],
    );
    assert!(written.0 > before);
    assert_eq!([&new, &page].map(record_of), [written.0; 2]);
    drop((new, page));
    let found = [0, 1, 2].map(|budget| line_at(&spent, line_of(&spent, budget).expect("a line")));
    assert_eq!(
        found,
        [charged(0, 5), charged(1, 0), charged(2, 6)].map(Some)
    );
    assert_eq!(value("SELECT count(*) FROM dp_mean.scratch_charge"), 1);
}

#[pg_test]
fn two_lines_of_two_pages_change_in_one_record() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let audit = scratch(&CHARGE, c"scratch_charge");
    let [first, last] = two_pages(&spent);
    let budget = line_at(&spent, last).expect("a line").key.budget;
    let entry = entry_tuple(&audit, 3);
    let new = Locked::lock_to_append(&audit, &entry);
    let [low, high] = [first, last].map(|place| Locked::lock(&spent, place));
    let written = write(
        &spent,
        &[
            Change::Append(&new, &entry),
            Change::Overwrite(&low, first, &charged(0, 5).bytes()),
            Change::Overwrite(&high, last, &charged(budget, 6).bytes()),
        ],
    );
    assert_eq!([&new, &low, &high].map(record_of), [written.0; 3]);
    drop((new, low, high));
    assert_eq!(line_at(&spent, first), Some(charged(0, 5)));
    assert_eq!(line_at(&spent, last), Some(charged(budget, 6)));
    assert_eq!(
        value("SELECT sum(charges)::bigint FROM dp_mean.scratch_spent"),
        11
    );
}

#[pg_test]
fn another_length_is_not_written() {
    let spent = scratch(&SPENT, c"scratch_spent");
    append(&spent, &line_tuple(&spent, 0, 0));
    let place = line_of(&spent, 0).expect("a line");
    let bytes = charged(0, 9).bytes();
    for wrong in [&bytes[..BYTES - 1], &[&bytes[..], &[0]].concat(), &[]] {
        fails(
            || {
                let page = Locked::lock(&spent, place);
                write(&spent, &[Change::Overwrite(&page, place, wrong)]);
            },
            "a row of this length",
        );
        // The page is unlocked again, and as it was.
        assert_eq!(line_at(&spent, place), Some(charged(0, 0)));
    }
}

#[pg_test]
fn a_change_that_fails_takes_those_before_with_it() {
    let spent = scratch(&SPENT, c"scratch_spent");
    for budget in 0..2 {
        append(&spent, &line_tuple(&spent, budget, 0));
    }
    let [first, last] = [0, 1].map(|budget| line_of(&spent, budget).expect("a line"));
    fails(
        || {
            let page = Locked::lock(&spent, first);
            let bytes = charged(0, 9).bytes();
            write(
                &spent,
                &[
                    Change::Overwrite(&page, first, &bytes),
                    Change::Overwrite(&page, last, &bytes[1..]),
                ],
            );
        },
        "a row of this length",
    );
    assert_eq!(line_at(&spent, first), Some(charged(0, 0)));
}

#[pg_test]
fn a_page_has_no_room_for_more_than_it_has() {
    let audit = scratch(&CHARGE, c"scratch_charge");
    let long = entry_tuple(&audit, 1000);
    for _ in 0..7 {
        append(&audit, &long);
    }
    fails(
        || {
            let page = Locked::lock(&audit, RowPlace { block: 0, row: 1 });
            write(&audit, &[Change::Append(&page, &long)]);
        },
        "the page has room",
    );
    assert_eq!(value("SELECT count(*) FROM dp_mean.scratch_charge"), 7);
}

#[pg_test]
fn more_pages_than_a_record_has_are_too_many() {
    let audit = scratch(&CHARGE, c"scratch_charge");
    // Each fills a page.
    let long = entry_tuple(&audit, 7000);
    for block in 0..34 {
        assert_eq!(append(&audit, &long), block);
    }
    let short = entry_tuple(&audit, 10);
    let add = |pages: BlockNumber| {
        let pages = (0..pages).map(|block| Locked::lock(&audit, RowPlace { block, row: 1 }));
        let pages = Vec::from_iter(pages);
        let changes = pages.iter().map(|page| Change::Append(page, &short));
        write(&audit, &Vec::from_iter(changes));
    };
    fails(|| add(34), "no more pages than a record has");
    assert_eq!(value("SELECT count(*) FROM dp_mean.scratch_charge"), 34);
    add(33);
    assert_eq!(value("SELECT count(*) FROM dp_mean.scratch_charge"), 67);
}

#[pg_test]
fn a_page_that_was_never_written_is_used() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let tuple = line_tuple(&spent, 0, 0);
    fails(
        || {
            let _page = Locked::lock_to_append(&spent, &tuple);
            panic!("stopped before it was written");
        },
        "stopped before it was written",
    );
    assert_eq!(blocks(&spent), 1);
    assert_eq!(line_of(&spent, 0), None);
    assert!(line_at(&spent, RowPlace { block: 0, row: 1 }).is_none());
    assert_eq!(append(&spent, &tuple), 0);
    assert_eq!(blocks(&spent), 1);
    assert_eq!(line_of(&spent, 0), Some(RowPlace { block: 0, row: 1 }));
}

#[pg_test]
fn rows_that_are_not_there_are_none() {
    let spent = scratch(&SPENT, c"scratch_spent");
    for budget in 0..2 {
        append(&spent, &line_tuple(&spent, budget, 0));
    }
    for row in [3, 4, u16::MAX] {
        assert!(line_at(&spent, RowPlace { block: 0, row }).is_none());
    }
    sql("DELETE FROM dp_mean.scratch_spent WHERE budget = 0");
    assert_eq!(line_of(&spent, 0), None);
    assert!(line_at(&spent, RowPlace { block: 0, row: 1 }).is_none());
    assert_eq!(line_of(&spent, 1), Some(RowPlace { block: 0, row: 2 }));
    fails(
        || Locked::lock(&spent, RowPlace { block: 9, row: 1 }),
        "could not read block",
    );
    fails(
        || {
            let page = Locked::lock(&spent, RowPlace { block: 0, row: 1 });
            page.row(&spent, RowPlace { block: 1, row: 1 }).is_some()
        },
        "a row of this page",
    );
}

#[pg_test]
fn the_right_to_make_a_table_longer_is_given_back() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'extend' AND pid = pg_backend_pid()";
    let extending = Extending::of(&spent);
    assert_eq!(value(held), 1);
    let tuple = line_tuple(&spent, 0, 0);
    let page = extending.lock_to_append(&tuple);
    write(&spent, &[Change::Append(&page, &tuple)]);
    drop((page, extending));
    assert_eq!(value(held), 0);
    append(&spent, &line_tuple(&spent, 1, 0));
    assert_eq!(value(held), 0);
}
