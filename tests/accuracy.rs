//! The errors of the answers are as small as the distributions of the noise say, and those distributions as good as
//! the papers prove.
//!
//! With `n` rows of mean `m` in [0, 1], and noise `x` on their sum and `k` on their number, a mean
//! errs by `(x - m k) / (n + k)`: to first order its mean squared error, times `n^2`, is the
//! variance of `x - m k`. The distributions below give that and the fourth moment, hence the standard
//! error of what is measured, from the definitions in the papers: of the continuous noise, which
//! the grid of 2^32 steps stays nearer to than 1e-9.

use std::f64::consts::PI;

use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{
    ALPHA, STANDARD_ERRORS, mean, mean_square, normal_chance, normal_deviations,
};

/// Variance and fourth moment of noise with a symmetric distribution.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    pub second: f64,
    pub fourth: f64,
}

impl Moments {
    /// Of noise `factor` times as large.
    pub fn times(self, factor: f64) -> Self {
        Self {
            second: self.second * factor.powi(2),
            fourth: self.fourth * factor.powi(4),
        }
    }

    /// Of the sum of independent noises.
    fn plus(self, other: Self) -> Self {
        let mixed = 6.0 * self.second * other.second;
        Self {
            second: self.second + other.second,
            fourth: self.fourth + mixed + other.fourth,
        }
    }

    /// The standard error of the mean square of `count` draws.
    fn standard_error(self, count: usize) -> f64 {
        ((self.fourth - self.second.powi(2)) / count as f64).sqrt()
    }
}

/// The density proportional to `exp(-|x| / scale)`.
pub fn laplace(scale: f64) -> Moments {
    Moments {
        second: 2.0 * scale.powi(2),
        fourth: 24.0 * scale.powi(4),
    }
}

/// The integers, `P(k)` proportional to `b^|k|` with `b = e^-eps`.
pub fn geometric(eps: f64) -> Moments {
    let b = (-eps).exp();
    let z = -(-eps).exp_m1();
    Moments {
        second: 2.0 * b / z.powi(2),
        fourth: 2.0 * b * (1.0 + 10.0 * b + b * b) / z.powi(4),
    }
}

/// A normal number.
pub fn normal(variance: f64) -> Moments {
    Moments {
        second: variance,
        fourth: 3.0 * variance.powi(2),
    }
}

/// A normal number, rounded to an integer.
fn rounded_normal(variance: f64) -> Moments {
    let sd = variance.sqrt();
    let chance = |k: f64| normal_chance((0.5 - k) / sd) - normal_chance((-0.5 - k) / sd);
    let moment = |power| {
        let integers = (1..=(20.0 * sd) as u32 + 1).map(f64::from);
        2.0 * integers.map(|k| k.powi(power) * chance(k)).sum::<f64>()
    };
    Moments {
        second: moment(2),
        fourth: moment(4),
    }
}

/// The levels that hold any weight to speak of, with `b^level`.
fn levels(eps: f64) -> impl Iterator<Item = (f64, f64)> {
    (1..=(60.0 / eps) as u32 + 1).map(move |level| (level.into(), (-eps * f64::from(level)).exp()))
}

/// `u - tilt * level(u)` for `u` from the staircase of Geng and Viswanath (2014): density
/// proportional to `b^level`, level `L >= 1` being the two intervals `L - 1 + gamma <= |u| <
/// L + gamma`, its sign that of `u`. Without tilt it is the staircase itself.
fn staircase(eps: f64, gamma: f64, tilt: f64) -> Moments {
    let integral = |power: i32, from: f64, to: f64| {
        (to.powi(power + 1) - from.powi(power + 1)) / f64::from(power + 1)
    };
    let moment = |power| {
        let outer = levels(eps).map(|(level, weight)| {
            let from = level - 1.0 + gamma - tilt * level;
            weight * integral(power, from, from + 1.0)
        });
        integral(power, 0.0, gamma) + outer.sum::<f64>()
    };
    Moments {
        second: moment(2) / moment(0),
        fourth: moment(4) / moment(0),
    }
}

/// The signed level of `u` from the same staircase.
fn staircase_level(eps: f64, gamma: f64) -> Moments {
    let moment = |power| {
        levels(eps)
            .map(|(level, weight)| weight * level.powi(power))
            .sum::<f64>()
    };
    let total = gamma + moment(0);
    Moments {
        second: moment(2) / total,
        fourth: moment(4) / total,
    }
}

/// `p x + q y` for `(x, y)` from the two-dimensional staircase: density proportional to
/// `b^level`, the levels being those above, of `r = |x| + |y|`. Given `r`, the pair is uniform on
/// a diamond: `x = +-r v`, `y = +-r (1 - v)` with `v` uniform on [0, 1].
fn staircase_2d(eps: f64, gamma: f64, p: f64, q: f64) -> Moments {
    // The diamond of radius r is 4 r long.
    let integral = |power: i32, from: f64, to: f64| {
        (to.powi(power + 2) - from.powi(power + 2)) / f64::from(power + 2)
    };
    let moment = |power| {
        let rings = levels(eps)
            .map(|(level, weight)| weight * integral(power, level - 1.0 + gamma, level + gamma));
        integral(power, 0.0, gamma) + rings.sum::<f64>()
    };
    let (p, q) = (p.powi(2), q.powi(2));
    Moments {
        second: (p + q) / 3.0 * moment(2) / moment(0),
        fourth: ((p * p + q * q) / 5.0 + 6.0 * p * q / 30.0) * moment(4) / moment(0),
    }
}

/// The `gamma` that makes `variance`, which falls and then rises, least.
fn best_gamma(variance: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if variance(left) < variance(right) {
            high = right;
        } else {
            low = left;
        }
    }
    (low + high) / 2.0
}

fn best_staircase(eps: f64) -> f64 {
    best_gamma(|gamma| staircase(eps, gamma, 0.0).second)
}

/// The least variance that noise on one number of sensitivity 1 can have (Geng and Viswanath
/// 2014), and the least that a mean can have at its worst, times n^2 (Kulesza, Suresh and Wang
/// 2024).
pub fn least_variance(eps: f64) -> f64 {
    let b = (-eps).exp();
    let z = -(-eps).exp_m1();
    ((1.0 + b).powf(2.0 / 3.0) * (-2.0 * (eps + 2f64.ln()) / 3.0).exp() + b) / z.powi(2)
}

/// `x - m k` and `k` of a mechanism of means, with bounds 0 and 1.
struct Errors {
    mean: Moments,
    count: Moments,
}

fn errors(mechanism: &str, eps: f64, m: f64) -> Errors {
    match mechanism {
        // x from a staircase, k its level and geometric noise.
        "hourglass" => {
            let gamma = best_staircase(eps);
            let geometric = geometric(eps);
            Errors {
                mean: staircase(eps, gamma, m).plus(geometric.times(m)),
                count: staircase_level(eps, gamma).plus(geometric),
            }
        }
        // x and y on S1 and S2, k = x + y.
        "laplace" => {
            let one = laplace(1.0 / eps);
            Errors {
                mean: one.times(1.0 - m).plus(one.times(m)),
                count: one.plus(one),
            }
        }
        "staircase" => {
            let gamma = best_gamma(|gamma| staircase_2d(eps, gamma, 1.0, 0.0).second);
            Errors {
                mean: staircase_2d(eps, gamma, 1.0 - m, m),
                count: staircase_2d(eps, gamma, 1.0, 1.0),
            }
        }
        // Half of eps on a sum of sensitivity 1/2 around the midpoint, half on the number.
        "shifted" => Errors {
            mean: laplace(1.0 / eps).plus(laplace(2.0 / eps).times(m - 0.5)),
            count: laplace(2.0 / eps),
        },
        // The same around 0, where the sensitivity is 1.
        "independent" => Errors {
            mean: laplace(2.0 / eps).plus(laplace(2.0 / eps).times(m)),
            count: laplace(2.0 / eps),
        },
        _ => panic!("no distribution is known for {mechanism}"),
    }
}

const MECHANISMS: [&str; 5] = [
    "hourglass",
    "laplace",
    "staircase",
    "shifted",
    "independent",
];

const MEAN: f64 = 0.1;

/// Whether `a` is `b` but for the last digit that `b` is published with.
pub fn rounds_to(a: f64, b: f64, digit: f64) -> bool {
    (a - b).abs() <= digit * 0.5000001
}

/// The expectations below are those of the papers, and not ours alone.
#[test]
fn the_expected_errors_are_the_published_ones() {
    let ratio = |mechanism, eps| errors(mechanism, eps, MEAN).mean.second / least_variance(eps);
    for eps in [0.1, 1.0, 4.0, 8.0] {
        let gamma = best_staircase(eps);
        let least = staircase(eps, gamma, 0.0).second;
        assert!(
            (least / least_variance(eps) - 1.0).abs() < 1e-9,
            "eps {eps}: {least}"
        );
        // Below 1, for the mean is not where the noise hurts most.
        let hourglass = ratio("hourglass", eps);
        assert!((0.81..=0.83).contains(&hourglass), "eps {eps}: {hourglass}");
    }
    for (eps, variance) in [
        (0.1, 199.917),
        (1.0, 1.91810),
        (4.0, 0.0649788),
        (8.0, 0.00337983),
    ] {
        assert!(
            (least_variance(eps) / variance - 1.0).abs() < 5e-6,
            "eps {eps}"
        );
    }
    for (eps, variance) in [
        (0.1, 199.998),
        (1.0, 1.98541),
        (4.0, 0.0908707),
        (8.0, 0.00792404),
    ] {
        let coordinate = errors("staircase", eps, 0.0).mean.second;
        assert!(
            (coordinate / variance - 1.0).abs() < 5e-6,
            "eps {eps}: {coordinate}"
        );
    }
    for (eps, free, direct, digit) in [
        (0.01, 39_999.8, 19_999.8, 0.1),
        (1.0, 3.84, 1.84, 0.01),
        (4.0, 0.130, 0.038, 0.001),
    ] {
        let count = errors("hourglass", eps, MEAN).count.second;
        assert!(rounds_to(count, free, digit), "eps {eps}: {count}");
        assert!(rounds_to(geometric(eps).second, direct, digit), "eps {eps}");
    }
    let gain = |eps| ratio("shifted", eps) / ratio("hourglass", eps);
    assert!((1.95..2.05).contains(&gain(0.1)), "{}", gain(0.1));
    assert!(rounds_to(gain(8.0), 18.5, 0.1), "{}", gain(8.0));
}

/// Fails if the mean square of `answers` around `truth`, in units of `unit^2`, is not that of the
/// distribution, or is farther from it than by the standard errors and `allowance`.
fn check(
    what: &str,
    answers: &[f64],
    truth: f64,
    unit: f64,
    distribution: Moments,
    allowance: f64,
) {
    let measured = mean_square(answers, truth) / unit.powi(2);
    let error = distribution.standard_error(answers.len());
    let deviation = (measured - distribution.second) / error;
    println!(
        "{what}: mean squared error {measured:.6}, expected {:.6} +- {error:.6}: {deviation:+.2}",
        distribution.second
    );
    assert!(
        (measured - distribution.second).abs() <= STANDARD_ERRORS * error + allowance,
        "{what}: {measured}, expected {} +- {error}",
        distribution.second
    );
}

/// A table of `n` rows in [0, 1] with mean 0.1, exactly: on the grid too.
fn fill(releases: &mut Releases, n: usize) -> String {
    let table = format!("values_{n}");
    let sql = format!(
        "CREATE TABLE {table} AS SELECT (i % 10 = 0)::integer::float8 AS x \
         FROM generate_series(1, {n}) i"
    );
    releases.client().batch_execute(&sql).expect("a table");
    table
}

#[test]
fn means_err_as_little_as_their_laws_say() {
    let mut releases = Releases::seeded(11);
    // Tail events make up the error at large eps; they take more releases to be seen often.
    for (n, count) in [(10_000, 20_000), (1_000, 100_000)] {
        let table = fill(&mut releases, n);
        for eps in [0.1, 1.0, 4.0, 8.0] {
            let mut of = Vec::new();
            for mechanism in MECHANISMS {
                // There the noise on the sum often exceeds the sum, and clipping takes 2% of
                // the error away, which the distribution leaves out. Elsewhere less than 0.1% goes.
                if (mechanism, n, eps) == ("independent", 1_000, 0.1) {
                    continue;
                }
                let call = format!("dp_mean(x, 0, 1, {eps}, '{mechanism}')");
                let answers = releases.draw(&call, &[], &table, count);
                let distribution = errors(mechanism, eps, MEAN);
                // (x - m k)^2 / (1 + k/n)^2: the term in k/n has mean 0, for (x, k) and (-x, -k)
                // are equally likely; that in (k/n)^2 is 3 (x - m k)^2 k^2 / n^2, and Cauchy
                // and Schwarz bound its mean. Clipping takes away less than 0.1%, as said.
                let second_order =
                    (distribution.mean.fourth * distribution.count.fourth).sqrt() / (n * n) as f64;
                let allowance = 3.0 * second_order + 0.001 * distribution.mean.second;
                let what = format!("{mechanism}, n {n}, eps {eps}");
                check(
                    &what,
                    &answers,
                    MEAN,
                    1.0 / n as f64,
                    distribution.mean,
                    allowance,
                );
                of.push(mean_square(&answers, MEAN) * (n * n) as f64 / least_variance(eps));
            }
            println!("n {n}, eps {eps}: over the least variance {of:.3?} ({MECHANISMS:?})");
        }
    }
}

/// Bounds scale the error, and an omitted mechanism is the best one.
#[test]
fn the_default_mean_scales_with_its_bounds() {
    let mut releases = Releases::seeded(12);
    let table = fill(&mut releases, 1_000);
    let answers = releases.draw("dp_mean(20 * x - 5, -5, 15, 1.0)", &[], &table, 100_000);
    let distribution = errors("hourglass", 1.0, MEAN).mean;
    check(
        "dp_mean in [-5, 15]",
        &answers,
        -3.0,
        20.0 / 1_000.0,
        distribution,
        0.001 * distribution.second,
    );
}

/// Fails if `answers` are not centred on `truth`.
fn check_unbiased(what: &str, answers: &[f64], truth: f64, variance: f64) {
    let deviations = (mean(answers) - truth) / (variance / answers.len() as f64).sqrt();
    assert!(
        deviations.abs() <= normal_deviations(ALPHA),
        "{what}: {deviations} from {truth}"
    );
}

#[test]
fn sums_err_as_little_as_their_laws_say() {
    let mut releases = Releases::seeded(13);
    let table = fill(&mut releases, 100);
    for eps in [0.1, 1.0, 4.0, 8.0] {
        let optimal = staircase(eps, best_staircase(eps), 0.0);
        assert!((optimal.second / least_variance(eps) - 1.0).abs() < 1e-9);
        // Bounds whose larger one is the lower, the upper, both.
        for (value, lo, hi, truth) in [
            ("5 * x - 4", -4, 1, -350.0),
            ("2 * x + 1", 1, 3, 120.0),
            ("2 * x - 1", -1, 1, -80.0),
        ] {
            let sensitivity = f64::from(i32::max(-lo, hi));
            for (mechanism, distribution) in [
                ("", optimal),
                (", 'staircase'", optimal),
                (", 'laplace'", laplace(1.0 / eps)),
            ] {
                let call = format!("dp_sum({value}, {lo}, {hi}, {eps}{mechanism})");
                let answers = releases.draw(&call, &[], &table, 50_000);
                check(&call, &answers, truth, sensitivity, distribution, 0.0);
                check_unbiased(
                    &call,
                    &answers,
                    truth,
                    distribution.second * sensitivity.powi(2),
                );
            }
        }
    }
}

/// How far a squared error may be from what it should be where it is held against another's.
const WITHIN: f64 = 0.05;

/// That many releases that [`WITHIN`] is [`STANDARD_ERRORS`] of an estimate that has this relative
/// standard error from a single one.
fn enough(error_of_one: f64) -> usize {
    (STANDARD_ERRORS * error_of_one / WITHIN).powi(2).ceil() as usize
}

/// Where the number of rows is public, the noise is that of the least variance; Laplace noise has so
/// many times its squared error.
#[test]
fn means_of_a_public_number_of_rows_err_as_little_as_one_sum() {
    let mut releases = Releases::seeded(17);
    let setting = "SET dp_mean.allow_pathological = on";
    releases.client().batch_execute(setting).expect("a setting");
    let table = fill(&mut releases, 1_000);
    for (eps, published, digit) in [(2.0, 1.18, 0.01), (4.0, 1.92, 0.01), (8.0, 9.2, 0.1)] {
        let distribution = staircase(eps, best_staircase(eps), 0.0);
        assert!((distribution.second / least_variance(eps) - 1.0).abs() < 1e-9);
        let gain = laplace(1.0 / eps).second / distribution.second;
        assert!(rounds_to(gain, published, digit), "eps {eps}: {gain}");
        let count = enough(distribution.standard_error(1) / distribution.second);
        for (call, width) in [
            (format!("dp_mean(x, 0, 1, {eps}, 'clipped(n=1000)')"), 1.0),
            // Half of twice eps finds the place, 3 bins of 10 wide.
            (
                format!(
                    "dp_mean(x, NULL, NULL, {}, \
                     'symmetric_known_n(delta=1e-6, scale=1, n=1000, share=0.5)')",
                    2.0 * eps
                ),
                30.0,
            ),
            // Heads are cut within 1e-9 of the bounds, so no row has a tail.
            (
                format!(
                    "dp_mean(x, 0, 1, {eps}, 'hybrid(delta=0.1, n=1000, moment=4, psi=1e-12)')"
                ),
                1.0,
            ),
        ] {
            let answers = releases.draw(&call, &[], &table, count);
            let unit = width / 1_000.0;
            check(&call, &answers, MEAN, unit, distribution, 0.0);
            check_unbiased(&call, &answers, MEAN, distribution.second * unit.powi(2));
            let found = laplace(1.0 / eps).second / (mean_square(&answers, MEAN) / unit.powi(2));
            println!("{call}: {count} releases, {found:.3} times less than with Laplace noise");
            assert!((found / gain - 1.0).abs() < WITHIN, "{call}: {found}");
        }
    }
}

/// Noise of the proof's scale: `100 S / (43 eps)`, where theorem E.6 of Kamath et al. (2023) has
/// `3 S / eps`. The fourth moment of Student's distribution with three degrees of freedom is infinite, so that
/// mean squares do not settle; the median of the distance from the mean does, and its square is as
/// many times smaller.
#[test]
fn smooth_means_err_by_two_fifths_less_than_in_the_paper() {
    let mut releases = Releases::seeded(18);
    // The chance of at most `w`, of the distance in units of the scale, and its density.
    let chance = |w: f64| 2.0 / PI * (w.atan() + w / (1.0 + w * w));
    let density = |w: f64| 4.0 / PI / (1.0 + w * w).powi(2);
    let median = 0.441_6;
    assert!((chance(median) - 0.5).abs() < 1e-4);
    // Of a quantile at 1/2, relative; twice that of its square.
    let count = enough(2.0 * 0.5 / (density(median) * median));
    let gain: f64 = (100.0f64 / 129.0).powi(2);
    assert!(rounds_to(gain, 0.60, 0.01));
    for n in [10, 1_000] {
        let table = fill(&mut releases, n);
        for eps in [0.2, 1.0, 4.0, 20.0] {
            let call = format!("dp_mean(x, 0, 1, {eps}, 'smooth')");
            let answers = releases.draw(&call, &[], &table, count);
            let mut distances: Vec<f64> = answers.iter().map(|x| (x - MEAN).abs()).collect();
            distances.sort_by(f64::total_cmp);
            let found = distances[count / 2];
            let rows = n as f64;
            let sensitivity = f64::max(1.0 / rows, (-eps / 9.0 * (rows - 1.0)).exp());
            let of_the_paper = median * 3.0 * sensitivity / eps;
            let ratio = (found / of_the_paper).powi(2);
            println!("{call} of {n} rows: {count} releases, {ratio:.4} of {gain:.4}");
            assert!((ratio / gain - 1.0).abs() < WITHIN, "{call}: {ratio}");
        }
    }
}

#[test]
fn counts_err_as_little_as_their_laws_say() {
    let mut releases = Releases::seeded(14);
    let table = fill(&mut releases, 100);
    for eps in [0.01, 0.1, 1.0, 4.0, 8.0] {
        let distribution = geometric(eps);
        for (call, truth) in [
            (format!("dp_count({eps})"), 100.0),
            (format!("dp_count(nullif(x, 1), {eps})"), 90.0),
            (
                format!("dp_count(nullif(x, 0)::text, {eps}, 'geometric')"),
                10.0,
            ),
        ] {
            let answers = releases.draw(&call, &[], &table, 100_000);
            assert!(answers.iter().all(|answer| answer.fract() == 0.0), "{call}");
            check(&call, &answers, truth, 1.0, distribution, 0.0);
            check_unbiased(&call, &answers, truth, distribution.second);
        }
    }
}

#[test]
fn the_count_beside_a_mean_errs_as_its_law_says() {
    let mut releases = Releases::seeded(15);
    let table = fill(&mut releases, 1_000);
    for eps in [0.01, 1.0, 4.0] {
        for mechanism in MECHANISMS {
            let call = format!("dp_mean_and_count(x, 0, 1, {eps}, '{mechanism}')");
            let answers = releases.draw(&call, &["count"], &table, 50_000);
            let distribution = errors(mechanism, eps, MEAN).count;
            check(&call, &answers, 1_000.0, 1.0, distribution, 0.0);
            check_unbiased(&call, &answers, 1_000.0, distribution.second);
        }
    }
}

#[test]
fn gaussian_answers_err_as_little_as_their_laws_say() {
    // Rounding adds the variance of a uniform number on an interval of 1.
    assert!((rounded_normal(1.0).second - 13.0 / 12.0).abs() < 1e-6);
    let mut releases = Releases::seeded(16);
    let (n, table) = (1_000, fill(&mut releases, 1_000));
    for mu in [0.25, 1.0, 4.0] {
        let mechanism = format!("NULL, 'gaussian(mu={mu})'");
        let unit = normal(1.0 / (mu * mu));
        // The sum from the midpoint, in halves of the width, and the number of rows.
        let part = unit.times(2f64.sqrt());

        let call = format!("dp_mean(20 * x - 5, -5, 15, {mechanism})");
        let answers = releases.draw(&call, &[], &table, 20_000);
        let distribution = part.times(0.5).plus(part.times(0.5 - MEAN));
        let second_order = (distribution.fourth * part.fourth).sqrt() / f64::from(n * n);
        let allowance = 3.0 * second_order;
        check(
            &call,
            &answers,
            -3.0,
            20.0 / f64::from(n),
            distribution,
            allowance,
        );

        let call = format!("dp_mean_and_count(x, 0, 1, {mechanism})");
        let answers = releases.draw(&call, &["count"], &table, 50_000);
        check(&call, &answers, 1_000.0, 1.0, part, 0.0);
        check_unbiased(&call, &answers, 1_000.0, part.second);

        for (value, lo, hi, truth) in [("5 * x - 4", -4, 1, -3_500.0), ("2 * x + 1", 1, 3, 1_200.0)]
        {
            let call = format!("dp_sum({value}, {lo}, {hi}, {mechanism})");
            let magnitude = f64::from(i32::max(-lo, hi));
            let answers = releases.draw(&call, &[], &table, 50_000);
            check(&call, &answers, truth, magnitude, unit, 0.0);
            check_unbiased(&call, &answers, truth, unit.second * magnitude.powi(2));
        }

        let call = format!("dp_count(nullif(x, 1), {mechanism})");
        let answers = releases.draw(&call, &[], &table, 100_000);
        let distribution = rounded_normal(unit.second);
        assert!(answers.iter().all(|answer| answer.fract() == 0.0), "{call}");
        check(&call, &answers, 900.0, 1.0, distribution, 0.0);
        check_unbiased(&call, &answers, 900.0, distribution.second);
    }
}
