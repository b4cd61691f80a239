//! Distribution functions: what a row moves, the law of the noise, consistency as least squares, rising numbers as the nearest
//! ones, errors.

use dp_core::encoding::buckets::Buckets;
use dp_core::encoding::grid::Bounds;
use dp_core::encoding::sums::Totals;
use dp_core::error::ParameterError;
use dp_core::mechanism::cdf::consistent::{best_branches, leaves, rising};
use dp_core::mechanism::cdf::tree::Cdf;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::registry::CDF;
use dp_core::request::arguments::{Arguments, MechanismArgument};

use crate::quantile::{histograms, totals};
use crate::stats::assert_law;
use crate::words::Seeded;

fn cdf(points: usize, e: f64) -> Cdf {
    let bounds = Bounds::new(Some(0.0), Some(1.0)).unwrap();
    let cells = Buckets::points(&bounds, Some(points)).unwrap();
    Cdf::new(cells, Epsilon::new(Some(e)).unwrap())
}

/// Words of a seed, and what was noted.
struct Noting {
    words: Seeded,
    notes: Vec<(i128, i128)>,
}

impl Noting {
    fn new(seed: u64) -> Self {
        Self {
            words: Seeded::new(seed),
            notes: Vec::new(),
        }
    }
}

impl Bits for Noting {
    const WIDTH: u32 = 64;

    fn word(&mut self) -> u64 {
        self.words.word()
    }

    #[cfg(feature = "testing")]
    fn note(&mut self, exact: &[i128], noisy: i128) -> i128 {
        self.notes.push((exact[0], noisy));
        noisy
    }
}

/// The nodes of each level, from the leaves on, that a tree of that many leaves has.
fn nodes(leaves: usize) -> Vec<usize> {
    let branches = best_branches(leaves);
    let mut nodes = vec![leaves];
    while nodes[nodes.len() - 1] > branches {
        nodes.push(nodes[nodes.len() - 1].div_ceil(branches));
    }
    nodes
}

/// What the noise is put on: of each level one count moves by 1 with a row, and there are as many levels as shares of epsilon.
#[cfg(feature = "testing")]
#[test]
fn a_row_moves_one_count_of_each_level_by_1() {
    for points in [1, 2, 16, 17, 64, 256, 257, 5000] {
        let mechanism = cdf(points, 1.0);
        let exact = |counts: &[i128]| -> Vec<i128> {
            let mut words = Noting::new(1);
            mechanism.release_from(&totals(counts), &mut words);
            words.notes.iter().map(|(exact, _)| *exact).collect()
        };
        let mut counts: Vec<i128> = (0..points).map(|i| (i * 7 % 5) as i128).collect();
        let before = exact(&counts);
        let levels = nodes(points);
        assert_eq!(before.len(), levels.iter().sum::<usize>());
        for row in [0, points / 3, points - 1] {
            counts[row] += 1;
            let after = exact(&counts);
            counts[row] -= 1;
            let (mut from, mut node) = (0, row);
            for many in &levels {
                for i in 0..*many {
                    let moved = after[from + i] - before[from + i];
                    assert_eq!(moved, i128::from(i == node), "{points} {row}");
                }
                from += many;
                node /= best_branches(points);
            }
        }
    }
}

/// The noise on each count of each level, at a share of epsilon; so the shares times the one count that moves are epsilon.
#[cfg(feature = "testing")]
#[test]
fn the_noise_of_each_level_follows_the_law_that_the_proof_is_about() {
    const DRAWS: u64 = 20_000;
    for points in [3, 64, 257] {
        let e = 1.8;
        let levels = nodes(points);
        let mechanism = cdf(points, e);
        let counts = vec![2; points];
        let mut seen = vec![[0u64; 81]; levels.len()];
        let mut words = Noting::new(points as u64);
        for _ in 0..DRAWS / points as u64 + 1 {
            mechanism.release_from(&totals(&counts), &mut words);
        }
        let all: usize = levels.iter().sum();
        for notes in words.notes.chunks(all) {
            let mut from = 0;
            for (level, many) in levels.iter().enumerate() {
                for (exact, noisy) in &notes[from..from + many] {
                    if let Some(seen) = seen[level].get_mut((noisy - exact + 40) as usize) {
                        *seen += 1;
                    }
                }
                from += many;
            }
        }
        let ratio = (-e / levels.len() as f64).exp();
        let geometric = |k: i32| (1.0 - ratio) / (1.0 + ratio) * ratio.powi(k.abs());
        let releases = (words.notes.len() / all) as u64;
        for (seen, many) in seen.into_iter().zip(&levels) {
            let cells = seen.into_iter().zip((-40..=40).map(geometric));
            assert_law(&format!("{points} {many}"), releases * *many as u64, cells);
        }
    }
}

/// On all small histograms: the law of all counts together, of neighbours. It is a product of geometric laws.
#[test]
fn no_row_changes_the_counts_by_more_than_epsilon() {
    // A tree of 64 leaves has 2 levels; the rows are in 3 of the leaves, two of them below one node.
    let (e, levels) = (1.0, 2.0);
    let mut worst = 0.0f64;
    for rows in histograms(3, 2) {
        let of_levels = |rows: &[i128]| [rows[0], rows[1], rows[2], rows[0] + rows[1], rows[2]];
        for row in 0..3 {
            let mut more = rows.clone();
            more[row] += 1;
            let [one, other] = [of_levels(&rows), of_levels(&more)];
            // The largest ratio of geometric laws is where the noisy count is beyond both.
            let loss = one
                .iter()
                .zip(other)
                .map(|(one, other)| (other - one).abs() as f64 * e / levels);
            worst = worst.max(loss.sum());
        }
    }
    assert!((worst - e).abs() < 1e-12, "{worst}");
}

/// Of the guesses that add up, those with the least squares: then the errors of the counts above each leaf add up to 0.
#[test]
fn consistent_counts_are_those_of_least_squares() {
    let mut words = Seeded::new(3);
    for points in [1, 5, 16, 17, 64, 100, 256, 300, 1000, 4097] {
        let levels: Vec<Vec<i64>> = nodes(points)
            .into_iter()
            .map(|many| {
                (0..many)
                    .map(|_| (words.word() % 1000) as i64 - 300)
                    .collect()
            })
            .collect();
        let found = leaves(&levels, best_branches(points));
        assert_eq!(found.len(), points);
        // The errors of all nodes, from the guesses of the leaves.
        let mut guesses = found;
        let mut errors: Vec<Vec<f64>> = Vec::new();
        for counts in &levels {
            let pairs = counts.iter().zip(&guesses);
            errors.push(pairs.map(|(count, guess)| *count as f64 - guess).collect());
            guesses = guesses
                .chunks(best_branches(points))
                .map(|nodes| nodes.iter().sum())
                .collect();
        }
        for leaf in 0..points {
            let mut node = leaf;
            let above = errors.iter().map(|errors| {
                let error = errors[node];
                node /= best_branches(points);
                error
            });
            let sum: f64 = above.sum();
            assert!(sum.abs() < 1e-6, "{points} {leaf}: {sum}");
        }
    }
}

/// By the formula of minima and maxima: the largest over starts of the least over ends of the means in between.
#[test]
fn rising_numbers_are_the_nearest_ones() {
    let mut words = Seeded::new(4);
    for length in [0, 1, 2, 3, 10, 30] {
        for _ in 0..50 {
            let numbers: Vec<f64> = (0..length)
                .map(|_| (words.word() % 21) as f64 - 6.0)
                .collect();
            let found = rising(&numbers);
            assert!(found.is_sorted() && found.len() == length);
            for (i, found) in found.iter().enumerate() {
                let mean = |from: usize, to: usize| {
                    numbers[from..=to].iter().sum::<f64>() / (to - from + 1) as f64
                };
                let least = |from: usize| {
                    (i..length)
                        .map(|to| mean(from, to))
                        .fold(f64::INFINITY, f64::min)
                };
                let wanted = (0..=i)
                    .map(least)
                    .fold(f64::NEG_INFINITY, f64::max)
                    .max(0.0);
                assert!((found - wanted).abs() < 1e-9, "{numbers:?}");
            }
        }
    }
}

/// At eps 50 the answers are the parts; and they rise from 0 to 1 whatever the rows are.
#[test]
fn answers_are_parts_of_the_rows() {
    let mut words = Seeded::new(5);
    for points in [1usize, 2, 16, 64, 1000] {
        let counts: Vec<i128> = (0..points).map(|i| 1_000 + (i % 7) as i128 * 500).collect();
        let all: i128 = counts.iter().sum();
        let answers = cdf(points, 50.0).release_from(&totals(&counts), &mut words);
        let mut below = 0;
        for (count, answer) in counts.iter().zip(&answers) {
            below += count;
            let part = below as f64 / all as f64;
            assert!((answer - part).abs() < 0.01, "{points}: {answer} {part}");
        }
        for rows in [0, 1, 3] {
            for e in [0.01, 1.0] {
                let mut few = vec![0; points];
                few[points / 2] = rows;
                let answers = cdf(points, e).release_from(&totals(&few), &mut words);
                assert!(answers.len() == points && answers.is_sorted());
                assert!(
                    answers[0] >= 0.0 && answers[points - 1] == 1.0,
                    "{answers:?}"
                );
            }
        }
    }
}

/// The root mean squared error of a part of many rows at eps 1, in rows: of independent counts it would be far more.
#[test]
fn errors_are_those_of_a_tree_with_consistency() {
    const RELEASES: u64 = 60;
    let (points, rows) = (4096usize, 1000i128);
    let counts = vec![rows; points];
    let all = rows as f64 * points as f64;
    let mechanism = cdf(points, 1.0);
    let mut words = Seeded::new(6);
    let mut squares = 0.0;
    for _ in 0..RELEASES {
        let answers = mechanism.release_from(&totals(&counts), &mut words);
        let errors = answers.iter().enumerate().map(|(i, answer)| {
            let exact = (i + 1) as f64 / points as f64;
            ((answer - exact) * all).powi(2)
        });
        squares += errors.sum::<f64>() / points as f64 / RELEASES as f64;
    }
    let error = squares.sqrt();
    println!("off by {error:.1} rows");
    assert!(error > 10.5 && error < 13.5, "{error}");
}

#[test]
fn numbers_of_points_are_checked() {
    let build = |length, text| {
        let arguments = Arguments {
            bounds: Some((Some(0.0), Some(1.0))),
            epsilon: Some(1.0),
            length,
            mechanism: MechanismArgument::Given(Some(text)),
            ..Arguments::default()
        };
        CDF.build(&arguments).err()
    };
    for bad in [None, Some(0), Some(100_001)] {
        let ParameterError {
            argument, message, ..
        } = build(bad, "tree").unwrap();
        assert_eq!(argument, "points");
        assert!(message.starts_with("must be a number from 1 to 100000"));
    }
    for good in [1, 100_000] {
        assert_eq!(build(Some(good), "tree(rows=3)"), None);
    }
    assert_eq!(build(Some(9), "geometric").unwrap().argument, "mech");
}

/// What the state lacks is 0, as of a group without rows.
#[test]
fn no_rows_are_all_counts_of_0() {
    let mechanism = cdf(40, 1.0);
    let [one, other] = [Vec::new(), vec![0; 40]]
        .map(|s| mechanism.release_from(&Totals { n: 0, s }, &mut Seeded::new(7)));
    assert_eq!(one, other);
}
