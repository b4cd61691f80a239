//! Intervals cover what they say, for every mechanism that has them, and are no wider than they must be;
//! forecasts of errors agree with releases.

use dp_core::accuracy::interval::Ratio;
use dp_core::accuracy::tail::{self, quantile};
use dp_core::encoding::grid::{Bounds, Grid, STEPS};
use dp_core::encoding::sums::Sums;
use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::definition::{Mechanism, Scalar};
use dp_core::mechanism::mean::answer::MeanAnswer;
use dp_core::mechanism::mean::clipped::Clipped;
use dp_core::mechanism::mean::gaussian::Gaussian;
use dp_core::mechanism::mean::hourglass::Hourglass;
use dp_core::mechanism::mean::independent::Independent;
use dp_core::mechanism::mean::inputs::SumsMean;
use dp_core::mechanism::mean::laplace::Laplace;
use dp_core::mechanism::mean::pair::Complement;
use dp_core::mechanism::mean::shifted::Shifted;
use dp_core::mechanism::mean::smooth::Smooth;
use dp_core::mechanism::mean::staircase::Staircase;
use dp_core::mechanism::mean::symmetric::Mirrored;
use dp_core::mechanism::{count, sum};
use dp_core::planning::{epsilon_for, mean_error};
use dp_core::privacy::epsilon::Epsilon;
use dp_core::registry::{Factory, MEAN};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::checked::Overspent;
use dp_core::sampler::{staircase, staircase2};

use crate::distribution;
use crate::words::Seeded;

/// How many standard errors more than its share an interval may miss: over the some thousand settings
/// here, one is beyond with probability below 1e-6.
const STANDARD_ERRORS: f64 = 6.3;

const CONFIDENCES: [f64; 3] = [0.5, 0.95, 0.99];

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

fn bounds(lo: f64, hi: f64) -> Bounds {
    Bounds::new(Some(lo), Some(hi)).unwrap()
}

type Release = dyn Fn(&Sums, &mut Seeded) -> MeanAnswer;

/// A mechanism of means, and how to release from chosen words.
struct Case {
    name: &'static str,
    mechanism: Box<dyn SumsMean>,
    release: Box<Release>,
}

/// The mechanisms that have intervals, of columns between these bounds.
fn cases(eps: f64, bounds: Bounds, rows: f64) -> Vec<Case> {
    macro_rules! case {
        ($name:literal, $mechanism:expr) => {{
            let mechanism = $mechanism;
            let released = mechanism.clone();
            Case {
                name: $name,
                mechanism: Box::new(mechanism),
                release: Box::new(move |sums, words| released.release_from(sums, words)),
            }
        }};
    }
    let e = epsilon(eps);
    let core = |gamma| staircase::core_of(gamma, STEPS);
    let hourglass = |gamma| Complement::new(bounds, Hourglass::new(STEPS, core(gamma), e));
    let staircase = |gamma| Complement::new(bounds, Staircase::new(STEPS, core(gamma), e));
    vec![
        case!("hourglass", hourglass(staircase::best_gamma(eps))),
        case!(
            "hourglass, mirrored",
            Complement::new(bounds, Mirrored(Hourglass::new(STEPS, core(0.1), e)))
        ),
        case!("hourglass, narrow", hourglass(0.01)),
        case!("hourglass, wide", hourglass(1.0)),
        case!("laplace", Complement::new(bounds, Laplace::new(STEPS, e))),
        case!("staircase", staircase(staircase2::best_gamma(eps))),
        case!("staircase, narrow", staircase(0.02)),
        case!("gaussian", Gaussian::new(bounds, STEPS, eps / 3.0)),
        case!("shifted", Shifted::new(bounds, STEPS, e)),
        case!("independent", Independent::new(bounds, STEPS, e)),
        case!("clipped", Clipped::new(bounds, STEPS, rows, e)),
    ]
}

/// Sums of `n` rows at `mean` of the way from `lo` to `hi`, on the mechanism's grid, and the value of
/// their mean.
fn table(mechanism: &dyn SumsMean, n: i64, mean: f64) -> (Sums, f64) {
    let grid = mechanism.grid().unwrap();
    let value = grid.lo() + mean * (grid.hi() - grid.lo());
    let steps = grid.steps(value);
    let truth = grid.origin() + grid.value_of_steps() * (steps as f64 / STEPS as f64);
    let s = i128::from(steps) * i128::from(n);
    (Sums { n, s }, truth)
}

/// Counts misses of `draws` intervals, and adds up their widths.
fn misses(case: &Case, n: i64, mean: f64, miss: f64, draws: u32, words: &mut Seeded) -> (u32, f64) {
    let (sums, truth) = table(&*case.mechanism, n, mean);
    let intervals = case.mechanism.intervals(miss).unwrap();
    let (mut missed, mut width) = (0, 0.0);
    for _ in 0..draws {
        let answer = (case.release)(&sums, words);
        let [lower, upper] = intervals(&answer);
        let value = answer.mean.unwrap();
        assert!(lower <= upper);
        // An answer that is not kept between the bounds may be outside of its interval.
        assert!(
            case.name == "clipped" || (lower <= value && value <= upper),
            "{}",
            case.name
        );
        missed += u32::from(!(lower <= truth && truth <= upper));
        width += upper - lower;
    }
    (missed, width / f64::from(draws))
}

fn most_misses(draws: u32, miss: f64) -> f64 {
    let expected = f64::from(draws) * miss;
    expected + STANDARD_ERRORS * (expected * (1.0 - miss)).sqrt() + 1.0
}

#[test]
fn intervals_of_means_cover() {
    let words = &mut Seeded::new(2611);
    let draws = 2000;
    for eps in [0.01, 0.1, 0.5, 1.0, 2.0, 8.0] {
        for n in [1, 10, 1000, 1_000_000] {
            for case in cases(eps, bounds(-2.0, 6.0), n as f64) {
                for mean in [0.0, 0.1, 0.5, 0.93, 1.0] {
                    for confidence in CONFIDENCES {
                        let miss = 1.0 - confidence;
                        let (missed, _) = misses(&case, n, mean, miss, draws, words);
                        assert!(
                            f64::from(missed) <= most_misses(draws, miss),
                            "{} eps {eps} n {n} mean {mean}: {missed} of {draws} missed at {miss}",
                            case.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_tempting_interval_is_caught() {
    let case = &cases(2.0, bounds(0.0, 1.0), 1.0)[0];
    let (sums, truth) = table(&*case.mechanism, 1, 0.0);
    let ratio = case.mechanism.ratio().unwrap();
    let words = &mut Seeded::new(2612);
    let draws = 40_000;
    let missed = (0..draws).filter(|_| {
        let MeanAnswer { mean, count } = (case.release)(&sums, words);
        let (mean, count) = (mean.unwrap(), count.unwrap());
        count > 0.0 && {
            let reach = quantile(0.05, |t| (ratio.tail)(mean, t)) / count;
            !(mean - reach <= truth && truth <= mean + reach)
        }
    });
    let missed = missed.count() as f64;
    assert!(missed > most_misses(draws, 0.05), "{missed} of {draws}");
}

/// Where n eps is above 20, the interval is at most 1.13 times as wide as if the number of rows were
/// known, which is the noise of the sum alone over that number.
#[test]
fn intervals_are_narrow() {
    let words = &mut Seeded::new(2613);
    for eps in [0.01, 0.1, 1.0, 4.0, 8.0] {
        for n_eps in [21.0, 100.0, 10_000.0] {
            let n = f64::ceil(n_eps / eps);
            for mean in [0.1, 0.5, 0.9] {
                for miss in [0.05, 0.01] {
                    for case in cases(eps, bounds(0.0, 1.0), n)
                        .iter()
                        .filter(|case| ["hourglass", "laplace", "staircase"].contains(&case.name))
                    {
                        let (_, width) = misses(case, n as i64, mean, miss, 2000, words);
                        let ratio = case.mechanism.ratio().unwrap();
                        let known = 2.0 * quantile(miss, |t| (ratio.tail)(0.0, t)) / n;
                        let times = width / known.min(1.0);
                        assert!(
                            times <= 1.13,
                            "{} {eps} {n} {mean} {miss}: {times}",
                            case.name
                        );
                    }
                }
            }
        }
    }
}

/// `P(|x - m (K0 + D)| > t)` of the hourglass, level by level.
fn hourglass_by_hand(eps: f64, gamma: f64, m: f64, t: f64) -> f64 {
    let b = (-eps).exp();
    let most = (40.0 / eps) as i64 + 1;
    let weight = |level: i64| b.powi(level.unsigned_abs() as i32);
    // x lies evenly from `from` on, over this width, at this signed level.
    let piece = |level: i64| match level {
        0 => (-gamma, 2.0 * gamma),
        1.. => (level as f64 - 1.0 + gamma, 1.0),
        _ => (level as f64 - gamma, 1.0),
    };
    let (mut beyond, mut all) = (0.0, 0.0);
    for level in -most..=most {
        let (from, width) = piece(level);
        for d in -most..=most {
            let p = weight(level) * weight(d);
            let start = from - m * (level + d) as f64;
            let inside = ((start + width).min(t) - start.max(-t)).max(0.0);
            beyond += p * (width - inside);
            all += p * width;
        }
    }
    beyond / all
}

#[test]
fn the_tail_of_the_hourglass_is_that_of_its_levels() {
    for eps in [0.2, 0.5, 1.0, 3.0, 9.0] {
        for gamma in [0.03, staircase::best_gamma(eps), 0.9, 1.0] {
            for m in [0.0, 0.01, 0.2, 0.5, 0.7, 1.0] {
                for t in [0.0, 0.01, 0.3, 0.9, 1.0, 2.3, 7.0] {
                    let by_hand = hourglass_by_hand(eps, gamma, m, t);
                    let tail = tail::hourglass(eps, gamma, m, t);
                    let close = never_below_and_close(tail, by_hand);
                    assert!(close, "{eps} {gamma} {m} {t}: {tail} {by_hand}");
                }
            }
        }
    }
}

/// What a series leaves out counts as in the tail.
fn never_below_and_close(tail: f64, by_hand: f64) -> bool {
    tail >= by_hand * (1.0 - 1e-10) - 1e-15 && tail <= by_hand * (1.0 + 1e-6) + 1e-15
}

/// `P(|(1 - m) x - m y| > t)` of the two-dimensional staircase, level by level: `(x, y)` lies evenly in a
/// diamond, so that with `u = x + y` and `v = x - y` it is `(1 - 2m) u + v` over 2.
fn staircase2_by_hand(eps: f64, gamma: f64, m: f64, t: f64) -> f64 {
    let c = (1.0 - 2.0 * m).abs();
    let (mut beyond, mut all) = (0.0, 0.0);
    for level in 0..(60.0 / eps) as i64 {
        let radius = level as f64 + gamma;
        let p = (-eps * level as f64).exp() * radius * radius;
        let s = 2.0 * t / radius;
        // The area of the square in which c u + v is above s: a corner, or all but a corner.
        let corner = |s: f64| (1.0 + c - s).max(0.0).powi(2) - (1.0 - c - s).max(0.0).powi(2);
        let share = match c {
            0.0 => (1.0 - s).max(0.0),
            _ => corner(s) / (4.0 * c),
        };
        beyond += p * share;
        all += p;
    }
    beyond / all
}

#[test]
fn the_tail_of_the_two_dimensional_staircase_is_that_of_its_levels() {
    for eps in [0.01, 0.2, 1.0, 3.0, 9.0] {
        for gamma in [0.03, staircase2::best_gamma(eps), 0.9, 1.0] {
            for m in [0.0, 0.01, 0.2, 0.5, 0.7, 1.0] {
                for t in [0.0, 0.01, 0.3, 0.9, 1.0, 2.3, 7.0] {
                    let by_hand = staircase2_by_hand(eps, gamma, m, t);
                    let tail = tail::staircase2(eps, gamma, m, t);
                    let close = never_below_and_close(tail, by_hand);
                    assert!(close, "{eps} {gamma} {m} {t}: {tail} {by_hand}");
                }
            }
        }
    }
}

/// Where epsilon is small the tails are those of Laplace noise, a little farther out: never too near,
/// and with the best steps not by more than this.
#[test]
fn tails_at_small_epsilons_are_no_nearer_than_those_of_the_levels() {
    for (eps, gammas) in [
        (0.1249, [0.02, staircase::best_gamma(0.1249), 1.0]),
        (0.05, [0.1, 0.5, 1.0]),
    ] {
        for gamma in gammas {
            for m in [0.0, 0.02, 0.3, 0.5, 0.8, 1.0] {
                for miss in [0.5, 0.05, 0.01, 1e-4] {
                    let reach = quantile(miss, |t| tail::hourglass(eps, gamma, m, t));
                    let there = hourglass_by_hand(eps, gamma, m, reach);
                    assert!(there <= miss, "{eps} {gamma} {m} {miss}: {there}");
                    let near = (gamma - 0.5f64).abs() < 0.02;
                    let nearer = hourglass_by_hand(eps, gamma, m, reach * 0.99 - 0.03);
                    assert!(!near || nearer > miss, "{eps} {gamma} {m} {miss}: {nearer}");
                }
            }
        }
    }
}

#[test]
fn the_tail_of_a_count_is_that_of_its_law() {
    for eps in [0.01, 0.3, 1.0, 4.0] {
        for k in [0, 1, 2, 7, 40] {
            let inside: f64 = (-k..=k)
                .map(|x| distribution::two_sided_geometric(x, eps))
                .sum();
            let found = tail::two_sided_geometric(eps, k as f64);
            assert!((found - (1.0 - inside)).abs() < 1e-13, "{eps} {k}: {found}");
        }
    }
}

#[test]
fn intervals_of_counts_are_as_narrow_as_their_law_allows() {
    for eps in [0.3, 1.0, 4.0] {
        for miss in [0.5, 0.05, 1e-3] {
            let intervals = count::geometric::Geometric::new(epsilon(eps)).intervals(miss);
            let [lower, upper] = intervals.unwrap()(&1000);
            let reach = (0..).find(|k| tail::two_sided_geometric(eps, *k as f64) <= miss);
            let reach = reach.unwrap();
            assert_eq!(
                (lower, upper),
                (1000.0 - reach as f64, 1000.0 + reach as f64)
            );
        }
    }
}

/// Of noise drawn.
#[test]
fn tails_are_those_of_draws() {
    let words = &mut Seeded::new(2614);
    let draws = 60_000;
    for eps in [0.03, 0.2, 1.0, 4.0] {
        for case in cases(eps, bounds(-1.0, 1.0), 1.0) {
            let Some(Ratio { range, tail, .. }) = case.mechanism.ratio() else {
                continue;
            };
            let slack = if eps < 0.125 { 0.03 } else { 0.0 };
            for part in [0.0, 0.2, 0.5, 1.0] {
                let u = range[0] + part * (range[1] - range[0]);
                for miss in [0.5, 0.05] {
                    let reach = quantile(miss, |t| tail(u, t));
                    // No rows: the noise alone, of a mean that may be anywhere.
                    let beyond = (0..draws).filter(|_| noise(&case, u, words).abs() > reach);
                    let beyond = beyond.count() as f64;
                    let expected = f64::from(draws) * miss;
                    let off = STANDARD_ERRORS * (expected * (1.0 - miss)).sqrt();
                    assert!(
                        (beyond - expected) <= off
                            && beyond >= expected * (1.0 - 3.0 * slack - 0.02) - off,
                        "{} {eps} {u} {miss}: {beyond} beyond, {expected} expected",
                        case.name
                    );
                }
            }
        }
    }
}

/// `X - u Y` of a release: with that many rows at `u` that no answer is moved to an end.
fn noise(case: &Case, u: f64, words: &mut Seeded) -> f64 {
    let Ratio {
        origin,
        unit,
        range,
        ..
    } = case.mechanism.ratio().unwrap();
    let inner = 0.5f64.mul_add(u, 0.25 * (range[0] + range[1]));
    let n = 1 << 30;
    let grid = case.mechanism.grid().unwrap();
    let steps = grid.steps(origin + unit * inner);
    let sums = Sums {
        n,
        s: i128::from(steps) * i128::from(n),
    };
    let MeanAnswer { mean, count } = (case.release)(&sums, words);
    let (mean, count) = (mean.unwrap(), count.unwrap());
    let exact =
        (grid.origin() + grid.value_of_steps() * (steps as f64 / STEPS as f64) - origin) / unit;
    // s = ratio * count: X = s - exact n, Y = count - n.
    let s = (mean - origin) / unit * count;
    let (x, y) = (s - exact * n as f64, count - n as f64);
    x - u * y
}

#[test]
fn reaches_are_never_below_the_quantile() {
    for eps in [0.01, 0.13, 0.6, 1.0, 2.0, 4.0, 8.0] {
        for case in cases(eps, bounds(-1.0, 3.0), 1.0) {
            let Some(ratio) = case.mechanism.ratio() else {
                continue;
            };
            for miss in [0.5, 0.05, 0.001] {
                let reach = ratio.reach(miss);
                let [from, to] = ratio.range;
                for i in 0..=500 {
                    let u = from + (to - from) * f64::from(i) / 500.0;
                    let exact = quantile(miss, |t| (ratio.tail)(u, t));
                    assert!(reach.at(u) >= exact, "{} {eps} {miss} {u}", case.name);
                    assert!(
                        reach.at(u) <= exact * 1.03 + 0.004,
                        "{} {eps} {miss} {u}: {} {exact}",
                        case.name,
                        reach.at(u)
                    );
                }
            }
        }
    }
}

#[test]
fn intervals_of_sums_and_counts_cover() {
    let words = &mut Seeded::new(2615);
    let draws = 4000;
    for eps in [0.01, 0.3, 1.0, 4.0, 8.0] {
        let e = epsilon(eps);
        let core = staircase::core_of(staircase::best_gamma(eps), STEPS);
        for confidence in CONFIDENCES {
            let miss = 1.0 - confidence;
            macro_rules! check {
                ($name:literal, $mechanism:expr, $sums:expr, $truth:expr) => {{
                    let (mechanism, sums, truth) = ($mechanism, $sums, $truth);
                    let intervals = mechanism.intervals(miss).unwrap();
                    let mut missed = 0;
                    for _ in 0..draws {
                        let [lower, upper] = intervals(&mechanism.release_from(&sums, words));
                        missed += u32::from(!(lower <= truth && truth <= upper));
                    }
                    let most = most_misses(draws, miss);
                    assert!(
                        f64::from(missed) <= most,
                        "{} {eps} {miss}: {missed}",
                        $name
                    );
                    // Nor far fewer, but for whole numbers.
                    let least = 2.0 * f64::from(draws) * miss - most;
                    (f64::from(missed), least)
                }};
            }
            for n in [0, 1, 1000] {
                for (bounds, share) in [(bounds(0.0, 10.0), 0.3), (bounds(-4.0, 1.0), -0.7)] {
                    let sums = Sums {
                        n,
                        s: i128::from(n) * (share * STEPS as f64) as i128,
                    };
                    let truth = sums.s as f64 / STEPS as f64 * bounds.magnitude();
                    for (missed, least) in [
                        check!(
                            "laplace",
                            sum::noise::Sum::new(bounds, sum::laplace::Laplace::new(STEPS, e)),
                            sums,
                            truth
                        ),
                        check!(
                            "staircase",
                            sum::noise::Sum::new(
                                bounds,
                                sum::staircase::Staircase::new(STEPS, core, e)
                            ),
                            sums,
                            truth
                        ),
                        check!(
                            "gaussian",
                            sum::noise::Sum::new(bounds, sum::gaussian::Gaussian::new(STEPS, eps)),
                            sums,
                            truth
                        ),
                    ] {
                        // No rows are at the end of what sums can be, and never missed.
                        assert!(n < 1000 || missed >= least, "{eps} {miss}: {missed}");
                    }
                }
                let (sums, truth) = (Sums { n, s: 0 }, n as f64);
                check!(
                    "geometric",
                    count::geometric::Geometric::new(e),
                    sums,
                    truth
                );
                check!("gaussian", count::gaussian::Gaussian::new(eps), sums, truth);
                check!(
                    "undercount",
                    count::undercount::Undercount::new(e, 1e-4),
                    sums,
                    truth
                );
            }
        }
    }
}

#[test]
fn an_answer_of_no_rows_says_nothing() {
    let case = &cases(1.0, bounds(0.0, 200.0), 1.0)[0];
    let intervals = case.mechanism.intervals(0.05).unwrap();
    for count in [Some(0.0), Some(-3.0), None] {
        let answer = MeanAnswer {
            mean: Some(100.0),
            count,
        };
        assert_eq!(intervals(&answer), [0.0, 200.0]);
    }
    assert!(
        Smooth::new(bounds(0.0, 1.0), STEPS, epsilon(1.0))
            .intervals(0.05)
            .is_none()
    );
}

#[test]
fn bounds_far_from_zero_are_kept() {
    for (lo, hi) in [
        (1e6, 1e6 + 1.0),
        (-8e307, 8e307),
        (1e-300, 2e-300),
        (-5e-324, 5e-324),
    ] {
        for case in cases(1.0, bounds(lo, hi), 1000.0) {
            let words = &mut Seeded::new(2616);
            let (missed, _) = misses(&case, 1000, 0.3, 0.05, 400, words);
            assert!(
                f64::from(missed) <= most_misses(400, 0.05),
                "{} {lo} {hi} {missed}",
                case.name
            );
        }
    }
}

/// Where the number of rows is public, too, an interval reaches as far as the noise, and grid steps more.
#[test]
fn intervals_of_clipped_reach_beyond_the_noise() {
    for eps in [0.01, 1.0, 8.0] {
        let noise = staircase::Staircase::least(STEPS, epsilon(eps));
        let clipped = Clipped::new(bounds(0.0, 1.0), STEPS, 1.0, epsilon(eps));
        for miss in [0.5, 0.05, 1e-3] {
            let reach = quantile(miss, |t| noise.tail(t));
            let more = clipped.half_width(1.0, miss).unwrap() - reach;
            assert!(more > 0.0 && more < 1e-8, "{eps} {miss}: {more}");
        }
    }
}

/// Far from zero, floats are far from each other: answer and ends are rounded by that much.
#[test]
fn intervals_allow_for_the_rounding_of_answers() {
    for lo in [1e12, -1e12 - 1.0] {
        let ratio = Ratio {
            origin: lo,
            unit: 1.0,
            range: [0.0, 1.0],
            tail: Box::new(|_, t| tail::laplace(1.0, t)),
        };
        let mean = lo + 0.5;
        // That many rows that the noise is next to nothing.
        let [lower, upper] = ratio.intervals(0.05, lo, lo + 1.0)(mean, 1e18);
        let [before, after] = [mean.next_down().next_down(), mean.next_up().next_up()];
        assert!(lower <= before && after <= upper, "{lower} {upper}");
    }
}

/// The mean squared error at the worst of some places.
fn simulated_rmse(case: &Case, n: i64, draws: u32, words: &mut Seeded) -> f64 {
    let sd = case.mechanism.noise_sd(n as f64) / 8.0;
    let places = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0].map(|sds: f64| sds * sd);
    let inside = places.into_iter().filter(|place| *place < 0.5);
    let places = inside.flat_map(|place| [place, 1.0 - place]).chain([0.5]);
    let squares = places.map(|place| {
        let (sums, truth) = table(&*case.mechanism, n, place);
        let squares =
            (0..draws).map(|_| ((case.release)(&sums, words).mean.unwrap() - truth).powi(2));
        squares.sum::<f64>() / f64::from(draws)
    });
    squares.fold(0.0, f64::max).sqrt()
}

/// To 2% from `n eps = 20` on. With fewer rows a noisy number of rows that is not positive has its
/// answer in the middle, which is nearer than the forecast knows: by an eighth at most here.
#[test]
fn forecasts_of_errors_agree_with_releases() {
    let words = &mut Seeded::new(2617);
    let settings = [
        (0.1, 200),
        (0.1, 10_000),
        (0.5, 10),
        (1.0, 20),
        (1.0, 100),
        (1.0, 10_000),
        (4.0, 5),
        (4.0, 1000),
    ];
    for (eps, n) in settings {
        let enough = eps * n as f64 >= 20.0;
        let range = if enough { 0.98..=1.02 } else { 0.98..=1.125 };
        for case in cases(eps, bounds(-2.0, 6.0), n as f64) {
            let simulated = simulated_rmse(&case, n, 60_000, words);
            let forecast = case.mechanism.rmse(n as f64);
            let ratio = forecast / simulated;
            assert!(range.contains(&ratio), "{} {eps} {n}: {ratio}", case.name);
        }
    }
}

#[test]
fn forecasts_of_widths_agree_with_releases() {
    let words = &mut Seeded::new(2618);
    for (eps, n) in [(0.1, 20_000), (1.0, 2000), (4.0, 1000)] {
        for case in cases(eps, bounds(0.0, 1.0), n as f64) {
            let forecast = case.mechanism.half_width(n as f64, 0.05).unwrap();
            // Where an answer is not pushed to an end; independent noise is largest at the upper one.
            let widths = [3.0 * forecast, 1.0 - 3.0 * forecast]
                .map(|mean| misses(&case, n, mean, 0.05, 1000, words).1);
            let ratio = 2.0 * forecast / widths[0].max(widths[1]);
            assert!(
                (0.99..=1.02).contains(&ratio),
                "{} {eps} {n}: {ratio}",
                case.name
            );
        }
    }
}

#[test]
fn the_smallest_epsilon_reaches_the_error_and_no_smaller_one_does() {
    let bounds = (Some(0.0), Some(200.0));
    let rmse_at = |epsilon, text| {
        let arguments = Arguments {
            bounds: Some(bounds),
            epsilon: Some(epsilon),
            mechanism: MechanismArgument::Given(Some(text)),
            ..Arguments::default()
        };
        mean_error(Some(1000.0), &arguments, None).unwrap().rmse
    };
    for text in [
        "hourglass",
        "laplace",
        "staircase",
        "gaussian(delta=1e-6)",
        "smooth",
        "clipped(n=1000)",
        "shifted",
        "independent",
        "hourglass(rows=3)",
    ] {
        let mechanism = MechanismArgument::Given(Some(text));
        for rmse in [0.02, 0.3, 5.0] {
            let Ok(epsilon) = epsilon_for(Some(1000.0), bounds, Some(rmse), mechanism) else {
                assert!(rmse_at(50.0, text) > rmse, "{text} {rmse}");
                continue;
            };
            assert!(rmse_at(epsilon, text) <= rmse, "{text} {rmse}");
            assert!(rmse_at(epsilon * 0.999, text) > rmse, "{text} {rmse}");
        }
    }
    // The error of the largest epsilon is reached, a smaller one is not.
    let (best, laplace) = (
        rmse_at(50.0, "laplace"),
        MechanismArgument::Given(Some("laplace")),
    );
    assert!(epsilon_for(Some(1000.0), bounds, Some(best), laplace).unwrap() > 49.9);
    assert!(epsilon_for(Some(1000.0), bounds, Some(best.next_down()), laplace).is_err());
    // Any epsilon will do, and any answer.
    let mechanism = MechanismArgument::Omitted;
    let least = epsilon_for(Some(1000.0), bounds, Some(1e6), mechanism).unwrap();
    assert_eq!(least, 1.0 / f64::from(1 << 20));
}

#[test]
fn forecasts_name_wrong_arguments() {
    let of_epsilon = |n, bounds, rmse, text| {
        epsilon_for(n, bounds, rmse, MechanismArgument::Given(Some(text)))
            .unwrap_err()
            .argument
    };
    let (n, unit) = (Some(100.0), (Some(0.0), Some(1.0)));
    assert_eq!(of_epsilon(None, unit, Some(0.1), "laplace"), "n");
    assert_eq!(of_epsilon(Some(0.5), unit, Some(0.1), "laplace"), "n");
    assert_eq!(of_epsilon(n, (None, Some(1.0)), Some(0.1), "laplace"), "lo");
    assert_eq!(of_epsilon(n, unit, None, "laplace"), "rmse");
    assert_eq!(of_epsilon(n, unit, Some(f64::NAN), "laplace"), "rmse");
    assert_eq!(of_epsilon(n, unit, Some(-1.0), "laplace"), "rmse");
    assert_eq!(of_epsilon(n, unit, Some(1e-9), "laplace"), "rmse");
    assert_eq!(of_epsilon(n, unit, Some(0.1), "gaussian(mu=1)"), "mech");
    assert_eq!(of_epsilon(n, unit, Some(0.1), "gaussian"), "mech");
    let arguments = |epsilon| Arguments {
        bounds: Some(unit),
        epsilon,
        ..Arguments::default()
    };
    let of_error = |n, epsilon, confidence| {
        mean_error(n, &arguments(epsilon), confidence)
            .unwrap_err()
            .argument
    };
    assert_eq!(of_error(None, Some(1.0), None), "n");
    assert_eq!(of_error(n, None, None), "eps");
    for confidence in [None, Some(0.0), Some(1.0), Some(f64::NAN)] {
        assert_eq!(of_error(n, Some(1.0), Some(confidence)), "confidence");
    }
}

/// Of mechanisms that see the rows' number and sum.
type OfSums = dyn Factory<Scalar<Estimate<MeanAnswer>>>;

#[test]
fn an_estimate_has_the_grid_of_its_mechanism() {
    let arguments = Arguments {
        bounds: Some((Some(-2.0), Some(6.0))),
        epsilon: Some(1.0),
        mechanism: MechanismArgument::Given(Some("laplace")),
        ..Arguments::default()
    };
    let estimator = <OfSums>::make(&Estimates(&MEAN), &arguments, None, Overspent::NOT);
    let grid = estimator.unwrap().mechanism.grid();
    assert_eq!(grid, Some(Grid::unit(&bounds(-2.0, 6.0))));
}

#[test]
fn estimates_hold_their_cost() {
    let spent = |epsilon, text| {
        let arguments = Arguments {
            bounds: Some((Some(0.0), Some(1.0))),
            epsilon,
            mechanism: MechanismArgument::Given(Some(text)),
            ..Arguments::default()
        };
        let made = <OfSums>::make(&Estimates(&MEAN), &arguments, None, Overspent::NOT);
        made.map(|made| {
            let cost = made.spent.cost;
            (cost.epsilon, cost.delta, made.spent.mechanism.clone())
        })
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(
        spent(Some(0.5), "laplace( rows = 2 )"),
        Ok((Some(0.5), Some(0.0), text("laplace(rows=2)")))
    );
    let with_delta = text("gaussian(delta=0.001)");
    assert_eq!(
        spent(Some(0.5), "gaussian(delta=1e-3)"),
        Ok((Some(0.5), Some(1e-3), with_delta))
    );
    assert_eq!(
        spent(None, "gaussian(mu=1)"),
        Ok((None, None, text("gaussian(mu=1.0)")))
    );
    let refused = spent(Some(0.5), "smooth").unwrap_err();
    assert_eq!(refused.argument, "mech");
}
