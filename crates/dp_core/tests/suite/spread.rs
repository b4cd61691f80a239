//! Intervals of variances cover what they say, and are no wider than they must be.

use std::f64::consts::FRAC_2_PI;

use dp_core::accuracy::spread::Spread;
use dp_core::accuracy::tail::{self, laplace_triple, quantile};
use dp_core::encoding::grid::{Bounds, COARSE_STEPS, Grid};
use dp_core::encoding::sums::Moments;
use dp_core::error::ParameterError;
use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::variance::gaussian::Gaussian;
use dp_core::mechanism::variance::laplace::Laplace;
use dp_core::mechanism::variance::moments::{MomentNoise, Variance, VarianceAnswer};
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Generator;
use dp_core::registry::{Factory, Made, VARIANCE};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::checked::Overspent;

use crate::words::Seeded;

/// The estimates of mechanisms that see the rows' moments.
type OfMoments = dyn Mechanism<Moments, Answer = Estimate<VarianceAnswer>>;

/// How many standard errors more than its share an interval may miss: over the some thousand settings
/// here, one is beyond with probability below 1e-6.
const STANDARD_ERRORS: f64 = 6.3;

fn most_misses(draws: u32, miss: f64) -> f64 {
    let expected = f64::from(draws) * miss;
    expected + STANDARD_ERRORS * (expected * (1.0 - miss)).sqrt() + 1.0
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

/// Parts of the rows, in thousandths of the way between the bounds, with how many of ten there are.
type Shape = &'static [(u64, i64)];

const ONE_END: Shape = &[(0, 10)];
const OTHER_END: Shape = &[(1000, 10)];
const BOTH_ENDS: Shape = &[(0, 5), (1000, 5)];
const UNEVEN_ENDS: Shape = &[(0, 9), (1000, 1)];
const MIDDLE: Shape = &[(500, 10)];
const ONE_VALUE: Shape = &[(83, 10)];
const NEAR_AN_END: Shape = &[(100, 5), (200, 5)];
const WIDE: Shape = &[(200, 5), (800, 5)];

const SHAPES: [Shape; 8] = [
    ONE_END,
    OTHER_END,
    BOTH_ENDS,
    UNEVEN_ENDS,
    MIDDLE,
    ONE_VALUE,
    NEAR_AN_END,
    WIDE,
];

/// That many rows of this shape, with their mean and variance, in parts of the width; of a sample, if they are
/// one.
fn table(shape: Shape, n: i64, is_sample: bool) -> (Moments, [f64; 2]) {
    let mut moments = Moments::default();
    let mut left = n;
    for (i, (place, tenths)) in shape.iter().enumerate() {
        let rows = if i + 1 == shape.len() {
            left
        } else {
            n * tenths / 10
        };
        left -= rows;
        let t = i128::from(place * COARSE_STEPS / 1000);
        moments.n += rows;
        moments.s += t * i128::from(rows);
        moments.q += t * t * i128::from(rows);
    }
    let (n128, g) = (i128::from(n), COARSE_STEPS as f64);
    let squares = (moments.q * n128 - moments.s * moments.s) as f64 / g / g;
    let others = if is_sample { n - 1 } else { n };
    let mean = moments.s as f64 / g / n as f64;
    (moments, [mean, squares / n as f64 / others as f64])
}

fn of<N: MomentNoise>(noise: N, is_sample: bool) -> Variance<N> {
    let bounds = Bounds::new(Some(-2.0), Some(6.0)).unwrap();
    Variance::new(bounds, is_sample, noise)
}

/// What the variance of a part of the width is multiplied by, between those bounds.
const UNIT: f64 = 64.0;

/// Counts misses of `draws` intervals of the variance, and adds up their widths.
fn misses<N: MomentNoise + 'static>(
    mechanism: &Variance<N>,
    moments: &Moments,
    variance: f64,
    miss: f64,
    draws: u32,
    words: &mut Seeded,
) -> (u32, f64) {
    let intervals = mechanism.intervals(miss).unwrap();
    let (mut missed, mut width) = (0, 0.0);
    let truth = variance * UNIT;
    for _ in 0..draws {
        let answer = mechanism.release_from(moments, words);
        let ends = intervals(&answer);
        assert!(0.0 <= ends[0] && ends[0] <= answer.stddev && answer.stddev <= ends[1]);
        let [lower, upper] = answer.variance_between(ends);
        assert!(lower <= answer.variance && answer.variance <= upper);
        // Both ask the same.
        let held = ends[0] <= truth.sqrt() && truth.sqrt() <= ends[1];
        let rounding = 1e-9 * UNIT;
        assert!(
            held == (lower <= truth && truth <= upper)
                || (truth - lower).abs().min((upper - truth).abs()) < rounding
        );
        missed += u32::from(!held);
        width += (upper - lower) / UNIT;
    }
    (missed, width / f64::from(draws))
}

#[test]
fn intervals_of_variances_cover() {
    let words = &mut Seeded::new(2811);
    let draws = 300;
    for miss in [0.5, 0.05, 0.01] {
        for is_sample in [false, true] {
            let mut all = [0, 0];
            let mut settings = 0;
            for eps in [0.05, 0.3, 1.0, 3.0, 8.0] {
                let laplace = of(Laplace::new(COARSE_STEPS, epsilon(eps)), is_sample);
                let gaussian = of(Gaussian::new(COARSE_STEPS, eps), is_sample);
                for n in [1, 10, 1000, 100_000] {
                    // One row has no sample variance.
                    let n = if is_sample && n == 1 { 2 } else { n };
                    for shape in SHAPES {
                        let (moments, [_, variance]) = table(shape, n, is_sample);
                        let missed = [
                            misses(&laplace, &moments, variance, miss, draws, words).0,
                            misses(&gaussian, &moments, variance, miss, draws, words).0,
                        ];
                        for (all, missed) in all.iter_mut().zip(missed) {
                            *all += missed;
                            assert!(
                                f64::from(missed) <= most_misses(draws, miss),
                                "eps {eps} n {n} {shape:?} sample {is_sample}: {missed} of {draws} at {miss}"
                            );
                        }
                        settings += 1;
                    }
                }
            }
            println!("{miss} {is_sample}: {all:?} of {}", settings * draws);
            for all in all {
                assert!(f64::from(all) <= most_misses(settings * draws, miss));
            }
        }
    }
}

/// The interval if the number of rows and their mean were known: the noise of the variance alone.
fn known(noise: &dyn Fn([f64; 3]) -> [f64; 3], mean: f64, variance: f64, tail: Tail) -> f64 {
    let c = |x: f64| (x - mean).powi(2) - variance;
    // In the basis of Bernstein the middle one is not the value in the middle.
    let [c0, c2] = [c(0.0), c(1.0)];
    let weights = noise([c0, (c0 + c2) / 2.0 - 0.5, c2]);
    2.0 * quantile(0.05, |t| tail(weights, t))
}

type Tail = fn([f64; 3], f64) -> f64;

/// By the formulas of the files of the mechanisms, for eps 1 and mu 1.
fn laplace_noise([c0, c1, c2]: [f64; 3]) -> [f64; 3] {
    [c0, (c0 + c2) / 4.0 + c1, c2]
}

fn gaussian_noise([c0, c1, c2]: [f64; 3]) -> [f64; 3] {
    [c0, (c0 + c2) / 4.0 + c1 / 2.0, c2]
}

/// How often an interval misses and how wide it is, over that of a known number of rows and mean; `n eps` is `rows`.
fn measured<N: MomentNoise + 'static>(
    mechanism: &Variance<N>,
    shape: Shape,
    rows: i64,
    draws: u32,
    words: &mut Seeded,
) -> [f64; 2] {
    let (moments, [mean, variance]) = table(shape, rows, false);
    let (missed, width) = misses(mechanism, &moments, variance, 0.05, draws, words);
    let noise = mechanism.triple_noise();
    let known = match noise.scale {
        1.0 => known(&gaussian_noise, mean, variance, tail::normal_triple),
        _ => known(&laplace_noise, mean, variance, laplace_triple),
    };
    [f64::from(missed), width / (known / rows as f64)]
}

#[test]
fn intervals_of_variances_are_narrow() {
    let words = &mut Seeded::new(2812);
    let laplace = of(Laplace::new(COARSE_STEPS, epsilon(1.0)), false);
    let gaussian = of(Gaussian::new(COARSE_STEPS, 1.0), false);
    let draws = 4000;
    for (rows, most) in [(100, 1.3), (1000, 1.06), (100_000, 1.025)] {
        // Where neither the variance nor the mean is at an end.
        for shape in [UNEVEN_ENDS, NEAR_AN_END, WIDE] {
            for [missed, times] in [
                measured(&laplace, shape, rows, draws, words),
                measured(&gaussian, shape, rows, draws, words),
            ] {
                println!("{shape:?} {rows}: {times:.3} times as wide, {missed} of {draws} missed");
                assert!(times <= most, "{shape:?} {rows}: {times}");
                // Nor is it wide for nothing: what is given away to the mean is a twentieth.
                let expected = f64::from(draws) * 0.05;
                let least = 0.9 * expected - STANDARD_ERRORS * expected.sqrt();
                assert!(rows < 1000 || missed >= least, "{shape:?} {rows}: {missed}");
            }
        }
    }
}

/// Intervals that look right and are not.
#[test]
fn tempting_intervals_of_variances_are_caught() {
    let words = &mut Seeded::new(2813);
    let draws = 40_000;
    let mechanism = of(Laplace::new(COARSE_STEPS, epsilon(1.0)), false);
    let noise = mechanism.triple_noise();
    let missed = |shape, rows, around: &dyn Fn(&VarianceAnswer) -> [f64; 2], words: &mut Seeded| {
        let (moments, [_, variance]) = table(shape, rows, false);
        let outside = (0..draws).filter(|_| {
            let [lower, upper] = around(&mechanism.release_from(&moments, words));
            !(lower <= variance && variance <= upper)
        });
        outside.count() as f64
    };
    let right = Spread::new(noise, false, 0.05);
    let mut short = noise;
    short.scale *= 0.9;
    let short = Spread::new(short, false, 0.05);
    let missed_right = missed(WIDE, 10_000, &|answer| right.around(answer.sums), words);
    let missed_short = missed(WIDE, 10_000, &|answer| short.around(answer.sums), words);
    // The noise that the answer has if its mean and variance are the true ones, to either side of it.
    let tempting = |answer: &VarianceAnswer| {
        let [b0, b1, b2] = answer.sums;
        let rows = b0 + b1 + b2;
        if rows <= 0.0 {
            return [0.0, 0.25];
        }
        let mean = (b1 / 2.0 + b2) / rows;
        let variance = b0 / rows * (b2 / rows) - (b1 / rows / 2.0).powi(2);
        let [c0, c2] = [mean, 1.0 - mean].map(|x| x * x - variance);
        let weights = laplace_noise([c0, (c0 + c2) / 2.0 - 0.5, c2]);
        let reach = quantile(0.01, |t| laplace_triple(weights, t)) / rows;
        [variance - reach, variance + reach]
    };
    let missed_tempting = missed(ONE_END, 10, &tempting, words);
    let right = Spread::new(noise, false, 0.01);
    let missed_there = missed(ONE_END, 10, &|answer| right.around(answer.sums), words);
    println!("{missed_right}, short {missed_short}; {missed_there}, tempting {missed_tempting}");
    assert!(missed_right <= most_misses(draws, 0.05));
    assert!(missed_short > most_misses(draws, 0.05));
    assert!(missed_there <= most_misses(draws, 0.01));
    assert!(missed_tempting > most_misses(draws, 0.01));
}

/// Rows between grid steps, that many that the noise is less than a step.
#[test]
fn an_interval_of_a_variance_allows_for_the_grid() {
    let words = &mut Seeded::new(2814);
    let bounds = Bounds::new(Some(-2.0), Some(6.0)).unwrap();
    let grid = Grid::unit(&bounds);
    let mechanism = of(Laplace::new(COARSE_STEPS, epsilon(8.0)), false);
    let spread = Spread::new(mechanism.triple_noise(), false, 0.05);
    let intervals = mechanism.intervals(0.05).unwrap();
    let part = 0.49 / COARSE_STEPS as f64;
    let ends = [-2.0 + 8.0 * part, 6.0 - 8.0 * part].map(|x| grid.coarse_steps(x));
    assert_eq!(ends, [0, COARSE_STEPS]);
    let n = 1i64 << 40;
    let (half, g) = (i128::from(n / 2), i128::from(COARSE_STEPS));
    let moments = Moments {
        n,
        s: half * g,
        q: half * g * g,
    };
    let stddev = 8.0 * (0.5 - part);
    let mut missed_without = 0;
    for _ in 0..100 {
        let answer = mechanism.release_from(&moments, words);
        let [lower, upper] = intervals(&answer);
        assert!(lower <= stddev && stddev <= upper, "{lower} {upper}");
        let [lower, upper] = spread.around(answer.sums).map(f64::sqrt);
        missed_without += u32::from(!(8.0 * lower <= stddev && stddev <= 8.0 * upper));
        // And for no more than that.
        assert!(8.0 * (upper - lower) < 1e-7);
    }
    assert_eq!(missed_without, 100);
}

#[test]
fn an_answer_of_no_rows_says_nothing_of_the_variance() {
    for (is_sample, most) in [(false, 0.5), (true, 0.5f64.sqrt())] {
        let mechanism = of(Laplace::new(COARSE_STEPS, epsilon(1.0)), is_sample);
        let intervals = mechanism.intervals(0.05).unwrap();
        let answer = VarianceAnswer {
            variance: UNIT / 12.0,
            stddev: (UNIT / 12.0).sqrt(),
            mean: 2.0,
            count: 0.0,
            sums: [4.0, -9.0, 5.0],
        };
        assert_eq!(intervals(&answer), [0.0, 8.0 * most]);
        // Where one row less is none.
        let one = VarianceAnswer {
            count: 1.0,
            sums: [4.0, -8.0, 5.0],
            ..answer
        };
        assert_eq!(intervals(&one) == [0.0, 8.0 * most], is_sample);
    }
}

/// By its characteristic function, `1 / ((1 + a^2 s^2) (1 + b^2 s^2) (1 + c^2 s^2))`.
fn triple_by_hand(scales: [f64; 3], t: f64) -> f64 {
    const STEPS: u32 = 200_000;
    let h = 1000.0 / f64::from(STEPS);
    let at = |i: u32| {
        let s = h * f64::from(i);
        let sine = if i == 0 { t } else { (t * s).sin() / s };
        let product: f64 = scales.iter().map(|a| 1.0 + (a * s).powi(2)).product();
        sine / product
    };
    let inner = (1..STEPS).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * at(i));
    1.0 - FRAC_2_PI * h / 3.0 * (at(0) + inner.sum::<f64>() + at(STEPS))
}

#[test]
fn the_tail_of_three_laplaces_is_that_of_their_law() {
    for scales in [
        [1.0, 0.5, 0.2],
        [1.0, 1.0, 0.3],
        [0.4, 1.0, 0.4],
        [1.0, 1.0, 1.0],
        [1.0, 1.0 - 1e-3, 1.0 - 2e-3],
        [1.0 - 1e-5, 1.0, 1.0 - 2e-5],
        [1.0, 1.0 - 1.1e-6, 1.0 - 5e-7],
        [1.0, 1.0, 1.0 - 9e-7],
        [0.99, 0.1, -1.0],
        [2.0, -1.0, 1.5],
    ] {
        for t in [0.0, 0.01, 0.4, 1.0, 3.0, 8.0, 15.0] {
            let (found, by_hand) = (laplace_triple(scales, t), triple_by_hand(scales, t));
            // Never nearer; and where all count as equal, a millionth farther.
            let slack = 2e-9 + 1e-5 * by_hand;
            assert!(found > by_hand - 2e-9, "{scales:?} {t}: {found} {by_hand}");
            assert!(found < by_hand + slack, "{scales:?} {t}: {found} {by_hand}");
        }
    }
}

#[test]
fn the_tail_of_three_laplaces_has_its_limits() {
    let near = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 1e-9 || found == expected,
            "{found} {expected}"
        );
    };
    for t in [0.0, 0.3, 2.0, 9.0, 40.0, 300.0] {
        near(laplace_triple([0.0, 2.0, 0.0], t), tail::laplace(2.0, t));
        for (a, b) in [(1.0, 0.5), (2.0, 2.0), (0.1, 3.0)] {
            near(laplace_triple([a, 0.0, -b], t), tail::laplace_pair(a, b, t));
        }
        // As the scales come together, no digits are lost and nothing jumps.
        let equal = laplace_triple([1.0; 3], t);
        for less in [1e-3, 1e-5, 1.01e-6, 0.99e-6, 1e-8, 1e-13] {
            for scales in [[1.0, 1.0 - less, 1.0 - less], [1.0, 1.0, 1.0 - less]] {
                let found = laplace_triple(scales, t);
                assert!(
                    found <= equal * (1.0 + 1e-9)
                        && found >= equal * (1.0 - (t + 1.0) * less - 1e-9),
                    "{scales:?} {t}: {found} {equal}"
                );
            }
        }
        // It grows with each scale: what bounds an interval's reach.
        let scales = [0.0, 0.1, 0.7, 0.7000001, 1.0, 1.3];
        for a in scales {
            for b in scales {
                for pair in scales.windows(2) {
                    let [less, more] = [pair[0], pair[1]].map(|c| laplace_triple([a, b, c], t));
                    let known = a > 0.0 || b > 0.0 || pair[0] > 0.0;
                    assert!(
                        !known || less <= more * (1.0 + 1e-9),
                        "{a} {b} {pair:?} {t}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_estimate_of_a_variance_is_its_release_with_an_interval() {
    for (epsilon, text) in [
        (Some(1.0), "laplace"),
        (Some(2.0), "laplace(sample=yes, rows=2)"),
        (None, "gaussian(mu=0.5)"),
    ] {
        let arguments = Arguments {
            bounds: Some((Some(-2.0), Some(6.0))),
            epsilon,
            mechanism: MechanismArgument::Given(Some(text)),
            ..Arguments::default()
        };
        let estimates = Estimates(&VARIANCE);
        let make = |confidence| -> Result<Made<OfMoments>, ParameterError> {
            estimates.make(&arguments, Some(Some(confidence)), Overspent::NOT)
        };
        let plain = VARIANCE.build(&arguments).unwrap().moments().unwrap();
        let (moments, _) = table(WIDE, 1000, false);
        let mut last = [3.0, 3.0];
        for confidence in [0.1, 0.5, 0.99] {
            let estimator = make(confidence).unwrap();
            assert_eq!(estimator.mechanism.grid(), plain.grid());
            let estimate = estimator
                .mechanism
                .release(&moments, &mut Generator::from_seed(4));
            let answer = plain.release(&moments, &mut Generator::from_seed(4));
            assert_eq!(estimate.answer, answer);
            assert_eq!(estimator.spent.cost.epsilon, epsilon);
            let [lower, upper] = estimate.interval;
            assert!(confidence == 0.1 || (lower <= last[0] && upper >= last[1]));
            last = estimate.interval;
        }
        assert_eq!(make(1.0).err().unwrap().argument, "confidence");
    }
}
