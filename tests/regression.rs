//! `dp_covar_pop`, `dp_corr`, `dp_regr_slope`, `dp_regr_intercept` and `dp_regr` against PostgreSQL's
//! own, and against the integers of the grid.

use std::collections::HashMap;

use dp_core::encoding::grid::Bounds;
use dp_core::encoding::pairs::{PairGrid, PairMoments};
use dp_mean_tests::{Build, PARALLEL, refused, rows, run, session, value};
use postgres::Client;

/// Two columns that have to do with each other, with all that a column can hold, in four groups.
const TABLES: &str = "
    CREATE TABLE t AS
        SELECT i AS id, i % 4 AS k, NULL::float8 AS nothing,
               CASE WHEN i % 50 = 0 THEN NULL WHEN i % 50 = 1 THEN 'NaN' WHEN i % 50 = 2 THEN 'infinity'
                    WHEN i % 50 = 3 THEN '-infinity' WHEN i % 50 = 4 THEN 1e300 ELSE x END::float8 AS x,
               CASE WHEN i % 47 = 0 THEN NULL WHEN i % 47 = 1 THEN 'NaN' WHEN i % 47 = 2 THEN 'infinity'
                    WHEN i % 47 = 3 THEN -1e9 ELSE 300 - 2 * x + ((i * 31) % 97) END::float8 AS y
        FROM generate_series(1, 40000) i, LATERAL (SELECT ((i * 7919) % 10007) ^ 2 / 1e6 AS x) v;
    CREATE TABLE parts (id int, k int, nothing float8, x float8, y float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2, 3);
    INSERT INTO parts SELECT * FROM t;
    ANALYZE t; ANALYZE parts";

/// What there is to estimate, of the rows with both values, clamped.
const TRUTH: &str = "SELECT regr_slope(c, d), regr_intercept(c, d), corr(c, d), regr_r2(c, d), covar_pop(c, d), \
     avg(c), avg(d), stddev_pop(c), stddev_pop(d), count(*)::float8 \
     FROM (SELECT least(greatest(y, 100), 400) AS c, least(greatest(x, -5), 80) AS d, k, id FROM t \
           WHERE x <> 'NaN' AND y <> 'NaN') r";

/// The columns of `dp_regr` in the order of the truth.
const COLUMNS: [&str; 10] = [
    "slope",
    "intercept",
    "correlation",
    "r2",
    "covariance",
    "y_mean",
    "x_mean",
    "y_stddev",
    "x_stddev",
    "count",
];

const AGGREGATES: [&str; 5] = [
    "dp_covar_pop",
    "dp_corr",
    "dp_regr_slope",
    "dp_regr_intercept",
    "dp_regr",
];

fn numbers(client: &mut Client, sql: &str) -> Vec<f64> {
    let row = client
        .query_one(sql, &[])
        .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    (0..row.len()).map(|i| row.get(i)).collect()
}

fn near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found / expected - 1.0).abs() < 5e-3,
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
        for budget in ["50", "50, 'laplace'", "NULL, 'gaussian(mu=300)'"] {
            let arguments = format!("(y, x, 100, 400, -5, 80, {budget})");
            let columns = COLUMNS.map(|column| format!("(dp_regr{arguments}).{column}"));
            near(&answers(&columns.join(", ")), &truth, &arguments);
            for (aggregate, truth) in [
                ("dp_regr_slope", truth[0]),
                ("dp_regr_intercept", truth[1]),
                ("dp_corr", truth[2]),
                ("dp_covar_pop", truth[4]),
            ] {
                let call = format!("{aggregate}{arguments}");
                near(&answers(&call), &[truth], &call);
            }
        }
    }
    // Rows on a line, rows that are all one, and bounds where the product is more than a float holds.
    for (call, least, most) in [
        ("dp_corr(id, -id, 0, 40000, -40000, 0, 50)", -1.0, -0.9999),
        (
            "dp_regr_slope(3 * id, id, 0, 120000, 0, 40000, 50)",
            2.999,
            3.001,
        ),
        (
            "dp_regr_intercept(3 * id + 7, id, 0, 120007, 0, 40000, 50)",
            0.0,
            15.0,
        ),
        ("dp_covar_pop(7, id % 2, 0, 10, 0, 1, 50)", -1e-3, 1e-3),
        (
            "dp_covar_pop(1e308 * (id % 2), id % 2 * 9, 0, 1e308, 0, 9, 50)",
            1e308,
            f64::INFINITY,
        ),
        (
            "dp_regr_slope(1e308 * (id % 2), id % 2 / 1e9, 0, 1e308, 0, 1e-9, 50)",
            1e308,
            f64::INFINITY,
        ),
    ] {
        let found = numbers(&mut client, &format!("SELECT {call} FROM t"))[0];
        assert!((least..=most).contains(&found), "{call}: {found}");
    }
}

#[test]
fn a_row_without_one_of_the_values_is_no_row() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    let mut seeded = |from: &str, y: &str, x: &str| {
        run(&mut client, "SELECT dp_test_seed(5)");
        let sql = format!(
            "SELECT array_agg(s.a::text) FROM generate_series(1, 30) i, \
             LATERAL (SELECT dp_regr({y}, {x}, 100, 400, -5, 80, 1) AS a FROM {from} AND i > 0) s"
        );
        value::<Vec<String>>(&mut client, &sql)
    };
    let empty = seeded("t WHERE false", "y", "x");
    assert!(empty.iter().any(|answer| *answer != empty[0]), "{empty:?}");
    for (y, x) in [
        ("nothing", "x"),
        ("y", "nothing"),
        ("nothing", "nothing"),
        ("'NaN'::float8", "x"),
        ("y", "'NaN'::float8"),
    ] {
        assert_eq!(seeded("t WHERE id < 200", y, x), empty, "{y} {x}");
    }
    let both = seeded("t WHERE x <> 'NaN' AND y <> 'NaN'", "y", "x");
    assert_eq!(seeded("t WHERE true", "y", "x"), both);
    // Where the noisy number of rows is not positive, it is two uniform columns without a line.
    let lost = rows(
        &mut client,
        "SELECT (s.a).* FROM generate_series(1, 30) i, \
         LATERAL (SELECT dp_regr(y, x, 100, 400, -5, 80, 1) AS a FROM t WHERE id < -i) s",
    );
    let of_none = |row: &&postgres::Row| row.get::<_, f64>("count") <= 0.0;
    assert!(lost.iter().any(|row| of_none(&row)));
    for row in lost.iter().filter(of_none) {
        let spread = 1.0 / 12f64.sqrt();
        let expected = [
            0.0,
            250.0,
            0.0,
            0.0,
            0.0,
            250.0,
            37.5,
            300.0 * spread,
            85.0 * spread,
        ];
        for (column, expected) in COLUMNS.iter().zip(expected) {
            assert!(
                (row.get::<_, f64>(*column) - expected).abs() < 1e-9,
                "{column}"
            );
        }
    }
}

#[test]
fn the_integers_are_those_of_the_grid() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    run(
        &mut client,
        "CREATE AGGREGATE pair_state(float8, float8, float8, float8, float8, float8, float8) \
         (SFUNC = dp_mean.dp_covar_pop_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_test_state, \
          COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE)",
    );
    for (ylo, yhi, xlo, xhi) in [
        (100.0, 400.0, -5.0, 80.0),
        (0.0, 1e300, -1e-300, 1e-300),
        (1e300, 1.7e308, 0.0, 1.0),
    ] {
        let bounds = |lo, hi| Bounds::new(Some(lo), Some(hi)).expect("good bounds");
        let grid = PairGrid::new(&bounds(ylo, yhi), &bounds(xlo, xhi));
        let mut expected: HashMap<i32, PairMoments> = HashMap::new();
        for row in rows(
            &mut client,
            "SELECT k, y, x FROM t WHERE x <> 'NaN' AND y <> 'NaN'",
        ) {
            for key in [row.get(0), -1] {
                let moments = expected.entry(key).or_default();
                moments.add(grid.steps([row.get(1), row.get(2)]));
            }
        }
        let shown = |moments: &PairMoments| {
            let PairMoments {
                n,
                y,
                x,
                yy,
                xy,
                xx,
            } = moments;
            format!("{n} {y} {x} {yy} {xy} {xx}")
        };
        let call = format!("pair_state(y, x, '{ylo}', '{yhi}', '{xlo}', '{xhi}', 1)");
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
fn the_columns_of_a_line_fit_each_other() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for group in ["", " GROUP BY k"] {
        let sql = format!(
            "SELECT (dp_regr(y, x, 100, 400, -5, 80, 1)).*, dp_corr(y, x, 100, 400, -5, 80, 1) FROM t{group}"
        );
        for row in rows(&mut client, &sql) {
            let number = |column: &str| row.get::<_, f64>(column);
            // Its columns are of one draw.
            let (slope, covariance) = (number("slope"), number("covariance"));
            let of_x = number("x_stddev").powi(2);
            assert!((slope * of_x / covariance - 1.0).abs() < 1e-9, "{row:?}");
            assert_eq!(number("r2"), number("correlation").powi(2));
            let at_mean = number("intercept") + slope * number("x_mean");
            assert!((at_mean / number("y_mean") - 1.0).abs() < 1e-9, "{row:?}");
            assert_eq!((number("epsilon"), number("delta")), (1.0, 0.0));
            assert_eq!(row.get::<_, &str>("mechanism"), "laplace");
            // Other aggregates draw for themselves.
            assert_ne!(number("dp_corr"), number("correlation"));
        }
    }
}

/// What a person contributes counts at the means of both columns, once for each of their rows up to `k`.
#[test]
fn contributions_count_at_their_means() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE visits AS SELECT p, i, 3 * (p % 10) + i % 3 - 1 AS y, p % 10 + (i % 3 - 1) / 2.0 AS x
         FROM generate_series(1, 4000) p, generate_series(0, CASE WHEN p % 10 < 5 THEN 2 ELSE 5 END) i;
         ANALYZE visits",
    );
    let made = |k: &str, filter: &str| {
        format!(
            "(SELECT dp_contribution(y, -5, 50{k}) {filter} AS b, dp_contribution(x, -5, 20{k}) AS a FROM \
             visits GROUP BY p) s"
        )
    };
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for (k, mechanism, weight) in [
            ("", "", "1"),
            (", 4", ", 'laplace(rows=4)'", "least(count(*), 4)"),
        ] {
            let truth = format!(
                "SELECT regr_slope(y, x), regr_intercept(y, x), corr(y, x), covar_pop(y, x), avg(x)::float8, \
                 count(*)::float8 \
                 FROM (SELECT avg(y) AS y, avg(x) AS x, {weight} AS n FROM visits GROUP BY p) s, generate_series(1, n)"
            );
            let truth = numbers(&mut client, &truth);
            let arguments = format!("(b, a, -5, 50, -5, 20, 50{mechanism})");
            let calls = format!(
                "dp_regr_slope{arguments}, dp_regr_intercept{arguments}, dp_corr{arguments}, dp_covar_pop{arguments}, \
                 (dp_regr{arguments}).x_mean, (dp_regr{arguments}).count"
            );
            let found = numbers(&mut client, &format!("SELECT {calls} FROM {}", made(k, "")));
            for (i, (found, truth)) in found.iter().zip(&truth).enumerate() {
                assert!(
                    (found - truth).abs() < 0.01 * truth.abs() + 0.05,
                    "{i}: {found} {truth}"
                );
            }
        }
    }
    // Who has none in one of the columns counts in neither.
    let from = made("", "FILTER (WHERE p > 1000)");
    let sql = format!("SELECT (dp_regr(b, a, -5, 50, -5, 20, 50)).count FROM {from}");
    let count: f64 = value(&mut client, &sql);
    assert!((count - 3000.0).abs() < 10.0, "{count}");
    for (arguments, message) in [
        (
            "-5, 51, -5, 20, 1",
            "\"yhi\" differs from that of dp_contribution",
        ),
        (
            "-5, 50, -4, 20, 1",
            "\"xlo\" differs from that of dp_contribution",
        ),
        ("-5, 50, -5, 20, 1, 'laplace(rows=3)'", "has rows=3"),
    ] {
        for aggregate in AGGREGATES {
            let sql = format!(
                "SELECT {aggregate}(b, a, {arguments}) FROM {}",
                made("", "")
            );
            let refusal = refused(&mut client, &sql);
            assert_eq!(refusal.code, "22023", "{sql}");
            assert!(refusal.message.contains(message), "{refusal:?}");
        }
    }
}
