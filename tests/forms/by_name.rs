//! Aggregates of ours that an analyst calls by name: vectors of counts and sums, distribution functions, bounds.

use dp_mean_tests::refused;

use super::asking::Asking;

/// A price at which noise is below one person.
const CLEAR: f64 = 30.0;

/// `one` has a row for each of 1,000 people, `many` three, but 3,000 for the first person.
fn world() -> Asking {
    Asking::new(
        "SELECT dp_set_budget('people', 4096, 0);
                 CREATE TABLE one (id int PRIMARY KEY, k int NOT NULL, x float8, y int);
                 INSERT INTO one SELECT g, g % 4, CASE WHEN g % 10 > 0 THEN g % 100 END, g % 8
                     FROM generate_series(1, 1000) g;
                 CREATE TABLE many (id int NOT NULL, k int NOT NULL, x float8, y int);
                 INSERT INTO many SELECT id, k, x, y FROM one, generate_series(1, 3);
                 INSERT INTO many SELECT 1, 1, 1, 1 FROM generate_series(1, 2997);
                 SELECT dp_protect('one', 'id', 'people'), dp_protect('many', 'id', 'people', rows => 3),
                     dp_declare('one', 'k', ARRAY(SELECT generate_series(0, 4)::text)),
                     dp_declare('many', 'k', ARRAY(SELECT generate_series(0, 4)::text)),
                     dp_allow('one', '{analyst}'), dp_allow('many', '{analyst}');",
        3,
    )
}

/// That a query answers these numbers, where `$eps` in it is a price at which there is hardly any noise.
fn assert_close(world: &mut Asking, sql: &str, expected: &[f64], slack: f64) {
    world.assert_close(&sql.replace("$eps", &CLEAR.to_string()), expected, slack);
}

#[test]
fn several_counts_and_sums_are_answered() {
    let mut world = world();
    let knorm = "$eps, 'knorm(d=2)'";
    assert_close(
        &mut world,
        &format!("SELECT dp_counts({knorm}, y > 3, x >= 50) FROM one"),
        &[500.0, 450.0],
        2.0,
    );
    assert_close(
        &mut world,
        &format!("SELECT dp_counts({knorm}, y > 3, x >= 50) FILTER (WHERE k = 1) FROM one"),
        &[125.0, 120.0],
        2.0,
    );
    assert_close(
        &mut world,
        &format!("SELECT (dp_counts_estimate({knorm}, y > 3, NULL::bool)).value FROM one"),
        &[500.0, 0.0],
        2.0,
    );
    // 900 numbers x, of mean 50: NULL counts as 0, at a bound here.
    assert_close(
        &mut world,
        &format!("SELECT dp_sums(ARRAY[x, y], 0, 100, {knorm}) FROM one"),
        &[45_000.0, 3_500.0],
        200.0,
    );
    assert_close(
        &mut world,
        &format!("SELECT (dp_sums_estimate(ARRAY[y, y + 1], 0, 10, {knorm})).value FROM one"),
        &[3_500.0, 4_500.0],
        20.0,
    );
    assert_close(
        &mut world,
        &format!("SELECT dp_means(ARRAY[x, y], 0, 100, {knorm}) FROM one WHERE x IS NOT NULL"),
        &[50.0, 3.5],
        0.3,
    );
}

/// A regression of rows that are people: 900 of them have a number x.
#[test]
fn a_regression_is_answered() {
    let mut world = world();
    let call = "dp_linear_regression(2 * x - 3 * y + 1, ARRAY[x, y], -50, 250, ARRAY[0, 0], ARRAY[100, 8], $eps)";
    let coefficients = "(SELECT ARRAY[c[1], c[2], c[3]] FROM (SELECT (r).coefficients AS c) s)";
    assert_close(
        &mut world,
        &format!("SELECT {coefficients} FROM (SELECT {call} AS r FROM one) s"),
        &[1.0, 2.0, -3.0],
        0.5,
    );
    let count = |rest: &str| format!("SELECT ARRAY[({call}).count] FROM one {rest}");
    assert_close(&mut world, &count(""), &[900.0], 3.0);
    assert_close(&mut world, &count("WHERE k = 2 GROUP BY k"), &[200.0], 3.0);
    // A listed group without anybody, and a filter that nobody passes.
    assert_close(&mut world, &count("WHERE k = 4 GROUP BY k"), &[0.0], 3.0);
    let filtered = call.replace("$eps)", "$eps) FILTER (WHERE y < 0)");
    let filtered = format!("SELECT ARRAY[({filtered}).count] FROM one");
    assert_close(&mut world, &filtered, &[0.0], 3.0);
    // Of a row for each person of the other table.
    let each = "FROM (SELECT id, avg(x) AS x, avg(y) AS y FROM many GROUP BY id) s";
    let of_each = format!("SELECT ARRAY[({call}).count] {each}");
    assert_close(&mut world, &of_each, &[900.0], 3.0);
    let price = world.price(&format!("SELECT ({call}).r2 FROM one").replace("$eps", "0.3"));
    assert!((price - 0.3).abs() < 1e-9, "{price}");
    let named = call.replace("$eps", "0.3, 'knorm', 0.9");
    let named = world.mechanisms(&format!("SELECT ({named}).r2 FROM one"));
    assert!(named.contains("knorm"), "{named}");
}

/// A listed group without rows has numbers, too: noise around 0.
#[test]
fn several_numbers_of_listed_groups() {
    let mut world = world();
    for (call, expected) in [
        ("dp_counts($eps, 'knorm(d=2)', y > 3, true)", [125.0, 250.0]),
        (
            "dp_sums(ARRAY[1, y], 0, 10, $eps, 'knorm(d=2)')",
            [250.0, 1_000.0],
        ),
    ] {
        let of_group = |k: u32| format!("SELECT {call} FROM one WHERE k = {k} GROUP BY k");
        assert_close(&mut world, &of_group(2), &expected, 20.0);
        assert_close(&mut world, &of_group(4), &[0.0, 0.0], 20.0);
        let filtered =
            format!("SELECT {call} FILTER (WHERE y < 0) FROM one WHERE k = 2 GROUP BY k");
        assert_close(&mut world, &filtered, &[0.0, 0.0], 20.0);
    }
}

/// However many rows they have, a person counts once in each of several counts.
#[test]
fn a_person_with_many_rows_counts_once() {
    let mut world = world();
    let call = "dp_counts($eps, 'knorm(d=3, rows=1)', y > 3, x = 1, true)";
    assert_close(
        &mut world,
        &format!("SELECT {call} FROM many"),
        &[500.0, 10.0, 1000.0],
        2.0,
    );
    assert_close(
        &mut world,
        &format!("SELECT {call} FILTER (WHERE id > 500) FROM many"),
        &[250.0, 5.0, 500.0],
        2.0,
    );
    assert_close(
        &mut world,
        &format!("SELECT {call} FROM many WHERE k = 1 GROUP BY k"),
        &[125.0, 10.0, 250.0],
        2.0,
    );
    let estimate = call.replace("dp_counts", "dp_counts_estimate");
    assert_close(
        &mut world,
        &format!("SELECT ({estimate}).value || ({estimate}).total FROM many"),
        &[500.0, 10.0, 1000.0, 1000.0],
        2.0,
    );
    assert_close(
        &mut world,
        "SELECT ARRAY[dp_count_distinct(id, $eps)::float8, (dp_count_distinct_estimate(id, $eps)).value::float8] FROM many",
        &[1000.0, 1000.0],
        2.0,
    );
    assert_close(
        &mut world,
        "SELECT ARRAY[count(DISTINCT id::text), count(DISTINCT id::bigint)]::float8[] FROM many",
        &[1000.0, 1000.0],
        250.0,
    );
}

#[test]
fn distributions_and_bounds_are_answered() {
    let mut world = world();
    assert_close(
        &mut world,
        "SELECT dp_cdf(y, 0, 8, 4, $eps) FROM one",
        &[0.25, 0.5, 0.75, 1.0],
        0.15,
    );
    // Of y from 0 to 7 with the weights y % 4: 52 / 12.
    let weighted = "SELECT ARRAY[(e).value, (e).lower, (e).upper] \
                    FROM (SELECT dp_weighted_mean_estimate(y, k, 0, 8, 0, 4, $eps) AS e FROM {table}) AS s";
    for table in ["one", "many"] {
        let sql = weighted.replace("{table}", table);
        assert_close(&mut world, &sql, &[13.0 / 3.0; 3], 0.1);
    }
    let plain = "SELECT ARRAY[dp_weighted_mean(y, k, 0, 8, 0, 4, $eps)] FROM one";
    assert_close(&mut world, plain, &[13.0 / 3.0], 0.1);
    let band = "SELECT array_cat((e).value, array_cat((e).lower, (e).upper)) \
                FROM (SELECT dp_cdf_estimate(y, 0, 8, 4, $eps) AS e FROM one) AS s";
    assert_close(&mut world, band, &[0.25, 0.5, 0.75, 1.0].repeat(3), 0.15);
    let quantile = "SELECT ARRAY[(e).value, (e).lower, (e).upper] \
                    FROM (SELECT dp_quantile_estimate(y, 0, 8, 0.5, $eps) AS e FROM {table}) AS s";
    for table in ["one", "many"] {
        assert_close(
            &mut world,
            &quantile.replace("{table}", table),
            &[3.5, 3.5, 3.5],
            1.0,
        );
    }
    assert_close(
        &mut world,
        "SELECT ARRAY[(c).below, (c).inside, (c).above]::float8[] \
         FROM (SELECT dp_clamped(y, 2, 5, $eps) AS c FROM one) AS s",
        &[250.0, 500.0, 250.0],
        2.0,
    );
    assert_close(
        &mut world,
        "SELECT ARRAY[(b).lower, (b).upper] FROM (SELECT dp_bounds(x, $eps) AS b FROM one) AS s",
        &[1.0, 128.0],
        0.0,
    );
    assert_close(
        &mut world,
        "SELECT ARRAY[dp_mean(x, NULL, NULL, $eps, 'auto'), dp_stddev_pop(x, NULL, NULL, $eps, 'auto')] FROM one",
        &[50.0, 28.9],
        6.0,
    );
    // Of people with many rows, as of what each of them is.
    assert_close(
        &mut world,
        "SELECT ARRAY[(c).below, (c).inside, (c).above]::float8[] FROM (SELECT dp_clamped(n, 2, 3, $eps) AS c \
         FROM (SELECT id, count(*) AS n FROM many GROUP BY id) AS p) AS s",
        &[0.0, 999.0, 1.0],
        2.0,
    );
}

#[test]
fn what_has_no_answer_says_what_to_ask_instead() {
    let mut world = world();
    for (sql, reason, hint) in [
        (
            "dp_counts(0.1, 'knorm(d=3)', y > 3, x = 1) FROM one",
            "dp_counts is given 2 values, but its mechanism says d=3",
            "d=2",
        ),
        (
            "dp_counts(0.1, 'knorm(d=1)', random() > 0.5) FROM one",
            "function random() is volatile",
            "",
        ),
        (
            "dp_counts(0.1, 'knorm(d=2)', y > 3, NULL) FROM one",
            "a question of dp_counts is not a boolean",
            "NULL to boolean",
        ),
        (
            "dp_counts(0.1, 'knorm(d=1)', y) FROM one",
            "a question of dp_counts is not a boolean",
            "age > 40",
        ),
        (
            "dp_counts(0.1, 'knorm(d=1)', y > 3) FROM many",
            "dp_counts counts people",
            "rows=1",
        ),
        (
            "dp_sums(ARRAY[x, y], 0, 10, 0.1, 'knorm(d=2)') FROM many",
            "dp_sums needs one row for each person",
            "sum(a), sum(b)",
        ),
        (
            "dp_sums('{1,2}', 0, 10, 0.1, 'knorm(d=2)') FROM one",
            "argument \"x\" of dp_sums is no list of numbers",
            "ARRAY[a, b, c]",
        ),
        (
            "dp_means(ARRAY[ARRAY[x], ARRAY[x]], 0, 10, 0.1, 'knorm(d=2)') FROM one",
            "argument \"x\" of dp_means is no list of numbers",
            "ARRAY[a, b, c]",
        ),
        (
            "dp_means(ARRAY[x, 1 / x], 10, 0, 0.1, 'knorm(d=2)') FROM one",
            "bounds of dp_means must be lo < hi, from -1e100 to 1e100",
            "lower bound first",
        ),
        (
            "dp_linear_regression(y, ARRAY[x, k], 0, 8, ARRAY[0, 0], ARRAY[1, 1], 0.1) FROM many",
            "dp_linear_regression needs one row for each person",
            "GROUP BY person",
        ),
        (
            "dp_linear_regression(y, ARRAY[x, k], 0, 8, ARRAY[0], ARRAY[1], 0.1) FROM one",
            "dp_linear_regression is given 2 predictors, but not as many bounds",
            "ARRAY[0, 18], ARRAY[200, 65]",
        ),
        (
            "dp_linear_regression(y, ARRAY[x], 0, 8, ARRAY[0], ARRAY[1e200], 0.1) FROM one",
            "bounds of dp_linear_regression must be from -1e100 to 1e100",
            "narrower",
        ),
        (
            "dp_linear_regression(y, ARRAY[x], 0, 8, ARRAY[x], ARRAY[1], 0.1) FROM one",
            "argument \"xlo\" of dp_linear_regression is not a constant",
            "Write a number",
        ),
        (
            "dp_linear_regression(y, '{1}', 0, 8, ARRAY[0], ARRAY[1], 0.1) FROM one",
            "argument \"x\" of dp_linear_regression is no list of numbers",
            "ARRAY[a, b, c]",
        ),
        (
            "dp_linear_regression(y, ARRAY[x], 8, 0, ARRAY[0], ARRAY[1], 0.1) FROM one",
            "bounds of dp_linear_regression must be ylo < yhi",
            "lower bound first",
        ),
        (
            "dp_linear_regression(y, ARRAY[x], 0, 8, ARRAY[1], ARRAY[0], 0.1) FROM one",
            "argument \"xhi\" must be greater than",
            "the smaller first",
        ),
        (
            "dp_clamped(x, 0, 1, 0.1) FROM many",
            "dp_clamped needs one row for each person",
            "GROUP BY person",
        ),
        (
            "dp_bounds(x, 0.1) FROM many",
            "dp_bounds needs one row for each person",
            "GROUP BY person",
        ),
        (
            "dp_mean(x, NULL, NULL, 0.1, 'auto') FROM many",
            "dp_mean finds bounds where there is one row for each person",
            "GROUP BY person",
        ),
        (
            "dp_mean(x, NULL, NULL, 0.1) FROM one",
            "argument \"lo\" of dp_mean is NULL",
            "'auto'",
        ),
        (
            "dp_mean(x, NULL, 1, 0.1, 'auto') FROM one",
            "argument \"lo\" of dp_mean is NULL",
            "'auto'",
        ),
        (
            "dp_sums(ARRAY[x], NULL, NULL, 0.1, 'auto') FROM one",
            "is not a mechanism of dp_sums",
            "",
        ),
        (
            "dp_count_distinct(id, NULL) FROM one",
            "must not be NULL",
            "",
        ),
        (
            "dp_mean(x, 0, 1, 0.1, NULL) FROM one",
            "argument \"mech\" of dp_mean is NULL",
            "dp_mechanisms()",
        ),
        (
            "dp_count_distinct(k, 0.1) FROM one",
            "dp_count_distinct of another column",
            "counts people",
        ),
        (
            "dp_count_distinct(id, 0.1, 'bitmap') FROM one",
            "dp_count_distinct has no choice of mechanisms here",
            "Leave the mechanism out",
        ),
    ] {
        let sql = format!("SELECT {sql}");
        let refusal = refused(&mut world.analyst, &sql);
        assert_eq!(refusal.code, "42501", "{sql}: {refusal:?}");
        assert!(refusal.message.contains(reason), "{sql}: {refusal:?}");
        assert!(refusal.hint.contains(hint), "{sql}: {refusal:?}");
    }
}

/// What they cost is their own epsilon, and how far off they are is said before.
#[test]
fn prices_and_noise_are_known_before() {
    let mut world = world();
    for (call, noise) in [
        // Half of the sum of two of three numbers in the shape of a cube is as far off as 3.8165 in 5% of releases, by
        // its closed form; then Laplace noise.
        (
            "dp_counts(0.5, 'knorm(d=2)', y > 3, x = 1)",
            Some(3.8165 / 0.5),
        ),
        (
            "dp_sums(ARRAY[y, x], 0, 10, 0.5, 'laplace(d=2)')",
            Some(10.0 * 2.0 / 0.5 * 20_f64.ln()),
        ),
        ("dp_cdf(y, 0, 8, 4, 0.5)", None),
        ("dp_cdf_estimate(y, 0, 8, 4, 0.5)", None),
        ("dp_clamped(y, 0, 8, 0.5)", None),
        ("dp_bounds(y, 0.5)", None),
    ] {
        let sql = format!("SELECT {call} FROM one");
        assert!(
            (world.cost::<f64>("epsilon", &sql) - 0.5).abs() < 1e-5,
            "{call}"
        );
        let said: Option<f64> = world.cost("noise[1]", &sql);
        match (said, noise) {
            (Some(said), Some(noise)) => {
                assert!((said / noise - 1.0).abs() < 1e-4, "{call}: {said} {noise}");
            }
            _ => assert_eq!(said, noise, "{call}"),
        }
    }
}
