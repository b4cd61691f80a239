//! `dp_cdf`: near the parts of the rows, the same in every plan; its arguments; an audit.

use dp_mean_tests::auditing::bound;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::{Build, PARALLEL, assert_plan, explain, refused, rows, run, session, value};

use crate::arguments::{PLACES, refused_alike, tables};

const TABLES: &str = "
    CREATE TABLE t AS SELECT i % 3 AS k, ((i * 37 % 1201) / 100.0 - 1)::float8 AS x FROM generate_series(1, 9000) i
        UNION ALL SELECT 0, NULL UNION ALL SELECT 1, 'NaN' UNION ALL SELECT 2, 'Infinity' UNION ALL SELECT 2, '-Infinity';
    CREATE TABLE parts (k int, x float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2);
    INSERT INTO parts SELECT k, x FROM t;
    ANALYZE t; ANALYZE parts";

/// At eps 50 noise on a count is 1 or more once in e^-(50/3) / 2 or fewer; the parts are those of a histogram at this eps.
#[test]
fn answers_are_the_parts_below_each_point() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for points in [1, 2, 10, 16, 17, 100, 1000] {
        let sql = format!(
            "SELECT array_length(cdf, 1) = {points} AND bool_and(abs(part - exact) < 0.002) AND max(part) = 1 FROM \
             (SELECT dp_cdf(x, 0, 10, {points}, 50) AS cdf FROM t) c, LATERAL unnest(cdf) WITH ORDINALITY AS p(part, i), \
             LATERAL (SELECT avg((least(x, 10) < (dp_histogram_edges(0, 10, {points}))[i + 1] OR i = {points})::int) AS exact \
                      FROM t WHERE x <> 'NaN') e GROUP BY cdf"
        );
        assert!(value::<bool>(&mut client, &sql), "{points}");
    }
    // At a usual eps they are off by a few rows of 9000, and rise.
    for _ in 0..10 {
        let sql = "SELECT bool_and(part >= 0 AND part <= 1 AND abs(part - exact) < 0.02 AND part >= before) FROM \
            (SELECT part, i, lag(part, 1, 0::float8) OVER (ORDER BY i) AS before FROM \
                 (SELECT dp_cdf(x, 0, 10, 300, 1, 'tree') AS cdf FROM t) c, unnest(cdf) WITH ORDINALITY AS p(part, i)) p, \
             LATERAL (SELECT avg((least(x, 10) < (dp_histogram_edges(0, 10, 300))[i + 1] OR i = 300)::int) AS exact \
                      FROM t WHERE x <> 'NaN') e";
        assert!(value::<bool>(&mut client, sql));
    }
}

#[test]
fn every_plan_gives_the_same() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    let sql = "SELECT dp_cdf(x, 0, 10, 40, 0.5)::text FROM {} GROUP BY k ORDER BY k";
    run(&mut client, "SET max_parallel_workers_per_gather = 0");
    let mut seeded = |settings: &str, table: &str, words: &[&str]| -> Vec<String> {
        run(&mut client, settings);
        run(&mut client, "SELECT dp_test_seed(3)");
        let sql = sql.replace("{}", table);
        assert_plan(&explain(&mut client, &sql), words, settings);
        let answers = rows(&mut client, &sql);
        answers.iter().map(|row| row.get(0)).collect()
    };
    let expected = seeded("SET enable_hashagg = off", "t", &["!Partial"]);
    for (settings, words) in [
        ("SET enable_hashagg = on", &["!Partial"][..]),
        (PARALLEL, &["Partial", "Gather"]),
        ("SET enable_partitionwise_aggregate = on", &["Partial"]),
    ] {
        for table in ["t", "parts"] {
            assert_eq!(
                seeded(settings, table, words),
                expected,
                "{settings} {table}"
            );
        }
    }
}

/// 600 persons at 20, 400 at 80 with ten times as many rows: each counts at their mean, as often as `rows=` says.
#[test]
fn persons_count_at_their_mean() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE visits AS SELECT p, CASE WHEN p <= 600 THEN 20 ELSE 80 END + i % 3 - 1 AS x
         FROM generate_series(1, 1000) p, generate_series(0, CASE WHEN p <= 600 THEN 2 ELSE 29 END) i;
         ANALYZE visits",
    );
    // At eps 50, and over 30 rows of a person, noise is a row or a few tens.
    for (k, mechanism, expected, off) in [
        ("", "", 0.6, 0.01),
        (", 30", ", 'tree(rows=30)'", 1800.0 / 13_800.0, 0.03),
    ] {
        for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
            run(&mut client, settings);
            let sql = format!(
                "SELECT (dp_cdf(c, 0, 100, 10, 50{mechanism})) FROM (SELECT dp_contribution(x, 0, 100{k}) AS c \
                 FROM visits GROUP BY p) s"
            );
            let parts: Vec<f64> = value(&mut client, &sql);
            assert!(
                parts.len() == 10 && parts[0] < off && parts[8] > 1.0 - off,
                "{sql}: {parts:?}"
            );
            for part in &parts[2..7] {
                assert!((part - expected).abs() < off, "{sql}: {parts:?}");
            }
        }
    }
    for keep in ["true", "false"] {
        let sql = format!(
            "SELECT dp_cdf(c, 0, 99, 10, 1) FROM (SELECT dp_contribution(x, 0, 100) AS c FROM visits WHERE {keep} \
             GROUP BY p) s"
        );
        let refusal = refused(&mut client, &sql);
        assert_eq!(refusal.code, "22023", "{refusal:?}");
    }
}

#[test]
fn arguments_are_refused_alike_with_rows_and_without() {
    let (_database, mut client) = tables();
    for (call, argument, start) in [
        (
            "dp_cdf(x, 0, 1, 0, 1)",
            "points",
            "must be a number from 1 to 100000",
        ),
        (
            "dp_cdf(x, 0, 1, -1, 1)",
            "points",
            "must be a number from 1 to 100000",
        ),
        (
            "dp_cdf(x, 0, 1, NULL, 1)",
            "points",
            "must be a number from 1 to 100000",
        ),
        (
            "dp_cdf(x, 0, 1, 100001, 1)",
            "points",
            "must be a number from 1 to 100000",
        ),
        (
            "dp_cdf(x, 0, 1, x::int, 1)",
            "points",
            "must not depend on the rows",
        ),
        ("dp_cdf(x, 0, 0, 10, 1)", "hi", "must be greater than"),
        ("dp_cdf(x, 0, 1, 10, 0)", "eps", "must be at least"),
        (
            "dp_cdf(x, 0, 1, 10, 1, 'geometric')",
            "mech",
            "is not a mechanism of dp_cdf",
        ),
    ] {
        let refusal = refused_alike(&mut client, call, &PLACES);
        assert_eq!(refusal.code, "22023", "{call}: {refusal:?}");
        let expected = format!("dp_cdf: argument \"{argument}\" {start}");
        assert!(
            refusal.message.starts_with(&expected),
            "{call}: {refusal:?}"
        );
    }
}

/// Of two points, and of 17, which are two levels; with the noise halved more is found than was promised.
#[test]
fn the_audit_finds_no_more_than_epsilon_and_notices_half_the_noise() {
    const RELEASES: usize = 30_000;
    for points in [2, 17] {
        for (factor, noticed) in [(1, false), (2, true)] {
            let mut releases = Releases::seeded(60 + factor);
            run(
                releases.client(),
                &format!(
                    "SELECT dp_test_budget_factor({factor}); \
                     CREATE TABLE low AS SELECT 0::float8 AS x FROM generate_series(1, 100); \
                     CREATE TABLE ends AS SELECT * FROM low UNION ALL SELECT 1"
                ),
            );
            // The part below the last point but one: a row above makes it smaller. With many rows below, the noise on those
            // hardly moves it, so that it shows the noisy count of the row's own cell.
            let last = points - 1;
            let answer = format!("ARRAY[(dp_cdf(x, 0, 1, {points}, 1))[{last}]]");
            let drawn =
                ["low", "ends"].map(|table| releases.draw_arrays(&answer, table, None, RELEASES));
            let found = bound([drawn[0].as_slice(), drawn[1].as_slice()], 1);
            println!("{points} points: at least {found}, noise over {factor}");
            assert_eq!(found > 1.0, noticed, "{points}: {found}");
        }
    }
}
