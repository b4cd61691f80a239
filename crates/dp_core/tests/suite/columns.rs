//! Two columns: sensitivities in rational numbers and by enumeration, the error against the usual ways, and the far ends.

use std::cmp::Ordering;

use dp_core::encoding::grid::{Bounds, PAIR_STEPS};
use dp_core::encoding::pairs::{PairGrid, PairMoments};
use dp_core::mechanism::bivariate::sums::{
    Design, Noise, PARTS, Pair, PairAnswer, PairMechanism, parts,
};
use dp_core::mechanism::bivariate::{
    correlation_gaussian, correlation_laplace, covariance_gaussian, covariance_laplace,
    slope_laplace,
};
use dp_core::privacy::accounting;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::{CORRELATION, COVARIANCE, Registry, SLOPE};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::discrete_laplace::DiscreteLaplace;

use crate::stats::{self, Z_ALPHA};
use crate::words::Seeded;

fn unit_bounds() -> [Bounds; 2] {
    [Bounds::new(Some(0.0), Some(1.0)).unwrap(); 2]
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

// Sensitivities, in rational numbers -------------------------------------------------------------

/// A fraction with a denominator above 0.
#[derive(Clone, Copy, Debug)]
struct Fraction(i128, i128);

impl Fraction {
    fn new(numerator: i128, denominator: i128) -> Self {
        let (mut a, mut b) = (numerator.abs(), denominator.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let unit = a.max(1) * denominator.signum();
        Self(numerator / unit, denominator / unit)
    }

    fn of(integer: i128) -> Self {
        Self(integer, 1)
    }

    fn plus(self, other: Self) -> Self {
        Self::new(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }

    fn times(self, other: Self) -> Self {
        Self::new(self.0 * other.0, self.1 * other.1)
    }

    fn compare(self, other: Self) -> Ordering {
        (self.0 * other.1).cmp(&(other.0 * self.1))
    }

    fn is_inside(self) -> bool {
        (0..=self.1).contains(&self.0)
    }
}

/// The coefficients of 1, x, y, x^2, x y, y^2.
type Quadratic = [i128; 6];

/// A combination of the parts, on the unit square.
fn quadratic(times: [i128; PARTS]) -> Quadratic {
    let [t00, t10, t01, t11, p, q] = times;
    [
        t00,
        t10 - t00 + p,
        t01 - t00 + q,
        -p,
        t00 - t10 - t01 + t11,
        -q,
    ]
}

fn value([c, x, y, xx, xy, yy]: Quadratic, [at_x, at_y]: [Fraction; 2]) -> Fraction {
    let terms = [
        Fraction::of(1),
        at_x,
        at_y,
        at_x.times(at_x),
        at_x.times(at_y),
        at_y.times(at_y),
    ];
    let sum =
        |sum: Fraction, (times, term): (i128, Fraction)| sum.plus(Fraction::of(times).times(term));
    [c, x, y, xx, xy, yy]
        .into_iter()
        .zip(terms)
        .fold(Fraction::of(0), sum)
}

/// The largest value on the unit square: at a corner, where the slope along an edge is 0, or where both slopes are 0.
/// (Where the two slopes are 0 along a line, the value is the same on it, and the line meets an edge.)
fn largest(quadratic: Quadratic) -> Fraction {
    let [_, x, y, xx, xy, yy] = quadratic;
    let mut points = Vec::new();
    for end in [0, 1] {
        for other in [0, 1] {
            points.push([end, other].map(Fraction::of));
        }
        if xx != 0 {
            points.push([Fraction::new(-(x + xy * end), 2 * xx), Fraction::of(end)]);
        }
        if yy != 0 {
            points.push([Fraction::of(end), Fraction::new(-(y + xy * end), 2 * yy)]);
        }
    }
    let determinant = 4 * xx * yy - xy * xy;
    if determinant != 0 {
        points.push([
            Fraction::new(xy * y - 2 * yy * x, determinant),
            Fraction::new(xy * x - 2 * xx * y, determinant),
        ]);
    }
    let inside = points
        .into_iter()
        .filter(|point| point.iter().all(|place| place.is_inside()));
    inside
        .map(|point| value(quadratic, point))
        .max_by(|a, b| a.compare(*b))
        .unwrap()
}

/// The largest sum of absolute values over the square: of all choices of signs.
fn distance<const K: usize>(design: &Design<K>) -> Fraction {
    let of_signs = |signs: u32| {
        let mut times = [0; PARTS];
        for (i, sum) in design.sums.iter().enumerate() {
            let sign = if signs >> i & 1 == 0 { 1 } else { -1 };
            for (total, times) in times.iter_mut().zip(sum) {
                *total += sign * times;
            }
        }
        largest(quadratic(times))
    };
    let all = (0..1 << K).map(of_signs);
    all.max_by(|a, b| a.compare(*b)).unwrap()
}

#[test]
fn a_row_moves_laplace_sums_by_what_the_noise_is_for() {
    let of = |Fraction(numerator, denominator)| (numerator, denominator);
    assert_eq!(of(distance(&covariance_laplace::DESIGN)), (1, 1));
    assert_eq!(of(distance(&slope_laplace::DESIGN)), (9, 1));
    assert_eq!(of(distance(&correlation_laplace::DESIGN)), (8, 1));
    // It can be more: with any of the coefficients one step worse.
    let mut wrong = slope_laplace::DESIGN;
    wrong.sums[4][4] = 13;
    assert!(distance(&wrong).compare(Fraction::of(9)).is_gt());
    let mut wrong = correlation_laplace::DESIGN;
    wrong.sums[0][0] = 8;
    assert!(distance(&wrong).compare(Fraction::of(8)).is_gt());
    let mut wrong = correlation_laplace::DESIGN;
    wrong.sums[4][4] = 12;
    assert!(distance(&wrong).compare(Fraction::of(8)).is_gt());
}

/// The largest value is found at corners, along edges and inside, also where it is no integer.
#[test]
fn largest_values_are_found() {
    let of = |quadratic| {
        let Fraction(numerator, denominator) = largest(quadratic);
        (numerator, denominator)
    };
    assert_eq!(of([3, -1, -1, 0, 1, 0]), (3, 1));
    // x (1 - x) + 2 y, and x (1 - x) + y (1 - y), and with a top near (1/3, 2/3).
    assert_eq!(of([0, 1, 2, -1, 0, 0]), (9, 4));
    assert_eq!(of([0, 1, 1, -1, 0, -1]), (1, 2));
    assert_eq!(of([0, 6, 12, -9, 0, -9]), (5, 1));
    assert_eq!(of([0, 1, 0, -1, 1, -1]), (1, 3));
}

// Sensitivities, by enumeration ------------------------------------------------------------------

fn moments(rows: impl IntoIterator<Item = [u64; 2]>) -> PairMoments {
    let mut moments = PairMoments::default();
    rows.into_iter().for_each(|row| moments.add(row));
    moments
}

/// What each row moves the noisy sums by, the noise being the same.
fn moves<N: Noise, const K: usize>(pair: &Pair<N, K>, steps: u64) -> Vec<[i128; K]> {
    let noisy = |rows: &[[u64; 2]]| pair.noisy(&moments(rows.iter().copied()), &mut Seeded::new(3));
    let without = noisy(&[[1, 0], [steps, 1]]);
    let all = (0..=steps).flat_map(|y| (0..=steps).map(move |x| [y, x]));
    let with = all.map(|row| noisy(&[[1, 0], [steps, 1], row]));
    with.map(|with| std::array::from_fn(|i| with[i] - without[i]))
        .collect()
}

fn total<const K: usize>(point: &[i128; K]) -> i128 {
    point.iter().map(|x| x.abs()).sum()
}

#[test]
fn on_every_small_grid_laplace_is_private_and_tight() {
    for steps in 1..=64u64 {
        let (one, bounds) = (epsilon(1.0), unit_bounds());
        let unit = i128::from(steps * steps);
        let check = |most: Option<i128>, unit: i128| assert_eq!(most, Some(unit), "{steps}");
        let moved = moves(&covariance_laplace::laplace(bounds, steps, one), steps);
        assert!(moved.iter().all(|point| total(point) == unit));
        check(moved.iter().map(total).max(), unit);
        let moved = moves(&slope_laplace::laplace(bounds, steps, one), steps);
        check(moved.iter().map(total).max(), 9 * unit);
        let moved = moves(&correlation_laplace::laplace(bounds, steps, one), steps);
        check(moved.iter().map(total).max(), 8 * unit);
    }
}

/// The scale of the noise is that of the sensitivity: from one seed, both draw the same.
#[test]
fn the_noise_is_that_of_the_sensitivity() {
    for (steps, value) in [(1u64, 1.0), (100, 0.3), (PAIR_STEPS, 2.5)] {
        let (bounds, eps) = (unit_bounds(), epsilon(value));
        fn check<N: Noise, const K: usize>(pair: &Pair<N, K>, noise: &impl Noise) {
            let drawn = pair.noisy(&PairMoments::default(), &mut Seeded::new(9));
            let mut words = Seeded::new(9);
            for (i, drawn) in drawn.into_iter().enumerate() {
                assert_eq!(drawn, noise.draw(i, &mut words));
            }
        }
        let of = |sensitivity: u64| DiscreteLaplace::new(sensitivity * steps * steps, eps);
        check(&covariance_laplace::laplace(bounds, steps, eps), &of(1));
        check(&slope_laplace::laplace(bounds, steps, eps), &of(9));
        check(&correlation_laplace::laplace(bounds, steps, eps), &of(8));
    }
}

/// Of the sums as they are: `a^2 + 2 b^2 + 2 c^2 + 4 d^2 <= 9 G^4`, and the squares of the six add up to `243 G^4`.
#[test]
fn gaussian_moves_are_within_the_sensitivity() {
    for steps in 1..=64u64 {
        let unit = i128::from(steps).pow(4);
        let moved = moves(
            &covariance_gaussian::gaussian(unit_bounds(), steps, 1.0),
            steps,
        );
        let squares = moved
            .iter()
            .map(|[n, u, w, uw]| n * n + 2 * u * u + 2 * w * w + 4 * uw * uw);
        assert_eq!(squares.max(), Some(9 * unit), "{steps}");
        let moved = moves(
            &correlation_gaussian::gaussian(unit_bounds(), steps, 1.0),
            steps,
        );
        let squares = moved
            .iter()
            .map(|point| point.iter().map(|x| x * x).sum::<i128>());
        assert_eq!(squares.max(), Some(243 * unit), "{steps}");
    }
}

#[test]
fn gaussian_noise_is_what_its_budget_asks_for() {
    const DRAWS: usize = 20_000;
    let unit = (PAIR_STEPS * PAIR_STEPS) as f64;
    for mu in [0.05, 1.0] {
        fn squares<const K: usize>(
            mut noisy: impl FnMut() -> [i128; K],
            unit: f64,
            expected: impl Fn(usize) -> f64,
        ) {
            let draws: Vec<[i128; K]> = (0..DRAWS).map(|_| noisy()).collect();
            for i in 0..K {
                let one = draws.iter().map(|draw| draw[i] as f64 / unit);
                stats::Moments::of(one).assert_mean_square("a sum", expected(i), 1e-9);
            }
        }
        let mut words = Seeded::new(23);
        let nobody = PairMoments::default();
        let pair = covariance_gaussian::gaussian(unit_bounds(), PAIR_STEPS, mu);
        let of_four = [9.0, 4.5, 4.5, 2.25];
        squares(
            || pair.noisy(&nobody, &mut words),
            unit,
            |i| of_four[i] / (mu * mu),
        );
        let pair = correlation_gaussian::gaussian(unit_bounds(), PAIR_STEPS, mu);
        squares(
            || pair.noisy(&nobody, &mut words),
            unit,
            |_| 243.0 / (mu * mu),
        );
    }
}

#[test]
fn noise_does_not_depend_on_the_data() {
    fn check<N: Noise, const K: usize>(pair: &Pair<N, K>, design: &Design<K>, steps: u64) {
        for seed in 0..20 {
            let of = |moments: &PairMoments| {
                let noisy = pair.noisy(moments, &mut Seeded::new(seed));
                let parts = parts(moments, steps);
                std::array::from_fn::<_, K, _>(|i| {
                    let exact = design.sums[i].iter().zip(parts).map(|(a, b)| a * b);
                    noisy[i] - exact.sum::<i128>()
                })
            };
            let empty = of(&PairMoments::default());
            assert_ne!(empty, [0; K]);
            let [low, high] = [0, steps];
            let corner = [high, low];
            for rows in [
                &[[low; 2]][..],
                &[[high; 2]],
                &[corner, [1, high / 2]],
                &[corner; 50],
            ] {
                assert_eq!(of(&moments(rows.iter().copied())), empty);
            }
        }
    }
    let bounds = unit_bounds();
    for steps in [4, 100, PAIR_STEPS] {
        let eps = epsilon(0.3);
        let design = &covariance_laplace::DESIGN;
        check(
            &covariance_laplace::laplace(bounds, steps, eps),
            design,
            steps,
        );
        let design = &slope_laplace::DESIGN;
        check(&slope_laplace::laplace(bounds, steps, eps), design, steps);
        let design = &correlation_laplace::DESIGN;
        check(
            &correlation_laplace::laplace(bounds, steps, eps),
            design,
            steps,
        );
        let design = &covariance_gaussian::DESIGN;
        check(
            &covariance_gaussian::gaussian(bounds, steps, 0.3),
            design,
            steps,
        );
        let design = &correlation_gaussian::DESIGN;
        check(
            &correlation_gaussian::gaussian(bounds, steps, 0.3),
            design,
            steps,
        );
    }
}

#[test]
fn the_sums_lead_back_to_the_parts() {
    fn check<const K: usize>(design: &Design<K>) {
        for part in 0..PARTS {
            for other in 0..PARTS {
                let sums = (0..K).map(|i| design.back[part][i] * design.sums[i][other]);
                let told = design.back[part].iter().any(|times| *times != 0);
                // What is not told is 0, and does not come into the others.
                let unseen = (0..K).all(|i| design.sums[i][other] == 0);
                let expected = if part == other && told {
                    design.whole
                } else {
                    0
                };
                assert_eq!(sums.sum::<i128>(), expected, "{part} {other}");
                assert_eq!(unseen, other >= K, "{other}");
            }
        }
    }
    check(&covariance_laplace::DESIGN);
    check(&covariance_gaussian::DESIGN);
    check(&slope_laplace::DESIGN);
    check(&correlation_laplace::DESIGN);
    check(&correlation_gaussian::DESIGN);
    // The parts themselves, of single rows.
    let steps = 5i128;
    for y in 0..=5u64 {
        for x in 0..=5u64 {
            let found = parts(&moments([[y, x]]), 5);
            let [y, x] = [y, x].map(i128::from);
            let expected = [
                (steps - x) * (steps - y),
                x * (steps - y),
                (steps - x) * y,
                x * y,
                x * (steps - x),
                y * (steps - y),
            ];
            assert_eq!(found, expected);
        }
    }
}

// The error ---------------------------------------------------------------------------------------

/// Means, covariance and variances of a distribution on the unit square.
#[derive(Clone, Copy)]
struct Law {
    mx: f64,
    my: f64,
    covariance: f64,
    xx: f64,
    yy: f64,
}

/// 400 of them: means with the density of beta(2, 2), standard deviations of 0.15 to 0.6 of the largest that a column
/// with such a mean can have, correlations from -0.9 to 0.9.
fn laws() -> Vec<Law> {
    let mut words = Seeded::new(2024);
    let mut uniform = || ((words.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let mut law = || {
        let mut middle = || {
            // The second of three uniform numbers.
            let mut three = [uniform(), uniform(), uniform()];
            three.sort_by(f64::total_cmp);
            three[1]
        };
        let [mx, my] = [middle(), middle()];
        let mut spread = |mean: f64| (mean * (1.0 - mean)).sqrt() * (0.15 + 0.45 * uniform());
        let [sx, sy] = [spread(mx), spread(my)];
        let covariance = (1.8 * uniform() - 0.9) * sx * sy;
        Law {
            mx,
            my,
            covariance,
            xx: sx * sx,
            yy: sy * sy,
        }
    };
    (0..400).map(|_| law()).collect()
}

/// What a statistic takes up of 1, x, y, x^2, x y, y^2.
type Gradient = [f64; 6];

impl Law {
    fn of_covariance(&self) -> Gradient {
        let Law {
            mx, my, covariance, ..
        } = *self;
        [mx * my - covariance, -my, -mx, 0.0, 1.0, 0.0]
    }

    fn of_xx(&self) -> Gradient {
        [
            self.mx * self.mx - self.xx,
            -2.0 * self.mx,
            0.0,
            1.0,
            0.0,
            0.0,
        ]
    }

    fn of_yy(&self) -> Gradient {
        [
            self.my * self.my - self.yy,
            0.0,
            -2.0 * self.my,
            0.0,
            0.0,
            1.0,
        ]
    }
}

/// What a statistic takes up of the parts.
fn by_parts([c, x, y, xx, xy, yy]: Gradient) -> [f64; PARTS] {
    // The value at each corner, less the squares' part of the way there.
    [
        c,
        c + x + xx,
        c + y + yy,
        c + x + y + xx + xy + yy,
        -xx,
        -yy,
    ]
}

/// The squared error of a statistic, times n squared: with noise of these variances on the sums of a design.
fn error<const K: usize>(design: &Design<K>, variances: [f64; K], gradient: Gradient) -> f64 {
    let parts = by_parts(gradient);
    let taken = |i: usize| -> f64 {
        let back = design.back.iter().zip(parts);
        back.map(|(times, part)| times[i] as f64 * part)
            .sum::<f64>()
            / design.whole as f64
    };
    (0..K).map(|i| taken(i).powi(2) * variances[i]).sum()
}

/// The mean of it over all laws.
fn mean_error<const K: usize>(
    design: &Design<K>,
    variances: [f64; K],
    gradient: fn(&Law) -> Gradient,
) -> f64 {
    let errors = laws()
        .into_iter()
        .map(|law| error(design, variances, gradient(&law)));
    errors.sum::<f64>() / 400.0
}

/// Six budgets for six sums, of rows as they are, or counted from the midpoints.
fn split_error(centred: bool, gradient: fn(&Law) -> Gradient) -> f64 {
    let errors = laws().into_iter().map(|law| {
        let [c, x, y, xx, xy, yy] = gradient(&law);
        // Of u = 2 x - 1 and w = 2 y - 1, each of 1 at most.
        let taken = match centred {
            false => [c, x, y, xx, xy, yy],
            true => [
                c + (x + y) / 2.0 + (xx + xy + yy) / 4.0,
                x / 2.0 + xx / 2.0 + xy / 4.0,
                y / 2.0 + yy / 2.0 + xy / 4.0,
                xx / 4.0,
                xy / 4.0,
                yy / 4.0,
            ],
        };
        2.0 * 36.0 * taken.iter().map(|taken| taken * taken).sum::<f64>()
    });
    errors.sum::<f64>() / 400.0
}

/// Times `(eps n)^2` or `(mu n)^2`, in units of the square; with the numbers that a numerical search over all bases of so
/// many sums (L-BFGS), and semidefinite programming for Gaussian noise, came to on such laws.
#[test]
fn errors_are_near_the_best_that_was_found() {
    let [covariance, xx, yy] = [Law::of_covariance, Law::of_xx, Law::of_yy];
    let check = |what: &str, found: f64, best: f64, most: f64| {
        println!("{what}: {found:.3}, the best found {best}");
        // The laws are others than those of the search.
        assert!(found < best * most, "{what}: {found} {best}");
        assert!(found > best * 0.9, "{what}: {found} {best}");
    };
    let pure = |sensitivity: f64| 2.0 * sensitivity * sensitivity;
    let four = mean_error(&covariance_laplace::DESIGN, [pure(1.0); 4], covariance);
    check("covariance alone, pure", four, 0.7295, 1.05);
    let five = |of| mean_error(&slope_laplace::DESIGN, [pure(9.0); 5], of);
    check("covariance of a line, pure", five(covariance), 0.866, 1.05);
    check("spread of x of a line, pure", five(xx), 1.61, 1.05);
    let six = |of| mean_error(&correlation_laplace::DESIGN, [pure(8.0); 6], of);
    check("covariance of six, pure", six(covariance), 0.97, 1.05);
    check("spread of x of six, pure", six(xx), 2.10, 1.2);
    check("spread of y of six, pure", six(yy), 2.27, 1.2);
    let together = 4.0 * six(covariance) + six(xx) + six(yy);
    check("all of six, pure", together, 4.0 * 0.97 + 2.10 + 2.27, 1.06);
    let gaussian = [9.0, 4.5, 4.5, 2.25];
    let four_gaussian = mean_error(&covariance_gaussian::DESIGN, gaussian, covariance);
    check("covariance alone, Gaussian", four_gaussian, 0.283, 1.05);
    let six_gaussian = |of| mean_error(&correlation_gaussian::DESIGN, [243.0; 6], of);
    check(
        "covariance of six, Gaussian",
        six_gaussian(covariance),
        0.331,
        1.05,
    );
    check(
        "spread of x of six, Gaussian",
        six_gaussian(xx),
        0.544,
        1.06,
    );
    check(
        "spread of y of six, Gaussian",
        six_gaussian(yy),
        0.607,
        1.06,
    );

    let [raw, centred] = [false, true].map(|centred| split_error(centred, covariance));
    println!("six budgets: {raw:.1}, from the midpoints {centred:.2}");
    assert!(
        raw / four > 50.0 && centred / four > 6.0,
        "{raw} {centred} {four}"
    );
    assert!(raw / six(covariance) > 50.0 && centred / six(covariance) > 6.0);
}

const RELEASES: usize = 20_000;

/// 10,000 rows of two normal columns with a standard deviation of 0.12 and this correlation, clipped to the square.
fn rows(correlation: f64) -> Vec<[f64; 2]> {
    let mut words = Seeded::new(5);
    let mut uniform = || ((words.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let mut normal = || {
        let (radius, angle) = (
            (-2.0 * uniform().ln()).sqrt(),
            std::f64::consts::TAU * uniform(),
        );
        [radius * angle.cos(), radius * angle.sin()]
    };
    let row = |[a, b]: [f64; 2]| {
        let y = correlation * a + (1.0 - correlation * correlation).sqrt() * b;
        [0.4 + 0.12 * y, 0.55 + 0.12 * a].map(|value| value.clamp(0.0, 1.0))
    };
    (0..10_000).map(|_| row(normal())).collect()
}

fn truth(rows: &[[f64; 2]]) -> Law {
    let n = rows.len() as f64;
    let mean = |of: &dyn Fn(&[f64; 2]) -> f64| rows.iter().map(of).sum::<f64>() / n;
    let (my, mx) = (mean(&|row| row[0]), mean(&|row| row[1]));
    Law {
        mx,
        my,
        covariance: mean(&|row| (row[0] - my) * (row[1] - mx)),
        xx: mean(&|row| (row[1] - mx).powi(2)),
        yy: mean(&|row| (row[0] - my).powi(2)),
    }
}

fn on_grid(rows: &[[f64; 2]]) -> PairMoments {
    let [y, x] = unit_bounds();
    let grid = PairGrid::new(&y, &x);
    moments(rows.iter().map(|row| grid.steps(*row)))
}

/// Squared errors of the covariance by six budgets for six sums, as they are or counted from the midpoints; the numbers
/// of rows, means and products that follow are taken as they are.
fn split(rows: &[[f64; 2]], value: f64, centred: bool, words: &mut Seeded) -> stats::Moments {
    let law = truth(rows);
    let n = rows.len() as f64;
    let noise = DiscreteLaplace::new(1 << 32, epsilon(value / 6.0));
    let mut draw = || noise.draw(words) as f64 / (1u64 << 32) as f64;
    let at = |place: f64| if centred { 2.0 * place - 1.0 } else { place };
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        rows.iter().map(|[y, x]| of(at(*y), at(*x))).sum()
    };
    let (ys, xs, xys) = (sum(&|y, _| y), sum(&|_, x| x), sum(&|y, x| y * x));
    let unit = if centred { 4.0 } else { 1.0 };
    stats::Moments::of((0..RELEASES).map(|_| {
        let n = n + draw();
        let (y, x, xy) = ((ys + draw()) / n, (xs + draw()) / n, (xys + draw()) / n);
        ((xy - x * y) / unit).clamp(-0.25, 0.25) - law.covariance
    }))
}

#[test]
fn covariances_have_less_error_than_with_split_budgets() {
    for correlation in [0.6, -0.3] {
        let rows = rows(correlation);
        let (law, moments) = (truth(&rows), on_grid(&rows));
        for value in [0.1, 1.0] {
            let mut words = Seeded::new(17);
            let pair = covariance_laplace::laplace(unit_bounds(), PAIR_STEPS, epsilon(value));
            let ours = stats::Moments::of(
                (0..RELEASES)
                    .map(|_| pair.release_from(&moments, &mut words).covariance - law.covariance),
            );
            for (centred, better) in [(false, 50.0), (true, 6.0)] {
                let usual = split(&rows, value, centred, &mut words);
                let ratio = usual.mean_square() / ours.mean_square();
                let error =
                    |moments: &stats::Moments| moments.mean_square_error() / moments.mean_square();
                let slack = Z_ALPHA * error(&usual).hypot(error(&ours));
                println!(
                    "correlation {correlation}, eps {value}, centred {centred}: {ratio:.1} times better, \
                     give or take {slack:.3} of it"
                );
                assert!(ratio * (-slack).exp() > better, "{ratio} {slack}");
            }
            let expected = error(&covariance_laplace::DESIGN, [2.0; 4], law.of_covariance());
            ours.assert_mean_square("covariance", expected / (value * 1e4).powi(2), 0.02);
        }
    }
}

/// Each number that a release has, against the errors of the formula.
#[test]
fn answers_are_as_near_as_the_formula_says() {
    let rows = rows(0.6);
    let (law, moments) = (truth(&rows), on_grid(&rows));
    let slope = |law: &Law| -> Gradient {
        let (over, of_xx) = (law.of_covariance(), law.of_xx());
        std::array::from_fn(|i| (over[i] - law.covariance / law.xx * of_xx[i]) / law.xx)
    };
    let correlation = |law: &Law| -> Gradient {
        let scale = (law.xx * law.yy).sqrt();
        let r = law.covariance / scale;
        let (over, xx, yy) = (law.of_covariance(), law.of_xx(), law.of_yy());
        std::array::from_fn(|i| over[i] / scale - r / 2.0 * (xx[i] / law.xx + yy[i] / law.yy))
    };
    let true_slope = law.covariance / law.xx;
    let true_correlation = law.covariance / (law.xx * law.yy).sqrt();
    fn answers<N: Noise, const K: usize>(
        pair: &Pair<N, K>,
        moments: &PairMoments,
    ) -> Vec<PairAnswer> {
        let mut words = Seeded::new(77);
        let releases = (0..RELEASES).map(|_| pair.release_from(moments, &mut words));
        releases.collect()
    }
    let check = |what: &str, errors: &mut dyn Iterator<Item = f64>, expected: f64| {
        stats::Moments::of(errors).assert_mean_square(
            what,
            expected / (2.0 * 1e4f64).powi(2),
            0.03,
        );
    };
    let eps = epsilon(2.0);
    let (bounds, steps) = (unit_bounds(), PAIR_STEPS);
    let design = &slope_laplace::DESIGN;
    let of = |gradient| error(design, [162.0; 5], gradient);
    let found = answers(&slope_laplace::laplace(bounds, steps, eps), &moments);
    let lines = || found.iter().map(|answer| answer.line.unwrap());
    check(
        "slope",
        &mut lines().map(|line| line.slope - true_slope),
        of(slope(&law)),
    );
    let at_mean = lines().map(|line| line.intercept + line.slope * law.mx - law.my);
    let my = [-law.my, 0.0, 1.0, 0.0, 0.0, 0.0];
    let mx = [-law.mx, 1.0, 0.0, 0.0, 0.0, 0.0];
    let level = std::array::from_fn(|i| my[i] - true_slope * mx[i]);
    check("the line at the mean", &mut { at_mean }, of(level));
    assert!(found.iter().all(|answer| answer.strength.is_none()));

    let found = answers(&correlation_laplace::laplace(bounds, steps, eps), &moments);
    let of = |gradient| error(&correlation_laplace::DESIGN, [128.0; 6], gradient);
    let strengths = found
        .iter()
        .map(|answer| answer.strength.unwrap().correlation);
    let mut errors = strengths.map(|found| found - true_correlation);
    check("correlation", &mut errors, of(correlation(&law)));
    let mut errors = found.iter().map(|answer| answer.x_mean - law.mx);
    check("mean of x", &mut errors, of(mx));
    let mut errors = found.iter().map(|answer| answer.y_mean - law.my);
    check("mean of y", &mut errors, of(my));
    let variance = |sd: f64| sd * sd;
    let spreads = found
        .iter()
        .map(|answer| variance(answer.strength.unwrap().y_stddev));
    check(
        "spread of y",
        &mut spreads.map(|found| found - law.yy),
        of(law.of_yy()),
    );

    let found = answers(
        &correlation_gaussian::gaussian(bounds, steps, 2.0),
        &moments,
    );
    let of = |gradient| error(&correlation_gaussian::DESIGN, [243.0; 6], gradient);
    let strengths = found
        .iter()
        .map(|answer| answer.strength.unwrap().correlation);
    let mut errors = strengths.map(|found| found - true_correlation);
    check("correlation, Gaussian", &mut errors, of(correlation(&law)));
    let mut errors = found
        .iter()
        .map(|answer| answer.line.unwrap().slope - true_slope);
    check("slope, Gaussian", &mut errors, of(slope(&law)));
    let found = answers(&covariance_gaussian::gaussian(bounds, steps, 2.0), &moments);
    let mut errors = found
        .iter()
        .map(|answer| answer.covariance - law.covariance);
    let expected = error(
        &covariance_gaussian::DESIGN,
        [9.0, 4.5, 4.5, 2.25],
        law.of_covariance(),
    );
    check("covariance, Gaussian", &mut errors, expected);
}

/// Where nothing is left of the rows, the answer is what the bounds say.
#[test]
fn the_count_is_unbiased_and_few_rows_are_two_uniform_columns() {
    for number in [0, 3, 1000] {
        let moments = on_grid(&rows(0.6)[..number]);
        let pair = correlation_laplace::laplace(unit_bounds(), PAIR_STEPS, epsilon(1.0));
        let mut words = Seeded::new(31);
        let answers: Vec<_> = (0..RELEASES)
            .map(|_| pair.release_from(&moments, &mut words))
            .collect();
        let counts = stats::Moments::of(answers.iter().map(|a| a.count - number as f64));
        // 1 is the four corners.
        let expected = error(
            &correlation_laplace::DESIGN,
            [128.0; 6],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        );
        counts.assert_mean_square("count", expected, 1e-9);
        let slack = Z_ALPHA * (counts.mean_square() / RELEASES as f64).sqrt();
        assert!(counts.mean().abs() < slack, "{}", counts.mean());
        let mut lost = 0;
        for answer in answers.iter().filter(|answer| answer.count <= 0.0) {
            lost += 1;
            let (line, strength) = (answer.line.unwrap(), answer.strength.unwrap());
            assert_eq!(
                (answer.y_mean, answer.x_mean, answer.covariance),
                (0.5, 0.5, 0.0)
            );
            assert_eq!(
                (line.slope, line.intercept, strength.correlation),
                (0.0, 0.5, 0.0)
            );
            for sd in [line.x_stddev, strength.y_stddev] {
                assert!((sd * sd * 12.0 - 1.0).abs() < 1e-12, "{sd}");
            }
        }
        assert_eq!(lost > 0, number < 1000);
    }
}

// Calls -------------------------------------------------------------------------------------------

fn arguments<'a>(
    [ylo, yhi, xlo, xhi]: [f64; 4],
    epsilon: Option<f64>,
    mechanism: &'a str,
) -> Arguments<'a> {
    Arguments {
        bounds: Some((Some(ylo), Some(yhi))),
        x_bounds: Some((Some(xlo), Some(xhi))),
        epsilon,
        mechanism: MechanismArgument::Given(Some(mechanism)),
        ..Arguments::default()
    }
}

const REGISTRIES: [&Registry<PairMechanism>; 3] = [&COVARIANCE, &SLOPE, &CORRELATION];

fn generator() -> Generator {
    #[cfg(feature = "testing")]
    return Generator::from_seed(1);
    #[cfg(not(feature = "testing"))]
    return Generator::from_os().unwrap();
}

#[test]
fn errors_name_the_bound_of_the_column() {
    let one = Some(1.0);
    for registry in REGISTRIES {
        for (bounds, argument) in [
            ([f64::NAN, 1.0, 0.0, 1.0], "ylo"),
            ([1.0, 1.0, 1.0, 1.0], "yhi"),
            ([0.0, 1.0, f64::INFINITY, 1.0], "xlo"),
            ([0.0, 1.0, 2.0, 1.0], "xhi"),
            ([-1e308, 1e308, 2.0, 1.0], "yhi"),
            ([0.0, 1.0, -1e308, 1e308], "xhi"),
        ] {
            let error = registry.build(&arguments(bounds, one, "laplace")).err();
            let error = error.unwrap();
            assert_eq!(error.argument, argument, "{error:?}");
            for text in [&error.message, &error.hint] {
                assert!(
                    !text.contains("lo, hi") && !text.contains("\"lo\""),
                    "{error:?}"
                );
            }
        }
        let unit = [0.0, 1.0, 0.0, 1.0];
        let missing = Arguments {
            x_bounds: Some((Some(0.0), None)),
            ..arguments(unit, one, "laplace")
        };
        assert_eq!(registry.build(&missing).err().unwrap().argument, "xhi");
        let alone = Arguments {
            x_bounds: None,
            ..arguments(unit, one, "laplace")
        };
        assert_eq!(registry.build(&alone).err().unwrap().argument, "ylo");
        // eps comes after the bounds, the mechanism after eps.
        for (eps, text, argument) in [
            (None, "laplace", "eps"),
            (Some(0.0), "no such", "eps"),
            (one, "hourglass", "mech"),
            (one, "gaussian", "mech"),
            (one, "gaussian(mu=1)", "eps"),
        ] {
            let error = registry.build(&arguments(unit, eps, text)).err().unwrap();
            assert_eq!(error.argument, argument, "{text}");
        }
    }
}

#[test]
fn answers_are_in_the_units_of_the_columns() {
    let rows = [
        [41.0, -3.0],
        [52.0, 9.0],
        [47.0, 2.0],
        [250.0, 6.0],
        [-3.0, f64::INFINITY],
        [60.0, -1.0],
    ];
    for (mechanism, eps) in [("laplace", Some(50.0)), ("gaussian(mu=1000)", None)] {
        for [ylo, yhi, xlo, xhi] in [
            [0.0, 100.0, -5.0, 5.0],
            [-1000.0, 3000.0, 0.0, 10.0],
            [40.0, 50.0, -1e-3, 8.0],
        ] {
            for registry in REGISTRIES {
                let mechanism = registry
                    .build(&arguments([ylo, yhi, xlo, xhi], eps, mechanism))
                    .unwrap();
                let grid = mechanism.pair_grid();
                // Many times each, so that there is next to no noise in what follows.
                let many = 1_000_000;
                let mut moments = PairMoments::default();
                for row in rows {
                    let mut one = PairMoments::default();
                    one.add(grid.steps(row));
                    moments.merge(&PairMoments {
                        n: one.n * many,
                        y: one.y * i128::from(many),
                        x: one.x * i128::from(many),
                        yy: one.yy * i128::from(many),
                        xy: one.xy * i128::from(many),
                        xx: one.xx * i128::from(many),
                    });
                }
                let clamped = rows.map(|[y, x]| [y.clamp(ylo, yhi), x.clamp(xlo, xhi)]);
                let law = truth(&clamped);
                let answer = mechanism.release(&moments, &mut generator());
                let near = |found: f64, expected: f64, unit: f64| {
                    assert!((found - expected).abs() < 1e-5 * unit, "{found} {expected}");
                };
                let (y, x) = (yhi - ylo, xhi - xlo);
                near(answer.y_mean, law.my, y);
                near(answer.x_mean, law.mx, x);
                near(answer.covariance, law.covariance, y * x);
                near(answer.count / (rows.len() as f64 * many as f64), 1.0, 1.0);
                if let Some(line) = answer.line {
                    let slope = law.covariance / law.xx;
                    near(line.slope, slope, y / x * 10.0);
                    near(line.intercept, law.my - slope * law.mx, y * 100.0);
                    near(line.x_stddev, law.xx.sqrt(), x * 10.0);
                }
                if let Some(strength) = answer.strength {
                    let scale = (law.xx * law.yy).sqrt();
                    near(strength.correlation, law.covariance / scale, 10.0);
                    near(strength.y_stddev, law.yy.sqrt(), y * 100.0);
                }
                let told = [answer.line.is_some(), answer.strength.is_some()];
                match registry.aggregate {
                    "dp_covar_pop" => assert_eq!(told, [false, false]),
                    "dp_corr" => assert_eq!(told, [true, true]),
                    _ => assert!(told[0]),
                }
            }
        }
    }
}

#[cfg(feature = "testing")]
#[test]
fn a_budget_is_spent_as_it_was_given() {
    let mu = accounting::mu(1.0, 1e-6).unwrap();
    let moments = on_grid(&rows(0.6)[..100]);
    for registry in REGISTRIES {
        let release = |epsilon: Option<f64>, text: &str, factor: f64| {
            let arguments = arguments([0.0, 1.0, 0.0, 1.0], epsilon, text);
            let mechanism = registry
                .build_with_budget_times(factor, &arguments)
                .unwrap();
            mechanism.release(&moments, &mut Generator::from_seed(9))
        };
        let by_mu = |mu: f64| release(None, &format!("gaussian(mu={mu:?})"), 1.0);
        assert_eq!(release(Some(1.0), "gaussian(delta=1e-6)", 1.0), by_mu(mu));
        let rho = accounting::mu_of_rho(0.125).unwrap();
        assert_eq!(release(None, "gaussian(rho=0.125)", 1.0), by_mu(rho));
        assert_eq!(release(None, "gaussian(mu=0.5)", 2.0), by_mu(1.0));
        let pure = |epsilon, text, factor| release(Some(epsilon), text, factor);
        assert_eq!(pure(0.5, "laplace", 2.0), pure(1.0, "laplace", 1.0));
        assert_eq!(
            pure(1.0, "laplace(rows=4)", 1.0),
            pure(0.25, "laplace", 1.0)
        );
    }
}

#[test]
fn nothing_panics_and_nothing_is_nan() {
    let columns = [
        [0.0, 1.0],
        [1e300, 1.7e308],
        [-8e307, 8e307],
        [1e6, 1e6 + 1.0],
        [-0.0, 1e-300],
        [-5e-324, 5e-324],
        [f64::MAX / 2.0, f64::MAX],
    ];
    let budgets = [
        (Some(Epsilon::MIN), "laplace"),
        (Some(50.0), "laplace"),
        (None, "gaussian(mu=1e-9)"),
        (None, "gaussian(mu=1000)"),
        (Some(Epsilon::MIN), "gaussian(delta=1e-300)"),
    ];
    let unit = i128::from(PAIR_STEPS);
    let numbers = [0, 1, 1000, i64::MAX, i64::MIN];
    let sums = [0, unit, unit << 62, i128::MAX, i128::MIN];
    let mut generator = generator();
    let mut words = Seeded::new(8);
    let mut pick = |from: &[i128]| from[(words.word() >> 40) as usize % from.len()];
    for registry in REGISTRIES {
        for [ylo, yhi] in columns {
            for [xlo, xhi] in columns {
                for (epsilon, text) in budgets {
                    let arguments = arguments([ylo, yhi, xlo, xhi], epsilon, text);
                    let mechanism = registry.build(&arguments).unwrap();
                    for n in numbers {
                        for _ in 0..20 {
                            let moments = PairMoments {
                                n,
                                y: pick(&sums),
                                x: pick(&sums),
                                yy: pick(&sums),
                                xy: pick(&sums),
                                xx: pick(&sums),
                            };
                            let answer = mechanism.release(&moments, &mut generator);
                            assert!(answer.count.is_finite());
                            assert!(answer.y_mean >= ylo && answer.y_mean <= yhi, "{answer:?}");
                            assert!(answer.x_mean >= xlo && answer.x_mean <= xhi, "{answer:?}");
                            assert!(!answer.covariance.is_nan(), "{answer:?}");
                            if let Some(line) = answer.line {
                                assert!(!line.slope.is_nan(), "{text} {answer:?}");
                                assert!(!line.intercept.is_nan(), "{answer:?}");
                                assert!(line.x_stddev >= 0.0 && line.x_stddev.is_finite());
                            }
                            if let Some(strength) = answer.strength {
                                assert!(strength.correlation.abs() <= 1.0, "{answer:?}");
                                assert!(strength.y_stddev >= 0.0 && strength.y_stddev.is_finite());
                            }
                        }
                    }
                }
            }
        }
    }
}
