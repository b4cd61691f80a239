//! The far ends: bounds, sums, epsilons and randomness at their worst.

use dp_core::epsilon::Epsilon;
use dp_core::grid::STEPS;
use dp_core::mechanism::{Arguments, COUNT, MEAN, MechanismArgument, Registry, SUM};
use dp_core::random::{Bits, Generator};
use dp_core::sampler::hourglass::Hourglass;
use dp_core::sampler::staircase2::Staircase2;
use dp_core::sums::Sums;

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

fn each<A: 'static>(registry: &'static Registry<A>, mut check: impl FnMut(&str, (f64, f64), A)) {
    let mut generator = generator();
    for entry in registry.entries {
        for (lo, hi) in BOUNDS {
            for epsilon in EPSILONS {
                for gamma in [None, Some(5e-324), Some(1.0)] {
                    let text = match gamma {
                        Some(gamma) if !entry.info.parameters.is_empty() => {
                            format!("{}(gamma={gamma:?})", entry.info.name)
                        }
                        _ => entry.info.name.to_string(),
                    };
                    let mechanism = registry
                        .build(&Arguments {
                            bounds: Some((Some(lo), Some(hi))),
                            epsilon: Some(epsilon),
                            mechanism: MechanismArgument::Given(Some(&text)),
                        })
                        .unwrap();
                    for sums in sums() {
                        let answer = mechanism.release(&sums, &mut generator);
                        check(entry.info.name, (lo, hi), answer);
                    }
                }
            }
        }
    }
}

#[test]
fn means_are_finite_and_inside_the_bounds() {
    each(&MEAN, |name, (lo, hi), answer| {
        assert!(
            answer.mean >= lo && answer.mean <= hi,
            "{name} {lo} {hi} {answer:?}"
        );
        assert!(answer.count.is_finite());
    });
}

#[test]
fn sums_and_counts_do_not_panic() {
    each(&SUM, |_, _, answer| assert!(!answer.is_nan()));
    each(&COUNT, |_, _, _| ());
}

#[test]
fn large_epsilon_gives_the_exact_answer_nearly_always() {
    let mut generator = generator();
    for (lo, hi) in BOUNDS {
        let arguments = Arguments {
            bounds: Some((Some(lo), Some(hi))),
            epsilon: Some(50.0),
            mechanism: MechanismArgument::Omitted,
        };
        let mean = MEAN.build(&arguments).unwrap();
        let grid = mean.grid().unwrap();
        for x in [lo, hi, lo.midpoint(hi)] {
            let mut sums = Sums::default();
            for _ in 0..1000 {
                sums.add(grid.steps(x));
            }
            let answer = mean.release(&sums, &mut generator);
            assert_eq!(answer.count, 1000.0);
            assert!((answer.mean / 2.0 - x / 2.0).abs() <= (hi / 2.0 - lo / 2.0) * 1e-9 + 5e-324);
        }
        let count = COUNT
            .build(&Arguments {
                bounds: None,
                ..arguments
            })
            .unwrap();
        assert_eq!(count.grid(), None);
        assert_eq!(count.release(&Sums { n: 77, s: 0 }, &mut generator), 77);
        let sum = SUM.build(&arguments).unwrap();
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
