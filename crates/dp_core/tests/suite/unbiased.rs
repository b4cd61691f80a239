//! The mechanisms that have no bias of their own: the smooth mean and the mean of a public number
//! of rows; and the count that is never too large.

use std::f64::consts::PI;
use std::panic::{RefUnwindSafe, catch_unwind};

use dp_core::encoding::grid::{Bounds, Grid, STEPS};
use dp_core::encoding::sums::Sums;
use dp_core::mechanism::count::undercount::Undercount;
use dp_core::mechanism::mean::clipped::Clipped;
use dp_core::mechanism::mean::inputs::SumsMean;
use dp_core::mechanism::mean::smooth::Smooth;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::registry::{COUNT, MEAN};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::staircase::{best_gamma, core_of, least_variance};
use dp_core::sampler::student::RoundedStudent;

use crate::distribution;
use crate::samplers::by_quantile;
use crate::stats::{Moments, Z_ALPHA, assert_law};
use crate::words::{Narrow, Seeded};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

fn bounds(lo: f64, hi: f64) -> Bounds {
    Bounds::new(Some(lo), Some(hi)).unwrap()
}

fn smooth(value: f64) -> Smooth {
    Smooth::new(bounds(0.0, 1.0), STEPS, epsilon(value))
}

fn fails(check: impl FnOnce() + RefUnwindSafe + std::panic::UnwindSafe) -> bool {
    catch_unwind(check).is_err()
}

// The smooth mean.

/// Numbers of rows to look at: all small ones, and ever fewer of the others.
fn numbers_of_rows() -> impl Iterator<Item = i64> {
    let far = (0..=450).map(|i| (3000.0 * 1.075f64.powi(i)) as i64);
    (0..3000).chain(far)
}

#[test]
fn sensitivity_is_smooth_and_no_less_than_the_local_one() {
    for value in [Epsilon::MIN, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 20.0, 50.0] {
        let smooth = smooth(value);
        let beta = epsilon(value).value() / 9.0;
        for n in numbers_of_rows() {
            let (here, next) = (
                smooth.sensitivity(n as f64),
                smooth.sensitivity((n + 1) as f64),
            );
            // The logarithm of their ratio, to its last digits whatever it is. No tolerance.
            let step = ((here - next) / next).ln_1p();
            assert!(step.abs() <= beta, "{value} {n}: {step} {beta}");
            // Rounded to more than 1 is more than 1.
            let local = if n == 0 { 2.0 } else { n as f64 };
            assert!(here * local > 1.0, "{value} {n}: {here}");
        }
    }
}

#[test]
fn sensitivity_is_the_least_that_is_smooth() {
    for value in [0.05, 0.3, 1.0, 6.0] {
        let smooth = smooth(value);
        let local = |n: i64| 1.0 / n.max(1) as f64;
        for n in 0..800i64 {
            let damped = |m: i64| local(m) * (-value / 9.0 * (n - m).abs() as f64).exp();
            let least = (0..2000).map(damped).fold(0.0, f64::max);
            let found = smooth.sensitivity(n as f64);
            assert!(
                found >= least * (1.0 - 1e-12) && found <= least * (1.0 + 1e-4),
                "{value} {n}: {found} {least}"
            );
        }
    }
}

/// The largest difference of the logarithms of the densities of two answers: means `shift` apart,
/// with noise of these standard deviations. The densities are symmetric, so one sign of the shift will
/// do.
fn log_ratio(shift: f64, one: f64, other: f64) -> f64 {
    let log = |x: f64, sd: f64| -sd.ln() - 2.0 * (x * x / (sd * sd)).ln_1p();
    let mut worst: f64 = (3.0 * (one / other).ln()).abs();
    const POINTS: i32 = 800;
    for i in -POINTS + 1..POINTS {
        let w = (f64::from(i) / f64::from(POINTS) * PI / 2.0).tan();
        for y in [w * one, shift + w * other] {
            worst = worst.max((log(y, one) - log(y - shift, other)).abs());
        }
    }
    worst
}

/// The same over all tables of up to `most` rows, with a row more or one replaced: the means are as
/// far apart as they can be, or half of that.
fn worst_log_ratio(most: i64, sd: impl Fn(i64) -> f64) -> f64 {
    let pairs = (0..most).flat_map(|n| [(n, n), (n, n + 1)]);
    let shifts = pairs.flat_map(|(n, m)| {
        // Without rows the mean is the middle.
        let farthest = if n == 0 { 0.5 } else { 1.0 / m as f64 };
        [0.5, 1.0].map(|part| (part * farthest, n, m))
    });
    shifts
        .map(|(shift, n, m)| log_ratio(shift, sd(n), sd(m)))
        .fold(0.0, f64::max)
}

/// `2 S epsilon / noise`, which the proof calls `2 / c`, as the mechanism has it.
fn slope(value: f64) -> f64 {
    let smooth = smooth(value);
    let at = |n: f64| 2.0 * smooth.sensitivity(n) / (epsilon(value).value() * smooth.noise_sd(n));
    assert!((at(1.0) / at(1e6) - 1.0).abs() < 1e-12);
    at(1.0)
}

#[test]
fn no_answer_is_more_likely_for_a_neighbour_than_epsilon_allows() {
    for (value, most, expected, of_the_paper) in [
        (0.1, 1200, 0.09908, Some(0.0765)),
        (0.3, 300, 0.2913, None),
        (1.0, 150, 0.9322, Some(0.731)),
        (3.0, 80, 2.479, Some(1.966)),
        (8.0, 40, 5.244, None),
        (50.0, 10, 12.28, None),
    ] {
        let smooth = smooth(value);
        let sd = |n: i64| smooth.noise_sd(n as f64);
        let worst = worst_log_ratio(most, sd);
        assert!(worst <= value, "{value}: {worst}");
        assert!((worst / expected - 1.0).abs() < 2e-3, "{value}: {worst}");
        // With the constants of theorem E.6, for reference.
        let paper = |n: i64| (1.0 / n.max(1) as f64).max((-value / 12.0 * (n - 1) as f64).exp());
        if let Some(expected) = of_the_paper {
            let of_paper = worst_log_ratio(most, |n| 3.0 / value * paper(n.max(1)));
            assert!(
                (of_paper / expected - 1.0).abs() < 2e-3,
                "{value}: {of_paper}"
            );
            assert!(worst > of_paper, "{value}: {worst} {of_paper}");
        }
        // A little less noise is not enough, nor is that of half of the sensitivity, or of the local one.
        let less = worst_log_ratio(most, |n| sd(n) * slope(value) / 0.95);
        assert!(less > value || value > 2.0, "{value}: {less}");
        let halved = worst_log_ratio(most, |n| sd(n) / 2.0);
        assert!(halved > value || value > 4.0, "{value}: {halved}");
        let unit = sd(1) / smooth.sensitivity(1.0);
        let local = worst_log_ratio(most, |n| unit / n.max(1) as f64);
        assert!(local > value || value > 2.0, "{value}: {local}");
    }
}

/// What the proof bounds all of these by, with the constants as the mechanism has them: 0.99936. With
/// a slope of 0.95 it would be more than 1.
#[test]
fn the_rate_of_the_proof_is_at_most_epsilon() {
    const BETA: f64 = 1.0 / 9.0;
    // Of the logarithm of the density in time, for a `w` of `tan(phi / 2)`, in epsilons.
    let rate = |slope: f64| {
        let turns = (0..100_000).map(|i| f64::from(i) * PI / 100_000.0);
        let rates = turns.flat_map(|phi| {
            [BETA, -BETA].map(|beta| beta * (1.0 - 2.0 * phi.cos()) + slope * phi.sin())
        });
        rates.map(f64::abs).fold(0.0, f64::max)
    };
    assert!((rate(0.95) - 1.0868).abs() < 1e-3);
    for value in [Epsilon::MIN, 0.01, 1.0, 7.0, 50.0] {
        let smooth = smooth(value);
        let steps = (1..2000).map(|n| {
            let [here, next] = [n, n + 1].map(|n| smooth.sensitivity(f64::from(n)));
            ((here - next) / next).ln_1p() / epsilon(value).value()
        });
        let beta = steps.fold(0.0, f64::max);
        assert!(beta <= BETA, "{value}: {beta}");
        // With a larger epsilon even the second row is beyond the exponential.
        assert!(beta > 0.999 * BETA || value > 6.0, "{value}: {beta}");
        let found = rate(slope(value));
        assert!(found <= 1.0 && found > 0.999, "{value}: {found}");
        let closed = BETA + (slope(value).powi(2) + 4.0 * BETA * BETA).sqrt();
        assert!((found - closed).abs() < 1e-6, "{value}: {found} {closed}");
    }
}

/// `P(Z <= z)` for Student's t with three degrees of freedom.
fn student(z: f64) -> f64 {
    let angle = (z / 3f64.sqrt()).atan();
    0.5 + (angle.sin() * angle.cos() + angle) / PI
}

/// The distribution of a rounded draw, `P(X <= k)`.
fn rounded_student(k: i128, centre: f64, scale: f64, places: u32) -> f64 {
    let edge = (k as f64 + 0.5) / f64::from(places).exp2();
    student((edge - centre) / scale * 3f64.sqrt())
}

type Fraction<T> = (T, u128);

fn check_student<B: Bits>(
    source: (u64, B),
    (centre, scale, places): (Fraction<i128>, Fraction<u128>, u32),
    wrong: f64,
) {
    let sampler = RoundedStudent::new(centre, scale, places);
    let (c, k) = (
        centre.0 as f64 / centre.1 as f64,
        scale.0 as f64 / scale.1 as f64 * wrong,
    );
    by_quantile(
        &format!("student {centre:?} {scale:?} {places}"),
        source,
        |bits| sampler.draw(bits),
        |x| rounded_student(x, c, k, places),
    );
}

/// A centre, a scale, and the binary digits of the grid.
const STUDENTS: [(Fraction<i128>, Fraction<u128>, u32); 8] = [
    ((0, 1), (1, 1), 0),
    ((0, 1), (1, 1), 3),
    ((1, 3), (5, 7), 0),
    ((-9, 4), (1, 8), 0),
    ((1, 2), (1, 1000), 1),
    ((-1, 2), (1, 3), 5),
    ((1000, 7), (20, 1), 2),
    ((-123_456_789, 1 << 30), (77, 10), 4),
];

#[test]
fn rounded_students_follow_their_law() {
    for (seed, case) in STUDENTS.into_iter().enumerate() {
        let seed = seed as u64;
        check_student((40_000, Seeded::new(seed)), case, 1.0);
        check_student((6_000, Narrow::<1>(Seeded::new(seed + 100))), case, 1.0);
        check_student((6_000, Narrow::<3>(Seeded::new(seed + 200))), case, 1.0);
        check_student((6_000, Narrow::<17>(Seeded::new(seed + 300))), case, 1.0);
    }
    // As they are used: few rows and many, and as much noise as there can be.
    let whole = 10_000u128 << 32;
    for (seed, (centre, scale)) in [
        ((-(whole as i128) / 3, 2 * whole), (3, 10_000)),
        ((whole as i128, 2 * whole), (30, 1)),
        ((0, 1), (100 << 20, 43)),
        ((0, 1), (100, (43 * 50) << 63)),
    ]
    .into_iter()
    .enumerate()
    {
        let seed = seed as u64 + 1000;
        let case = (centre, scale, 40);
        check_student((40_000, Seeded::new(seed)), case, 1.0);
        check_student((1_000, Narrow::<13>(Seeded::new(seed))), case, 1.0);
    }
}

#[test]
fn a_student_of_half_the_scale_is_caught() {
    for case in [STUDENTS[1], STUDENTS[5], ((1, 9), (3, 10), 40)] {
        let check = move |wrong| check_student((40_000, Seeded::new(5)), case, wrong);
        check(1.0);
        for wrong in [0.5, 0.9, 1.1, 2.0] {
            assert!(fails(move || check(wrong)), "{case:?} {wrong}");
        }
    }
}

/// The first word leaves the disk, the rounding or both open, as it does once in 2^30 draws: words
/// of ones, or of zeros, and then others.
#[test]
fn students_of_extreme_words_end() {
    struct Words(Vec<u64>, Seeded);
    impl Bits for Words {
        const WIDTH: u32 = 64;
        fn word(&mut self) -> u64 {
            self.0.pop().unwrap_or_else(|| self.1.word())
        }
    }
    let extremes = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63];
    for seed in 0..4 {
        for first in extremes {
            for second in extremes {
                for third in extremes {
                    let mut words = Words(vec![third, second, first], Seeded::new(seed));
                    for scale in [(1, 1), (3 << 20, 1), (1, 1 << 70), (u128::MAX, 1)] {
                        let value = RoundedStudent::new((1, 3), scale, 40).draw(&mut words);
                        assert!((-(1 << 120)..1 << 120).contains(&value), "{value}");
                    }
                }
            }
        }
    }
}

/// Tables of rows, as steps between 0 and `STEPS`.
fn tables() -> [Sums; 5] {
    let whole = i128::from(STEPS);
    [
        Sums { n: 1, s: whole },
        Sums { n: 2, s: 1 },
        Sums { n: 7, s: 0 },
        Sums { n: 60, s: whole },
        Sums {
            n: 5000,
            s: 4999 * whole,
        },
    ]
}

#[test]
fn smooth_means_have_no_bias_and_the_noise_they_say() {
    let (lo, hi) = (-30.0, 50.0);
    for (round, table) in tables().into_iter().enumerate() {
        for value in [0.1, 1.0, 8.0] {
            let smooth = Smooth::new(bounds(lo, hi), STEPS, epsilon(value));
            let truth = lo + (hi - lo) * (table.s as f64 / (STEPS as f64 * table.n as f64));
            let mut bits = Seeded::new(round as u64);
            const DRAWS: u64 = 20_000;
            // In standard deviations of the noise.
            let sd = smooth.noise_sd(table.n as f64);
            let noise: Vec<f64> = (0..DRAWS)
                .map(|_| {
                    let answer = smooth.release_from(&table, &mut bits);
                    assert_eq!(answer.count, None);
                    (answer.mean.unwrap() - truth) / sd
                })
                .collect();
            // The distribution has no third moment, so a plain average of squares would not settle.
            let above = noise.iter().filter(|noise| **noise > 0.0).count() as f64;
            let off = (above / DRAWS as f64 - 0.5).abs();
            assert!(off < Z_ALPHA * 0.5 / (DRAWS as f64).sqrt(), "{table:?}");
            let winsorised = Moments::of(noise.iter().map(|noise| noise.clamp(-2.0, 2.0)));
            let error = (winsorised.mean_square() / DRAWS as f64).sqrt();
            assert!(winsorised.mean().abs() < Z_ALPHA * error, "{table:?}");
            let cells = [-2.0, -1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 2.0];
            let mut before = (0, 0.0);
            let cells: Vec<_> = cells
                .into_iter()
                .map(|edge| {
                    // The variance of Z is 3.
                    let below = noise.iter().filter(|noise| **noise <= edge).count() as u64;
                    let (p, last) = (student(edge * 3f64.sqrt()), before);
                    before = (below, p);
                    (below - last.0, p - last.1)
                })
                .collect();
            assert_law(&format!("smooth {table:?} {value}"), DRAWS, cells);
        }
    }
}

/// The same words give the same noise, whatever the rows are, where there are as many of them.
#[test]
fn smooth_noise_depends_on_the_number_of_rows_alone() {
    let smooth = smooth(0.7);
    // That many rows that each sum is a point of the grid.
    let n = 64;
    let whole = i128::from(STEPS) * i128::from(n);
    for seed in 0..50 {
        let noise = |s: i128| {
            let centre = (2 * s - whole) << 39 >> 38;
            smooth.noisy(&Sums { n, s }, &mut Seeded::new(seed)) - centre
        };
        let first = noise(0);
        for s in [1, 12_345, whole / 3, whole] {
            assert_eq!(noise(s), first);
        }
    }
}

/// Sums that no table has are taken for the nearest of one that has; no rows have the midpoint.
#[test]
fn sums_of_no_table_are_taken_for_the_nearest() {
    let smooth = Smooth::new(bounds(-1.0, 3.0), STEPS, epsilon(2.0));
    let draw = |n, s| smooth.noisy(&Sums { n, s }, &mut Seeded::new(3));
    let whole = 5 * i128::from(STEPS);
    assert_eq!(draw(5, i128::MAX), draw(5, whole));
    assert_eq!(draw(5, i128::MIN), draw(5, 0));
    for n in [0, -1, i64::MIN] {
        for s in [0, 1, i128::MIN, i128::MAX] {
            assert_eq!(draw(n, s), draw(0, 0));
        }
    }
    let sum: i128 = (0..2000)
        .map(|seed| {
            smooth
                .noisy(&Sums::default(), &mut Seeded::new(seed))
                .signum()
        })
        .sum();
    assert!((sum as f64).abs() < Z_ALPHA * 2000f64.sqrt());
}

// The mean of a public number of rows.

#[test]
fn clipped_means_are_private_and_tight() {
    for value in [0.1, 1.0, 2.5, 8.0] {
        for (steps, core) in (1..=8i64).flat_map(|steps| (1..=steps).map(move |core| (steps, core)))
        {
            // The noise is even: the distribution of 2 Z. Its levels are as wide as `wide`.
            let loss = |x: i64, wide: i64| {
                (x % 2 == 0).then(|| distribution::level((x / 2).abs(), wide, core) as f64)
            };
            let worst = |moves: &dyn Fn(i64) -> Vec<i64>, wide: i64| {
                let mut worst: f64 = 0.0;
                for x in (-12 * steps..=12 * steps).filter(|x| x % 2 == 0) {
                    for t in 0..=steps {
                        for by in moves(t) {
                            let there = loss(x + by, wide).unwrap_or(f64::INFINITY);
                            worst = worst.max((loss(x, wide).unwrap() - there).abs());
                        }
                    }
                }
                worst * value
            };
            let replace = |t: i64| (0..=steps).map(|other| 2 * (other - t)).collect();
            let replaced = worst(&replace, steps);
            assert!((replaced - value).abs() <= 1e-12 * value, "{replaced}");
            // Levels that are a step too narrow are not enough.
            if steps > 1 {
                let narrow = worst(&replace, steps - 1);
                assert!(narrow >= 2.0 * value * (1.0 - 1e-12), "{narrow}");
            }
            // No more for a row more or fewer, where the number of steps is even; where it is
            // odd, whether the sum is would tell whether the number of rows is.
            let added = worst(&|t| vec![2 * t - steps, steps - 2 * t], steps);
            if steps % 2 == 0 {
                assert!((added - value).abs() <= 1e-12 * value, "{added}");
            } else {
                assert_eq!(added, f64::INFINITY);
            }
        }
    }
    assert_eq!(STEPS % 2, 0);
}

#[test]
fn clipped_noise_is_that_law_and_does_not_depend_on_the_data() {
    for (steps, value) in [(1u64, 0.5), (4, 1.0), (7, 3.0), (100, 1.0), (100, 4.0)] {
        let clipped = Clipped::new(bounds(0.0, 1.0), steps, 10.0, epsilon(value));
        let centred = |sums: &Sums| 2 * sums.s - i128::from(steps) * i128::from(sums.n);
        let core = core_of(best_gamma(value), steps) as i64;
        let most = 50 * steps as i64;
        const DRAWS: u64 = 40_000;
        let mut counts = vec![0; 2 * most as usize + 1];
        let mut bits = Seeded::new(steps);
        let table = Sums { n: 10, s: 3 };
        for _ in 0..DRAWS {
            let noise = clipped.noisy(&table, &mut bits) - centred(&table);
            assert_eq!(noise % 2, 0);
            if let Some(count) = counts.get_mut((noise / 2 + i128::from(most)) as usize) {
                *count += 1;
            }
        }
        let distribution = (-most..).map(|x| distribution::staircase(x, steps as i64, core, value));
        assert_law(
            "clipped",
            DRAWS,
            counts.clone().into_iter().zip(distribution),
        );
        // Noise for a step too few is caught where a step is a part of the noise to speak of.
        if (4..100).contains(&steps) {
            let wrong =
                (-most..).map(|x| distribution::staircase(x, steps as i64 - 1, core, value));
            assert!(fails(move || assert_law(
                "clipped",
                DRAWS,
                counts.into_iter().zip(wrong)
            )));
        }
        for seed in 0..20 {
            let noise = |sums: Sums| clipped.noisy(&sums, &mut Seeded::new(seed)) - centred(&sums);
            let empty = noise(Sums::default());
            for (n, s) in [(1, 0), (10, 17), (1 << 40, 1 << 41)] {
                assert_eq!(noise(Sums { n, s }), empty);
            }
        }
    }
}

#[test]
fn clipped_means_have_the_noise_they_say_and_no_bias() {
    let (lo, hi, n) = (-20.0, 60.0, 400i64);
    for value in [0.1, 1.0, 8.0] {
        let clipped = Clipped::new(bounds(lo, hi), STEPS, n as f64, epsilon(value));
        // All rows at the upper bound: clamping the answer would show.
        let table = Sums {
            n,
            s: i128::from(n) * i128::from(STEPS),
        };
        let mut bits = Seeded::new(21);
        let noise = (0..40_000).map(|_| {
            let answer = clipped.release_from(&table, &mut bits);
            assert_eq!(answer.count, Some(n as f64));
            answer.mean.unwrap() - hi
        });
        let moments = Moments::of(noise);
        // The least that noise for this sensitivity can have.
        let sd = least_variance(value).sqrt() * (hi - lo) / n as f64;
        assert!((clipped.noise_sd(1.0) / sd - 1.0).abs() < 1e-9);
        moments.assert_mean_square("clipped", sd * sd, 1e-6);
        assert!(moments.mean().abs() < Z_ALPHA * sd / 200.0);
    }
}

/// Two values whose mean is 0, one far out: of all distributions with this moment, clipping moves the mean
/// of one like it most. The bias is below the bound, and not far below.
#[test]
fn the_bias_of_clipping_is_the_bound_for_the_worst_law() {
    for (moment, c, least) in [
        (2.0, 2.0, 0.94),
        (2.0, 5.0, 0.99),
        (2.0, 20.0, 0.998),
        (3.0, 2.0, 0.998),
        (4.0, 2.0, 0.998),
    ] {
        let n = 1_000_000i64;
        let far: f64 = c * moment / (moment - 1.0);
        let near = |many: i64| -(many as f64) * far / (n - many) as f64;
        let part = |rows: i64, value: f64| rows as f64 / n as f64 * value.abs().powf(moment);
        let total = |many: i64| part(many, far) + part(n - many, near(many));
        // As many rows far out as give a moment of 1.
        let many = (0..n / 2)
            .take_while(|many| total(*many) <= 1.0)
            .last()
            .unwrap();
        let (near, total) = (near(many), total(many));
        let kappa = (moment - 1.0).powf(moment - 1.0) / moment.powf(moment);
        let bound = kappa * total / c.powf(moment - 1.0);
        // Through the grid, and through the mechanism.
        let grid = Grid::unit(&bounds(-c, c));
        let steps = |rows: i64, value: f64| i128::from(rows) * i128::from(grid.steps(value));
        let table = Sums {
            n,
            s: steps(many, far) + steps(n - many, near),
        };
        let clipped = Clipped::new(bounds(-c, c), STEPS, n as f64, epsilon(1.0));
        let mut bits = Seeded::new(33);
        let draws: u32 = 10_000;
        let answers = (0..draws).map(|_| clipped.release_from(&table, &mut bits).mean.unwrap());
        let bias = answers.sum::<f64>().abs() / f64::from(draws);
        let slack = Z_ALPHA * clipped.noise_sd(1.0) / f64::from(draws).sqrt();
        assert!(
            bias <= bound + slack && bias >= least * bound - slack,
            "{moment} {c}: {bias} {bound}"
        );
    }
}

#[test]
fn another_number_of_rows_draws_towards_the_midpoint() {
    let table = Sums {
        n: 1000,
        s: 1000 * i128::from(STEPS),
    };
    for (given, expected) in [(500.0, 30.0), (1000.0, 20.0), (2000.0, 15.0)] {
        let clipped = Clipped::new(bounds(0.0, 20.0), STEPS, given, epsilon(50.0));
        let answer = clipped.release_from(&table, &mut Seeded::new(1));
        assert!((answer.mean.unwrap() - expected).abs() < 0.1, "{answer:?}");
        assert_eq!(answer.count, Some(given));
    }
}

// The count that is never too large.

/// The clipped noise: its probabilities from `-reach` to `reach`.
fn clipped_noise(epsilon: f64, reach: i64) -> Vec<f64> {
    let beyond = (60.0 / epsilon) as i64;
    let end: f64 = (reach..reach + beyond)
        .rev()
        .map(|k| distribution::two_sided_geometric(k, epsilon))
        .sum();
    (-reach..=reach)
        .map(|k| match k.abs() == reach {
            true => end,
            false => distribution::two_sided_geometric(k, epsilon),
        })
        .collect()
}

/// The exact delta of two tables a row apart, the worse of the two ways round.
fn hockey_stick(epsilon: f64, reach: i64) -> f64 {
    if reach == 0 {
        return 1.0;
    }
    let noise = clipped_noise(epsilon, reach);
    // Outputs of n rows, and of n + 1.
    let one = noise.iter().copied().chain([0.0]);
    let other = || [0.0].into_iter().chain(noise.iter().copied());
    let excess = |p: f64, q: f64| {
        let bound = epsilon.exp() * q;
        // Equal but for the last digits.
        if p > bound * (1.0 + 1e-12) {
            p - bound
        } else {
            0.0
        }
    };
    let forwards: f64 = one.clone().zip(other()).map(|(p, q)| excess(p, q)).sum();
    let backwards: f64 = one.zip(other()).map(|(p, q)| excess(q, p)).sum();
    forwards.max(backwards)
}

fn reach(value: f64, delta: f64) -> i64 {
    Undercount::new(epsilon(value), delta).reach() as i64
}

#[test]
fn undercounts_spend_their_delta_and_no_more() {
    for value in [
        0.002, 0.01, 0.1, 0.3, 0.48, 0.49, 0.7, 1.0, 2.0, 5.0, 20.0, 50.0,
    ] {
        // The one that the noise is drawn with.
        let exact = epsilon(value).value();
        for delta in [0.999, 0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-9, 1e-12] {
            let reach = reach(value, delta);
            let spent = hockey_stick(exact, reach);
            assert!(
                spent <= delta * (1.0 + 1e-9),
                "{value} {delta} {reach}: {spent}"
            );
            let spent = hockey_stick(exact, reach - 1);
            assert!(
                spent > delta * (1.0 - 1e-9),
                "{value} {delta} {reach}: {spent} would do"
            );
        }
    }
}

/// Where floats cannot tell which reach is enough, the farther one is taken.
#[test]
fn undercounts_never_reach_too_little_by_a_rounding() {
    for value in [0.01, 0.3, 1.0, 2.0] {
        let exact = epsilon(value).value();
        for enough in [3, 10, 40] {
            let delta = hockey_stick(exact, enough);
            assert_eq!(reach(value, delta * (1.0 - 1e-13)), enough + 1);
            assert_eq!(reach(value, delta * (1.0 + 1e-9)), enough);
        }
    }
}

#[test]
fn undercounts_reach_less_far_than_the_paper_has_it() {
    for (value, delta, theirs, spent, least) in
        [(1.0, 1e-6, 15, 2.24e-7, 14), (0.1, 1e-6, 146, 4.51e-7, 139)]
    {
        assert_eq!((f64::ln(2.0 / delta) / value).ceil() as i64, theirs);
        let exact = hockey_stick(value, theirs);
        assert!((exact / spent - 1.0).abs() < 2e-3, "{exact}");
        let ours = reach(value, delta);
        assert_eq!(ours, least);
        let exact = hockey_stick(value, ours);
        assert!(exact <= delta && exact > 2.0 * spent, "{exact}");
    }
    // The ends of what the parameters take.
    assert_eq!(reach(50.0, 0.9999999999999999), 1);
    assert_eq!(reach(Epsilon::MIN, 0.9999999999999999), 1);
    assert!(reach(Epsilon::MIN, 5e-324) < 1 << 30);
}

#[test]
fn undercounts_are_never_above_the_rows_and_follow_their_law() {
    for (value, delta) in [(0.3, 0.2), (1.0, 0.01), (1.0, 1e-6), (3.0, 0.5)] {
        let undercount = Undercount::new(epsilon(value), delta);
        let reach = undercount.reach() as i64;
        const DRAWS: u64 = 40_000;
        for n in [0, 1, 1000] {
            let mut counts = vec![0; 2 * reach as usize + 1];
            let mut bits = Seeded::new(n as u64);
            for _ in 0..DRAWS {
                let answer = undercount.release_from(&Sums { n, s: 0 }, &mut bits);
                assert!(answer <= n && answer >= n - 2 * reach);
                counts[(answer - n + 2 * reach) as usize] += 1;
            }
            let distribution = clipped_noise(epsilon(value).value(), reach);
            let cells: Vec<_> = counts.iter().copied().zip(distribution).collect();
            assert_law("undercount", DRAWS, cells.clone());
            // Noise that is not clipped, or clipped one sooner, is caught.
            if delta > 0.1 {
                let wrong: Vec<_> = (-reach..=reach)
                    .map(|k| distribution::two_sided_geometric(k, value))
                    .zip(counts)
                    .map(|(p, count)| (count, p))
                    .collect();
                assert!(fails(|| assert_law("undercount", DRAWS, wrong)));
            }
        }
        for n in [i64::MIN, i64::MIN + 1, -1] {
            let answer = undercount.release_from(&Sums { n, s: 0 }, &mut Seeded::new(1));
            assert!(answer <= n);
        }
    }
}

#[test]
fn parameters_have_their_domains() {
    let arguments = |text| Arguments {
        bounds: Some((Some(0.0), Some(1.0))),
        epsilon: Some(1.0),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    let range = |key| format!("gives the parameter {key} a value outside its range");
    for (text, expected) in [
        ("smooth", None),
        ("clipped(n=1)", None),
        ("clipped(n=9007199254740991)", None),
        ("clipped(n=0)", Some(range("n"))),
        (
            "clipped",
            Some("does not say how many rows there are".to_owned()),
        ),
    ] {
        let error = MEAN.build(&arguments(text)).err();
        assert_eq!(
            error.as_ref().map(|error| &error.message),
            expected.as_ref()
        );
        assert!(error.is_none_or(|error| error.argument == "mech" && !error.hint.is_empty()));
    }
    // Not whole, negative, too large: not even a text of a mechanism.
    for text in [
        "clipped(n=0.5)",
        "clipped(n=-1)",
        "clipped(n=9007199254740992)",
    ] {
        assert!(MEAN.build(&arguments(text)).is_err(), "{text}");
    }
    for (text, expected) in [
        ("undercount(delta=5e-324)", None),
        ("undercount(delta=0.9999999999999999)", None),
        ("undercount(delta=0)", Some(range("delta"))),
        ("undercount(delta=1)", Some(range("delta"))),
        ("undercount", Some("does not give delta".to_owned())),
    ] {
        let error = COUNT.build(&arguments(text)).err();
        assert_eq!(
            error.as_ref().map(|error| &error.message),
            expected.as_ref()
        );
        assert!(error.is_none_or(|error| error.argument == "mech" && !error.hint.is_empty()));
    }
}

/// The whole way: arguments, registry, the generator of production (with a seed), answer.
#[cfg(feature = "testing")]
#[test]
fn releases_through_the_registry_are_those_of_the_mechanism() {
    use dp_core::random::Generator;

    let (lo, hi, n) = (-50.0, 150.0, 200i64);
    let table = Sums {
        n,
        s: i128::from(n) * i128::from(STEPS) / 10,
    };
    for (text, sd) in [
        ("smooth", smooth(2.0).noise_sd(n as f64)),
        ("clipped(n=200)", least_variance(2.0).sqrt() / n as f64),
    ] {
        let mechanism = MEAN
            .build(&Arguments {
                bounds: Some((Some(lo), Some(hi))),
                epsilon: Some(2.0),
                mechanism: MechanismArgument::Given(Some(text)),
                ..Arguments::default()
            })
            .unwrap()
            .sums()
            .unwrap();
        let mut generator = Generator::from_seed(5);
        let draws: Vec<f64> = (0..4000)
            .map(|_| mechanism.release(&table, &mut generator).mean.unwrap())
            .map(|mean| (mean - (lo + (hi - lo) * 0.1)) / (hi - lo) / sd)
            .map(|noise| noise.clamp(-2.0, 2.0))
            .collect();
        let moments = Moments::of(draws);
        assert!(moments.mean().abs() < Z_ALPHA / 4000f64.sqrt(), "{text}");
        assert!((0.4..1.0).contains(&moments.mean_square()), "{text}");
    }
}
