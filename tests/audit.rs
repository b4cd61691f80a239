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

use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{ALPHA, log_ratio_bound};

/// Releases for each table, half of them to find an event, half to bound its likelihood ratio.
const RELEASES: usize = 40_000;

/// Each aggregate, with its mechanisms, and the columns if it returns a row.
const CALLS: [(&str, &[&str]); 15] = [
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

/// Cuts the range of one number into cells: a cell for each value that comes often, such as a
/// bound, and the rest into equal parts.
struct Cells {
    often: Vec<f64>,
    cuts: Vec<f64>,
}

impl Cells {
    fn new(mut numbers: Vec<f64>, cells: usize) -> Self {
        numbers.sort_by(f64::total_cmp);
        let share = numbers.len().div_ceil(cells);
        let same = numbers
            .chunk_by(|a, b| a == b)
            .filter(|same| same.len() * 2 > share);
        let often = same.map(|same| same[0]).collect();
        let cuts = numbers.chunks(share).map(|chunk| chunk[0]).collect();
        Self { often, cuts }
    }

    fn of(&self, number: f64) -> (bool, usize) {
        match self.often.iter().position(|often| *often == number) {
            Some(cell) => (true, cell),
            None => (false, self.cuts.partition_point(|cut| *cut <= number)),
        }
    }
}

/// How many answers of each table fall into each cell of all columns.
pub type Counts = HashMap<Vec<(bool, usize)>, [u64; 2]>;

/// The answers of two tables, cut into cells by one half of them: the counts of that half, those of
/// the other, and how many answers of each table the other has.
pub fn counted(answers: [&[f64]; 2], columns: usize) -> ([Counts; 2], u64) {
    let halves = answers.map(|answers| answers.split_at(answers.len() / 2));
    let (training, test) = (halves.map(|halves| halves.0), halves.map(|halves| halves.1));
    let per_column = if columns == 1 { 64 } else { 20 };
    let cells: Vec<Cells> = (0..columns)
        .map(|column| {
            let numbers = training
                .iter()
                .flat_map(|part| part.iter().skip(column).step_by(columns));
            Cells::new(numbers.copied().collect(), per_column)
        })
        .collect();
    let cell = |answer: &[f64]| -> Vec<_> {
        cells
            .iter()
            .zip(answer)
            .map(|(cells, number)| cells.of(*number))
            .collect()
    };
    let count = |answers: [&[f64]; 2]| {
        let mut counts = Counts::new();
        for (side, answers) in answers.iter().enumerate() {
            for answer in answers.chunks_exact(columns) {
                counts.entry(cell(answer)).or_default()[side] += 1;
            }
        }
        counts
    };
    let tries = (test[0].len() / columns) as u64;
    ([training, test].map(count), tries)
}

/// A bound from below on the epsilon that tells the answers of one table from those of its
/// neighbour: the larger of both directions.
pub fn bound(answers: [&[f64]; 2], columns: usize) -> f64 {
    let ([trained, tested], tries) = counted(answers, columns);
    let mut best = f64::NEG_INFINITY;
    for [one, other] in [[0, 1], [1, 0]] {
        // The likeliest cells first, up to where the ratio is best told from chance.
        let mut order: Vec<_> = trained.iter().collect();
        let ratio = |counts: &[u64; 2]| (counts[one] as f64 + 0.5) / (counts[other] as f64 + 0.5);
        order.sort_by(|a, b| ratio(b.1).total_cmp(&ratio(a.1)).then(a.0.cmp(b.0)));
        let (mut event, mut hits, mut likeliest) = (0, [0.5, 0.5], f64::NEG_INFINITY);
        for (i, (_, counts)) in order.iter().enumerate() {
            hits[0] += counts[one] as f64;
            hits[1] += counts[other] as f64;
            let [p, q] = hits;
            let told = (p / q).ln() - 5.0 * (1.0 / p + 1.0 / q - 2.0 / tries as f64).sqrt();
            if told > likeliest {
                (event, likeliest) = (i + 1, told);
            }
        }
        let seen = |side: usize| {
            let counts = order[..event]
                .iter()
                .filter_map(|(cell, _)| tested.get(*cell));
            counts.map(|counts| counts[side]).sum()
        };
        best = best.max(log_ratio_bound(seen(one), seen(other), tries, ALPHA));
    }
    best
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
