//! How far off answers will be, as `dp_cost` says it, is how far off they are, where the rows lie as it says.

use super::asking::Asking;

/// People of a group, and groups.
const PEOPLE: i64 = 200;
const GROUPS: i64 = 800;

/// Each group has people who are spread evenly in all columns: in 20 places of `y` and 10 of `x`, which have nothing to do
/// with each other, and each at a place of their own of `z`.
fn made(budget: &str, price: f64) -> String {
    format!(
        "CREATE TABLE people (id int PRIMARY KEY, place int NOT NULL, y float8 NOT NULL, x float8 NOT NULL,
             z float8 NOT NULL);
         INSERT INTO people SELECT i, i / {PEOPLE}, 10 + (i % 20 + 0.5) * 4, 2 * (i % {PEOPLE} / 20 + 0.5),
             10 + (i % {PEOPLE} + 0.5) * 80 / {PEOPLE}
         FROM generate_series(0, {GROUPS} * {PEOPLE} - 1) i;
         SELECT dp_set_budget('all', {budget});
         SELECT dp_protect('people', 'id', 'all', query_eps => {price}),
             dp_declare('people', 'y', 10, 90), dp_declare('people', 'x', 0, 20),
             dp_declare('people', 'z', 10, 90);
         SELECT dp_allow('people', '{{analyst}}')"
    )
}

/// Which share of the answers is as near to the truth as it was said, at least.
fn covered(asking: &mut Asking, call: &str, position: usize, truth: f64, what: &str) -> f64 {
    let groups = format!("place BETWEEN 0 AND {}", GROUPS - 1);
    let sql = format!("SELECT place, {what} FROM people WHERE {groups} GROUP BY place");
    let said: f64 = asking.cost_for(&format!("noise[{position}]"), &sql, PEOPLE as f64);
    assert!(said > 0.0, "{call}: {said}");
    asking.numbers(&format!(
        "SELECT ARRAY[avg((abs(({call}) - {truth}) <= {said})::int)::float8] FROM ({sql}) AS s"
    ))[0]
}

/// In 95% of groups: how many are in is binomial, and so is what was said, of 1,000 simulated releases.
fn assert_covers(budget: &str, price: f64, seed: i64) {
    let slack = 4.0 * (0.05f64 * 0.95 * (1.0 / 1000.0 + 1.0 / GROUPS as f64)).sqrt();
    let mut asking = Asking::new(&made(budget, price), seed);
    let two =
        "regr_r2(y, x) AS r2, covar_pop(y, x) AS c, regr_slope(y, x) AS b, regr_avgy(y, x) AS my";
    for (call, position, truth, what) in [
        // Of places in the middle of a twentieth of the width: 80^2 / 12, less a 400th.
        ("v", 1, 532.0, "variance(y) AS v"),
        ("v", 1, 532f64.sqrt(), "stddev(y) AS v"),
        (
            "v",
            1,
            532.0,
            "(dp_var_pop_estimate(y, 10, 90, 0.1)).value AS v",
        ),
        ("v", 1, 0.0, "covar_pop(y, x) AS v"),
        ("v", 1, 0.0, "corr(y, x) AS v"),
        ("v", 1, 0.0, "regr_slope(y, x) AS v"),
        ("v", 1, 50.0, "regr_intercept(y, x) AS v"),
        ("r2", 1, 0.0, two),
        ("c", 2, 0.0, two),
        ("b", 3, 0.0, two),
        ("my", 4, 50.0, two),
        (
            "v",
            1,
            50.0,
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY z) AS v",
        ),
        (
            "v",
            1,
            82.0,
            "percentile_cont(0.9) WITHIN GROUP (ORDER BY z) AS v",
        ),
        ("v", 1, 50.0, "dp_median(z, 10, 90, 0.1) AS v"),
        (
            "v",
            1,
            30.0,
            "(dp_quantile_estimate(z, 10, 90, 0.25, 1)).value AS v",
        ),
    ] {
        let share = covered(&mut asking, call, position, truth, what);
        assert!(
            (share - 0.95).abs() < slack,
            "{call} of {what}: {share}, {slack}"
        );
    }
    // Of several, the widest.
    let several = "percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY z) AS v";
    let shares = [30.0, 50.0, 70.0]
        .iter()
        .zip(1..)
        .map(|(truth, i)| covered(&mut asking, &format!("v[{i}]"), 1, *truth, several));
    let least = shares.fold(1.0, f64::min);
    assert!((least - 0.95).abs() < slack, "{least}, {slack}");
}

#[test]
fn what_is_said_is_what_comes_with_gaussian_noise() {
    assert_covers("2000, 1e-6", 0.02, 3);
}

#[test]
fn what_is_said_is_what_comes_with_pure_noise() {
    assert_covers("4000, 0", 0.3, 4);
}

/// What one number cannot say is NULL; so is all that depends on how many people there are, if that is not said.
#[test]
fn what_cannot_be_said_is_null() {
    let mut asking = Asking::new(&made("2000, 1e-6", 0.02), 5);
    for call in [
        "dp_regr(y, x, 10, 90, 0, 20, 0.5)",
        "dp_linear_regression(y, ARRAY[x], 10, 90, ARRAY[0], ARRAY[20], 0.5)",
        "dp_var_pop(y, NULL, NULL, 0.5, 'auto')",
        "dp_quantile(y, 10, 90, 0.99, 0.5, 'rising')",
        "dp_cdf(y, 10, 90, 4, 0.5)",
    ] {
        let sql = format!("SELECT {call} FROM people");
        let said: Vec<Option<f64>> = asking.cost_for("noise", &sql, 1000.0);
        assert_eq!(said, [None], "{call}");
    }
    let sql = "SELECT corr(y, x), regr_slope(y, x), stddev(y) FROM people";
    let said: Vec<Option<f64>> = asking.cost("noise", sql);
    assert_eq!(said, [None; 3]);
    let said: Vec<Option<f64>> = asking.cost_for("noise", sql, 1000.0);
    assert!(
        said.len() == 3 && said.iter().all(Option::is_some),
        "{said:?}"
    );
}
