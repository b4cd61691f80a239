//! Mechanisms of vectors: privacy by enumeration of rows and of neighbours.
//!
//! Gaussian noise is mu-GDP if no neighbour moves what it goes on by more than `mu`, measured by the
//! noise; Laplace noise is private if none moves it by more than `eps` in the sum of absolute
//! values over the scale. Rows here are all vectors of a few values, the corners of the sensitivity
//! space among them; what they move and how much noise there is comes from the mechanisms. The
//! worst neighbour must use the whole budget and no more.

use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::sums::Totals;
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::vector::correlated::Correlated;
use dp_core::mechanism::vector::items::{Items, Relation, Vector};
use dp_core::mechanism::vector::known_n::KnownN;
use dp_core::random::Generator;
use dp_core::registry::{COUNTS, SUMS};
use dp_core::request::arguments::{Arguments, MechanismArgument};

use crate::words::Seeded;

/// Yes/no questions, and values with bounds.
pub type Kind = Option<(f64, f64)>;

pub const KINDS: [Kind; 4] = [
    None,
    Some((0.0, 1.0)),
    Some((-1.0, 3.0)),
    Some((10.0, 20.0)),
];
pub const MUS: [f64; 3] = [0.1, 1.0, 2.7];
pub const RELATIONS: [Relation; 2] = [Relation::AddRemove, Relation::Replace];

/// What one row says, in steps of the state.
type Row = Vec<i64>;

fn items(kind: Kind, d: usize) -> Items {
    match kind {
        None => Items::questions(d),
        Some((lo, hi)) => Items::values(d, Bounds::new(Some(lo), Some(hi)).unwrap()),
    }
}

/// The longest rows that are all enumerated, with all pairs.
fn lengths(kind: Kind) -> std::ops::RangeInclusive<usize> {
    1..=if kind.is_none() { 6 } else { 4 }
}

/// All rows: of both answers, or of values at the bounds, between them, and missing.
fn all_rows(kind: Kind, grid: Option<Grid>, d: usize) -> Vec<Row> {
    let mut elements = match (kind, grid) {
        (Some((lo, hi)), Some(grid)) => [lo, hi, lo.midpoint(hi), 0.0]
            .map(|x| grid.steps(x))
            .to_vec(),
        _ => vec![0, 1],
    };
    elements.sort_unstable();
    elements.dedup();
    (0..d).fold(vec![Vec::new()], |rows, _| {
        let longer = |row: &Row| {
            let row = row.clone();
            let one_more = move |element: &i64| [row.as_slice(), &[*element]].concat();
            elements.iter().map(one_more).collect::<Vec<_>>()
        };
        rows.iter().flat_map(longer).collect()
    })
}

/// The row as an aggregate takes it in: of the numbers other than 0 the first `most`.
fn cut(row: &Row, most: usize) -> Row {
    let mut left = most;
    let first = |element: &i64| {
        let through = *element != 0 && left > 0;
        left -= usize::from(through);
        if through { *element } else { 0 }
    };
    row.iter().map(first).collect()
}

fn with(totals: &Totals, row: &Row) -> Totals {
    let pairs = totals.s.iter().zip(row);
    Totals {
        n: totals.n + 1,
        s: pairs.map(|(sum, t)| sum + i128::from(*t)).collect(),
    }
}

pub fn built(kind: Kind, epsilon: Option<f64>, text: &str) -> Box<Vector> {
    overspent(1.0, kind, epsilon, text)
}

fn overspent(factor: f64, kind: Kind, epsilon: Option<f64>, text: &str) -> Box<Vector> {
    let registry = if kind.is_none() { &COUNTS } else { &SUMS };
    let arguments = Arguments {
        bounds: kind.map(|(lo, hi)| (Some(lo), Some(hi))),
        epsilon,
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    let built = registry.build_with_budget_times(factor, &arguments);
    built.unwrap_or_else(|error| panic!("{kind:?} {text}: {error}"))
}

pub fn word(relation: Relation) -> &'static str {
    match relation {
        Relation::AddRemove => "add_remove",
        Relation::Replace => "replace",
    }
}

type Coordinates = Box<dyn Fn(&Totals) -> Vec<i128>>;
type Cost = Box<dyn Fn(&[f64]) -> f64>;

/// A mechanism as the enumeration sees it.
struct Subject {
    what: String,
    rows: Vec<Row>,
    relation: Relation,
    /// The integers that noise goes on.
    coordinates: Coordinates,
    /// What a move of one group's coordinates costs, measured by the noise. Groups add up.
    cost: Cost,
    /// What the worst neighbour may cost: the square of `mu`, or `eps`.
    budget: f64,
    /// How far above it roundings, of the test and not of the mechanism, may go.
    rounding: f64,
}

impl Subject {
    /// The cost of the worst of all neighbours.
    fn worst(&self) -> f64 {
        let empty = Totals::new(self.rows[0].len());
        // A group of every third row, and one of the last row.
        let here = self
            .rows
            .iter()
            .step_by(3)
            .fold(empty.clone(), |t, r| with(&t, r));
        let there = with(&empty, &self.rows[self.rows.len() - 1]);
        let after = |group: &Totals| -> Vec<Vec<i128>> {
            let rows = self.rows.iter();
            rows.map(|row| (self.coordinates)(&with(group, row)))
                .collect()
        };
        let cost = |from: &[i128], to: &[i128]| self.cost_between(from, to);
        let (here_before, there_before) = ((self.coordinates)(&here), (self.coordinates)(&there));
        let (here_after, there_after) = (after(&here), after(&there));
        let mut worst = 0f64;
        for one in &here_after {
            match self.relation {
                Relation::AddRemove => {
                    let (added, removed) = (cost(&here_before, one), cost(one, &here_before));
                    worst = worst.max(added).max(removed);
                }
                Relation::Replace => {
                    let left = cost(one, &here_before);
                    for other in &here_after {
                        worst = worst.max(cost(one, other));
                    }
                    for other in &there_after {
                        worst = worst.max(left + cost(&there_before, other));
                    }
                }
            }
        }
        worst
    }

    fn cost_between(&self, from: &[i128], to: &[i128]) -> f64 {
        let moves: Vec<f64> = from.iter().zip(to).map(|(a, b)| (b - a) as f64).collect();
        (self.cost)(&moves)
    }

    /// Says what is wrong, if anything is: too little noise.
    fn private(&self) -> Result<(), String> {
        let (worst, budget, what) = (self.worst(), self.budget, &self.what);
        if worst <= budget * (1.0 + self.rounding) {
            Ok(())
        } else {
            Err(format!("{what}: {worst} is above {budget}"))
        }
    }

    /// The same, and too much.
    fn tight(&self) -> Result<(), String> {
        self.private()?;
        let (worst, budget, what) = (self.worst(), self.budget, &self.what);
        if worst >= budget * (1.0 - 1e-12) {
            Ok(())
        } else {
            Err(format!("{what}: {worst} leaves some of {budget} unused"))
        }
    }

    #[track_caller]
    fn assert_tight(&self) {
        self.tight().unwrap_or_else(|message| panic!("{message}"));
    }

    #[track_caller]
    fn assert_refused(&self, why: &str) {
        let message = self.tight().expect_err(&self.what);
        assert!(message.contains(why), "{message}");
    }
}

/// Independent Gaussian noise.
fn independent(sigmas: Vec<f64>) -> Cost {
    Box::new(move |moves| {
        assert_eq!(moves.len(), sigmas.len());
        let pairs = moves.iter().zip(&sigmas);
        pairs.map(|(moved, sigma)| (moved / sigma).powi(2)).sum()
    })
}

/// `d` numbers with one standard deviation, and one with another.
fn and_one(d: usize, (sigma, last): (f64, f64)) -> Vec<f64> {
    [vec![sigma; d], vec![last]].concat()
}

fn correlated(kind: Kind, d: usize, relation: Relation, weight: f64, mu: f64) -> Subject {
    let mechanism = Correlated::new(items(kind, d), relation, weight, mu);
    Subject {
        what: format!("correlated {kind:?} d={d} {relation:?} c={weight} mu={mu}"),
        rows: all_rows(kind, mechanism.grid(), d),
        relation,
        cost: independent(and_one(d, mechanism.sigmas())),
        coordinates: Box::new(move |totals| {
            let (mut numbers, whole) = mechanism.coordinates(totals);
            numbers.push(whole);
            numbers
        }),
        budget: mu * mu,
        rounding: 0.0,
    }
}

fn known_n(kind: Kind, d: usize, mu: f64) -> Subject {
    let mechanism = KnownN::new(items(kind, d), 12_345.0, mu);
    Subject {
        what: format!("known_n {kind:?} d={d} mu={mu}"),
        rows: all_rows(kind, mechanism.grid(), d),
        relation: Relation::AddRemove,
        cost: independent(vec![mechanism.sigma(); d]),
        coordinates: Box::new(move |totals| mechanism.coordinates(totals)),
        budget: mu * mu,
        rounding: 0.0,
    }
}

/// A mechanism that adds noise to the sums. The coordinates are read off its releases: with one
/// seed the noise is the same, and cancels. So is the noise, from the spread that it reports.
fn additive(
    mechanism: Box<Vector>,
    kind: Kind,
    relation: Relation,
    steps: u64,
    budget: f64,
) -> Subject {
    let d = mechanism.rows().length;
    let most = mechanism.rows().most;
    let rows = all_rows(kind, mechanism.grid(), d);
    let step = kind.map_or(1.0, |(lo, hi)| lo.abs().max(hi.abs())) / steps as f64;
    let spread = mechanism.spread();
    let shared = spread.covariance / (step * step);
    let own = (spread.sd / step).powi(2) - shared;
    Subject {
        what: format!("additive {kind:?} d={d} most={most} {relation:?} budget={budget}"),
        rows: rows.iter().map(|row| cut(row, most)).collect(),
        relation,
        coordinates: Box::new(move |totals| {
            let answer = mechanism.release(totals, &mut Generator::from_seed(1));
            answer
                .parts
                .iter()
                .map(|part| whole(part * steps as f64))
                .collect()
        }),
        cost: Box::new(move |moves| {
            // By the inverse of the covariance matrix `own I + shared 1 1'`.
            let squares: f64 = moves.iter().map(|moved| moved * moved).sum();
            let sum: f64 = moves.iter().sum();
            (squares - sum * sum * shared / (own + d as f64 * shared)) / own
        }),
        budget,
        rounding: 0.0,
    }
}

/// A number that was an integer before it became a float.
fn whole(number: f64) -> i128 {
    assert!(number.fract() == 0.0 && number.abs() < 2f64.powi(53));
    number as i128
}

fn gaussian_of(factor: f64, kind: Kind, d: usize, relation: Relation, mu: f64) -> Subject {
    let text = format!("gaussian(d={d}, mu={mu:?}, relation={})", word(relation));
    let mechanism = overspent(factor, kind, None, &text);
    additive(mechanism, kind, relation, items(kind, d).steps(), mu * mu)
}

fn gaussian(kind: Kind, d: usize, relation: Relation, mu: f64) -> Subject {
    gaussian_of(1.0, kind, d, relation, mu)
}

fn ellipse_of(factor: f64, kind: Kind, d: usize, k: usize, mu: f64) -> Subject {
    let text = format!("ellipse(d={d}, k={k}, mu={mu:?})");
    let mechanism = overspent(factor, kind, None, &text);
    let steps = items(kind, d).steps();
    additive(mechanism, kind, Relation::AddRemove, steps, mu * mu)
}

fn ellipse(kind: Kind, d: usize, k: usize, mu: f64) -> Subject {
    ellipse_of(1.0, kind, d, k, mu)
}

fn laplace_of(factor: f64, kind: Kind, d: usize, relation: Relation, epsilon: f64) -> Subject {
    let text = format!("laplace(d={d}, relation={})", word(relation));
    let mechanism = overspent(factor, kind, Some(epsilon), &text);
    // Counts are not divided into steps.
    let (step, steps) = match kind {
        None => (1.0, 1),
        Some((lo, hi)) => {
            let steps = items(kind, d).steps();
            (lo.abs().max(hi.abs()) / steps as f64, steps)
        }
    };
    // The variance of a discrete Laplace distribution is 1 / (2 sinh^2(rate / 2)).
    let rate = 2.0 * (0.5f64.sqrt() * step / mechanism.spread().sd).asinh();
    Subject {
        cost: Box::new(move |moves| moves.iter().map(|moved| moved.abs()).sum::<f64>() * rate),
        // The rate goes into the variance and out again.
        rounding: 1e-12,
        ..additive(mechanism, kind, relation, steps, epsilon)
    }
}

fn laplace(kind: Kind, d: usize, relation: Relation, epsilon: f64) -> Subject {
    laplace_of(1.0, kind, d, relation, epsilon)
}

/// The coordinates and the noise are read off releases and spreads, as those of [`additive`].
fn knorm_of(factor: f64, kind: Kind, d: usize, relation: Relation, epsilon: f64) -> Subject {
    let text = format!("knorm(d={d}, relation={})", word(relation));
    let mechanism = overspent(factor, kind, Some(epsilon), &text);
    let spread = mechanism.spread();
    let steps = items(kind, d).steps() as f64;
    let (numbers, sd) = match spread.total_sd {
        Some(sd) => (d + 1, sd * steps),
        None => {
            let (lo, hi) = kind.expect("counts have a total");
            (d, spread.sd / lo.abs().max(hi.abs()) * steps)
        }
    };
    let rate = rate_of(numbers, sd);
    Subject {
        what: format!("knorm {kind:?} d={d} {relation:?} eps={epsilon}"),
        rows: all_rows(kind, mechanism.grid(), d),
        relation,
        coordinates: Box::new(move |totals| {
            let answer = mechanism.release(totals, &mut Generator::from_seed(1));
            let parts = answer.parts.iter();
            match answer.total.map(|total| total * steps) {
                Some(rows) => {
                    let centred = parts.map(|part| whole(part * 2.0 * steps) - whole(rows));
                    centred.chain([whole(rows)]).collect()
                }
                None => parts.map(|part| whole(part * steps)).collect(),
            }
        }),
        cost: Box::new(move |moves| {
            let moved = moves.iter().map(|moved| moved.abs());
            moved.fold(0.0, f64::max) * rate
        }),
        budget: epsilon,
        // The rate goes into the variance and out again.
        rounding: 1e-12,
    }
}

/// The rate of noise with this standard deviation of each number: three times its square is
/// `(D + 1) (D + 2) / rate^2 - 1/4`.
fn rate_of(numbers: usize, sd: f64) -> f64 {
    let numbers = numbers as f64;
    ((numbers + 1.0) * (numbers + 2.0) / (3.0 * sd * sd + 0.25)).sqrt()
}

fn knorm(kind: Kind, d: usize, relation: Relation, epsilon: f64) -> Subject {
    knorm_of(1.0, kind, d, relation, epsilon)
}

/// The weights of the enumeration, the defaults of both relations among them.
pub fn weights(d: usize) -> [f64; 4] {
    let root = (d as f64).sqrt();
    [1.0, root.sqrt(), root, 3.7]
}

#[test]
fn correlated_is_private_and_tight() {
    for kind in KINDS {
        for (d, relation) in lengths(kind).flat_map(|d| RELATIONS.map(|r| (d, r))) {
            for (weight, mu) in weights(d).into_iter().flat_map(|c| MUS.map(|mu| (c, mu))) {
                correlated(kind, d, relation, weight, mu).assert_tight();
            }
        }
    }
}

#[test]
fn known_n_is_private_and_tight() {
    for kind in KINDS {
        for (d, mu) in lengths(kind).flat_map(|d| MUS.map(|mu| (d, mu))) {
            known_n(kind, d, mu).assert_tight();
        }
    }
}

#[test]
fn gaussian_is_private_and_tight() {
    for kind in KINDS.into_iter().chain([Some((-2.0, 2.0))]) {
        for (d, mu) in lengths(kind).flat_map(|d| MUS.map(|mu| (d, mu))) {
            gaussian(kind, d, Relation::AddRemove, mu).assert_tight();
            gaussian(kind, d, Relation::Replace, mu).assert_tight();
        }
    }
}

#[test]
fn ellipse_is_private_and_tight() {
    for kind in [None, Some((0.0, 1.0)), Some((0.0, 7.0)), Some((-3.0, 0.0))] {
        for d in 2..=*lengths(kind).end() {
            for (k, mu) in (1..=d / 2).flat_map(|k| MUS.map(|mu| (k, mu))) {
                ellipse(kind, d, k, mu).assert_tight();
            }
        }
    }
}

#[test]
fn laplace_is_private_and_tight() {
    for kind in KINDS.into_iter().chain([Some((-2.0, 2.0))]) {
        for (d, relation) in lengths(kind).flat_map(|d| RELATIONS.map(|r| (d, r))) {
            for epsilon in [0.125, 1.0, 2.5] {
                laplace(kind, d, relation, epsilon).assert_tight();
            }
        }
    }
}

#[test]
fn knorm_is_private_and_tight() {
    for kind in KINDS.into_iter().chain([Some((-2.0, 2.0))]) {
        for (d, relation) in lengths(kind).flat_map(|d| RELATIONS.map(|r| (d, r))) {
            for epsilon in [0.125, 1.0, 2.5] {
                knorm(kind, d, relation, epsilon).assert_tight();
            }
        }
    }
}

/// The enumeration must be able to fail.
#[test]
fn wrong_laws_are_caught() {
    let (above, unused) = ("is above", "leaves some");
    for kind in KINDS {
        for (d, mu) in lengths(kind).flat_map(|d| MUS.map(|mu| (d, mu))) {
            for (relation, weight) in RELATIONS
                .into_iter()
                .flat_map(|r| weights(d).map(|c| (r, c)))
            {
                let right = || correlated(kind, d, relation, weight, mu);
                let mechanism = Correlated::new(items(kind, d), relation, weight, mu);
                let (sigma, sigma_whole) = mechanism.sigmas();
                let noise = |sigmas| Subject {
                    cost: independent(and_one(d, sigmas)),
                    ..right()
                };
                noise((0.99 * sigma, sigma_whole)).assert_refused(above);
                noise((1.01 * sigma, 1.01 * sigma_whole)).assert_refused(unused);
                // Replaced by one of another group a row moves both numbers of rows; by one of the
                // same group none, and where that is the worst it does not matter.
                if relation == Relation::AddRemove || weight * weight >= d as f64 {
                    noise((sigma, 0.99 * sigma_whole)).assert_refused(above);
                }
                // Twice the sum, not counted from the middle.
                let twice = Subject {
                    coordinates: Box::new(move |totals| {
                        let (numbers, whole) = mechanism.coordinates(totals);
                        let twice = numbers.iter().map(|number| number + whole);
                        twice.chain([whole]).collect()
                    }),
                    ..right()
                };
                if relation == Relation::AddRemove {
                    twice.assert_refused(above);
                }
            }
            let weight = weights(d)[1];
            let add_remove = || correlated(kind, d, Relation::AddRemove, weight, mu);
            let for_replacing = Subject {
                relation: Relation::Replace,
                ..add_remove()
            };
            for_replacing.assert_refused(above);
            // Noise for the sums alone, though the number of rows is released too.
            let sigma = KnownN::new(items(kind, d), 0.0, mu).sigma();
            let for_the_sums = Subject {
                cost: independent(and_one(d, (sigma, sigma / weight))),
                ..add_remove()
            };
            for_the_sums.assert_refused(above);
            let (sigma, _) =
                Correlated::new(items(kind, d), Relation::AddRemove, weight, mu).sigmas();
            let without_the_number = Subject {
                cost: independent(vec![sigma; d]),
                ..known_n(kind, d, mu)
            };
            without_the_number.assert_refused(unused);
            let for_replacing = Subject {
                relation: Relation::Replace,
                ..gaussian(kind, d, Relation::AddRemove, mu)
            };
            for_replacing.assert_refused(above);
            gaussian_of(1.01, kind, d, Relation::AddRemove, mu).assert_refused(above);
            let for_replacing = Subject {
                relation: Relation::Replace,
                ..laplace(kind, d, Relation::AddRemove, mu)
            };
            for_replacing.assert_refused(above);
            let for_replacing = Subject {
                relation: Relation::Replace,
                ..knorm(kind, d, Relation::AddRemove, mu)
            };
            for_replacing.assert_refused(above);
            for relation in RELATIONS {
                laplace_of(1.01, kind, d, relation, mu).assert_refused(above);
                knorm_of(1.01, kind, d, relation, mu).assert_refused(above);
                knorm_of(0.99, kind, d, relation, mu).assert_refused(unused);
            }
        }
    }
    for d in 2..=6 {
        for k in 1..=d / 2 {
            let uncut = Subject {
                rows: all_rows(None, None, d),
                ..ellipse(None, d, k, 1.0)
            };
            uncut.assert_refused(above);
            let replaced = Subject {
                relation: Relation::Replace,
                ..ellipse(None, d, k, 1.0)
            };
            replaced.assert_refused(above);
            ellipse_of(1.01, None, d, k, 1.0).assert_refused(above);
            ellipse_of(0.99, None, d, k, 1.0).assert_refused(unused);
        }
    }
}

/// What the proofs say about distances, in whole steps: Lemmas 3.2 and 4.2 of Lebeda 2024.
#[test]
fn the_sensitivity_of_correlated_is_what_the_lemmas_say() {
    for kind in KINDS {
        for d in lengths(kind) {
            let length = d as i128;
            let measured = |square: i128, relation| Subject {
                cost: Box::new(move |moves| {
                    let (whole, sums) = moves.split_last().unwrap();
                    let squares: f64 = sums.iter().map(|moved| moved * moved).sum();
                    squares + square as f64 * whole * whole
                }),
                ..correlated(kind, d, relation, 1.0, 1.0)
            };
            // Sums of a few squares of `G` or of its double: exact in floats.
            let unit = (items(kind, d).steps() as f64).powi(2);
            for square in [1, 4, length] {
                let worst = measured(square, Relation::AddRemove).worst();
                assert_eq!(worst, (length + square) as f64 * unit);
                let worst = measured(square, Relation::Replace).worst();
                let both = (4 * length).max(2 * (length + square));
                assert_eq!(worst, both as f64 * unit);
            }
            // With a weight of sqrt(d) the two ways of replacing move equally far.
            let subject = measured(length, Relation::Replace);
            let empty = Totals::new(d);
            let of_one = |row: &Row| (subject.coordinates)(&with(&empty, row));
            let [low, high] = [subject.rows.first(), subject.rows.last()];
            let (low, high) = (of_one(low.unwrap()), of_one(high.unwrap()));
            let none = (subject.coordinates)(&empty);
            let within = subject.cost_between(&low, &high);
            let across = subject.cost_between(&low, &none) + subject.cost_between(&none, &high);
            assert_eq!(within, (4 * length) as f64 * unit);
            assert_eq!(across, within);
        }
    }
}

/// One of each mechanism, of both relations where it takes one; for values, those that fit.
pub fn mechanisms(kind: Kind, d: usize) -> Vec<(Box<Vector>, String)> {
    let from_0 = kind.is_none_or(|(lo, hi)| lo == 0.0 || hi == 0.0);
    let texts = [
        format!("correlated(d={d}, mu=1.5)"),
        format!("correlated(c=3.7, d={d}, mu=1.5)"),
        format!("correlated(d={d}, mu=1.5, relation=replace)"),
        format!("gaussian(d={d}, mu=1.5)"),
        format!("gaussian(d={d}, mu=1.5, relation=replace)"),
        format!("known_n(d={d}, mu=1.5, n={KNOWN})"),
        format!("laplace(d={d})"),
        format!("laplace(d={d}, relation=replace)"),
        format!("knorm(d={d})"),
        format!("knorm(d={d}, relation=replace)"),
        format!("ellipse(d={d}, k=1, mu=1.5)"),
        format!("ellipse(d={d}, k={}, mu=1.5)", d / 2),
    ];
    let fitting = texts
        .into_iter()
        .filter(|text| !text.starts_with("ellipse") || from_0 && d > 1);
    let build = |text: String| {
        let pure = ["laplace", "knorm"]
            .iter()
            .any(|name| text.starts_with(name));
        let epsilon = pure.then_some(1.25);
        (built(kind, epsilon, &text), text)
    };
    fitting.map(build).collect()
}

/// The number of rows that `known_n` is reported.
pub const KNOWN: i64 = 1000;

/// The step from the distributions to the mechanisms: the same words give the same noise, whatever the
/// data is.
#[test]
fn noise_does_not_depend_on_the_data() {
    for kind in KINDS {
        for d in 1..=5 {
            for (mechanism, text) in mechanisms(kind, d) {
                let counts = kind.is_none();
                // In steps; all numbers here fit a float exactly.
                let steps = if counts { 1 << 20 } else { 1i128 << 32 };
                let finer = if counts { steps } else { 1 };
                let noise = |totals: &Totals, seed| {
                    let answer = mechanism.release(totals, &mut Generator::from_seed(seed));
                    let in_steps = |number: f64| whole(number * 2.0 * steps as f64);
                    // The error of a number of rows that was given goes into the answers.
                    let given = i128::from(KNOWN - totals.n) * steps;
                    let bias = if text.starts_with("known_n") {
                        given
                    } else {
                        0
                    };
                    let parts = answer.parts.iter().zip(&totals.s);
                    let parts = parts.map(|(part, sum)| in_steps(*part) - 2 * finer * sum - bias);
                    let total = answer.total.map(|total| {
                        let rows = if text.starts_with("known_n") {
                            KNOWN
                        } else {
                            totals.n
                        };
                        in_steps(total) - 2 * steps * i128::from(rows)
                    });
                    (parts.collect::<Vec<_>>(), total)
                };
                let empty: Vec<_> = (0..10).map(|seed| noise(&Totals::new(d), seed)).collect();
                assert!(empty.iter().any(|noise| *noise != empty[0]), "{text}");
                for (seed, empty) in empty.iter().enumerate() {
                    for (n, unit) in [(1, 1), (1, -1), (10, 3), (123_456, 98_765)] {
                        let s = (0..d as i128).map(|j| unit * (j + 1)).collect();
                        let noise = noise(&Totals { n, s }, seed as u64);
                        assert_eq!(noise, *empty, "{kind:?} {text}");
                    }
                }
            }
            // Beyond what a float can tell apart.
            let mechanism = Correlated::new(items(kind, d), Relation::AddRemove, 2.0, 1.0);
            for seed in 0..5 {
                let noise = |totals: &Totals| {
                    let (numbers, whole) = mechanism.coordinates(totals);
                    let (noisy, noisy_whole) = mechanism.noisy(totals, &mut Seeded::new(seed));
                    let noise = noisy.iter().zip(&numbers).map(|(a, b)| a - b);
                    (noise.collect::<Vec<_>>(), noisy_whole - whole)
                };
                let empty = noise(&Totals::new(d));
                for (n, sum) in [(1 << 60, 1 << 60), (i64::MAX, 1 << 90), (-7, -(1 << 90))] {
                    assert_eq!(noise(&Totals { n, s: vec![sum; d] }), empty);
                }
            }
        }
    }
}
