//! Variances: privacy by enumeration, the error against the usual way, and the far ends.

use dp_core::encoding::grid::{Bounds, COARSE_STEPS, Grid};
use dp_core::encoding::sums::Moments;
use dp_core::mechanism::variance::gaussian::Gaussian;
use dp_core::mechanism::variance::inputs::VarianceMechanism;
use dp_core::mechanism::variance::laplace::Laplace;
use dp_core::mechanism::variance::moments::{MomentNoise, Variance, VarianceAnswer};
use dp_core::privacy::accounting;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::VARIANCE;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::discrete_laplace::DiscreteLaplace;

use crate::stats::{self, Z_ALPHA};
use crate::words::Seeded;

const EPSILONS: [f64; 4] = [0.1, 1.0, 2.5, 8.0];

pub(crate) type Point = [i128; 3];

fn unit_bounds() -> Bounds {
    Bounds::new(Some(0.0), Some(1.0)).unwrap()
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

/// Rows of that many steps.
fn moments(rows: impl IntoIterator<Item = u64>) -> Moments {
    let mut moments = Moments::default();
    rows.into_iter().for_each(|t| moments.add(t));
    moments
}

/// What each row moves the noisy sums by, the noise being the same.
fn moves<N: MomentNoise>(noise: N) -> Vec<Point> {
    let steps = noise.steps();
    let mechanism = Variance::new(unit_bounds(), false, noise);
    let noisy = |rows: &[u64]| mechanism.noisy(&moments(rows.iter().copied()), &mut Seeded::new(3));
    let without = noisy(&[1, 0]);
    let with = (0..=steps).map(|t| noisy(&[1, 0, t]));
    with.map(|with| std::array::from_fn(|i| with[i] - without[i]))
        .collect()
}

pub(crate) fn total([x, y, z]: Point) -> i128 {
    x.abs() + y.abs() + z.abs()
}

/// The largest ratio of probabilities of three numbers with Laplace noise of this scale, over all
/// outputs in a window and all moves, forwards and backwards.
pub(crate) fn worst(epsilon: f64, scale: i128, moves: &[Point]) -> f64 {
    let reach = moves.iter().map(|point| total(*point)).max().unwrap() + 2;
    let mut worst = 0;
    for x in -reach..=reach {
        for y in -reach..=reach {
            for z in -reach..=reach {
                let here = total([x, y, z]);
                for [dx, dy, dz] in moves {
                    worst = worst.max(here - total([x + dx, y + dy, z + dz]));
                    worst = worst.max(here - total([x - dx, y - dy, z - dz]));
                }
            }
        }
    }
    (worst as f64 / scale as f64 * epsilon).exp()
}

#[test]
fn a_row_moves_the_bernstein_sums_by_exactly_one_unit() {
    for steps in 1..=64u64 {
        for t in 0..=steps {
            let bernstein = [(steps - t).pow(2), 2 * t * (steps - t), t * t];
            assert_eq!(bernstein.iter().sum::<u64>(), steps * steps);
        }
    }
}

#[test]
fn laplace_is_private_and_tight() {
    for steps in 1..=1000u64 {
        let moves = moves(Laplace::new(steps, epsilon(1.0)));
        let unit = 2 * i128::from(steps * steps);
        // As the proof has it: the ends of the bounds use up all of it, and nothing exceeds it.
        assert_eq!(moves.iter().map(|point| total(*point)).max(), Some(unit));
        for end in [0, steps as usize] {
            assert_eq!(total(moves[end]), unit, "{steps}");
        }
    }
    for steps in 1..=3u64 {
        let moves = moves(Laplace::new(steps, epsilon(1.0)));
        let unit = 2 * i128::from(steps * steps);
        for epsilon in EPSILONS {
            let (ratio, bound) = (worst(epsilon, unit, &moves), epsilon.exp());
            assert!((ratio / bound - 1.0).abs() < 1e-12, "{steps}: {ratio}");
        }
    }
}

/// The enumeration must be able to fail.
#[test]
fn wrong_laws_are_caught() {
    for steps in 3..=4i128 {
        let moves = |sums: fn(Point) -> Point| -> Vec<Point> {
            let rows = 0..=steps;
            let bernstein = |t: i128| [(steps - t).pow(2), 2 * t * (steps - t), t * t];
            rows.map(|t| sums(bernstein(t))).collect()
        };
        let right = moves(|[b0, b1, b2]| [2 * b0 - b1 / 2, 2 * b1, 2 * b2 - b1 / 2]);
        let unit = 2 * steps * steps;
        let caught = |what: &str, scale: i128, moves: &[Point]| {
            let ratio = worst(1.0, scale, moves);
            assert!(ratio > 1f64.exp() * 1.01, "{what}, {steps}: {ratio}");
        };
        assert!(worst(1.0, unit, &right) < 1f64.exp() * 1.000001);
        caught("the scale of one sum alone", unit - 1, &right);
        let wrong = moves(|[b0, b1, b2]| [2 * b0 - b1 / 2, 4 * b1, 2 * b2 - b1 / 2]);
        caught("a heavier middle", unit, &wrong);
        let wrong = moves(|[b0, b1, b2]| [2 * b0, 2 * b1, 2 * b2 + b1 / 2]);
        caught("put on at one side", unit, &wrong);
    }
}

/// Of the sums as they are, the squared Euclidean distance of a move is at most `G^4`.
#[test]
fn gaussian_moves_are_within_the_sensitivity() {
    for steps in 1..=1000u64 {
        let moves = moves(Gaussian::new(steps, 1.0));
        let squares = |point: &Point| point.iter().map(|x| x * x).sum::<i128>();
        let most = moves.iter().map(squares).max();
        assert_eq!(most, Some(i128::from(steps).pow(4)), "{steps}");
        // The three points of the design use up all of it.
        assert_eq!(squares(&moves[0]), i128::from(steps).pow(4));
        if steps % 2 == 0 {
            let middle = squares(&moves[steps as usize / 2]);
            assert_eq!(middle, i128::from(steps).pow(4));
        }
    }
}

#[test]
fn noise_does_not_depend_on_the_data() {
    fn check<N: MomentNoise>(noise: impl Fn() -> N) {
        let steps = noise().steps();
        let mechanism = Variance::new(unit_bounds(), false, noise());
        for seed in 0..20 {
            let of = |moments: &Moments| {
                let noisy = mechanism.noisy(moments, &mut Seeded::new(seed));
                let g = i128::from(steps);
                let (n, s, q) = (i128::from(moments.n), moments.s, moments.q);
                let sums = noise().sums([g * g * n - 2 * g * s + q, 2 * (g * s - q), q]);
                std::array::from_fn::<_, 3, _>(|i| noisy[i] - sums[i])
            };
            let empty = of(&Moments::default());
            assert_ne!(empty, [0; 3]);
            for rows in [&[0][..], &[steps], &[1, steps, steps / 2], &[steps; 50]] {
                assert_eq!(of(&moments(rows.iter().copied())), empty);
            }
            let many = Moments {
                n: 1 << 40,
                s: i128::from(steps) << 39,
                q: i128::from(steps * steps) << 38,
            };
            assert_eq!(of(&many), empty);
        }
    }
    for steps in [4, 100, COARSE_STEPS] {
        check(|| Laplace::new(steps, epsilon(0.3)));
        check(|| Gaussian::new(steps, 0.3));
    }
}

#[test]
fn the_sums_lead_back_to_the_bernstein_sums() {
    let mut words = Seeded::new(5);
    for _ in 0..1000 {
        let mut below = |bits: u32| i128::from(words.word() >> (64 - bits));
        let bernstein = [below(60), 2 * below(60), below(60)];
        let back =
            |noise: &dyn Fn(Point) -> Point| assert_eq!(noise(bernstein), bernstein.map(|b| 8 * b));
        let laplace = Laplace::new(16, epsilon(1.0));
        back(&|b| laplace.eightfold_bernstein(laplace.sums(b)));
        let gaussian = Gaussian::new(16, 1.0);
        back(&|b| gaussian.eightfold_bernstein(gaussian.sums(b)));
    }
}

/// 10,000 rows in [0, 1], drawn from a distribution.
fn rows(seed: u64, draw: impl Fn(&mut dyn FnMut() -> f64) -> f64) -> Vec<f64> {
    let mut words = Seeded::new(seed);
    let mut uniform = move || ((words.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    (0..10_000).map(|_| draw(&mut uniform)).collect()
}

/// Each distribution, with how many times better than the usual way it must be.
fn distributions() -> [(&'static str, Vec<f64>, f64); 4] {
    let gamma = |shape: u32, uniform: &mut dyn FnMut() -> f64| -> f64 {
        (0..shape).map(|_| -uniform().ln()).sum()
    };
    [
        (
            "beta(2, 8)",
            rows(1, |uniform| {
                let (a, b) = (gamma(2, uniform), gamma(8, uniform));
                a / (a + b)
            }),
            2.5,
        ),
        (
            "10% ones",
            rows(2, |uniform| f64::from(uniform() < 0.1)),
            2.5,
        ),
        (
            "a narrow normal",
            rows(3, |uniform| {
                let angle = std::f64::consts::TAU * uniform();
                0.5 + 0.05 * (-2.0 * uniform().ln()).sqrt() * angle.cos()
            }),
            1.3,
        ),
        ("uniform", rows(4, |uniform| uniform()), 1.1),
    ]
}

/// Mean and variance.
fn truth(rows: &[f64]) -> (f64, f64) {
    let n = rows.len() as f64;
    let mean = rows.iter().sum::<f64>() / n;
    (
        mean,
        rows.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n,
    )
}

fn on_grid(rows: &[f64]) -> Moments {
    let grid = Grid::unit(&unit_bounds());
    moments(rows.iter().map(|x| grid.coarse_steps(*x)))
}

const RELEASES: usize = 20_000;

/// Mean squared errors of the variance, by a third of epsilon each on the number of rows, their sum
/// and that of their squares, all counted from the middle.
fn usual(rows: &[f64], value: f64, words: &mut Seeded) -> stats::Moments {
    let (n, variance) = (rows.len() as f64, truth(rows).1);
    let from_middle = || rows.iter().map(|x| x - 0.5);
    let (s, q): (f64, f64) = (from_middle().sum(), from_middle().map(|u| u * u).sum());
    let noise = DiscreteLaplace::new(1 << 32, epsilon(value / 3.0));
    let mut draw = |sensitivity: f64| noise.draw(words) as f64 / (1u64 << 32) as f64 * sensitivity;
    stats::Moments::of((0..RELEASES).map(|_| {
        let n_noisy = n + draw(1.0);
        let s = s + draw(0.5);
        let q = q - n / 8.0 + draw(0.125) + n_noisy / 8.0;
        (q / n_noisy - (s / n_noisy).powi(2)).clamp(0.0, 0.25) - variance
    }))
}

#[test]
fn the_variance_errs_less_than_with_a_split_epsilon() {
    for (name, rows, better) in distributions() {
        let (mean, variance) = truth(&rows);
        let moments = on_grid(&rows);
        for value in [0.1, 1.0] {
            let mut words = Seeded::new(17);
            let usual = usual(&rows, value, &mut words);
            let noise = Laplace::new(COARSE_STEPS, epsilon(value));
            let mechanism = Variance::new(unit_bounds(), false, noise);
            let ours = stats::Moments::of(
                (0..RELEASES)
                    .map(|_| mechanism.release_from(&moments, &mut words).variance - variance),
            );
            let ratio = usual.mean_square() / ours.mean_square();
            // The standard error of the logarithm of a ratio of independent means.
            let error =
                |moments: &stats::Moments| moments.mean_square_error() / moments.mean_square();
            let slack = Z_ALPHA * error(&usual).hypot(error(&ours));
            println!("{name}, eps {value}: {ratio:.3} times better, give or take {slack:.3} of it");
            assert!(
                ratio * (-slack).exp() > better,
                "{name}, {value}: {ratio}, {slack}"
            );

            // The formula of the module, but where the answer is kept in its range.
            if name != "10% ones" {
                let [c0, c2] = [mean, 1.0 - mean].map(|x| x * x - variance);
                let c1 = 0.75 * (c0 + c2) - 0.5;
                let noise = 2.0 / (value * rows.len() as f64).powi(2);
                let expected = noise * (c0 * c0 + c1 * c1 + c2 * c2);
                ours.assert_mean_square(name, expected, 0.02);
            }
        }
    }
}

#[test]
fn gaussian_noise_is_what_its_budget_asks_for() {
    let moments = on_grid(&distributions()[3].1);
    let (mean, variance) = truth(&distributions()[3].1);
    for mu in [0.05, 1.0] {
        let mut words = Seeded::new(23);
        let mechanism = Variance::new(unit_bounds(), false, Gaussian::new(COARSE_STEPS, mu));
        let unit = (COARSE_STEPS * COARSE_STEPS) as f64;
        let (mut draws, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..RELEASES {
            let noise = mechanism.noisy(&Moments::default(), &mut words);
            draws.extend(noise.map(|x| x as f64 / unit));
            answers.push(mechanism.release_from(&moments, &mut words));
        }
        stats::Moments::of(draws).assert_mean_square("one sum", 1.0 / (mu * mu), 1e-9);
        let counts = answers.iter().map(|answer| answer.count - 10_000.0);
        stats::Moments::of(counts).assert_mean_square("the count", 3.0 / (mu * mu), 1e-9);
        let errors = answers.iter().map(|answer| answer.variance - variance);
        let [c0, c1, c2] = [0.0, 0.5, 1.0].map(|x: f64| (x - mean).powi(2) - variance);
        let expected = (c0 * c0 + c1 * c1 + c2 * c2) / (mu * 10_000.0).powi(2);
        stats::Moments::of(errors).assert_mean_square("the variance", expected, 0.02);
    }
}

#[test]
fn the_count_is_unbiased_and_the_mean_right() {
    for (value, rows) in [(0.1, 0), (1.0, 3), (1.0, 10_000)] {
        let all = &distributions()[0].1;
        let rows = &all[..rows];
        let mechanism = Variance::new(
            unit_bounds(),
            false,
            Laplace::new(COARSE_STEPS, epsilon(value)),
        );
        let (moments, mut words) = (on_grid(rows), Seeded::new(31));
        let answers: Vec<_> = (0..RELEASES)
            .map(|_| mechanism.release_from(&moments, &mut words))
            .collect();
        let counts = stats::Moments::of(answers.iter().map(|a| a.count - rows.len() as f64));
        counts.assert_mean_square("count", 8.5 / (value * value), 1e-9);
        let slack = Z_ALPHA * (counts.mean_square() / RELEASES as f64).sqrt();
        assert!(counts.mean().abs() < slack, "{}", counts.mean());
        if rows.len() > 1000 {
            let mean = truth(rows).0;
            let errors = answers.iter().map(|a| a.mean - mean);
            // As for the variance, with x - mean in the place of its square.
            let (c0, c2) = (-mean, 1.0 - mean);
            let expected = 2.0 / (value * rows.len() as f64).powi(2)
                * (c0 * c0 + c2 * c2 + (0.75 * (c0 + c2)).powi(2));
            stats::Moments::of(errors).assert_mean_square("mean", expected, 0.02);
        }
        // Where nothing is left of the rows, the answer is what the bounds say.
        let lost = answers.iter().filter(|answer| answer.count <= 0.0);
        let mut some = 0;
        for answer in lost {
            some += 1;
            assert_eq!((answer.mean, answer.variance), (0.5, 1.0 / 12.0));
        }
        assert_eq!(some > 0, rows.len() < 10);
    }
}

fn arguments<'a>(lo: f64, hi: f64, epsilon: Option<f64>, mechanism: &'a str) -> Arguments<'a> {
    Arguments {
        bounds: Some((Some(lo), Some(hi))),
        epsilon,
        mechanism: MechanismArgument::Given(Some(mechanism)),
        ..Arguments::default()
    }
}

fn build(lo: f64, hi: f64, epsilon: Option<f64>, mechanism: &str) -> Box<VarianceMechanism> {
    let built = VARIANCE.build(&arguments(lo, hi, epsilon, mechanism));
    built.unwrap().moments().unwrap()
}

fn generator() -> Generator {
    #[cfg(feature = "testing")]
    return Generator::from_seed(1);
    #[cfg(not(feature = "testing"))]
    return Generator::from_os().unwrap();
}

#[test]
fn answers_are_in_the_unit_of_the_column() {
    let rows = [41.0, 52.0, 47.0, 250.0, -3.0, f64::INFINITY, 60.0];
    for (mechanism, epsilon) in [("laplace", Some(50.0)), ("gaussian(mu=1000)", None)] {
        for (lo, hi) in [(0.0, 100.0), (-1000.0, 3000.0), (40.0, 50.0)] {
            for sample in [false, true] {
                let text = match (mechanism, sample) {
                    (_, false) => mechanism.to_owned(),
                    ("laplace", true) => "laplace(sample=yes)".to_owned(),
                    (_, true) => "gaussian(mu=1000, sample=yes)".to_owned(),
                };
                let mechanism = build(lo, hi, epsilon, &text);
                let grid = mechanism.grid().unwrap();
                // Many times each, so that there is next to no noise in what follows.
                let many = 100_000;
                let steps = |x: &f64| std::iter::repeat_n(grid.coarse_steps(*x), many);
                let moments = moments(rows.iter().flat_map(steps));
                let clamped: Vec<f64> = rows.iter().map(|x| x.clamp(lo, hi)).collect();
                let (mean, variance) = truth(&clamped);
                let n = (rows.len() * many) as f64;
                let factor = if sample { n / (n - 1.0) } else { 1.0 };
                let answer = mechanism.release(&moments, &mut generator());
                let near = |found: f64, expected: f64, unit: f64| {
                    assert!(
                        (found - expected).abs() < 1e-5 * unit,
                        "{text}: {found} {expected}"
                    );
                };
                let width = hi - lo;
                near(answer.mean, mean, width);
                near(answer.variance, variance * factor, width * width);
                near(answer.stddev, (variance * factor).sqrt(), width);
                near(answer.count / n, 1.0, 1.0);
                assert!((answer.stddev.powi(2) / answer.variance - 1.0).abs() < 1e-12);
            }
        }
    }
}

/// The sample variance is `n / (n - 1)` times the other, with the noisy `n`, where that is above 2.
#[cfg(feature = "testing")]
#[test]
fn of_a_sample_it_is_larger() {
    let (population, sample) = (
        build(0.0, 1.0, Some(1.0), "laplace(sample=no)"),
        build(0.0, 1.0, Some(1.0), "laplace(sample=yes)"),
    );
    let moments = on_grid(&[0.1, 0.9, 0.3, 0.4]);
    let (mut small, mut large) = (0, 0);
    for seed in 0..1000 {
        let release = |mechanism: &VarianceMechanism| -> VarianceAnswer {
            mechanism.release(&moments, &mut Generator::from_seed(seed))
        };
        let (one, other) = (release(&*population), release(&*sample));
        assert_eq!((one.mean, one.count), (other.mean, other.count));
        let factor = match one.count > 2.0 {
            true => one.count / (one.count - 1.0),
            false => 1.0,
        };
        if factor == 1.0 {
            small += 1;
        } else {
            large += 1;
        }
        assert!((one.variance * factor - other.variance).abs() < 1e-15);
    }
    assert!(small > 100 && large > 100, "{small} {large}");
}

#[cfg(feature = "testing")]
#[test]
fn a_budget_is_spent_as_it_was_given() {
    let mu = accounting::mu(1.0, 1e-6).unwrap();
    let moments = on_grid(&distributions()[0].1[..100]);
    let release = |epsilon: Option<f64>, text: &str, factor: f64| {
        let arguments = arguments(0.0, 1.0, epsilon, text);
        let built = VARIANCE.build_with_budget_times(factor, &arguments);
        let mechanism = built.unwrap().moments().unwrap();
        mechanism.release(&moments, &mut Generator::from_seed(9))
    };
    let by_mu = |mu: f64| release(None, &format!("gaussian(mu={mu:?})"), 1.0);
    assert_eq!(release(Some(1.0), "gaussian(delta=1e-6)", 1.0), by_mu(mu));
    let rho = accounting::mu_of_rho(0.125).unwrap();
    assert_eq!(release(None, "gaussian(rho=0.125)", 1.0), by_mu(rho));
    assert_eq!(release(None, "gaussian(mu=0.5)", 2.0), by_mu(1.0));
    assert_eq!(
        release(Some(0.5), "laplace", 2.0),
        release(Some(1.0), "laplace", 1.0)
    );
}

#[test]
fn nothing_panics_and_nothing_is_nan() {
    let bounds = [
        (0.0, 1.0),
        (1e300, 1.7e308),
        (-8e307, 8e307),
        (1e6, 1e6 + 1.0),
        (-0.0, 1e-300),
        (-5e-324, 5e-324),
        (f64::MAX / 2.0, f64::MAX),
    ];
    let budgets = [
        (Some(Epsilon::MIN), "laplace"),
        (Some(1.0), "laplace(sample=yes)"),
        (Some(50.0), "laplace"),
        (None, "gaussian(mu=1e-9)"),
        (None, "gaussian(mu=1000, sample=yes)"),
        (None, "gaussian(rho=1e-18)"),
        (Some(Epsilon::MIN), "gaussian(delta=1e-300)"),
    ];
    let unit = i128::from(COARSE_STEPS);
    let numbers = [0, 1, 2, 1000, i64::MAX, i64::MIN, -1];
    let sums = [0, 1, unit, unit << 62, -unit, i128::MAX, i128::MIN];
    let mut generator = generator();
    for (lo, hi) in bounds {
        for (epsilon, text) in budgets {
            let mechanism = build(lo, hi, epsilon, text);
            let intervals = mechanism.intervals(0.05).unwrap();
            for n in numbers {
                for s in sums {
                    for q in sums {
                        let answer = mechanism.release(&Moments { n, s, q }, &mut generator);
                        let VarianceAnswer {
                            variance,
                            stddev,
                            mean,
                            count,
                            sums,
                        } = answer;
                        assert!(sums.iter().all(|sum| sum.is_finite()));
                        let [lower, upper] = intervals(&answer);
                        assert!(0.0 <= lower && lower <= stddev && stddev <= upper);
                        assert!(upper.is_finite(), "{text} {lo} {hi} {answer:?}");
                        let [lower, upper] = answer.variance_between([lower, upper]);
                        assert!(0.0 <= lower && lower <= variance && variance <= upper);
                        assert!(variance >= 0.0, "{text} {lo} {hi} {answer:?}");
                        assert!(stddev >= 0.0 && stddev.is_finite(), "{answer:?}");
                        assert!(mean >= lo && mean <= hi, "{answer:?}");
                        assert!(count.is_finite());
                        if !text.contains("sample") {
                            // Half the width, or a denormal that rounds up.
                            let most = (hi - lo) / 2.0 * (1.0 + 1e-15);
                            assert!(stddev <= most.max(hi - lo - 5e-324), "{answer:?}");
                        }
                    }
                }
            }
        }
    }
}
