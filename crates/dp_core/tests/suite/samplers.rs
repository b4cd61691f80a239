//! Each sampler against its distribution by chi-square, on words of 64 bits and on narrow ones.

use std::collections::HashMap;

use dp_core::encoding::grid::STEPS;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::sampler::discrete_laplace::DiscreteLaplace;
use dp_core::sampler::geometric::Geometric;
use dp_core::sampler::hourglass::Hourglass;
use dp_core::sampler::max_norm::MaxNorm;
use dp_core::sampler::staircase::{Staircase, best_gamma, core_of};
use dp_core::sampler::staircase2::Staircase2;
use dp_core::sampler::uniform::{below, below_wide};

use crate::distribution;
use crate::stats::assert_law;
use crate::words::{Narrow, Seeded};

const EPSILONS: [f64; 8] = [Epsilon::MIN, 1e-3, 0.1, 1.0, 2.5, 7.0, 16.0, 50.0];
const DRAWS: u64 = 40_000;
const NARROW_DRAWS: u64 = 4_000;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

/// Points of a small distribution, drawn and counted one by one; `points` lists enough of them that the
/// rest has next to no weight.
fn by_point<B: Bits, T: Eq + std::hash::Hash + std::fmt::Debug>(
    what: &str,
    (draws, mut bits): (u64, B),
    draw: impl Fn(&mut B) -> T,
    points: impl IntoIterator<Item = (T, f64)>,
) {
    let mut counts: HashMap<T, u64> = HashMap::new();
    for _ in 0..draws {
        *counts.entry(draw(&mut bits)).or_default() += 1;
    }
    // Most likely first, so that cells are pooled with their like.
    let mut points: Vec<_> = points.into_iter().collect();
    points.sort_by(|a, b| b.1.total_cmp(&a.1));
    let cells = points
        .into_iter()
        .map(|(point, p)| (counts.remove(&point).unwrap_or(0), p));
    assert_law(
        &format!("{what}, words of {}", B::WIDTH),
        draws,
        cells.collect::<Vec<_>>(),
    );
}

/// A distribution on the integers, in 64 cells of about the same probability, by its distribution
/// function `P(X <= x)`.
pub fn by_quantile<B: Bits>(
    what: &str,
    (draws, mut bits): (u64, B),
    draw: impl Fn(&mut B) -> i128,
    below: impl Fn(i128) -> f64,
) {
    const CELLS: usize = 64;
    let mut edges: Vec<i128> = (1..CELLS)
        .map(|cell| {
            let p = cell as f64 / CELLS as f64;
            let (mut low, mut high) = (-(1i128 << 70), 1i128 << 70);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if below(middle) < p {
                    low = middle
                } else {
                    high = middle
                }
            }
            high
        })
        .collect();
    edges.dedup();
    let mut counts = vec![0; edges.len() + 1];
    for _ in 0..draws {
        let value = draw(&mut bits);
        counts[edges.partition_point(|edge| *edge < value)] += 1;
    }
    let mut before = 0.0;
    let mut cells = Vec::new();
    for (edge, count) in edges.iter().zip(&counts) {
        let p = below(*edge);
        cells.push((*count, p - before));
        before = p;
    }
    assert_law(&format!("{what}, words of {}", B::WIDTH), draws, cells);
}

/// Runs a check on wide words and on narrow ones.
macro_rules! on_all_words {
    ($seed:expr, |$source:ident| $check:expr) => {{
        let seed = $seed as u64;
        {
            let $source = (DRAWS, Seeded::new(seed));
            $check
        }
        {
            let $source = (NARROW_DRAWS, Narrow::<1>(Seeded::new(seed + 1)));
            $check
        }
        {
            let $source = (NARROW_DRAWS, Narrow::<3>(Seeded::new(seed + 2)));
            $check
        }
    }};
}

#[test]
fn uniform_numbers() {
    for n in [1, 2, 3, 5, 7, 8, 10, 13, 16, 17, 40] {
        let distribution = move || (0..n).map(move |value| (value, 1.0 / n as f64));
        on_all_words!(n, |source| by_point(
            &format!("below {n}"),
            source,
            |bits| below(n, bits),
            distribution()
        ));
    }
    // Above one word, and close to a power of two from both sides.
    for n in [
        3u128 << 40,
        (1 << 64) - 1,
        1 << 64,
        (1 << 64) + 1,
        3 << 80,
        (1 << 100) + 1,
    ] {
        let what = format!("below_wide {n}");
        on_all_words!(n % 1000, |source| {
            let cell = |bits: &mut _| (below_wide(n, bits) * 16 / n) as u64;
            by_point(&what, source, cell, (0..16).map(|cell| (cell, 1.0 / 16.0)))
        });
    }
}

#[test]
fn geometrics() {
    for (seed, value) in EPSILONS.into_iter().enumerate() {
        let geometric = Geometric::new(epsilon(value));
        let what = format!("geometric {value}");
        let below = |k: i128| {
            if k < 0 {
                0.0
            } else {
                -(-value * (k + 1) as f64).exp_m1()
            }
        };
        on_all_words!(100 * seed, |source| {
            by_quantile(&what, source, |bits| geometric.draw(bits) as i128, below)
        });
        // The low digits, which the quantiles do not show.
        on_all_words!(100 * seed + 50, |source| {
            let all = -(-7.0 * value).exp_m1();
            let distribution = (0..7).map(|k| (k, distribution::geometric(k as i64, value) / all));
            by_point(&what, source, |bits| geometric.draw(bits) % 7, distribution)
        });
    }
}

#[test]
fn discrete_laplaces() {
    for (seed, value) in EPSILONS.into_iter().enumerate() {
        for steps in [1, 5, 1000, STEPS] {
            let sampler = DiscreteLaplace::new(steps, epsilon(value));
            let what = format!("discrete Laplace {value} {steps}");
            let rate = value / steps as f64;
            // P(X > x) for x >= 0 is e^(-rate (x + 1)) / (1 + e^-rate).
            let above = |x: i128| (-rate * (x + 1) as f64).exp() / (1.0 + (-rate).exp());
            let below = |x: i128| {
                if x >= 0 {
                    1.0 - above(x)
                } else {
                    above(-x - 1)
                }
            };
            let seed = 1000 + 100 * seed as u64 + steps % 97;
            on_all_words!(seed, |source| by_quantile(
                &what,
                source,
                |bits| sampler.draw(bits),
                below
            ));
        }
    }
}

fn cores(steps: u64, value: f64) -> Vec<u64> {
    let mut cores = vec![1, core_of(best_gamma(value), steps), steps];
    cores.dedup();
    cores
}

#[test]
fn staircases() {
    for (seed, value) in EPSILONS.into_iter().enumerate() {
        for steps in [1, 2, 5, STEPS] {
            for core in cores(steps, value) {
                let sampler = Staircase::new(steps, core, epsilon(value));
                let what = format!("staircase {value} {steps} {core}");
                let (wide, g) = (i128::from(steps), i128::from(core));
                let z = value.exp_m1();
                let all = (2 * g - 1) as f64 + 2.0 * wide as f64 / z;
                // P(X >= x) for x >= 1.
                let from = |x: i128| {
                    let inner = (g - x).max(0) as f64;
                    let past = (x - g).max(0);
                    let (level, rest) = (past / wide + 1, wide - past % wide);
                    let b = (-value).exp();
                    let outer = rest as f64 + wide as f64 / z;
                    (inner + b.powf(level as f64) * outer) / all
                };
                let below = |x: i128| if x >= 0 { 1.0 - from(x + 1) } else { from(-x) };
                let seed = 2000 + 1000 * seed as u64 + 10 * (steps % 97) + core % 7;
                on_all_words!(seed, |source| {
                    let draw = |bits: &mut _| {
                        let stair = sampler.draw(bits);
                        let norm = stair.value.abs();
                        let level = if norm < g { 0 } else { (norm - g) / wide + 1 };
                        assert_eq!(stair.level, stair.value.signum() * level);
                        stair.value
                    };
                    by_quantile(&what, source, draw, below)
                });
            }
        }
    }
}

#[test]
fn hourglass_pairs() {
    for (seed, value) in [0.1, 1.0, 2.5, 7.0, 16.0, 50.0].into_iter().enumerate() {
        for steps in [1, 2, 5] {
            for core in cores(steps, value) {
                let sampler = Hourglass::new(steps, core, epsilon(value));
                let what = format!("hourglass {value} {steps} {core}");
                let (wide, g) = (steps as i64, core as i64);
                let levels = (25.0 / value).ceil() as i64;
                let reach = levels.min(30) * wide + g;
                let distribution = || {
                    let row = move |x: i64| {
                        let center = distribution::signed_level(x, wide, g);
                        let column = center - levels.min(30)..=center + levels.min(30);
                        column.map(move |k| {
                            ((x, k), distribution::hourglass_pair(x, k, wide, g, value))
                        })
                    };
                    (-reach..=reach).flat_map(row)
                };
                on_all_words!(50_000 + 100 * seed as u64 + 10 * steps + core, |source| {
                    let draw = |bits: &mut _| {
                        let (x, k) = sampler.draw(bits);
                        (x as i64, k as i64)
                    };
                    by_point(&what, source, draw, distribution())
                });
            }
        }
    }
}

#[test]
fn pairs_of_the_two_dimensional_staircase() {
    for (seed, value) in [0.5, 1.0, 2.5, 7.0, 16.0, 50.0].into_iter().enumerate() {
        for steps in [1, 2, 5] {
            for core in cores(steps, value) {
                let sampler = Staircase2::new(steps, core, epsilon(value));
                let what = format!("two-dimensional staircase {value} {steps} {core}");
                let (wide, g) = (steps as i64, core as i64);
                let reach = (25.0 / value).ceil() as i64 * wide + g;
                let distribution = || {
                    let row = move |x: i64| {
                        let column = x.abs() - reach..=reach - x.abs();
                        column
                            .map(move |y| ((x, y), distribution::staircase2(x, y, wide, g, value)))
                    };
                    (-reach..=reach).flat_map(row)
                };
                on_all_words!(60_000 + 100 * seed as u64 + 10 * steps + core, |source| {
                    let draw = |bits: &mut _| {
                        let (x, y) = sampler.draw(bits);
                        (x as i64, y as i64)
                    };
                    by_point(&what, source, draw, distribution())
                });
            }
        }
    }
}

/// On the grid of production there are too many points to count: by norm, and by direction.
#[test]
fn wide_two_dimensional_staircases() {
    for (seed, value) in EPSILONS.into_iter().enumerate() {
        for core in cores(STEPS, value) {
            let sampler = Staircase2::new(STEPS, core, epsilon(value));
            let what = format!("wide two-dimensional staircase {value} {core}");
            let (wide, g) = (STEPS as f64, core as f64);
            let (z, b) = (value.exp_m1(), (-value).exp());
            let diamond = |r: f64| 2.0 * r * r - 2.0 * r + 1.0;
            // The points of all levels above L, and all points, each with its weight.
            let outer = |level: f64| {
                let r = g + level * wide;
                let m = 1.0 / z;
                let ring = 2.0 * wide * (2.0 * r + wide - 1.0);
                b.powf(level) * (ring * m + 4.0 * wide * wide * m * m)
            };
            let all = diamond(g) + outer(0.0);
            let below = |m: i128| {
                if m < 0 {
                    return 0.0;
                }
                let norm = m as f64 + 1.0;
                if norm <= g {
                    return diamond(norm) / all;
                }
                let level = ((norm - g) / wide).ceil();
                let rest = diamond(g + level * wide) - diamond(norm);
                1.0 - (b.powf(level) * rest + outer(level)) / all
            };
            let seed = 70_000 + 100 * seed as u64 + core % 7;
            on_all_words!(seed, |source| {
                let norm = |bits: &mut _| {
                    let (x, y) = sampler.draw(bits);
                    x.abs() + y.abs()
                };
                by_quantile(&what, source, norm, below)
            });
            if value < 20.0 && core > 1 {
                let (draws, mut bits) = (DRAWS, Seeded::new(seed + 9));
                let mut octants = [0; 8];
                for _ in 0..draws {
                    let (x, y) = sampler.draw(&mut bits);
                    let corner = usize::from(x > 0) * 4 + usize::from(y > 0) * 2;
                    octants[corner + usize::from(x.abs() > y.abs())] += 1;
                }
                assert_law(&what, draws, octants.map(|count| (count, 1.0 / 8.0)));
            }
        }
    }
}

fn check_laplace<B: Bits>(steps: u64, epsilon: Epsilon, draws: u64, mut bits: B) {
    let sampler = DiscreteLaplace::new(steps, epsilon);
    let scale = steps as f64 / epsilon.value();
    // Twenty cells to a side, by the magnitude's probability to be above: e^(-x / scale).
    const CELLS: usize = 20;
    let edges: Vec<i128> = (1..CELLS)
        .map(|cell| (-(cell as f64 / CELLS as f64).ln() * scale) as i128)
        .collect();
    let (mut counts, mut rests) = ([0; 2 * CELLS], [0; 7]);
    for _ in 0..draws {
        let value = sampler.draw(&mut bits);
        let cell = edges.iter().filter(|edge| **edge < value.abs()).count();
        counts[cell + if value < 0 { CELLS } else { 0 }] += 1;
        rests[value.rem_euclid(7) as usize] += 1;
    }
    let what = format!(
        "discrete Laplace {steps} {epsilon:?}, words of {}",
        B::WIDTH
    );
    // The scale is so large here that the real distribution serves.
    assert!(scale > 1e8);
    let p = 1.0 / (2 * CELLS) as f64;
    assert_law(&what, draws, counts.map(|count| (count, p)));
    let what = format!("{what}, modulo 7");
    assert_law(&what, draws, rests.map(|count| (count, 1.0 / 7.0)));
}

/// All points of `{-reach, ..., reach}^length`.
fn cube(length: usize, reach: i64) -> Vec<Vec<i64>> {
    (0..length).fold(vec![Vec::new()], |points, _| {
        let longer = |point: Vec<i64>| (-reach..=reach).map(move |x| [&point[..], &[x]].concat());
        points.into_iter().flat_map(longer).collect()
    })
}

#[test]
fn noise_in_the_shape_of_a_cube() {
    for (seed, (length, steps, value)) in (800..).zip([
        (1, 1, 0.7),
        (1, 3, 1.0),
        (2, 1, 0.9),
        (2, 1, 4.0),
        (2, 5, 2.5),
        (3, 1, 1.5),
        (3, 2, 7.0),
    ]) {
        let epsilon = epsilon(value);
        let sampler = MaxNorm::new(length, steps, epsilon);
        let rate = epsilon.value() / steps as f64;
        let reach = [0, 60, 25, 12][length].min((30.0 / rate) as i64 + 1);
        let points = || {
            let law = |point: Vec<i64>| (point.clone(), distribution::max_norm(&point, rate));
            cube(length, reach).into_iter().map(law)
        };
        let what = format!("cube of {length}, {steps} steps, {value}");
        fn small<B: Bits>(sampler: &MaxNorm, bits: &mut B) -> Vec<i64> {
            let drawn = sampler.draw(bits).into_iter();
            drawn.map(|x| i64::try_from(x).unwrap()).collect()
        }
        by_point(
            &what,
            (DRAWS, Seeded::new(seed)),
            |bits| small(&sampler, bits),
            points(),
        );
        let narrow = (NARROW_DRAWS, Narrow::<1>(Seeded::new(seed)));
        by_point(&what, narrow, |bits| small(&sampler, bits), points());
        let narrow = (NARROW_DRAWS, Narrow::<3>(Seeded::new(seed)));
        by_point(&what, narrow, |bits| small(&sampler, bits), points());
    }
}

/// At the sizes in use: of the points of a cube of radius `R` the part `1 - t / R` has a coordinate beyond `t`, and `R` is
/// a gamma variable.
#[test]
fn coordinates_of_wide_cubes() {
    // `P(R > t)` for a gamma variable of `shape`, from its logarithm.
    let beyond = |shape: usize, t: f64| -> f64 {
        let mut log = -t;
        let mut all = log.exp();
        for k in 1..shape {
            log += (t / k as f64).ln();
            all += log.exp();
        }
        all
    };
    for (seed, (length, steps, value)) in (820..).zip([
        (1, 1 << 20, 1.0),
        (3, 1 << 20, 0.1),
        (13, 1 << 20, 1.0),
        (65, 1 << 33, 50.0),
        (2, 1 << 33, Epsilon::MIN),
    ]) {
        let epsilon = epsilon(value);
        let sampler = MaxNorm::new(length, steps, epsilon);
        let rate = epsilon.value() / steps as f64;
        let upper = |t: f64| {
            let t = t * rate;
            (beyond(length + 1, t) - t / length as f64 * beyond(length, t)) / 2.0
        };
        let below = |x: i128| {
            let x = x as f64 + 0.5;
            if x < 0.0 { upper(-x) } else { 1.0 - upper(x) }
        };
        let what = format!("a coordinate of {length}, {steps} steps, {value}");
        let draws = (DRAWS / 4, Seeded::new(seed));
        by_quantile(&what, draws, |bits| sampler.draw(bits)[length - 1], below);
    }
}

/// On grids finer than that of one bounded value: 2^50 steps, and quotients up to 2^71.
#[test]
fn wide_discrete_laplaces() {
    for (seed, steps) in (700..).zip([1 << 33, (1 << 43) + 12_345, (1 << 50) - 1, 1 << 50]) {
        for value in [Epsilon::MIN, 1e-4, 0.1, 1.0, 50.0] {
            let epsilon = Epsilon::new(Some(value)).unwrap();
            for (seed, epsilon) in [(2 * seed, epsilon), (2 * seed + 1, epsilon.half())] {
                check_laplace(steps, epsilon, DRAWS / 2, Seeded::new(seed));
                check_laplace(
                    steps,
                    epsilon,
                    NARROW_DRAWS / 2,
                    Narrow::<1>(Seeded::new(seed)),
                );
                check_laplace(
                    steps,
                    epsilon,
                    NARROW_DRAWS / 2,
                    Narrow::<3>(Seeded::new(seed)),
                );
            }
        }
    }
}
