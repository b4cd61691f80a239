//! An audit of the mechanisms with Gaussian noise, and of all that answer with vectors, through
//! SQL: how private can they be at most, judged by their answers alone?
//!
//! With Gaussian noise the answers of two tables are told apart best by one number: the answer,
//! with the total where there is one, projected on the inverse of the noise's covariance times the
//! difference of the two answers without noise. Each table's number is then normal, with one
//! variance, and the two means are `mu` apart at most, in standard deviations. The pairs of tables
//! that are called worst below are exactly so far apart, by the distributions of `vector_accuracy`.
//!
//! One half of the answers says which threshold tells best. The other half bounds how often each
//! table's number is above it, and hence `mu`, and the `delta` of an `epsilon`: neither bound may
//! exceed what the budget allows. Where the noise is halved on purpose both must, else the audit is
//! blind. `laplace` is pure, and is held to the bound of `audit`.

use dp_mean_tests::auditing::{bound, threshold_bound};
use dp_mean_tests::releases::Releases;
use dp_mean_tests::run;
use dp_mean_tests::statistics::{gaussian_delta, gaussian_mu, mu_of_event};

use crate::vector_accuracy::Relation::{AddRemove, Replace};
use crate::vector_accuracy::{Budget, Items, Law, Mechanism};

/// Releases for each table.
const RELEASES: usize = 10_000;

/// At which the `delta` of the answers is looked for.
const EPSILON: f64 = 1.0;

/// The budgets: `delta` that is seen in that many answers, and one that is not; and a `mu` so
/// large that the bound comes near it.
fn budgets() -> [Budget; 3] {
    let of_delta = |delta| Budget::of_delta(EPSILON, delta, gaussian_mu(EPSILON, delta));
    [of_delta(0.01), of_delta(1e-6), Budget::of_mu(2.0)]
}

/// How far all values of a row are between their bounds.
const YES: [f64; 4] = [1.0; 4];
const NO: [f64; 4] = [0.0; 4];
const MIXED: [f64; 4] = [1.0, 0.0, 0.0, 1.0];
const TWO: [f64; 4] = [1.0, 1.0, 0.0, 0.0];
const ONE: [f64; 4] = [0.0, 1.0, 0.0, 0.0];
const MIDDLE: [f64; 4] = [0.5; 4];

/// A row in its group.
type Row = (u32, Vec<f64>);

/// What both tables of a pair hold.
#[derive(Clone, Copy, Debug)]
enum Base {
    Nothing,
    /// Some rows of two groups.
    Few,
    /// That many that means near the upper bound are seldom cut off there.
    Many,
}

impl Base {
    fn rows(self, length: usize) -> Vec<Row> {
        let row = |group, part: f64| (group, vec![part; length]);
        match self {
            Self::Nothing => Vec::new(),
            Self::Few => vec![
                row(1, 0.0),
                row(1, 1.0),
                row(1, 1.0),
                row(2, 0.0),
                row(2, 1.0),
            ],
            Self::Many => (0..100)
                .map(|i| row(1, if i < 90 { 1.0 } else { 0.0 }))
                .collect(),
        }
    }
}

/// Two tables that differ by a row: the first has the one, the second the other.
#[derive(Clone, Debug)]
struct Pair {
    base: Base,
    rows: [Option<Row>; 2],
    /// Whether both groups are looked at, each for itself.
    grouped: bool,
}

/// A row more.
fn add(base: Base, row: &[f64]) -> Pair {
    Pair {
        base,
        rows: [None, Some((1, row.to_vec()))],
        grouped: false,
    }
}

/// A row less.
fn remove(base: Base, row: &[f64]) -> Pair {
    Pair {
        rows: [Some((1, row.to_vec())), None],
        ..add(base, row)
    }
}

/// Another row instead.
fn change(row: &[f64], other: &[f64]) -> Pair {
    Pair {
        base: Base::Few,
        rows: [Some((1, row.to_vec())), Some((1, other.to_vec()))],
        grouped: false,
    }
}

/// Another row of the other group instead.
fn move_out(row: &[f64], other: &[f64]) -> Pair {
    Pair {
        base: Base::Few,
        rows: [Some((1, row.to_vec())), Some((2, other.to_vec()))],
        grouped: true,
    }
}

impl Pair {
    /// Makes the two tables, and returns their names.
    fn fill(&self, releases: &mut Releases, items: &Items, name: &str) -> [String; 2] {
        [0, 1].map(|side| {
            let table = format!("{name}_{side}");
            let mut rows = self.base.rows(items.length);
            rows.extend(self.rows[side].clone());
            items.fill(releases, &table, &rows);
            table
        })
    }

    fn groups(&self) -> &[u32] {
        if self.grouped { &[1, 2] } else { &[1] }
    }

    /// By how much the answers differ without noise, for each group.
    fn differences(&self, items: &Items, mechanism: &Mechanism) -> Vec<Vec<f64>> {
        let [from, to] = &self.rows;
        let of_group = |group: &u32| {
            let mut difference = vec![0.0; items.length + 1];
            for (row, sign) in [(from, -1.0), (to, 1.0)] {
                let of_this = |(of, _): &&Row| !self.grouped || of == group;
                if let Some((_, row)) = row.as_ref().filter(of_this) {
                    let worth = worth(items, mechanism, row);
                    for (sum, number) in difference.iter_mut().zip(worth) {
                        *sum += sign * number;
                    }
                }
            }
            difference
        };
        self.groups().iter().map(of_group).collect()
    }
}

/// What a row adds to the values, and to the total, of an answer.
fn worth(items: &Items, mechanism: &Mechanism, row: &[f64]) -> Vec<f64> {
    let mut values = items.values(row, mechanism.most);
    if mechanism.distribution.total == Some(0.0) {
        // The total stays as given, and values are measured from where it puts them.
        for value in &mut values {
            *value -= items.middle();
        }
        values.push(0.0);
    } else {
        values.push(1.0);
    }
    values
}

/// The weights of the numbers of an answer that tell best where its means moved by `difference`,
/// of which the last is that of the total.
fn direction(distribution: &Law, difference: &[f64]) -> Vec<f64> {
    let (total, values) = difference.split_last().expect("a total");
    let own = distribution.own.second;
    match distribution.total {
        // The shared noise is seen in the sum of all.
        None => {
            let sum: f64 = values.iter().sum();
            let shared =
                sum * distribution.shared / (own + values.len() as f64 * distribution.shared);
            values.iter().map(|value| (value - shared) / own).collect()
        }
        // Without what comes from the total, values have noise of their own alone.
        Some(variance) => {
            let apart = values
                .iter()
                .map(|value| (value - distribution.middle * total) / own);
            let mut weights: Vec<_> = apart.collect();
            let with_values = distribution.middle * weights.iter().sum::<f64>();
            let alone = if variance > 0.0 {
                total / variance
            } else {
                0.0
            };
            weights.push(alone - with_values);
            weights
        }
    }
}

/// A call on two tables.
struct Subject {
    what: String,
    /// An expression that gives an array of numbers for each group.
    answer: String,
    tables: [String; 2],
    grouped: bool,
    /// Of the numbers of all groups in the statistic.
    weights: Vec<f64>,
}

impl Subject {
    /// The statistic of that many releases for each table.
    fn statistics(&self, releases: &mut Releases) -> [Vec<f64>; 2] {
        let group = self.grouped.then_some("g");
        [0, 1].map(|side| {
            let answers = releases.draw_arrays(&self.answer, &self.tables[side], group, RELEASES);
            assert_eq!(
                answers.len(),
                RELEASES * self.weights.len(),
                "{}",
                self.answer
            );
            let project =
                |answer: &[f64]| answer.iter().zip(&self.weights).map(|(a, b)| a * b).sum();
            answers
                .chunks_exact(self.weights.len())
                .map(project)
                .collect()
        })
    }

    /// Bounds from below on the mu and on the delta of the answers, as fractions of what `budget`
    /// allows.
    fn audit(&self, releases: &mut Releases, budget: &Budget) -> [f64; 2] {
        let statistics = self.statistics(releases);
        let delta = gaussian_delta(EPSILON, budget.mu);
        let mu_bound = threshold_bound([&statistics[0], &statistics[1]], mu_of_event);
        let delta_of_event = |chance, other| chance - EPSILON.exp() * other;
        let delta_bound = threshold_bound([&statistics[0], &statistics[1]], delta_of_event);
        let fractions = [mu_bound / budget.mu, delta_bound / delta];
        println!(
            "{}: mu is at least {mu_bound:.4}, {:.3} of {:.4}; delta at least {delta_bound:.4}, of \
             {delta:.4}",
            self.what, fractions[0], budget.mu
        );
        fractions
    }
}

/// A mechanism for a budget.
type Make = fn(&Items, &Budget) -> Mechanism;

/// Vectors: numbers, a mechanism, the worst pairs and others.
type Case = (Items, Make, Vec<Pair>, Vec<Pair>);

fn counts() -> Vec<Case> {
    let (four, many) = (Items::counts(4), Items::counts(16));
    let long = [MIXED, YES, NO, ONE].concat();
    let three = [ONE, TWO, NO, NO].concat();
    vec![
        (
            four,
            |items, budget| items.correlated(budget, None, AddRemove),
            vec![add(Base::Nothing, &YES), remove(Base::Few, &MIXED)],
            vec![],
        ),
        (
            many,
            |items, budget| items.correlated(budget, None, AddRemove),
            vec![add(Base::Few, &long)],
            vec![],
        ),
        (
            four,
            |items, budget| items.correlated(budget, Some(2.0), AddRemove),
            vec![add(Base::Few, &NO)],
            vec![],
        ),
        (
            four,
            |items, budget| items.correlated(budget, None, Replace),
            vec![change(&YES, &NO), move_out(&YES, &MIXED)],
            vec![change(&YES, &MIXED)],
        ),
        (
            four,
            |items, budget| items.correlated(budget, Some(1.0), Replace),
            vec![change(&MIXED, &MIXED.map(|part| 1.0 - part))],
            vec![move_out(&NO, &YES)],
        ),
        (
            four,
            |items, budget| items.correlated(budget, Some(4.0), Replace),
            vec![move_out(&ONE, &NO)],
            vec![change(&YES, &NO)],
        ),
        (
            four,
            |items, budget| items.gaussian(budget, AddRemove),
            vec![add(Base::Nothing, &YES)],
            vec![add(Base::Few, &MIXED)],
        ),
        (
            four,
            |items, budget| items.gaussian(budget, Replace),
            vec![move_out(&YES, &YES)],
            vec![change(&YES, &NO)],
        ),
        (
            four,
            |items, budget| items.known_n(budget, 3),
            vec![add(Base::Few, &YES), remove(Base::Nothing, &MIXED)],
            vec![],
        ),
        (
            four,
            |items, budget| items.ellipse(budget, 2),
            // Of the row of all the first two count.
            vec![add(Base::Nothing, &TWO), add(Base::Few, &YES)],
            vec![add(Base::Few, &ONE)],
        ),
        (
            many,
            |items, budget| items.ellipse(budget, 3),
            vec![add(Base::Few, &three)],
            vec![add(Base::Few, &[ONE, ONE, NO, NO].concat())],
        ),
        (
            four,
            // The values alone.
            |items, budget| {
                let mut mechanism = items.correlated(budget, None, AddRemove);
                mechanism.distribution.total = None;
                mechanism
            },
            vec![],
            vec![add(Base::Nothing, &YES)],
        ),
    ]
}

fn sums() -> Vec<Case> {
    let [signed, far, from_0, to_0] =
        [(-1.0, 3.0), (10.0, 20.0), (0.0, 5.0), (-3.0, 0.0)].map(|(lo, hi)| Items::sums(4, lo, hi));
    let even = Items::sums(4, -2.0, 2.0);
    vec![
        (
            signed,
            |items, budget| items.correlated(budget, None, AddRemove),
            vec![add(Base::Nothing, &MIXED), add(Base::Few, &YES)],
            vec![add(Base::Few, &MIDDLE)],
        ),
        (
            far,
            |items, budget| items.correlated(budget, None, AddRemove),
            vec![remove(Base::Few, &NO)],
            vec![],
        ),
        (
            signed,
            |items, budget| items.correlated(budget, None, Replace),
            vec![change(&YES, &NO), move_out(&YES, &MIXED)],
            vec![],
        ),
        (
            signed,
            |items, budget| items.gaussian(budget, AddRemove),
            vec![add(Base::Few, &YES)],
            vec![add(Base::Few, &NO)],
        ),
        (
            even,
            |items, budget| items.gaussian(budget, Replace),
            vec![change(&YES, &NO)],
            vec![move_out(&YES, &NO)],
        ),
        (
            from_0,
            |items, budget| items.gaussian(budget, Replace),
            vec![move_out(&YES, &YES)],
            vec![],
        ),
        (
            far,
            |items, budget| items.known_n(budget, 3),
            vec![add(Base::Nothing, &MIXED)],
            vec![add(Base::Few, &MIDDLE)],
        ),
        (
            from_0,
            |items, budget| items.ellipse(budget, 2),
            vec![add(Base::Few, &YES)],
            vec![add(Base::Few, &MIDDLE)],
        ),
        (
            to_0,
            |items, budget| items.ellipse(budget, 2),
            vec![add(Base::Nothing, &TWO)],
            vec![add(Base::Few, &YES)],
        ),
    ]
}

/// How much noise there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noise {
    AsPromised,
    /// Half of that: what tells nearly all must be noticed, and for a budget with a `delta` that
    /// is seen.
    Halved,
}

fn session(seed: i64, noise: Noise) -> Releases {
    let mut releases = Releases::seeded(seed);
    if noise == Noise::Halved {
        run(releases.client(), "SELECT dp_test_budget_factor(2)");
    }
    releases
}

/// Audits a pair for the first of the budgets, or for all. `subject` gives what to look at, and
/// whether it is telling: the tables are nearly `mu` apart.
fn audit(
    releases: &mut Releases,
    noise: Noise,
    all_budgets: bool,
    subject: impl Fn(&Budget) -> (Subject, bool),
) {
    let budgets = budgets();
    let budgets = if all_budgets && noise == Noise::AsPromised {
        &budgets[..]
    } else {
        &budgets[..1]
    };
    for budget in budgets {
        let (subject, telling) = subject(budget);
        let what = &subject.what;
        match noise {
            Noise::AsPromised => {
                let [mu, delta] = subject.audit(releases, budget);
                assert!(mu <= 1.0, "{what}: {mu} of mu");
                assert!(delta <= 1.0, "{what}: {delta} of delta");
            }
            Noise::Halved if telling => {
                let [mu, delta] = subject.audit(releases, budget);
                assert!(mu > 1.0, "{what}: the audit found {mu} of mu");
                assert!(delta > 1.0, "{what}: the audit found {delta} of delta");
            }
            Noise::Halved => (),
        }
    }
}

/// All pairs of `cases`, by all that is released.
fn audit_vectors(seed: i64, noise: Noise, cases: &[Case]) {
    let mut releases = session(seed, noise);
    for (i, (items, make, worst, others)) in cases.iter().enumerate() {
        // The first pair of a mechanism for all budgets.
        for (j, pair) in worst.iter().chain(others).enumerate() {
            let tables = pair.fill(&mut releases, items, &format!("case_{i}_{j}"));
            audit(&mut releases, noise, j == 0, |budget| {
                let mechanism = make(items, budget);
                let what = format!("{} of {items:?}, {pair:?}", mechanism.text);
                let (mut weights, mut square) = (Vec::new(), 0.0);
                for difference in pair.differences(items, &mechanism) {
                    let direction = direction(&mechanism.distribution, &difference);
                    let products = direction.iter().zip(&difference).map(|(a, b)| a * b);
                    square += products.sum::<f64>();
                    weights.extend(direction);
                }
                let apart = square.sqrt() / budget.mu;
                let is_worst = (apart - 1.0).abs() < 1e-9;
                assert_eq!(is_worst, j < worst.len(), "{what}: {apart} of mu apart");
                assert!(apart < 1.0 + 1e-9, "{what}: {apart} of mu apart");
                let answer = match mechanism.distribution.total {
                    Some(_) => items.whole_answer(&mechanism),
                    None => items.call("", &mechanism),
                };
                let subject = Subject {
                    what,
                    answer,
                    tables: tables.clone(),
                    grouped: pair.grouped,
                    weights,
                };
                (subject, apart > 0.9)
            });
        }
    }
}

/// A call whose answer is no vector, or not one with Gaussian noise.
struct Formula {
    call: &'static str,
    /// Numbers whose sum is the statistic.
    numbers: &'static str,
    /// Whether a row raises it or lowers it.
    sign: f64,
    items: Items,
    pair: Pair,
    /// Whether the tables are nearly `mu` apart.
    telling: bool,
}

/// Means near the upper bound and a row at the lower one tell nearly all: with `u` the mean scaled
/// to [-1, 1], the row moves each of `d` means by `(1 + u) / n`, and their noise has a part of its
/// own and a shared one, of variance `B / n^2` and `u^2 A / n^2` (as in `vector_accuracy`). With
/// `u = 0.8` the tables are 0.994 of `mu` apart for `d = 1`, 0.97 for `d = 4`.
fn formulas() -> Vec<Formula> {
    let formula = |call, numbers, sign, items, pair, telling| Formula {
        call,
        numbers,
        sign,
        items,
        pair,
        telling,
    };
    let (one, four) = (Items::sums(1, -2.0, 1.0), Items::sums(4, -1.0, 3.0));
    let (yes, no) = ([1.0], [0.0]);
    vec![
        formula(
            "dp_count(g, {eps}, 'gaussian({parameter})')",
            "ARRAY[{call}]::float8[]",
            1.0,
            one,
            add(Base::Nothing, &yes),
            true,
        ),
        formula(
            "dp_sum(x[1], -2, 1, {eps}, 'gaussian({parameter})')",
            "ARRAY[{call}]",
            -1.0,
            one,
            add(Base::Few, &no),
            true,
        ),
        formula(
            "dp_sum(x[1], -2, 1, {eps}, 'gaussian({parameter})')",
            "ARRAY[{call}]",
            1.0,
            one,
            add(Base::Nothing, &yes),
            false,
        ),
        formula(
            "dp_mean(x[1], -2, 1, {eps}, 'gaussian({parameter})')",
            "ARRAY[{call}]",
            -1.0,
            one,
            add(Base::Many, &no),
            true,
        ),
        formula(
            "dp_mean(x[1], -2, 1, {eps}, 'gaussian({parameter})')",
            "ARRAY[{call}]",
            1.0,
            one,
            add(Base::Nothing, &yes),
            false,
        ),
        // The number of rows less the sum, scaled to [0, 1].
        formula(
            "dp_mean_and_count(x[1], -2, 1, {eps}, 'gaussian({parameter})')",
            "ARRAY[({call}).count * (1 - ({call}).mean)]",
            1.0,
            one,
            add(Base::Many, &no),
            true,
        ),
        formula(
            "dp_means(x, -1, 3, {eps}, 'correlated({parameter}, d=4)')",
            "{call}",
            -1.0,
            four,
            add(Base::Many, &NO),
            true,
        ),
        formula(
            "dp_means(x, -1, 3, {eps}, 'correlated({parameter}, d=4)')",
            "{call}",
            1.0,
            four,
            add(Base::Nothing, &YES),
            false,
        ),
        formula(
            "dp_means(x, -1, 3, {eps}, 'known_n({parameter}, n=100, d=4)')",
            "{call}",
            -1.0,
            four,
            remove(Base::Many, &YES),
            true,
        ),
    ]
}

fn audit_formulas(seed: i64, noise: Noise) {
    let mut releases = session(seed, noise);
    for (i, formula) in formulas().iter().enumerate() {
        let Formula { items, pair, .. } = formula;
        let tables = pair.fill(&mut releases, items, &format!("formula_{i}"));
        audit(&mut releases, noise, formula.telling, |budget| {
            let call = formula.call.replace("{eps}", &budget.eps);
            let call = call.replace("{parameter}", &budget.parameter);
            let subject = Subject {
                what: format!("{call}, {pair:?}"),
                answer: formula.numbers.replace("{call}", &call),
                tables: tables.clone(),
                grouped: pair.grouped,
                weights: vec![formula.sign; items.length],
            };
            (subject, formula.telling)
        });
    }
}

#[test]
fn no_event_of_counts_tells_more_than_the_budget() {
    audit_vectors(41, Noise::AsPromised, &counts());
}

#[test]
fn no_event_of_sums_tells_more_than_the_budget() {
    audit_vectors(42, Noise::AsPromised, &sums());
}

#[test]
fn no_event_of_means_and_single_numbers_tells_more_than_the_budget() {
    audit_formulas(43, Noise::AsPromised);
}

#[test]
fn the_audit_notices_that_the_noise_of_counts_is_halved() {
    audit_vectors(44, Noise::Halved, &counts());
}

#[test]
fn the_audit_notices_that_the_noise_of_sums_is_halved() {
    audit_vectors(45, Noise::Halved, &sums());
}

#[test]
fn the_audit_notices_that_the_noise_of_means_and_single_numbers_is_halved() {
    audit_formulas(46, Noise::Halved);
}

/// The worst pairs of `laplace`: numbers all moved as far as they can be.
fn laplace_cases() -> Vec<(Items, Mechanism, Pair)> {
    let (yes, no) = ([1.0; 2], [0.0; 2]);
    let case = |items: Items, relation, pair| (items, items.laplace(EPSILON, relation), pair);
    vec![
        case(Items::counts(2), AddRemove, add(Base::Nothing, &yes)),
        case(Items::counts(1), Replace, move_out(&yes[..1], &yes[..1])),
        case(Items::sums(2, -1.0, 3.0), AddRemove, add(Base::Few, &yes)),
        case(Items::sums(2, -2.0, 2.0), Replace, change(&yes, &no)),
        case(
            Items::sums(1, 0.0, 5.0),
            Replace,
            move_out(&yes[..1], &yes[..1]),
        ),
    ]
}

/// A bound from below on the epsilon of each of them.
fn audit_laplace(seed: i64, noise: Noise) -> Vec<(String, f64)> {
    let mut releases = session(seed, noise);
    let cases = laplace_cases().into_iter().enumerate();
    let bound = |(i, (items, mechanism, pair)): (usize, (Items, Mechanism, Pair))| {
        let tables = pair.fill(&mut releases, &items, &format!("laplace_{i}"));
        let call = items.call("", &mechanism);
        let group = pair.grouped.then_some("g");
        let answers = tables.map(|table| releases.draw_arrays(&call, &table, group, 4 * RELEASES));
        let columns = items.length * pair.groups().len();
        assert_eq!(answers[0].len(), 4 * RELEASES * columns, "{call}");
        let bound = bound([&answers[0], &answers[1]], columns);
        println!("{call}, {pair:?}, {noise:?}: epsilon is at least {bound:.3}");
        (call, bound)
    };
    cases.map(bound).collect()
}

#[test]
fn no_event_tells_more_than_epsilon_where_the_noise_is_laplace() {
    for (call, bound) in audit_laplace(47, Noise::AsPromised) {
        assert!(bound <= EPSILON, "{call}: epsilon is at least {bound}");
    }
}

#[test]
fn the_audit_notices_that_laplace_noise_is_halved() {
    for (call, bound) in audit_laplace(48, Noise::Halved) {
        assert!(
            bound > EPSILON,
            "{call}: the audit found no more than {bound}"
        );
    }
}
