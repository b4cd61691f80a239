//! `dp_weighted_mean` and `dp_weighted_mean_estimate`: near `sum(y * x) / sum(x)`; intervals, cost, persons.

use dp_mean_tests::{Build, PARALLEL, refused, run, session, value};
use postgres::Client;

/// 6,000 rows of 2,000 people, and some that count as nothing.
const ROWS: &str = "CREATE TABLE t AS SELECT i % 2000 AS person, (i % 11 + i % 3)::float8 AS y, (i % 7)::float8 AS x \
     FROM generate_series(0, 5999) i UNION ALL VALUES (NULL::int, NULL, 3), (NULL, 3::float8, NULL::float8), \
     (NULL, 'NaN', 3), (NULL, 3, 'NaN')";

/// Of the rows with both values, as they are clamped.
const TRUTH: &str = "(SELECT sum(y * w) / sum(w) FROM (SELECT y, least(greatest(x, {lo}), {hi}) AS w FROM t \
     WHERE y <> 'NaN' AND x <> 'NaN') r)";

fn prepared(build: Build) -> (dp_mean_tests::Database, Client) {
    let (database, mut client) = session(build);
    run(&mut client, ROWS);
    (database, client)
}

#[test]
fn at_a_large_eps_it_is_what_sums_say() {
    let (_database, mut client) = prepared(Build::Release);
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for (lo, hi) in [("0", "6"), ("0", "4.5"), ("2", "6"), ("0.1", "100")] {
            for mechanism in ["", ", 'laplace'"] {
                let truth = TRUTH.replace("{lo}", lo).replace("{hi}", hi);
                let sql = format!(
                    "SELECT abs(dp_weighted_mean(y, x, 0, 12, {lo}, {hi}, 50{mechanism}) - {truth}) < 0.02 FROM t"
                );
                assert!(value::<bool>(&mut client, &sql), "{sql}");
            }
        }
    }
    // Without weights, and without rows, an answer is still between the bounds.
    for from in ["t WHERE false", "(SELECT 5 AS y, 0 AS x FROM t) z"] {
        let sql =
            format!("SELECT dp_weighted_mean(y, x, 3, 9, 0, 6, 1) BETWEEN 3 AND 9 FROM {from}");
        assert!(value::<bool>(&mut client, &sql), "{sql}");
    }
}

#[test]
fn intervals_hold_the_weighted_mean() {
    let (_database, mut client) = prepared(Build::Testing);
    run(&mut client, "SELECT dp_test_seed(31)");
    for (lo, hi) in [("0", "6"), ("2", "6")] {
        let truth = TRUTH.replace("{lo}", lo).replace("{hi}", hi);
        for _ in 0..20 {
            let sql = format!(
                "SELECT (e).lower <= {truth} AND {truth} <= (e).upper AND (e).value BETWEEN (e).lower AND (e).upper \
                     AND (e).upper - (e).lower < 0.4 AND abs((e).weight - w) < 200 \
                 FROM (SELECT dp_weighted_mean_estimate(y, x, 0, 12, {lo}, {hi}, 1, 'laplace', 0.999999) AS e, \
                       sum(least(greatest(x, {lo}), {hi})) FILTER (WHERE y <> 'NaN' AND x <> 'NaN') AS w FROM t) r"
            );
            assert!(value::<bool>(&mut client, &sql), "{lo} {hi}");
        }
    }
    let mut width = |more: &str| -> f64 {
        run(&mut client, "SELECT dp_test_seed(32)");
        let call = format!("dp_weighted_mean_estimate(y, x, 0, 12, 0, 6, 1{more})");
        let sql = format!("SELECT (e).upper - (e).lower FROM (SELECT {call} AS e FROM t) r");
        value(&mut client, &sql)
    };
    let usual = width("");
    assert_eq!(usual, width(", 'laplace', 0.95"));
    assert!(width(", 'laplace', 0.99") > usual && width(", 'laplace', 0.5") < usual);
    let sql = "SELECT concat_ws(' ', unit, epsilon, delta, mu, mechanism) \
               FROM (SELECT (dp_weighted_mean_estimate(y, x, 0, 12, 0, 6, 0.25)).* FROM t) r";
    assert_eq!(value::<String>(&mut client, sql), "row 0.25 0 laplace");
}

#[test]
fn weights_are_not_negative() {
    let (_database, mut client) = prepared(Build::Release);
    for call in [
        "dp_weighted_mean(y, x, 0, 12, -1, 6, 1)",
        "dp_weighted_mean_estimate(y, x, 0, 12, -1, 6, 1)",
    ] {
        for rows in ["true", "false"] {
            let sql = format!("SELECT {call} FROM t WHERE {rows}");
            let refusal = refused(&mut client, &sql);
            assert_eq!(refusal.code, "22023", "{sql}");
            assert!(
                refusal.message.contains("\"xlo\" must be at least 0"),
                "{refusal:?}"
            );
        }
    }
    // One that is in the rows counts as the least weight.
    let sql = "SELECT abs(dp_weighted_mean(y, x - 3, 0, 12, 0, 3, 50) \
               - (SELECT sum(y * (x - 3)) / sum(x - 3) FROM t WHERE x > 3 AND x <> 'NaN' AND y <> 'NaN')) < 0.05 FROM t";
    assert!(value::<bool>(&mut client, sql));
}

/// A person counts at the means of their values and of their weights.
#[test]
fn persons_count_at_their_means() {
    let (_database, mut client) = prepared(Build::Testing);
    run(&mut client, "SELECT dp_test_seed(33)");
    for (k, mechanism, rows) in [("", "laplace", 1), (", 3", "laplace(rows=3)", 3)] {
        let sql = format!(
            "SELECT (e).lower <= m AND m <= (e).upper AND (e).upper - (e).lower < 0.5 \
                 AND (e).unit LIKE 'person%' AND abs((e).weight - {rows} * w) < 0.05 * {rows} * w \
             FROM (SELECT dp_weighted_mean_estimate(b, a, 0, 12, 0, 6, 8, '{mechanism}', 0.999999) AS e, \
                   sum(my * mx) / sum(mx) AS m, sum(mx) AS w \
             FROM (SELECT dp_contribution(y, 0, 12{k}) AS b, dp_contribution(x, 0, 6{k}) AS a, avg(y) AS my, \
                   avg(x) AS mx FROM t WHERE person IS NOT NULL GROUP BY person) p) r"
        );
        assert!(value::<bool>(&mut client, &sql), "{mechanism}");
    }
}
