//! Privacy by enumeration: all neighbours, all outputs in a window.
//!
//! A mechanism adds noise to a pair (or a number), so the ratio of an output's probabilities for
//! two neighbours is that of the noise's distribution at two points one neighbour's move apart. The distributions
//! have the form `e^-loss(point)` with a constant factor that cancels. Outside the window they
//! repeat: every loss here is, away from the axes, the same after a move by a whole unit
//! of sensitivity but for a constant.

use dp_core::encoding::contribution::PersonRows;
use dp_core::encoding::grid::Bounds;
use dp_core::encoding::sums::Sums;
use dp_core::mechanism::count::geometric::Geometric;
use dp_core::mechanism::mean::hourglass::Hourglass;
use dp_core::mechanism::mean::independent::Independent;
use dp_core::mechanism::mean::laplace::Laplace;
use dp_core::mechanism::mean::pair::Complement;
use dp_core::mechanism::mean::shifted::Shifted;
use dp_core::mechanism::mean::staircase::Staircase;
use dp_core::mechanism::sum;
use dp_core::privacy::epsilon::Epsilon;

use crate::distribution;
use crate::words::Seeded;

const EPSILONS: [f64; 4] = [0.1, 1.0, 2.5, 8.0];
const MOST_STEPS: i64 = 8;
/// Units of sensitivity that the window reaches on each side.
const UNITS: i64 = 6;

type Point = (i64, i64);

/// The largest ratio of probabilities over all points of the window and all moves, each made
/// forwards and backwards.
fn worst(epsilon: f64, steps: i64, moves: &[Point], loss: impl Fn(Point) -> f64) -> f64 {
    let reach = UNITS * steps;
    let mut worst = f64::NEG_INFINITY;
    for x in -reach..=reach {
        for y in -reach..=reach {
            let here = loss((x, y));
            for (dx, dy) in moves {
                worst = worst.max(here - loss((x + dx, y + dy)));
                worst = worst.max(here - loss((x - dx, y - dy)));
            }
        }
    }
    (worst * epsilon).exp()
}

fn assert_tight(what: &str, epsilon: f64, ratio: f64) {
    let bound = epsilon.exp();
    assert!(
        ratio <= bound * (1.0 + 1e-12),
        "{what}: {ratio} is above {bound}"
    );
    assert!(
        ratio >= bound * (1.0 - 1e-12),
        "{what}: {ratio} leaves some of {bound} unused"
    );
}

/// Moves of the pair (sum, complement): one row of each number of steps.
fn complement(steps: i64) -> Vec<Point> {
    (0..=steps).map(|t| (t, steps - t)).collect()
}

/// Moves of the pair (sum, number of rows).
fn counted(steps: i64) -> Vec<Point> {
    (0..=steps).map(|t| (t, 1)).collect()
}

fn shapes() -> impl Iterator<Item = (f64, i64, i64)> {
    let shape = |epsilon| {
        (1..=MOST_STEPS).flat_map(move |steps| (1..=steps).map(move |core| (epsilon, steps, core)))
    };
    EPSILONS.into_iter().flat_map(shape)
}

#[test]
fn hourglass_is_private_and_tight() {
    for (epsilon, steps, core) in shapes() {
        let loss = |(x, k)| distribution::hourglass(x, k, steps, core) as f64;
        let ratio = worst(epsilon, steps, &counted(steps), loss);
        assert_tight(&format!("hourglass {steps} {core}"), epsilon, ratio);
        // The same in the coordinates of the two sums: the second is G k - x.
        let loss = |(x, y): Point| match (x + y) % steps {
            0 => distribution::hourglass(x, (x + y) / steps, steps, core) as f64,
            _ => 0.0,
        };
        let on_lattice = |(x, y): Point| (x + y) % steps == 0;
        let reach = UNITS * steps;
        for x in -reach..=reach {
            for y in (-reach..=reach).filter(|y| on_lattice((x, *y))) {
                for (dx, dy) in complement(steps) {
                    assert!((loss((x, y)) - loss((x + dx, y + dy))).abs() <= 1.0);
                }
            }
        }
    }
}

/// All that persons with up to that many rows may contribute, as moves of the pair (sum, number of rows).
fn contributed(rows: usize, steps: i64, k: u32) -> Vec<Point> {
    let mut moves = Vec::new();
    let mut people = vec![PersonRows::default()];
    for _ in 0..rows {
        let with_one_more = |person: &PersonRows| {
            let person = *person;
            (0..=steps).map(move |t| {
                let mut more = person;
                more.add(t as u64);
                more
            })
        };
        people = people.iter().flat_map(with_one_more).collect();
        for person in &people {
            let given = person.contribution_of_steps(k, steps as u64).unwrap();
            moves.push((given.sum() as i64, i64::from(given.rows())));
        }
    }
    moves.sort_unstable();
    moves.dedup();
    moves
}

/// A person of up to 5 rows, who counts for at most `k`, against the same table without them.
#[test]
fn a_person_of_many_rows_is_as_private_as_k_rows() {
    for epsilon in EPSILONS {
        for steps in 1..=3 {
            for k in 1..=3u32 {
                let (moves, share) = (contributed(5, steps, k), epsilon / f64::from(k));
                for core in 1..=steps {
                    let loss = |(x, n)| distribution::hourglass(x, n, steps, core) as f64;
                    let ratio = worst(share, steps, &moves, loss);
                    assert_tight(&format!("hourglass {steps} {core} {k}"), epsilon, ratio);
                }
                let moves: Vec<_> = moves.iter().map(|(s, n)| (*s, steps * n - s)).collect();
                let loss = |(x, y): Point| (x.abs() + y.abs()) as f64 / steps as f64;
                let ratio = worst(share, steps, &moves, loss);
                assert_tight(&format!("laplace {steps} {k}"), epsilon, ratio);
            }
        }
    }
    // Rows that are not scaled down are too many for the same share.
    let (moves, share) = (contributed(5, 2, 5), 1.0 / 3.0);
    let loss = |(x, n)| distribution::hourglass(x, n, 2, 1) as f64;
    assert!(worst(share, 2, &moves, loss) > 1.0f64.exp() * 1.5);
}

#[test]
fn laplace_is_private_and_tight() {
    for epsilon in EPSILONS {
        for steps in 1..=MOST_STEPS {
            let loss = |(x, y): Point| (x.abs() + y.abs()) as f64 / steps as f64;
            let ratio = worst(epsilon, steps, &complement(steps), loss);
            assert_tight(&format!("laplace {steps}"), epsilon, ratio);
        }
    }
}

#[test]
fn staircases_are_private_and_tight() {
    for (epsilon, steps, core) in shapes() {
        let loss = |(x, y): Point| distribution::level(x.abs() + y.abs(), steps, core) as f64;
        let ratio = worst(epsilon, steps, &complement(steps), loss);
        assert_tight(
            &format!("staircase of pairs {steps} {core}"),
            epsilon,
            ratio,
        );
        let moves: Vec<Point> = (-steps..=steps).map(|t| (t, 0)).collect();
        let loss = |(x, _): Point| distribution::level(x.abs(), steps, core) as f64;
        let ratio = worst(epsilon, steps, &moves, loss);
        assert_tight(&format!("staircase {steps} {core}"), epsilon, ratio);
    }
}

#[test]
fn baselines_sums_and_counts_are_private_and_tight() {
    for epsilon in EPSILONS {
        for steps in 1..=MOST_STEPS {
            // The number of rows counts in steps too: a row is a whole unit of them.
            let split = |(s, k): Point| (s.abs() + k.abs()) as f64 / (2 * steps) as f64;
            let shifted: Vec<Point> = (0..=steps).map(|t| (2 * t - steps, steps)).collect();
            assert_tight("shifted", epsilon, worst(epsilon, steps, &shifted, split));
            let independent: Vec<Point> = (-steps..=steps).map(|t| (t, steps)).collect();
            assert_tight(
                "independent",
                epsilon,
                worst(epsilon, steps, &independent, split),
            );
            let alone: Vec<Point> = (-steps..=steps).map(|t| (t, 0)).collect();
            let loss = |(s, _): Point| s.abs() as f64 / steps as f64;
            assert_tight("sum", epsilon, worst(epsilon, steps, &alone, loss));
        }
        let loss = |(k, _): Point| k.abs() as f64;
        assert_tight("count", epsilon, worst(epsilon, 8, &[(1, 0)], loss));
    }
}

/// The enumeration must be able to fail: wrong variants of each distribution do break the bound.
#[test]
fn wrong_laws_are_caught() {
    let mut tried = 0;
    for (epsilon, steps, core) in shapes() {
        // At other cores some of the variants are private by accident.
        if core <= 1 || core >= steps || core == (steps + 1) / 2 {
            continue;
        }
        tried += 1;
        let caught = |what: &str, moves: &[Point], loss: &dyn Fn(Point) -> f64| {
            let ratio = worst(epsilon, steps, moves, loss);
            assert!(
                ratio > epsilon.exp() * 1.01,
                "{what} {steps} {core} {epsilon}: {ratio}"
            );
        };
        let with_center = |center: &dyn Fn(i64) -> i64, (x, k): Point| {
            (distribution::level(x.abs(), steps, core) + (k - center(x)).abs()) as f64
        };
        let rows = counted(steps);
        caught("hourglass without a core", &rows, &|(x, k)| {
            // Where 0 goes does not matter.
            let k0 = if x < 0 {
                -((-x) / steps + 1)
            } else {
                x / steps + 1
            };
            (k0.abs() + (k - k0).abs()) as f64
        });
        caught("hourglass, center one further out", &rows, &|point| {
            let center = |x: i64| distribution::signed_level(x, steps, core) + x.signum();
            with_center(&center, point)
        });
        caught("hourglass, center one further in", &rows, &|point| {
            let center =
                |x: i64| x.signum() * (distribution::level(x.abs(), steps, core) - 1).max(0);
            with_center(&center, point)
        });
        caught("hourglass, center by division", &rows, &|point| {
            with_center(&|x: i64| x / steps, point)
        });
        let pairs = complement(steps);
        for origin in [0.0, 4.0] {
            caught(
                "staircase of pairs, wrong origin",
                &pairs,
                &|(x, y)| match (x, y) {
                    (0, 0) => -f64::ln(origin) / epsilon,
                    _ => distribution::level(x.abs() + y.abs(), steps, core) as f64,
                },
            );
        }
        caught("staircase of pairs, wide core", &pairs, &|(x, y)| {
            distribution::level(x.abs() + y.abs(), steps - 1, core) as f64
        });
        caught("laplace, scale too small", &pairs, &|(x, y)| {
            (x.abs() + y.abs()) as f64 / (steps - 1) as f64
        });
    }
    assert!(tried > 50);
}

/// The step from the distributions to the mechanisms: the same words give the same noise, whatever the
/// data is.
#[test]
fn noise_does_not_depend_on_the_data() {
    let bounds = Bounds::new(Some(-3.0), Some(5.0)).unwrap();
    for (epsilon, steps, core) in shapes().filter(|(_, steps, _)| *steps > 3) {
        let epsilon = Epsilon::new(Some(epsilon)).unwrap();
        let steps = steps as u64;
        let core = core as u64;
        let hourglass = Complement::new(bounds, Hourglass::new(steps, core, epsilon));
        let laplace = Complement::new(bounds, Laplace::new(steps, epsilon));
        let staircase = Complement::new(bounds, Staircase::new(steps, core, epsilon));
        let shifted = Shifted::new(bounds, steps, epsilon);
        let independent = Independent::new(bounds, steps, epsilon);
        let sum =
            sum::noise::Sum::new(bounds, sum::staircase::Staircase::new(steps, core, epsilon));
        let sum_laplace = sum::noise::Sum::new(bounds, sum::laplace::Laplace::new(steps, epsilon));
        let count = Geometric::new(epsilon);
        for seed in 0..20 {
            let words = || Seeded::new(seed);
            let noise = |sums: &Sums| {
                let (n, s, steps) = (i128::from(sums.n), sums.s, i128::from(steps));
                let less = |(a, b): (i128, i128), (x, y)| (a - x, b - y);
                let whole = (s, steps * n - s);
                [
                    less(hourglass.noisy(sums, &mut words()), whole),
                    less(laplace.noisy(sums, &mut words()), whole),
                    less(staircase.noisy(sums, &mut words()), whole),
                    less(
                        shifted.noisy(sums, &mut words()),
                        (2 * s - steps * n, steps * n),
                    ),
                    less(independent.noisy(sums, &mut words()), (s, steps * n)),
                    (
                        sum.noisy(sums, &mut words()) - s,
                        sum_laplace.noisy(sums, &mut words()) - s,
                    ),
                    (i128::from(count.release_from(sums, &mut words())) - n, 0),
                ]
            };
            let empty = noise(&Sums::default());
            for (n, s) in [
                (1, 0),
                (1, 3),
                (1, -3),
                (10, 17),
                (1_000_000, 3_999_999),
                (1 << 40, 1 << 41),
            ] {
                assert_eq!(noise(&Sums { n, s }), empty);
            }
        }
    }
}
