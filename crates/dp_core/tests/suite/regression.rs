//! Regressions with several predictors: privacy over all rows of small grids, and what intervals of coefficients hold.

use dp_core::encoding::columns::{Columns, sums_of, totals_of};
use dp_core::encoding::grid::{Bounds, PAIR_STEPS};
use dp_core::encoding::sums::Totals;
use dp_core::mechanism::regression::fit::{Coefficient, Fit};
use dp_core::mechanism::regression::gaussian::{gaussian, weights};
use dp_core::mechanism::regression::knorm::knorm;
use dp_core::mechanism::regression::parts::count;
use dp_core::mechanism::regression::sums::{Noise, OfColumns, Sums};
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::REGRESSION;
use dp_core::request::arguments::Arguments;

use crate::stats::Moments;
use crate::words::Seeded;

/// How many standard errors more than its share an interval may miss: over some hundred settings one is beyond with
/// probability below 1e-6.
const STANDARD_ERRORS: f64 = 5.8;

fn bounds(lo: f64, hi: f64) -> Bounds {
    Bounds::new(Some(lo), Some(hi)).expect("bounds")
}

/// Predictors from -2 to 6, and `y` from 10 to 30.
fn columns(predictors: usize) -> Columns {
    Columns::new(&vec![bounds(-2.0, 6.0); predictors], bounds(10.0, 30.0))
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).expect("an epsilon")
}

/// All rows of that many columns on a small grid.
fn all_rows(columns: usize, steps: u64) -> impl Iterator<Item = Vec<u64>> {
    let base = steps + 1;
    let digit = move |k: u64, i: usize| k / base.pow(i as u32) % base;
    (0..base.pow(columns as u32)).map(move |k| (0..columns).map(|i| digit(k, i)).collect())
}

/// The most that a row moves the numbers that noise goes on, by a length.
fn farthest<N: Noise>(
    mechanism: &Sums<N>,
    columns: usize,
    steps: u64,
    length: fn(&[i128]) -> f64,
) -> f64 {
    let others = totals_of(columns, all_rows(columns, steps).take(5));
    let before = mechanism.coordinates(&others);
    let moved = |row: Vec<u64>| {
        let mut with = others.clone();
        let one = totals_of(columns, [row]);
        with.n += one.n;
        for (sum, more) in with.s.iter_mut().zip(&one.s) {
            *sum += more;
        }
        let after = mechanism.coordinates(&with);
        let moves: Vec<_> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
        length(&moves)
    };
    all_rows(columns, steps).map(moved).fold(0.0, f64::max)
}

/// The standard deviation of the noise on the first number.
fn deviation<N: Noise>(mechanism: &Sums<N>, columns: usize, draws: usize) -> (f64, f64) {
    let words = &mut Seeded::new(4101);
    let nobody = Totals::new(sums_of(columns));
    let drawn = (0..draws).map(|_| mechanism.noisy(&nobody, words)[0] as f64);
    let moments = Moments::of(drawn);
    (moments.mean_square(), moments.mean_square_error())
}

fn largest(moves: &[i128]) -> f64 {
    moves.iter().map(|x| x.abs() as f64).fold(0.0, f64::max)
}

fn euclidean(moves: &[i128]) -> f64 {
    moves
        .iter()
        .map(|x| (*x as f64).powi(2))
        .sum::<f64>()
        .sqrt()
}

/// Noise in the shape of a cube is for the largest move of a number, and no more: its law is `samplers.rs`'s matter.
#[test]
fn knorm_is_private_and_tight() {
    for (predictors, steps) in [(1, 6), (2, 4), (3, 2)] {
        let (all, eps) = (predictors + 1, 0.7);
        let mechanism = knorm(columns(predictors), steps, epsilon(eps));
        assert_eq!(
            farthest(&mechanism, all, steps, largest),
            (steps * steps) as f64
        );
        let fine = knorm(columns(predictors), PAIR_STEPS, epsilon(eps));
        let numbers = count(all) as f64;
        let unit = (PAIR_STEPS as f64).powi(2) / eps;
        let expected = (numbers + 1.0) * (numbers + 2.0) / 3.0 * unit * unit;
        let (square, error) = deviation(&fine, all, 20_000);
        assert!(
            (square - expected).abs() < 5.0 * error,
            "{predictors}: {square} {expected}"
        );
    }
}

#[test]
fn gaussian_noise_is_private_and_tight() {
    for (predictors, steps) in [(1, 6), (2, 4), (3, 2)] {
        let (all, mu) = (predictors + 1, 0.7);
        let mechanism = gaussian(columns(predictors), steps, mu);
        let length = weights(all)
            .iter()
            .map(|w| f64::from(*w).powi(2))
            .sum::<f64>()
            .sqrt();
        let moved = farthest(&mechanism, all, steps, euclidean) / (steps * steps) as f64;
        assert!((moved / length - 1.0).abs() < 1e-12, "{moved} {length}");
        let fine = gaussian(columns(predictors), PAIR_STEPS, mu);
        let expected = (moved * (PAIR_STEPS as f64).powi(2) / mu).powi(2);
        let (square, error) = deviation(&fine, all, 20_000);
        assert!(
            (square - expected).abs() < 5.0 * error,
            "{predictors}: {square} {expected}"
        );
    }
}

fn uniform(words: &mut Seeded) -> f64 {
    (words.word() >> 11) as f64 / (1u64 << 53) as f64
}

/// A number from -1 to 1, nearly normal.
fn bell(words: &mut Seeded) -> f64 {
    (0..4).map(|_| uniform(words)).sum::<f64>() / 2.0 - 1.0
}

/// What a law makes of uniform numbers: places of the predictors, then of `y`, each from -1 to 1.
struct World {
    name: &'static str,
    predictors: usize,
    /// The slopes of `y`, in places.
    slopes: &'static [f64],
    predictor: fn(usize, f64, &mut Seeded) -> f64,
    residual: f64,
}

const WORLDS: [World; 5] = [
    World {
        name: "one predictor",
        predictors: 1,
        slopes: &[0.4],
        predictor: |_, _, words| 2.0 * uniform(words) - 1.0,
        residual: 0.3,
    },
    World {
        name: "two that go together",
        predictors: 2,
        slopes: &[0.4, -0.2],
        predictor: |_, common, words| 0.5 * common + 0.5 * (2.0 * uniform(words) - 1.0),
        residual: 0.2,
    },
    World {
        name: "five",
        predictors: 5,
        slopes: &[0.2, -0.2, 0.1, 0.0, 0.15],
        predictor: |i, _, words| {
            if i % 2 == 0 {
                2.0 * uniform(words) - 1.0
            } else {
                f64::from(u8::from(uniform(words) < 0.3)) * 2.0 - 1.0
            }
        },
        residual: 0.2,
    },
    World {
        name: "narrow beside the bounds",
        predictors: 2,
        slopes: &[1.0, 0.5],
        predictor: |_, _, words| 0.3 * bell(words) - 0.4,
        residual: 0.1,
    },
    // Schooling and a group that has less of it: few rows do not show its spread.
    World {
        name: "one that is hardly seen",
        predictors: 2,
        slopes: &[0.5, -0.05],
        predictor: |i, common, words| {
            let group = f64::from(u8::from(common < -0.4)) * 2.0 - 1.0;
            if i == 0 {
                0.25 * bell(words) - 0.1 * group
            } else {
                group
            }
        },
        residual: 0.2,
    },
];

impl World {
    fn rows(&self, n: usize, words: &mut Seeded) -> Totals {
        let row = |_| {
            let common = 2.0 * uniform(words) - 1.0;
            let x: Vec<_> = (0..self.predictors)
                .map(|i| (self.predictor)(i, common, words))
                .collect();
            let line: f64 = x.iter().zip(self.slopes).map(|(x, slope)| x * slope).sum();
            let y = line + self.residual * bell(words);
            let place = |u: f64| ((u + 1.0) / 2.0 * PAIR_STEPS as f64).round() as u64;
            x.into_iter().chain([y]).map(place).collect::<Vec<_>>()
        };
        totals_of(self.predictors + 1, (0..n).map(row))
    }

    /// The coefficients in the units of the columns.
    fn coefficients(&self) -> Vec<f64> {
        let slopes: Vec<_> = self.slopes.iter().map(|slope| slope * 10.0 / 4.0).collect();
        let intercept = 20.0 - slopes.iter().map(|slope| slope * 2.0).sum::<f64>();
        [intercept].into_iter().chain(slopes).collect()
    }
}

/// Whether an interval holds a number.
fn holds([lower, upper]: [f64; 2], number: f64) -> bool {
    lower <= number && number <= upper
}

/// A release of a table, from a source of words.
type Release = Box<dyn Fn(&Totals, &mut Seeded) -> Fit>;

/// The two mechanisms at this epsilon, or mu.
fn releases(world: &World, eps: f64) -> [(&'static str, Release); 2] {
    let pure = knorm(columns(world.predictors), PAIR_STEPS, epsilon(eps));
    let normal = gaussian(columns(world.predictors), PAIR_STEPS, eps);
    [
        (
            "knorm",
            Box::new(move |totals, words| pure.release_from(totals, words)),
        ),
        (
            "gaussian",
            Box::new(move |totals, words| normal.release_from(totals, words)),
        ),
    ]
}

/// The coefficients of the rows themselves, nearly: of a million copies of them at the largest epsilon.
fn without_noise(world: &World, totals: &Totals, words: &mut Seeded) -> Vec<f64> {
    let copies = Totals {
        n: totals.n << 20,
        s: totals.s.iter().map(|sum| sum << 20).collect(),
    };
    let [(_, release), _] = releases(world, 50.0);
    let fit = release(&copies, words);
    fit.coefficients.iter().map(|found| found.value).collect()
}

#[test]
fn intervals_hold_the_coefficients() {
    let words = &mut Seeded::new(4102);
    let (mut all, mut seen) = ([0.0; 2], 0.0);
    for world in &WORLDS {
        let population = world.coefficients();
        for (n, resamples) in [(200, 300), (2000, 300), (20_000, 60)] {
            let tables = (0..resamples).map(|_| {
                let table = world.rows(n, words);
                let of_rows = without_noise(world, &table, words);
                (table, of_rows)
            });
            let tables: Vec<_> = tables.collect();
            for (eps, (name, release)) in [0.06, 0.3, 1.0, 4.0]
                .into_iter()
                .flat_map(|eps| releases(world, eps).map(|of| (eps, of)))
            {
                let mut missed = vec![[0.0; 2]; population.len()];
                let mut of_seen = 0.0;
                for (table, of_rows) in &tables {
                    let fit = release(table, words);
                    for (i, found) in fit.coefficients.iter().enumerate() {
                        let held = [
                            holds(found.of_rows, of_rows[i]),
                            holds(found.of_population, population[i]),
                        ];
                        for (missed, held) in missed[i].iter_mut().zip(held) {
                            *missed += f64::from(u8::from(!held));
                        }
                        of_seen += f64::from(u8::from(found.standard_error.is_finite()));
                    }
                }
                let draws = f64::from(resamples);
                for (i, missed) in missed.iter().enumerate() {
                    // That the law of the noise is looked at where the coefficients were found takes up to one of a hundred.
                    let most = 0.06 * draws + STANDARD_ERRORS * (0.06 * 0.94 * draws).sqrt();
                    assert!(
                        missed.iter().all(|missed| *missed <= most),
                        "{}, {n} rows, {name} {eps}: {i} {missed:?}",
                        world.name
                    );
                }
                // Where all of them are seen.
                if of_seen > 0.99 * draws * population.len() as f64 {
                    seen += of_seen;
                    for [of_rows, of_population] in &missed {
                        all = [all[0] + of_rows, all[1] + of_population];
                    }
                }
            }
        }
    }
    let shares = all.map(|all| all / seen);
    println!("missed {shares:.4?} of {seen}");
    assert!(
        shares.iter().all(|share| (0.03..=0.055).contains(share)),
        "{shares:?}"
    );
}

/// The middle of the interval of the rows: what least squares give of the noisy sums.
fn middle(found: &Coefficient) -> f64 {
    f64::midpoint(found.of_rows[0], found.of_rows[1])
}

/// Of few rows, what is shown is nearer to the slopes of the rows than least squares of what is seen are, and than 0 is.
#[test]
fn few_rows_are_shrunk() {
    let words = &mut Seeded::new(4107);
    let world = &WORLDS[2];
    let [knorm, _] = releases(world, 1.0);
    let [_, gaussian] = releases(world, 0.3);
    for (name, release) in [knorm, gaussian] {
        let [mut of_shown, mut of_seen, mut of_zero] = [0.0; 3];
        for _ in 0..600 {
            let table = world.rows(400, words);
            let of_rows = without_noise(world, &table, words);
            let fit = release(&table, words);
            for (found, of_rows) in fit.coefficients.iter().zip(of_rows).skip(1) {
                let seen = if is_unknown(found) {
                    0.0
                } else {
                    middle(found)
                };
                of_shown += (found.value - of_rows).powi(2);
                of_seen += (seen - of_rows).powi(2);
                of_zero += of_rows.powi(2);
            }
        }
        assert!(
            of_shown < 0.9 * of_seen.min(of_zero),
            "{name}: {of_shown} {of_seen} {of_zero}"
        );
    }
}

/// Of many, it is what least squares give.
#[test]
fn many_rows_are_not() {
    let words = &mut Seeded::new(4108);
    for world in &WORLDS[..4] {
        let table = world.rows(100_000, words);
        for (name, release) in releases(world, 1.0) {
            for found in release(&table, words).coefficients {
                let farther = (found.value - middle(&found)).abs() / found.standard_error;
                assert!(farther < 0.05, "{}, {name}: {farther}", world.name);
            }
        }
    }
}

/// What is shown is one line, through the means, inside its intervals, also those of little confidence, and no slope is
/// farther than a standard error from what least squares give.
#[test]
fn what_is_shown_goes_together() {
    let (words, generator) = (&mut Seeded::new(4109), &mut Generator::from_seed(4110));
    for world in &WORLDS {
        let of = columns(world.predictors);
        for miss in [0.05, 0.9] {
            let mechanism = Box::new(knorm(of.clone(), PAIR_STEPS, epsilon(1.0))).missing(miss);
            for n in [50, 200, 1000, 5000].repeat(25) {
                let fit = mechanism.release(&world.rows(n, words), generator);
                let [at_zero, slopes @ ..] = &fit.coefficients[..] else {
                    panic!()
                };
                for found in &fit.coefficients {
                    let [lower, upper] = found.of_rows;
                    assert!(lower <= found.value && found.value <= upper, "{found:?}");
                    assert!(found.of_population[0] <= lower && upper <= found.of_population[1]);
                }
                for found in slopes.iter().filter(|of| miss < 0.1 && !is_unknown(of)) {
                    let farther = (found.value - middle(found)).abs();
                    assert!(farther <= 1.0001 * found.standard_error, "{found:?}");
                }
                let [means @ .., of_y] = &fit.means[..] else {
                    panic!()
                };
                let terms = slopes
                    .iter()
                    .zip(means)
                    .map(|(slope, mean)| slope.value * mean);
                let line: f64 = at_zero.value + terms.sum::<f64>();
                assert!(
                    fit.count <= of.count() as f64 || (line - of_y).abs() < 1e-6,
                    "{fit:?}"
                );
            }
        }
    }
}

/// A fit of rows without noise to speak of.
fn fit_of(predictors: usize, rows: impl IntoIterator<Item = Vec<u64>>) -> Fit {
    let table = totals_of(predictors + 1, rows);
    let copies = Totals {
        n: table.n << 20,
        s: table.s.iter().map(|sum| sum << 20).collect(),
    };
    let mechanism = knorm(columns(predictors), PAIR_STEPS, epsilon(1.0));
    mechanism.release_from(&copies, &mut Seeded::new(4103))
}

fn is_unknown(found: &Coefficient) -> bool {
    found.of_rows == [f64::NEG_INFINITY, f64::INFINITY] && found.p_value == 1.0
}

/// y = 20 + 10 (x - 2) / 4 - 5 (w - 2) / 4, exactly.
#[test]
fn a_plane_is_found() {
    let place = |u: f64| ((u + 1.0) / 2.0 * PAIR_STEPS as f64).round() as u64;
    let rows = (0..100).map(|i| {
        let (x, w) = (f64::from(i % 10) / 5.0 - 0.9, f64::from(i / 10) / 5.0 - 0.9);
        vec![place(x), place(w), place(0.5 * x - 0.25 * w)]
    });
    let fit = fit_of(2, rows);
    let found: Vec<_> = fit.coefficients.iter().map(|of| of.value).collect();
    for (found, expected) in found.iter().zip([20.0 - 2.5 + 1.25, 1.25, -0.625]) {
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }
    assert!(fit.r2 > 0.9999 && fit.residual_stddev < 0.01, "{fit:?}");
    assert!((fit.count / f64::from(100 << 20) - 1.0).abs() < 1e-6);
}

/// A predictor that never changes, or that is the same as another, says nothing, and the others what they did.
#[test]
fn what_is_not_seen_has_no_ends() {
    let words = &mut Seeded::new(4104);
    let place = |u: f64| ((u + 1.0) / 2.0 * PAIR_STEPS as f64).round() as u64;
    let rows: Vec<_> = (0..500).map(|_| 2.0 * uniform(words) - 1.0).collect();
    let constant = fit_of(
        2,
        rows.iter()
            .map(|x| vec![place(*x), place(0.3), place(0.5 * x)]),
    );
    let [intercept, slope, unknown] = &constant.coefficients[..] else {
        panic!()
    };
    assert!(
        (slope.value - 1.25).abs() < 0.01 && slope.standard_error < 0.01,
        "{slope:?}"
    );
    assert!(is_unknown(unknown) && is_unknown(intercept), "{constant:?}");
    let twins = fit_of(
        2,
        rows.iter()
            .map(|x| vec![place(*x), place(*x), place(0.5 * x)]),
    );
    let [_, one, other] = &twins.coefficients[..] else {
        panic!()
    };
    assert!(is_unknown(one) && is_unknown(other), "{twins:?}");
    // Only their sum is.
    assert!((one.value + other.value - 1.25).abs() < 0.01, "{twins:?}");
}

#[test]
fn nobody_says_nothing() {
    let words = &mut Seeded::new(4105);
    let nobody = Totals::new(sums_of(4));
    for eps in [1e-5, 0.1, 1.0, 50.0] {
        let mechanism = knorm(columns(3), PAIR_STEPS, epsilon(eps));
        for _ in 0..200 {
            let fit = mechanism.release_from(&nobody, words);
            assert_eq!(fit.coefficients.len(), 4);
            for found in &fit.coefficients {
                assert!(
                    found.value.is_finite() && (0.0..=1.0).contains(&found.p_value),
                    "{fit:?}"
                );
            }
            assert!((0.0..=1.0).contains(&fit.r2) && (0.0..=20.0).contains(&fit.residual_stddev));
        }
    }
}

#[test]
fn bounds_are_checked() {
    let one = Some(1.0);
    let refused = |lo: &[Option<f64>], hi: &[Option<f64>]| {
        let arguments = Arguments {
            bounds: Some((Some(0.0), one)),
            columns: Some([lo, hi]),
            epsilon: one,
            ..Arguments::default()
        };
        REGRESSION
            .build(&arguments)
            .err()
            .map(|error| error.argument)
    };
    let zero = Some(0.0);
    assert_eq!(refused(&[zero; 16], &[one; 16]), None);
    for (lo, hi, argument) in [
        (&[][..], &[][..], "xlo"),
        (&[zero; 17], &[one; 17], "xlo"),
        (&[zero; 2], &[one; 3], "xhi"),
        (&[zero; 2], &[], "xhi"),
        (&[zero, None], &[one; 2], "xlo"),
        (&[zero; 2], &[one, Some(f64::NAN)], "xhi"),
        (&[zero; 2], &[one, Some(f64::INFINITY)], "xhi"),
        (&[zero; 2], &[one, zero], "xhi"),
    ] {
        assert_eq!(refused(lo, hi), Some(argument), "{lo:?} {hi:?}");
    }
}

/// Bounds near the ends of what floats are: nothing is NaN.
#[test]
fn extreme_bounds_answer() {
    let words = &mut Seeded::new(4106);
    for (x, y) in [
        (bounds(-1e308, 0.7e308), bounds(0.0, 1e-300)),
        (bounds(0.0, 5e-324), bounds(-1e307, 1e308)),
        (bounds(1e15, 1e15 + 1.0), bounds(0.0, 1.0)),
    ] {
        let mechanism = gaussian(Columns::new(&[x, x], y), PAIR_STEPS, 1.0);
        let table = totals_of(
            3,
            all_rows(3, 2)
                .map(|row| -> Vec<_> { row.iter().map(|t| t * PAIR_STEPS / 2).collect() }),
        );
        let copies = Totals {
            n: table.n << 10,
            s: table.s.iter().map(|sum| sum << 10).collect(),
        };
        let fit = mechanism.release_from(&copies, words);
        for found in &fit.coefficients {
            let numbers = [found.value, found.standard_error, found.p_value];
            assert!(
                numbers
                    .iter()
                    .chain(&found.of_rows)
                    .all(|number| !number.is_nan()),
                "{fit:?}"
            );
        }
    }
}
