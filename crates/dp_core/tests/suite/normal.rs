//! Rounded normal variables against their distributions: one, sums that share a part, words of all widths,
//! the far tails, all short tapes.

use std::collections::BTreeMap;

use dp_core::random::Bits;
use dp_core::sampler::normal::{RoundedNormal, RoundedSums};

use crate::stats::{assert_law, chi_square_tail};
use crate::tapes::explore;
use crate::words::{Narrow, Seeded, Tape};

const DRAWS: u64 = 100_000;
const NARROW_DRAWS: u64 = 10_000;

/// `P(Z > x)`, for `x >= 0`: half of what a chi-square of one degree leaves above `x^2`.
fn upper(x: f64) -> f64 {
    chi_square_tail(1.0, x * x) / 2.0
}

/// `P(a < Z <= b)`, to about ten digits of its own in the tails too.
fn between(a: f64, b: f64) -> f64 {
    if a >= 0.0 {
        upper(a) - upper(b)
    } else if b <= 0.0 {
        upper(-b) - upper(-a)
    } else {
        1.0 - upper(-a) - upper(b)
    }
}

#[test]
fn normal_tails_agree_with_known_values() {
    for (x, tail) in [
        (0.0, 0.5),
        (0.1, 0.460172162722971),
        (0.5, 0.3085375387259869),
        (1.0, 0.15865525393145705),
        (2.0, 0.02275013194817921),
        (3.0, 1.3498980316300946e-3),
        (5.0, 2.866515718791939e-7),
        (8.0, 6.220960574271786e-16),
        (10.0, 7.619853024160527e-24),
    ] {
        assert!((upper(x) / tail - 1.0).abs() < 1e-11, "{x}: {}", upper(x));
    }
    assert!((between(-1.0, 2.0) - 0.8185946141203637).abs() < 1e-11);
    assert!((between(-9.0, -8.0) / 6.219_832e-16 - 1.0).abs() < 1e-6);
}

/// The ends of cells: all integers where these are few, else every twentieth of a deviation.
fn edges(sigma: f64) -> Vec<i128> {
    let mut edges: Vec<i128> = if sigma < 20.0 {
        let reach = (8.0 * sigma).ceil() as i128 + 1;
        (-reach..=reach).collect()
    } else {
        (-160..=160)
            .map(|twentieth| (f64::from(twentieth) * sigma / 20.0) as i128)
            .collect()
    };
    edges.dedup();
    edges
}

/// Checks values against a normal distribution with this deviation, rounded.
fn check(what: &str, sigma: f64, values: impl IntoIterator<Item = i128>) {
    let edges = edges(sigma);
    let mut counts = vec![0; edges.len() + 1];
    let (mut draws, mut rests) = (0, [0; 7]);
    for value in values {
        counts[edges.partition_point(|edge| *edge < value)] += 1;
        rests[value.rem_euclid(7) as usize] += 1;
        draws += 1;
    }
    // Above the last end of a cell, and up to this one.
    let cell = |pair: &[i128]| {
        let end = |edge: i128| (edge as f64 + 0.5) / sigma;
        between(end(pair[0]), end(pair[1]))
    };
    let cells = edges.windows(2).map(cell).zip(&counts[1..]);
    assert_law(what, draws, cells.map(|(p, count)| (*count, p)));
    if sigma > 5.0 {
        // The low digits, which wide cells do not show: uniform, to e^(-2 (pi sigma / 7)^2).
        let what = format!("{what}, modulo 7");
        assert_law(&what, draws, rests.map(|count| (count, 1.0 / 7.0)));
    }
}

fn check_normal<B: Bits>(sigma: f64, draws: u64, mut bits: B) {
    let sampler = RoundedNormal::new(sigma);
    let what = format!("rounded normal {sigma}, words of {}", B::WIDTH);
    check(&what, sigma, (0..draws).map(|_| sampler.draw(&mut bits)));
}

const SIGMAS: [f64; 7] = [0.3, 0.5, 1.0, 1.7, 10.0, 1e3, 1e9];

#[test]
fn rounded_normals() {
    let far = [2f64.powi(52), 3e17, 2f64.powi(60), 2f64.powi(61), 1e25];
    for (seed, sigma) in (1..).zip(SIGMAS.into_iter().chain(far)) {
        check_normal(sigma, DRAWS, Seeded::new(seed));
    }
    check_normal(2f64.powi(100), DRAWS / 10, Seeded::new(99));
}

#[test]
fn rounded_normals_from_narrow_words() {
    for (seed, sigma) in (100..).step_by(10).zip(SIGMAS) {
        check_normal(sigma, NARROW_DRAWS, Narrow::<1>(Seeded::new(seed)));
        check_normal(sigma, NARROW_DRAWS, Narrow::<2>(Seeded::new(seed + 1)));
        check_normal(sigma, NARROW_DRAWS, Narrow::<3>(Seeded::new(seed + 2)));
        check_normal(sigma, NARROW_DRAWS, Narrow::<8>(Seeded::new(seed + 3)));
        check_normal(sigma, NARROW_DRAWS, Narrow::<33>(Seeded::new(seed + 4)));
        check_normal(sigma, NARROW_DRAWS, Narrow::<63>(Seeded::new(seed + 5)));
    }
    check_normal(2f64.powi(60), 2000, Narrow::<3>(Seeded::new(98)));
    check_normal(2f64.powi(100), 2000, Narrow::<8>(Seeded::new(97)));
}

fn check_sum<B: Bits>(own: f64, shared: f64, draws: u64, mut bits: B) {
    let sampler = RoundedSums::new(own, shared);
    let what = format!("rounded sum {own} {shared}, words of {}", B::WIDTH);
    // One of each set, and not always its first one.
    let one = |draw: u64| {
        let count = draw as usize % 3 + 1;
        let sums = sampler.draw(count, &mut bits);
        assert_eq!(sums.len(), count);
        sums[count - 1]
    };
    check(&what, own.hypot(shared), (0..draws).map(one));
}

#[test]
fn each_rounded_sum() {
    let far = [2f64.powi(52), 2f64.powi(60), 1e25];
    for (seed, (own, shared)) in (200..).step_by(10).zip([
        (0.7, 0.6),
        (3.0, 4.0),
        (1.0, 0.0),
        (0.0, 1.7),
        (1e-9, 1e3),
        (5e8, 1e9),
        (far[0], far[1]),
        (far[1], far[0]),
        (far[2], far[1]),
        (0.3, far[2]),
    ]) {
        check_sum(own, shared, DRAWS / 4, Seeded::new(seed));
        if own.max(shared) < 1e10 {
            check_sum(
                own,
                shared,
                NARROW_DRAWS / 4,
                Narrow::<1>(Seeded::new(seed + 1)),
            );
            check_sum(
                own,
                shared,
                NARROW_DRAWS / 4,
                Narrow::<2>(Seeded::new(seed + 2)),
            );
            check_sum(
                own,
                shared,
                NARROW_DRAWS / 4,
                Narrow::<3>(Seeded::new(seed + 3)),
            );
            check_sum(
                own,
                shared,
                NARROW_DRAWS / 4,
                Narrow::<8>(Seeded::new(seed + 4)),
            );
        }
    }
}

/// Checks pairs against the probabilities listed, which are to sum to nearly 1.
fn check_pairs(
    what: &str,
    draws: u64,
    pairs: impl IntoIterator<Item = (i128, i128)>,
    distribution: impl IntoIterator<Item = ((i128, i128), f64)>,
) {
    let mut counts: BTreeMap<(i128, i128), u64> = BTreeMap::new();
    for pair in pairs {
        *counts.entry(pair).or_default() += 1;
    }
    let mut distribution: Vec<_> = distribution.into_iter().collect();
    distribution.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = distribution.iter().map(|(_, p)| p).sum();
    assert!((all - 1.0).abs() < 1e-6, "{what}: {all}");
    let cells = distribution
        .into_iter()
        .map(|(pair, p)| (counts.remove(&pair).unwrap_or(0), p));
    assert_law(what, draws, cells.collect::<Vec<_>>());
}

/// First and last of a set, given `Y = y` independent: summed over `y` by the trapezoidal rule,
/// which is as good as exact for functions this smooth.
fn check_joint<B: Bits>(own: f64, shared: f64, draws: u64, mut bits: B) {
    let sampler = RoundedSums::new(own, shared);
    let reach = (6.0 * own.hypot(shared)) as i128 + 1;
    let step = 0.02;
    let mut distribution = BTreeMap::new();
    for y in -400..=400 {
        let y = f64::from(y) * step;
        let weight = step * (-y * y / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let cell = |k: i128| {
            let end = |edge: f64| (edge - shared * y) / own;
            (k, between(end(k as f64 - 0.5), end(k as f64 + 0.5)))
        };
        let cells: Vec<_> = (-reach..=reach).map(cell).collect();
        for (first, p) in &cells {
            for (last, q) in &cells {
                *distribution.entry((*first, *last)).or_default() += weight * p * q;
            }
        }
    }
    let what = format!("joint sums {own} {shared}, words of {}", B::WIDTH);
    let pair = |draw: u64| {
        let sums = sampler.draw(draw as usize % 2 + 2, &mut bits);
        (sums[0], sums[sums.len() - 1])
    };
    check_pairs(&what, draws, (0..draws).map(pair), distribution);
}

#[test]
fn rounded_sums_are_correlated() {
    for (seed, (own, shared)) in (400..)
        .step_by(10)
        .zip([(1.0, 1.5), (0.5, 0.5), (1.2, 0.4)])
    {
        check_joint(own, shared, DRAWS, Seeded::new(seed));
        check_joint(
            own,
            shared,
            NARROW_DRAWS,
            Narrow::<1>(Seeded::new(seed + 1)),
        );
        check_joint(
            own,
            shared,
            NARROW_DRAWS,
            Narrow::<2>(Seeded::new(seed + 2)),
        );
        check_joint(
            own,
            shared,
            NARROW_DRAWS,
            Narrow::<3>(Seeded::new(seed + 3)),
        );
        check_joint(
            own,
            shared,
            NARROW_DRAWS,
            Narrow::<8>(Seeded::new(seed + 4)),
        );
    }
}

/// Next to a huge common part, the differences remain: those of two normals rounded after the
/// same fraction was added, which is uniform. So the digits of `Y` must be the same for all.
fn check_differences<B: Bits>(shared: f64, draws: u64, mut bits: B) {
    let own = 0.8;
    let sampler = RoundedSums::new(own, shared);
    let what = format!("differences {shared}, words of {}", B::WIDTH);
    // A fraction f and the rounding take the difference d of the normals to k with probability
    // 1 - |d - k|: the mean of that over N(0, 2 own^2), by a rule that bends at the bends.
    let (deviation, step) = (own * 2f64.sqrt(), 1.0 / 512.0);
    let distribution = |k: i32| {
        let weigh = |i: i32| {
            let off = f64::from(i) * step;
            let d = (f64::from(k) + off) / deviation;
            (1.0 - off.abs()) * (-d * d / 2.0).exp()
        };
        let all: f64 = (-511..=511).map(weigh).sum();
        let p = all * step / deviation / std::f64::consts::TAU.sqrt();
        ((i128::from(k), 0), p)
    };
    let difference = |_| {
        let sums = sampler.draw(3, &mut bits);
        (sums[2] - sums[0], 0)
    };
    let pairs: Vec<_> = (0..draws).map(difference).collect();
    check_pairs(&what, draws, pairs, (-9..=9).map(distribution));
    let sampler = RoundedSums::new(0.0, shared);
    for _ in 0..draws / 10 {
        let sums = sampler.draw(4, &mut bits);
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{what}: {sums:?}");
    }
}

#[test]
fn rounded_sums_share_all_digits() {
    check_differences(1e3, DRAWS, Seeded::new(500));
    check_differences(2f64.powi(60), DRAWS, Seeded::new(501));
    check_differences(1e25, DRAWS / 10, Seeded::new(502));
    check_differences(1e3, NARROW_DRAWS, Narrow::<1>(Seeded::new(503)));
    check_differences(1e6, NARROW_DRAWS, Narrow::<3>(Seeded::new(504)));
    check_differences(1e12, NARROW_DRAWS / 4, Narrow::<8>(Seeded::new(505)));
}

/// Draws with `|Z|` written to be in [integer, integer + 1), and all but `left` of the coins that
/// decide about it written to come true. With what probability which value then comes out is
/// known: uniform on that interval, but for the last word, times `e^(-(x - 1)^2 left / (2 parts))`.
fn check_tail<const W: u32>(integer: u32, left: u32, seed: u64) {
    let sigma = 10.0;
    let sampler = RoundedNormal::new(sigma);
    let ones = u64::MAX >> (64 - W);
    let parts = integer * integer / 2 + 1;
    let mut bits = Narrow::<W>(Seeded::new(seed));
    let mut counts: BTreeMap<i128, u64> = BTreeMap::new();
    for draw in 0..DRAWS {
        // A uniform number, a toss that succeeds and one that fails: one more.
        let mut tape = [1 << (W - 1), 0, ones].repeat(integer as usize);
        // A uniform number, and a toss that fails, whatever the digits to come.
        let first = loop {
            let word = bits.word();
            if word != ones {
                break word;
            }
        };
        tape.extend([first, ones]);
        tape.extend(std::iter::repeat_n(ones, (parts - left) as usize));
        let mut source = Joined(Tape::<W>::new(&tape), tape.len(), seed << 20 | draw);
        *counts.entry(sampler.draw(&mut source).abs()).or_default() += 1;
    }
    let scale = f64::from(left) / f64::from(parts);
    let (low, reach) = (f64::from(integer), 1.0 - 0.5f64.powi(W as i32));
    let cells = (integer * 10..=integer * 10 + 10).map(|k| {
        let end = |edge: f64| ((edge / sigma).clamp(low, low + reach) - 1.0) * scale.sqrt();
        let mass = between(end(f64::from(k) - 0.5), end(f64::from(k) + 0.5));
        let p = mass * (std::f64::consts::TAU / scale).sqrt() / reach;
        (counts.remove(&i128::from(k)).unwrap_or(0), p)
    });
    let what = format!("tail at {integer}, {left} left, words of {W}");
    assert_law(&what, DRAWS, cells.collect::<Vec<_>>());
    // Or the written one was dropped.
    assert!(counts.keys().all(|k| *k < 65), "{what}: {counts:?}");
}

/// A tape, and after it words that differ from one seed to the next.
struct Joined<'a, const W: u32>(Tape<'a, W>, usize, u64);

impl<const W: u32> Bits for Joined<'_, W> {
    const WIDTH: u32 = W;

    fn word(&mut self) -> u64 {
        if self.0.read() < self.1 {
            return self.0.word();
        }
        self.2 = Seeded::new(self.2).word();
        self.2 >> (64 - W)
    }
}

#[test]
fn tails_to_eight_deviations() {
    for (seed, (integer, left)) in (600..).step_by(10).zip([(7, 1), (7, 4), (8, 1), (8, 4)]) {
        check_tail::<64>(integer, left, seed);
        check_tail::<20>(integer, left, seed + 1);
        check_tail::<8>(integer, left, seed + 2);
    }
}

#[test]
fn short_tapes_give_lower_bounds() {
    for sigma in [0.5, 1.0, 1.7] {
        let sampler = RoundedNormal::new(sigma);
        let distribution = |value: &i128| {
            let end = |side: f64| (*value as f64 + side) / sigma;
            between(end(-0.5), end(0.5))
        };
        let what = format!("rounded normal {sigma}");
        explore::<1, _>(16, |tape| sampler.draw(tape)).assert_law(&what, 0.55, distribution);
        explore::<2, _>(16, |tape| sampler.draw(tape)).assert_law(&what, 0.55, distribution);
    }
}

fn check_extremes<B: Bits>(bits: &mut B) {
    let far = 2f64.powi(100);
    let sigmas = [
        0.0,
        -0.0,
        5e-324,
        2f64.powi(-60),
        1.0,
        2f64.powi(60),
        1e19,
        far,
    ];
    for sigma in sigmas {
        for _ in 0..20 {
            let value = RoundedNormal::new(sigma).draw(bits);
            assert!(
                value.unsigned_abs() as f64 <= 20.0 * sigma + 0.5,
                "{sigma} {value}"
            );
            for other in sigmas {
                let sums = RoundedSums::new(sigma, other).draw(2, bits);
                let most = 20.0 * (sigma + other) + 0.5;
                assert!(sums.iter().all(|sum| sum.unsigned_abs() as f64 <= most));
            }
        }
    }
    assert!(RoundedSums::new(1.0, 1.0).draw(0, bits).is_empty());
}

#[test]
fn extremes() {
    check_extremes(&mut Seeded::new(1));
    check_extremes(&mut Narrow::<1>(Seeded::new(2)));
    check_extremes(&mut Narrow::<5>(Seeded::new(3)));
    check_extremes(&mut Narrow::<57>(Seeded::new(4)));
}

#[test]
fn deviations_out_of_range_are_refused() {
    let above = f64::from_bits(2f64.powi(100).to_bits() + 1);
    for sigma in [f64::NAN, f64::INFINITY, -5e-324, -1.0, above] {
        assert!(std::panic::catch_unwind(|| RoundedNormal::new(sigma)).is_err());
        assert!(std::panic::catch_unwind(|| RoundedSums::new(1.0, sigma)).is_err());
        assert!(std::panic::catch_unwind(|| RoundedSums::new(sigma, 1.0)).is_err());
    }
}
