//! Counts of listed groups that a person may be in several of: one release, of all groups.

use dp_core::registry;
use dp_mean_tests::{rows, run, value};

use super::asking::Asking;
use super::table;

/// How many groups the table has, and a person is in all of them.
const MONTHS: usize = 12;

/// What numbers are off by at most where epsilon is 50: the noise of rounding a number has a standard deviation of 0.5.
const SLACK: i64 = 6;

/// People.
const PEOPLE: usize = 500;

/// Each person has two rows in each month, and others of no month; with a budget that pays Gaussian noise, and one that
/// pays pure noise. `policy` has further arguments of `dp_protect`.
fn world(policy: &str) -> Asking {
    let mut made =
        "SELECT dp_set_budget('gaussian', 3, 1e-6), dp_set_budget('pure', 3, 0);".to_owned();
    for budget in ["gaussian", "pure"] {
        made += &format!(
            "CREATE TABLE {budget} (id int NOT NULL, month int NOT NULL, k int, x float8 NOT NULL);
             INSERT INTO {budget} SELECT g, m, m % 3, g % 100
                 FROM generate_series(1, {PEOPLE}) g, generate_series(1, 20) m, generate_series(1, 2);
             SELECT dp_protect('{budget}', 'id', '{budget}', query_eps => 50 {policy}),
                 dp_declare('{budget}', 'month', ARRAY(SELECT generate_series(1, {MONTHS})::text)),
                 dp_declare('{budget}', 'k', '{{2,0,0002}}'), dp_declare('{budget}', 'x', 0, 100),
                 dp_allow('{budget}', '{{analyst}}');"
        );
    }
    let mut world = Asking::new(&made, 5);
    run(&mut world.analyst, "SET dp_mean.epsilon = 0.1");
    world
}

/// By which mechanisms, at which price.
fn assert_is(world: &mut Asking, sql: &str, mechanisms: &str, price: f64) {
    let found = world.mechanisms(sql);
    assert!(found.starts_with(mechanisms), "{sql}: {found}");
    let found = world.price(sql);
    assert!((found - price).abs() < 1e-6, "{sql}: {found}");
}

#[test]
fn counts_of_listed_groups_are_one_release() {
    let mut world = world(", groups => 12, rows => 2");
    for (budget, name) in [("gaussian", "correlated"), ("pure", "knorm")] {
        let one = format!("dp_sums: {name}(d=12, groups=1");
        for sql in [
            "SELECT month, count(*) FROM {t} GROUP BY month",
            "SELECT month, count(x) FROM {t} WHERE x > 3 GROUP BY month",
            "SELECT month, count(DISTINCT id) FROM {t} GROUP BY 1",
            "SELECT month, count(*) FILTER (WHERE x > 3) FROM {t} GROUP BY month",
        ] {
            assert_is(&mut world, &sql.replace("{t}", budget), &one, 0.1);
        }
        // Two keys, a list that the query says itself, and one with NULL.
        for (sql, length) in [
            ("SELECT month, x > 3, count(*) FROM {t} GROUP BY 1, 2", 24),
            (
                "SELECT month, count(*) FROM {t} WHERE month IN (1, 5, 9, 20) GROUP BY month",
                12,
            ),
            ("SELECT k < 1, count(*) FROM {t} GROUP BY 1", 3),
        ] {
            let one = format!("dp_sums: {name}(d={length}, groups=1");
            assert_is(&mut world, &sql.replace("{t}", budget), &one, 0.1);
        }
        // Two counts cost what two cost without groups.
        let times = registry::of_many(2.0, budget == "gaussian");
        let sql = "SELECT month, count(*), count(*) FILTER (WHERE x > 3) FROM {t} GROUP BY month";
        let two = format!("dp_sums: {name}(d=24, groups=1");
        assert_is(&mut world, &sql.replace("{t}", budget), &two, 0.1 * times);
    }
    // Others are drawn in each group, for as many as there are.
    for (sql, mechanisms) in [
        (
            "SELECT month, avg(x) FROM gaussian GROUP BY month",
            "dp_mean: gaussian(groups=12",
        ),
        (
            "SELECT x > 3, avg(x) FROM gaussian GROUP BY 1",
            "dp_mean: gaussian(groups=2",
        ),
        (
            "SELECT month, x > 3, k < 1, count(*) FROM gaussian GROUP BY 1, 2, 3",
            "dp_count: gaussian(groups=12",
        ),
    ] {
        assert_is(&mut world, sql, mechanisms, 0.1);
    }
}

/// What plain SQL says of listed groups, with little noise: people who are in more groups than the policy says, too.
#[test]
fn each_group_has_its_number() {
    let mut world = world(", groups => 5, rows => 2");
    run(&mut world.root, "SELECT dp_set_budget('pure', 4000, 0)");
    run(&mut world.analyst, "SET dp_mean.epsilon = 50");
    let months = |from: usize, count: i64| {
        let months = (from..=MONTHS).map(|month| (Some(month.to_string()), count));
        months.collect::<Vec<_>>()
    };
    let named = |name: &str| Some(name.to_owned());
    for (sql, expected) in [
        (
            "SELECT month, count(*) FROM pure GROUP BY month",
            months(1, 1000),
        ),
        (
            "SELECT month, count(DISTINCT id) FROM pure GROUP BY month",
            months(1, 500),
        ),
        (
            "SELECT month, count(*) FROM pure WHERE x >= 50 GROUP BY month",
            months(1, 500),
        ),
        // Of values that WHERE leaves out there is no group.
        (
            "SELECT month, count(*) FROM pure WHERE month > 10 GROUP BY month",
            months(11, 1000),
        ),
        // Nobody is there.
        (
            "SELECT month, count(*) FROM pure WHERE month > 10 AND x < 0 GROUP BY month",
            months(11, 0),
        ),
        // The list has a value twice, and rows have one that is not in it.
        (
            "SELECT k, count(*) FROM pure GROUP BY k",
            vec![(named("0"), 1000), (named("2"), 1000)],
        ),
        // Values that SQL and arrays write with marks, and NULL.
        (
            "SELECT CASE WHEN month = 3 THEN 'x''y' WHEN month = 4 THEN E'back\\\\sl\"ash' WHEN month < 8 THEN 'so' END, \
             count(*) FROM pure GROUP BY 1",
            vec![
                (named("back\\sl\"ash"), 1000),
                (named("so"), 1000),
                (named("x'y"), 1000),
                (None, 1000),
            ],
        ),
    ] {
        let sql = format!("SELECT k::text, c FROM ({sql}) s(k, c) ORDER BY s.k");
        let answer = rows(&mut world.analyst, &sql);
        let answer: Vec<(Option<String>, i64)> =
            answer.iter().map(|row| (row.get(0), row.get(1))).collect();
        let are_near = answer
            .iter()
            .zip(&expected)
            .all(|(one, other)| one.0 == other.0 && (one.1 - other.1).abs() <= SLACK);
        assert!(
            are_near && answer.len() == expected.len(),
            "{sql}: {answer:?}"
        );
    }
}

/// Two keys, two counts and grouping sets: each number is that of its own group.
#[test]
fn numbers_go_to_their_groups() {
    let mut world = world(", groups => 12, rows => 2");
    run(&mut world.root, "SELECT dp_set_budget('pure', 4000, 0)");
    run(&mut world.analyst, "SET dp_mean.epsilon = 50");
    for sql in [
        "SELECT x < 25, k, count(*), count(*) FILTER (WHERE x >= 10) FROM {t} WHERE k IN (0, 2) GROUP BY 1, 2",
        "SELECT k, count(*), count(*) FILTER (WHERE x < 30) FROM {t} WHERE k IN (0, 2) GROUP BY ROLLUP (k)",
        "SELECT x < 25, x > 70, x = 30, count(*) FROM {t} GROUP BY 1, 2, 3",
    ] {
        let answer = table(
            &mut world.analyst,
            &format!("{} ORDER BY 1, 2, 3", sql.replace("{t}", "pure")),
        );
        // A person counts for two rows in each group.
        let kept = "(SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY id, k) AS n FROM pure) s WHERE n <= 2)";
        let whole = "(SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY id) AS n FROM pure) s WHERE n <= 2)";
        let truth = match sql.contains("x = 30") {
            true => format!(
                "SELECT a, b, c, coalesce(n, 0) FROM unnest('{{f,t}}'::bool[]) a, unnest('{{f,t}}'::bool[]) b, \
                 unnest('{{f,t}}'::bool[]) c LEFT JOIN LATERAL (SELECT count(*) AS n FROM {whole} r \
                 WHERE (x < 25) = a AND (x > 70) = b AND (x = 30) = c) s ON true ORDER BY 1, 2, 3"
            ),
            false if sql.contains("ROLLUP") => format!(
                "SELECT k, count(*), count(*) FILTER (WHERE x < 30) FROM {kept} r WHERE k IN (0, 2) GROUP BY k \
                 UNION ALL SELECT NULL, count(*), count(*) FILTER (WHERE x < 30) FROM {whole} r ORDER BY 1, 2, 3"
            ),
            false => format!(
                "{} ORDER BY 1, 2, 3",
                sql.replace("{t}", &format!("{kept} r"))
            ),
        };
        let truth = table(&mut world.root, &truth);
        assert_eq!(answer.len(), truth.len(), "{sql}: {answer:?}");
        for (row, truth) in answer.iter().zip(&truth) {
            let are_near = row.iter().zip(truth).all(|(cell, truth)| {
                let numbers = [cell, truth].map(|cell| cell.as_ref()?.parse::<i64>().ok());
                match numbers {
                    [Some(one), Some(other)] => (one - other).abs() <= SLACK,
                    _ => cell == truth,
                }
            });
            assert!(are_near, "{sql}: {row:?}, {truth:?}");
        }
    }
}

/// Of as many groups as a person is kept in, where these are fewer than they have: those that are listed.
#[test]
fn people_are_kept_in_groups_that_are_shown() {
    let mut world = world(", groups => 1, rows => 1");
    run(&mut world.root, "SELECT dp_set_budget('pure', 4000, 0)");
    run(&mut world.analyst, "SET dp_mean.epsilon = 50");
    let sql = "SELECT sum(c)::int FROM (SELECT k, count(*) AS c FROM pure GROUP BY k) s";
    let counted: i32 = value(&mut world.analyst, sql);
    assert!(
        (i64::from(counted) - PEOPLE as i64).abs() <= SLACK,
        "{counted}"
    );
}

/// How much noise a group's count has, as it comes and as it is said before.
#[test]
fn noise_is_that_of_one_release() {
    const DRAWS: usize = 300;
    let mut world = world(", groups => 12, rows => 1");
    run(
        &mut world.root,
        "SELECT dp_set_budget('gaussian', 4000, 1e-6), dp_set_budget('pure', 4000, 0)",
    );
    run(&mut world.analyst, "SET dp_mean.epsilon = 0.001");
    // How much the mean square of the months varies, relative to its square. Of normal noise, by 2 / 12. Pure noise is
    // uniform in a cube of 12 sides with a radius of the law Gamma(13): by (15 * 16) / (13 * 14) * (1 + 0.8 / 12) - 1.
    for (budget, is_gaussian, varies) in [("gaussian", true, 2.0 / 12.0), ("pure", false, 0.407)] {
        // At 1e-6.
        let reach = 4.9 * f64::sqrt(varies / DRAWS as f64);
        let sql = format!("SELECT month, count(*) FROM {budget} GROUP BY month");
        let said: Vec<Option<f64>> = world.cost("noise", &sql);
        let said = said[0].expect("noise") / 1.959_964;
        let one: Vec<Option<f64>> = world.cost("noise", &format!("SELECT count(*) FROM {budget}"));
        let one = one[0].expect("noise") / 1.959_964;
        let times = registry::of_many(MONTHS as f64, is_gaussian);
        let expected = match is_gaussian {
            true => one * times.sqrt(),
            false => one * times,
        };
        // Half widths are rounded up, and intervals of pure noise are not those of normal noise.
        let slack = if is_gaussian { 0.01 } else { 0.1 };
        assert!(
            (said / expected - 1.0).abs() < slack,
            "{budget}: {said} of {expected}"
        );
        let draw = format!(
            "DO $$ BEGIN FOR i IN 1..{DRAWS} LOOP INSERT INTO drawn SELECT c - {PEOPLE} FROM \
             (SELECT month, count(*) AS c FROM {budget} GROUP BY month) s; END LOOP; END $$"
        );
        run(
            &mut world.analyst,
            &format!("CREATE TEMP TABLE drawn (off float8); {draw}"),
        );
        let variance: f64 = value(&mut world.analyst, "SELECT avg(off ^ 2) FROM drawn");
        run(&mut world.analyst, "DROP TABLE drawn");
        let ratio = variance / (said * said);
        let slack = reach + if is_gaussian { 0.02 } else { 0.2 };
        assert!(
            (ratio - 1.0).abs() < slack,
            "{budget}: {variance} of {}",
            said * said
        );
    }
}
