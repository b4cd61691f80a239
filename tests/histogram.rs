//! `dp_histogram`: exact but for the noise, in every plan; its edges; its arguments; an audit.
//!
//! At eps 50 the noise of a count is 0 but for a chance of 4e-22, so that answers show the state.

use dp_mean_tests::auditing::bound;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::{Build, PARALLEL, assert_plan, explain, refused, rows, run, session, value};
use postgres::Client;

use crate::arguments::{PLACES, refused_alike};

/// Ordinary values, ones at edges, and all that floats can be.
const TABLES: &str = "
    CREATE TABLE t AS
        SELECT i % 3 AS k, ((i * 37 % 1201) / 100.0 - 1)::float8 AS x FROM generate_series(1, 9000) i
        UNION ALL SELECT 3, (i / 10.0)::float8 FROM generate_series(-20, 120) i;
    CREATE TABLE odd AS SELECT x::float8 FROM unnest('{NULL,NaN,Infinity,-Infinity,1e308,-1e308,5e-324,
        -5e-324,0,-0,10,9.999999999999998,10.000000000000002,2.5}'::float8[]) x;
    CREATE TABLE none (k int, x float8);
    CREATE TABLE parts (k int, x float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0, 3);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2);
    INSERT INTO parts SELECT k, x FROM t;
    CREATE TABLE settings AS SELECT 0::float8 AS lo, 10::float8 AS hi, 25 AS buckets, 50::float8 AS eps;
    ANALYZE t; ANALYZE parts";

/// The counts that PostgreSQL's own width_bucket has, over the edges.
fn expected(client: &mut Client, from: &str, buckets: i32, drops: bool) -> Vec<i64> {
    let outside = match drops {
        true => "CASE WHEN x BETWEEN 0 AND 10 THEN",
        false => "CASE WHEN true THEN",
    };
    let sql = format!(
        "SELECT count(v.b) FROM generate_series(1, {buckets}) bucket LEFT JOIN \
         (SELECT {outside} least(greatest(width_bucket(x, dp_histogram_edges(0, 10, {buckets})), \
          1), {buckets}) END AS b FROM {from}) v ON v.b = bucket GROUP BY bucket ORDER BY bucket"
    );
    rows(client, &sql).iter().map(|row| row.get(0)).collect()
}

#[test]
fn it_counts_as_width_bucket_does() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for buckets in [1, 2, 7, 10, 100, 1000] {
        for from in ["t", "(SELECT * FROM odd WHERE x <> 'NaN') odd"] {
            let with_outside = expected(&mut client, from, buckets, false);
            for mechanism in ["", ", 'geometric'", ", 'geometric(outside=clamp)'"] {
                let sql =
                    format!("SELECT dp_histogram(x, 0, 10, {buckets}, 50{mechanism}) FROM {from}");
                assert_eq!(value::<Vec<i64>>(&mut client, &sql), with_outside, "{sql}");
            }
            let sql = format!(
                "SELECT dp_histogram(x, 0, 10, {buckets}, 50, 'geometric(outside=drop)') FROM {from}"
            );
            let within = expected(&mut client, from, buckets, true);
            assert_eq!(value::<Vec<i64>>(&mut client, &sql), within, "{sql}");
            assert!(within.iter().sum::<i64>() < with_outside.iter().sum());
        }
        // The form with bounds computes in another order and may put a decimal edge, such as 2.3 of
        // 100 buckets, below itself. It agrees away from edges, and where they are whole numbers.
        let whole = [1, 2, 10].contains(&buckets);
        let x = if whole { "x" } else { "(x + 0.003)" };
        let sql = format!(
            "SELECT count(*) FILTER (WHERE width_bucket({x}, dp_histogram_edges(0, 10, {buckets})) \
             <> width_bucket({x}, 0, 10, {buckets})), count(*) FROM t"
        );
        let row = &rows(&mut client, &sql)[0];
        assert_eq!(
            (row.get::<_, i64>(0), row.get::<_, i64>(1)),
            (0, 9141),
            "{sql}"
        );
    }
    // NULL and NaN are in no bucket; infinities in the outer ones.
    let sql = "SELECT dp_histogram(x, 0, 10, 2, 50) FROM odd";
    assert_eq!(value::<Vec<i64>>(&mut client, sql), [7, 5]);
    let sql = "SELECT dp_histogram(x, 0, 10, 2, 50, 'geometric(outside=drop)') FROM odd";
    assert_eq!(value::<Vec<i64>>(&mut client, sql), [4, 2]);
    // A column of integers is cast; whole numbers have their own buckets.
    let sql = "SELECT dp_histogram(i, 0, 49, 49, 50) FROM generate_series(0, 48) i";
    assert_eq!(value::<Vec<i64>>(&mut client, sql), vec![1; 49]);
    let sql = "SELECT dp_histogram(i, 0, 1, 100000, 50) FROM generate_series(1, 10) i";
    let longest: Vec<i64> = value(&mut client, sql);
    assert_eq!((longest.len(), longest[99_999]), (100_000, 10));
}

#[test]
fn every_plan_gives_the_same() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    let call = "dp_histogram(x, 0, 10, 25, 50)";
    let all = expected(&mut client, "t", 25, false);
    let in_groups: Vec<Vec<i64>> = (0..4)
        .map(|k| {
            expected(
                &mut client,
                &format!("(SELECT * FROM t WHERE k = {k}) t"),
                25,
                false,
            )
        })
        .collect();
    for (settings, words) in [
        ("SET max_parallel_workers_per_gather = 0", "!Partial"),
        (PARALLEL, "Partial"),
        ("SET enable_partitionwise_aggregate = on", "Partial"),
        ("SET enable_hashagg = off", "Partial"),
        ("SET jit_above_cost = 0", "Partial"),
    ] {
        run(&mut client, settings);
        for table in ["t", "parts"] {
            let sql = format!("SELECT {call} FROM {table}");
            let plan = explain(&mut client, &sql);
            assert_plan(&plan, &[words], settings);
            assert_eq!(value::<Vec<i64>>(&mut client, &sql), all, "{settings}");
            let sql = format!("SELECT k, {call} FROM {table} GROUP BY k ORDER BY k");
            let groups: Vec<Vec<i64>> = rows(&mut client, &sql).iter().map(|r| r.get(1)).collect();
            assert_eq!(groups, in_groups, "{settings}");
            let sql = format!("SELECT {call} FROM {table} GROUP BY ROLLUP (k) ORDER BY k");
            let groups: Vec<Vec<i64>> = rows(&mut client, &sql).iter().map(|r| r.get(0)).collect();
            assert_eq!(
                (&groups[..4], &groups[4]),
                (&in_groups[..], &all),
                "{settings}"
            );
        }
    }
    let sql = format!("SELECT {call} FILTER (WHERE k = 2) FROM t");
    assert_eq!(value::<Vec<i64>>(&mut client, &sql), in_groups[2]);
    let sql = "SELECT dp_histogram(DISTINCT x, 0, 10, 1, 50, 'geometric') FROM \
               (VALUES (1), (1), (2)) v(x)";
    assert_eq!(value::<Vec<i64>>(&mut client, sql), [2]);
}

#[test]
fn no_rows_are_noise_in_every_bucket() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for from in [
            "none",
            "t WHERE false",
            "t WHERE x > 100",
            "(SELECT NULL::float8 AS x FROM t) t",
            "(SELECT 'NaN'::float8 AS x FROM t) t",
        ] {
            // A bucket has no noise with a chance of 0.05 at eps 0.1.
            let sql = format!("SELECT dp_histogram(x, 0, 10, 1000, 0.1) FROM {from}");
            let noise: Vec<i64> = value(&mut client, &sql);
            assert_eq!(noise.len(), 1000);
            let zeros = noise.iter().filter(|count| **count == 0).count();
            assert!((1..150).contains(&zeros), "{from}: {zeros}");
            assert_ne!(value::<Vec<i64>>(&mut client, &sql), noise);
        }
    }
    // A state whose rows were all dropped, and one of no rows, answer alike.
    let sql = "SELECT dp_histogram(x, 20, 30, 3, 50, 'geometric(outside=drop)') FROM t";
    assert_eq!(value::<Vec<i64>>(&mut client, sql), [0, 0, 0]);
}

#[test]
fn arguments_come_from_anywhere_but_the_rows() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    run(
        &mut client,
        "SET plan_cache_mode = force_generic_plan;
         CREATE FUNCTION in_plpgsql(buckets int) RETURNS bigint[] LANGUAGE plpgsql AS $$
         DECLARE answer bigint[];
         BEGIN SELECT dp_histogram(x, 0, 10, buckets, 50) INTO answer FROM t; RETURN answer; END $$",
    );
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        let sql = "SELECT dp_histogram(x, $1, $2, $3, $4, $5::text) FROM t";
        let prepared = client.prepare(sql).expect("a statement");
        for buckets in [1, 25, 3] {
            let all = expected(&mut client, "t", buckets, false);
            let parameters: [&(dyn postgres::types::ToSql + Sync); 5] =
                [&0.0f64, &10.0f64, &buckets, &50.0f64, &"geometric"];
            let row = client.query_one(&prepared, &parameters).expect("a row");
            assert_eq!(row.get::<_, Vec<i64>>(0), all);
            let sql = format!("SELECT in_plpgsql({buckets})");
            assert_eq!(value::<Vec<i64>>(&mut client, &sql), all);
        }
        let all = expected(&mut client, "t", 25, false);
        for sql in [
            "SELECT dp_histogram(x, (SELECT lo FROM settings), (SELECT hi FROM settings), \
             (SELECT buckets FROM settings), (SELECT eps FROM settings)) FROM t",
            "SELECT s.a FROM settings o, LATERAL \
             (SELECT dp_histogram(x, o.lo, o.hi, o.buckets, o.eps) AS a FROM t) s",
        ] {
            assert_eq!(value::<Vec<i64>>(&mut client, sql), all, "{sql}");
        }
    }
}

#[test]
fn errors_are_the_same_with_and_without_rows() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    run(
        &mut client,
        "CREATE TABLE full_table AS SELECT k, x, 5 AS n, 1.0::float8 AS a FROM t;
         CREATE TABLE nulls AS SELECT k, NULL::float8 AS x, n, a FROM full_table LIMIT 10;
         DROP TABLE none; CREATE TABLE none (LIKE full_table);
         CREATE SEQUENCE counter;
         CREATE FUNCTION liar() RETURNS int STABLE LANGUAGE plpgsql
             AS $$ BEGIN RETURN nextval('counter'); END $$",
    );
    for (arguments, argument, rule) in [
        ("x, NULL, 10, 5, 1", "lo", "must not be NULL"),
        ("x, 0, NULL, 5, 1", "hi", "must not be NULL"),
        ("x, 10, 0, 5, 1", "hi", "must be greater"),
        ("x, 0, 'Infinity', 5, 1", "hi", "must be a finite number"),
        ("x, a, 10, 5, 1", "lo", "must not depend on the rows"),
        ("x, 0, 10, NULL, 1", "buckets", "1 to 100000"),
        ("x, 0, 10, 0, 1", "buckets", "1 to 100000"),
        ("x, 0, 10, -1, 1", "buckets", "1 to 100000"),
        ("x, 0, 10, 100001, 1", "buckets", "1 to 100000"),
        (
            "x, 0, 10, 2147483647, 1, 'geometric'",
            "buckets",
            "1 to 100000",
        ),
        ("x, 0, 10, -2147483648, 1", "buckets", "1 to 100000"),
        ("x, 1e15, 1e15 + 1, 9, 1", "buckets", "distinguish"),
        ("x, 0, 10, n, 1", "buckets", "must not depend on the rows"),
        (
            "x, 0, 10, 2 + (random() * 5)::int, 1",
            "buckets",
            "must not depend on the rows",
        ),
        ("x, 0, 10, 5, 0", "eps", "must be at least"),
        ("x, 0, 10, 5, NULL", "eps", "must not be NULL"),
        ("x, 0, 10, 5, a", "eps", "must not depend on the rows"),
        ("x, 0, 10, 5, 1, NULL", "mech", "must not be NULL"),
        (
            "x, 0, 10, 5, 1, 'laplace'",
            "mech",
            "is not a mechanism of dp_histogram",
        ),
    ] {
        let call = format!("dp_histogram({arguments})");
        let refusal = refused_alike(&mut client, &call, &PLACES);
        assert_eq!(refusal.code, "22023", "{call}: {refusal:?}");
        let start = format!("dp_histogram: argument \"{argument}\" ");
        assert!(refusal.message.starts_with(&start), "{call}: {refusal:?}");
        assert!(refusal.message.contains(rule), "{call}: {refusal:?}");
    }
    // The option is of histograms alone, and its words are checked where the query is parsed.
    let refusal = refused(
        &mut client,
        "SELECT dp_count(x, 1, 'geometric(outside=drop)') FROM t",
    );
    assert!(refusal.message.contains("does not take"), "{refusal:?}");
    let sql = "SELECT dp_histogram(x, 0, 10, 5, 1, 'geometric(outside=keep)') FROM t";
    assert_eq!(refused(&mut client, sql).code, "22023");
    // A number of buckets that changes on the way is no way to a larger state.
    let refusal = refused(
        &mut client,
        "SELECT dp_histogram(x, 0, 10, liar(), 1) FROM t",
    );
    assert!(
        refusal.message.contains("\"buckets\" must not depend"),
        "{refusal:?}"
    );
    let refusal = refused(
        &mut client,
        "SELECT dp_histogram(x, 0, 10, 5, 1) OVER () FROM t",
    );
    assert_eq!(refusal.code, "0A000", "{refusal:?}");
    // Identical calls are one release.
    let call = "dp_histogram(x, 0, 10, 100, 0.01)";
    let sql = format!("SELECT {call} = {call} FROM t");
    assert!(value::<bool>(&mut client, &sql));
}

#[test]
fn edges_are_public_numbers() {
    let (_database, mut client) = session(Build::Release);
    for (arguments, edges) in [
        ("0, 10, 4", &[0.0, 2.5, 5.0, 7.5, 10.0][..]),
        ("-1, 1, 1", &[-1.0, 1.0]),
        (
            "0, 1, 10",
            &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        ),
    ] {
        let sql = format!("SELECT dp_histogram_edges({arguments})");
        assert_eq!(value::<Vec<f64>>(&mut client, &sql), edges, "{sql}");
    }
    let sql = "SELECT dp_histogram_edges(0, NULL, 3) IS NULL";
    assert!(value::<bool>(&mut client, sql));
    for (arguments, argument) in [
        ("1, 1, 3", "hi"),
        ("'NaN', 1, 3", "lo"),
        ("0, 1, 0", "buckets"),
        ("0, 1, -5", "buckets"),
        ("0, 1, 100001", "buckets"),
        ("0, 5e-324, 1", "buckets"),
    ] {
        let refusal = refused(
            &mut client,
            &format!("SELECT dp_histogram_edges({arguments})"),
        );
        let start = format!("dp_histogram_edges: argument \"{argument}\" ");
        assert!(
            refusal.message.starts_with(&start),
            "{arguments}: {refusal:?}"
        );
        assert!(refusal.code == "22023" && !refusal.hint.is_empty());
    }
}

/// Releases for each table: half to find an event, half to bound its likelihood ratio.
const RELEASES: usize = 20_000;

/// A bound from below on epsilon, over all neighbours.
fn audited(releases: &mut Releases, call: &str) -> f64 {
    let neighbours = [("nothing", "low"), ("low", "two"), ("nothing", "beyond")];
    let bounds = neighbours.map(|(one, other)| {
        let mut draw =
            |table: &str| releases.draw_arrays(&format!("{call}::float8[]"), table, None, RELEASES);
        bound([&draw(one), &draw(other)], 2)
    });
    bounds.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn the_audit_finds_no_more_than_epsilon_and_notices_half_the_noise() {
    for (factor, seed) in [(1, 31), (2, 32)] {
        let mut releases = Releases::seeded(seed);
        let setup = format!(
            "SELECT dp_test_budget_factor({factor});
             CREATE TABLE nothing (x float8);
             CREATE TABLE low AS SELECT 0.25::float8 AS x;
             CREATE TABLE two AS SELECT unnest(ARRAY[0.25, 0.75]) AS x;
             CREATE TABLE beyond AS SELECT 1e9::float8 AS x"
        );
        run(releases.client(), &setup);
        for eps in [0.5, 2.0] {
            for mechanism in ["", ", 'geometric(outside=drop)'"] {
                let call = format!("dp_histogram(x, 0, 1, 2, {eps}{mechanism})");
                let bound = audited(&mut releases, &call);
                println!("{call}, noise / {factor}: epsilon is at least {bound:.3}");
                assert_eq!(bound > eps, factor == 2, "{call}: {bound}");
            }
        }
    }
}
