//! `dp_quantile`, `dp_median` and `dp_quantiles`: near the rank that was asked for; their
//! states; persons.
//!
//! Where all rows are at one place and eps is 50, the answer is that place but for a chance below 1e-9: that many more rows are
//! wanted than places are near.

use dp_mean_tests::{Build, PARALLEL, refused, rows, run, session, value};
use postgres::Client;

/// Numbers of several forms, in 9000 rows and in partitions; all that floats can be.
const TABLES: &str = "
    CREATE TABLE t AS
        SELECT i % 3 AS k, (i * 7919 % 9001) / 90.01 AS x, (i % 50)::float8 AS whole, exp((i * 7919 % 9001) / 9001.0 * 20 - 6) AS wide
        FROM generate_series(1, 9000) i UNION ALL
        SELECT 0, NULL, NULL, NULL FROM generate_series(1, 50) UNION ALL SELECT 1, 'NaN', NULL, 'NaN';
    CREATE TABLE odd AS SELECT x::float8 FROM unnest('{NULL,NaN,Infinity,-Infinity,1e308,-1e308,5e-324,
        -5e-324,0,-0,10,9.999999999999998,10.000000000000002,2.5}'::float8[]) x;
    CREATE TABLE parts (k int, x float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2);
    INSERT INTO parts SELECT k, x FROM t;
    ANALYZE t; ANALYZE parts";

/// Rows of `column` between an answer and the quantile `q`.
fn off(client: &mut Client, column: &str, q: f64, answer: f64) -> f64 {
    let sql = format!(
        "SELECT count(*) FILTER (WHERE {column} < {answer:?}), count(*) FILTER (WHERE {column} <= {answer:?}), \
         count({column}) FROM t WHERE {column} <> 'NaN'"
    );
    let row = rows(client, &sql).remove(0);
    let [below, at, all] = [0, 1, 2].map(|i| row.get::<_, i64>(i) as f64);
    (below - q * all).max(q * all - at).max(0.0)
}

/// A rank is off by `t` rows with a probability below the number of places, at most 16 * 65536, times `e^(-t)` at eps 1
/// for the median, and `e^(-t / 1.8)` for others here: 60 rows, 1e-8.
const MOST_OFF: f64 = 60.0;

#[test]
fn answers_are_near_their_rank() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for (column, bounds, mechanism) in [
        ("x", "0, 100", "em"),
        ("x", "0, 100", "em(bins=4096)"),
        ("x", "0, 100", "em(bins=65536)"),
        ("x", "-1000, 1000", "em(grid=log)"),
        ("wide", "0, 1.3e6", "em(grid=log)"),
        ("-wide", "-1.3e6, 0", "em(grid=log)"),
        ("whole", "0, 100", "em(step=1)"),
    ] {
        for q in [0.1, 0.5, 0.9] {
            let call = format!("dp_quantile({column}, {bounds}, {q}, 1.0, '{mechanism}')");
            let answer: f64 = value(&mut client, &format!("SELECT {call} FROM t"));
            let off = off(&mut client, column, q, answer);
            assert!(off <= MOST_OFF, "{call}: {answer}, off by {off}");
        }
        let call = format!("dp_median({column}, {bounds}, 1.0, '{mechanism}')");
        let answer: f64 = value(&mut client, &format!("SELECT {call} FROM t"));
        let off = off(&mut client, column, 0.5, answer);
        assert!(off <= MOST_OFF, "{call}: {answer}, off by {off}");
    }
    // Without a mechanism, and a hundred at once, in order.
    let sql = "SELECT dp_quantile(x, 0, 100, 0.25, 1.0), dp_median(x, 0, 100, 1.0), \
               dp_quantiles(x, 0, 100, (SELECT array_agg(i / 101.0 ORDER BY i) FROM generate_series(1, 100) i), 10.0) FROM t";
    let row = rows(&mut client, sql).remove(0);
    assert!(off(&mut client, "x", 0.25, row.get(0)) <= MOST_OFF);
    assert!(off(&mut client, "x", 0.5, row.get(1)) <= MOST_OFF);
    let many: Vec<f64> = row.get(2);
    assert!(many.len() == 100 && many.is_sorted(), "{many:?}");
    for (i, answer) in many.iter().enumerate() {
        let q = (i + 1) as f64 / 101.0;
        let off = off(&mut client, "x", q, *answer);
        assert!(off <= 2.0 * MOST_OFF, "{q}: {answer}, off by {off}");
    }
    // Integers come back as such, and mostly the right ones.
    let sql = "SELECT dp_quantiles(whole, 0, 100, '{0.21, 0.51, 0.81}', 1.0, 'em(step=1)') FROM t";
    assert_eq!(value::<Vec<f64>>(&mut client, sql), [10.0, 25.0, 40.0]);
}

/// A walk stops at the bin of the rows where all of them are; near the rank where few are beyond, from either side; and of persons
/// at their mean. Of 9,000 rows at eps 10 noise of 0.2 rows each at 2,049 ends is beyond 5 with a probability of 1e-7.
#[test]
fn walks_stop_near_their_rank() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for (call, column, q) in [
        (
            "dp_quantile(wide, 0, 1e9, 0.999, 10, 'rising')",
            "wide",
            0.999,
        ),
        (
            "dp_quantile(-wide, -1e9, 0, 0.001, 10, 'rising')",
            "-wide",
            0.001,
        ),
        (
            "dp_median(wide, 0, 1e9, 10, 'rising(bins=16384)')",
            "wide",
            0.5,
        ),
    ] {
        let answer: f64 = value(&mut client, &format!("SELECT {call} FROM t"));
        let off = off(&mut client, column, q, answer);
        // And the rows between two ends: 1.6% of a value is 7 rows.
        assert!(off <= 20.0, "{call}: {answer}, off by {off}");
    }
    let sql = "SELECT dp_quantile(whole, 0, 49, 0.5, 20, 'rising(step=1)') FROM t WHERE whole = 30";
    let answer: f64 = value(&mut client, sql);
    assert_eq!(answer, 30.0);
    let of_people = "SELECT dp_median(c, 0, 100, 20, 'rising(step=1, rows=2)') FROM (SELECT \
                     dp_contribution(x, 0, 100, 2) AS c FROM (SELECT 40 + i % 3 AS x, i / 3 AS p FROM \
                     generate_series(0, 2999) i) r GROUP BY p) s";
    assert_eq!(value::<f64>(&mut client, of_people), 41.0);
    let refusal = refused(
        &mut client,
        "SELECT dp_quantiles(x, 0, 1, '{0.5}', 1, 'rising') FROM t",
    );
    assert!(
        refusal
            .message
            .contains("is not a mechanism of dp_quantiles"),
        "{refusal:?}"
    );
    let sql = "SELECT dp_quantile_estimate(x, 0, 1, 0.5, 1, 'rising') FROM t";
    let refusal = refused(&mut client, sql);
    assert!(
        refusal
            .message
            .contains("is not a mechanism of dp_quantile_estimate"),
        "{refusal:?}"
    );
}

#[test]
fn any_float_is_a_row_and_answers_stay_between_the_bounds() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for (lo, hi) in [
        ("0", "10"),
        ("-1e308", "0"),
        ("5e-324", "1e-323"),
        ("-5e-324", "5e-324"),
        ("0", "1.7976931348623157e308"),
        ("-8.9e307", "8.9e307"),
        ("10", "10.000000000000002"),
    ] {
        let [low, high]: [f64; 2] = [lo, hi].map(|end| end.parse().expect("a number"));
        for mechanism in ["em", "em(grid=log)", "em(bins=2)", "em(grid=log, bins=64)"] {
            for from in ["odd", "odd WHERE false", "(SELECT NULL::float8 x) s"] {
                let call = format!(
                    "dp_quantiles(x, '{lo}', '{hi}', '{{0.01,0.5,0.99}}', 1, '{mechanism}')"
                );
                let answers: Vec<f64> = value(&mut client, &format!("SELECT {call} FROM {from}"));
                assert!(answers.is_sorted(), "{call} {answers:?}");
                assert!(
                    answers.iter().all(|x| (low..=high).contains(x)),
                    "{call} {answers:?}"
                );
            }
        }
    }
    for mechanism in ["rising", "rising(grid=linear, bins=2)", "rising(bins=64)"] {
        for (q, from) in [(0.99, "odd"), (0.01, "odd"), (0.5, "odd WHERE false")] {
            let sql = format!("SELECT dp_quantile(x, 0, 10, {q}, 1, '{mechanism}') FROM {from}");
            let answer: f64 = value(&mut client, &sql);
            assert!((0.0..=10.0).contains(&answer), "{sql}: {answer}");
        }
    }
    // What is outside counts at the bounds: infinities too.
    let sql = "SELECT dp_median(x, 0, 10, 50) FROM (SELECT 'Infinity'::float8 x FROM generate_series(1, 1000)) s";
    let answer: f64 = value(&mut client, sql);
    assert!((9.999..=10.0).contains(&answer), "{answer}");
}

#[test]
fn the_hint_of_a_quantile_at_an_end_names_what_there_is() {
    let (_database, mut client) = session(Build::Release);
    let refusal = refused(&mut client, "SELECT dp_quantile(1, 0, 1, 1, 1)");
    let hint = "q = 10 / (eps n) or 1 less that, or dp_bounds";
    assert!(refusal.hint.contains(hint), "{refusal:?}");
}

/// A state has the bin of each row until it is half as long as the counts of all bins, and then these. Whatever the rows are.
#[test]
fn a_state_grows_with_the_rows_and_not_beyond_the_counts() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE FUNCTION size_of(dp_mean.dp_state) RETURNS int LANGUAGE internal IMMUTABLE AS 'byteaoctetlen';
         CREATE AGGREGATE rank_size(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) \
             (SFUNC = dp_mean.dp_median_trans, STYPE = dp_mean.dp_state, FINALFUNC = size_of);
         CREATE AGGREGATE rank_state(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) \
             (SFUNC = dp_mean.dp_median_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_test_state)",
    );
    // Behind a length word of 4 bytes.
    for (rows, bins, size) in [
        (1, 16384, 68 + 4 * 16),
        (16, 16384, 68 + 4 * 16),
        (17, 16384, 68 + 4 * 32),
        (1000, 16384, 68 + 4 * 1024),
        (16_384, 16384, 68 + 4 * 16_384),
        (16_385, 16384, 60 + 8 * 16_384),
        (100_000, 16384, 60 + 8 * 16_384),
        (65_536, 65536, 68 + 4 * 65_536),
        (65_537, 65536, 60 + 8 * 65_536),
        (64, 64, 68 + 4 * 64),
        (65, 64, 60 + 8 * 64),
        (1, 63, 60 + 8 * 63),
    ] {
        for value_of in ["7", "i % 100", "CASE WHEN i % 2 = 0 THEN 1e300 ELSE i END"] {
            let sql = format!(
                "SELECT rank_size({value_of}, 0, 100, 1, 'em(bins={bins})') FROM generate_series(1, {rows}) i"
            );
            assert_eq!(value::<i32>(&mut client, &sql), size, "{sql}");
        }
    }
    // The same counts in each form: of 3 bins in 64, of up to 200 rows.
    for rows in [1, 16, 17, 63, 64, 65, 200] {
        let sql = format!(
            "SELECT rank_state(i % 3 * 33 + 1, 0, 100, 1, 'em(bins=64)') = {rows}::text || ' ' || (SELECT string_agg((SELECT \
             count(*) FROM generate_series(1, {rows}) j WHERE floor((j % 3 * 33 + 1) * 0.64) = b)::text, ' ' ORDER BY b) \
             FROM generate_series(0, 63) b) FROM generate_series(1, {rows}) i"
        );
        assert!(value::<bool>(&mut client, &sql), "{sql}");
    }
}

/// The forms in which an array reaches a call: a constant, a parameter, a sub-select, of any dimensions, out of line.
#[test]
fn quantiles_come_in_every_form_of_an_array() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    run(
        &mut client,
        "CREATE TABLE asked AS SELECT '{0.1,0.5,0.9}'::float8[] AS qs, array_agg(i / 1001.0::float8 ORDER BY i) AS many
         FROM generate_series(1, 1000) i;
         PREPARE p(float8[]) AS SELECT dp_quantiles(x, 0, 100, $1, 0.1)::text FROM t",
    );
    let mut seeded = |sql: &str| -> String {
        run(&mut client, "SELECT dp_test_seed(3)");
        value(&mut client, sql)
    };
    let expected = seeded("SELECT dp_quantiles(x, 0, 100, '{0.1,0.5,0.9}', 0.1)::text FROM t");
    for sql in [
        "SELECT dp_quantiles(x, 0, 100, ARRAY[0.1, 0.5, 0.9], 0.1)::text FROM t",
        "SELECT dp_quantiles(x, 0, 100, '{{0.1},{0.5},{0.9}}', 0.1, 'em')::text FROM t",
        "SELECT dp_quantiles(x, 0, 100, (SELECT qs FROM asked), 0.1)::text FROM t",
        "SELECT dp_quantiles(x, 0, 100, string_to_array('0.1,0.5,0.9', ',')::float8[], 0.1)::text FROM t",
        "EXECUTE p('{0.1,0.5,0.9}')",
    ] {
        assert_eq!(seeded(sql), expected, "{sql}");
    }
    let sql = "SELECT array_length(dp_quantiles(x, 0, 100, (SELECT many FROM asked), 50), 1)::text FROM t";
    assert_eq!(seeded(sql), "1000");
}

/// What a person contributes counts at their mean, once for each of their rows up to `k`.
#[test]
fn contributions_count_at_their_mean() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE visits AS SELECT p, CASE WHEN p <= 600 THEN 20 ELSE 80 END + i % 3 - 1 AS x
         FROM generate_series(1, 1000) p, generate_series(0, CASE WHEN p <= 600 THEN 2 ELSE 29 END) i;
         ANALYZE visits",
    );
    // 600 persons at 20, 400 at 80 with ten times as many rows.
    for (call, k, expected) in [
        ("dp_median(c, 0, 100, 1)", "", 20.0),
        ("dp_quantile(c, 0, 100, 0.9, 1)", "", 80.0),
        ("dp_quantiles(c, 0, 100, '{0.1,0.2}', 1)", "", 20.0),
        ("dp_median(c, 0, 100, 1, 'em(step=1)')", "", 20.0),
        (
            "dp_median(c, 0, 100, 10, 'em(step=1, rows=30)')",
            ", 30",
            80.0,
        ),
        (
            "dp_quantile(c, 0, 100, 0.1, NULL, 'em(step=1, rho=2)')",
            "",
            20.0,
        ),
    ] {
        for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
            run(&mut client, settings);
            let call = call
                .replace("dp_quantiles(c", "(dp_quantiles(c")
                .replace("}', 1)", "}', 1))[1]");
            let sql = format!(
                "SELECT {call} FROM (SELECT dp_contribution(x, 0, 100{k}) AS c FROM visits GROUP BY p) s"
            );
            let answer: f64 = value(&mut client, &sql);
            assert!((answer - expected).abs() < 0.01, "{sql}: {answer}");
        }
    }
    for (sql, message) in [
        ("SELECT dp_median(dp_contribution, 0, 99, 1)", "lo"),
        (
            "SELECT dp_median(dp_contribution, 0, 100, 1, 'em(rows=3)')",
            "rows",
        ),
    ] {
        let sql =
            format!("{sql} FROM (SELECT dp_contribution(x, 0, 100) FROM visits GROUP BY p) s");
        let refusal = refused(&mut client, &sql);
        assert_eq!(refusal.code, "22023", "{message}: {refusal:?}");
    }
}
