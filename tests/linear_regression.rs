//! `dp_linear_regression` in a server: against least squares without noise, and the rows that it does not count.

use dp_mean_tests::{Build, refused, run, session, value};
use postgres::Client;

/// 2,000 rows: `y = 3 + 2 a - b`, but for what `c` has to do with nothing.
const ROWS: &str = "CREATE TABLE t AS SELECT g AS id, g % 10 AS a, g % 7 AS b, g % 3 AS c, \
     3 + 2 * (g % 10) - g % 7 AS y FROM generate_series(1, 2000) g";

const CALL: &str =
    "dp_linear_regression(y, ARRAY[a, b, c], -10, 30, '{0, 0, 0}', '{10, 8, 3}', 50)";

fn prepared() -> (dp_mean_tests::Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(&mut client, ROWS);
    run(&mut client, "SELECT dp_test_seed(7)");
    (database, client)
}

fn assert_close(found: &[f64], expected: &[f64], slack: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (one, other) in found.iter().zip(expected) {
        assert!((one - other).abs() <= slack, "{found:?} {expected:?}");
    }
}

fn count(client: &mut Client, call: &str, from: &str) -> f64 {
    value(client, &format!("SELECT ({call}).count FROM {from}"))
}

#[test]
fn a_plane_is_found() {
    let (_database, mut client) = prepared();
    let sql = |column: &str| format!("SELECT ({CALL}).{column} FROM t");
    let found: Vec<f64> = value(&mut client, &sql("coefficients"));
    assert_close(&found, &[3.0, 2.0, -1.0, 0.0], 0.2);
    let errors: Vec<f64> = value(&mut client, &sql("standard_errors"));
    assert!(
        errors.iter().all(|error| (1e-6..0.2).contains(error)),
        "{errors:?}"
    );
    let p: Vec<f64> = value(&mut client, &sql("p_values"));
    assert!(p[1] < 1e-6 && p[2] < 1e-6 && p[3] > 1e-4, "{p:?}");
    let r2: f64 = value(&mut client, &sql("r2"));
    assert!(r2 > 0.99, "{r2}");
    let means: Vec<f64> = value(&mut client, &sql("x_means"));
    assert_close(&means, &[4.5, 3.0, 1.0], 0.05);
    let spreads: Vec<f64> = value(&mut client, &sql("x_stddevs"));
    assert_close(&spreads, &[2.872, 2.0, 0.8165], 0.05);
    let of_y: f64 = value(&mut client, &sql("y_mean"));
    assert_close(&[of_y], &[9.0], 0.1);
    // All of one release, whose intervals hold the numbers that it answers.
    let held: bool = value(
        &mut client,
        &format!(
            "SELECT bool_and(l <= c AND c <= u AND pl <= l AND u <= pu) FROM (SELECT ({CALL}).* FROM t) r, \
             unnest(coefficients, lower, upper, population_lower, population_upper) AS i(c, l, u, pl, pu)"
        ),
    );
    assert!(held);
}

/// A row counts where it has all values; elements behind the last predictor are nothing.
#[test]
fn rows_without_all_values_are_ignored() {
    let (_database, mut client) = prepared();
    let of = |y: &str, x: &str| {
        format!("dp_linear_regression({y}, {x}, -10, 30, '{{0, 0}}', '{{10, 8}}', 50)")
    };
    for (y, x, expected) in [
        ("y", "ARRAY[a, b]", 2000.0),
        ("y", "ARRAY[a, b, NULL, 'NaN'::float8]", 2000.0),
        (
            "y",
            "CASE WHEN id <= 500 THEN ARRAY[a] ELSE ARRAY[a, b] END",
            1500.0,
        ),
        (
            "y",
            "CASE WHEN id <= 500 THEN NULL ELSE ARRAY[a, b]::float8[] END",
            1500.0,
        ),
        ("y", "ARRAY[CASE WHEN id > 500 THEN a END, b]", 1500.0),
        (
            "y",
            "ARRAY[a, CASE WHEN id <= 500 THEN 'NaN' ELSE b::float8 END]",
            1500.0,
        ),
        ("CASE WHEN id > 500 THEN y END", "ARRAY[a, b]", 1500.0),
        (
            "CASE WHEN id <= 500 THEN 'NaN' ELSE y::float8 END",
            "ARRAY[a, b]",
            1500.0,
        ),
        (
            "CASE WHEN id <= 500 THEN 'Infinity' ELSE y::float8 END",
            "ARRAY[a, b]",
            2000.0,
        ),
        ("y", "ARRAY[]::float8[]", 0.0),
        ("y", "ARRAY[ARRAY[a], ARRAY[b]]", 2000.0),
    ] {
        let found = count(&mut client, &of(y, x), "t");
        assert!((found - expected).abs() < 3.0, "{y} {x}: {found}");
    }
}

/// Arrays that are compressed, or stored elsewhere, are read as others are.
#[test]
fn stored_arrays_are_read() {
    let (_database, mut client) = prepared();
    run(
        &mut client,
        "CREATE TABLE long AS SELECT y, ARRAY[a, b]::float8[] || array_fill(0.25::float8, ARRAY[2000]) AS x FROM t; \
         CREATE TABLE far (y float8, x float8[]); ALTER TABLE far ALTER x SET STORAGE EXTERNAL; \
         INSERT INTO far SELECT * FROM long",
    );
    let call = "dp_linear_regression(y, x, -10, 30, '{0, 0}', '{10, 8}', 50)";
    for table in ["long", "far"] {
        let found: Vec<f64> = value(
            &mut client,
            &format!("SELECT ({call}).coefficients FROM {table}"),
        );
        assert_close(&found, &[3.0, 2.0, -1.0], 0.2);
    }
}

/// Bounds are the same for all rows, and say how many predictors there are.
#[test]
fn bounds_are_public() {
    let (_database, mut client) = prepared();
    for (bounds, argument) in [
        ("ARRAY[a, 0]::float8[], '{10, 8}'", "xlo"),
        ("'{0, 0}', ARRAY[10, b]::float8[]", "xhi"),
    ] {
        for from in ["t", "t WHERE false"] {
            let error = refused(
                &mut client,
                &format!(
                    "SELECT dp_linear_regression(y, ARRAY[a, b], -10, 30, {bounds}, 1) FROM {from}"
                ),
            );
            let named = format!("argument \"{argument}\"");
            assert!(error.message.contains(&named), "{error:?}");
            assert_eq!(error.code, "22023", "{error:?}");
        }
    }
    // Of a parameter, and of a query of its own.
    let sql = "SELECT (dp_linear_regression(y, ARRAY[a, b], -10, 30, $1, $2, 50)).count FROM t";
    let row = client.query_one(sql, &[&vec![0.0, 0.0], &vec![10.0, 8.0]]);
    let found: f64 = row.expect("an answer").get(0);
    assert!((found - 2000.0).abs() < 3.0, "{found}");
    let of_query = "dp_linear_regression(y, ARRAY[a, b], -10, 30, \
                    (SELECT array_agg(0::float8) FROM generate_series(1, 2)), '{10, 8}', 50)";
    let found = count(&mut client, of_query, "t");
    assert!((found - 2000.0).abs() < 3.0, "{found}");
}

#[test]
fn each_group_is_a_release() {
    let (_database, mut client) = prepared();
    let call = "dp_linear_regression(y, ARRAY[a, b], -10, 30, '{0, 0}', '{10, 8}', 50)";
    let found: Vec<f64> = value(
        &mut client,
        &format!(
            "SELECT array_agg(slope ORDER BY c) FROM (SELECT c, (({call}).coefficients)[2] AS slope FROM t GROUP BY c) s"
        ),
    );
    assert_close(&found, &[2.0; 3], 0.2);
}

/// Without rows there is noise, which says so.
#[test]
fn nobody_is_noise() {
    let (_database, mut client) = prepared();
    let call = CALL.replace(", 50)", ", 0.5)");
    let unknown: bool = value(
        &mut client,
        &format!(
            "SELECT '-Infinity' = ALL (({call}).lower) AND 'Infinity' = ALL (({call}).standard_errors) FROM t WHERE false"
        ),
    );
    assert!(unknown);
}
