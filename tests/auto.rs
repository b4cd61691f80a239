//! Means, sums and variances that find their bounds, through SQL: what it answers, what it shows beside the answer,
//! what it refuses, how private it is at most.

use dp_mean_tests::auditing::bound;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::{Build, rows, run, session, value};
use postgres::Client;

fn seeded(client: &mut Client, call: &str, from: &str) -> String {
    run(client, "SELECT dp_test_seed(5)");
    value(client, &format!("SELECT ({call})::text FROM {from}"))
}

/// The answer and what is in the text of the mechanism.
struct Found {
    value: f64,
    interval: [f64; 2],
    mechanism: String,
}

fn found(client: &mut Client, arguments: &str, from: &str) -> Found {
    estimated(client, &format!("dp_mean_estimate({arguments})"), from)
}

fn estimated(client: &mut Client, call: &str, from: &str) -> Found {
    let sql = format!("SELECT ({call}).* FROM {from}");
    let row = rows(client, &sql).remove(0);
    Found {
        value: row.get("value"),
        interval: [row.get("lower"), row.get("upper")],
        mechanism: row.get("mechanism"),
    }
}

impl Found {
    /// A number in the text.
    fn number(&self, key: &str) -> f64 {
        let (_, rest) = self.mechanism.split_once(&format!("{key}=")).expect(key);
        let end = rest.find([',', ')']).expect("an end");
        rest[..end].parse().expect("a number")
    }
}

const ROWS: &str =
    "generate_series(1, 20000) i, LATERAL (SELECT -60 * ln((i - 0.5) / 20000) AS x) r";

#[test]
fn it_finds_the_bounds_of_a_skewed_column_and_shows_them() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, "SELECT dp_test_seed(11)");
    for _ in 0..20 {
        let near = found(&mut client, "x, NULL, NULL, 1, 'auto'", ROWS);
        let [lo, hi] = ["lo", "hi"].map(|key| near.number(key));
        assert!(
            lo.abs() < hi && (128.0..=2048.0).contains(&hi),
            "{}",
            near.mechanism
        );
        assert!((near.number("nonzero") - 20_000.0).abs() < 1000.0);
        assert!(!near.mechanism.contains("few"), "{}", near.mechanism);
        assert!((near.value - 60.0).abs() < 3.0, "{}", near.value);
        let [lower, upper] = near.interval;
        assert!(lo <= lower && lower <= near.value && near.value <= upper && upper <= hi);
        let wider = found(&mut client, "x, NULL, NULL, 1, 'auto(beyond=20)'", ROWS);
        let [least, most] = wider.interval;
        // 20 rows as far out as the bounds are apart.
        assert!(most - least > 40.0 * 100.0 / 21_000.0, "{least} {most}");
        assert!(
            wider.mechanism.ends_with("beyond=20.0)"),
            "{}",
            wider.mechanism
        );
    }
    // Far from zero it takes limits.
    let far = "generate_series(1, 20000) i, LATERAL (SELECT 1e6 + i % 100 AS x) r";
    let with = found(&mut client, "x, 1e6, 2e6, 1, 'auto'", far);
    assert!((with.value - 1_000_049.5).abs() < 1.0, "{}", with.value);
    assert!(with.number("hi") <= 1_000_512.0, "{}", with.mechanism);
    let without = found(&mut client, "x, NULL, NULL, 1, 'auto'", far);
    assert!(
        without.number("hi") - without.number("lo") > 1e5,
        "{}",
        without.mechanism
    );
}

#[test]
fn a_sum_finds_its_bounds_and_shows_them() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, "SELECT dp_test_seed(13)");
    // Of one sign, and of both.
    let signed = "generate_series(1, 20000) i, LATERAL (SELECT CASE i % 4 WHEN 0 THEN 1 ELSE -1 END * (i % 100)::float8 AS x) r";
    let truth: f64 = value(&mut client, &format!("SELECT sum(x) FROM {signed}"));
    for _ in 0..20 {
        let call = |more: &str| format!("dp_sum_estimate(x, NULL, NULL, 1, 'auto{more}')");
        let near = estimated(&mut client, &call(""), ROWS);
        let [lo, hi] = ["lo", "hi"].map(|key| near.number(key));
        assert!(
            lo == -hi && (128.0..=2048.0).contains(&hi),
            "{}",
            near.mechanism
        );
        assert!((near.number("nonzero") - 20_000.0).abs() < 1000.0);
        assert!((near.value - 1.2e6).abs() < 6e4, "{}", near.value);
        let [lower, upper] = near.interval;
        assert!(lower < near.value && near.value < upper);
        let wider = estimated(&mut client, &call("(beyond=20)"), ROWS);
        let [least, most] = wider.interval;
        assert!(most - least > 40.0 * wider.number("hi"), "{least} {most}");
        let both = estimated(&mut client, &call(""), signed);
        assert!((both.value - truth).abs() < 1e4, "{}", both.value);
        // Between limits, the smaller of the two.
        let arguments = "x, 0, 300, 1, 'auto'";
        let with = estimated(&mut client, &format!("dp_sum_estimate({arguments})"), ROWS);
        let [lo, hi] = ["lo", "hi"].map(|key| with.number(key));
        assert!(lo == 0.0 && hi <= 300.0, "{}", with.mechanism);
        let plain: f64 = value(
            &mut client,
            &format!("SELECT dp_sum({arguments}) FROM {ROWS}"),
        );
        assert!((plain - 1.2e6).abs() < 6e4, "{plain}");
    }
    // Of nothing that was found, nothing is known; between limits the sign is.
    let nobody = "generate_series(1, 0) x";
    let (mut nowhere, mut few) = (0, 0);
    for _ in 0..20 {
        let found = estimated(
            &mut client,
            "dp_sum_estimate(x, NULL, NULL, 0.1, 'auto')",
            nobody,
        );
        few += u32::from(found.mechanism.contains(", few=yes"));
        if found.mechanism.contains("lo=0, hi=0") {
            assert_eq!(found.value.to_bits(), 0);
            assert_eq!(found.interval, [f64::NEG_INFINITY, f64::INFINITY]);
            nowhere += 1;
        }
        let found = estimated(&mut client, "dp_sum_estimate(x, 0, 9, 0.1, 'auto')", nobody);
        assert_eq!(found.interval[0], 0.0);
    }
    assert!(few >= 15 && nowhere >= 15, "{few} {nowhere}");
}

#[test]
fn a_variance_finds_its_bounds_and_shows_them() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, "SELECT dp_test_seed(14)");
    let truth: f64 = value(
        &mut client,
        &format!("SELECT var_pop(x::float8) FROM {ROWS}"),
    );
    for _ in 0..20 {
        let call = |more: &str| format!("dp_var_pop_estimate(x, NULL, NULL, 1, 'auto{more}')");
        let near = estimated(&mut client, &call(""), ROWS);
        let [lo, hi] = ["lo", "hi"].map(|key| near.number(key));
        assert!(
            lo.abs() < hi && (128.0..=2048.0).contains(&hi),
            "{}",
            near.mechanism
        );
        assert!((near.number("nonzero") - 20_000.0).abs() < 1000.0);
        assert!((near.value / truth - 1.0).abs() < 0.2, "{}", near.value);
        let [lower, upper] = near.interval;
        assert!(0.0 <= lower && lower <= near.value && near.value <= upper);
        let wider = estimated(&mut client, &call("(beyond=20)"), ROWS);
        let [least, most] = wider.interval;
        // 20 rows as far out as the bounds are apart, in the standard deviation.
        let width = wider.number("hi") - wider.number("lo");
        assert!(most.sqrt() - least.sqrt() > width * (20.0f64 / 21_000.0).sqrt());
        assert!(most >= truth, "{most}");
        // Between limits: the smaller of the two; and of all rows together the same.
        let arguments = "x, 0, 300, 1, 'auto(sample=yes)'";
        let with = estimated(
            &mut client,
            &format!("dp_var_pop_estimate({arguments})"),
            ROWS,
        );
        let [lo, hi] = ["lo", "hi"].map(|key| with.number(key));
        assert!(lo >= 0.0 && hi <= 300.0, "{}", with.mechanism);
        let call = format!("SELECT dp_stddev_pop({arguments}) FROM {ROWS}");
        let stddev: f64 = value(&mut client, &call);
        assert!((stddev / truth.sqrt() - 1.0).abs() < 0.1, "{stddev}");
        // Far from zero it takes limits.
        let far = "generate_series(1, 20000) i, LATERAL (SELECT 1e6 + i % 100 AS x) r";
        let call = format!("SELECT dp_stddev_pop(x, 1e6, 2e6, 1, 'auto') FROM {far}");
        let stddev: f64 = value(&mut client, &call);
        assert!((stddev - 28.9).abs() < 3.0, "{stddev}");
    }
}

#[test]
fn odd_values_of_a_variance_are_rows_or_nothing() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "SELECT dp_test_seed(15);
         CREATE TABLE odd AS SELECT x::float8 FROM generate_series(1, 300), (VALUES
             ('NaN'), (NULL), ('Infinity'), ('-Infinity'), ('5e-324'), ('-1e-310'), ('1.7976931348623157e308'), ('-0')) v(x)",
    );
    for (from, arguments) in [
        ("odd", "NULL, NULL"),
        ("odd", "-5, 1e300"),
        (
            "(SELECT * FROM odd WHERE x IS NULL OR x = 'NaN')",
            "NULL, NULL",
        ),
        ("(SELECT * FROM odd WHERE x IS NULL OR x = 'NaN')", "-5, 7"),
        ("(SELECT * FROM odd WHERE false)", "NULL, NULL"),
        ("(SELECT * FROM odd WHERE false)", "-5, 7"),
        ("(SELECT 77::float8 AS x FROM odd)", "NULL, NULL"),
        ("(SELECT 0::float8 AS x FROM odd)", "NULL, NULL"),
    ] {
        for _ in 0..20 {
            let call = format!("dp_var_pop_estimate(x, {arguments}, 1, 'auto')");
            let sql = format!("SELECT ({call}).* FROM {from} r");
            let row = rows(&mut client, &sql).remove(0);
            let columns = ["value", "stddev", "mean", "count", "lower", "stddev_lower"];
            for column in columns {
                assert!(row.get::<_, f64>(column).is_finite(), "{sql} {column}");
            }
            let [lower, value, upper] = ["lower", "value", "upper"].map(|c| row.get::<_, f64>(c));
            assert!(0.0 <= lower && lower <= value && value <= upper, "{sql}");
        }
    }
    // Both ends of the line, and nothing between: half of the way from one to the other.
    let all: f64 = value(
        &mut client,
        "SELECT dp_stddev_pop(x, NULL, NULL, 40, 'auto') FROM odd WHERE abs(x) = 'Infinity'",
    );
    assert!((all / 1.15e18 - 1.0).abs() < 0.1, "{all}");
}

#[test]
fn few_rows_are_said_to_be_few() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, "SELECT dp_test_seed(12)");
    for from in [
        "generate_series(1, 20) x",
        "generate_series(1, 0) x",
        "(SELECT 0 FROM generate_series(1, 9999)) r(x)",
    ] {
        let (mut few, mut nowhere) = (0, 0);
        for _ in 0..20 {
            let found = found(&mut client, "x, NULL, NULL, 0.1, 'auto'", from);
            few += u32::from(found.mechanism.contains(", few=yes"));
            if found.mechanism.contains("lo=0, hi=0") {
                // Of nothing that was found, nothing is known.
                assert_eq!(found.value, 0.0);
                assert_eq!(found.interval, [f64::NEG_INFINITY, f64::INFINITY]);
                nowhere += 1;
            }
        }
        assert!(few >= 15 && nowhere >= 15, "{from}: {few} {nowhere}");
    }
}

#[test]
fn rows_in_any_order_and_any_split_give_one_answer() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT CASE i % 11 WHEN 0 THEN 0 WHEN 1 THEN -i ELSE exp(i / 3000.0) END::float8 AS x,
                                  i % 7 AS g FROM generate_series(1, 60000) i;
         INSERT INTO t VALUES ('NaN', 1), (NULL, 2), ('Infinity', 3), ('-Infinity', 4), (5e-324, 5);
         ALTER TABLE t SET (parallel_workers = 3); ANALYZE t;
         SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
    );
    for arguments in ["x, NULL, NULL, 1, 'auto'", "x, -500, 1e9, 1, 'auto'"] {
        for aggregate in [
            "dp_mean",
            "dp_mean_and_count",
            "dp_mean_estimate",
            "dp_sum",
            "dp_sum_estimate",
            "dp_var_pop",
            "dp_stddev_pop",
            "dp_var_pop_estimate",
        ] {
            let call = format!("{aggregate}({arguments})");
            run(&mut client, "SET max_parallel_workers_per_gather = 3");
            let plan = rows(&mut client, &format!("EXPLAIN SELECT {call} FROM t"));
            assert!(
                plan.iter()
                    .any(|row| row.get::<_, &str>(0).contains("Gather"))
            );
            let parallel = seeded(&mut client, &call, "t");
            run(&mut client, "SET max_parallel_workers_per_gather = 0");
            for order in ["x", "x DESC", "g, x", "md5(x::text)"] {
                let from = format!("(SELECT x FROM t ORDER BY {order}) s");
                assert_eq!(
                    seeded(&mut client, &call, &from),
                    parallel,
                    "{call} {order}"
                );
            }
        }
    }
}

#[test]
fn bounds_are_two_or_none() {
    let (_database, mut client) = session(Build::Release);
    for (arguments, argument) in [
        ("x, NULL, 1, 1, 'auto'", "lo"),
        ("x, 0, NULL, 1, 'auto'", "hi"),
        ("x, 1, 0, 1, 'auto'", "hi"),
        ("x, 0, 1e-13, 1, 'auto'", "hi"),
        ("x, NULL, NULL, 1", "lo"),
        ("x, NULL, NULL, NULL, 'auto'", "eps"),
        ("x, NULL, NULL, 1, 'auto(beyond=-1)'", "mech"),
        ("x, NULL, NULL, 1, 'auto(beyond=1000001)'", "mech"),
    ] {
        for aggregate in [
            "dp_mean",
            "dp_mean_and_count",
            "dp_mean_estimate",
            "dp_sum",
            "dp_sum_estimate",
            "dp_var_pop",
            "dp_stddev_pop",
            "dp_var_pop_estimate",
        ] {
            for rows in [0, 3] {
                let sql =
                    format!("SELECT {aggregate}({arguments}) FROM generate_series(1, {rows}) x");
                let error = client.query(&sql, &[]).expect_err(&sql);
                let error = error.as_db_error().expect("an ERROR");
                assert_eq!(error.code().code(), "22023", "{sql}");
                let named = format!("argument \"{argument}\"");
                assert!(
                    error.message().contains(&named),
                    "{sql}: {}",
                    error.message()
                );
            }
        }
    }
}

/// Of 1,536 rows, so that a variance has 40/64 of eps or more: a row at the lower end.
#[test]
fn the_audit_of_a_variance_finds_no_more_than_epsilon_and_notices_half_the_noise() {
    for (factor, seed) in [(1, 63), (2, 64)] {
        let mut releases = Releases::seeded(seed);
        let setup = format!(
            "SELECT dp_test_budget_factor({factor});
             CREATE TABLE broad AS SELECT x FROM generate_series(1, 512), (VALUES (0::float8), (0.5), (0.99)) v(x);
             CREATE TABLE broad_low AS SELECT x FROM broad UNION ALL SELECT 0"
        );
        run(releases.client(), &setup);
        for eps in [0.5, 1.0, 2.0] {
            let call = format!("dp_var_pop_estimate(x, 0, 1, {eps}, 'auto')");
            // 2 B0 - B1 / 2 over 2 G^2.
            let answer = format!(
                "ARRAY[({call}).count * ((1 - ({call}).mean) ^ 2 + ({call}).value \
                 - (({call}).mean * (1 - ({call}).mean) - ({call}).value) / 2)]"
            );
            let draws = ["broad", "broad_low"]
                .map(|table| releases.draw_arrays(&answer, table, None, 20_000));
            let found = bound([&draws[0], &draws[1]], 1);
            println!("{eps}, noise / {factor}: epsilon is at least {found:.3}");
            assert_eq!(found > eps, factor == 2, "eps {eps}: {found}");
        }
    }
}

#[test]
fn the_audit_finds_no_more_than_epsilon_and_notices_half_the_noise() {
    for (factor, seed) in [(1, 61), (2, 62)] {
        let mut releases = Releases::seeded(seed);
        let setup = format!(
            "SELECT dp_test_budget_factor({factor}); CREATE TABLE nothing (x float8);
             CREATE TABLE one AS SELECT 1::float8 AS x; CREATE TABLE thirty AS SELECT 3::float8 AS x FROM generate_series(1, 30);
             CREATE TABLE one_more AS SELECT 3::float8 AS x FROM generate_series(1, 31)"
        );
        run(releases.client(), &setup);
        for eps in [1.0, 2.0] {
            let mut worst = [f64::NEG_INFINITY; 2];
            // Between limits, where 39/64 of eps are spent on what is asked of few rows; and where the octave is found now and then.
            for (limits, pair) in [
                ("0, 1", ["nothing", "one"]),
                ("NULL, NULL", ["thirty", "one_more"]),
            ] {
                let arguments = format!("x, {limits}, {eps}, 'auto'");
                let mean = format!("dp_mean_and_count({arguments})");
                for (answer, columns) in [
                    (format!("ARRAY[({mean}).mean, ({mean}).count]"), 2),
                    (format!("ARRAY[dp_sum({arguments})]"), 1),
                ] {
                    let draws =
                        pair.map(|table| releases.draw_arrays(&answer, table, None, 40_000));
                    let found = bound([&draws[0], &draws[1]], columns);
                    println!("{answer}, noise / {factor}: epsilon is at least {found:.3}");
                    let worst = &mut worst[columns - 1];
                    *worst = worst.max(found);
                }
            }
            for worst in worst {
                assert_eq!(worst > eps, factor == 2, "eps {eps}: {worst}");
            }
        }
    }
}
