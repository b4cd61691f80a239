//! An audit of the mechanisms that promise an average without bias, and of the count that is never
//! too large, through SQL: how private can they be at most, judged by their answers alone?
//!
//! `smooth` and `clipped` are pure, and held to the bound of `audit`. The others are
//! (epsilon, delta)-private: no event may be more likely for one of two neighbours than `e^epsilon`
//! times what it is for the other, and delta. The event is that of the cells of answers where one
//! half of the answers exceeds that most; the other half bounds by how much, and hence delta, from
//! below. That there is no mean is an outcome like any other.
//!
//! Where epsilon is doubled on purpose, which halves the noise, the audit must notice, else it is
//! blind. Delta is not doubled with it. What tells then:
//!
//! * `smooth`: a row at one bound replaced by one at the other, where it is the only one. With
//!   `d = 0.43 epsilon` the largest ratio of the densities is `e^(4 arsinh(d / 2))`, at an answer
//!   about 2 / epsilon beyond a bound: 0.85 for epsilon 1, and 1.67 with half the noise.
//! * `clipped`: the same rows; an answer well beyond a bound is `e^epsilon` times likelier, exactly.
//! * `undercount`: the answer is the number of rows less `v`, where the noise is 0. It is what
//!   `k = -v` and `k = v` leave of delta otherwise: `e^(-epsilon v) / (1 + e^-epsilon)`, exactly.
//! * `symmetric` with nearly all of epsilon for the place: whether there is one, around the
//!   threshold, `e^votes` times likelier with a row more. With little for the place: the mean and
//!   the count together, of a row far away.
//! * `symmetric_known_n`: which of two places it is, where a row moved from one to the other; and
//!   with little for the place, the mean, which a row far away pulls to either side.

use std::collections::HashMap;

use dp_mean_tests::auditing::{bound, delta_bound};
use dp_mean_tests::releases::Releases;
use dp_mean_tests::run;
use dp_mean_tests::statistics::{ALPHA, clopper_pearson};

/// How much noise there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noise {
    AsPromised,
    Halved,
}

/// A seeded session, and tables: some rows each.
fn session(seed: i64, noise: Noise, tables: &[(&str, &[(usize, f64)])]) -> Releases {
    let mut releases = Releases::seeded(seed);
    if noise == Noise::Halved {
        run(releases.client(), "SELECT dp_test_budget_factor(2)");
    }
    for (table, rows) in tables {
        run(
            releases.client(),
            &format!("CREATE TABLE {table} (x float8)"),
        );
        for (count, x) in *rows {
            let insert = format!("INSERT INTO {table} SELECT {x} FROM generate_series(1, {count})");
            run(releases.client(), &insert);
        }
    }
    releases
}

type Pairs = &'static [(&'static str, &'static str)];

// Pure ------------------------------------------------------------------------------------------

const BOUNDED: [(&str, &[(usize, f64)]); 9] = [
    ("nothing", &[]),
    ("low", &[(1, 0.0)]),
    ("high", &[(1, 1.0)]),
    ("beyond", &[(1, 1e9)]),
    ("ends", &[(1, 0.0), (1, 1.0)]),
    ("highs", &[(2, 1.0)]),
    ("three", &[(1, 0.0), (1, 0.5), (1, 1.0)]),
    ("three_high", &[(1, 0.0), (1, 0.5), (2, 1.0)]),
    ("three_low", &[(2, 0.0), (1, 0.5)]),
];

/// A row more, or less.
const ADDED: Pairs = &[
    ("nothing", "low"),
    ("nothing", "high"),
    ("low", "ends"),
    ("high", "ends"),
    ("high", "highs"),
    ("three", "three_high"),
];

/// Another row instead.
const REPLACED: Pairs = &[
    ("low", "high"),
    ("low", "beyond"),
    ("ends", "highs"),
    ("three", "three_low"),
];

/// Bounds from below on the epsilon of each pair.
fn pure_bounds(releases: &mut Releases, call: &str, pairs: Pairs) -> f64 {
    let mut drawn = HashMap::new();
    for table in pairs.iter().flat_map(|(one, other)| [*one, *other]) {
        drawn
            .entry(table)
            .or_insert_with(|| releases.draw(call, &[], table, 40_000));
    }
    let bounds = pairs
        .iter()
        .map(|(one, other)| bound([&drawn[one], &drawn[other]], 1));
    let bound = bounds.fold(f64::NEG_INFINITY, f64::max);
    println!("{call}: epsilon is at least {bound:.3}");
    bound
}

#[test]
fn no_event_of_bounded_means_tells_more_than_epsilon() {
    let mut releases = session(81, Noise::AsPromised, &BOUNDED);
    for eps in [0.5, 1.0, 2.0] {
        let smooth = format!("dp_mean(x, 0, 1, {eps}, 'smooth')");
        for pairs in [ADDED, REPLACED] {
            let bound = pure_bounds(&mut releases, &smooth, pairs);
            assert!(bound <= eps, "{smooth}: epsilon is at least {bound}");
        }
        // The worst pair is bounded by what its densities allow.
        let exact = 4.0 * f64::asinh(0.43 * eps / 2.0);
        let bound = pure_bounds(&mut releases, &smooth, &[("low", "high")]);
        assert!(bound <= exact, "{smooth}: {bound} of {exact}");
        for n in [1, 3] {
            let clipped = format!("dp_mean(x, 0, 1, {eps}, 'clipped(n={n})')");
            let bound = pure_bounds(&mut releases, &clipped, REPLACED);
            assert!(
                bound <= eps && bound > 0.7 * eps,
                "{clipped}: {bound} of {eps}"
            );
            // A row more or less costs no more, whatever n is.
            let bound = pure_bounds(&mut releases, &clipped, ADDED);
            assert!(bound <= eps, "{clipped}: {bound} of {eps}");
        }
    }
}

// With delta ------------------------------------------------------------------------------------

const DELTA: f64 = 0.055;

/// Tables of rows alike, around the thresholds of the first of [`SYMMETRIC`]; that many that there is
/// a place with either; and with a row far away.
const ALIKE: [(&str, &[(usize, f64)]); 9] = [
    ("no_rows", &[]),
    ("one", &[(1, 0.0)]),
    ("two", &[(2, 0.0)]),
    ("three", &[(3, 0.0)]),
    ("four", &[(4, 0.0)]),
    ("five", &[(5, 0.0)]),
    ("five_far", &[(5, 0.0), (1, 1e9)]),
    ("many", &[(150, 0.0)]),
    ("many_far", &[(150, 0.0), (1, -1e9)]),
];

/// Nearly all of epsilon for the place, and little of it.
const SHARES: [f64; 2] = [0.9, 0.1];

/// For each of them, pairs of neighbours by a row more.
const SYMMETRIC: [Pairs; 2] = [
    &[
        ("no_rows", "one"),
        ("one", "two"),
        ("two", "three"),
        ("three", "four"),
        ("four", "five"),
        ("five", "five_far"),
    ],
    &[("no_rows", "one"), ("many", "many_far")],
];

/// Tables of two places with that many rows each, around the thresholds; and of that many rows that
/// there is a place, and one far to either side.
const TWO_PLACES: [(&str, &[(usize, f64)]); 8] = [
    ("four_none", &[(4, 0.0)]),
    ("three_one", &[(3, 0.0), (1, 1000.0)]),
    ("three_two", &[(3, 0.0), (2, 1000.0)]),
    ("two_three", &[(2, 0.0), (3, 1000.0)]),
    ("four_three", &[(4, 0.0), (3, 1000.0)]),
    ("three_four", &[(3, 0.0), (4, 1000.0)]),
    ("many_left", &[(300, 0.0), (1, -1e9)]),
    ("many_right", &[(300, 0.0), (1, 1e9)]),
];

const KNOWN_N: [Pairs; 2] = [
    &[
        ("four_none", "three_one"),
        ("three_two", "two_three"),
        ("four_three", "three_four"),
    ],
    &[("many_left", "many_right")],
];

/// Answers of a mean without bounds: the mean, or -1e300 where there is none, and the count. A scan
/// for each, so that each draws its own offset.
fn draw(releases: &mut Releases, eps: f64, mechanism: &str, table: &str) -> Vec<f64> {
    let call = format!("dp_mean_and_count(x, NULL, NULL, {eps}, '{mechanism}')");
    let answer = format!("ARRAY[coalesce(({call}).mean, -1e300), ({call}).count]");
    releases.draw_arrays(&answer, table, None, RELEASES)
}

const RELEASES: usize = 20_000;

/// A mechanism at this eps, its tables, and for each of [`SHARES`] its pairs.
struct Subject {
    mechanism: &'static str,
    eps: f64,
    tables: &'static [(&'static str, &'static [(usize, f64)])],
    pairs: [Pairs; 2],
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        mechanism: "symmetric(",
        eps: 1.0,
        tables: &ALIKE,
        pairs: SYMMETRIC,
    },
    Subject {
        mechanism: "symmetric_known_n(n=300, ",
        eps: 2.0,
        tables: &TWO_PLACES,
        pairs: KNOWN_N,
    },
];

impl Subject {
    /// For each share the largest bound on delta over its pairs.
    fn audit(&self, seed: i64, noise: Noise) -> [f64; 2] {
        let mut releases = session(seed, noise, self.tables);
        [0, 1].map(|i| {
            let rest = format!("delta={DELTA}, scale=1, clip=60, share={})", SHARES[i]);
            let mechanism = self.mechanism.to_owned() + &rest;
            let mut drawn = HashMap::new();
            let mut best = f64::NEG_INFINITY;
            for (one, other) in self.pairs[i] {
                for table in [*one, *other] {
                    drawn
                        .entry(table)
                        .or_insert_with(|| draw(&mut releases, self.eps, &mechanism, table));
                }
                let bound = delta_bound([&drawn[one], &drawn[other]], 2, self.eps);
                println!("{mechanism}, {one} and {other}: delta is at least {bound:.4}");
                best = best.max(bound);
            }
            best
        })
    }
}

#[test]
fn no_event_of_means_without_bounds_tells_more_than_epsilon_and_delta() {
    for (seed, subject) in (83..).zip(SUBJECTS) {
        for bound in subject.audit(seed, Noise::AsPromised) {
            assert!(bound <= DELTA, "{}: {bound}", subject.mechanism);
        }
    }
}

#[test]
fn the_audit_notices_that_the_noise_of_means_without_bounds_is_halved() {
    for (seed, subject) in (85..).zip(SUBJECTS) {
        for bound in subject.audit(seed, Noise::Halved) {
            assert!(bound > DELTA, "{}: no more than {bound}", subject.mechanism);
        }
    }
}

/// How often there is a place is known exactly. For rows alike it is `P(Z >= threshold - rows)`, and
/// of a row that is alone it is what the mechanism takes of delta: with a threshold one lower, more
/// than delta.
#[test]
fn there_is_a_place_as_often_as_the_threshold_says() {
    let mut releases = session(87, Noise::AsPromised, &ALIKE);
    let mechanism = format!("symmetric(delta={DELTA}, scale=1, share=0.9)");
    // What is left of the share after the test for a crowd of cells.
    let votes = 0.9 - (8.0 / DELTA).ln() / f64::from(1 << 17);
    let tail = |x: f64| {
        let beyond = (-votes * x).exp() / (1.0 + (-votes).exp());
        if x > 0.0 {
            beyond
        } else {
            1.0 - (-votes * (1.0 - x)).exp() / (1.0 + (-votes).exp())
        }
    };
    let threshold = (1..)
        .map(f64::from)
        .find(|threshold| tail(threshold - 1.0) <= 0.875 * DELTA)
        .expect("a threshold");
    assert!(tail(threshold - 2.0) > DELTA);
    for (table, rows) in [
        ("no_rows", 0.0),
        ("one", 1.0),
        ("three", 3.0),
        ("five", 5.0),
    ] {
        let answers = draw(&mut releases, 1.0, &mechanism, table);
        let found = answers
            .chunks_exact(2)
            .filter(|answer| answer[0] > -1e300)
            .count();
        let (lower, upper) = clopper_pearson(found as u64, RELEASES as u64, ALPHA / 2.0);
        let expected = if rows > 0.0 {
            // And one cell is taken for a crowd with probability delta / 16.
            tail(threshold - rows) * (1.0 - DELTA / 16.0)
        } else {
            0.0
        };
        println!("{table}: {lower} {upper} {expected}");
        assert!(
            (lower..=upper).contains(&expected),
            "{table}: {lower} {upper} {expected}"
        );
    }
}

#[test]
fn no_event_of_undercounts_tells_more_than_epsilon_and_delta() {
    for (noise, seed) in [(Noise::AsPromised, 88), (Noise::Halved, 89)] {
        let mut releases = session(seed, noise, &ALIKE);
        for (eps, delta) in [(1.0, 0.05), (0.3, 0.2)] {
            let call = format!("dp_count(x, {eps}, 'undercount(delta={delta})')");
            // Exact: see the mechanism.
            let b = f64::exp(-eps);
            let c = f64::max(1.0 / (1.0 + b), (2.0 * b - 1.0) / (b * b));
            let exact = c * f64::exp(-eps * ((c / delta).ln() / eps).ceil());
            assert!(exact <= delta);
            for (one, other) in [("no_rows", "one"), ("two", "three")] {
                let drawn = [one, other].map(|table| releases.draw(&call, &[], table, 40_000));
                let bound = delta_bound([&drawn[0], &drawn[1]], 1, eps);
                println!("{call}, {noise:?}: delta is at least {bound:.4}");
                match noise {
                    Noise::AsPromised => {
                        assert!(
                            bound <= exact && bound > 0.6 * exact,
                            "{call}: {bound} of {exact}"
                        );
                    }
                    Noise::Halved => assert!(bound > delta, "{call}: no more than {bound}"),
                }
            }
        }
    }
}
