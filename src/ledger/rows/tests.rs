//! Rows of the ledger's transactional tables, written and read back.

use pgrx::pg_sys::{self, Oid};
use pgrx::pg_test;

use crate::ledger::rows::{Text, Value, each, form, insert};
use crate::ledger::tables::tests::{open_scratch, scratch};
use crate::ledger::tables::{BUDGET, Lock, PROMISE, SPENT};
use crate::pg::test_helpers::{fails, sql};

fn promise(number: i64, closed: bool) -> [Value; 13] {
    [
        Value::Integer(i64::MIN),
        Value::Role(Oid::from_u32(u32::MAX)),
        Value::Integer(number),
        Value::Float(0.1),
        Value::Float(5e-324),
        Value::Integer(i64::MAX),
        Value::Integer(-1),
        Value::Integer(0),
        Value::Boolean(closed),
        Value::Time(1),
        Value::Text(Text::new(b"by")),
        Value::Text(Text::new(b"gaussian")),
        Value::Float(0.5),
    ]
}

#[pg_test]
fn what_is_inserted_is_read() {
    let table = scratch(&PROMISE, c"scratch_promise");
    insert(&table, &PROMISE, &promise(7, true));
    insert(&table, &PROMISE, &promise(8, false));
    let mut seen = Vec::new();
    each(&table, &PROMISE, |row| {
        let integers = [0, 2, 5, 6, 7, 9].map(|i| row.integer(i));
        assert_eq!(integers, [i64::MIN, integers[1], i64::MAX, -1, 0, 1]);
        assert_eq!(
            [3, 4].map(|i| row.float(i).to_bits()),
            [0.1f64, 5e-324].map(f64::to_bits)
        );
        assert_eq!(
            (row.oid(1), row.text(10), row.text(11)),
            (
                Oid::from_u32(u32::MAX),
                b"by".to_vec(),
                b"gaussian".to_vec()
            )
        );
        assert_eq!(row.float(12), 0.5);
        seen.push((integers[1], row.boolean(8)));
    });
    assert_eq!(seen, [(7, true), (8, false)]);
}

#[pg_test]
fn texts_are_read_as_they_were_written() {
    let table = scratch(&BUDGET, c"scratch_budget");
    let long = "ä".repeat(3000);
    let texts = [
        "",
        "b",
        "a name of a budget",
        &"x".repeat(126),
        &"y".repeat(127),
        &long,
    ];
    for (i, text) in (0..).zip(texts) {
        let text = Value::Text(Text::new(text.as_bytes()));
        let owner = Value::Role(pg_sys::Oid::from_u32(10));
        insert(
            &table,
            &BUDGET,
            &[Value::Integer(i), text, owner, Value::Time(i)],
        );
    }
    let mut seen = Vec::new();
    each(&table, &BUDGET, |row| {
        seen.push(String::from_utf8(row.text(1)).expect("UTF-8"))
    });
    assert_eq!(seen, texts);
}

#[pg_test]
fn a_row_of_this_transaction_is_uncommitted() {
    let table = scratch(&PROMISE, c"scratch_promise");
    insert(&table, &PROMISE, &promise(1, false));
    let (mut rows, mut uncommitted) = (0, 0);
    each(&table, &PROMISE, |row| {
        rows += 1;
        uncommitted += i32::from(row.uncommitted);
    });
    assert_eq!((rows, uncommitted), (1, 1));
}

#[pg_test]
fn a_row_that_was_deleted_is_not_read() {
    let table = scratch(&PROMISE, c"scratch_promise");
    insert(&table, &PROMISE, &promise(1, false));
    insert(&table, &PROMISE, &promise(2, false));
    sql("DELETE FROM dp_mean.scratch_promise WHERE number = 1");
    let mut seen = Vec::new();
    each(&table, &PROMISE, |row| seen.push(row.integer(2)));
    assert_eq!(seen, [2]);
}

#[pg_test]
fn values_of_other_types_make_no_row() {
    let table = scratch(&SPENT, c"scratch_spent");
    let zero = || Value::Integer(0);
    let role = || Value::Role(Oid::INVALID);
    let time = || Value::Time(0);
    let right = || {
        let numbers = std::iter::repeat_with(zero).take(6);
        numbers.chain([time(), zero(), time(), role()])
    };
    assert_eq!(right().count(), SPENT.width());
    form(&table, &SPENT, &Vec::from_iter(right()));
    let wrong = [
        Vec::from_iter(right().take(8).chain([role(), time()])),
        Vec::from_iter(right().skip(1)),
        Vec::from_iter(std::iter::once(time()).chain(right().skip(1))),
    ];
    for wrong in wrong {
        fails(|| form(&table, &SPENT, &wrong), "of its type");
    }
}

#[pg_test]
fn null_in_the_ledger_is_no_value() {
    drop(scratch(&PROMISE, c"scratch_promise"));
    sql(
        "ALTER TABLE dp_mean.scratch_promise ALTER closed DROP NOT NULL;
         INSERT INTO dp_mean.scratch_promise VALUES (1, 0, 1, 1, 1, 1, 1, 1, NULL, now(), '', 'gaussian', 0.5)",
    );
    let table = open_scratch(&PROMISE, c"scratch_promise", Lock::Read);
    fails(
        || each(&table, &PROMISE, |_| ()),
        "a column of the ledger is NULL",
    );
}
