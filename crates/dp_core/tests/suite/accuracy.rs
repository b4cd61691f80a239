//! Accuracy against the numbers of the literature.

use dp_core::encoding::grid::{Bounds, STEPS};
use dp_core::encoding::sums::Sums;
use dp_core::mechanism::mean::answer::MeanAnswer;
use dp_core::mechanism::mean::hourglass::Hourglass;
use dp_core::mechanism::mean::independent::Independent;
use dp_core::mechanism::mean::laplace::Laplace;
use dp_core::mechanism::mean::pair::{Complement, PairNoise};
use dp_core::mechanism::mean::shifted::Shifted;
use dp_core::mechanism::mean::staircase::Staircase;
use dp_core::mechanism::{count, sum};
use dp_core::privacy::epsilon::Epsilon;
use dp_core::sampler::{staircase, staircase2};

use crate::stats::Moments;
use crate::words::Seeded;

/// epsilon, gamma of the staircase, least variance, gamma in two dimensions, variance there.
const TABLE: [(f64, f64, f64, f64, f64); 6] = [
    (0.1, 0.491667, 199.917, 0.780, 199.998),
    (0.5, 0.458336, 7.91702, 0.745, 7.99233),
    (1.0, 0.416737, 1.91810, 0.698, 1.98541),
    (2.0, 0.335130, 0.422733, 0.594, 0.474387),
    (4.0, 0.195757, 0.0649788, 0.3905, 0.0908707),
    (8.0, 0.054838, 0.00337983, 0.1425, 0.00792404),
];

/// The least mean squared error for a sensitivity of 1 (Geng and Viswanath 2014, theorem 7).
fn least_variance(epsilon: f64) -> f64 {
    let b = (-epsilon).exp();
    let first = 2f64.powf(-2.0 / 3.0) * (-2.0 * epsilon / 3.0).exp() * (1.0 + b).powf(2.0 / 3.0);
    (first + b) / (-epsilon).exp_m1().powi(2)
}

/// Means of L, L^2, L^3, L^4 for a geometric L.
fn geometric_moments(epsilon: f64) -> [f64; 4] {
    let m = 1.0 / epsilon.exp_m1();
    [
        m,
        m * (1.0 + 2.0 * m),
        m * (1.0 + m * (6.0 + 6.0 * m)),
        m * (1.0 + m * (14.0 + m * (36.0 + 24.0 * m))),
    ]
}

/// Variance of the staircase on a grid, in units of sensitivity: exact but for rounding.
///
/// A distribution that is constant on levels is a mixture of uniform distributions on the numbers below the levels'
/// borders `r`: by parts, sums over levels become geometric means of sums up to a border.
fn grid_variance(steps: f64, core: f64, epsilon: f64) -> f64 {
    let [l1, l2, l3, _] = geometric_moments(epsilon);
    let (s, g) = (steps, core);
    // Means of r, r^2, r^3 over borders r = g + s L.
    let r1 = g + s * l1;
    let r2 = g * g + 2.0 * g * s * l1 + s * s * l2;
    let r3 = g.powi(3) + 3.0 * g * g * s * l1 + 3.0 * g * s * s * l2 + s.powi(3) * l3;
    // Below r: 2r - 1 integers, and their squares sum to (r - 1) r (2r - 1) / 3.
    (2.0 * r3 - 3.0 * r2 + r1) / 3.0 / (2.0 * r1 - 1.0) / (s * s)
}

/// Variance of a coordinate of the two-dimensional staircase, for small steps.
fn variance2(gamma: f64, epsilon: f64) -> f64 {
    let [l1, l2, l3, l4] = geometric_moments(epsilon);
    let g = gamma;
    let a2 = l2 + 2.0 * g * l1 + g * g;
    let a4 = l4 + 4.0 * g * l3 + 6.0 * g * g * l2 + 4.0 * g.powi(3) * l1 + g.powi(4);
    a4 / a2 / 6.0
}

#[test]
fn gamma_is_the_best_one_and_the_table_holds() {
    for (epsilon, gamma, variance, gamma2, variance_2) in TABLE {
        let near = |found: f64, printed: f64, unit: f64| {
            assert!(
                (found - printed).abs() <= 0.51 * unit,
                "{epsilon}: {found} {printed}"
            );
        };
        near(staircase::best_gamma(epsilon), gamma, 1e-6);
        assert!((least_variance(epsilon) / variance - 1.0).abs() < 3e-6);
        let ours = staircase::least_variance(epsilon);
        assert!((ours / least_variance(epsilon) - 1.0).abs() < 1e-12);
        assert!((staircase2::best_gamma(epsilon) - gamma2).abs() < 2e-3);
        let found = variance2(staircase2::best_gamma(epsilon), epsilon);
        assert!(
            (found / variance_2 - 1.0).abs() < 3e-6,
            "{epsilon}: {found}"
        );
        let core = staircase::core_of(staircase::best_gamma(epsilon), STEPS);
        let ratio = grid_variance(STEPS as f64, core as f64, epsilon) / least_variance(epsilon);
        assert!((ratio - 1.0).abs() < 1e-11, "{epsilon}: {ratio}");
    }
    for epsilon in [Epsilon::MIN, 1e-4, 0.01, 0.3, 3.0, 20.0, 50.0] {
        let (gamma, gamma2) = (
            staircase::best_gamma(epsilon),
            staircase2::best_gamma(epsilon),
        );
        assert!(gamma > 0.0 && gamma < 0.5 + 1e-12 && gamma2 > 0.0 && gamma2 <= 1.0);
        let steps = 2f64.powi(60);
        let least = grid_variance(steps, gamma * steps, epsilon);
        for i in 1..=100 {
            let other = f64::from(i) / 100.0;
            assert!(grid_variance(steps, other * steps, epsilon) >= least * (1.0 - 1e-9));
            let (other, best) = (variance2(other, epsilon), variance2(gamma2, epsilon));
            assert!(other >= best * (1.0 - 1e-9));
        }
    }
    // The form without cancellation, at the smallest epsilon.
    assert!((staircase::best_gamma(Epsilon::MIN) - 0.5).abs() < 1e-6);
}

#[test]
fn cores_are_always_on_the_grid() {
    for (gamma, core) in [
        (0.0, 1),
        (1e-300, 1),
        (0.5, 4),
        (0.44, 4),
        (1.0, 8),
        (2.0, 8),
        (f64::NAN, 1),
    ] {
        assert_eq!(staircase::core_of(gamma, 8), core);
    }
}

const DRAWS: usize = 40_000;
const ROWS: i64 = 10_000;

/// Releases of a table of 10,000 rows of mean 0.1 with bounds 0 and 1.
fn releases(seed: u64, release: impl Fn(&Sums, &mut Seeded) -> MeanAnswer) -> Vec<MeanAnswer> {
    let sums = Sums {
        n: ROWS,
        s: i128::from(STEPS) * i128::from(ROWS) / 10,
    };
    let mut words = Seeded::new(seed);
    (0..DRAWS).map(|_| release(&sums, &mut words)).collect()
}

fn assert_accuracy(
    what: &str,
    epsilon: f64,
    answers: &[MeanAnswer],
    (ratio, rounding): (f64, f64),
    count_variance: f64,
) {
    let unit = (ROWS as f64).powi(2) / least_variance(epsilon);
    let errors = answers
        .iter()
        .map(|answer| (answer.mean.unwrap() - 0.1) * unit.sqrt());
    let what = format!("{what} at {epsilon}");
    Moments::of(errors).assert_mean_square(&what, ratio, rounding / ratio);
    let counts = Moments::of(
        answers
            .iter()
            .map(|answer| answer.count.unwrap() - ROWS as f64),
    );
    counts.assert_mean_square(&format!("count of {what}"), count_variance, 1e-4);
    assert!(counts.mean().abs() < 5.0 * (count_variance / DRAWS as f64).sqrt());
}

/// Mean squared errors over the lower bound, and variances of noisy counts.
///
/// To first order in 1/n, which is all there is at this n, the error of a mean `m` on [0, 1] is
/// `(x - m y) / n` for noise `x` of a sum and `y` of its number of rows.
#[test]
fn mean_squared_errors_and_noisy_counts() {
    let bounds = Bounds::new(Some(0.0), Some(1.0)).unwrap();
    let m = 0.1f64;
    for value in [0.1, 1.0, 4.0, 8.0] {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        let two_sided = |epsilon: f64| {
            let b = (-epsilon).exp();
            2.0 * b / (-epsilon).exp_m1().powi(2)
        };
        let least = least_variance(value);

        let core = staircase::core_of(staircase::best_gamma(value), STEPS);
        let noise = Complement::new(bounds, Hourglass::new(STEPS, core, epsilon));
        let answers = releases(1, |sums, words| noise.release_from(sums, words));
        assert!(
            answers
                .iter()
                .all(|answer| answer.count.unwrap().fract() == 0.0)
        );
        // K0 is the level: its square has mean 2 sum of L^2 b^L, over the weight of all levels.
        let (z, gamma) = (value.exp_m1(), core as f64 / STEPS as f64);
        let r = 1.0 / z;
        let level = 2.0 * (r * (1.0 + 3.0 * r + 2.0 * r * r)) / (2.0 * gamma + 2.0 * r);
        let count = level + two_sided(value);
        // An independent simulation gave 0.81 to 0.82.
        assert_accuracy("hourglass", value, &answers, (0.815, 0.01), count);

        let noise = Complement::new(bounds, Laplace::new(STEPS, epsilon));
        let answers = releases(2, |sums, words| noise.release_from(sums, words));
        let each = 2.0 / (value * value);
        let expected = each * (m * m + (1.0 - m).powi(2)) / least;
        assert_accuracy(
            "laplace",
            value,
            &answers,
            (expected, 1e-3 * expected),
            2.0 * each,
        );

        let core = staircase::core_of(staircase2::best_gamma(value), STEPS);
        let noise = Complement::new(bounds, Staircase::new(STEPS, core, epsilon));
        let answers = releases(3, |sums, words| noise.release_from(sums, words));
        let each = variance2(staircase2::best_gamma(value), value);
        let expected = each * (m * m + (1.0 - m).powi(2)) / least;
        assert_accuracy(
            "staircase",
            value,
            &answers,
            (expected, 1e-3 * expected),
            2.0 * each,
        );

        let noise = Shifted::new(bounds, STEPS, epsilon);
        let answers = releases(4, |sums, words| noise.release_from(sums, words));
        let count = 8.0 / (value * value);
        let expected = (2.0 / (value * value) + (m - 0.5).powi(2) * count) / least;
        assert_accuracy(
            "shifted",
            value,
            &answers,
            (expected, 1e-3 * expected),
            count,
        );

        let noise = Independent::new(bounds, STEPS, epsilon);
        let answers = releases(5, |sums, words| noise.release_from(sums, words));
        let expected = (1.0 + m * m) * count / least;
        assert_accuracy(
            "independent",
            value,
            &answers,
            (expected, 1e-3 * expected),
            count,
        );
    }
}

#[test]
fn noisy_counts_of_the_hourglass_cost_what_the_documentation_says() {
    for (value, mean, direct) in [
        (0.01, 39_999.8, 19_999.8),
        (1.0, 3.84, 1.84),
        (4.0, 0.130, 0.038),
    ] {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        let core = staircase::core_of(staircase::best_gamma(value), STEPS);
        let noise = Hourglass::new(STEPS, core, epsilon);
        let mut words = Seeded::new(11);
        let pairs = (0..DRAWS).map(|_| {
            let (x, y) = noise.draw(&mut words);
            (x + y) as f64 / STEPS as f64
        });
        Moments::of(pairs).assert_mean_square("count with a mean", mean, 0.005);
        let count = count::geometric::Geometric::new(epsilon);
        let draws = (0..DRAWS).map(|_| count.release_from(&Sums::default(), &mut words) as f64);
        Moments::of(draws).assert_mean_square("count alone", direct, 0.015);
    }
}

#[test]
fn sums_have_the_least_variance_in_the_unit_of_the_column() {
    let bounds = Bounds::new(Some(-20.0), Some(5.0)).unwrap();
    for (value, ..) in TABLE {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        let core = staircase::core_of(staircase::best_gamma(value), STEPS);
        let noise =
            sum::noise::Sum::new(bounds, sum::staircase::Staircase::new(STEPS, core, epsilon));
        let mut words = Seeded::new(12);
        // 1000 rows of -5: a quarter of the way down.
        let sums = Sums {
            n: 1000,
            s: -250 * i128::from(STEPS),
        };
        let draws = (0..DRAWS).map(|_| (noise.release_from(&sums, &mut words) + 5000.0) / 20.0);
        Moments::of(draws).assert_mean_square("staircase sum", least_variance(value), 1e-6);
        let noise = sum::noise::Sum::new(bounds, sum::laplace::Laplace::new(STEPS, epsilon));
        let draws = (0..DRAWS).map(|_| (noise.release_from(&sums, &mut words) + 5000.0) / 20.0);
        Moments::of(draws).assert_mean_square("laplace sum", 2.0 / (value * value), 1e-6);
    }
}

/// The whole way: arguments, registry, the generator of production (with a seed), answer.
#[cfg(feature = "testing")]
#[test]
fn releases_through_the_registry_have_the_variance_they_should() {
    use dp_core::random::Generator;
    use dp_core::registry::{COUNT, MEAN, SUM};
    use dp_core::request::arguments::Arguments;

    let (lo, hi, m) = (-50.0, 150.0, 0.1);
    for (value, ..) in TABLE {
        let arguments = Arguments {
            bounds: Some((Some(lo), Some(hi))),
            epsilon: Some(value),
            ..Arguments::default()
        };
        let mut generator = Generator::from_seed(13);
        let sums = |steps: i128| Sums {
            n: ROWS,
            s: i128::from(ROWS) * steps,
        };
        let steps = i128::from(STEPS);
        let least = least_variance(value);

        let mean = MEAN.build(&arguments).unwrap().sums().unwrap();
        let table = sums(steps / 10);
        let draws = (0..DRAWS).map(|_| {
            let answer = mean.release(&table, &mut generator);
            (answer.mean.unwrap() - (lo + (hi - lo) * m)) / (hi - lo) * ROWS as f64
        });
        Moments::of(draws).assert_mean_square("a mean", 0.815 * least, 0.02);

        let sum = SUM.build(&arguments).unwrap().sums().unwrap();
        let table = sums(steps / 4);
        let exact = ROWS as f64 * hi / 4.0;
        let draws = (0..DRAWS).map(|_| (sum.release(&table, &mut generator) - exact) / hi);
        Moments::of(draws).assert_mean_square("a sum", least, 1e-6);

        let count = COUNT
            .build(&Arguments {
                bounds: None,
                ..arguments
            })
            .unwrap();
        let draws = (0..DRAWS).map(|_| (count.release(&table, &mut generator) - ROWS) as f64);
        let b = (-value).exp();
        let expected = 2.0 * b / (-value).exp_m1().powi(2);
        Moments::of(draws).assert_mean_square("a count", expected, 1e-6);
    }
}
