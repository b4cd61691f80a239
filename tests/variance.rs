//! `dp_var_pop`, `dp_stddev_pop` and `dp_var_pop_estimate` against PostgreSQL's own, and against
//! the integers of the grid.

use std::collections::HashMap;

use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::sums::Moments;
use dp_mean_tests::{Build, rows, run, session};
use postgres::Client;

/// Skewed rows, with all that a column can hold, in four groups; and where none is left.
const TABLES: &str = "
    CREATE TABLE t AS
        SELECT i AS id, i % 4 AS k, NULL::float8 AS nothing,
               CASE WHEN i % 50 = 0 THEN NULL WHEN i % 50 = 1 THEN 'NaN' WHEN i % 50 = 2 THEN 'infinity'
                    WHEN i % 50 = 3 THEN '-infinity' WHEN i % 50 = 4 THEN 1e300
                    ELSE ((i * 7919) % 10007) ^ 2 / 1e6 END::float8 AS x
        FROM generate_series(1, 40000) i;
    CREATE TABLE parts (id int, k int, nothing float8, x float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2, 3);
    INSERT INTO parts SELECT id, k, nothing, x FROM t;
    ANALYZE t; ANALYZE parts";

/// What there is to estimate, of the rows that count, clamped to [-5, 80].
const TRUTH: &str = "SELECT var_pop(c), stddev_pop(c), avg(c), count(c)::float8, var_samp(c) \
     FROM (SELECT least(greatest(x, -5), 80) AS c, k, id FROM t WHERE x <> 'NaN') r";

fn numbers(client: &mut Client, sql: &str) -> Vec<f64> {
    let row = client
        .query_one(sql, &[])
        .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    (0..row.len()).map(|i| row.get(i)).collect()
}

fn near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        // At eps 50 and 10,000 rows the noise is below 1e-4 of what is estimated.
        assert!(
            (found / expected - 1.0).abs() < 2e-3,
            "{what}: {found} {expected}"
        );
    }
}

#[test]
fn at_a_large_eps_it_is_what_postgresql_says() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for group in ["", " WHERE k = 2", " WHERE id > 20000 AND k <> 3"] {
        let truth = numbers(&mut client, &(TRUTH.to_owned() + group));
        let mut answers =
            |call: &str| numbers(&mut client, &format!("SELECT {call} FROM t{group}"));
        for (budget, sample) in [
            ("50", ", 'laplace(sample=yes)'"),
            ("NULL", ", 'gaussian(mu=100, sample=yes)'"),
        ] {
            for mechanism in ["", &sample.replace("sample=yes", "sample=no"), sample] {
                if mechanism.is_empty() && budget == "NULL" {
                    continue;
                }
                let arguments = format!("(x, -5, 80, {budget}{mechanism})");
                let factor = if mechanism == sample {
                    truth[4] / truth[0]
                } else {
                    1.0
                };
                let expected = [
                    truth[0] * factor,
                    truth[1] * factor.sqrt(),
                    truth[2],
                    truth[3],
                ];
                let columns = ["value", "stddev", "mean", "count"];
                let columns =
                    columns.map(|column| format!("(dp_var_pop_estimate{arguments}).{column}"));
                let estimate = answers(&columns.join(", "));
                near(&estimate, &expected, &arguments);
                near(
                    &answers(&format!("dp_var_pop{arguments}")),
                    &expected[..1],
                    &arguments,
                );
                near(
                    &answers(&format!("dp_stddev_pop{arguments}")),
                    &expected[1..2],
                    &arguments,
                );
            }
        }
    }
    // Rows that all are one, two ends, and bounds where the square is more than a float holds.
    for (x, lo, hi, least, most) in [
        ("7.0", "0", "10", 0.0, 1e-3),
        ("1e6 + id % 2", "1e6", "1e6 + 1", 0.2499, 0.25),
        ("-(id % 2)", "-1", "0", 0.2499, 0.25),
        (
            "1e308 * (id % 2)",
            "0",
            "1e308",
            f64::INFINITY,
            f64::INFINITY,
        ),
    ] {
        let sql = format!("SELECT dp_var_pop({x}, {lo}, {hi}, 50) FROM t");
        let found = numbers(&mut client, &sql)[0];
        assert!((least..=most).contains(&found), "{sql}: {found}");
    }
}

#[test]
fn without_rows_it_is_the_variance_of_all_values_alike() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    // Where the noisy number of rows is not positive, it is the uniform distribution's.
    let uniform = 85.0f64.powi(2) / 12.0;
    let lost = rows(
        &mut client,
        "SELECT (s.a).* FROM generate_series(1, 30) i, \
         LATERAL (SELECT dp_var_pop_estimate(x, -5, 80, 1) AS a FROM t WHERE id < -i) s",
    );
    let of_none = |row: &&postgres::Row| row.get::<_, f64>("count") <= 0.0;
    assert!(lost.iter().any(|row| of_none(&row)));
    for row in lost.iter().filter(of_none) {
        let near = |column: &str, expected: f64| {
            assert!((row.get::<_, f64>(column) - expected).abs() < 1e-9);
        };
        near("value", uniform);
        near("mean", 37.5);
        // And the interval is all there is.
        near("lower", 0.0);
        near("upper", 42.5f64.powi(2));
        near("stddev_lower", 0.0);
        near("stddev_upper", 42.5);
    }
}

#[test]
fn the_integers_are_those_of_the_grid() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    for (lo, hi) in [
        (-5.0, 80.0),
        (0.0, 1e300),
        (-1e-300, 1e-300),
        (1e300, 1.7e308),
    ] {
        let grid = Grid::unit(&Bounds::new(Some(lo), Some(hi)).expect("good bounds"));
        let mut expected: HashMap<i32, Moments> = HashMap::new();
        for row in rows(&mut client, "SELECT k, x FROM t WHERE x <> 'NaN'") {
            for key in [row.get(0), -1] {
                expected
                    .entry(key)
                    .or_default()
                    .add(grid.coarse_steps(row.get(1)));
            }
        }
        let shown = |moments: &Moments| format!("{} {} {}", moments.n, moments.s, moments.q);
        let call = format!("dp_test_variance_state(x, '{lo}', '{hi}', 1, 'laplace')");
        let sql = format!("SELECT coalesce(k, -1), {call} FROM t GROUP BY ROLLUP (k)");
        let groups = rows(&mut client, &sql);
        assert_eq!(groups.len(), expected.len());
        for row in groups {
            let key: i32 = row.get(0);
            assert_eq!(row.get::<_, String>(1), shown(&expected[&key]), "{sql}");
        }
    }
}

#[test]
fn the_columns_of_an_estimate_fit_each_other() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for group in ["", " GROUP BY k"] {
        let sql = format!(
            "SELECT (dp_var_pop_estimate(x, -5, 80, 0.1)).*, dp_var_pop(x, -5, 80, 0.1), \
             dp_stddev_pop(x, -5, 80, 0.1) FROM t{group}"
        );
        for row in rows(&mut client, &sql) {
            let number = |i| row.get::<_, f64>(i);
            // Its columns are of one draw.
            for i in 0..3 {
                let (square, root) = (number(i), number(i + 3));
                assert!((root.powi(2) - square).abs() <= 1e-12 * square, "{sql}");
            }
            assert!(number(1) <= number(0) && number(0) <= number(2), "{sql}");
            // The mean lies in the interval of the rows, and that in the one of their population.
            let nested = [9, 7, 6, 8, 10].map(number);
            assert!(nested.is_sorted(), "{sql}: {nested:?}");
            // Other aggregates draw for themselves.
            assert_ne!(number(0), number(18));
            assert_ne!(number(18).sqrt(), number(19));
        }
    }
}
