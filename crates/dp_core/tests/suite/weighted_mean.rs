//! Weighted means: what a row moves, the noise, what is answered, how often intervals miss, errors.

use dp_core::encoding::grid::{Bounds, PAIR_STEPS};
use dp_core::encoding::pairs::PairMoments;
use dp_core::estimate::WeightedMeans;
use dp_core::mechanism::bivariate::weighted_laplace::Weighted;
use dp_core::mechanism::definition::Mechanism;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::registry::{Factory, WEIGHTED_MEAN};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::checked::Overspent;
use dp_core::sampler::discrete_laplace::DiscreteLaplace;

use crate::stats::Z_ALPHA;
use crate::words::Seeded;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

fn bounds(lo: f64, hi: f64) -> Bounds {
    Bounds::new(Some(lo), Some(hi)).unwrap()
}

/// Of values from 0 to 1 and weights between these ends.
fn weighted(weights: [f64; 2], steps: u64, eps: f64) -> Weighted {
    let [lo, hi] = weights;
    Weighted::new([bounds(0.0, 1.0), bounds(lo, hi)], steps, epsilon(eps))
}

/// The least weight may be none, a part that is exact, one that is rounded, and nearly all.
const WEIGHTS: [[f64; 2]; 5] = [
    [0.0, 1.0],
    [0.0, 7.5],
    [1.0, 4.0],
    [1.0, 3.0],
    [0.999_999, 1.0],
];

/// How much wider the noise is than for rows that are not rounded.
fn rounded([least, _]: [f64; 2]) -> u64 {
    if least > 0.0 { 2 } else { 0 }
}

/// All rows on all small grids, beside rows with all remainders that sums may be rounded from: the loss of a row more is the
/// sum of what it moves the two sums by, times epsilon over the scale of the noise.
#[test]
fn on_every_small_grid_it_is_private_and_tight() {
    let words = &mut Seeded::new(7101);
    for steps in 1..=24u64 {
        for weights in WEIGHTS {
            let mechanism = weighted(weights, steps, 1.0);
            let scale = (steps * steps + rounded(weights)) as f64;
            let mut worst = 0.0f64;
            for _ in 0..8 {
                let mut rows = PairMoments::default();
                for _ in 0..words.word() % 4 {
                    rows.add([words.word() % (steps + 1), words.word() % (steps + 1)]);
                }
                let before = mechanism.sums(&rows);
                for y in 0..=steps {
                    for x in 0..=steps {
                        let mut more = rows;
                        more.add([y, x]);
                        let after = mechanism.sums(&more);
                        let moved = [0, 1].map(|i| (after[i] - before[i]).abs());
                        let [low, high] = moved;
                        worst = worst.max((low + high) as f64 / scale);
                    }
                }
            }
            assert!(worst <= 1.0, "{steps} {weights:?}: {worst}");
            // Two numbers that are rounded down lose up to 1 each.
            let least = 1.0 - 2.0 * rounded(weights) as f64 / scale;
            assert!(worst >= least, "{steps} {weights:?}: {worst}");
        }
    }
}

/// From one seed both draw the same: the noise is of the scale that the proof is about, on both sums.
#[test]
fn the_noise_is_that_of_the_sensitivity() {
    for weights in WEIGHTS {
        for (steps, eps) in [(1u64, 1.0), (100, 0.3), (PAIR_STEPS, 2.5)] {
            let noise = DiscreteLaplace::new(steps * steps + rounded(weights), epsilon(eps));
            for rows in [
                PairMoments::default(),
                PairMoments::of_rows([steps, steps / 2], 7),
            ] {
                let mechanism = weighted(weights, steps, eps);
                let noisy = mechanism.noisy(&rows, &mut Seeded::new(9));
                let mut words = Seeded::new(9);
                let sums = mechanism.sums(&rows);
                let expected = sums.map(|sum| sum + noise.draw(&mut words));
                assert_eq!(noisy, expected, "{weights:?} {steps}");
            }
        }
    }
}

fn uniform(words: &mut Seeded) -> f64 {
    ((words.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Rows: values, and weights as parts of the way between their bounds.
struct World {
    name: &'static str,
    row: fn(&mut Seeded) -> [f64; 2],
}

const WORLDS: [World; 5] = [
    World {
        name: "of equal weight",
        row: |words| [uniform(words), 1.0],
    },
    World {
        name: "of skewed weight",
        row: |words| {
            let weight = (-uniform(words).ln() / 5.0).min(1.0);
            [uniform(words) * weight, weight]
        },
    },
    World {
        name: "of no weight but for some",
        row: |words| {
            let counts = f64::from(u8::from(uniform(words) < 0.1));
            [0.2 + 0.5 * counts * uniform(words), counts]
        },
    },
    World {
        name: "yes and no",
        row: |words| {
            let yes = f64::from(u8::from(uniform(words) < 0.3));
            [yes, 0.25 + yes / 2.0]
        },
    },
    World {
        name: "at an end",
        row: |words| [0.0, uniform(words)],
    },
];

/// Rows of a law on the grid, and their weighted mean.
fn draw(world: &World, n: usize, [lo, hi]: [f64; 2], words: &mut Seeded) -> (PairMoments, f64) {
    let mut rows = PairMoments::default();
    let (mut above, mut all) = (0.0, 0.0);
    for _ in 0..n {
        let [y, x] = (world.row)(words);
        let steps = [y, x].map(|place| (place * PAIR_STEPS as f64).round() as u64);
        rows.add(steps);
        let weight = lo + (hi - lo) * x;
        above += weight * y;
        all += weight;
    }
    (rows, if all > 0.0 { above / all } else { 0.5 })
}

#[test]
fn at_a_large_eps_it_is_the_weighted_mean() {
    let words = &mut Seeded::new(7102);
    for weights in WEIGHTS {
        for world in &WORLDS {
            let (rows, mean) = draw(world, 5000, weights, words);
            let values = bounds(-3.0, 7.0);
            let [lo, hi] = weights;
            let mechanism = Weighted::new([values, bounds(lo, hi)], PAIR_STEPS, epsilon(50.0));
            let answer = mechanism.release_from(&rows, words);
            let expected = -3.0 + 10.0 * mean;
            assert!(
                (answer.mean - expected).abs() < 0.02,
                "{weights:?} {}: {answer:?} {expected}",
                world.name
            );
            let x = rows.x as f64 / PAIR_STEPS as f64;
            let weight = lo * 5000.0 + (hi - lo) * x;
            assert!((answer.weight - weight).abs() < hi, "{answer:?} {weight}");
        }
    }
    // Nothing is known of no rows: any answer is between the bounds.
    for _ in 0..100 {
        let answer =
            weighted([0.0, 1.0], PAIR_STEPS, 0.5).release_from(&PairMoments::default(), words);
        assert!((0.0..=1.0).contains(&answer.mean), "{answer:?}");
    }
}

/// How often intervals miss the mean of the rows: of each setting no more often than they may, at level `ALPHA`.
#[test]
fn intervals_hold_the_weighted_mean_of_the_rows() {
    const MISS: f64 = 0.05;
    const RELEASES: usize = 400;
    let words = &mut Seeded::new(7103);
    let (mut missed, mut all, mut free_missed, mut free) = (0.0, 0.0, 0.0, 0.0);
    for weights in [[0.0, 1.0], [1.0, 3.0]] {
        for eps in [0.06, 0.3, 1.0, 4.0] {
            let mechanism = weighted(weights, PAIR_STEPS, eps);
            let intervals = mechanism.intervals(MISS).unwrap();
            for world in &WORLDS {
                for n in [0, 1, 50, 200, 2000, 20_000] {
                    let (rows, mean) = draw(world, n, weights, words);
                    let (mut own, mut inside) = (0.0, true);
                    for _ in 0..RELEASES {
                        let answer = mechanism.release_from(&rows, words);
                        let [lower, upper] = intervals(&answer);
                        assert!(lower <= answer.mean && answer.mean <= upper, "{answer:?}");
                        own += f64::from(u8::from(mean < lower || mean > upper));
                        inside &= lower > 0.0 && upper < 1.0;
                    }
                    let releases = RELEASES as f64;
                    let most = releases * MISS + Z_ALPHA * (releases * MISS * (1.0 - MISS)).sqrt();
                    assert!(
                        own <= most,
                        "{weights:?}, eps {eps}, {n} rows {}: {own} of {releases}",
                        world.name
                    );
                    missed += own;
                    all += releases;
                    if inside {
                        free_missed += own;
                        free += releases;
                    }
                }
            }
        }
    }
    let [share, free_share] = [missed / all, free_missed / free];
    println!("missed {share:.4} of {all}, {free_share:.4} of {free} between the bounds");
    assert!(share <= 0.05 && (0.03..=0.055).contains(&free_share));
}

#[test]
fn arguments_are_checked() {
    let arguments = |xlo, text| Arguments {
        bounds: Some((Some(0.0), Some(1.0))),
        x_bounds: Some((Some(xlo), Some(2.0))),
        epsilon: Some(1.0),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    let error = |xlo, text| {
        let built = WEIGHTED_MEAN.build(&arguments(xlo, text));
        built.err().map(|error| (error.argument, error.message))
    };
    assert_eq!(error(0.0, "laplace"), None);
    assert_eq!(error(0.5, "laplace(rows=2)"), None);
    let (argument, message) = error(-1e-9, "laplace").unwrap();
    assert!(
        argument == "xlo" && message.starts_with("must be at least 0"),
        "{message}"
    );
    assert_eq!(error(3.0, "laplace").unwrap().0, "xhi");
    assert_eq!(error(0.0, "gaussian(mu=1)").unwrap().0, "mech");
    for bad in [None, Some(0.0), Some(1.0)] {
        let made = WeightedMeans.make(&arguments(0.0, "laplace"), Some(bad), Overspent::NOT);
        assert_eq!(made.err().map(|error| error.argument), Some("confidence"));
    }
}
