//! Means, sums and variances that find their bounds, through SQL: what it answers, and shows beside the answer.

use dp_mean_tests::{Build, rows, run, session, value};
use postgres::Client;

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
fn a_mean_finds_the_bounds_of_a_skewed_column_and_shows_them() {
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
