//! `dp_quantile_estimate`: its interval, what it costs; persons.

use dp_mean_tests::{Build, PARALLEL, refused, rows, run, session, value};

/// Values from 0 to 100, evenly, in 9000 rows and in partitions.
const TABLES: &str = "
    CREATE TABLE t AS SELECT i % 3 AS k, (i * 7919 % 9001) / 90.01 AS x FROM generate_series(1, 9000) i
        UNION ALL SELECT 0, NULL FROM generate_series(1, 50) UNION ALL SELECT 1, 'NaN';
    CREATE TABLE parts (k int, x float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2);
    INSERT INTO parts SELECT k, x FROM t;
    ANALYZE t; ANALYZE parts";

/// Of rows that lie evenly, from 0 to 100, the quantile is `100 q`. The reach is two standard deviations of the binomial number, and of
/// what is certain at eps 1 at most 80 rows more.
#[test]
fn intervals_hold_the_quantile_and_are_no_wider_than_they_need_be() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    run(&mut client, "SELECT dp_test_seed(31)");
    for (q, mechanism) in [
        (0.5, "em"),
        (0.1, "em(bins=4096)"),
        (0.9, "em(step=0.01)"),
        (0.5, "em(rho=0.125)"),
    ] {
        let eps = if mechanism.contains("rho") {
            "NULL"
        } else {
            "1"
        };
        let (mut held, mut width) = (0, 0.0);
        for _ in 0..40 {
            let sql = format!(
                "SELECT (dp_quantile_estimate(x, 0, 100, {q}, {eps}, '{mechanism}')).* FROM t"
            );
            let row = rows(&mut client, &sql).remove(0);
            let [middle, lower, upper] = [0, 1, 2].map(|i| row.get::<_, f64>(i));
            assert!(lower <= middle && middle <= upper, "{sql}");
            held += usize::from((lower..=upper).contains(&(100.0 * q)));
            width += (upper - lower) / 40.0;
        }
        let reach = 100.0 * (2.0 * (q * (1.0 - q) / 9000.0).sqrt() + 80.0 / 9000.0);
        assert!(held >= 36, "{q} {mechanism}: {held}");
        assert!(
            width > reach / 4.0 && width < 2.0 * reach,
            "{q} {mechanism}: {width} {reach}"
        );
    }
}

/// A call is one release, the star too; and of no rows there is an answer as wide as the bounds.
#[test]
fn the_row_says_what_it_cost() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for (arguments, expected) in [
        ("1", "1 0 em"),
        ("0.5, 'em( bins=4096 )'", "0.5 0 em(bins=4096)"),
        ("NULL, 'em(rho=0.25)', 0.5", "- - em(rho=0.25)"),
    ] {
        let sql = format!(
            "SELECT concat_ws(' ', coalesce(epsilon::text, '-'), coalesce(delta::text, '-'), mechanism) \
             FROM (SELECT (dp_quantile_estimate(x, -7, 100, 0.5, {arguments})).* FROM t) s WHERE mu IS NULL"
        );
        assert_eq!(value::<String>(&mut client, &sql), expected);
    }
    let rho: f64 = value(
        &mut client,
        "SELECT (dp_quantile_estimate(x, 0, 1, 0.5, 1)).rho FROM t",
    );
    assert!((rho - 109.0 / 256.0 / 8.0).abs() < 1e-9, "{rho}");
    let star = "SELECT bool_and(a.value = b.value AND a.lower <= a.value AND a.value <= a.upper) FROM \
        (SELECT (dp_quantile_estimate(x, 0, 100, 0.5, 0.1)).*, dp_quantile_estimate(x, 0, 100, 0.5, 0.1) AS all FROM t) a, \
        LATERAL (SELECT (a.all).value) b";
    assert!(value::<bool>(&mut client, star));
    let nothing = "SELECT (e).lower = -7 AND (e).upper = 100 AND (e).value BETWEEN -7 AND 100 \
        FROM (SELECT dp_quantile_estimate(x, -7, 100, 0.5, 0.1, 'em', 0.999999) AS e FROM t WHERE k = 9) s";
    assert!(value::<bool>(&mut client, nothing));
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
    for (k, arguments, expected) in [
        ("", "0.5, 20, 'em(step=1)'", "20 20 20"),
        ("", "0.9, 20, 'em(step=1)'", "80 80 80"),
        (", 30", "0.5, 50, 'em(step=1, rows=30)', 0.5", "80 80 80"),
    ] {
        for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
            run(&mut client, settings);
            let sql = format!(
                "SELECT concat_ws(' ', value, lower, upper) || unit FROM (SELECT (dp_quantile_estimate(c, 0, 100, \
                 {arguments})).* FROM (SELECT dp_contribution(x, 0, 100{k}) AS c FROM visits GROUP BY p) s) e"
            );
            let answer: String = value(&mut client, &sql);
            assert!(answer.starts_with(expected), "{sql}: {answer}");
            assert!(answer.contains("person"), "{sql}: {answer}");
        }
    }
    // Of nobody, and of other bounds than the contributions have.
    let of = |bounds: &str, keep: &str| {
        format!(
            "SELECT (dp_quantile_estimate(c, {bounds}, 0.5, 1)).lower FROM \
             (SELECT dp_contribution(x, 0, 100) AS c FROM visits WHERE {keep} GROUP BY p) s"
        )
    };
    assert_eq!(value::<f64>(&mut client, &of("0, 100", "false")), 0.0);
    for keep in ["true", "false"] {
        let refusal = refused(&mut client, &of("0, 99", keep));
        assert_eq!(refusal.code, "22023", "{refusal:?}");
    }
}
