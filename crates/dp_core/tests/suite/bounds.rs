//! Bounds from magnitudes: the bin of a row, privacy by enumeration, the threshold, and how good the
//! bounds are.

use dp_core::encoding::power_of_two_bins::{BINS, bin, ends};
use dp_core::encoding::sums::Totals;
use dp_core::mechanism::bounds::geometric::BoundsFinder;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::registry::BOUNDS;
use dp_core::request::arguments::{Arguments, MechanismArgument};

use crate::distribution;
use crate::stats::assert_law;
use crate::words::Seeded;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).expect("epsilon")
}

fn totals(rows: impl IntoIterator<Item = f64>) -> Totals {
    let mut totals = Totals::new(BINS);
    for x in rows {
        totals.n += 1;
        totals.s[bin(x)] += 1;
    }
    totals
}

#[test]
fn each_row_is_in_the_bin_that_its_ends_say() {
    assert_eq!(BINS, 257);
    assert_eq!(ends(128), [0.0, 0.0]);
    assert_eq!(ends(0), [-(2f64.powi(64)), -(2f64.powi(63))]);
    assert_eq!(ends(256), [2f64.powi(63), 2f64.powi(64)]);
    assert_eq!(ends(129), [2f64.powi(-64), 2f64.powi(-63)]);
    for (x, expected) in [
        (0.0, 128),
        (-0.0, 128),
        (5e-324, 128),
        (-2f64.powi(-64).next_down(), 128),
        (2f64.powi(-64), 129),
        (-(2f64.powi(-64)), 127),
        (f64::MAX, 256),
        (f64::INFINITY, 256),
        (f64::NEG_INFINITY, 0),
        (1.0, ends_at(1.0)),
        (64.0, ends_at(64.0)),
    ] {
        assert_eq!(bin(x), expected, "{x:?}");
    }
    for e in -64..64 {
        for x in [1.0, 1.5, 1.0f64.next_up(), 2f64.next_down()].map(|m| m * 2f64.powi(e)) {
            let [low, high] = ends(bin(x));
            assert!(low <= x && x < high && high == 2.0 * low, "{x:?}");
            assert_eq!(ends(bin(-x)), [-high, -low]);
        }
    }
    for (left, right) in (0..BINS - 1).map(|i| (ends(i), ends(i + 1))) {
        assert!(left[1] <= right[0] && left[0] < right[1]);
    }
    assert!(bin(f64::NAN) < BINS);
}

/// The bin that begins at a power of two.
fn ends_at(low: f64) -> usize {
    (0..BINS)
        .find(|i| ends(*i)[0] == low)
        .expect("a power of two")
}

#[test]
fn a_row_moves_one_count_by_one_and_noise_hides_it() {
    let values: Vec<f64> = (-70..70)
        .flat_map(|e| [2f64.powi(e), -(2f64.powi(e)), 0.0, f64::INFINITY])
        .collect();
    for e in [0.1, 1.0, 3.0] {
        let value = epsilon(e).value();
        let loss = |from: i128, to: i128| {
            -distribution::two_sided_geometric((to - from) as i64, value).ln()
        };
        let mut worst = 0.0f64;
        for x in &values {
            let [here, there] = [totals([3.0, -1.0]), totals([3.0, -1.0, *x])];
            let moves: Vec<(i128, i128)> = here.s.iter().copied().zip(there.s).collect();
            assert_eq!(moves.iter().map(|(a, b)| (b - a).abs()).sum::<i128>(), 1);
            // The counts have independent noise, so the worst outputs of all are the worst of each.
            let of_one = |(a, b): &(i128, i128)| {
                let at = (-4..6).map(|to| (loss(*a, to) - loss(*b, to)).abs());
                at.fold(0.0, f64::max)
            };
            worst = worst.max(moves.iter().map(of_one).sum());
        }
        assert!((worst / value - 1.0).abs() < 1e-9, "{worst} {e}");
    }
}

#[test]
fn the_threshold_is_the_smallest_that_keeps_empty_bins_out() {
    assert_eq!(BoundsFinder::new(epsilon(1.0), 1e-9).threshold(), 26);
    for e in [0.01, 0.1, 0.5, 1.0, 4.0, 50.0] {
        for beta in [1e-300, 1e-20, 1e-9, 1e-3, 0.5, 0.999] {
            let epsilon = epsilon(e);
            let threshold = BoundsFinder::new(epsilon, beta).threshold();
            let b = (-epsilon.value()).exp();
            // The logarithm of the probability that all noise is below t.
            let below = |t: i64| {
                let tail = (-epsilon.value() * t as f64).exp() / (1.0 + b);
                BINS as f64 * (-tail).ln_1p()
            };
            let wanted = (-beta).ln_1p();
            let slack = 1e-9 * wanted.abs();
            assert!(below(threshold) >= wanted - slack, "{e} {beta}");
            assert!(
                threshold == 1 || below(threshold - 1) <= wanted + slack,
                "{e} {beta}"
            );
        }
    }
}

#[test]
fn noise_alone_keeps_bins_as_often_as_beta_says() {
    for (e, beta) in [(1.0, 0.5), (0.3, 0.2), (5.0, 0.9)] {
        let epsilon = epsilon(e);
        let finder = BoundsFinder::new(epsilon, beta);
        let (nobody, mut words) = (Totals::new(BINS), Seeded::new(3));
        let draws = 20_000;
        let none = (0..draws).filter(|_| finder.release_from(&nobody, &mut words).is_none());
        let b = (-epsilon.value()).exp();
        let tail = b.powf(finder.threshold() as f64) / (1.0 + b);
        let p = (1.0 - tail).powi(BINS as i32);
        let none = none.count() as u64;
        assert!(p >= 1.0 - beta);
        assert_law(
            &format!("{e} {beta}"),
            draws,
            [(none, p), (draws - none, 1.0 - p)],
        );
    }
}

#[test]
fn the_answer_covers_what_is_kept() {
    let finder = BoundsFinder::new(epsilon(1.0), 1e-9);
    let answer = |kept: &[usize]| {
        let mut noisy = vec![25; BINS];
        kept.iter().for_each(|i| noisy[*i] = 26);
        finder.cover(&noisy)
    };
    assert_eq!(answer(&[]), None);
    assert_eq!(answer(&[128]), Some([0.0, 0.0]));
    assert_eq!(answer(&[128, bin(69.0)]), Some([0.0, 128.0]));
    assert_eq!(answer(&[bin(3.0), bin(40.0)]), Some([2.0, 64.0]));
    assert_eq!(answer(&[bin(-3.0), bin(-0.1)]), Some([-4.0, -0.0625]));
    assert_eq!(answer(&[0, 256]), Some([-(2f64.powi(64)), 2f64.powi(64)]));
    // A state shorter than it should be, and counts beyond all range.
    for s in [vec![], vec![i128::MAX, i128::MIN]] {
        finder.release_from(&Totals { n: 0, s }, &mut Seeded::new(1));
    }
}

fn refused(epsilon: Option<f64>, text: &str) -> &'static str {
    let arguments = Arguments {
        epsilon,
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    BOUNDS.build(&arguments).expect_err("refused").argument
}

#[test]
fn parameters_are_checked() {
    for text in [
        "geometric(beta=0)",
        "geometric(beta=1)",
        "geometric(beta=-1)",
        "geometric(beta=1e-301)",
    ] {
        assert_eq!(refused(Some(1.0), text), "mech", "{text}");
    }
    assert_eq!(refused(None, "geometric"), "eps");
    assert_eq!(refused(Some(1.0), "geometric(outside=drop)"), "mech");
}

/// A table of 10,000 rows of a distribution, sorted: what it makes of two uniform numbers.
fn rows(distribution: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let mut words = Seeded::new(11);
    let mut unit = || ((words.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let mut rows: Vec<f64> = (0..10_000).map(|_| distribution(unit(), unit())).collect();
    rows.sort_by(f64::total_cmp);
    rows
}

/// A standard normal number, by Box and Muller.
fn standard(u: f64, v: f64) -> f64 {
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

#[test]
fn ten_thousand_rows_have_good_bounds_at_epsilon_1() {
    let finder = BoundsFinder::new(epsilon(1.0), 1e-9);
    let normal = |mean: f64, sd: f64| rows(move |u, v| mean + sd * standard(u, v));
    let log_normal = |sd: f64| rows(move |u, v| (sd * standard(u, v)).exp());
    let uniform = |lo: f64, hi: f64| rows(move |u, _| lo + (hi - lo) * u);
    let mut words = Seeded::new(12);
    for (what, rows) in [
        ("normal(0, 1)", normal(0.0, 1.0)),
        ("normal(50, 10)", normal(50.0, 10.0)),
        ("normal(-1e6, 1e5)", normal(-1e6, 1e5)),
        ("log-normal 0.5", log_normal(0.5)),
        ("log-normal 1", log_normal(1.0)),
        ("log-normal 2", log_normal(2.0)),
        ("uniform(0, 1)", uniform(0.0, 1.0)),
        ("uniform(-3, 100)", uniform(-3.0, 100.0)),
        ("uniform(1000, 1001)", uniform(1000.0, 1001.0)),
    ] {
        let totals = totals(rows.iter().copied());
        // Half a percent of the rows, and the power of two beyond the extreme ones.
        let (low, high) = (rows[50], rows[9_949]);
        let [lowest, _] = ends(bin(rows[0]));
        let [_, highest] = ends(bin(rows[9_999]));
        let tries = 1000;
        let good = (0..tries).filter(|_| {
            let bounds = finder.release_from(&totals, &mut words);
            bounds.is_some_and(|[lower, upper]| {
                let holds = lower <= low && high <= upper;
                holds && lowest <= lower && upper <= highest
            })
        });
        let good = good.count();
        println!("{what}: {good} of {tries}");
        assert!(good * 100 >= tries * 99, "{what}: {good} of {tries}");
    }
}
