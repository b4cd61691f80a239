//! Intervals of means hold the rows' mean, and that of the population that the rows were drawn from.

use dp_core::accuracy::difference::{Between, difference};
use dp_core::accuracy::population::MeanEnds;
use dp_core::encoding::grid::{Bounds, COARSE_STEPS};
use dp_core::encoding::sums::Moments;
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::variance::gaussian::Gaussian;
use dp_core::mechanism::variance::laplace::Laplace;
use dp_core::mechanism::variance::moments::{MomentNoise, Variance};
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;

use crate::words::Seeded;

/// How many standard errors more than its share an interval may miss: over some hundred settings one is beyond with
/// probability below 1e-6.
const STANDARD_ERRORS: f64 = 5.8;

/// A law: a place between the bounds, of a number from 0 to 1.
type Law = (&'static str, fn(f64) -> f64);

/// Of means that are known: see `MEANS`.
const LAWS: [Law; 4] = [
    ("a tenth ones", |u| f64::from(u8::from(u < 0.1))),
    ("even", |u| u),
    ("skewed", |u| u * u * u),
    ("a narrow bell, nearly", |u| {
        0.5 + 0.1 * (2.0 * u - 1.0).powi(3)
    }),
];

const MEANS: [f64; 4] = [0.1, 0.5, 0.25, 0.5];

fn resample(law: fn(f64) -> f64, n: u32, words: &mut Seeded) -> Moments {
    let mut moments = Moments::default();
    for _ in 0..n {
        let u = (words.word() >> 11) as f64 / (1u64 << 53) as f64;
        let t = (law(u) * COARSE_STEPS as f64).round() as i128;
        moments.n += 1;
        moments.s += t;
        moments.q += t * t;
    }
    moments
}

/// Misses of the rows' mean, and of the population's.
fn misses<N: MomentNoise + Clone + 'static>(
    noise: &N,
    tables: &[Moments],
    mean: f64,
    words: &mut Seeded,
) -> [f64; 2] {
    let bounds = Bounds::new(Some(-2.0), Some(6.0)).expect("bounds");
    let mechanism = Variance::new(bounds, false, noise.clone());
    let intervals = mechanism.mean_intervals(0.05, 1).expect("intervals");
    let mut missed = [0.0; 2];
    for moments in tables {
        let answer = mechanism.release_from(moments, words);
        let ends = intervals(&answer);
        let rows = moments.s as f64 / moments.n as f64 / COARSE_STEPS as f64;
        let [inner, outer] = [ends.of_rows, ends.of_population];
        assert!(-2.0 <= outer[0] && outer[0] <= inner[0] && inner[0] <= answer.mean);
        assert!(answer.mean <= inner[1] && inner[1] <= outer[1] && outer[1] <= 6.0);
        for (missed, (ends, truth)) in missed.iter_mut().zip([(inner, rows), (outer, mean)]) {
            let truth = -2.0 + 8.0 * truth;
            *missed += f64::from(u8::from(!(ends[0] <= truth && truth <= ends[1])));
        }
    }
    missed
}

#[test]
fn intervals_hold_the_means_of_rows_and_of_populations() {
    let words = &mut Seeded::new(3201);
    let (mut all, mut draws) = ([0.0; 2], 0.0);
    for ((name, law), mean) in LAWS.into_iter().zip(MEANS) {
        for (n, resamples) in [(200, 1000), (2000, 400), (20_000, 100)] {
            let tables: Vec<_> = (0..resamples).map(|_| resample(law, n, words)).collect();
            for eps in [0.06, 0.3, 1.0, 4.0] {
                let epsilon = Epsilon::new(Some(eps)).expect("an epsilon");
                let found = [
                    misses(&Laplace::new(COARSE_STEPS, epsilon), &tables, mean, words),
                    misses(&Gaussian::new(COARSE_STEPS, eps), &tables, mean, words),
                ];
                for missed in found {
                    let draw = f64::from(resamples);
                    let shares = missed.map(|missed| 100.0 * missed / draw);
                    println!("{name}, {n} rows, {eps}: {shares:.1?}");
                    for (missed, all) in missed.into_iter().zip(&mut all) {
                        // That normal numbers stand in for sums of few skewed rows takes up to one of a hundred.
                        let expected = 0.06 * draw;
                        let off = STANDARD_ERRORS * (expected * 0.94).sqrt();
                        assert!(
                            missed <= expected + off,
                            "{name}, {n} rows, {eps}: {missed}"
                        );
                        *all += missed;
                    }
                    draws += draw;
                }
            }
        }
    }
    // Not wide for nothing.
    let shares = all.map(|all| all / draws);
    println!("all: {shares:.4?}");
    assert!(
        shares.iter().all(|share| (0.01..=0.055).contains(share)),
        "{shares:?}"
    );
}

/// A person's rows are alike: as wide as if there were that many fewer.
#[test]
fn rows_of_one_person_count_together() {
    let words = &mut Seeded::new(3202);
    let moments = resample(LAWS[1].1, 500, words);
    // Twenty rows of each.
    let persons = Moments {
        n: 20 * moments.n,
        s: 20 * moments.s,
        q: 20 * moments.q,
    };
    let bounds = Bounds::new(Some(0.0), Some(1.0)).expect("bounds");
    let epsilon = Epsilon::new(Some(50.0)).expect("an epsilon");
    let mechanism = Variance::new(bounds, false, Laplace::new(COARSE_STEPS, epsilon));
    let width = |alike, moments: &Moments, words: &mut Seeded| {
        let answer = mechanism.release_from(moments, words);
        let [lower, upper] =
            mechanism.mean_intervals(0.05, alike).expect("intervals")(&answer).of_population;
        upper - lower
    };
    let ratio = width(20, &persons, words) / width(1, &moments, words);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    assert!(width(1, &persons, words) < 0.3 * width(20, &persons, words));
}

#[test]
fn no_rows_say_nothing() {
    let words = &mut Seeded::new(3203);
    let bounds = Bounds::new(Some(-1.0), Some(3.0)).expect("bounds");
    let epsilon = Epsilon::new(Some(0.1)).expect("an epsilon");
    let mechanism = Variance::new(bounds, false, Laplace::new(COARSE_STEPS, epsilon));
    let intervals = mechanism.mean_intervals(0.05, 1).expect("intervals");
    for _ in 0..1000 {
        let answer = mechanism.release_from(&Moments::default(), words);
        let ends = intervals(&answer);
        assert!(
            ends.of_population
                .iter()
                .all(|end| (-1.0..=3.0).contains(end))
        );
        if answer.count <= 0.0 {
            assert_eq!([ends.of_rows, ends.of_population], [[-1.0, 3.0]; 2]);
        }
    }
}

/// Two groups of one law differ, by the interval of their difference, about as often as it says.
#[test]
fn differences_that_are_none_are_seldom_seen() {
    let words = &mut Seeded::new(3204);
    let bounds = Bounds::new(Some(0.0), Some(1.0)).expect("bounds");
    let resamples = 800;
    let (mut all, mut draws) = (0.0, 0.0);
    for (name, law) in LAWS {
        for n in [200, 2000] {
            let tables: Vec<_> = (0..2 * resamples)
                .map(|_| resample(law, n, words))
                .collect();
            for eps in [0.06, 0.3, 1.0, 3.0] {
                let epsilon = Epsilon::new(Some(eps)).expect("an epsilon");
                let mechanism = Variance::new(bounds, false, Laplace::new(COARSE_STEPS, epsilon));
                let intervals = mechanism.mean_intervals(0.05, 1).expect("intervals");
                let mut estimate = |moments| {
                    let answer = mechanism.release_from(moments, words);
                    let MeanEnds { of_population, .. } = intervals(&answer);
                    Between {
                        value: answer.mean,
                        ends: of_population,
                    }
                };
                let mut seen = 0.0;
                for pair in tables.chunks(2) {
                    let found = difference(estimate(&pair[0]), estimate(&pair[1]), 0.05);
                    let holds_0 = found.ends[0] <= 0.0 && 0.0 <= found.ends[1];
                    // Both ask the same.
                    assert!(
                        holds_0 == (found.p_value >= 0.05) || (found.p_value - 0.05).abs() < 1e-6
                    );
                    seen += f64::from(u8::from(!holds_0));
                }
                let draw = f64::from(resamples);
                println!("{name}, {n} rows, {eps}: {:.1}", 100.0 * seen / draw);
                let expected = 0.055 * draw;
                assert!(
                    seen <= expected + STANDARD_ERRORS * (expected * 0.945).sqrt(),
                    "{name}, {n}, {eps}: {seen}"
                );
                all += seen;
                draws += draw;
            }
        }
    }
    let share = all / draws;
    println!("all: {share:.4}");
    assert!((0.02..=0.055).contains(&share), "{share}");
}

#[test]
fn p_values_fall_from_1_to_0() {
    let of = |value: f64| Between {
        value,
        ends: [value - 1.0, value + 1.0],
    };
    let p = |d: f64| difference(of(d), of(0.0), 0.05).p_value;
    assert_eq!(p(0.0), 1.0);
    let steps: Vec<_> = (0..200).map(|i| p(0.1 * f64::from(i))).collect();
    assert!(steps.windows(2).all(|pair| pair[1] < pair[0]), "{steps:?}");
    assert!((p(2f64.sqrt()) - 0.05).abs() < 1e-6);
    assert_eq!(p(-0.3), p(0.3));
    // Known numbers: a difference without noise is beyond doubt.
    let known = |value: f64| Between {
        value,
        ends: [value; 2],
    };
    assert_eq!(difference(known(2.0), known(1.0), 0.05).p_value, 0.0);
    assert_eq!(difference(known(1.0), known(1.0), 0.05).p_value, 1.0);
}
