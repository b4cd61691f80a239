//! `dp_stats`: what is counted for those who watch a server.

use dp_mean_tests::{Build, Role, refused, rows, run, session, value};
use postgres::Client;

/// The counters of a database, by their columns' names.
fn counted(watcher: &mut Client, database: &str) -> Vec<(String, i64)> {
    let sql = format!(
        "SELECT key, value::int8 FROM (SELECT to_jsonb(s) - '{{database,since,charges_per_second}}'::text[] AS all \
         FROM dp_stats s WHERE database = '{database}') s, jsonb_each_text(s.all)"
    );
    rows(watcher, &sql)
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect()
}

/// What `sql` adds to the counters, those that it leaves alone left out.
fn adds(
    watcher: &mut Client,
    client: &mut Client,
    database: &str,
    sql: &str,
) -> Vec<(String, i64)> {
    let before = counted(watcher, database);
    // Whether it is refused is for other tests.
    let _ = client.batch_execute(sql);
    let mut after = counted(watcher, database);
    for ((name, after), (of, before)) in after.iter_mut().zip(&before) {
        assert_eq!(name, of);
        *after -= before;
    }
    after.retain(|(_, difference)| *difference != 0);
    after
}

#[test]
fn each_event_is_counted_in_its_database() {
    let (database, mut owner) = session(Build::Testing);
    let (_other, mut watcher) = session(Build::Testing);
    let role = Role::new(&database);
    let analyst = role.name();
    run(
        &mut owner,
        &format!(
            "CREATE TABLE visits (person int NOT NULL, k int NOT NULL, x float8);
             INSERT INTO visits SELECT i, i % 7, i % 10 FROM generate_series(1, 5000) i;
             SELECT dp_set_budget('b', 5, 1e-3);
             SELECT dp_protect('visits', 'person', 'b', query_eps => 1, query_delta => 1e-6);
             SELECT dp_declare('visits', 'x', 0, 10);
             SELECT dp_allow('visits', '{analyst}')"
        ),
    );
    let mut client = role.connect();
    let name = database.name();
    let mut adds = |sql: &str| adds(&mut watcher, &mut client, name, sql);
    let events = |all: &[(&str, i64)]| -> Vec<(String, i64)> {
        all.iter()
            .map(|(name, n)| ((*name).to_owned(), *n))
            .collect()
    };
    // A line appears with the first event.
    adds("SELECT avg(x) FROM visits");
    assert_eq!(
        adds("SELECT avg(x) FROM visits"),
        events(&[("charges", 1), ("queries", 1), ("releases", 1)])
    );
    // Groups are chosen and answered by three numbers, which need calls of their own, for each of the seven.
    assert_eq!(
        adds("SELECT k, avg(x) FROM visits GROUP BY k"),
        events(&[("charges", 1), ("queries", 1), ("releases", 21)])
    );
    assert_eq!(
        adds("SELECT x FROM visits"),
        events(&[("refused_queries", 1)])
    );
    assert_eq!(
        adds("SELECT dp_mean(x, 0, 1, -1) FROM (VALUES (0.5)) v(x)"),
        events(&[("refused_arguments", 1)])
    );
    assert_eq!(
        adds("SELECT dp_sum(x, 0, 1, 1), dp_count(1) FROM (VALUES (0.5)) v(x)"),
        events(&[("releases", 2)])
    );
    assert_eq!(
        adds("BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT avg(x) FROM visits"),
        events(&[("refused_queries", 1)])
    );
    adds("ROLLBACK");
    assert_eq!(adds("SELECT 1; SELECT 2"), []);
    for _ in 0..8 {
        adds("SELECT count(*) FROM visits");
    }
    assert_eq!(
        adds("SELECT count(*) FROM visits"),
        events(&[("refused_charges", 1)])
    );
    // A closed budget is not there to be charged: neither by a query nor by hand.
    run(&mut owner, "SELECT dp_close_budget('b')");
    assert_eq!(
        adds("SELECT count(*) FROM visits"),
        events(&[("unavailable", 1)])
    );
    run(
        &mut owner,
        &format!(
            "SELECT dp_set_budget('c', 1, 0), dp_close_budget('c');
             SELECT dp_set_budget_owner('c', '{analyst}');
             GRANT EXECUTE ON FUNCTION dp_charge(text, float8, float8) TO {analyst}"
        ),
    );
    assert_eq!(
        adds("SELECT dp_charge('c', 0.5, 0)"),
        events(&[("unavailable", 1)])
    );
    let per_second = format!(
        "SELECT charges_per_second > 0 AND charges_per_second <= charges AND since < now() \
         FROM dp_stats WHERE database = '{name}'"
    );
    assert!(value::<bool>(&mut watcher, &per_second));
}

#[test]
fn only_who_reads_all_statistics_sees_it() {
    let (database, mut owner) = session(Build::Testing);
    let role = Role::new(&database);
    run(&mut owner, "SELECT dp_sum(0.5::float8, 0, 1, 1)");
    let mut nobody = role.connect();
    for sql in [
        "SELECT * FROM dp_stats",
        "SELECT * FROM dp_mean.dp_stats_lines()",
    ] {
        assert_eq!(refused(&mut nobody, sql).code, "42501", "{sql}");
    }
    run(
        &mut owner,
        &format!("GRANT pg_read_all_stats TO {}", role.name()),
    );
    let sql = format!(
        "SELECT releases FROM dp_stats WHERE database = '{}'",
        database.name()
    );
    assert_eq!(value::<i64>(&mut nobody, &sql), 1);
}

#[test]
fn a_server_that_did_not_load_the_library_says_so() {
    let (_database, mut client) = session(Build::Release);
    let refusal = refused(&mut client, "SELECT * FROM dp_stats");
    assert_eq!(refusal.code, "55000");
    assert!(
        refusal.hint.contains("shared_preload_libraries"),
        "{refusal:?}"
    );
}
