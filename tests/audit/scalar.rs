//! An audit of the SQL functions: how private can they be at most, judged by their answers alone?
//!
//! On two tables that differ by one row no event may be more than `e^eps` times likelier for one
//! than for the other. The audit looks for the worst event in one half of the answers and bounds
//! its likelihood ratio by the other half. The bound may not exceed eps; and where the noise is
//! halved on purpose it must, else the audit is blind.
//!
//! It can see nearly all there is. With an empty table and a table of one row at a bound, the event
//! that the answer is a bound, or not above 0, is exactly `e^eps` times likelier for one of them.
//! For the hourglass, for instance, with a row at the upper bound: the answer is the lower bound
//! where `x <= 0` and `k >= 1`, with the row where `x <= -G` and `k >= 0`, and shifting by
//! `(G, 1)` maps the second onto the first and lowers the level of every point by one. The means
//! of the baselines tell less. With `a = eps / 2`, a row at the lower bound puts them there with
//! probability `(1 - e^-a) / 2 + e^-eps / 8`, that row and one at the upper bound with
//! probability `e^-eps (a / 2 + 1/8)`.

use std::collections::HashMap;

use dp_mean_tests::auditing::bound;
use dp_mean_tests::releases::Releases;

/// Releases for each table, half of them to find an event, half to bound its likelihood ratio.
const RELEASES: usize = 40_000;

/// Each aggregate, with its mechanisms, and the columns if it returns a row.
const CALLS: [(&str, &[&str]); 18] = [
    ("dp_mean(x, 0, 1, {eps})", &[]),
    ("dp_mean(x, 0, 1, {eps}, 'hourglass(gamma=0.9)')", &[]),
    ("dp_mean(x, 0, 1, {eps}, 'laplace')", &[]),
    ("dp_mean(x, 0, 1, {eps}, 'staircase')", &[]),
    ("dp_mean(x, 0, 1, {eps}, 'shifted')", &[]),
    ("dp_mean(2 * x - 1, -1, 1, {eps}, 'independent')", &[]),
    ("dp_mean_and_count(x, 0, 1, {eps})", &["mean", "count"]),
    (
        "dp_mean_and_count(3 * x - 2, -2, 1, {eps}, 'laplace')",
        &["mean", "count"],
    ),
    (
        "dp_mean_and_count(x, 0, 1, {eps}, 'staircase')",
        &["mean", "count"],
    ),
    (
        "dp_mean_and_count(x, 0, 1, {eps}, 'shifted')",
        &["mean", "count"],
    ),
    (
        "dp_mean_and_count(x, 0, 1, {eps}, 'independent')",
        &["mean", "count"],
    ),
    ("dp_sum(3 * x - 2, -2, 1, {eps})", &[]),
    ("dp_sum(x, 0, 1, {eps}, 'laplace')", &[]),
    ("dp_count({eps})", &[]),
    ("dp_count(x, {eps}, 'geometric')", &[]),
    ("dp_mean_estimate(x, 0, 1, {eps})", &["value", "upper"]),
    (
        "dp_sum_estimate(3 * x - 2, -2, 1, {eps})",
        &["value", "lower"],
    ),
    ("dp_count_estimate({eps})", &["value", "upper"]),
];

/// Tables: no rows, or some, in the middle, at the bounds and beyond; and the pairs of them that
/// differ by one row.
const TABLES: [(&str, &[f64]); 8] = [
    ("nothing", &[]),
    ("low", &[0.0]),
    ("high", &[1.0]),
    ("middle", &[0.5]),
    ("beyond", &[1e6]),
    ("ends", &[0.0, 1.0]),
    ("three", &[0.0, 0.5, 1.0]),
    ("three_high", &[0.0, 0.5, 1.0, 1.0]),
];
const NEIGHBOURS: [(&str, &str); 6] = [
    ("nothing", "low"),
    ("nothing", "high"),
    ("nothing", "middle"),
    ("nothing", "beyond"),
    ("low", "ends"),
    ("three", "three_high"),
];

/// A session with the tables.
fn session(seed: i64) -> Releases {
    let mut releases = Releases::seeded(seed);
    for (table, rows) in TABLES {
        let create = format!("CREATE TABLE {table} (x float8)");
        releases.client().batch_execute(&create).expect("a table");
        let insert = format!("INSERT INTO {table} SELECT unnest($1::float8[])");
        releases.client().execute(&insert, &[&rows]).expect("rows");
    }
    releases
}

/// The largest bound over neighbours among `tables`.
fn audit(releases: &mut Releases, call: &str, columns: &[&str], tables: &[&str]) -> f64 {
    let answers: HashMap<_, _> = tables
        .iter()
        .map(|table| (*table, releases.draw(call, columns, table, RELEASES)))
        .collect();
    let pairs = NEIGHBOURS.iter().filter_map(|(one, other)| {
        Some([answers.get(one)?.as_slice(), answers.get(other)?.as_slice()])
    });
    pairs
        .map(|pair| bound(pair, columns.len().max(1)))
        .fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn no_event_tells_more_than_epsilon() {
    let mut releases = session(21);
    let tables = TABLES.map(|(table, _)| table);
    for eps in [0.5, 1.0, 2.0] {
        for (call, columns) in CALLS {
            let call = call.replace("{eps}", &eps.to_string());
            let bound = audit(&mut releases, &call, columns, &tables);
            println!("{call}: epsilon is at least {bound:.3}");
            assert!(bound <= eps, "{call}: epsilon is at least {bound}");
        }
    }
}

#[test]
fn the_audit_notices_noise_that_is_too_small_by_half() {
    let mut releases = session(22);
    releases
        .client()
        .batch_execute("SELECT dp_test_budget_factor(2)")
        .expect("half the noise");
    for eps in [0.5, 1.0, 2.0] {
        for (call, columns) in CALLS {
            let call = call.replace("{eps}", &eps.to_string());
            let bound = audit(
                &mut releases,
                &call,
                columns,
                &["nothing", "low", "high", "ends"],
            );
            println!("{call}, noise halved: epsilon is at least {bound:.3}");
            assert!(bound > eps, "{call}: the audit found no more than {bound}");
        }
    }
}
