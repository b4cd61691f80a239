//! Means without bounds: what they promise of privacy, by enumeration, and of bias, by simulation.

use std::collections::BTreeMap;

use dp_core::encoding::cells::{CellCounts, Cells, Content, Line, MOST};
use dp_core::error::ParameterError;
use dp_core::mechanism::mean::hourglass::Hourglass;
use dp_core::mechanism::mean::inputs::{CellsMean, Mean};
use dp_core::mechanism::mean::location::{Bins, Location};
use dp_core::mechanism::mean::pair::PairNoise;
use dp_core::mechanism::mean::symmetric::{Mirrored, Symmetric};
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::MEAN;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::discrete_laplace::DiscreteLaplace;

use crate::distribution;
use crate::stats::{ALPHA, Moments, Z_ALPHA, assert_law};
use crate::words::Seeded;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

/// A mechanism of dp_mean without bounds.
fn build(text: &str, eps: f64) -> Result<Mean, ParameterError> {
    let built = MEAN.build(&Arguments {
        bounds: Some((None, None)),
        epsilon: Some(eps),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    });
    built.map(|mechanism| *mechanism)
}

fn cells(text: &str, eps: f64) -> Box<dyn CellsMean> {
    match build(text, eps) {
        Ok(Mean::Cells(mechanism)) => mechanism,
        Ok(_) => panic!("{text} sees no cells"),
        Err(error) => panic!("{text}: {error}"),
    }
}

// What the place is found by.

/// Bins of one cell each.
fn bins() -> Bins {
    Bins::new(1.0, 0.5)
}

/// A table with that many rows in each of the first bins.
fn table(votes: &[u64]) -> CellCounts {
    let occupied = votes.iter().enumerate().filter(|(_, votes)| **votes > 0);
    let cells = occupied.map(|(bin, &count)| (bin as i64, Content { count, steps: 0 }));
    CellCounts {
        n: votes.iter().sum::<u64>() as i64,
        cells: Cells::of(votes.len(), cells),
        ..CellCounts::new(Line::new(1.0, 0.0))
    }
}

/// The distribution of the place: the probability of each bin, the rest is none. `at` is what noise the votes
/// get: written down from algorithm 1, not from the code.
fn law_of_place(votes: &[u64], at: f64, threshold: i64) -> Vec<f64> {
    let noise = |x: i64| distribution::two_sided_geometric(x, at);
    let below = |x: i64| {
        // P(Z < x).
        let tail = (-at * x.abs() as f64).exp() / (1.0 + (-at).exp());
        if x > 0 {
            1.0 - tail
        } else {
            tail * (-at).exp()
        }
    };
    let most = threshold + votes.iter().max().map_or(0, |most| *most as i64) + (60.0 / at) as i64;
    let of = |bin: usize| {
        let others = || (0..votes.len()).filter(|other| *other != bin && votes[*other] > 0);
        let mut probability = 0.0;
        for top in threshold..=most {
            // The chance that that many others tie, and all else are below.
            let mut ties = vec![1.0];
            for other in others() {
                let level = top - votes[other] as i64;
                let (less, same) = (below(level), noise(level));
                let mut next = vec![0.0; ties.len() + 1];
                for (count, chance) in ties.iter().enumerate() {
                    next[count] += chance * less;
                    next[count + 1] += chance * same;
                }
                ties = next;
            }
            let share: f64 = ties
                .iter()
                .enumerate()
                .map(|(count, chance)| chance / (count + 1) as f64)
                .sum();
            probability += noise(top - votes[bin] as i64) * share;
        }
        probability
    };
    (0..votes.len())
        .map(|bin| if votes[bin] > 0 { of(bin) } else { 0.0 })
        .collect()
}

/// How far the distribution of one table exceeds `e^eps` times that of another: the delta between them.
fn excess(one: &[f64], other: &[f64], eps: f64) -> f64 {
    let none = |distribution: &[f64]| 1.0 - distribution.iter().sum::<f64>();
    let outcomes = one.iter().zip(other).map(|(p, q)| (*p, *q));
    outcomes
        .chain([(none(one), none(other))])
        .map(|(p, q)| (p - eps.exp() * q).max(0.0))
        .sum()
}

/// What the test for a crowd takes of epsilon.
fn crowd(delta: f64) -> f64 {
    (8.0 / delta).ln() / f64::from(1 << 17)
}

const TABLES: [&[u64]; 8] = [
    &[0, 0, 0, 0],
    &[1, 0, 0, 0],
    &[1, 1, 1, 1],
    &[9, 8, 0, 0],
    &[9, 9, 9, 1],
    &[14, 0, 3, 0],
    &[15, 14, 13, 2],
    &[40, 1, 0, 39],
];

#[test]
fn the_place_is_private() {
    let mut tight = 0.0f64;
    for (eps, delta) in [(0.5, 1e-3), (1.0, 1e-4), (1.0, 0.1), (3.0, 1e-6)] {
        let place = Location::new(bins(), epsilon(eps), delta, 1).unwrap();
        let threshold = place.threshold() as i64;
        let at = eps - crowd(delta);
        for votes in TABLES {
            for bin in 0..votes.len() {
                let mut more = votes.to_vec();
                more[bin] += 1;
                let distributions = [votes, &more].map(|votes| law_of_place(votes, at, threshold));
                for (one, other) in [(0, 1), (1, 0)] {
                    let found = excess(&distributions[one], &distributions[other], at);
                    assert!(
                        found <= delta * 0.875,
                        "{eps} {delta} {votes:?} {bin}: {found}"
                    );
                    tight = tight.max(found / (delta * 0.875));
                    // A threshold one lower would not do, where a bin is new.
                    let distributions =
                        [votes, &more].map(|votes| law_of_place(votes, at, threshold - 1));
                    if votes.iter().all(|votes| *votes == 0) && one == 1 {
                        assert!(
                            excess(&distributions[one], &distributions[other], at) > delta * 0.875
                        );
                    }
                }
            }
        }
    }
    assert!(tight > 0.5, "{tight}");
}

#[test]
fn the_place_is_private_where_a_row_is_replaced() {
    for (eps, delta) in [(0.5, 1e-3), (1.0, 1e-4), (3.0, 1e-6)] {
        let place = Location::new(bins(), epsilon(eps), delta, 2).unwrap();
        let single = Location::new(bins(), epsilon(eps), delta, 1).unwrap();
        let at = eps - crowd(delta);
        let (mut worst, mut worst_single) = (0.0f64, 0.0f64);
        for votes in TABLES {
            for (from, to) in [(0, 1), (0, 3), (1, 0), (2, 1), (3, 0)] {
                if votes[from] == 0 {
                    continue;
                }
                let mut moved = votes.to_vec();
                moved[from] -= 1;
                moved[to] += 1;
                let delta_of = |at: f64, threshold: i128| {
                    let distributions =
                        [votes, &moved].map(|votes| law_of_place(votes, at, threshold as i64));
                    excess(&distributions[0], &distributions[1], eps)
                };
                worst = worst.max(delta_of(at / 2.0, place.threshold()));
                worst_single = worst_single.max(delta_of(at, single.threshold()));
            }
        }
        assert!(worst <= delta * 0.875, "{eps} {delta}: {worst}");
        // Noise for one bin is not enough for two.
        assert!(worst_single > delta, "{eps} {delta}: {worst_single}");
    }
}

#[test]
fn places_follow_their_law() {
    for (seed, eps, delta, votes) in [
        (1, 1.0, 0.1, [9u64, 9, 8, 1]),
        (2, 0.5, 0.01, [20, 20, 20, 20]),
        (3, 3.0, 1e-3, [4, 5, 0, 3]),
        (4, 1.0, 0.5, [1, 1, 1, 1]),
    ] {
        let place = Location::new(bins(), epsilon(eps), delta, 1).unwrap();
        let distribution = law_of_place(&votes, eps - crowd(delta), place.threshold() as i64);
        // Now and then a few cells are taken for a crowd: P(Z > 2^17 - cells).
        let few = (1 << 17) - votes.iter().filter(|votes| **votes > 0).count() + 1;
        let crowded = (-crowd(delta) * few as f64).exp() / (1.0 + (-crowd(delta)).exp());
        let table = table(&votes);
        let mut words = Seeded::new(seed);
        let mut found = BTreeMap::<i64, u64>::new();
        let draws = 100_000;
        for _ in 0..draws {
            if let Some(bin) = place.find(&table, &mut words) {
                *found.entry(bin).or_default() += 1;
            }
        }
        let cells = (0..4).map(|bin| {
            let drawn = found.get(&bin).copied().unwrap_or(0);
            (drawn, distribution[bin as usize] * (1.0 - crowded))
        });
        assert_law(&format!("{eps} {votes:?}"), draws, cells);
    }
}

/// A table of rows that are alone in their bins nearly never has a place.
#[test]
fn rows_alone_find_no_location() {
    let place = Location::new(bins(), epsilon(1.0), 1e-3, 1).unwrap();
    let table = table(&[1; 100]);
    let mut words = Seeded::new(5);
    let found = (0..20_000).filter(|_| place.find(&table, &mut words).is_some());
    // At most 100 * 7/8 delta each.
    let expected: f64 = 20_000.0 * 100.0 * 0.875e-3;
    let found = found.count() as f64;
    assert!(found > 0.5 * expected && found < expected + Z_ALPHA * expected.sqrt());
}

#[test]
fn a_crowd_of_cells_has_no_location() {
    let place = Location::new(bins(), epsilon(1.0), 1e-6, 1).unwrap();
    let crowd_of = |cells: usize, full: bool| {
        let mut histogram = table(&[1_000_000]);
        histogram.full = full;
        let alone = Content { count: 1, steps: 0 };
        let crowd = (1..cells as i64).map(|cell| (10 * cell, alone));
        histogram.cells = Cells::of(cells, histogram.cells.iter().chain(crowd));
        let mut words = Seeded::new(6);
        let found = (0..40).filter(|_| place.find(&histogram, &mut words).is_some());
        found.count()
    };
    // The noise on the number of cells has a scale of about 8,000.
    assert_eq!(crowd_of(2, false), 40);
    assert!((1..40).contains(&crowd_of(1 << 17, false)));
    assert_eq!(crowd_of(MOST, false), 0);
    assert_eq!(crowd_of(2, true), 0);
}

#[test]
fn a_histogram_stops_growing() {
    let mut histogram = CellCounts::new(Line::new(1.0, 0.5));
    for cell in 0..MOST as i64 + 10 {
        histogram.add((cell, 0));
    }
    histogram.add((0, 1));
    assert_eq!((histogram.cells.count(), histogram.full), (MOST, true));
    assert_eq!(histogram.n, MOST as i64 + 11);
    let first = histogram.cells.iter().next();
    assert_eq!(first, Some((0, Content { count: 2, steps: 1 })));
}

// The noise of the fine step.

#[test]
fn exchanged_noise_is_private() {
    for eps in [0.1, 1.0, 2.5] {
        for (steps, core) in [(1, 1), (4, 1), (5, 2), (6, 6), (8, 3)] {
            let reach = 4 * steps;
            let of = |x: i64, y: i64| {
                let at = |x: i64, y: i64| {
                    distribution::hourglass_pair(x, (x + y) / steps, steps, core, eps)
                };
                (at(x, y) + at(y, x)) / 2.0
            };
            let mut worst = 1.0f64;
            for x in -reach..=reach {
                for y in (-reach..=reach).filter(|y| (x + y) % steps == 0) {
                    for t in 0..=steps {
                        let ratio = of(x, y) / of(x + t, y + steps - t);
                        worst = worst.max(ratio).max(1.0 / ratio);
                    }
                }
            }
            let bound = eps.exp();
            assert!(
                worst <= bound * (1.0 + 1e-12),
                "{eps} {steps} {core}: {worst}"
            );
            assert!(
                worst >= bound * (1.0 - 1e-12),
                "{eps} {steps} {core}: {worst}"
            );
        }
    }
}

#[test]
fn exchanged_noise_follows_its_law() {
    let (steps, core, eps) = (5, 2, 1.0);
    let noise = Mirrored(Hourglass::new(steps as u64, core as u64, epsilon(eps)));
    let mut words = Seeded::new(7);
    let mut seen = BTreeMap::<(i64, i64), u64>::new();
    let draws = 200_000;
    for _ in 0..draws {
        let (x, y) = noise.draw(&mut words);
        *seen.entry((x as i64, y as i64)).or_default() += 1;
    }
    let at = |x: i64, y: i64| distribution::hourglass_pair(x, (x + y) / steps, steps, core, eps);
    let near = (-30..=30).flat_map(|x| (-30..=30).map(move |y| (x, y)));
    let cells: Vec<(u64, f64)> = near
        .filter(|(x, y)| (x + y) % steps == 0)
        .map(|(x, y)| {
            let drawn = seen.get(&(x, y)).copied().unwrap_or(0);
            (drawn, (at(x, y) + at(y, x)) / 2.0)
        })
        .collect();
    assert_law("exchanged hourglass", draws, cells);
}

/// The same words give the same noise, whatever the rows are.
#[test]
fn noise_does_not_depend_on_the_rows() {
    let mechanism = Symmetric::new(bins(), epsilon(1.0), epsilon(2.0), 1e-6).unwrap();
    for seed in 0..50 {
        let count = |n: i64| {
            let histogram = CellCounts {
                n,
                ..table(&[2 + n as u64])
            };
            let answer = mechanism.release_from(&histogram, &mut Seeded::new(seed));
            answer.count.unwrap() - n as f64
        };
        for n in [1, 10, 100_000] {
            assert!((count(n) - count(0)).abs() < 1e-6);
        }
    }
}

// Bias.

#[derive(Clone, Copy, Debug)]
pub enum Rows {
    Normal,
    Laplace,
    Uniform,
    T5,
    Exponential,
}

/// The mean of all of them but the exponential, whose is 1; they all have variance 1.
pub const MEAN_OF_ROWS: f64 = 0.3;

impl Rows {
    fn mean(self) -> f64 {
        match self {
            Self::Exponential => 1.0,
            _ => MEAN_OF_ROWS,
        }
    }

    pub fn draw(self, words: &mut Seeded) -> f64 {
        let mut unit = || ((words.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let mut normal = || {
            let (u, v) = (unit(), unit());
            (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let centred = match self {
            Self::Normal => normal(),
            Self::T5 => {
                let chi: f64 = (0..5).map(|_| normal().powi(2)).sum();
                normal() / (chi / 5.0).sqrt() * 0.6f64.sqrt()
            }
            Self::Laplace => (unit().ln() - unit().ln()) / 2f64.sqrt(),
            Self::Uniform => (unit() - 0.5) * 12f64.sqrt(),
            Self::Exponential => return -unit().ln(),
        };
        MEAN_OF_ROWS + centred
    }
}

const RUNS: usize = 10_000;
/// Those behind the figures of the paper.
const RUNS_OF_PAPER: usize = 40_000;

/// How far a bias of ours, with this standard error, may be from one of the paper, which has an error of its own.
fn slack(error: f64) -> f64 {
    Z_ALPHA * error * (1.0 + RUNS as f64 / RUNS_OF_PAPER as f64).sqrt() + 0.0001
}

const TABLE_SIZE: usize = 400;

/// Errors of many runs: mean and standard error.
fn bias(mut run: impl FnMut(&mut Seeded) -> Option<f64>, runs: usize, seed: u64) -> (f64, f64) {
    let mut words = Seeded::new(seed);
    let errors: Vec<f64> = (0..runs).filter_map(|_| run(&mut words)).collect();
    // No place must be rare, or what is measured is something else.
    assert!(errors.len() * 100 > runs * 99, "{} of {runs}", errors.len());
    let moments = Moments::of(errors.iter().copied());
    (
        moments.mean(),
        (moments.mean_square() / errors.len() as f64).sqrt(),
    )
}

/// A table of rows on a line.
fn fill(line: Line, rows: Rows, count: usize, words: &mut Seeded) -> CellCounts {
    let mut histogram = CellCounts::new(line);
    for _ in 0..count {
        histogram.add(line.cell_of(rows.draw(words)));
    }
    histogram
}

/// Settings of the reference: bin and clip, for rows of standard deviation 1.
const SETTINGS: [(f64, f64); 3] = [(1.0, 1.0), (1.0, 2.0), (10.0, 13.0)];

const SYMMETRIC: [Rows; 4] = [Rows::Normal, Rows::Laplace, Rows::Uniform, Rows::T5];

/// Algorithm 2 of Kamath et al. with its split: half of the rows find the location, the others make the
/// mean, with noise of all of epsilon for each; with the offset drawn at random, or fixed so that
/// the bins' middles are whole multiples of their width, as Karwa and Vadhan have it.
fn of_the_paper((bin, clip): (f64, f64), rows: Rows, random: bool, seed: u64) -> (f64, f64) {
    let shape = Bins::new(bin, clip);
    let place = Location::new(shape, epsilon(1.0), 1e-6, 2).unwrap();
    let noise = DiscreteLaplace::new(shape.steps(), epsilon(1.0));
    let run = |words: &mut Seeded| {
        let word = if random { words.word() } else { 1 << 63 };
        let line = shape.line(word);
        let [first, second] = [(); 2].map(|()| fill(line, rows, TABLE_SIZE / 2, words));
        let from = place.find(&first, words)?;
        let sum = second.sum_between(from, from + i64::from(shape.span)) + noise.draw(words);
        let cells = sum as f64 / (shape.steps() / u64::from(shape.span)) as f64;
        let mean = line.value(from as f64 + cells / (TABLE_SIZE / 2) as f64);
        Some(mean - rows.mean())
    };
    bias(run, RUNS, seed)
}

/// The bias with fixed bins, of each distribution at each setting, as simulated for the literature's
/// algorithm with continuous noise; and the standard error that it is known to.
const FIXED: [(Rows, [f64; 3]); 5] = [
    (Rows::Normal, [-0.0439, -0.0050, 0.0005]),
    (Rows::Laplace, [-0.0745, -0.0182, 0.0]),
    (Rows::Uniform, [-0.0561, -0.0218, 0.0]),
    (Rows::T5, [-0.0671, -0.0125, f64::NAN]),
    (Rows::Exponential, [-0.2658, -0.0978, -0.0018]),
];

#[test]
fn fixed_bins_are_biased_as_the_literature_says_and_random_ones_are_not() {
    for (rows, fixed) in FIXED {
        for (setting, expected) in SETTINGS.into_iter().zip(fixed) {
            let (found, error) = of_the_paper(setting, rows, false, 11);
            let slack = slack(error);
            println!("{rows:?} {setting:?} fixed: {found:.4} +- {error:.4}, expected {expected}");
            assert!(
                expected.is_nan() || (found - expected).abs() < slack,
                "{rows:?} {setting:?}: {found} +- {error}, expected {expected}"
            );
        }
    }
    // With the random offset only the distribution that is not symmetric is biased.
    for (rows, setting, expected) in [
        (Rows::Exponential, SETTINGS[0], -0.2342),
        (Rows::Exponential, SETTINGS[1], -0.0867),
        (Rows::Normal, SETTINGS[0], 0.0),
    ] {
        let (found, error) = of_the_paper(setting, rows, true, 12);
        println!("{rows:?} {setting:?} random: {found:.4} +- {error:.4}");
        let slack = slack(error);
        assert!(
            (found - expected).abs() < slack,
            "{rows:?} {setting:?}: {found} +- {error}"
        );
    }
}

/// What ships: all rows for both steps.
fn of_ours(text: &str, rows: Rows, word: Option<u64>, seed: u64) -> (f64, f64) {
    let mechanism = cells(text, 1.0);
    let mut generator = generator(seed);
    let run = |words: &mut Seeded| {
        let line = mechanism.line(word.unwrap_or_else(|| words.word()));
        let histogram = fill(line, rows, TABLE_SIZE, words);
        let answer = mechanism.release(&histogram, &mut generator);
        answer.mean.map(|mean| mean - rows.mean())
    };
    bias(run, RUNS, seed)
}

pub fn generator(seed: u64) -> Generator {
    #[cfg(feature = "testing")]
    return Generator::from_seed(seed);
    #[cfg(not(feature = "testing"))]
    {
        let _ = seed;
        Generator::from_os().unwrap()
    }
}

#[test]
fn symmetric_means_are_unbiased() {
    for (name, settings) in [
        ("symmetric(", &SETTINGS[..]),
        ("symmetric_known_n(n=400, ", &SETTINGS[..1]),
    ] {
        for (bin, clip) in settings.iter().copied() {
            let text = format!("{name}delta=1e-6, scale=1, share=0.4, bin={bin}, clip={clip})");
            for rows in SYMMETRIC {
                let (found, error) = of_ours(&text, rows, None, 13);
                println!("{text} {rows:?}: {found:.5} +- {error:.5}");
                assert!(
                    found.abs() < 4.0 * error,
                    "{text} {rows:?}: {found} +- {error}"
                );
            }
            // What the test can see: a distribution that is not symmetric, and an offset that is fixed.
            if clip == 1.0 {
                let (found, error) = of_ours(&text, Rows::Exponential, None, 14);
                assert!(found < -10.0 * error, "{text}: {found} +- {error}");
                let (found, error) = of_ours(&text, Rows::Normal, Some(1 << 63), 15);
                assert!(found < -4.0 * error, "{text}: {found} +- {error}");
            }
        }
    }
}

/// The largest distance of two empirical distribution functions, over what chance makes of it at level
/// [`ALPHA`] where they are of one distribution (Kolmogorov and Smirnov).
fn distance(mut one: Vec<f64>, mut other: Vec<f64>) -> f64 {
    one.sort_by(f64::total_cmp);
    other.sort_by(f64::total_cmp);
    let (n, m) = (one.len() as f64, other.len() as f64);
    let largest = one.iter().enumerate().map(|(below, x)| {
        let others = other.partition_point(|y| y < x) as f64;
        let upto = other.partition_point(|y| y <= x) as f64;
        let (low, high) = (below as f64 / n, (below + 1) as f64 / n);
        (others / m - low).abs().max((upto / m - high).abs())
    });
    let chance = (-0.5 * (ALPHA / 2.0).ln()).sqrt() * ((n + m) / (n * m)).sqrt();
    largest.fold(0.0, f64::max) / chance
}

/// Rows that are moved move the answers with them, and rows in a mirror mirror them: of fixed rows,
/// whatever they are. With bins that are fixed it is not so.
#[test]
fn answers_move_with_the_rows() {
    let mechanism = cells(
        "symmetric(delta=1e-6, scale=1, bin=1, clip=1, share=0.4)",
        2.0,
    );
    let mut words = Seeded::new(22);
    let rows: Vec<f64> = (0..300)
        .map(|_| Rows::Exponential.draw(&mut words))
        .collect();
    let mut generator = generator(22);
    let mut answers = |map: &dyn Fn(f64) -> f64, back: &dyn Fn(f64) -> f64, random: bool| {
        let mut draw = || {
            let word = if random { words.word() } else { 1 << 63 };
            let mut histogram = CellCounts::new(mechanism.line(word));
            for x in &rows {
                histogram.add(histogram.line.cell_of(map(*x)));
            }
            mechanism.release(&histogram, &mut generator).mean
        };
        let found: Vec<f64> = (0..20_000).filter_map(|_| draw()).map(back).collect();
        assert!(found.len() > 19_000, "{}", found.len());
        found
    };
    let as_they_are = answers(&|x| x, &|x| x, true);
    let moved = answers(&|x| x + 0.37, &|x| x - 0.37, true);
    let mirrored = answers(&|x| -x, &|x| -x, true);
    assert!(distance(as_they_are.clone(), moved) < 1.0);
    assert!(distance(as_they_are, mirrored) < 1.0);
    let fixed = answers(&|x| x, &|x| x, false);
    let fixed_moved = answers(&|x| x + 0.37, &|x| x - 0.37, false);
    assert!(distance(fixed, fixed_moved) > 1.0);
}

/// The noise on the mean of many rows in the middle is what is said of it.
#[test]
fn noise_is_as_said() {
    for (text, eps) in [
        ("symmetric(delta=1e-6, scale=1)", 1.0),
        ("symmetric(delta=1e-6, scale=1, share=0.5)", 0.2),
        ("symmetric(delta=1e-6, scale=1)", 8.0),
        ("symmetric_known_n(delta=1e-6, scale=1, n=100000)", 1.0),
        ("symmetric_known_n(delta=1e-6, scale=1, n=100000)", 8.0),
    ] {
        let mechanism = cells(text, eps);
        let rows = 100_000;
        let mut histogram = CellCounts::new(mechanism.line(0));
        let middle = histogram.line.value(0.5 * 1.0);
        for _ in 0..rows {
            histogram.add(histogram.line.cell_of(middle));
        }
        let mut generator = generator(17);
        let errors = (0..20_000).map(|_| {
            let answer = mechanism.release(&histogram, &mut generator);
            answer.mean.expect("a place") - middle
        });
        let moments = Moments::of(errors);
        let said = mechanism.noise_sd(f64::from(rows)).powi(2);
        moments.assert_mean_square(text, said, 0.02);
    }
}

/// No place is found at most as often as is said.
#[test]
fn no_location_is_as_rare_as_said() {
    let mechanism = cells("symmetric(delta=1e-6, scale=1)", 1.0);
    let (mut words, mut generator) = (Seeded::new(21), generator(21));
    let mut seen = 0;
    for rows in [100, 150, 250, 350, 400] {
        let runs = 4_000;
        let misses = (0..runs).filter(|_| {
            let line = mechanism.line(words.word());
            let histogram = fill(line, Rows::Normal, rows, &mut words);
            mechanism.release(&histogram, &mut generator).mean.is_none()
        });
        let rate = misses.count() as f64 / f64::from(runs);
        let said = mechanism.location().no_location(rows as f64, Some(0.1));
        println!("{rows} rows: no place {rate}, said {said}");
        let slack = Z_ALPHA * (said.min(0.5) / f64::from(runs)).sqrt();
        assert!(rate <= said + slack, "{rows}: {rate} {said}");
        seen += usize::from(rate > 0.0);
    }
    assert!(seen > 1);
}

// The ends.

#[test]
fn no_rows_and_no_parameters_are_too_much() {
    let rows = [
        0.0,
        -0.0,
        1.0,
        1e308,
        -1e308,
        1e-308,
        -5e-324,
        1e16,
        -1e17,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let mut generator = generator(20);
    for scale in ["1e-290", "1e-308", "1", "1e290", "1e300"] {
        for rest in ["", ", n=1", ", n=9007199254740991"] {
            let name = if rest.is_empty() {
                "symmetric"
            } else {
                "symmetric_known_n"
            };
            let text =
                format!("{name}(delta=1e-9, scale={scale}, bin={scale}, clip={scale}{rest})");
            let mechanism = match build(&text, 5.0) {
                Ok(Mean::Cells(mechanism)) => mechanism,
                _ => {
                    assert!(scale == "1e-308" || scale == "1e300", "{text}");
                    continue;
                }
            };
            for count in [0, 1, 2, 1000] {
                for x in rows {
                    let mut histogram = CellCounts::new(mechanism.line(u64::MAX));
                    for _ in 0..count {
                        histogram.add(histogram.line.cell_of(x));
                    }
                    let answer = mechanism.release(&histogram, &mut generator);
                    assert!(answer.mean.is_none_or(f64::is_finite), "{text} {x} {count}");
                    assert!(answer.count.unwrap().is_finite());
                    if count == 1000 {
                        assert!(answer.mean.is_some(), "{text} {x}");
                    }
                }
            }
            let steps = Content {
                count: u64::MAX,
                steps: u64::MAX,
            };
            let hostile = CellCounts {
                n: i64::MIN,
                cells: Cells::of(
                    2,
                    [(i64::MIN / 4, steps), (0, Content { steps: 0, ..steps })],
                ),
                ..CellCounts::new(mechanism.line(0))
            };
            let answer = mechanism.release(&hostile, &mut generator);
            assert!(answer.mean.is_none_or(f64::is_finite));
        }
    }
}

#[test]
fn the_offset_of_cells_is_within_a_bin() {
    for shape in [Bins::new(10.0, 15.0), Bins::new(1.0, 0.7)] {
        let bin = f64::from(shape.bin);
        let last = 1.0 - 1.0 / (1u64 << 53) as f64;
        for (word, part) in [(0, 0.0), (1 << 63, 0.5), (u64::MAX, last)] {
            assert_eq!(shape.line(word).offset(), part * bin);
        }
    }
}

/// One cell or many: the clipped sum does not depend on how bins are cut into cells.
#[test]
fn clips_are_rounded_up_to_where_cells_end() {
    for (bin, clip, cells, span) in [
        (10.0, 15.0, 1, 3),
        (10.0, 5.0, 1, 1),
        (1.0, 1.0, 2, 4),
        (1.0, 2.0, 2, 8),
        (10.0, 13.0, 10, 26),
        (10.0, 13.1, 10, 28),
        (1.0, 0.7, 10, 14),
        (1.0, 6.0, 2, 24),
        (0.3, 0.9, 2, 12),
    ] {
        let shape = Bins::new(bin, clip);
        assert_eq!((shape.bin, shape.span), (cells, span), "{bin} {clip}");
        assert!(shape.distance() / 2.0 >= clip * (1.0 - 1e-9));
        assert!(shape.distance() / 2.0 < clip + bin / 10.0 + 1e-9);
        assert!(shape.steps() < 1 << 32);
    }
}

#[test]
fn impossible_symmetric_means_are_refused() {
    let error = |text: &str, eps: f64| match build(text, eps) {
        Err(error) => error,
        Ok(_) => panic!("{text} is not refused"),
    };
    for text in [
        "symmetric(scale=1)",
        "symmetric(scale=1, delta=0)",
        "symmetric(scale=1, delta=1e-6, rho=0.1)",
        "symmetric_known_n(scale=1, mu=1, n=10)",
    ] {
        let error = error(text, 1.0);
        assert_eq!(error.argument, "mech");
        assert!(error.message.contains("cannot exist"), "{text}: {error}");
        assert!(error.hint.contains("delta above 0"), "{}", error.hint);
    }
    // Who gives rho writes NULL for eps, as everywhere.
    let arguments = Arguments {
        bounds: Some((None, None)),
        mechanism: MechanismArgument::Given(Some("symmetric(scale=1, rho=0.1)")),
        ..Arguments::default()
    };
    let refused = MEAN.build(&arguments).err().unwrap();
    assert!(refused.message.contains("cannot exist"), "{refused}");
    for (text, word) in [
        ("symmetric(delta=1e-6)", "spread"),
        ("symmetric(delta=1, scale=1)", "delta"),
        ("symmetric(delta=1e-6, scale=0)", "scale"),
        ("symmetric(delta=1e-6, scale=-1)", "scale"),
        ("symmetric(delta=1e-6, scale=1, bin=0.01)", "bin"),
        ("symmetric(delta=1e-6, scale=1, bin=1000.5)", "bin"),
        ("symmetric(delta=1e-6, scale=1, clip=1)", "clip"),
        ("symmetric(delta=1e-6, scale=1, bin=1, clip=6.5)", "clip"),
        ("symmetric(delta=1e-6, scale=1, share=1)", "share"),
        ("symmetric_known_n(delta=1e-6, scale=1)", "how many rows"),
        ("symmetric_known_n(delta=1e-6, scale=1, n=0)", "n"),
    ] {
        let error = error(text, 1.0);
        assert!(error.message.contains(word), "{text}: {error}");
    }
    assert_eq!(
        error("symmetric(delta=1e-6, scale=1)", 1e-6).argument,
        "eps"
    );
    assert_eq!(
        error("symmetric(delta=1e-300, scale=1)", 0.01).argument,
        "eps"
    );
}
