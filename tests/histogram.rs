//! `dp_histogram`: exact but for the noise; its edges and its options.
//!
//! At eps 50 the noise of a count is 0 but for a chance of 4e-22, so that answers show the state.

use dp_mean_tests::{Build, refused, rows, run, session, value};
use postgres::Client;

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
fn buckets_are_counted_as_by_width_bucket() {
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
fn options_are_of_histograms_alone_and_buckets_stay_as_many() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    run(
        &mut client,
        "CREATE SEQUENCE counter;
         CREATE FUNCTION liar() RETURNS int STABLE LANGUAGE plpgsql
             AS $$ BEGIN RETURN nextval('counter'); END $$",
    );
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
