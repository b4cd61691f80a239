//! `dp_cdf_estimate`: its bands hold the parts of the rows, and say where they are blind; what it costs; persons.

use std::time::Instant;

use dp_mean_tests::{Build, refused, run, session, value};
use postgres::Client;

/// 4,000 rows, of 1,000 people with four each, and some that count as nothing.
const ROWS: &str = "CREATE TABLE t AS SELECT i / 4 AS person, (i / 4 * 37 % 1000 / 100.0 + 0.005)::float8 AS x \
     FROM generate_series(0, 3999) i UNION ALL SELECT NULL, NULL UNION ALL SELECT NULL, 'NaN'";

fn prepared() -> (dp_mean_tests::Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(&mut client, ROWS);
    run(&mut client, "SELECT dp_test_seed(21)");
    (database, client)
}

/// Point by point, whether each number is where it should be; `e` is the estimate, `exact` the part of the rows.
const HOLDS: &str = "SELECT bool_and((e).lower[i] <= exact AND exact <= (e).upper[i] \
         AND (e).value[i] BETWEEN (e).lower[i] AND (e).upper[i] \
         AND (e).population_lower[i] <= (e).lower[i] AND (e).upper[i] <= (e).population_upper[i])";

#[test]
fn bands_hold_the_parts_of_the_rows() {
    let (_database, mut client) = prepared();
    for (points, more, width) in [
        (1, ", 'tree', 0.999999", 0.0),
        (10, ", 'tree', 0.999999", 0.03),
        (100, ", 'tree', 0.999", 0.03),
        (300, ", 'tree', 0.999999", 0.06),
    ] {
        for _ in 0..5 {
            let sql = format!(
                "{HOLDS} AND max((e).upper[i] - (e).lower[i]) <= {width} AND min((e).lower[i]) >= 0 \
                     AND max((e).upper[i]) = 1 AND bool_and(abs((e).count - 4000) < 100) \
                 FROM (SELECT dp_cdf_estimate(x, 0, 10, {points}, 4{more}) AS e FROM t) c, \
                 LATERAL generate_series(1, {points}) i, \
                 LATERAL (SELECT avg((x < (dp_histogram_edges(0, 10, {points}))[i + 1])::int) AS exact \
                          FROM t WHERE x <> 'NaN') p"
            );
            assert!(value::<bool>(&mut client, &sql), "{points}");
        }
    }
}

#[test]
fn the_value_is_that_of_a_distribution_function() {
    let (_database, mut client) = prepared();
    for points in [1, 7, 200] {
        let mut answer = |call: &str| -> Vec<f64> {
            run(&mut client, "SELECT dp_test_seed(22)");
            value(&mut client, &format!("SELECT {call} FROM t"))
        };
        let plain = answer(&format!("dp_cdf(x, 0, 10, {points}, 0.5)"));
        let with_band = answer(&format!("(dp_cdf_estimate(x, 0, 10, {points}, 0.5)).value"));
        assert_eq!(plain, with_band);
    }
}

#[test]
fn a_larger_confidence_is_a_wider_band() {
    let (_database, mut client) = prepared();
    let mut width = |more: &str| -> f64 {
        run(&mut client, "SELECT dp_test_seed(23)");
        let sql = format!(
            "SELECT (e).upper[5] - (e).lower[5] + (e).population_upper[5] - (e).population_lower[5] \
             FROM (SELECT dp_cdf_estimate(x, 0, 10, 10, 1{more}) AS e FROM t) r"
        );
        value(&mut client, &sql)
    };
    let usual = width("");
    assert_eq!(usual, width(", 'tree', 0.95"));
    let wider = width(", 'tree', 0.99");
    assert!(wider > usual && width(", 'tree', 0.9999") > wider);
    assert!(width(", 'tree', 0.5") < usual);
}

#[test]
fn few_rows_and_equal_ones_have_bands_too() {
    let (_database, mut client) = prepared();
    // Of no rows nothing is known: nearly always all is possible.
    let (mut blind, mut narrow) = (0, 0);
    for _ in 0..20 {
        let sql = "SELECT (e).lower[1] = 0 AND (e).upper[1] = 1 AND (e).lower[4] = 1 AND (e).upper[4] = 1 \
                   FROM (SELECT dp_cdf_estimate(x, 0, 10, 4, 0.5) AS e FROM t WHERE x > 11) r";
        blind += usize::from(value::<bool>(&mut client, sql));
        let sql = "SELECT (e).upper[2] < 0.05 AND (e).lower[3] > 0.95 AND (e).population_upper[2] < 0.15 \
                   FROM (SELECT dp_cdf_estimate(6, 0, 10, 4, 2) AS e FROM t) r";
        narrow += usize::from(value::<bool>(&mut client, sql));
    }
    assert!(blind >= 12 && narrow == 20, "{blind} {narrow}");
}

#[test]
fn it_says_what_it_cost() {
    let (_database, mut client) = prepared();
    let sql = "SELECT concat_ws(' ', unit, epsilon, delta, mu, mechanism) \
               FROM (SELECT (dp_cdf_estimate(x, 0, 10, 10, 0.25)).* FROM t) r";
    assert_eq!(value::<String>(&mut client, sql), "row 0.25 0 tree");
    let refusal = refused(
        &mut client,
        "SELECT dp_cdf_estimate(x, 0, 10, 10, 0.25, 'tree', NULL) FROM t",
    );
    assert_eq!(refusal.code, "22023", "{refusal:?}");
}

/// With up to four rows of a person, a population's band is up to twice as far beyond that of the rows.
#[test]
fn persons_are_drawn_not_rows() {
    let (_database, mut client) = prepared();
    for (k, mechanism, unit, rows) in [
        ("", "tree", "person (at most 1 row in 1 group)", 1000),
        (
            ", 4",
            "tree(rows=4)",
            "person (at most 4 rows in 1 group)",
            4000,
        ),
    ] {
        for _ in 0..5 {
            let from = format!(
                "FROM (SELECT dp_cdf_estimate(c, 0, 10, 10, 20, '{mechanism}', 0.99) AS e \
                 FROM (SELECT dp_contribution(x, 0, 10{k}) AS c FROM t GROUP BY person) p) c, \
                 LATERAL generate_series(1, 10) i, \
                 LATERAL (SELECT avg((x < i)::int) AS exact FROM t WHERE x <> 'NaN') p"
            );
            let sql = format!(
                "{HOLDS} AND min((e).unit) = '{unit}' AND bool_and(abs((e).count - {rows}) < 100) \
                     AND max((e).population_upper[i] - (e).population_lower[i]) BETWEEN 0.09 AND 0.13 {from}"
            );
            assert!(value::<bool>(&mut client, &sql), "{mechanism}");
        }
    }
}

/// The noise of a band of many points is simulated for seconds, in which no row is read.
#[test]
fn a_long_simulation_can_be_cancelled() {
    let (_database, mut client) = prepared();
    let sql = "SELECT (dp_cdf_estimate(x, 0, 10, 100000, 1)).count FROM t";
    let start = Instant::now();
    assert!(value::<f64>(&mut client, sql) > 0.0);
    let whole = start.elapsed();
    run(&mut client, "SET statement_timeout = '100ms'");
    let start = Instant::now();
    let error = refused(&mut client, sql);
    let cancelled = start.elapsed();
    assert_eq!(error.code, "57014", "{error:?}");
    assert!(cancelled < whole / 3, "{cancelled:?} of {whole:?}");
    run(&mut client, "RESET statement_timeout");
    assert!(value::<f64>(&mut client, &sql.replace("100000", "10")) > 0.0);
}
