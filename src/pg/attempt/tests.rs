//! What passes, what is dropped, and what is left behind.

use pgrx::{Spi, pg_sys, pg_test};

use crate::pg::attempt::attempt;
use crate::pg::test_helpers::{fails, sql};

#[pg_test]
fn what_works_is_answered() {
    assert_eq!(attempt(|| 7), Some(7));
    sql("CREATE TABLE kept_by_an_attempt (x int)");
    attempt(|| sql("INSERT INTO kept_by_an_attempt VALUES (1)"));
    let count = Spi::get_one::<i64>("SELECT count(*) FROM kept_by_an_attempt");
    assert_eq!(count, Ok(Some(1)));
}

#[pg_test]
fn an_error_is_dropped_with_what_was_done() {
    // SAFETY: it reads words of this process.
    let state = || unsafe {
        (
            pg_sys::CurrentMemoryContext,
            pg_sys::CurrentResourceOwner,
            pg_sys::GetCurrentTransactionNestLevel(),
        )
    };
    let before = state();
    sql("CREATE TABLE lost_by_an_attempt (x int)");
    let failed = attempt(|| sql("INSERT INTO lost_by_an_attempt VALUES (1); SELECT 1 / 0"));
    assert_eq!(failed, None);
    assert_eq!(state(), before);
    let count = Spi::get_one::<i64>("SELECT count(*) FROM lost_by_an_attempt");
    assert_eq!(count, Ok(Some(0)));
}

#[pg_test]
fn cancels_and_mistakes_pass() {
    let canceled = "DO $$ BEGIN RAISE 'stop' USING ERRCODE = 'query_canceled'; END $$";
    fails(|| attempt(|| sql(canceled)), "stop");
    fails(
        || attempt(|| panic!("a mistake in an attempt")),
        "a mistake in an attempt",
    );
}
