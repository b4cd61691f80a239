//! Plans that would release again, push a condition down to the rows, or show what PostgreSQL knows of them.

use std::thread;
use std::time::Duration;

use dp_mean_tests::{run, value};

use super::{End, Stage, down, version};

/// Joins by nested loops alone, that run their inner side again for each row of the outer one.
const LOOPS: &str = "SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
                     SET enable_memoize = off; SET enable_sort = off;";

/// A condition of the asker stands above the answers, however it is written.
#[test]
fn no_condition_above_sees_rows() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT * FROM (SELECT region, count(*) AS c FROM visits GROUP BY region) s WHERE show(region)",
        "SELECT region, count(*) FROM visits GROUP BY region HAVING show(region)",
        "WITH w AS NOT MATERIALIZED (SELECT region, count(*) FROM visits GROUP BY 1) \
         SELECT * FROM w WHERE show(region)",
        "SELECT DISTINCT region FROM (SELECT DISTINCT region FROM visits) s WHERE show(region)",
        "SELECT * FROM own JOIN (SELECT region, count(*) FROM visits GROUP BY 1) s ON show(region) AND y = region",
    ] {
        let end = stage.assert_tells_nothing("", sql);
        assert_eq!(end.error, None, "{sql}");
        stage.assert_tells_without(&["fence", "warnings"], "", sql);
    }
}

/// As many noises as there are rows, for one charge: the noise would be averaged away.
#[test]
fn no_answer_is_drawn_twice() {
    let stage = Stage::new();
    let mut client = stage.analyst();
    run(&mut client, LOOPS);
    let loops = "SELECT count(DISTINCT c) FROM (SELECT b.c FROM generate_series(1, 60) g \
                 LEFT JOIN (SELECT count(*) AS c FROM visits) b ON b.c > -100000 - g OFFSET 0) s";
    for sql in [
        loops,
        "SELECT count(DISTINCT c) FROM (SELECT (SELECT count(*) FROM visits) AS c FROM generate_series(1, 60)) s",
        "SELECT count(DISTINCT c) FROM (SELECT (SELECT count(*) + 0 * g FROM visits) AS c \
         FROM generate_series(1, 60) g) s",
        "SELECT count(DISTINCT c) FROM generate_series(1, 60) g, \
         LATERAL (SELECT count(*) + 0 * g AS c FROM visits) b",
        "SELECT count(DISTINCT c) FROM generate_series(1, 60) g, \
         LATERAL (SELECT count(*) AS c FROM visits LIMIT g) b",
        "SELECT count(DISTINCT c) FROM generate_series(1, 60) g, \
         LATERAL (SELECT c FROM (SELECT count(*) AS c FROM visits) a ORDER BY g) b",
        "WITH RECURSIVE r AS (SELECT 1 AS n, NULL::bigint AS c UNION ALL \
         SELECT n + 1, b.c FROM r, (SELECT count(*) AS c FROM visits) b WHERE n < 60) SELECT count(DISTINCT c) FROM r",
        "SELECT count(DISTINCT w) FROM (WITH w AS (SELECT count(*) AS c FROM visits) \
         SELECT a.c AS w FROM w a UNION ALL SELECT c FROM w) s",
        "SELECT count(DISTINCT c) FROM ROWS FROM (generate_series(1, 60)) WITH ORDINALITY g(i), \
         (SELECT count(*) AS c FROM visits) b",
        "SELECT count(DISTINCT c) FROM own o RIGHT JOIN (SELECT count(*) AS c FROM visits) b ON b.c > o.x",
        "SELECT count(DISTINCT c) FROM (SELECT max(c) OVER (ORDER BY g) AS c \
         FROM generate_series(1, 60) g, (SELECT count(*) AS c FROM visits) b) s",
    ] {
        assert_eq!(stage.number(&mut client, sql), 1, "{sql}");
    }
    // Where it is no call of its own, there are many.
    run(&mut client, &down("fence"));
    assert!(stage.number(&mut client, loops) > 10);
}

/// A row that another session changed meanwhile is looked at again, in an execution of its own. What it asks again there
/// is charged again: it is never another noise for the same charge.
#[test]
fn a_second_look_at_a_row_is_no_second_noise_for_nothing() {
    let mut stage = Stage::new();
    for update in [
        "UPDATE own SET y = (SELECT b.c + own.x FROM (SELECT count(*) AS c FROM visits) b)::text WHERE x = 1",
        "UPDATE own SET y = c::text FROM (SELECT count(*) AS c FROM visits) b WHERE x = 1",
        "WITH w AS (SELECT count(*) AS c FROM visits) UPDATE own SET y = c::text FROM w WHERE x = 1 AND c > -10000",
        "DELETE FROM own WHERE x = 1 AND y <> (SELECT count(*) FROM visits)::text",
    ] {
        let mut first = stage.analyst();
        run(&mut first, "BEGIN; UPDATE own SET y = 'first' WHERE x = 1");
        let before = stage.spent().1;
        let mut second = stage.analyst();
        let pid: i32 = value(&mut second, "SELECT pg_backend_pid()");
        let waiter = thread::spawn(move || second.batch_execute(update));
        let waits = format!("SELECT count(*) FROM pg_locks WHERE pid = {pid} AND NOT granted");
        while value::<i64>(&mut stage.root, &waits) == 0 && !waiter.is_finished() {
            thread::sleep(Duration::from_millis(10));
        }
        run(&mut first, "COMMIT");
        waiter.join().expect("a session").expect("an answer");
        // A sub-query that uses the row is computed again with it.
        let most = 1 + i64::from(update.contains("own.x"));
        let charges = stage.spent().1 - before;
        assert!((1..=most).contains(&charges), "{charges}: {update}");
    }
}

/// A function that says that it may run in workers does not make an answer run there.
#[test]
fn workers_compute_no_answer() {
    let mut stage = Stage::new();
    let force = match version(&mut stage.root) {
        ..160_000 => "force_parallel_mode",
        _ => "debug_parallel_query",
    };
    let mut client = stage.analyst();
    run(
        &mut client,
        &format!(
            "CREATE FUNCTION f() RETURNS bigint PARALLEL SAFE LANGUAGE plpgsql AS \
             'BEGIN RETURN (SELECT count(*) FROM visits); END'; SET {force} = on"
        ),
    );
    let end = stage.attack(&mut client, "SELECT f() FROM own");
    let (code, message) = end.error.expect("refused");
    assert!(code == "25000" && message.contains("parallel"), "{message}");
    assert_eq!(stage.spent().1, 0);
    run(&mut client, &format!("RESET {force}; SELECT f()"));
    assert_eq!(stage.spent().1, 1);
}

/// How a statement ends with the person and without, tried again while the two differ. Sessions lose their catalog
/// caches when others change the catalog much, and planning then reads more catalog pages, once. What a person makes it
/// read differs in every pair.
fn pair_alike(stage: &mut Stage, before: &str, sql: &str) -> [End; 2] {
    const TRIES: usize = 5;
    let mut pair = stage.with_and_without(before, sql);
    for _ in 1..TRIES {
        if pair[0] == pair[1] {
            break;
        }
        pair = stage.with_and_without(before, sql);
    }
    pair
}

/// EXPLAIN shows a call, whose costs and rows are constants: in all variants, of plans that are kept, within functions.
#[test]
fn explain_shows_a_call() {
    let mut stage = Stage::new();
    let functions = "DROP TABLE IF EXISTS t; DROP FUNCTION IF EXISTS f, g; \
         CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM visits'; \
         CREATE FUNCTION g() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM visits); END'; \
         PREPARE q AS SELECT count(*) FROM visits; EXECUTE q; EXECUTE q; SELECT f(), g(), f(), g();";
    let quiet = "ANALYZE, TIMING OFF, SUMMARY OFF";
    let said = |sql: &str| sql.replace("{analyze}", quiet);
    for sql in [
        "EXPLAIN SELECT count(*) FROM visits",
        "EXPLAIN (COSTS OFF) SELECT count(*) FROM visits",
        "EXPLAIN ({analyze}, BUFFERS, WAL) SELECT count(*) FROM visits",
        "EXPLAIN (VERBOSE, FORMAT json) SELECT region, avg(cost) FROM visits GROUP BY region",
        "EXPLAIN ({analyze}, VERBOSE, BUFFERS) SELECT count(*) FROM visits WHERE patient = 666 AND cost > 4000",
        "EXPLAIN EXECUTE q",
        "EXPLAIN ({analyze}) EXECUTE q",
        "EXPLAIN ({analyze}) SELECT f()",
        "EXPLAIN ({analyze}) SELECT g()",
        "EXPLAIN ({analyze}) SELECT * FROM f() WITH ORDINALITY",
        // The one before it left a table, which is dropped: PostgreSQL then reads more of its catalogs.
        "EXPLAIN ({analyze}, BUFFERS off) CREATE TABLE t AS SELECT count(*) FROM visits",
        "EXPLAIN DECLARE c CURSOR FOR SELECT count(*) FROM visits",
        "EXPLAIN INSERT INTO own SELECT count(*) FROM visits",
        "EXPLAIN ({analyze}, BUFFERS) INSERT INTO own SELECT count(*) FROM visits",
        "EXPLAIN SELECT * FROM visits LIMIT 0",
        "EXPLAIN SELECT x, (SELECT count(*) FROM visits) FROM own",
        "EXPLAIN ({analyze}, BUFFERS) SELECT x, (SELECT count(*) FROM visits) FROM own",
        "EXPLAIN SELECT count(*) FROM visits v JOIN own ON v.patient = own.x",
        "DO $$ DECLARE r text; BEGIN FOR r IN EXECUTE 'EXPLAIN SELECT count(*) FROM visits' LOOP \
         RAISE NOTICE '%', r; END LOOP; END $$",
        "SET dp_mean.previews = empty; EXPLAIN SELECT * FROM visits",
    ] {
        let sql = said(sql);
        let [with, without] = pair_alike(&mut stage, functions, &sql);
        assert_eq!(with.error, None, "{sql}");
        assert_eq!(with, without, "the person is seen by: {sql}");
        assert!(!with.tells_but(&sql), "{with:?}: {sql}");
    }
    for sql in [
        "EXPLAIN SELECT * FROM visits",
        "EXPLAIN ANALYZE SELECT cost FROM visits",
    ] {
        let end = stage.assert_tells_nothing(functions, sql);
        assert_eq!(end.error.expect("refused").0, "42501", "{sql}");
    }
    // Without ANALYZE nothing is asked, and with it the question itself.
    let mut client = stage.analyst();
    let before = stage.spent().1;
    run(&mut client, "EXPLAIN (VERBOSE) SELECT count(*) FROM visits");
    assert_eq!(stage.spent().1, before);
    run(&mut client, "EXPLAIN ANALYZE SELECT count(*) FROM visits");
    assert_eq!(stage.spent().1, before + 1);
    // Where the block is in the plan of the asker, the number of rows is there.
    run(&mut client, &down("fence"));
    let sql = "EXPLAIN (ANALYZE, TIMING OFF) SELECT count(*) FROM visits WHERE cost > 4000";
    let end = stage.attack(&mut client, sql);
    assert!(end.shown.contains("rows=10"), "{end:?}");
}

/// Reading rows, changing them, or having others read them.
#[test]
fn rows_are_read_by_no_other_statement() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT * FROM visits",
        "SELECT region FROM visits WHERE patient = 666",
        "SELECT count(*) OVER () FROM visits",
        "SELECT count(*) FROM visits TABLESAMPLE system (100)",
        "SELECT patient, lag(cost) OVER (ORDER BY cost) FROM visits",
        "SELECT max(cost), min(region), string_agg(region, ',') FROM visits",
        "SELECT array_agg(region) FROM visits",
        "SELECT json_agg(v) FROM visits v",
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY region) FROM visits",
        "SELECT mode() WITHIN GROUP (ORDER BY region) FROM visits",
        "SELECT every(cost < 4000) FROM visits",
        "SELECT region, count(DISTINCT tall) FROM visits GROUP BY region",
        "SELECT sum(cost ORDER BY cost) FROM visits",
        "SELECT count(*), region FROM visits",
        "TABLE visits",
        "COPY visits TO STDOUT",
        "COPY (SELECT * FROM visits) TO STDOUT",
        "SELECT * FROM visits FOR UPDATE",
        "SELECT * FROM visits LIMIT 0 FOR SHARE",
        "LOCK TABLE visits",
        "INSERT INTO own SELECT patient, region FROM visits",
        "INSERT INTO visits VALUES (1, 'x', 1)",
        "UPDATE own SET y = region FROM visits WHERE patient = 666",
        "UPDATE own SET x = 1 RETURNING (SELECT cost FROM visits LIMIT 1)",
        "UPDATE visits SET cost = cost RETURNING *",
        "DELETE FROM visits WHERE patient = 666 RETURNING *",
        "DELETE FROM own USING visits WHERE patient = 666 RETURNING cost",
        "MERGE INTO own USING visits ON patient = x WHEN NOT MATCHED THEN INSERT VALUES (patient, region)",
        "TRUNCATE visits",
        "CREATE TABLE t AS SELECT * FROM visits",
        "CREATE MATERIALIZED VIEW t AS SELECT * FROM visits",
        "CREATE TABLE t () INHERITS (visits)",
        "CREATE TABLE t (LIKE visits INCLUDING ALL); INSERT INTO t SELECT * FROM visits",
        "CREATE INDEX ON visits (cost)",
        "CREATE STATISTICS s ON patient, cost FROM visits",
        "CREATE RULE r AS ON SELECT TO visits DO INSTEAD SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON visits EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE POLICY p ON visits",
        "ALTER TABLE own ADD FOREIGN KEY (x) REFERENCES people",
        "CREATE VIEW v AS SELECT * FROM visits; SELECT * FROM v",
        "CREATE TABLE log (c float8); CREATE RULE r AS ON INSERT TO own DO ALSO INSERT INTO log SELECT cost FROM visits; \
         INSERT INTO own VALUES (1)",
        "SELECT query_to_xml('SELECT * FROM visits', true, true, '')",
        "SELECT table_to_xml('visits', true, true, '')",
        "SELECT * FROM ts_stat('SELECT to_tsvector(region) FROM visits')",
        "SELECT currtid2('visits', '(0,1)')",
        "SELECT * FROM own, LATERAL (SELECT cost FROM visits WHERE patient = x) s",
        "SELECT (SELECT count(*) FROM visits WHERE patient = x) FROM own",
        "SELECT * FROM own WHERE EXISTS (SELECT FROM visits WHERE patient = 666)",
        "SELECT * FROM own WHERE x IN (SELECT patient FROM visits)",
        "SELECT count(*) FROM visits a JOIN visits b USING (region)",
        "SELECT count(*) FROM visits JOIN people ON patient < person",
        "SELECT count(*) FROM own LEFT JOIN visits ON x = patient",
        "SELECT count(*) FROM own FULL JOIN visits ON x = patient",
        "SELECT count(*) FROM visits, generate_series(1, patient)",
        "SELECT count(*) FROM visits NATURAL JOIN (SELECT random()) s",
        "SELECT count(*) FROM (SELECT * FROM visits LIMIT 1) s",
        "SELECT count(*) FROM (SELECT region FROM visits UNION SELECT region FROM visits) s",
        "SELECT count(*) FROM (SELECT DISTINCT ON (region) * FROM visits ORDER BY region, cost DESC) s",
        "SELECT count(*) FROM (SELECT region, rank() OVER (ORDER BY cost) AS r FROM visits) s WHERE r = 1",
        "SELECT patient FROM visits UNION SELECT 1",
        "SELECT count(*) FROM visits HAVING 1 / count(*) > 0 AND (SELECT cost > 0 FROM visits LIMIT 1)",
        "WITH RECURSIVE r AS (SELECT patient FROM visits UNION SELECT patient + 1 FROM r WHERE patient < 2) \
         SELECT count(*) FROM r",
        "WITH w AS (DELETE FROM visits RETURNING *) SELECT count(*) FROM w",
        "WITH w AS (SELECT * FROM visits) SELECT count(*) FROM w a, w b",
        "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM visits; FETCH ALL FROM c",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM visits FOR UPDATE; FETCH c; ROLLBACK",
        "ANALYZE visits (cost); SELECT most_common_vals FROM pg_stats WHERE tablename = 'visits'",
    ] {
        let end = stage.assert_tells_nothing("", sql);
        assert!(
            end.error.is_some() || end.shown.is_empty(),
            "{end:?}: {sql}"
        );
    }
    // What is refused is not lent: without that, rows are read.
    stage.assert_tells_without(&["refuse"], "", "SELECT * FROM visits");
    stage.assert_tells_without(&["refuse"], "", "SELECT max(cost) FROM visits");
}

/// LIMIT 0 and previews have no rows, and read none.
#[test]
fn previews_are_empty() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT * FROM visits LIMIT 0",
        "SET dp_mean.previews = empty; SELECT * FROM visits",
        "SET dp_mean.previews = empty; SELECT * FROM visits WHERE 1 / (patient - 666) > 0 LIMIT 100",
        "SET dp_mean.previews = empty; SELECT * FROM visits v JOIN own ON v.patient = x WHERE show(v.region)",
        "SET dp_mean.previews = empty; SELECT patient, rank() OVER (ORDER BY cost) FROM visits",
        "SET dp_mean.previews = empty; SELECT * FROM own RIGHT JOIN visits ON x = patient",
    ] {
        let end = stage.assert_tells_nothing("", sql);
        assert!(
            end.error.is_none() && end.shown.is_empty(),
            "{end:?}: {sql}"
        );
    }
    for sql in [
        "SELECT ctid FROM visits LIMIT 0",
        "SELECT v FROM visits v LIMIT 0",
    ] {
        let end = stage.assert_tells_nothing("", sql);
        assert_eq!(end.error.expect("refused").0, "42501", "{sql}");
    }
}

/// Whether a plan is compiled depends on what the planner makes of its statistics of the rows, and takes tens of
/// milliseconds.
#[test]
fn no_cost_has_a_private_query_compiled() {
    let mut stage = Stage::new();
    if !value::<bool>(&mut stage.root, "SELECT pg_jit_available()") {
        return;
    }
    stage.as_root(
        "INSERT INTO visits (patient, region, cost) SELECT g % 50, 'r1', 1 FROM generate_series(1, 200000) g; ANALYZE visits",
    );
    for stands in [true, false] {
        let mut client = stage.analyst();
        let settings = format!(
            "SET jit = on; SET jit_above_cost = 1000; SELECT dp_test_defence('compiled', {stands})"
        );
        run(&mut client, &settings);
        let end = stage.attack(&mut client, "SELECT count(*) FROM visits");
        assert_eq!(end.error, None);
        let server: i32 = value(&mut client, "SELECT pg_backend_pid()");
        // The compiler is loaded with the first plan that is compiled.
        let loaded: bool = value(
            &mut stage.root,
            &format!(
                "SELECT convert_from(pg_read_binary_file('/proc/{server}/maps', 0, 4000000), 'SQL_ASCII') LIKE '%llvmjit%'"
            ),
        );
        assert_eq!(loaded, !stands);
    }
}
