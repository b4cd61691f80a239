//! The far ends: bounds, sums, epsilons and randomness at their worst.

use dp_core::encoding::grid::STEPS;
use dp_core::encoding::sums::{Sums, Totals};
use dp_core::mechanism::definition::{Entry, Scalar};
use dp_core::mechanism::vector::items::Vector;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::{COUNT, COUNTS, MEAN, Registry, SUM, SUMS};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::hourglass::Hourglass;
use dp_core::sampler::staircase2::Staircase2;

use crate::words::Seeded;

const BOUNDS: [(f64, f64); 9] = [
    (0.0, 1.0),
    (1e300, 1.7e308),
    (-1.7e308, -1e300),
    (-8e307, 8e307),
    (1e6, 1e6 + 1.0),
    (-0.0, 1e-300),
    (0.0, 5e-324),
    (-5e-324, 5e-324),
    (f64::MAX / 2.0, f64::MAX),
];
const EPSILONS: [f64; 5] = [Epsilon::MIN, 0.01, 1.0, 16.0, 50.0];

fn sums() -> impl Iterator<Item = Sums> {
    let steps = i128::from(STEPS);
    let numbers = [0, 1, 2, 1000, 1 << 62, i64::MAX, i64::MIN, -1];
    let sums = [
        0,
        1,
        steps,
        -steps,
        500 * steps,
        steps << 62,
        -(steps << 62),
        i128::MAX,
        i128::MIN,
    ];
    numbers
        .into_iter()
        .flat_map(move |n| sums.into_iter().map(move |s| Sums { n, s }))
}

/// What is checked holds for any randomness, so the seed does not matter.
fn generator() -> Generator {
    #[cfg(feature = "testing")]
    return Generator::from_seed(1);
    #[cfg(not(feature = "testing"))]
    return Generator::from_os().unwrap();
}

fn each<M: ?Sized, A: 'static>(
    registry: &'static Registry<M>,
    of_sums: fn(Box<M>) -> Option<Box<Scalar<A>>>,
    mut check: impl FnMut(&str, (f64, f64), A),
) {
    let mut generator = generator();
    // Those without bounds, of their own or of the call, see no sums.
    let own = ["scale", "beyond"];
    let bounded = |entry: &&Entry<M>| {
        let mut parameters = entry.info.parameters.iter();
        parameters.all(|p| !own.contains(&p.name))
    };
    for entry in registry.entries.iter().filter(bounded) {
        for (lo, hi) in BOUNDS {
            for epsilon in EPSILONS {
                for gamma in [None, Some(5e-324), Some(1.0)] {
                    let text = match gamma {
                        Some(gamma) if entry.info.parameters.iter().any(|p| p.name == "gamma") => {
                            format!("{}(gamma={gamma:?})", entry.info.name)
                        }
                        _ => entry.info.example.to_string(),
                    };
                    let mechanism = registry
                        .build(&Arguments {
                            bounds: Some((Some(lo), Some(hi))),
                            epsilon: Some(epsilon),
                            mechanism: MechanismArgument::Given(Some(&text)),
                            pathological: true,
                            ..Arguments::default()
                        })
                        .unwrap();
                    let Some(mechanism) = of_sums(mechanism) else {
                        continue;
                    };
                    for sums in sums() {
                        let answer = mechanism.release(&sums, &mut generator);
                        check(entry.info.name, (lo, hi), answer);
                    }
                }
            }
        }
    }
}

/// Means that are not kept inside the bounds, as that would bias them. They may be infinite.
const UNCLAMPED: [&str; 2] = ["smooth", "clipped"];

#[test]
fn means_are_never_nan_and_inside_the_bounds_where_they_are_clamped() {
    each(
        &MEAN,
        |mean| mean.sums(),
        |name, (lo, hi), answer| {
            let fine = |mean: f64| match UNCLAMPED.contains(&name) {
                true => !mean.is_nan(),
                false => mean >= lo && mean <= hi,
            };
            assert!(answer.mean.is_some_and(fine), "{name} {lo} {hi} {answer:?}");
            assert!(answer.count.is_none_or(f64::is_finite));
        },
    );
}

#[test]
fn sums_and_counts_do_not_panic() {
    each(
        &SUM,
        |sum| sum.sums(),
        |_, _, answer| assert!(!answer.is_nan()),
    );
    each(&COUNT, Some, |_, _, _| ());
}

/// As the aggregates release them: of many rows an answer is next to what it is without noise.
#[test]
fn releases_of_many_rows_are_near_what_they_are_of() {
    let mut generator = generator();
    let rows = 10_000;
    let arguments = |text| Arguments {
        bounds: Some((Some(0.0), Some(1.0))),
        epsilon: Some(1.0),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    let sums = Sums {
        n: rows,
        s: i128::from(rows) * i128::from(STEPS) / 4,
    };
    for entry in COUNT.entries {
        let text = entry.info.example;
        let count = COUNT.build(&arguments(text)).unwrap();
        let answer = count.release(&sums, &mut generator);
        assert!((answer - rows).abs() < 100, "{text} {answer}");
    }
    for entry in SUM.entries {
        let text = entry.info.example;
        let Some(sum) = SUM.build(&arguments(text)).unwrap().sums() else {
            continue;
        };
        let answer = sum.release(&sums, &mut generator);
        assert!((answer - 2500.0).abs() < 100.0, "{text} {answer}");
    }
    let with_bounds = |entry: &&Entry<_>| entry.info.parameters.iter().all(|p| p.name != "scale");
    for entry in MEAN.entries.iter().filter(with_bounds) {
        let text = entry.info.example;
        let Some(mean) = MEAN
            .build(&arguments(text))
            .ok()
            .and_then(|mean| mean.sums())
        else {
            continue;
        };
        let answer = mean.release(&sums, &mut generator).mean.unwrap();
        assert!((answer - 0.25).abs() < 0.01, "{text} {answer}");
    }
}

/// Budgets of Gaussian mechanisms: eps, and what the mechanism says.
const BUDGETS: [(Option<f64>, &str); 7] = [
    (None, "mu=1e-9"),
    (None, "mu=1000"),
    (None, "rho=1e-18"),
    (None, "rho=500000"),
    (Some(Epsilon::MIN), "delta=1e-300"),
    (Some(1.0), "delta=1e-6"),
    // The largest number below 1.
    (Some(50.0), "delta=0.9999999999999999"),
];

/// All mechanisms of vectors at the ends of what their parameters take: eps, and the text.
fn vectors(d: usize) -> impl Iterator<Item = (Option<f64>, String)> {
    let gaussian = [
        "correlated",
        "correlated, c=9.5367431640625e-7",
        "correlated, c=1048576",
        "correlated, relation=replace",
        "correlated, c=9.5367431640625e-7, relation=replace",
        "correlated, c=1048576, relation=replace",
        "gaussian",
        "gaussian, relation=replace",
        "known_n, n=0",
        "known_n, n=9007199254740992",
        "ellipse, k=1",
        "ellipse, k=<half>",
    ];
    let texts = gaussian
        .into_iter()
        .filter(move |text| d > 1 || !text.starts_with("ellipse"));
    let gaussian = texts.flat_map(move |text| {
        let (name, parameters) = text.split_once(',').unwrap_or((text, ""));
        let parameters = parameters.replace("<half>", &(d / 2).to_string());
        BUDGETS.map(|(epsilon, budget)| {
            let comma = if parameters.is_empty() { "" } else { "," };
            (
                epsilon,
                format!("{name}(d={d}, {budget}{comma}{parameters})"),
            )
        })
    });
    let laplace = ["add_remove", "replace"]
        .into_iter()
        .flat_map(move |relation| {
            EPSILONS.map(|epsilon| {
                (
                    Some(epsilon),
                    format!("laplace(d={d}, relation={relation})"),
                )
            })
        });
    gaussian.chain(laplace)
}

/// Totals of vectors at their ends: no rows, as many as there can be, and what no rows give.
fn totals(d: usize) -> impl Iterator<Item = Totals> {
    let most = i128::from(i64::MAX);
    let steps = i128::from(STEPS);
    [
        (0, 0),
        (1, 1),
        (i64::MAX, 0),
        (i64::MAX, most),
        (i64::MAX, most * steps),
        (i64::MAX, -most * steps),
        (i64::MIN, i128::MAX),
        (i64::MAX, i128::MIN),
        (-1, i128::MIN),
    ]
    .into_iter()
    .map(move |(n, sum)| Totals { n, s: vec![sum; d] })
}

/// Builds the mechanism, if it is one for these bounds, and checks what it releases.
fn check_vector(
    bounds: Option<(f64, f64)>,
    epsilon: Option<f64>,
    text: &str,
    totals: impl Iterator<Item = Totals>,
    generator: &mut Generator,
) {
    let registry: &Registry<Vector> = if bounds.is_none() { &COUNTS } else { &SUMS };
    let built = registry.build(&Arguments {
        bounds: bounds.map(|(lo, hi)| (Some(lo), Some(hi))),
        epsilon,
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    });
    let mechanism = match built {
        Ok(mechanism) => mechanism,
        Err(error) => {
            let from_0 = bounds.is_none_or(|(lo, hi)| lo == 0.0 || hi == 0.0);
            assert!(text.starts_with("ellipse") && !from_0, "{text}: {error}");
            return;
        }
    };
    let what = format!("{bounds:?} {text}");
    let spread = mechanism.spread();
    assert!(spread.sd >= 0.0, "{what}: {spread:?}");
    assert!(spread.covariance >= 0.0, "{what}: {spread:?}");
    assert!(
        spread.total_sd.is_none_or(|sd| sd >= 0.0 && sd.is_finite()),
        "{what}: {spread:?}"
    );
    let covariance = spread.total_covariance;
    assert!(
        covariance.is_none_or(|covariance| !covariance.is_nan()),
        "{what}: {spread:?}"
    );
    let widths = spread.half_widths(0.05, mechanism.rows().length);
    let all = [Some(widths.value), widths.difference, widths.total];
    let is_number = all.iter().flatten().all(|width| *width >= 0.0);
    assert!(is_number, "{what}: {widths:?}");
    if bounds.is_none() {
        assert!(widths.value > 0.0, "{what}: {widths:?}");
        assert!(
            spread.sd > 0.0 && spread.sd.is_finite(),
            "{what}: {spread:?}"
        );
    }
    let (lo, hi) = bounds.unwrap_or((0.0, 1.0));
    for totals in totals {
        let answer = mechanism.release(&totals, generator);
        let (values, means) = (answer.values(), answer.means());
        assert_eq!(
            (values.len(), means.len()),
            (totals.s.len(), totals.s.len())
        );
        assert!(answer.total.is_none_or(f64::is_finite), "{what}");
        assert!(answer.parts.iter().all(|part| part.is_finite()), "{what}");
        assert!(!values.iter().any(|value| value.is_nan()), "{what}");
        assert!(means.iter().all(|mean| (lo..=hi).contains(mean)), "{what}");
    }
}

#[test]
fn vectors_do_not_panic_and_are_never_nan() {
    let mut generator = generator();
    for d in [1, 2, 3] {
        for (epsilon, text) in vectors(d) {
            for bounds in BOUNDS.map(Some).into_iter().chain([None]) {
                check_vector(bounds, epsilon, &text, totals(d), &mut generator);
            }
        }
    }
}

#[test]
fn the_longest_vectors_do_not_panic_and_are_never_nan() {
    let mut generator = generator();
    let d = dp_core::mechanism::vector::items::LONGEST;
    // What differs between budgets is how much noise there is: its ends are those of mu.
    let ends = vectors(d).filter(|(_, text)| text.contains("mu=") || text.contains("laplace"));
    for (position, (epsilon, text)) in ends.enumerate() {
        // Each with one of the totals, and as counts or as values: noise depends on neither.
        let one = totals(d).skip(position % 9).take(1);
        let bounds = [None, Some((0.0, 5e-324)), Some((-1.7e308, -0.0))][position % 3];
        check_vector(bounds, epsilon, &text, one, &mut generator);
    }
}

/// The noise of the largest budget is small, and the rest of the way is exact.
#[test]
fn the_largest_mu_gives_nearly_the_exact_answer() {
    let mut generator = generator();
    let (d, rows) = (4, 1000.0);
    for bounds in BOUNDS.map(Some).into_iter().chain([None]) {
        for name in ["correlated", "known_n", "gaussian"] {
            let parameters = if name == "known_n" { ", n=1000" } else { "" };
            let text = format!("{name}(d={d}, mu=1000{parameters})");
            let registry = if bounds.is_none() { &COUNTS } else { &SUMS };
            let mechanism = registry
                .build(&Arguments {
                    bounds: bounds.map(|(lo, hi)| (Some(lo), Some(hi))),
                    mechanism: MechanismArgument::Given(Some(&text)),
                    ..Arguments::default()
                })
                .unwrap();
            let (lo, hi) = bounds.unwrap_or((0.0, 1.0));
            let columns = [lo, hi, lo.midpoint(hi), hi];
            let steps = |x: f64| match mechanism.grid() {
                Some(grid) => 1000 * i128::from(grid.steps(x)),
                None => 1000 * x as i128,
            };
            let mut totals = Totals::new(d);
            totals.n = 1000;
            totals.s = columns.map(steps).to_vec();
            let answer = mechanism.release(&totals, &mut generator);
            assert!(answer.total.is_none_or(|total| (total - rows).abs() < 1.0));
            let unit = match (bounds, mechanism.grid()) {
                (Some(_), Some(grid)) => grid.value_of_steps(),
                _ => 1.0,
            };
            for (value, x) in answer.values().into_iter().zip(columns) {
                let x = if bounds.is_none() { x.floor() } else { x };
                // Noise, of a thousandth of these or a few, and the last digits of tiny numbers.
                let near = value / rows - x;
                let slack = (unit + lo.abs()) / rows * 0.1 + 5e-324;
                assert!(
                    near.abs() <= slack || value.is_infinite(),
                    "{bounds:?} {text} {value} {x}"
                );
            }
        }
    }
}

#[test]
fn large_epsilon_gives_the_exact_answer_nearly_always() {
    let mut generator = generator();
    for (lo, hi) in BOUNDS {
        let arguments = Arguments {
            bounds: Some((Some(lo), Some(hi))),
            epsilon: Some(50.0),
            ..Arguments::default()
        };
        let mean = MEAN.build(&arguments).unwrap().sums().unwrap();
        let grid = mean.grid().unwrap();
        for x in [lo, hi, lo.midpoint(hi)] {
            let mut sums = Sums::default();
            for _ in 0..1000 {
                sums.add(grid.steps(x));
            }
            let answer = mean.release(&sums, &mut generator);
            assert_eq!(answer.count, Some(1000.0));
            let mean = answer.mean.unwrap();
            assert!((mean / 2.0 - x / 2.0).abs() <= (hi / 2.0 - lo / 2.0) * 1e-9 + 5e-324);
        }
        let count = COUNT
            .build(&Arguments {
                bounds: None,
                ..arguments
            })
            .unwrap();
        assert_eq!(count.grid(), None);
        assert_eq!(count.release(&Sums { n: 77, s: 0 }, &mut generator), 77);
        let sum = SUM.build(&arguments).unwrap().sums().unwrap();
        let mut sums = Sums::default();
        sums.add(sum.grid().unwrap().steps(hi));
        sums.add(sum.grid().unwrap().steps(lo));
        let answer = sum.release(&sums, &mut generator);
        let near =
            (answer / 4.0 - (hi / 4.0 + lo / 4.0)).abs() <= lo.abs().max(hi.abs()) * 1e-7 + 5e-324;
        assert!(near || answer.is_infinite(), "{lo} {hi} {answer}");
    }
}

/// Words that push an exponential far out: rounds of two words rejected, again and again.
struct Far {
    rounds: u64,
    position: u64,
    rest: Seeded,
}

impl Bits for Far {
    const WIDTH: u32 = 64;

    fn word(&mut self) -> u64 {
        self.position += 1;
        if self.position > 3 * self.rounds {
            return self.rest.word();
        }
        // U, then a toss that succeeds (V small), then one that fails (V large): rejected.
        [1 << 63, 0, u64::MAX][(self.position % 3) as usize]
    }
}

#[test]
fn far_tails_do_not_overflow() {
    for value in EPSILONS {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        for core in [1, STEPS / 2, STEPS] {
            for rounds in [10, 1000, 100_000] {
                for seed in 0..6 {
                    // A first word that the branch takes to the tail, or leaves it.
                    let far = |position| Far {
                        rounds,
                        position,
                        rest: Seeded::new(seed),
                    };
                    let hourglass = Hourglass::new(STEPS, core, epsilon);
                    let pairs = Staircase2::new(STEPS, core, epsilon);
                    for position in 0..3 {
                        let (x, k) = hourglass.draw(&mut far(position));
                        assert!(x.unsigned_abs() < 1 << 100 && k.unsigned_abs() < 1 << 100);
                        let (x, y) = pairs.draw(&mut far(position));
                        assert!(x.unsigned_abs() < 1 << 100 && y.unsigned_abs() < 1 << 100);
                    }
                }
            }
        }
    }
}
