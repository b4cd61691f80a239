//! Histograms: the bucket of a row against its edges, privacy by enumeration, the distribution of the noise.

use std::collections::BTreeMap;

use dp_core::encoding::buckets::{Buckets, MOST};
use dp_core::encoding::grid::Bounds;
use dp_core::encoding::sums::Totals;
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::histogram::geometric::Histogram;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::registry::HISTOGRAM;
use dp_core::request::arguments::{Arguments, MechanismArgument};

use crate::distribution;
use crate::stats::assert_law;
use crate::words::Seeded;

fn buckets(lo: f64, hi: f64, count: usize) -> Buckets {
    let bounds = Bounds::new(Some(lo), Some(hi)).expect("bounds");
    Buckets::new(&bounds, Some(count)).expect("buckets")
}

/// Values that have tripped others: all orders of magnitude, both signs.
fn values() -> Vec<f64> {
    let mut values: Vec<f64> = (-1074..1024).map(|e| 2f64.powi(e)).collect();
    values.extend([0.0, 1e308, f64::MAX, f64::INFINITY, 0.1, 0.3, 3.0, 1e15]);
    let mirrored: Vec<f64> = values.iter().map(|x| -x).collect();
    values.extend(mirrored);
    values
}

/// Bounds and numbers of buckets, up to where floats are about to lose the edges.
fn shapes() -> Vec<Buckets> {
    let mut shapes = vec![
        buckets(0.0, 1.0, 1),
        buckets(0.0, 10.0, 100),
        buckets(-1.0, 1.0, 20),
        buckets(0.0, 49.0, 49),
        buckets(0.0, 1.0, MOST),
        buckets(-0.3, 0.1, 7),
        buckets(1e15, 1e15 + 100.0, 50),
        buckets(-1e15 - 100.0, -1e15, 50),
        buckets(1.0, 1.0 + 8.0 * 5.0 * f64::EPSILON, 2),
        buckets(0.0, 8.0 * 5e-324 * 1000.0, 1000),
        buckets(-1e-310, 1e-310, 13),
        buckets(-8e307, 8e307, MOST),
        buckets(0.0, f64::MAX, 3),
        buckets(f64::MAX / 2.0, f64::MAX, 1000),
        buckets(-f64::MAX, -f64::MAX / 3.0, 77),
    ];
    let mut words = Seeded::new(1);
    while shapes.len() < 400 {
        let mut number = || f64::from_bits(words.word());
        let bounds = Bounds::new(Some(number()), Some(number()));
        let count = 1 + words.word() as usize % 50;
        shapes.extend(bounds.and_then(|bounds| Buckets::new(&bounds, Some(count))));
        // And two numbers near each other, so that edges are near the limit of floats.
        let lo = f64::from_bits(words.word());
        let hi = f64::from_bits(lo.to_bits().wrapping_add(words.word() % 20_000));
        let bounds = Bounds::new(Some(lo.min(hi)), Some(lo.max(hi)));
        shapes.extend(bounds.and_then(|bounds| Buckets::new(&bounds, Some(count))));
    }
    shapes
}

#[test]
fn the_bucket_is_the_last_one_whose_edge_is_not_above() {
    for shape in shapes() {
        let edges = shape.edges();
        assert_eq!(edges.len(), shape.count() + 1);
        let (lo, hi) = (shape.grid().lo(), shape.grid().hi());
        assert_eq!((edges[0], edges[shape.count()]), (lo, hi));
        assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{shape:?}");
        let middles = edges.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0);
        let around = edges.iter().flat_map(|x| [*x, x.next_up(), x.next_down()]);
        let some = (shape.count() / 500).max(1);
        let all = around.chain(middles).step_by(some).chain(values());
        for x in all {
            let not_above = edges[..shape.count()].partition_point(|edge| *edge <= x);
            let expected = not_above.saturating_sub(1);
            assert_eq!(shape.bucket(x), expected, "{x:?} {shape:?}");
            let within = (lo <= x && x <= hi).then_some(expected);
            assert_eq!(shape.bucket_within(x), within, "{x:?} {shape:?}");
        }
        assert!(shape.bucket(f64::NAN) < shape.count());
    }
}

#[test]
fn edges_of_whole_numbers_are_where_they_are_expected() {
    // Each visit in its own bucket, and tenths as they are written.
    let visits = buckets(0.0, 49.0, 49);
    let tenths = buckets(0.0, 10.0, 100);
    let from_one = buckets(1.0, 11.0, 100);
    for i in 0..49 {
        assert_eq!(visits.edge(i), i as f64);
        assert_eq!(visits.bucket(i as f64), i as usize);
    }
    for i in 0..100 {
        let text = format!("{}.{}", i / 10, i % 10);
        let x: f64 = text.parse().expect("a number");
        assert_eq!(tenths.bucket(x), i as usize, "{text}");
        assert_eq!(from_one.bucket(x + 1.0), i as usize, "{text}");
    }
    assert_eq!(visits.bucket(49.0), 48);
}

#[test]
fn a_histogram_has_the_grid_of_its_buckets() {
    let buckets = buckets(-3.0, 7.0, 5);
    let grid = buckets.grid();
    let histogram = Histogram::new(buckets, false, Epsilon::new(Some(1.0)).expect("epsilon"));
    assert_eq!(histogram.grid(), Some(grid));
}

#[test]
fn numbers_of_buckets_are_checked() {
    let bounds = |lo, hi| Bounds::new(Some(lo), Some(hi)).expect("bounds");
    let unit = bounds(0.0, 1.0);
    for count in [None, Some(0), Some(MOST + 1), Some(usize::MAX)] {
        let error = Buckets::new(&unit, count).expect_err("refused");
        assert_eq!(error.argument, "buckets");
        assert!(error.message.contains("1 to 100000") && !error.hint.is_empty());
    }
    for (lo, hi, count) in [
        (0.0, 5e-324, 1),
        (1.0, 1.0 + 7.0 * f64::EPSILON, 1),
        (1e15, 1e15 + 1.0, 2),
        (-1e300, -1e300 + 1e287, MOST),
    ] {
        let error = Buckets::new(&bounds(lo, hi), Some(count)).expect_err("refused");
        assert_eq!(error.argument, "buckets");
        assert!(!error.message.contains("1 to 100000") && !error.hint.is_empty());
    }
}

fn built(epsilon: f64, buckets: usize, text: &str, factor: f64) -> Box<Histogram> {
    let arguments = Arguments {
        bounds: Some((Some(0.0), Some(1.0))),
        epsilon: Some(epsilon),
        length: Some(buckets),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    #[cfg(feature = "testing")]
    let built = HISTOGRAM.build_with_budget_times(factor, &arguments);
    #[cfg(not(feature = "testing"))]
    let built = (factor == 1.0)
        .then(|| HISTOGRAM.build(&arguments))
        .expect("no factor");
    built.expect("a histogram")
}

/// What the state holds for these rows, as the aggregate adds them up.
fn totals(histogram: &Histogram, rows: &[f64]) -> Totals {
    let buckets = histogram.buckets();
    let mut totals = Totals::new(buckets.count());
    for x in rows {
        let bucket = match histogram.drops() {
            true => buckets.bucket_within(*x),
            false => Some(buckets.bucket(*x)),
        };
        if let Some(bucket) = bucket {
            totals.n += 1;
            totals.s[bucket] += 1;
        }
    }
    totals
}

/// Over all tables of at most three rows, all rows more, and all noisy histograms in a window: the
/// largest ratio of their probabilities, for noise of scale `1 / noise`.
fn worst(histogram: &Histogram, noise: f64) -> f64 {
    let d = histogram.buckets().count();
    let some = [-5.0, 0.0, 0.2, 0.5, 0.7, 1.0, 9.0, f64::INFINITY];
    let mut tables: Vec<Vec<f64>> = vec![Vec::new()];
    for size in 0..3 {
        let longer: Vec<Vec<f64>> = tables
            .iter()
            .filter(|table| table.len() == size)
            .flat_map(|table| some.map(|x| [table.as_slice(), &[x]].concat()))
            .collect();
        tables.extend(longer);
    }
    let loss = |from: &Totals, to: &[i128]| -> f64 {
        let pairs = from.s.iter().zip(to);
        pairs.map(|(a, b)| noise * (a - b).abs() as f64).sum()
    };
    let side = 7usize;
    let mut worst = 0.0f64;
    for table in tables.iter().step_by(3) {
        let here = totals(histogram, table);
        for x in some {
            let there = totals(histogram, &[table.as_slice(), &[x]].concat());
            let moved: i128 = here.s.iter().zip(&there.s).map(|(a, b)| b - a).sum();
            let most = here
                .s
                .iter()
                .zip(&there.s)
                .map(|(a, b)| (b - a).abs())
                .sum();
            assert!(moved == most && most <= 1, "a row is in one bucket at most");
            for output in 0..side.pow(d as u32) {
                let digit = |i: usize| (output / side.pow(i as u32) % side) as i128 - 2;
                let output: Vec<i128> = (0..d).map(digit).collect();
                worst = worst.max((loss(&here, &output) - loss(&there, &output)).abs());
            }
        }
    }
    worst
}

#[test]
fn histograms_are_private_and_tight() {
    for epsilon in [0.1, 1.0, 2.5] {
        for count in 1..=3 {
            for text in ["geometric", "geometric(outside=drop)"] {
                let worst = worst(&built(epsilon, count, text, 1.0), epsilon);
                assert!((worst / epsilon - 1.0).abs() < 1e-12, "{worst} {epsilon}");
            }
        }
    }
    // Noise for twice the budget is caught.
    assert!(worst(&built(1.0, 2, "geometric", 1.0), 2.0) > 1.5);
}

#[test]
fn noise_does_not_depend_on_the_data() {
    let histogram = built(0.7, 5, "geometric", 1.0);
    let noise = |s: Vec<i128>| {
        let noisy = histogram.release_from(&Totals { n: 9, s: s.clone() }, &mut Seeded::new(4));
        let pairs = noisy.iter().zip(&s);
        pairs.map(|(a, b)| i128::from(*a) - b).collect::<Vec<_>>()
    };
    let empty = noise(vec![0; 5]);
    for s in [vec![1, 0, 0, 7, 0], vec![1 << 40; 5], vec![-3, 9, 12, 1, 0]] {
        assert_eq!(noise(s), empty);
    }
    // Nor on a state that is shorter than it should be, and it stays in range.
    let none = histogram.release_from(&Totals::new(0), &mut Seeded::new(4));
    assert_eq!(none.len(), 5);
    let s = vec![i128::MAX, i128::MIN, i128::from(i64::MAX), 0, 1];
    let wide = histogram.release_from(&Totals { n: 0, s }, &mut Seeded::new(4));
    assert_eq!((wide[0], wide[1]), (i64::MAX, i64::MIN));
}

/// How far the noise of two buckets is from the distribution of two independent ones: draws in cells.
fn pairs(epsilon: f64, factor: f64) -> (u64, Vec<(u64, f64)>) {
    let histogram = built(epsilon, 2, "geometric", factor);
    let (totals, mut words) = (totals(&histogram, &[0.1, 0.7, 0.8]), Seeded::new(6));
    let draws = 200_000;
    let mut seen: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    for _ in 0..draws {
        let noisy = histogram.release_from(&totals, &mut words);
        *seen.entry((noisy[0] - 1, noisy[1] - 2)).or_default() += 1;
    }
    let epsilon = Epsilon::new(Some(epsilon)).expect("epsilon").value();
    let reach = -6..=6;
    let cells = reach
        .clone()
        .flat_map(|x| reach.clone().map(move |y| (x, y)));
    let cells = cells.map(|(x, y)| {
        let p = distribution::two_sided_geometric(x, epsilon)
            * distribution::two_sided_geometric(y, epsilon);
        (seen.get(&(x, y)).copied().unwrap_or(0), p)
    });
    (draws, cells.collect())
}

#[test]
fn buckets_have_independent_geometric_noise() {
    for epsilon in [0.3, 1.0, 3.0] {
        let (draws, cells) = pairs(epsilon, 1.0);
        assert_law(&format!("a histogram at {epsilon}"), draws, cells);
    }
}

#[cfg(feature = "testing")]
#[test]
fn half_the_noise_is_caught() {
    let (draws, cells) = pairs(1.0, 2.0);
    let caught = std::panic::catch_unwind(|| assert_law("half the noise", draws, cells));
    assert!(caught.is_err());
}

#[test]
fn the_largest_histogram_does_not_panic() {
    for epsilon in [Epsilon::MIN, 50.0] {
        let histogram = built(epsilon, MOST, "geometric(outside=clamp)", 1.0);
        let totals = totals(&histogram, &values());
        assert_eq!(totals.s.iter().sum::<i128>(), values().len() as i128);
        let noisy = histogram.release_from(&totals, &mut Seeded::new(8));
        assert_eq!(noisy.len(), MOST);
    }
}
