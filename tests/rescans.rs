//! What docs/releases.md and docs/promises.md say of answers that are drawn again within one statement, and of what
//! a plan shows beside them, where a page's own SQL cannot show it.

use dp_mean_tests::{Build, PARALLEL, assert_plan, explain, refused, rows, run, session, value};
use postgres::{Client, SimpleQueryMessage};

/// People of 90 ages; noise at eps 0.01 has a deviation of 141, so that two releases are the same once in 400 times.
fn people(client: &mut Client) {
    run(
        client,
        "CREATE TABLE people AS SELECT i AS id, i % 90 AS age FROM generate_series(1, 20000) AS i; ANALYZE people",
    );
}

/// How many of the answers of a cursor's `FETCH FIRST`, taken 20 times, differ.
fn fetched_first(client: &mut Client, declaration: &str) -> usize {
    run(client, &format!("BEGIN; DECLARE answers {declaration}"));
    let mut seen: Vec<String> = Vec::new();
    for _ in 0..20 {
        for message in client
            .simple_query("FETCH FIRST FROM answers")
            .expect("a row")
        {
            if let SimpleQueryMessage::Row(row) = message {
                seen.push(row.get(0).expect("an answer").to_owned());
            }
        }
    }
    run(client, "ROLLBACK");
    assert_eq!(seen.len(), 20);
    seen.sort();
    seen.dedup();
    seen.len()
}

#[test]
fn a_cursor_that_goes_back_may_ask_again() {
    let (_database, mut client) = session(Build::Release);
    people(&mut client);
    let correlated = "SELECT (SELECT dp_count(0.01) FROM people WHERE again > 0) FROM generate_series(1, 1) AS again";
    assert!(fetched_first(&mut client, &format!("SCROLL CURSOR FOR {correlated}")) > 1);
    for kept in [
        format!("SCROLL CURSOR FOR WITH asked AS MATERIALIZED ({correlated}) SELECT * FROM asked"),
        "SCROLL CURSOR FOR SELECT dp_count(0.01) FROM people".to_owned(),
    ] {
        assert_eq!(fetched_first(&mut client, &kept), 1, "{kept}");
    }
    run(
        &mut client,
        &format!("BEGIN; DECLARE answers NO SCROLL CURSOR FOR {correlated}; FETCH FROM answers"),
    );
    assert_eq!(
        refused(&mut client, "FETCH FIRST FROM answers").code,
        "55000"
    );
}

#[test]
fn a_nested_loop_asks_again_unless_it_keeps_the_answer() {
    let (_database, mut client) = session(Build::Release);
    people(&mut client);
    let joined = "SELECT count(DISTINCT n) FROM generate_series(1, 20) AS again \
         LEFT JOIN (SELECT dp_count(0.01) AS n FROM people) AS asked ON n > again";
    let kept = "WITH asked AS MATERIALIZED (SELECT dp_count(0.01) AS n FROM people) \
         SELECT count(DISTINCT n) FROM generate_series(1, 20) AS again LEFT JOIN asked ON n > again";
    let plan = explain(&mut client, joined);
    assert_plan(&plan, &["Nested Loop", "Materialize"], joined);
    assert_eq!(value::<i64>(&mut client, joined), 1);
    run(&mut client, "SET enable_material = off");
    let plan = explain(&mut client, joined);
    assert_plan(&plan, &["Nested Loop", "!Materialize"], joined);
    assert!(value::<i64>(&mut client, joined) > 1);
    assert_eq!(value::<i64>(&mut client, kept), 1);
}

#[test]
fn columns_of_one_estimate_are_torn_by_separate_parameters() {
    let (_database, mut client) = session(Build::Release);
    people(&mut client);
    run(
        &mut client,
        "SET plan_cache_mode = force_generic_plan; \
         PREPARE torn(float8, float8) AS \
             SELECT (dp_count_estimate(id, $1)).value <> (dp_count_estimate(id, $2)).value FROM people; \
         PREPARE whole(float8) AS \
             SELECT (dp_count_estimate(id, $1)).value <> (dp_count_estimate(id, $1)).value FROM people",
    );
    let torn = |client: &mut Client, sql: &str| {
        let differ = |_: &usize| value::<bool>(client, sql);
        (0..20).filter(differ).count()
    };
    assert!(torn(&mut client, "EXECUTE torn(0.01, 0.01)") > 0);
    assert_eq!(torn(&mut client, "EXECUTE whole(0.01)"), 0);
}

/// The context of the error of a statement that must fail, which says where it was raised.
fn context(client: &mut Client, sql: &str) -> String {
    let error = client.simple_query(sql).expect_err(sql);
    let error = error.as_db_error().expect("of the server");
    assert_eq!(error.code().code(), "22012", "{error:?}");
    error.where_().unwrap_or_default().to_owned()
}

/// An expression that fails in a worker says that a row was there; in a sub-select it fails before a row is read.
#[test]
fn an_argument_that_fails_in_a_worker_tells_of_a_row() {
    let (_database, mut client) = session(Build::Release);
    people(&mut client);
    run(
        &mut client,
        &format!(
            "{PARALLEL}; SET parallel_leader_participation = off; SET plan_cache_mode = force_generic_plan"
        ),
    );
    for (name, eps) in [("bare", "1.0 / $1"), ("kept", "(SELECT 1.0 / $1)")] {
        for (rows, age) in [("some", 20), ("none", 139)] {
            let sql = format!("SELECT dp_count(id, {eps}) FROM people WHERE age = {age}");
            run(
                &mut client,
                &format!("PREPARE {name}_{rows}(float8) AS {sql}"),
            );
        }
    }
    let plan = explain(&mut client, "EXECUTE bare_some(0)");
    assert_plan(&plan, &["Partial Aggregate"], "");
    assert_eq!(
        context(&mut client, "EXECUTE bare_some(0)"),
        "parallel worker"
    );
    assert_eq!(context(&mut client, "EXECUTE bare_none(0)"), "");
    assert_eq!(context(&mut client, "EXECUTE kept_some(0)"), "");
    assert_eq!(context(&mut client, "EXECUTE kept_none(0)"), "");
}

/// The kilobytes that a hash table of groups took, as EXPLAIN ANALYZE says.
fn kilobytes(client: &mut Client, sql: &str) -> u64 {
    let sql = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {sql}");
    let lines: Vec<String> = rows(client, &sql).iter().map(|row| row.get(0)).collect();
    let plan = lines.join("\n");
    let (_, rest) = plan
        .split_once("Memory Usage: ")
        .unwrap_or_else(|| panic!("{plan}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// The memory of `symmetric` grows with the cells that hold a row; that of the default does not depend on values.
#[test]
fn symmetric_shows_by_memory_how_spread_out_rows_are() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE spread AS SELECT i % 2 AS half, 0.0::float8 AS near, i * 1e6::float8 AS far \
         FROM generate_series(1, 20000) AS i; ANALYZE spread; SET enable_sort = off",
    );
    let mut of = |call: &str| {
        kilobytes(
            &mut client,
            &format!("SELECT half, {call} FROM spread GROUP BY half"),
        )
    };
    let symmetric =
        |x: &str| format!("dp_mean({x}, NULL, NULL, 1.0, 'symmetric(delta=1e-6, scale=3)')");
    let (near, far) = (of(&symmetric("near")), of(&symmetric("far")));
    assert!(far > 10 * near, "{near} kB, {far} kB");
    assert_eq!(
        of("dp_mean(near, 0, 1, 1.0)"),
        of("dp_mean(far, 0, 1, 1.0)")
    );
}
