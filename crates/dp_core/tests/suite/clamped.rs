//! What clamping does: the side of a row, privacy by enumeration, the distribution of the noise.

use std::collections::BTreeMap;

use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::sides::{SIDES, side};
use dp_core::encoding::sums::Totals;
use dp_core::mechanism::clamped::geometric::Clamped;
use dp_core::mechanism::definition::Mechanism;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::registry::CLAMPED;
use dp_core::request::arguments::{Arguments, MechanismArgument};

use crate::distribution;
use crate::stats::assert_law;
use crate::words::Seeded;

/// Bounds of every width that there is, and of both signs.
const BOUNDS: [(f64, f64); 12] = [
    (0.0, 1.0),
    (-60.0, 180.0),
    (-0.0, 5e-324),
    (-5e-324, 0.0),
    (5e-324, 1e-323),
    (-1e-310, 1e-310),
    (1.0, 1.0 + f64::EPSILON),
    (1e15, 1e15 + 0.125),
    (-8e307, 8e307),
    (0.0, f64::MAX),
    (-f64::MAX, -f64::MAX / 3.0),
    (f64::MAX.next_down(), f64::MAX),
];

/// Values of all orders of magnitude and both signs.
fn values() -> Vec<f64> {
    let mut values: Vec<f64> = (-1074..1024).map(|e| 2f64.powi(e)).collect();
    values.extend([0.0, 1e308, f64::MAX, f64::INFINITY, 0.1, 0.3, 3.0, 1e15]);
    let mirrored: Vec<f64> = values.iter().map(|x| -x).collect();
    values.extend(mirrored);
    values
}

fn grid(lo: f64, hi: f64) -> Grid {
    Grid::unit(&Bounds::new(Some(lo), Some(hi)).expect("bounds"))
}

/// Inside are the values that clamping leaves as they are, and nothing else.
#[test]
fn a_row_is_on_the_side_that_comparing_says() {
    for (lo, hi) in BOUNDS {
        let grid = grid(lo, hi);
        let around = [lo, hi]
            .into_iter()
            .flat_map(|x| [x, x.next_up(), x.next_down()]);
        let middle = lo / 2.0 + hi / 2.0;
        let random = (0..200).scan(Seeded::new(5), |words, _| {
            Some(f64::from_bits(words.word()))
        });
        let all = values().into_iter().chain(around).chain(random);
        for x in all.chain([middle]).filter(|x| !x.is_nan()) {
            let expected = match x.clamp(lo, hi) {
                clamped if clamped == x => 1,
                clamped if clamped > x => 0,
                _ => 2,
            };
            assert_eq!(side(&grid, x), expected, "{x:?} {lo:?} {hi:?}");
        }
        // Both ends are inside, with either sign of zero, and the next floats are not.
        assert_eq!([lo, hi].map(|x| side(&grid, x)), [1, 1], "{lo:?} {hi:?}");
        assert_eq!(side(&grid, lo.next_down()), 0);
        assert_eq!(side(&grid, hi.next_up()), 2);
        assert_eq!(side(&grid, f64::NEG_INFINITY), 0);
        assert_eq!(side(&grid, f64::INFINITY), 2);
        assert!(side(&grid, f64::NAN) < SIDES);
    }
    assert_eq!([0.0, -0.0].map(|x| side(&grid(0.0, 1.0), x)), [1, 1]);
    assert_eq!([0.0, -0.0].map(|x| side(&grid(-1.0, -0.0), x)), [1, 1]);
    // A forged grid has a side for each row as well.
    assert!(values().iter().all(|x| side(&Grid::NONE, *x) < SIDES));
}

fn built(epsilon: f64, text: &str, factor: f64) -> Box<Clamped> {
    let arguments = Arguments {
        bounds: Some((Some(0.0), Some(1.0))),
        epsilon: Some(epsilon),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    #[cfg(feature = "testing")]
    let built = CLAMPED.build_with_budget_times(factor, &arguments);
    #[cfg(not(feature = "testing"))]
    let built = (factor == 1.0)
        .then(|| CLAMPED.build(&arguments))
        .expect("no factor");
    built.expect("a mechanism")
}

/// What the state holds for these rows, as the aggregate adds them up.
fn totals(clamped: &Clamped, rows: &[f64]) -> Totals {
    let grid = clamped.grid().expect("it has bounds");
    let mut totals = Totals::new(SIDES);
    for x in rows {
        totals.n += 1;
        totals.s[side(&grid, *x)] += 1;
    }
    totals
}

/// The probability of three noisy counts, with noise of scale `1 / noise`.
fn probability(totals: &Totals, noisy: &[i64; SIDES], noise: f64) -> f64 {
    let counts = totals
        .s
        .iter()
        .map(|count| i64::try_from(*count).expect("few rows"));
    let terms = counts
        .zip(noisy)
        .map(|(count, noisy)| distribution::two_sided_geometric(noisy - count, noise));
    terms.product()
}

/// Over all tables of at most two rows, all `more` rows more, and all outputs of a window: the largest
/// ratio of their probabilities, as a power of e, for noise of scale `1 / noise`.
fn worst(clamped: &Clamped, more: usize, noise: f64) -> f64 {
    let some = [
        f64::NEG_INFINITY,
        -5e-324,
        0.0,
        0.4,
        1.0,
        1.0f64.next_up(),
        7.0,
    ];
    let tables = |most: usize| {
        let mut tables: Vec<Vec<f64>> = vec![Vec::new()];
        for size in 0..most {
            let longer: Vec<Vec<f64>> = tables
                .iter()
                .filter(|table| table.len() == size)
                .flat_map(|table| some.map(|x| [table.as_slice(), &[x]].concat()))
                .collect();
            tables.extend(longer);
        }
        tables
    };
    let window = || -3..=5i64;
    let outputs: Vec<[i64; SIDES]> = window()
        .flat_map(|a| window().flat_map(move |b| window().map(move |c| [a, b, c])))
        .collect();
    let mut worst = 0.0f64;
    for table in tables(2) {
        let here = totals(clamped, &table);
        for added in tables(more).iter().filter(|added| added.len() == more) {
            let there = totals(clamped, &[table.as_slice(), added].concat());
            let moved: i128 = here
                .s
                .iter()
                .zip(&there.s)
                .map(|(a, b)| (b - a).abs())
                .sum();
            assert_eq!(moved, more as i128, "a row is on one side");
            for output in &outputs {
                let [here, there] = [&here, &there].map(|of| probability(of, output, noise));
                worst = worst.max((here / there).ln().abs());
            }
        }
    }
    worst
}

#[test]
fn counts_are_private_and_tight() {
    for epsilon in [0.1, 1.0, 2.5] {
        let worst = worst(&built(epsilon, "geometric", 1.0), 1, epsilon);
        assert!((worst / epsilon - 1.0).abs() < 1e-10, "{worst} {epsilon}");
    }
    // Two rows of a person, each at half of epsilon.
    let worst_of_two = worst(&built(1.0, "geometric(rows=2)", 1.0), 2, 0.5);
    assert!((worst_of_two - 1.0).abs() < 1e-10, "{worst_of_two}");
    // Noise for twice the budget is caught.
    assert!(worst(&built(1.0, "geometric", 1.0), 1, 2.0) > 1.5);
}

#[test]
fn noise_does_not_depend_on_the_data() {
    let clamped = built(0.7, "geometric", 1.0);
    let noise = |s: [i128; SIDES]| {
        let totals = Totals {
            n: 9,
            s: s.to_vec(),
        };
        let noisy = clamped.release_from(&totals, &mut Seeded::new(4));
        std::array::from_fn::<i128, SIDES, _>(|i| i128::from(noisy[i]) - s[i])
    };
    let empty = noise([0; 3]);
    for s in [[1, 0, 7], [1 << 40; 3], [-3, 9, 12]] {
        assert_eq!(noise(s), empty);
    }
    // Nor on a state that is shorter than it should be, and it stays in range.
    let none = clamped.release_from(&Totals::new(0), &mut Seeded::new(4));
    assert_eq!(none.map(i128::from), empty);
    let s = vec![i128::MAX, i128::MIN, 0];
    let wide = clamped.release_from(&Totals { n: 0, s }, &mut Seeded::new(4));
    assert_eq!((wide[0], wide[1]), (i64::MAX, i64::MIN));
}

/// How far the noise of the sides is from the distribution of three independent ones: draws in cells.
fn triples(epsilon: f64, text: &str, factor: f64) -> (u64, BTreeMap<[i64; SIDES], u64>) {
    let clamped = built(epsilon, text, factor);
    let totals = totals(&clamped, &[-1.0, 0.5, 0.6, 1.0]);
    let (draws, mut words) = (200_000, Seeded::new(6));
    let mut seen = BTreeMap::new();
    for _ in 0..draws {
        let [below, inside, above] = clamped.release_from(&totals, &mut words);
        *seen.entry([below - 1, inside - 3, above]).or_default() += 1;
    }
    (draws, seen)
}

fn cells(epsilon: f64, seen: &BTreeMap<[i64; SIDES], u64>) -> Vec<(u64, f64)> {
    let reach = || -4..=4i64;
    let all = reach().flat_map(|a| reach().flat_map(move |b| reach().map(move |c| [a, b, c])));
    let cell = |noise: [i64; SIDES]| {
        let p = noise
            .map(|x| distribution::two_sided_geometric(x, epsilon))
            .iter()
            .product();
        (seen.get(&noise).copied().unwrap_or(0), p)
    };
    all.map(cell).collect()
}

fn rounded_down(epsilon: f64) -> f64 {
    Epsilon::new(Some(epsilon)).expect("epsilon").value()
}

#[test]
fn sides_have_independent_geometric_noise() {
    for epsilon in [0.3, 1.0, 3.0] {
        let (draws, seen) = triples(epsilon, "geometric", 1.0);
        let cells = cells(rounded_down(epsilon), &seen);
        assert_law(&format!("three counts at {epsilon}"), draws, cells);
    }
    // Of a person in six groups with two rows in each, a twelfth.
    let (draws, seen) = triples(6.0, "geometric(rows=2, groups=6)", 1.0);
    assert_law("shared by rows and groups", draws, cells(0.5, &seen));
}

#[cfg(feature = "testing")]
#[test]
fn half_the_noise_is_caught() {
    let (draws, seen) = triples(1.0, "geometric", 2.0);
    let cells = cells(rounded_down(1.0), &seen);
    let caught = std::panic::catch_unwind(|| assert_law("half the noise", draws, cells));
    assert!(caught.is_err());
}

#[test]
fn bounds_are_checked_as_those_of_means() {
    for (bounds, argument) in [
        ((None, Some(1.0)), "lo"),
        ((Some(0.0), None), "hi"),
        ((Some(1.0), Some(1.0)), "hi"),
        ((Some(f64::NAN), Some(1.0)), "lo"),
        ((Some(-f64::MAX), Some(f64::MAX)), "hi"),
    ] {
        let error = CLAMPED
            .build(&Arguments {
                bounds: Some(bounds),
                epsilon: Some(1.0),
                ..Arguments::default()
            })
            .expect_err("refused");
        assert_eq!(error.argument, argument, "{bounds:?}");
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn extreme_epsilons_do_not_panic() {
    for epsilon in [Epsilon::MIN, 50.0] {
        let clamped = built(epsilon, "geometric", 1.0);
        let totals = totals(&clamped, &values());
        assert_eq!(totals.s.iter().sum::<i128>(), values().len() as i128);
        let noisy = clamped.release_from(&totals, &mut Seeded::new(8));
        let far = noisy
            .iter()
            .zip(&totals.s)
            .map(|(a, b)| (i128::from(*a) - b).abs())
            .max();
        assert!(
            far < Some(if epsilon == 50.0 { 1 } else { 1 << 26 }),
            "{noisy:?}"
        );
    }
}
