//! What a value does: NULL and NaN are ignored, what lies outside the bounds is clamped, and no
//! value raises an error.

use dp_core::encoding::grid::{Bounds, Grid};
use dp_mean_tests::{Build, run, session, value};
use postgres::Client;

/// Every kind of `float8`, as SQL literals.
pub const SPECIALS: [&str; 16] = [
    "NULL",
    "'NaN'",
    "'Infinity'",
    "'-Infinity'",
    "0",
    "-0.0",
    "1",
    "-1",
    "0.3",
    "5e-324",
    "-5e-324",
    "2.2250738585072014e-308",
    "1e300",
    "-1e300",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
];

/// Bounds from the ordinary to the edge of `float8`.
pub const BOUNDS: [(f64, f64); 8] = [
    (0.0, 1.0),
    (-3.0, 7.0),
    (1e300, 1.7e308),
    (-8e307, 8e307),
    (1e6, 1e6 + 1.0),
    (-0.0, 1e-300),
    (0.0, 5e-324),
    (-1.7e308, -1e308),
];

fn specials(client: &mut Client) {
    let rows: Vec<String> = SPECIALS.iter().map(|x| format!("({x}::float8)")).collect();
    run(
        client,
        &format!(
            "CREATE TABLE specials AS SELECT * FROM (VALUES {}) v(x)",
            rows.join(", ")
        ),
    );
}

/// The integers before the noise: rows, and sum of grid steps.
fn state(
    client: &mut Client,
    aggregate: &str,
    x: &str,
    (lo, hi): (f64, f64),
    from: &str,
) -> (i64, i128) {
    // A sum and a mean by Algorithm 1 count from 0, the other means from lo.
    let mechanism = if aggregate.contains("sum") {
        "staircase"
    } else {
        "hourglass"
    };
    let sql =
        format!("SELECT {aggregate}({x}, '{lo:e}', '{hi:e}', 1.0, '{mechanism}') FROM {from}");
    let text: String = value(client, &sql);
    let (n, s) = text.split_once(' ').expect("two numbers");
    (n.parse().expect("n"), s.parse().expect("s"))
}

#[test]
fn null_and_nan_are_ignored_and_the_rest_is_clamped() {
    let (_database, mut client) = session(Build::Testing);
    specials(&mut client);
    let values: Vec<f64> = client
        .query(
            "SELECT x FROM specials WHERE x IS NOT NULL AND x <> 'NaN'",
            &[],
        )
        .expect("the values")
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(values.len(), SPECIALS.len() - 2);
    for (lo, hi) in BOUNDS {
        let bounds = Bounds::new(Some(lo), Some(hi)).expect("bounds");
        for (aggregate, grid) in [
            ("dp_test_mean_state", Grid::unit(&bounds)),
            ("dp_test_sum_state", Grid::signed(&bounds)),
        ] {
            let clamped = |x: f64| i128::from(grid.steps(x.clamp(lo, hi)));
            let expected = (
                values.len() as i64,
                values.iter().map(|&x| clamped(x)).sum(),
            );
            assert_eq!(
                state(&mut client, aggregate, "x", (lo, hi), "specials"),
                expected,
                "{lo} {hi}"
            );
            for (x, steps) in [
                ("'Infinity'", grid.steps(hi)),
                ("'-Infinity'", grid.steps(lo)),
            ] {
                let one = state(&mut client, aggregate, x, (lo, hi), "generate_series(1, 1)");
                assert_eq!(one, (1, i128::from(steps)), "{x} {lo} {hi}");
            }
        }
    }
}

#[test]
fn no_value_raises_an_error_and_every_answer_is_in_place() {
    let (_database, mut client) = session(Build::Release);
    specials(&mut client);
    for (lo, hi) in BOUNDS {
        for mechanism in [
            "hourglass",
            "laplace",
            "staircase",
            "shifted",
            "independent",
        ] {
            for eps in ["1e-6", "1", "50"] {
                let call = format!("(x, '{lo:e}', '{hi:e}', {eps}, '{mechanism}')");
                let mean: f64 = value(&mut client, &format!("SELECT dp_mean{call} FROM specials"));
                assert!((lo..=hi).contains(&mean), "{mean} {call}");
                let sql = format!("SELECT (dp_mean_and_count{call}).* FROM specials");
                let row = client.query_one(&sql, &[]).expect("a row");
                let (mean, count): (f64, f64) = (row.get(0), row.get(1));
                assert!(
                    (lo..=hi).contains(&mean) && count.is_finite(),
                    "{mean} {count} {call}"
                );
            }
        }
        for (mechanism, eps) in [
            ("staircase", "1"),
            ("laplace", "1"),
            ("gaussian(delta=1e-300)", "1"),
            ("gaussian(mu=1e-9)", "NULL"),
        ] {
            let call = format!("(x, '{lo:e}', '{hi:e}', {eps}, '{mechanism}')");
            let sum: f64 = value(&mut client, &format!("SELECT dp_sum{call} FROM specials"));
            assert!(!sum.is_nan(), "{call}");
        }
    }
    for budget in ["mu=1e-9", "rho=1e-18", "mu=1000", "rho=500000"] {
        for (lo, hi) in BOUNDS {
            let call = format!("(x, '{lo:e}', '{hi:e}', NULL, 'gaussian({budget})')");
            let sql = format!("SELECT (dp_mean_and_count{call}).* FROM specials");
            let row = client.query_one(&sql, &[]).expect("a row");
            let (mean, count): (f64, f64) = (row.get(0), row.get(1));
            assert!(
                (lo..=hi).contains(&mean) && count.is_finite(),
                "{mean} {count} {call}"
            );
        }
    }
    let count: i64 = value(&mut client, "SELECT dp_count(x, 50) FROM specials");
    assert_eq!(count, SPECIALS.len() as i64 - 1);
}

#[test]
fn no_value_in_an_array_raises_an_error() {
    let (_database, mut client) = session(Build::Release);
    specials(&mut client);
    run(
        &mut client,
        "CREATE TABLE arrays AS SELECT ARRAY[x, NULL, x] AS x FROM specials UNION ALL \
         VALUES (NULL), ('{}'), ('{NULL}'), ('[-3:-1]={NaN,1,-1}'), ('{{1,2},{3,NaN}}'), \
             (array_fill('-Infinity'::float8, ARRAY[1000]))",
    );
    for (lo, hi) in BOUNDS {
        for mechanism in ["correlated", "gaussian", "known_n", "laplace", "ellipse"] {
            let (parameters, eps) = match mechanism {
                "laplace" => ("d=3", "1"),
                "known_n" => ("mu=1, n=20, d=3", "NULL"),
                "ellipse" => ("delta=1e-300, k=1, d=3", "1"),
                _ => ("rho=1e-18, d=3", "NULL"),
            };
            if mechanism == "ellipse" && lo != 0.0 && hi != 0.0 {
                continue; // It takes bounds with 0 at an end alone.
            }
            let call = format!("(x, '{lo:e}', '{hi:e}', {eps}, '{mechanism}({parameters})')");
            let sql = format!("SELECT (dp_sums_estimate{call}).* FROM arrays");
            let row = client
                .query_one(&sql, &[])
                .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
            let sums: Vec<f64> = row.get(0);
            assert!(
                sums.len() == 3 && !sums.iter().any(|sum| sum.is_nan()),
                "{sums:?} {call}"
            );
            let numbers = (1..6).filter_map(|i| row.get::<_, Option<f64>>(i));
            assert!(
                numbers.into_iter().all(|number| !number.is_nan()),
                "{row:?} {call}"
            );
            if ["correlated", "known_n"].contains(&mechanism) {
                let sql = format!("SELECT dp_means{call} FROM arrays");
                let means: Vec<f64> = value(&mut client, &sql);
                assert!(
                    means.iter().all(|mean| (lo..=hi).contains(mean)),
                    "{means:?} {call}"
                );
            }
        }
    }
    // Answers that are NULL, missing or too many, in every form of an array.
    let sql = "SELECT dp_counts(50, 'laplace(d=3)', VARIADIC b) FROM (VALUES \
         ('{t,t,t}'::boolean[]), (NULL), ('{}'), ('{t}'), ('{NULL,t}'), ('{f,f,t,t,t}'), \
         ('[5:6]={t,f}'), ('{{t,f},{t,NULL}}'), (array_fill(true, ARRAY[100000]))) v(b)";
    assert_eq!(value::<Vec<f64>>(&mut client, sql), [5.0, 3.0, 4.0]);
}

#[test]
fn other_number_types_are_cast() {
    let (_database, mut client) = session(Build::Release);
    for kind in [
        "smallint",
        "integer",
        "bigint",
        "real",
        "numeric",
        "double precision",
    ] {
        let sql = format!("SELECT dp_mean(i::{kind}, 1, 1000, 50) FROM generate_series(1, 1000) i");
        let mean: f64 = value(&mut client, &sql);
        // Noise of scale 999 * e^(-50/3) / 1000, and the grid's 999 * 2^-33 a row.
        assert!((mean - 500.5).abs() < 1e-3, "{kind} {mean}");
    }
}

#[test]
fn counts_take_a_column_of_any_type() {
    let (_database, mut client) = session(Build::Release);
    // At eps 50 a count is off with chance 2e-22.
    for x in [
        "i",
        "i::text",
        "'*'",
        "now()",
        "ARRAY[i]",
        "ROW(i, i)",
        "point(i, i)",
        "i % 2 = 0",
        "'{}'::jsonb",
    ] {
        let sql = format!(
            "SELECT dp_count(CASE WHEN i <= 40 THEN {x} END, 50) FROM generate_series(1, 100) i"
        );
        assert_eq!(value::<i64>(&mut client, &sql), 40, "{x}");
    }
    let sql = "SELECT dp_count(50) FROM generate_series(1, 100)";
    assert_eq!(value::<i64>(&mut client, sql), 100);
    let sql = "SELECT dp_count('*', 50, 'geometric') FROM generate_series(1, 100)";
    assert_eq!(value::<i64>(&mut client, sql), 100);
    let sql = "SELECT dp_count(DISTINCT i % 7, 50) FROM generate_series(1, 100) i";
    assert_eq!(value::<i64>(&mut client, sql), 7);
    // A row type counts where the row itself is not NULL, as count() has it.
    let sql = "SELECT dp_count(t, 50) FROM (VALUES (1, NULL), (NULL, NULL)) t(a, b)";
    assert_eq!(value::<i64>(&mut client, sql), 2);
}
