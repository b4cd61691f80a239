//! What docs/views-for-bi.md and docs/promises.md say of readers without rights on the table: what they see through a
//! live view, a materialized one, and a function.

use std::sync::{Arc, Mutex};

use dp_mean_tests::{Build, Role, refused, rows, run, session, value};
use postgres::Client;

/// How many rows the table has that nobody may count.
const PEOPLE: usize = 4711;

/// A table of people, and releases of it that `role` may read.
fn releases(client: &mut Client, role: &Role) {
    run(
        client,
        &format!(
            "CREATE TABLE people AS SELECT i % 3 AS site, i % 90 AS age FROM generate_series(1, {PEOPLE}) i; \
             ANALYZE people; \
             CREATE VIEW live AS SELECT site, dp_mean(age, 0, 100, 1.0) AS age FROM people GROUP BY site; \
             CREATE VIEW barred WITH (security_barrier) AS \
                 SELECT site, dp_mean(age, 0, 100, 1.0) AS age FROM people GROUP BY site; \
             CREATE MATERIALIZED VIEW kept AS SELECT * FROM live; \
             CREATE FUNCTION ask() RETURNS TABLE (site int, age float8) LANGUAGE sql \
                 SECURITY DEFINER SET search_path = public, pg_temp \
                 AS 'SELECT site, dp_mean(age, 0, 100, 1.0) FROM people GROUP BY site'; \
             GRANT SELECT ON live, barred, kept TO {}",
            role.name()
        ),
    );
}

fn reader(role: &Role) -> Client {
    let mut client = role.connect();
    let sql = "CREATE FUNCTION pg_temp.spy(site int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$ BEGIN \
         PERFORM set_config('spy.rows', (current_setting('spy.rows')::int + 1)::text, false); RETURN true; END $$; \
         SET spy.rows = 0";
    run(&mut client, sql);
    assert!(!value::<bool>(
        &mut client,
        "SELECT has_table_privilege('people', 'SELECT')"
    ));
    assert_eq!(refused(&mut client, "SELECT * FROM people").code, "42501");
    client
}

/// What EXPLAIN ANALYZE tells of a query.
fn analyzed(client: &mut Client, sql: &str) -> String {
    let sql = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) {sql}");
    let lines = rows(client, &sql);
    let lines: Vec<&str> = lines.iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

/// How many rows a function of the reader's own was shown.
fn spied(client: &mut Client, relation: &str) -> usize {
    run(client, "SET spy.rows = 0");
    let sql = format!("SELECT count(*) FROM {relation} WHERE pg_temp.spy(site)");
    assert_eq!(value::<i64>(client, &sql), 3);
    let shown: String = value(client, "SELECT current_setting('spy.rows')");
    shown.parse().expect("a number")
}

#[test]
fn a_live_view_hides_rows_but_not_how_many() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    releases(&mut client, &role);
    let mut reader = reader(&role);
    run(&mut reader, "SET max_parallel_workers_per_gather = 0");
    let exact = PEOPLE.to_string();
    for view in ["live", "barred"] {
        let plan = analyzed(&mut reader, &format!("SELECT * FROM {view}"));
        assert!(plan.contains(&exact), "{plan}");
    }
    // A condition on a group's key goes down to the rows, but not through a barrier.
    assert_eq!(spied(&mut reader, "live"), PEOPLE);
    assert_eq!(spied(&mut reader, "barred"), 3);
}

#[test]
fn what_is_kept_and_what_a_function_asks_hide_that_too() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    releases(&mut client, &role);
    let mut reader = reader(&role);
    let exact = PEOPLE.to_string();
    for relation in ["kept", "ask()"] {
        let plan = analyzed(&mut reader, &format!("SELECT * FROM {relation}"));
        assert!(!plan.contains(&exact) && !plan.contains("people"), "{plan}");
        assert_eq!(spied(&mut reader, relation), 3);
    }
}

#[test]
fn a_live_view_asks_each_time_and_a_kept_one_never() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    releases(&mut client, &role);
    let mut reader = role.connect();
    let mut answers = |relation: &str| -> Vec<f64> {
        let sql = format!("SELECT age FROM {relation} ORDER BY site");
        rows(&mut reader, &sql)
            .iter()
            .map(|row| row.get(0))
            .collect()
    };
    assert_ne!(answers("live"), answers("live"));
    assert_ne!(answers("ask()"), answers("ask()"));
    let kept = answers("kept");
    assert_eq!(answers("kept"), kept);
    run(&mut client, "REFRESH MATERIALIZED VIEW kept");
    assert_ne!(answers("kept"), kept);
    assert_eq!(
        refused(&mut reader, "REFRESH MATERIALIZED VIEW kept").code,
        "42501"
    );
}

/// A function hides its plan, but the session's statistics and BUFFERS count what it read.
#[test]
fn a_function_does_not_hide_how_much_it_read() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    run(
        &mut client,
        "CREATE TABLE people AS SELECT i AS id, i % 90 AS age FROM generate_series(1, 9000) i; \
         CREATE INDEX ON people (age); ANALYZE people; \
         CREATE FUNCTION ask(asked int) RETURNS float8 LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp \
             SET enable_seqscan = off AS 'SELECT dp_mean(age, 0, 100, 1.0) FROM people WHERE age = asked'",
    );
    let mut reader = role.connect();
    let mut read = |age: i32| -> i64 {
        let mut transaction = reader.transaction().expect("a transaction");
        let count = "SELECT sum(idx_tup_fetch)::bigint FROM pg_stat_xact_all_tables WHERE relname = 'people'";
        let before: Option<i64> = transaction.query_one(count, &[]).expect("a count").get(0);
        transaction
            .query_one("SELECT ask($1)", &[&age])
            .expect("an answer");
        let after: i64 = transaction.query_one(count, &[]).expect("a count").get(0);
        transaction.commit().expect("COMMIT");
        after - before.unwrap_or(0)
    };
    assert_eq!(read(7), 100);
    assert_eq!(read(139), 0);
    let mut blocks = |age: i32| -> String {
        let sql = format!(
            "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT ask({age})"
        );
        let lines = rows(&mut reader, &sql);
        lines
            .iter()
            .map(|row| row.get(0))
            .collect::<Vec<String>>()
            .join("\n")
    };
    assert_ne!(blocks(7), blocks(139));
}

/// Settings that anybody may set make the server say what it sorted and planned inside of somebody else's function.
#[test]
fn settings_tell_of_the_work_of_a_function() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    run(
        &mut client,
        "CREATE TABLE people AS SELECT i AS id FROM generate_series(1, 9000) i; ANALYZE people; \
         CREATE FUNCTION ask() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp \
             AS 'SELECT dp_count(DISTINCT id, 1.0, ''geometric'') FROM people'",
    );
    let heard = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&heard);
    let mut reader = database.connect_listening(role.name(), move |said_now| {
        said.lock().expect("nobody panicked").push(said_now);
    });
    run(
        &mut reader,
        "SET client_min_messages = log; SET trace_sort = on; SET debug_print_plan = on",
    );
    value::<i64>(&mut reader, "SELECT ask()");
    let heard = heard.lock().expect("nobody panicked").join("\n");
    assert!(
        heard.contains("internal sort") && heard.contains("KB used"),
        "{heard}"
    );
    assert!(heard.contains("plan_rows 9000"), "{heard}");
}

/// Who may call a function that takes its price from a budget may also roll the price back, and keep the answer.
#[test]
fn a_rollback_gives_the_price_back() {
    let (database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE people AS SELECT i % 90 AS age FROM generate_series(1, 1000) i; \
         CREATE TABLE budget (spent numeric NOT NULL CHECK (spent <= 1)); INSERT INTO budget VALUES (0); \
         CREATE FUNCTION ask() RETURNS float8 LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS \
             'UPDATE budget SET spent = spent + 1; SELECT dp_mean(age, 0, 100, 1.0) FROM people'",
    );
    let role = Role::new(&database);
    let mut reader = role.connect();
    let mut answers = Vec::new();
    for _ in 0..3 {
        let mut transaction = reader.transaction().expect("a transaction");
        let answer: f64 = transaction
            .query_one("SELECT ask()", &[])
            .expect("an answer")
            .get(0);
        transaction.rollback().expect("ROLLBACK");
        answers.push(answer);
    }
    assert!(
        answers[0] != answers[1] && answers[1] != answers[2],
        "{answers:?}"
    );
    let spent: bool = value(&mut client, "SELECT spent = 0 FROM budget");
    assert!(spent);
    value::<f64>(&mut reader, "SELECT ask()");
    assert_eq!(refused(&mut reader, "SELECT ask()").code, "23514");
}

/// The catalog and the statistics tell anybody in the database how many rows a table has.
#[test]
fn statistics_tell_the_number_of_rows() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    releases(&mut client, &role);
    let mut reader = reader(&role);
    let sql = "SELECT reltuples::int FROM pg_class WHERE relname = 'people'";
    let counted: i32 = value(&mut reader, sql);
    assert_eq!(usize::try_from(counted), Ok(PEOPLE));
    let sql = "SELECT count(n_live_tup) FROM pg_stat_user_tables WHERE relname = 'people'";
    assert_eq!(value::<i64>(&mut reader, sql), 1);
    // Not the values, though.
    let sql = "SELECT count(*) FROM pg_stats WHERE tablename = 'people'";
    assert_eq!(value::<i64>(&mut reader, sql), 0);
}
