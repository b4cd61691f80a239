//! A quantile with its interval: the law of the three choices, written down again, is the one that the code follows, and no
//! neighbour changes it by more than epsilon; how far intervals reach, and how often they hold what they estimate.

use dp_core::accuracy::tail::{laplace_triple, normal, normal_and_laplace_triple};
use dp_core::encoding::grid::Bounds;
use dp_core::encoding::ranks::Bins;
use dp_core::estimate::QuantileEstimates;
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::quantile::estimate::QuantileEstimator;
use dp_core::mechanism::quantile::exponential::Budget;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::Factory;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::checked::Overspent;
use dp_core::request::ranks::Ranks;

use crate::quantile::{PLACES, histograms, places, totals};
use crate::stats::assert_law;
use crate::words::Seeded;

/// The shares of epsilon: of the number of rows, of the quantile, of each end, and of the three numbers that certify them.
const ROWS: f64 = 1.0 / 16.0;
const MIDDLE: f64 = 3.0 / 16.0;
const END: f64 = 4.0 / 16.0;
const CHECK: f64 = 4.0 / 16.0;

fn estimator(lo: f64, hi: f64, bins: usize, q: f64, e: f64) -> QuantileEstimator {
    let bounds = Bounds::new(Some(lo), Some(hi)).unwrap();
    let budget = Budget::Sum(Epsilon::new(Some(e)).unwrap());
    QuantileEstimator::new(Bins::linear(&bounds, bins), q, budget).unwrap()
}

/// The probability of each place, at epsilon `e`, for the rank `off` rows above that of the quantile `a / d`.
fn law_at(counts: &[i128], (a, d): (i128, i128), off: i128, e: f64) -> Vec<f64> {
    let wanted = a * counts.iter().sum::<i128>() + d * off;
    let weight = |[least, most]: [i128; 2]| {
        let score = 0.max(d * least - wanted).max(wanted - d * most);
        (-e * score as f64 / (2 * a.max(d - a)) as f64).exp()
    };
    let weights: Vec<f64> = places(counts).into_iter().map(weight).collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

/// The least and the largest logarithm of a ratio of two laws.
fn range(one: &[f64], other: &[f64]) -> [f64; 2] {
    let losses = one.iter().zip(other).map(|(p, q)| (p / q).ln());
    losses.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], loss| {
        [least.min(loss), most.max(loss)]
    })
}

/// All seven numbers together, on all small histograms. Given the number of rows the three places are independent, and given
/// these the three numbers.
#[test]
fn no_row_changes_an_interval_by_more_than_epsilon() {
    for e in [0.7, 4.0] {
        for quantile in [(1, 2), (9, 10), (1, 100)] {
            let mut worst = 0.0f64;
            for counts in (1..=3).flat_map(|bins| histograms(bins, 4)) {
                for bin in 0..counts.len() {
                    let mut more = counts.clone();
                    more[bin] += 1;
                    let loss = |off, e| {
                        let [one, other] =
                            [&counts, &more].map(|counts| law_at(counts, quantile, off, e));
                        range(&one, &other)
                    };
                    for off in [0, 1, 2, 7] {
                        let of = [loss(0, MIDDLE * e), loss(-off, END * e), loss(off, END * e)];
                        for [least, most] in of {
                            assert!(most - least <= END * e + 1e-9, "{counts:?} {bin} {off}");
                        }
                        let [least, most] = [0, 1].map(|i| of.iter().map(|of| of[i]).sum::<f64>());
                        worst = worst.max(most).max(-least);
                    }
                }
            }
            // Of the three numbers one is of the row.
            let worst = (worst + ROWS * e + CHECK * e) / e;
            assert!(
                worst <= 1.0 + 1e-9 && worst > 0.6,
                "{e} {quantile:?}: {worst}"
            );
        }
    }
}

/// Words of a seed, and what was noted.
struct Noting {
    words: Seeded,
    notes: Vec<(Vec<i128>, i128)>,
}

impl Bits for Noting {
    const WIDTH: u32 = 64;

    fn word(&mut self) -> u64 {
        self.words.word()
    }

    #[cfg(feature = "testing")]
    fn note(&mut self, exact: &[i128], noisy: i128) -> i128 {
        self.notes.push((exact.to_vec(), noisy));
        noisy
    }
}

/// Each of the seven numbers that a release draws, given those before it; and the interval that follows.
#[cfg(feature = "testing")]
#[test]
fn the_code_follows_the_law_that_the_proof_is_about() {
    const DRAWS: u64 = 10_000;
    for (counts, q, quantile) in [
        (vec![3, 1, 2], 0.5, (1, 2)),
        (vec![0, 0], 0.5, (1, 2)),
        (vec![40, 3], 0.9, (9, 10)),
        (vec![60, 0, 90], 0.25, (1, 4)),
    ] {
        let e = 8.0;
        let mechanism = estimator(0.0, 1.0, counts.len(), q, e);
        let rows: i128 = counts.iter().sum();
        let what = format!("{counts:?} {q}");
        let mut words = Noting {
            words: Seeded::new(8),
            notes: Vec::new(),
        };
        let whole = counts.len() * PLACES;
        let (mut seen, mut expected) = (vec![vec![0; whole]; 3], vec![vec![0.0; whole]; 3]);
        let mut noises = vec![[0u64; 41]; 4];
        for _ in 0..DRAWS {
            words.notes.clear();
            let answer = mechanism.release_from(&totals(&counts), &mut words);
            let [number, middle, low, high, check @ ..] = words.notes.as_slice() else {
                panic!("{what}: {:?}", words.notes);
            };
            assert_eq!(number.0, [rows]);
            let [below, above] = mechanism.reaches(number.1 as f64);
            let offs = [0, -(below.chosen as i128), above.chosen as i128];
            let shares = [MIDDLE, END, END];
            for (i, (counted, place)) in [middle, low, high].into_iter().enumerate() {
                assert_eq!(counted, &counts);
                seen[i][*place as usize] += 1;
                let law = law_at(&counts, quantile, offs[i], shares[i] * e);
                for (sum, p) in expected[i].iter_mut().zip(law) {
                    *sum += p / DRAWS as f64;
                }
            }
            let [one, other] = [low, high].map(|(_, place)| *place as usize / PLACES);
            let [first, last] = [one.min(other), one.max(other)];
            let of = |range: &[i128]| vec![range.iter().sum::<i128>()];
            let exact = [
                of(&counts[..first]),
                of(&counts[first..=last]),
                of(&counts[last + 1..]),
            ];
            assert_eq!(check.len(), 3);
            let mut noisy = [0.0; 3];
            for (i, (found, exact)) in check.iter().zip(&exact).enumerate() {
                assert_eq!(found.0, *exact, "{what}");
                noisy[i] = found.1 as f64;
            }
            for (seen, (exact, noisy)) in noises.iter_mut().zip([number].into_iter().chain(check)) {
                if let Some(seen) = seen.get_mut((noisy - exact[0] + 20) as usize) {
                    *seen += 1;
                }
            }
            // How far the ends are from the rank of the quantile.
            let all: f64 = noisy.iter().sum();
            let holds = [
                q * all - noisy[0] >= below.certain - 1e-9,
                noisy[0] + noisy[1] - q * all >= above.certain - 1e-9,
            ];
            let edge = |bin: usize| bin as f64 / counts.len() as f64;
            let ends = [
                if holds[0] { edge(first) } else { 0.0 },
                if holds[1] { edge(last + 1) } else { 1.0 },
            ];
            assert!(
                (answer.lower - ends[0].min(answer.value)).abs() < 1e-12,
                "{what}"
            );
            assert!(
                (answer.upper - ends[1].max(answer.value)).abs() < 1e-12,
                "{what}"
            );
        }
        for (seen, share) in noises.into_iter().zip([ROWS, CHECK, CHECK, CHECK]) {
            let ratio = (-share * e).exp();
            let geometric = |k: i32| (1.0 - ratio) / (1.0 + ratio) * ratio.powi(k.abs());
            assert_law(
                &what,
                DRAWS,
                seen.into_iter().zip((-20..=20).map(geometric)),
            );
        }
        for (seen, expected) in seen.into_iter().zip(expected) {
            assert_law(&what, DRAWS, seen.into_iter().zip(expected));
        }
    }
}

/// Against the integral over the normal variable.
#[test]
fn the_tail_of_a_normal_and_three_laplace_variables_is_what_it_says() {
    for (sigma, [a, b, c]) in [
        (1.0, [1.0, 2.0, 3.0]),
        (30.0, [2.0, 4.0, 4.1]),
        (0.01, [3.0, 1.0, 0.2]),
        (5.0, [0.01, 5.0, 4.0]),
        (400.0, [4.2, 2.1, 4.3]),
    ] {
        for t in [0.0, 0.5, 1.0, 3.0, 8.0].map(|t: f64| t * f64::hypot(sigma, a + b + c)) {
            let beyond = |u: f64| {
                let tail = laplace_triple([a, b, c], u.abs()) / 2.0;
                if u < 0.0 { 1.0 - tail } else { tail }
            };
            const STEPS: i32 = 200_000;
            let width = 24.0 / f64::from(STEPS);
            let terms = (0..STEPS).map(|i| {
                let z = -12.0 + (f64::from(i) + 0.5) * width;
                (-z * z / 2.0).exp() * (beyond(t - sigma * z) + beyond(t + sigma * z))
            });
            let sum = terms.sum::<f64>() * width / f64::sqrt(2.0 * std::f64::consts::PI);
            let found = normal_and_laplace_triple(sigma, [a, b, c], t);
            assert!(
                (found - sum).abs() <= 1e-5 * sum + 1e-12,
                "{sigma} {a} {b} {c} {t}: {found} {sum}"
            );
        }
    }
    // Where all are of one scale, of two that are somewhat larger: above, by little.
    for sigma in [0.1, 1.0, 10.0] {
        for t in [0.5, 3.0, 20.0] {
            let [same, larger] = [[1.0, 1.0, 1.0], [1.0, 1.011, 1.022]]
                .map(|scales| normal_and_laplace_triple(sigma, scales, t));
            assert!(
                same > 0.0 && same < larger && larger < same * 1.2,
                "{sigma} {t}: {same} {larger}"
            );
        }
    }
    // Where there is hardly any of the normal variable, or nothing else.
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
    let scales = [1.0, 2.0, 0.5];
    assert!(close(
        normal_and_laplace_triple(1e-4, scales, 2.0),
        laplace_triple(scales, 2.0)
    ));
    assert!(close(
        normal_and_laplace_triple(1.0, scales.map(|s| 1e-3 * s), 2.0),
        normal(1.0, 2.0)
    ));
}

/// A law that rows are drawn from: its name, bounds around it, and its quantile function.
type Law = (&'static str, [f64; 2], fn(f64) -> f64);

/// The last two are such that a choice is often far off: nearly all places between the bounds have no rows, or most of
/// those near the median.
const LAWS: [Law; 4] = [
    ("uniform", [0.0, 100.0], |u| 100.0 * u),
    ("exponential, mean 10", [0.0, 100.0], |u| {
        -10.0 * (1.0 - u).ln()
    }),
    ("exponential, mean 10", [0.0, 10_000.0], |u| {
        -10.0 * (1.0 - u).ln()
    }),
    ("51% below 1, the others above 99", [0.0, 100.0], |u| {
        if u < 0.51 {
            u / 0.51
        } else {
            99.0 + (u - 0.51) / 0.49
        }
    }),
];

/// The share of intervals that hold the quantile of the law, and the middle one of their widths over that of an interval without
/// privacy.
fn coverage((_, [lo, hi], at): Law, [q, e]: [f64; 2], rows: usize, draws: usize) -> [f64; 2] {
    let mechanism = estimator(lo, hi, 1 << 14, q, e);
    let mut words = Seeded::new(rows as u64 + (1000.0 * (q + e)) as u64);
    let mut generator = Generator::from_seed(5);
    let reach = 1.96 * (q * (1.0 - q) / rows as f64).sqrt();
    let without = at((q + reach).min(1.0 - 1e-12)) - at((q - reach).max(0.0));
    let bins = *mechanism.bins();
    let (mut held, mut widths) = (0, Vec::new());
    for _ in 0..draws {
        let mut counts = vec![0i128; bins.count()];
        for _ in 0..rows {
            let u = (words.word() >> 11) as f64 / (1u64 << 53) as f64;
            counts[bins.bin(at(u))] += 1;
        }
        let answer = mechanism.release(&totals(&counts), &mut generator);
        assert!(answer.lower <= answer.value && answer.value <= answer.upper);
        held += usize::from((answer.lower..=answer.upper).contains(&at(q)));
        widths.push(answer.upper - answer.lower);
    }
    widths.sort_by(f64::total_cmp);
    [held as f64 / draws as f64, widths[draws / 2] / without]
}

/// Prints the table of the manual.
#[test]
fn intervals_hold_the_quantile_of_the_law() {
    const DRAWS: usize = 60;
    let least = 0.95 - 3.0 * (0.95 * 0.05 / DRAWS as f64).sqrt();
    for law in LAWS {
        for rows in [1_000, 10_000] {
            for (q, e) in [(0.5, 1.0), (0.5, 0.1), (0.9, 1.0), (0.9, 0.1)] {
                let [held, width] = coverage(law, [q, e], rows, DRAWS);
                let (name, [_, hi], _) = law;
                println!("| {name} | 0, {hi} | {rows} | {q} | {e} | {held:.3} | {width:.2} |");
                assert!(held >= least, "{name} {rows} {q} {e}: {held}");
            }
        }
    }
}

/// Persons of up to `k` rows alike: those below the middle of the law have `k`, the others one. How often intervals hold the
/// median of the rows, where they know of the persons and where they do not.
#[test]
fn intervals_of_persons_hold_the_quantile_of_their_law() {
    const DRAWS: usize = 200;
    const K: u32 = 9;
    // Of 10 rows to come 5 are below 5/9 of the lower half.
    let median = 500.0 / 18.0;
    let mut words = Seeded::new(77);
    let mut generator = Generator::from_seed(6);
    let blind = estimator(0.0, 100.0, 1 << 12, 0.5, 1.0);
    let knowing = blind.clone().of_persons(K);
    let mut held = [0; 2];
    for _ in 0..DRAWS {
        let mut counts = vec![0i128; 1 << 12];
        for _ in 0..2000 {
            let u = (words.word() >> 11) as f64 / (1u64 << 53) as f64;
            let rows = if u < 0.5 { i128::from(K) } else { 1 };
            counts[blind.bins().bin(100.0 * u)] += rows;
        }
        for (held, estimator) in held.iter_mut().zip([&blind, &knowing]) {
            let answer = estimator.release(&totals(&counts), &mut generator);
            *held += usize::from((answer.lower..=answer.upper).contains(&median));
        }
    }
    let [blind, knowing] = held.map(|held| held as f64 / DRAWS as f64);
    println!("{blind} without, {knowing} with");
    let least = 0.95 - 3.0 * (0.95 * 0.05 / DRAWS as f64).sqrt();
    assert!(knowing >= least && blind < 0.85, "{blind} {knowing}");
}

/// Where there is hardly a row, nothing is known; and the three values are in order whatever the rows and the numbers are.
#[test]
fn intervals_are_as_wide_as_the_bounds_where_nothing_is_known() {
    let mut generator = Generator::from_seed(9);
    let mut narrow = 0;
    for (q, e) in [
        (1e-5, 1.0),
        (0.5, 0.001),
        (0.5, 50.0),
        (0.99999, 9.6e-7),
        (0.3, 1.0),
    ] {
        for miss in [1e-12, 0.01, 0.999] {
            let mechanism = estimator(-3.0, 7.0, 50, q, e).missing(miss);
            for rows in [0i128, 1, 1_000_000_000_000] {
                for _ in 0..20 {
                    let mut counts = vec![0; 50];
                    counts[30] = rows;
                    let of = mechanism.release(&totals(&counts), &mut generator);
                    assert!(-3.0 <= of.lower && of.lower <= of.value, "{of:?}");
                    assert!(of.value <= of.upper && of.upper <= 7.0, "{of:?}");
                    let all = [of.lower, of.upper] == [-3.0, 7.0];
                    assert!(all || rows > 1 || miss > 1e-12, "{q} {e} {of:?}");
                    narrow += usize::from(of.upper - of.lower < 0.5);
                }
            }
        }
    }
    assert!(narrow > 50, "{narrow}");
}

fn made(eps: Option<f64>, text: &str, confidence: Option<f64>) -> Result<f64, &'static str> {
    let arguments = Arguments {
        bounds: Some((Some(0.0), Some(100.0))),
        ranks: Some(Ranks::One(Some(0.3))),
        epsilon: eps,
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    let made = QuantileEstimates.make(&arguments, Some(confidence), Overspent::NOT);
    made.map(|made| made.spent.cost.rho)
        .map_err(|error| error.argument)
}

/// The squares of the shares of epsilon, those of numbers of rows four times, over 8.
#[test]
fn arguments_are_checked_and_the_cost_is_that_of_the_parts() {
    let counts = 4.0 * (ROWS * ROWS + CHECK * CHECK);
    let share = (counts + MIDDLE * MIDDLE + 2.0 * END * END) / 8.0;
    for (eps, text, rho) in [
        (Some(1.0), "em", share),
        (Some(2.0), "em(rows=3, groups=4)", share),
        (None, "em(rho=0.5, rows=3)", 0.5),
        (None, "em(rho=300)", 300.0),
    ] {
        let found = made(eps, text, Some(0.9)).unwrap();
        assert!(
            found >= rho && found < rho * (1.0 + 1e-9),
            "{text}: {found}"
        );
    }
    for (eps, text, confidence, argument) in [
        (Some(1.0), "em", None, "confidence"),
        (Some(1.0), "em", Some(1.0), "confidence"),
        (None, "em", Some(0.9), "eps"),
        (Some(1.0), "em(rho=0.5)", Some(0.9), "eps"),
        (None, "em(rho=1e-12, rows=10)", Some(0.9), "mech"),
        (Some(1.0), "geometric", Some(0.9), "mech"),
    ] {
        assert_eq!(
            made(eps, text, confidence),
            Err(argument),
            "{text} {confidence:?}"
        );
    }
}

/// With `rho=` the shares are those of an epsilon that costs so much.
#[test]
fn under_rho_the_shares_are_those_of_an_epsilon_of_this_cost() {
    let share = made(Some(1.0), "em", Some(0.95)).unwrap();
    let bounds = Bounds::new(Some(0.0), Some(1.0)).unwrap();
    let build = |budget| QuantileEstimator::new(Bins::linear(&bounds, 8), 0.5, budget).unwrap();
    let of_rho = build(Budget::Squares(8.0 * share * 0.04));
    let of_epsilon = build(Budget::Sum(Epsilon::new(Some(0.2)).unwrap()));
    for (one, other) in of_rho.reaches(500.0).iter().zip(of_epsilon.reaches(500.0)) {
        assert!((one.certain / other.certain - 1.0).abs() < 1e-9 && one.chosen == other.chosen);
        assert!(one.certain >= other.certain * (1.0 - 1e-12));
    }
}
