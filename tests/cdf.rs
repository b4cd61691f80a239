//! `dp_cdf`: near the parts of the rows; persons.

use dp_mean_tests::{Build, PARALLEL, refused, run, session, value};

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
