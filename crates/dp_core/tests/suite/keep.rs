//! Which groups are shown: the closed form against the recursion it is from, privacy by
//! enumeration, and the coin against the distribution.

use dp_core::encoding::sums::Sums;
use dp_core::error::ParameterError;
use dp_core::mechanism::definition::Scalar;
use dp_core::mechanism::keep::optimal::Optimal;
use dp_core::privacy::accounting::normal_cdf;
use dp_core::privacy::delta::Delta;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::{self, KEEP};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::selection::Selection;

use crate::stats::assert_law;
use crate::words::{Narrow, Seeded};

const EPSILONS: [f64; 9] = [Epsilon::MIN, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 50.0];
const BELOW_ONE: f64 = 1.0 - 1.0 / (1u64 << 53) as f64;
const DELTAS: [f64; 11] = [
    5e-324, 1e-300, 1e-30, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.7, 0.99, BELOW_ONE,
];

fn selection(epsilon: f64, delta: f64) -> Selection {
    Selection::new(
        Epsilon::new(Some(epsilon)).unwrap(),
        Delta::new(Some(delta)).unwrap(),
    )
}

fn optimal(epsilon: f64, delta: f64, rows: u32, groups: u32) -> Optimal {
    Optimal::new(
        Epsilon::new(Some(epsilon)).unwrap(),
        Delta::new(Some(delta)).unwrap(),
        rows,
        groups,
    )
}

fn of_rows(n: i64) -> Sums {
    Sums { n, s: 0 }
}

fn fails(work: impl FnOnce() + std::panic::UnwindSafe) -> bool {
    std::panic::catch_unwind(work).is_err()
}

/// What of a group's probabilities is wrong for neighbours up to `apart` rows apart, if anything:
/// the largest relative excess over what (epsilon, delta) allows, in either direction.
fn excess(pi: &[f64], apart: usize, epsilon: f64, delta: f64) -> f64 {
    let mut worst = f64::NEG_INFINITY;
    for (n, p) in pi.iter().enumerate() {
        for more in &pi[n + 1..pi.len().min(n + apart + 1)] {
            // What is not shown is computed from floats near 1, and is off by as much.
            let rounding = (1.0 + epsilon.exp()) * 1e-15;
            for (one, other, slack) in [
                (*more, *p, 0.0),
                (*p, *more, 0.0),
                (1.0 - p, 1.0 - more, rounding),
            ] {
                let allowed = epsilon.exp() * other + delta;
                worst = worst.max((one - allowed - slack) / allowed);
            }
        }
    }
    worst
}

#[test]
fn the_closed_form_is_the_recursion() {
    for epsilon in EPSILONS {
        // Floats near the smallest have few digits.
        for delta in DELTAS.into_iter().skip(1) {
            let selection = selection(epsilon, delta);
            let (e, mut pi) = (Epsilon::new(Some(epsilon)).unwrap().value(), 0.0f64);
            assert_eq!(selection.probability(0), 0.0);
            for n in 1..=2000 {
                let up = e.exp() * pi + delta;
                // 1 - e^-e (1 - pi - delta), without cancellation where pi is small.
                let down = -(-e).exp_m1() + (-e).exp() * (pi + delta);
                pi = up.min(down).min(1.0);
                let closed = selection.probability(n);
                let slack = 1e-11 * pi;
                assert!(
                    (closed - pi).abs() <= slack,
                    "{epsilon} {delta} {n}: {closed} {pi}"
                );
                // (Near 1 floats may be there before the numbers are.)
                assert!(n < selection.certain_from() || closed == 1.0);
                assert!(n >= selection.certain_from() || pi > 1.0 - 1e-11 || closed < 1.0);
            }
        }
    }
}

/// Stretches so long that no recursion would end: the same inequalities, met at both of their
/// ends and in their midst.
#[test]
fn long_stretches_fit_together() {
    for delta in [1e-300, 1e-9, 1e-3, 0.4] {
        for groups in [1, 1000, 1_000_000] {
            let epsilon = Epsilon::MIN;
            let keep = optimal(epsilon, delta, 1, groups);
            let (e, d) = (epsilon / f64::from(groups), delta / f64::from(groups));
            let certain = (1i64..63).find(|bits| keep.probability(1 << bits) == 1.0);
            let certain = 1i64 << certain.unwrap();
            let mut last = 0.0;
            for step in 1..=500 {
                let n = ((certain as f64 * f64::from(step) / 500.0) as i64).max(1);
                let [less, pi] = [n - 1, n].map(|n| keep.probability(n));
                let ulps = 1.0 + 1e-15;
                assert!(pi * ulps >= f64::max(last, less), "{delta} {groups} {n}");
                last = pi;
                let up = e.exp() * less + d;
                let down = -(-e).exp_m1() + (-e).exp() * (less + d);
                let expected = up.min(down).min(1.0);
                assert!((pi / expected - 1.0).abs() < 1e-12, "{delta} {groups} {n}");
            }
            assert_eq!(last, 1.0);
        }
    }
}

/// The whole curve is as high as privacy allows: one of the two inequalities is an equality at
/// each step, up to where the probability is 1.
#[test]
fn privacy_is_used_up_at_every_step() {
    for epsilon in [0.01, 0.1, 0.5, 1.0, 3.0, 10.0] {
        for delta in [1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.99] {
            let selection = selection(epsilon, delta);
            let e = Epsilon::new(Some(epsilon)).unwrap().value();
            let pi: Vec<f64> = (0..=2000).map(|n| selection.probability(n)).collect();
            let worst = excess(&pi, 1, e, delta);
            assert!(worst < 1e-12, "{epsilon} {delta}: {worst}");
            for step in pi.windows(2).take_while(|step| step[1] < 1.0) {
                let up = e.exp() * step[0] + delta - step[1];
                let down = e.exp() * (1.0 - step[1]) + delta - (1.0 - step[0]);
                assert!(
                    up.abs().min(down.abs() * (-e).exp()) < 1e-12,
                    "{epsilon} {delta}"
                );
            }
            // A bit more of either budget is seen.
            for (grown, more) in [(epsilon * 1.01, delta), (epsilon, delta * 1.001)] {
                let larger = self::selection(grown, more);
                let pi: Vec<f64> = (0..=2000).map(|n| larger.probability(n)).collect();
                // (With delta from 1/2 the first row has it all, whatever epsilon is.)
                let seen = excess(&pi, 1, e, delta) > 1e-9;
                assert!(seen || delta >= 0.5 && more == delta, "{epsilon} {delta}");
            }
        }
    }
}

/// Of a person with k rows: (epsilon, delta) holds k rows apart, is used up, and does not hold
/// where the factor is dropped, or is too small by one.
#[test]
fn rows_are_a_persons_rows() {
    for (epsilon, delta) in [(0.5, 1e-3), (1.0, 1e-6), (3.0, 0.05)] {
        for rows in [2u32, 3, 7, 50] {
            let curve = |rows: u32| -> Vec<f64> {
                let keep = optimal(epsilon, delta, rows, 1);
                (0..=3000).map(|n| keep.probability(n)).collect()
            };
            let apart = rows as usize;
            assert!(excess(&curve(rows), apart, epsilon, delta) < 1e-11);
            for dropped in [1, rows - 1] {
                assert!(excess(&curve(dropped), apart, epsilon, delta) > 0.01);
            }
            // Never less than what k steps of a smaller budget show.
            let e = epsilon / f64::from(rows);
            let d = delta * e.exp_m1() / epsilon.exp_m1();
            let by_steps = selection(e, d);
            let curve = curve(rows);
            for (n, shown) in curve.iter().enumerate() {
                assert!(by_steps.probability(n as u64) <= shown * (1.0 + 1e-6));
            }
        }
    }
}

/// Of a person in l groups: the l answers together are (epsilon, delta), by enumeration of all
/// outcomes; and not where the factor is dropped.
#[test]
fn groups_share_the_budget() {
    // For each number of groups shown, when all l of them lost one row: binomial.
    let spent = |p: f64, q: f64, l: i32, epsilon: f64| {
        let mut choose = 1.0;
        let mut delta = 0.0;
        for k in 0..=l {
            let distribution = |p: f64| choose * p.powi(k) * (1.0 - p).powi(l - k);
            delta += (distribution(p) - epsilon.exp() * distribution(q)).max(0.0);
            choose *= f64::from(l - k) / f64::from(k + 1);
        }
        delta
    };
    for (epsilon, delta) in [(0.5, 1e-3), (1.0, 1e-6), (3.0, 0.05)] {
        for groups in [2u32, 5, 30] {
            let worst = |divided: u32| {
                let keep = optimal(epsilon, delta, 1, divided);
                (0..4000)
                    .map(|n| [keep.probability(n), keep.probability(n + 1)])
                    .map(|[p, q]| {
                        let l = groups as i32;
                        spent(p, q, l, epsilon).max(spent(q, p, l, epsilon))
                    })
                    .fold(0.0, f64::max)
            };
            let found = worst(groups);
            assert!(
                found <= delta * (1.0 + 1e-9),
                "{epsilon} {delta} {groups}: {found}"
            );
            assert!(found > delta * 0.9, "{epsilon} {delta} {groups}: {found}");
            assert!(worst(1) > 1.5 * delta);
        }
    }
}

fn shown<B: Bits>(keep: &Optimal, n: i64, draws: u64, bits: &mut B) -> u64 {
    let sums = of_rows(n);
    (0..draws)
        .map(|_| u64::from(keep.release_from(&sums, bits)))
        .sum()
}

#[test]
fn the_coin_follows_the_law() {
    const DRAWS: u64 = 100_000;
    let mut bits = Seeded::new(31);
    for (epsilon, delta) in [
        (1.0, 1e-6),
        (1.0, 0.01),
        (0.1, 0.003),
        (0.05, 1e-6),
        (3.0, 0.2),
    ] {
        let keep = optimal(epsilon, delta, 1, 1);
        for n in [1, 5, 10, 13, 15, 20, 50, 120, 240] {
            let p = keep.probability(n);
            let hits = shown(&keep, n, DRAWS, &mut bits);
            let what = format!("{epsilon} {delta} {n}");
            assert_law(&what, DRAWS, [(hits, p), (DRAWS - hits, 1.0 - p)]);
            // That of a neighbour is another one.
            let q = keep.probability(n + 1);
            if q - p > 0.02 {
                assert!(fails(|| assert_law(
                    &what,
                    DRAWS,
                    [(hits, q), (DRAWS - hits, 1.0 - q)]
                )));
            }
        }
    }
}

/// With words of 1 to 4 bits nearly every decision is left open by the first one. The last
/// curves are longer than the table.
#[test]
fn narrow_words_give_the_same_law() {
    const DRAWS: u64 = 5_000;
    fn check<const W: u32>(draws: u64) {
        let mut bits = Narrow::<W>(Seeded::new(u64::from(W)));
        let cases: [(f64, f64, &[i64]); 5] = [
            (1.0, 1e-6, &[1, 12, 14, 15, 16, 20]),
            (1.0, 0.3, &[1, 2, 3]),
            (0.2, 0.5, &[1, 2]),
            (0.001, 1e-4, &[900, 1500, 2500]),
            (50.0, 1e-300, &[14, 15]),
        ];
        for (epsilon, delta, rows) in cases {
            let keep = optimal(epsilon, delta, 1, 1);
            for n in rows {
                let p = keep.probability(*n);
                let hits = shown(&keep, *n, draws, &mut bits);
                let what = format!("{W} {epsilon} {delta} {n}");
                assert_law(&what, draws, [(hits, p), (draws - hits, 1.0 - p)]);
            }
        }
    }
    check::<1>(DRAWS);
    check::<2>(DRAWS);
    check::<4>(DRAWS);
}

#[test]
fn extremes_have_an_answer() {
    let mut bits = Seeded::new(5);
    // Three quarters of the smallest float are nearer to it than to 0.
    let smallest = f64::from_bits(1);
    assert_eq!(optimal(1.0, 3.0 * smallest, 1, 4).probability(1), smallest);
    for epsilon in EPSILONS {
        for delta in DELTAS {
            for (rows, groups) in [(1, 1), (1_000_000, 1), (1, 1_000_000), (1000, 1000)] {
                let keep = optimal(epsilon, delta, rows, groups);
                for n in [0, -1, -1000, i64::MIN] {
                    assert!(!keep.release_from(&of_rows(n), &mut bits));
                    assert_eq!(keep.probability(n), 0.0);
                }
                assert!(keep.release_from(&of_rows(i64::MAX), &mut bits));
                assert_eq!(keep.probability(i64::MAX), 1.0);
                let first = keep.probability(1) * f64::from(groups);
                assert!(first <= delta * (1.0 + 1e-15));
                assert!(first >= delta * 0.999 || delta < 1e-299);
                keep.release_from(&of_rows(1_000_000), &mut bits);
            }
        }
    }
}

fn build(
    epsilon: Option<f64>,
    delta: Option<f64>,
    text: Option<&str>,
) -> Result<Box<Scalar<bool>>, ParameterError> {
    KEEP.build(&Arguments {
        epsilon,
        delta: Some(delta),
        mechanism: text.map_or(MechanismArgument::Omitted, |text| {
            MechanismArgument::Given(Some(text))
        }),
        ..Arguments::default()
    })
}

#[test]
fn bad_arguments_are_refused_in_order() {
    fn refused(epsilon: Option<f64>, delta: Option<f64>, text: Option<&str>) -> ParameterError {
        build(epsilon, delta, text).err().unwrap()
    }
    for delta in [
        None,
        Some(0.0),
        Some(-0.1),
        Some(1.0),
        Some(2.0),
        Some(f64::NAN),
    ] {
        let error = refused(Some(1.0), delta, Some("keep(rows=0)"));
        assert_eq!(error.argument, "delta");
        assert!(!error.hint.is_empty());
        assert_eq!(refused(None, delta, None).argument, "eps");
    }
    for key in ["rows", "groups"] {
        for value in ["0", "1000001", "1.5", "-1", "nan", "x"] {
            let text = format!("keep({key}={value})");
            let error = refused(Some(1.0), Some(1e-6), Some(&text));
            assert_eq!(error.argument, "mech");
            assert!(error.message.contains(key), "{error}");
        }
        for value in ["1", "7", "1000000", "1e3"] {
            let text = format!("keep({key}={value})");
            assert!(build(Some(1.0), Some(1e-6), Some(&text)).is_ok());
        }
    }
    assert_eq!(
        refused(Some(1.0), Some(0.5), Some("laplace")).argument,
        "mech"
    );
}

#[test]
fn the_default_is_one_row_in_one_group() {
    let mut generator = Generator::from_seed(9);
    let sums = of_rows(15);
    let mut share = |text| {
        let mechanism = build(Some(1.0), Some(1e-6), text).unwrap();
        assert_eq!(mechanism.grid(), None);
        let hits = (0..20_000).filter(|_| mechanism.release(&sums, &mut generator));
        hits.count() as f64 / 20_000.0
    };
    let distribution = optimal(1.0, 1e-6, 1, 1).probability(15);
    for text in [None, Some("keep"), Some("keep(rows=1, groups=1)")] {
        assert!((share(text) - distribution).abs() < 0.02, "{text:?}");
    }
    assert_eq!(share(Some("keep(rows=3)")), 0.0);
    assert!(share(Some("keep(groups=3)")) < 0.001);
}

/// Of a person who is alone in all of their groups, the noisy number is above the threshold in any of them with
/// probability delta at most; and with little less it would not be.
#[test]
fn a_person_alone_is_above_the_threshold_as_seldom_as_delta_says() {
    for (aggregate, length, spread) in [
        ("dp_count", "", 1.0),
        ("dp_mean_and_count", "", 2f64.sqrt()),
        ("dp_sums", "d=5, ", 5f64.sqrt()),
    ] {
        for mu in [0.01, 0.115, 1.0, 7.0] {
            for (rows, groups) in [(1, 1), (1, 12), (3, 1), (5, 40)] {
                for delta in [1e-12, 1e-9, 1e-4, 0.05] {
                    let text = format!("gaussian({length}mu={mu:?}, rows={rows}, groups={groups})");
                    let above = registry::shown_above(aggregate, &text, delta).unwrap();
                    let (rows, groups) = (f64::from(rows), f64::from(groups));
                    let sd = spread * rows * groups.sqrt() / mu;
                    // The least noise that carries a number of `rows` above, before it is rounded.
                    let beyond = |above: f64| normal_cdf(-(above - rows - 0.5) / sd) * groups;
                    assert!(beyond(above) <= delta, "{text} {delta}: {above}");
                    assert!(beyond(above - 1e-3 * sd) > delta, "{text} {delta}: {above}");
                }
            }
        }
    }
    for bad in ["geometric", "gaussian", "no such", "gaussian(mu=-1)"] {
        assert!(
            registry::shown_above("dp_count", bad, 1e-6).is_err(),
            "{bad}"
        );
    }
}
