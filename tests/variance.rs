//! `dp_var_pop`, `dp_stddev_pop` and `dp_var_pop_estimate` against PostgreSQL's own, in every plan, and
//! what they cost.

use std::collections::HashMap;

use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::sums::Moments;
use dp_mean_tests::auditing::bound;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{ALPHA, clopper_pearson, mu_of_event};
use dp_mean_tests::{Build, PARALLEL, explain, refused, rows, run, session, value};
use postgres::Client;

use crate::arguments::{PLACES, refused_alike, tables};

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
fn no_rows_are_answered_with_noise() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    let mut seeded = |from: &str, x: &str| {
        run(&mut client, "SELECT dp_test_seed(5)");
        let sql = format!(
            "SELECT array_agg(s.a::text) FROM generate_series(1, 30) i, \
             LATERAL (SELECT dp_var_pop_estimate({x}, -5, 80, 1) AS a FROM {from} AND i > 0) s"
        );
        value::<Vec<String>>(&mut client, &sql)
    };
    let empty = seeded("t WHERE false", "x");
    assert!(empty.iter().any(|answer| *answer != empty[0]), "{empty:?}");
    assert_eq!(seeded("t WHERE id < 200", "nothing"), empty);
    assert_eq!(seeded("t WHERE id < 200", "'NaN'::float8"), empty);
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
fn any_plan_and_any_order_give_the_same_integers() {
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
        for (setting, plan_has) in [
            ("SET max_parallel_workers_per_gather = 0", "Aggregate"),
            (PARALLEL, "Finalize"),
            ("SET enable_hashagg = off", "Finalize"),
            (
                "SET enable_partitionwise_aggregate = on; SET enable_hashagg = on",
                "Finalize",
            ),
        ] {
            run(&mut client, setting);
            for from in ["t", "parts", "(SELECT * FROM t ORDER BY x, id) s"] {
                let sql = format!("SELECT {call} FROM {from}");
                let plan = explain(&mut client, &sql);
                assert!(plan.contains(plan_has) || from.starts_with('('), "{plan}");
                let state: String = value(&mut client, &sql);
                assert_eq!(state, shown(&expected[&-1]), "{sql}");
                for row in rows(
                    &mut client,
                    &format!("SELECT k, {call} FROM {from} GROUP BY k"),
                ) {
                    let key: i32 = row.get(0);
                    assert_eq!(row.get::<_, String>(1), shown(&expected[&key]), "{sql}");
                }
            }
        }
        run(&mut client, "RESET ALL");
    }
}

#[test]
fn one_call_is_one_release() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for group in ["", " GROUP BY k"] {
        let sql = format!(
            "SELECT (dp_var_pop_estimate(x, -5, 80, 0.1)).*, dp_var_pop(x, -5, 80, 0.1), \
             dp_var_pop(x, -5, 80, 0.1), dp_stddev_pop(x, -5, 80, 0.1) FROM t{group}"
        );
        for row in rows(&mut client, &sql) {
            let number = |i| row.get::<_, f64>(i);
            // Its columns are of one draw.
            for i in 0..3 {
                let (square, root) = (number(i), number(i + 3));
                assert!((root.powi(2) - square).abs() <= 1e-12 * square, "{sql}");
            }
            assert!(number(1) <= number(0) && number(0) <= number(2), "{sql}");
            // Identical calls are one; other aggregates draw for themselves.
            assert_eq!(number(14), number(15));
            assert_ne!(number(0), number(14));
            assert_ne!(number(15).sqrt(), number(16));
        }
    }
    let refusal = refused(&mut client, "SELECT dp_var_pop(x, 0, 1, 1) OVER () FROM t");
    assert_eq!(refusal.code, "0A000", "{refusal:?}");
}

#[test]
fn prepared_statements_and_parameters_work() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    let sql = "SELECT dp_stddev_pop(x, $1, $2, $3, $4::text::dp_mechanism) FROM t WHERE k = $5";
    for mode in ["force_generic_plan", "force_custom_plan"] {
        run(&mut client, &format!("SET plan_cache_mode = {mode}"));
        let statement = client.prepare(sql).expect("a statement");
        for (key, hi) in [(0, 80.0), (9, 80.0), (1, 40.0)] {
            let truth = format!(
                "SELECT stddev_pop(least(greatest(x, 0), {hi})) FROM t WHERE k = {key} AND x <> 'NaN'"
            );
            let truth: Option<f64> = value(&mut client, &truth);
            let row = client.query_one(&statement, &[&0.0, &hi, &50.0, &"laplace", &key]);
            let found: f64 = row.expect("an answer").get(0);
            match truth {
                Some(truth) => near(&[found], &[truth], mode),
                None => assert!((0.0..=hi / 2.0).contains(&found)),
            }
        }
    }
}

#[test]
fn errors_are_the_same_with_and_without_rows() {
    let (_database, mut client) = tables();
    for aggregate in ["dp_var_pop", "dp_stddev_pop", "dp_var_pop_estimate"] {
        for (arguments, argument) in [
            ("x, 1, 0, 1", "hi"),
            ("x, NULL, 1, 1", "lo"),
            ("x, 0, 'infinity', 1", "hi"),
            ("x, -1e308, 1e308, 1", "hi"),
            ("x, 0, 1, 0", "eps"),
            ("x, 0, 1, NULL", "eps"),
            ("x, 0, a, 1", "hi"),
            ("x, 0, 1, random()", "eps"),
            ("x, 0, 1, 1, NULL", "mech"),
            ("x, 0, 1, 1, 'hourglass'", "mech"),
            ("x, 0, 1, 1, 'laplace(d=3)'", "mech"),
            ("x, 0, 1, 1, 'gaussian'", "mech"),
            ("x, 0, 1, 1, 'gaussian(mu=1)'", "eps"),
            ("x, 0, 1, 1, 'gaussian(delta=1)'", "mech"),
        ] {
            let call = format!("{aggregate}({arguments})");
            let refusal = refused_alike(&mut client, &call, &PLACES);
            assert_eq!(refusal.code, "22023", "{call}: {refusal:?}");
            let named = format!(": argument \"{argument}\" ");
            assert!(refusal.message.contains(&named), "{call}: {refusal:?}");
        }
    }
    let refusal = refused(
        &mut client,
        "SELECT dp_var_pop(x, 0, 1, 1, 'laplace(sample=maybe)') FROM none",
    );
    assert_eq!(refusal.code, "22023", "{refusal:?}");
}

/// Answers for each of the tables, of which some differ by one row.
fn releases(seed: i64, factor: f64, call: &str) -> Vec<Vec<f64>> {
    let mut releases = Releases::seeded(seed);
    let setting = format!("SELECT dp_test_budget_factor({factor})");
    releases.client().batch_execute(&setting).expect("a factor");
    let tables = [
        ("nothing", &[][..]),
        ("low", &[0.0]),
        ("middle", &[0.5]),
        ("high", &[1.0]),
    ];
    let draw = |(table, rows): (&str, &[f64])| {
        let create = format!("CREATE TABLE {table} (x float8)");
        releases.client().batch_execute(&create).expect("a table");
        let insert = format!("INSERT INTO {table} SELECT unnest($1::float8[])");
        releases.client().execute(&insert, &[&rows]).expect("rows");
        releases.draw(call, &["value", "mean", "count"], table, 40_000)
    };
    tables.map(draw).into()
}

#[test]
fn an_audit_sees_no_more_than_eps_and_noise_halved() {
    for (call, eps) in [
        ("dp_var_pop_estimate(x, 0, 1, 1)", 1.0),
        (
            "dp_var_pop_estimate(x, 0, 1, 2, 'laplace(sample=yes)')",
            2.0,
        ),
    ] {
        for (factor, seed) in [(1.0, 41), (2.0, 42)] {
            let answers = releases(seed, factor, call);
            let least = answers[1..]
                .iter()
                .map(|one| bound([&answers[0], one], 3))
                .fold(f64::NEG_INFINITY, f64::max);
            println!("{call}, budget times {factor}: epsilon is at least {least:.3}");
            assert_eq!(least > eps, factor > 1.0, "{call}, {factor}: {least}");
        }
    }
}

/// Of Gaussian noise. A row moves the noisy number of rows by 1, and its noise has a standard deviation
/// of `sqrt(3) / mu`, as it is that of three sums: what it tells alone is `mu / sqrt(3)`, so that the
/// bound sees noise halved.
#[test]
fn an_audit_of_gaussian_noise_sees_no_more_than_mu_and_noise_halved() {
    let mu = 2.0;
    for (factor, seed) in [(1.0, 43), (2.0, 44)] {
        let call = format!("dp_var_pop_estimate(x, 0, 1, NULL, 'gaussian(mu={mu})')");
        let answers = releases(seed, factor, &call);
        let chances = |table: &Vec<f64>| {
            let counts = table.iter().skip(2).step_by(3);
            let tries = table.len() as u64 / 3;
            let above = counts.filter(|count| **count > 0.5).count() as u64;
            clopper_pearson(above, tries, ALPHA / 2.0)
        };
        let (_, nobody) = chances(&answers[0]);
        let least = answers[1..]
            .iter()
            .map(|one| mu_of_event(chances(one).0, nobody))
            .fold(f64::NEG_INFINITY, f64::max);
        println!("{call}, budget times {factor}: mu is at least {least:.3}");
        assert_eq!(least > mu, factor > 1.0, "{factor}: {least}");
    }
}
