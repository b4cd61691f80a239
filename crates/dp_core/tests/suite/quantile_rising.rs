//! The walk of `rising`: its law, written down again, is the one that the code follows, and no neighbour changes it by more than
//! epsilon; no draw depends on the rows; how far answers are, where few rows are beyond.

use dp_core::encoding::grid::Bounds;
use dp_core::encoding::ranks::Bins;
use dp_core::error::ParameterError;
use dp_core::mechanism::quantile::above_threshold::Rising;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::{MEDIAN, QUANTILE, QUANTILES};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::ranks::Ranks;

use crate::quantile::{Noting, histograms, totals};
use crate::stats::assert_law;
use crate::words::{Narrow, Seeded};

const QUANTILES_TRIED: [(i128, i128); 7] = [
    (1, 2),
    (2, 3),
    (1, 3),
    (9, 10),
    (1, 10),
    (99, 100),
    (1, 200),
];

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

fn bounds(lo: f64, hi: f64) -> Bounds {
    Bounds::new(Some(lo), Some(hi)).unwrap()
}

/// The probability that the walk over these bins stops at each of them, for the quantile `a / d` at epsilon `e`. The threshold is
/// summed over up to where less than 1e-12 is left.
fn law(counts: &[i128], (a, d): (i128, i128), e: f64) -> Vec<f64> {
    if 2 * a < d {
        let turned: Vec<i128> = counts.iter().rev().copied().collect();
        let mut law = law(&turned, (d - a, d), e);
        law.reverse();
        return law;
    }
    let n: i128 = counts.iter().sum();
    let mut below = 0;
    let scores: Vec<i128> = counts[..counts.len() - 1]
        .iter()
        .map(|c| {
            below += c;
            d * below - a * n
        })
        .collect();
    let [of_threshold, of_end] = [2 * a, 2 * d].map(|scale| e / scale as f64);
    let mut stops = vec![0.0; counts.len()];
    let most = (12.0 * 10f64.ln() / of_threshold).ceil() as i128;
    for threshold in 0..=most {
        let mut reached = -(-of_threshold).exp_m1() * (-of_threshold * threshold as f64).exp();
        for (stop, score) in stops.iter_mut().zip(&scores) {
            // Noise of at least what is missing.
            let p = (-of_end * (threshold - score).max(0) as f64).exp();
            *stop += reached * p;
            reached *= 1.0 - p;
        }
        stops[counts.len() - 1] += reached;
    }
    stops
}

/// With either noise for twice its share a loss would be above epsilon.
#[test]
fn no_row_changes_where_the_walk_stops_by_more_than_epsilon() {
    for (a, d) in QUANTILES_TRIED {
        for e in [0.5, 3.0] {
            let mut worst = 0.0f64;
            for bins in 1..=4 {
                for counts in histograms(bins, if bins < 4 { 4 } else { 2 }) {
                    let one = law(&counts, (a, d), e);
                    assert!((one.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                    for bin in 0..counts.len() {
                        let mut more = counts.clone();
                        more[bin] += 1;
                        for (p, q) in one.iter().zip(law(&more, (a, d), e)) {
                            // What is left out of the sum could weigh in what is smaller.
                            if p.min(q) > 1e-7 {
                                worst = worst.max((p / q).ln().abs());
                            }
                        }
                    }
                }
            }
            let part = worst / e;
            println!("{a}/{d} at {e}: {part:.4} of it");
            assert!(part <= 1.0 + 1e-5, "{a}/{d} {e}: {part}");
            assert!(part > 0.5, "{a}/{d} {e}: {part}");
        }
    }
}

/// The code on some tables, on words of 64 bits and of 3.
#[test]
fn the_walk_follows_the_law_that_the_proof_is_about() {
    const DRAWS: u64 = 100_000;
    for counts in [
        vec![0, 0],
        vec![3, 0, 1],
        vec![5, 2, 0, 9],
        vec![0, 40, 1, 1, 0],
    ] {
        for (a, d) in [(1, 2), (9, 10), (1, 4)] {
            let bins = Bins::linear(&bounds(0.0, 1.0), counts.len());
            let rising = Rising::new(bins, a as f64 / d as f64, epsilon(1.5));
            let (expected, totals) = (law(&counts, (a, d), 1.5), totals(&counts));
            let mut wide = Seeded::new(31);
            let mut narrow = Narrow::<3>(Seeded::new(32));
            let mut seen = [vec![0; counts.len()], vec![0; counts.len()]];
            let last = counts.len() as f64;
            // The far end of a bin, on the way.
            let bin = |answer: f64| {
                let ends = (answer * last).round() as usize;
                if 2 * a < d { ends } else { ends - 1 }
            };
            for _ in 0..DRAWS {
                seen[0][bin(rising.release_from(&totals, &mut wide))] += 1;
            }
            for _ in 0..DRAWS / 4 {
                seen[1][bin(rising.release_from(&totals, &mut narrow))] += 1;
            }
            for (seen, draws) in seen.into_iter().zip([DRAWS, DRAWS / 4]) {
                let cells = seen.into_iter().zip(expected.iter().copied());
                assert_law(&format!("{counts:?} {a}/{d}"), draws, cells);
            }
        }
    }
}

/// As many words and as many noisy numbers, with the same noise, whatever the rows are.
#[test]
fn all_noise_is_drawn_wherever_the_walk_stops() {
    for q in [0.99, 0.01] {
        let rising = Rising::new(Bins::linear(&bounds(0.0, 1.0), 500), q, epsilon(1.0));
        let drawn = [0, 1, 250, 499].map(|bin| {
            let mut counts = vec![0; 500];
            counts[bin] = 1000;
            let mut bits = Noting::new(Seeded::new(5));
            rising.release_from(&totals(&counts), &mut bits);
            let noise: Vec<i128> = bits
                .notes
                .iter()
                .map(|(exact, noisy)| noisy - exact[0])
                .collect();
            (bits.drawn, noise)
        });
        for one in &drawn {
            assert_eq!(one, &drawn[0]);
            assert!(cfg!(not(feature = "testing")) || one.1.len() == 499);
        }
    }
}

/// Multiples of a step are answers themselves; of one bin there is one answer.
#[test]
fn answers_are_ends_of_bins_and_steps() {
    let mut words = Seeded::new(8);
    let steps = Bins::steps(&bounds(-2.0, 7.0), 1.0).unwrap();
    let counts: Vec<i128> = (0..10).map(|bin| if bin == 4 { 5000 } else { 0 }).collect();
    for q in [0.1, 0.5, 0.9] {
        let answer = Rising::new(steps, q, epsilon(1.0)).release_from(&totals(&counts), &mut words);
        assert_eq!(answer, 2.0, "{q}");
    }
    let one = Bins::steps(&bounds(3.0, 3.5), 3.0).unwrap();
    assert_eq!(
        Rising::new(one, 0.9, epsilon(1.0)).release_from(&totals(&[7]), &mut words),
        3.0
    );
    // A state that is shorter than it should be.
    let bins = Bins::linear(&bounds(0.0, 1.0), 5);
    for (q, ends) in [(0.9, [0.2, 1.0]), (0.1, [0.0, 0.8])] {
        let answer = Rising::new(bins, q, epsilon(1.0)).release_from(&totals(&[]), &mut words);
        assert!(ends[0] <= answer && answer <= ends[1]);
    }
}

fn arguments<'a>(
    bounds: (f64, f64),
    ranks: Option<Ranks<'a>>,
    epsilon: Option<f64>,
    text: &'a str,
) -> Arguments<'a> {
    Arguments {
        bounds: Some((Some(bounds.0), Some(bounds.1))),
        ranks,
        epsilon,
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    }
}

#[test]
fn parameters_are_checked_and_the_cost_is_that_of_pure_privacy() {
    let median = |text: &str| {
        let arguments = arguments((0.0, 100.0), None, Some(1.0), text);
        (MEDIAN.cost(&arguments), MEDIAN.build(&arguments))
    };
    for text in [
        "rising",
        "rising(grid=linear, bins=2)",
        "rising(bins=65536)",
        "rising(step=0.5, rows=3)",
    ] {
        let (cost, mechanism) = median(text);
        let (cost, rho) = (cost.unwrap(), 0.5f64.tanh());
        assert!(
            mechanism.is_ok() && cost.rho >= rho && cost.rho < rho * (1.0 + 1e-9),
            "{text}"
        );
        assert_eq!(
            (cost.epsilon, cost.delta, cost.mu),
            (Some(1.0), Some(0.0), None)
        );
    }
    for text in [
        "rising(bins=63)",
        "rising(bins=1, grid=linear)",
        "rising(rho=1)",
        "rising(step=1, bins=9)",
    ] {
        let ParameterError { argument, .. } = median(text).1.err().unwrap();
        assert_eq!(argument, "mech", "{text}");
    }
    // Half as far, and in 64 bins for each power of two.
    assert_eq!(median("rising").1.unwrap().bins().count(), 64 * 32 + 1);
    let qs = [Some(0.5)];
    let many = arguments((0.0, 1.0), Some(Ranks::Many(&qs)), Some(1.0), "rising");
    assert_eq!(
        QUANTILES.build(&many).err().unwrap().message,
        "is not a mechanism of dp_quantiles"
    );
}

/// Rows and groups of a person share epsilon.
#[test]
fn rows_and_groups_of_a_person_share_epsilon() {
    let counts = [5, 2, 0, 9];
    let arguments = arguments(
        (0.0, 1.0),
        Some(Ranks::One(Some(0.9))),
        Some(6.0),
        "rising(grid=linear, bins=4, rows=3, groups=2)",
    );
    let rising = QUANTILE.build(&arguments).unwrap();
    let mut bits = Generator::from_seed(4);
    let mut seen = [0; 4];
    for _ in 0..50_000 {
        let answer = rising.release(&totals(&counts), &mut bits)[0];
        seen[(answer * 4.0).round() as usize - 1] += 1;
    }
    assert_law(
        "shared",
        50_000,
        seen.into_iter().zip(law(&counts, (9, 10), 1.0)),
    );
}

/// The middle and the largest of the distances between answers and the quantile of a table of 1,000 rows with a heavy tail, in widths
/// of the middle half of its rows: a million between the bounds, eps 1.
fn distances(q: f64, sign: f64, text: &str) -> [f64; 2] {
    const TABLES: usize = 200;
    let lo = (sign * 1e6).min(0.0);
    let ranks = Some(Ranks::One(Some(q)));
    let arguments = arguments((lo, lo + 1e6), ranks, Some(1.0), text);
    let mechanism = QUANTILE.build(&arguments).unwrap();
    let mut bits = Generator::from_seed(21);
    let mut row = || {
        let unit = ((bits.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        sign * (unit.powf(-1.0 / 1.2) - 1.0)
    };
    let tables: Vec<Vec<f64>> = (0..TABLES)
        .map(|_| (0..1000).map(|_| row()).collect())
        .collect();
    let distance = |mut rows: Vec<f64>| {
        rows.sort_by(f64::total_cmp);
        let mut counts = vec![0; mechanism.bins().count()];
        for x in &rows {
            counts[mechanism.bins().bin(*x)] += 1;
        }
        let answer = mechanism.release(&totals(&counts), &mut bits)[0];
        (answer - rows[(q * 1000.0) as usize]).abs() / (rows[750] - rows[250])
    };
    let mut found: Vec<f64> = tables.into_iter().map(distance).collect();
    found.sort_by(f64::total_cmp);
    let [middle, largest] = [found[TABLES / 2], found[TABLES - 1]];
    let mean = found.iter().sum::<f64>() / TABLES as f64;
    println!(
        "q = {q}, {text}: {mean:.1} on average, the middle one {middle:.1}, the largest {largest:.1}"
    );
    [middle, largest]
}

/// Ten rows are beyond. The exponential mechanism goes to the bound now and then, the walk never: from either side.
#[test]
fn a_walk_does_not_run_away_to_a_bound() {
    for (q, sign) in [(0.99, 1.0), (0.01, -1.0)] {
        for text in ["em", "em(grid=log)"] {
            let [_, largest] = distances(q, sign, text);
            assert!(largest > 10_000.0, "{text} {q}: {largest}");
        }
        let [middle, largest] = distances(q, sign, "rising");
        assert!(middle < 10.0 && largest < 100.0, "{q}: {middle} {largest}");
    }
}
