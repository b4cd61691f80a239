//! What all mechanisms take to protect a person with several rows: `rows` and `groups`.

use dp_core::encoding::sums::{Moments, Sums};
use dp_core::mechanism::count::undercount::Undercount;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Generator;
use dp_core::registry::{COUNT, COUNTS, MEAN, Registry, SUM, SUMS, VARIANCE, catalog};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::unit;

use crate::distribution;

fn arguments<'a>(bounds: Option<(f64, f64)>, eps: Option<f64>, text: &'a str) -> Arguments<'a> {
    Arguments {
        bounds: bounds.map(|(lo, hi)| (Some(lo), Some(hi))),
        epsilon: eps,
        mechanism: MechanismArgument::Given(Some(text)),
        pathological: true,
        ..Arguments::default()
    }
}

const UNIT: Option<(f64, f64)> = Some((0.0, 1.0));

/// Answers of both aggregates that have one number, for the same words.
fn answers(eps: Option<f64>, text: &str) -> Vec<f64> {
    let sums = Sums {
        n: 1000,
        s: 1 << 40,
    };
    let mean = MEAN.build(&arguments(UNIT, eps, text)).ok();
    let mean = mean.and_then(|mean| mean.sums());
    let mean = mean.map(|mean| mean.release(&sums, &mut generator()).mean.unwrap());
    let sum = SUM.build(&arguments(UNIT, eps, text)).ok();
    let sum = sum.and_then(|sum| sum.sums());
    let sum = sum.map(|sum| sum.release(&sums, &mut generator()));
    let count = COUNT.build(&arguments(None, eps, text)).ok();
    let count = count.map(|count| count.release(&sums, &mut generator()) as f64);
    [mean, sum, count].into_iter().flatten().collect()
}

fn generator() -> Generator {
    Generator::from_seed(7)
}

#[test]
fn epsilon_is_divided_by_rows_and_groups() {
    for name in [
        "hourglass",
        "laplace",
        "staircase",
        "shifted",
        "independent",
        "smooth",
        "geometric",
    ] {
        let shared = answers(Some(3.0), &format!("{name}(rows=2, groups=3)"));
        assert!(!shared.is_empty(), "{name}");
        assert_eq!(shared, answers(Some(0.5), name));
        assert_ne!(shared, answers(Some(3.0), name));
        assert_eq!(
            answers(Some(1.5), &format!("{name}(rows=3)")),
            answers(Some(0.5), name)
        );
        assert_eq!(
            answers(Some(1.5), &format!("{name}(groups=3)")),
            answers(Some(0.5), name)
        );
    }
    let shared = answers(Some(2.0), "clipped(n=1000, rows=4)");
    assert_eq!(shared, answers(Some(0.5), "clipped(n=1000)"));
}

#[test]
fn mu_is_divided_by_rows_and_by_the_root_of_groups() {
    let sd = |text: &str| {
        let counts = COUNTS.build(&arguments(None, None, text)).unwrap();
        counts.spread().sd
    };
    for name in ["correlated", "gaussian", "known_n"] {
        let n = if name == "known_n" { ", n=9" } else { "" };
        let alone = sd(&format!("{name}(mu=1, d=4{n})"));
        let near = |rest: &str, factor: f64| {
            let found = sd(&format!("{name}(mu=1, d=4{n}, {rest})")) / alone;
            assert!(
                (found / factor - 1.0).abs() < 1e-9 && found >= factor,
                "{name} {rest}: {found}"
            );
        };
        near("rows=3", 3.0);
        near("groups=4", 2.0);
        near("rows=5, groups=9", 15.0);
    }
    // A budget of (eps, delta) is turned into mu first, whole.
    let whole = dp_core::privacy::accounting::mu(1.0, 1e-6).unwrap();
    let sd_of = |eps, text: &str| {
        let counts = COUNTS.build(&arguments(None, eps, text)).unwrap();
        counts.spread().sd
    };
    let found = sd_of(Some(1.0), "gaussian(delta=1e-6, d=4, rows=2, groups=4)");
    assert!(
        (found / sd_of(None, &format!("gaussian(mu={}, d=4)", whole / 4.0)) - 1.0).abs() < 1e-9
    );
}

/// The largest noise there is: a budget that is shared by too many is an error, never a panic.
#[test]
fn a_share_of_mu_is_never_too_small_for_the_noise() {
    let widest = "correlated(mu=1e-9, d=100000, c=0.00000095367431640625, relation=replace";
    for (rest, refused) in [
        (", rows=1000000, groups=1000000)", true),
        (", rows=101)", true),
        (", groups=1000000)", true),
        (", rows=99)", false),
        (", groups=9801)", false),
        (")", false),
    ] {
        let text = format!("{widest}{rest}");
        let counts = COUNTS.build(&arguments(None, None, &text)).err();
        let sums = SUMS.build(&arguments(UNIT, None, &text)).err();
        for error in [counts, sums] {
            assert_eq!(error.is_some(), refused, "{text}");
            assert!(error.is_none_or(|e| e.argument == "mech" && e.message.contains("too little")));
        }
    }
    // As it would be with an eps so small that hardly any mu is left.
    let text = "gaussian(delta=5e-324, rows=1000000, groups=1000000)";
    assert!(
        VARIANCE
            .build(&arguments(UNIT, Some(Epsilon::MIN), text))
            .is_err()
    );
    let text = "gaussian(delta=5e-324, rows=1000)";
    let built = VARIANCE.build(&arguments(UNIT, Some(Epsilon::MIN), text));
    let variance = built.unwrap().moments().unwrap();
    let answer = variance.release(&Moments::default(), &mut generator());
    assert!(answer.variance >= 0.0);
}

/// As far as the distributions below are looked at.
const REACH: i64 = 600;

/// Two-sided geometric noise, clipped to `[-v, v]`.
fn clipped_geometric(z: i64, step: f64, v: i64) -> f64 {
    match z.abs() {
        far if far > v => 0.0,
        end if end == v => (-step * v as f64).exp() / (1.0 + (-step).exp()),
        _ => distribution::two_sided_geometric(z, step),
    }
}

/// Two tables that differ by a person's rows, for the count: the distribution of each, and what the worse of
/// them exceeds `e^eps` times the other by.
fn excess(eps: f64, distance: i64, distribution: impl Fn(i64) -> f64) -> f64 {
    let sum = |shift: i64| -> f64 {
        (-REACH..=REACH)
            .map(|x| (distribution(x) - eps.exp() * distribution(x - shift)).max(0.0))
            .sum()
    };
    sum(distance).max(sum(-distance))
}

#[test]
fn a_person_of_many_rows_is_as_private_as_the_call_says() {
    for eps in [0.3, 1.0, 4.0] {
        for rows in [1, 2, 7] {
            let distribution = |x: i64| distribution::two_sided_geometric(x, eps / rows as f64);
            assert!(excess(eps, rows, distribution) < 1e-12, "{eps} {rows}");
            // With a row more than was said, or without the factor, it is not.
            assert!(excess(eps, rows + 1, distribution) > 1e-3, "{eps} {rows}");
            if rows > 1 {
                let careless = |x: i64| distribution::two_sided_geometric(x, eps);
                assert!(excess(eps, rows, careless) > 1e-3, "{eps} {rows}");
            }
        }
    }
}

#[test]
fn delta_is_shared_out_as_group_privacy_asks() {
    let mut caught = 0;
    for (eps, delta) in [(0.5, 1e-2), (1.0, 1e-3), (3.0, 1e-6)] {
        for rows in [1, 2, 5] {
            let step = eps / rows as f64;
            let share = delta * step.exp_m1() / (rows as f64 * step).exp_m1();
            let undercount = |delta: f64| {
                let epsilon = Epsilon::new(Some(step)).unwrap();
                Undercount::new(epsilon, delta * (1.0 - 1e-12))
            };
            let text = format!("undercount(delta={delta:?}, rows={rows})");
            let count = COUNT.build(&arguments(None, Some(eps), &text)).unwrap();
            let sums = Sums { n: 50, s: 0 };
            let [mut one, mut other] = [generator(), generator()];
            for _ in 0..100 {
                let expected = undercount(share).release_from(&sums, &mut other);
                assert_eq!(count.release(&sums, &mut one), expected, "{text}");
            }
            // A person's rows apart, what it answers is as private as the call says.
            let distribution = |v: i64| move |x: i64| clipped_geometric(x + v, step, v);
            let found = excess(eps, rows, distribution(undercount(share).reach() as i64));
            assert!(found <= delta, "{text}: {found}");
            // With the whole delta for each row it often is not.
            let careless = undercount(delta).reach() as i64;
            caught += usize::from(excess(eps, rows, distribution(careless)) > delta);
        }
    }
    assert!(caught >= 3, "{caught}");
}

/// What the answers of all groups of a person together exceed `e^eps` times those of the other table by,
/// where each group follows the distribution `one` in the first table and `other` in the second: the distribution of a group's
/// log-likelihood ratio, convolved. Exact but for the roundings of floats.
fn excess_of_groups(
    eps: f64,
    groups: u64,
    one: impl Fn(i64) -> f64,
    other: impl Fn(i64) -> f64,
) -> f64 {
    // A ratio takes few values, all but those at the ends multiples of a step.
    let key = |loss: f64| (loss * 1e9).round() as i64;
    let mut loss_of_one = std::collections::BTreeMap::<i64, (f64, f64)>::new();
    let mut certain = 0.0;
    for x in -REACH..=REACH {
        let (p, q) = (one(x), other(x));
        if q > 0.0 && p > 0.0 {
            let loss = (p / q).ln();
            loss_of_one.entry(key(loss)).or_insert((loss, 0.0)).1 += p;
        } else {
            certain += p;
        }
    }
    let (mut all, mut open) = (vec![(0.0, 1.0)], 1.0);
    for _ in 0..groups {
        let mut next = std::collections::BTreeMap::<i64, (f64, f64)>::new();
        for (loss, p) in &all {
            for (more, q) in loss_of_one.values() {
                let sum = loss + more;
                next.entry(key(sum)).or_insert((sum, 0.0)).1 += p * q;
            }
        }
        all = next.into_values().collect();
        open *= 1.0 - certain;
    }
    let rest: f64 = all
        .iter()
        .map(|(loss, p)| p * (-(eps - loss).exp_m1()).max(0.0))
        .sum();
    1.0 - open + rest
}

/// A group gets `1 / groups` of delta, and a row of it the share that group privacy leaves of that.
#[test]
fn delta_is_shared_by_rows_and_groups_together() {
    let mut caught = [0; 2];
    for (eps, delta) in [(0.5, 1e-2), (1.0, 1e-3), (3.0, 1e-6)] {
        for (rows, groups) in [(1, 2), (1, 5), (2, 3), (3, 2), (4, 4)] {
            let step = eps / (rows * groups) as f64;
            let epsilon = Epsilon::new(Some(step)).unwrap();
            let step = epsilon.value();
            // The steps of a group, written out.
            let steps: f64 = (0..rows).map(|i| (i as f64 * step).exp()).sum();
            let undercount = |share: f64| Undercount::new(epsilon, share * (1.0 - 1e-12));
            let share = delta / groups as f64 / steps;

            let text = format!("undercount(delta={delta:?}, rows={rows}, groups={groups})");
            let count = COUNT.build(&arguments(None, Some(eps), &text)).unwrap();
            let sums = Sums { n: 50, s: 0 };
            let [mut one, mut other] = [generator(), generator()];
            for _ in 0..100 {
                let expected = undercount(share).release_from(&sums, &mut other);
                assert_eq!(count.release(&sums, &mut one), expected, "{text}");
            }

            // All groups of the person together, which each lose all rows of theirs.
            let together = |share: f64| {
                let reach = undercount(share).reach() as i64;
                let distribution = |x: i64| clipped_geometric(x, step, reach);
                let (with, without) = (
                    |x: i64| distribution(x - rows as i64),
                    |x: i64| distribution(x),
                );
                let lost = excess_of_groups(eps, groups, with, without);
                lost.max(excess_of_groups(eps, groups, without, with))
            };
            let found = together(share);
            assert!(found <= delta, "{text}: {found}");
            // With the whole delta for each group, or for each row of a group, it often is not.
            caught[0] += usize::from(together(delta / steps) > delta);
            caught[1] += usize::from(together(delta / groups as f64) > delta);
        }
    }
    assert!(caught[0] >= 8 && caught[1] >= 5, "{caught:?}");
}

#[test]
fn all_mechanisms_take_them_and_their_values_are_checked() {
    fn error<M: ?Sized>(registry: &Registry<M>, arguments: &Arguments) -> Option<(String, String)> {
        let error = registry.build(arguments).err()?;
        Some((error.argument.to_owned(), error.message))
    }
    for (_, _, info) in catalog() {
        let names: Vec<_> = info
            .all_parameters()
            .map(|parameter| parameter.name)
            .collect();
        assert!(names.ends_with(&["rows", "groups"]), "{}", info.name);
        let keys: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(keys.len(), names.len(), "{}", info.name);
    }
    assert_eq!(
        unit::PARAMETERS.map(|parameter| parameter.name),
        ["rows", "groups"]
    );
    for (text, argument, word) in [
        ("hourglass(rows=0)", "mech", "rows"),
        ("hourglass(groups=0)", "mech", "groups"),
        ("hourglass(rows=1000001)", "mech", "rows"),
        ("hourglass(rows=1.5)", "mech", "rows"),
        ("hourglass(rows=-1)", "mech", "rows"),
        (
            "hourglass(rows=1000000, groups=1000000)",
            "eps",
            "rows and groups",
        ),
    ] {
        let (found, message) = error(&MEAN, &arguments(UNIT, Some(1.0), text)).unwrap();
        assert_eq!(found, argument, "{text}: {message}");
        assert!(message.contains(word), "{text}: {message}");
    }
    // Products of rows and groups that 32 bits do not hold, and which they would lose most of.
    for (rows, groups) in [(65_536, 65_536), (65_537, 65_536), (1_000_000, 4295)] {
        let text = format!("hourglass(rows={rows}, groups={groups})");
        let (found, _) = error(&MEAN, &arguments(UNIT, Some(50.0), &text)).unwrap();
        assert_eq!(found, "eps", "{text}");
    }
    // A share of delta that no float holds is refused, never rounded up to one.
    for (eps, text) in [
        (50.0, "undercount(delta=1e-300, rows=1000000)"),
        (50.0, "undercount(delta=5e-324, groups=2)"),
        (0.5, "undercount(delta=2.3e-308, rows=3)"),
    ] {
        let (found, message) = error(&COUNT, &arguments(None, Some(eps), text)).unwrap();
        assert_eq!(found, "mech", "{text}: {message}");
        assert!(message.contains("delta too small"), "{text}: {message}");
    }
    assert_eq!(
        error(
            &MEAN,
            &arguments(UNIT, Some(1.0), "hourglass(rows=1000000)")
        ),
        None
    );
}
