//! Any order of the rows, any split into parts and any order of merging gives the same sums.

use dp_core::encoding::contribution::PersonRows;
use dp_core::encoding::grid::{Bounds, COARSE_STEPS, Grid, STEPS};
use dp_core::encoding::sums::{Moments, Sums};
use dp_core::random::Bits;
use dp_core::sampler::uniform::below;

use crate::words::Seeded;

const SPECIAL: [f64; 14] = [
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-310,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    f64::EPSILON,
    1e300,
    -1e300,
    f64::NAN,
];

fn shuffle<T>(items: &mut [T], words: &mut Seeded) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(i as u64 + 1, words) as usize);
    }
}

fn sum(grid: &Grid, rows: &[f64]) -> Sums {
    let mut sums = Sums::default();
    for x in rows {
        sums.add(grid.steps(*x));
    }
    sums
}

#[test]
fn order_and_splits_do_not_matter() {
    let mut words = Seeded::new(3);
    for (lo, hi) in [
        (0.0, 1.0),
        (-1e300, 1e300),
        (-0.0, 1e-300),
        (1e6, 1e6 + 1.0),
        (-7.5, 2.0),
    ] {
        let bounds = Bounds::new(Some(lo), Some(hi)).unwrap();
        for grid in [Grid::unit(&bounds), Grid::signed(&bounds)] {
            for _ in 0..200 {
                let mut rows: Vec<f64> = (0..below(80, &mut words))
                    .map(|_| match below(3, &mut words) {
                        0 => SPECIAL[below(SPECIAL.len() as u64, &mut words) as usize],
                        // Any bits at all.
                        1 => f64::from_bits(words.word()),
                        _ => lo + (hi - lo) * (words.word() as f64 / 2f64.powi(64)),
                    })
                    // As the aggregates do.
                    .filter(|x| !x.is_nan())
                    .collect();
                let expected = sum(&grid, &rows);
                assert_eq!(expected.n, rows.len() as i64);
                assert!(expected.s.unsigned_abs() <= rows.len() as u128 * u128::from(STEPS));

                shuffle(&mut rows, &mut words);
                let mut parts = Vec::new();
                let mut rest = rows.as_slice();
                while !rest.is_empty() {
                    let (part, others) =
                        rest.split_at(below(rest.len() as u64 + 1, &mut words) as usize);
                    parts.push(sum(&grid, part));
                    rest = others;
                }
                // An empty part changes nothing.
                parts.push(Sums::default());
                shuffle(&mut parts, &mut words);
                // Merge any two until one is left.
                while parts.len() > 1 {
                    let one = parts.swap_remove(below(parts.len() as u64, &mut words) as usize);
                    let into = below(parts.len() as u64, &mut words) as usize;
                    parts[into].merge(&one);
                }
                assert_eq!(parts[0], expected);
            }
        }
    }
}

/// What a person contributes is made of exact sums, so it is the same bit by bit.
#[test]
fn a_contribution_depends_on_neither_order_nor_splits() {
    let mut words = Seeded::new(5);
    for _ in 0..2000 {
        let mut rows: Vec<u64> = (0..1 + below(40, &mut words))
            .map(|_| below(STEPS + 1, &mut words))
            .collect();
        let added = |rows: &[u64]| {
            let mut person = PersonRows::default();
            rows.iter().for_each(|t| person.add(*t));
            person
        };
        let expected = added(&rows);
        shuffle(&mut rows, &mut words);
        let (one, other) = rows.split_at(below(rows.len() as u64 + 1, &mut words) as usize);
        let (one, mut both) = (added(one), added(other));
        both.merge(&one);
        both.merge(&PersonRows::default());
        assert_eq!(both, expected);
        for k in [1, 3, 100] {
            let given = both.contribution(k).unwrap();
            let sum: u128 = rows.iter().map(|t| u128::from(*t)).sum();
            let (n, kept) = (rows.len() as u128, u128::from(given.rows()));
            assert_eq!(kept, n.min(u128::from(k)));
            assert_eq!(u128::from(given.sum()), sum * kept / n);
        }
    }
}

/// Beyond 2^53, where a float would lose the last digits of a sum.
#[test]
fn a_row_counts_in_full_whatever_the_sum_is() {
    for places in [0, 24, 52, 53, 54, 62, 95] {
        for s in [1i128 << places, -(1 << places)] {
            for t in [1, -1, 3, STEPS as i64 - 1, STEPS as i64] {
                let mut sums = Sums { n: 7, s };
                sums.add(t);
                let s = s + i128::from(t);
                assert_eq!(sums, Sums { n: 8, s });
                let (other, squares) = (Sums { n: 2, s: 5 }, (1 << 100) - 1);
                sums.merge(&other);
                assert_eq!(sums, Sums { n: 10, s: s + 5 });
                let t = t.unsigned_abs().min(COARSE_STEPS);
                let mut moments = Moments {
                    n: 7,
                    s,
                    q: squares,
                };
                moments.add(t);
                let (s, t) = (s + i128::from(t), i128::from(t));
                let q = squares + t * t;
                assert_eq!(moments, Moments { n: 8, s, q });
                moments.merge(&Moments { n: 2, s: 5, q: 9 });
                let (s, q) = (s + 5, q + 9);
                assert_eq!(moments, Moments { n: 10, s, q });
            }
        }
    }
}

#[test]
fn a_row_is_on_the_grid_where_it_should_be() {
    let mut words = Seeded::new(4);
    let bounds = Bounds::new(Some(-2.0), Some(6.0)).unwrap();
    let grid = Grid::unit(&bounds);
    let unit = 8.0 / STEPS as f64;
    for _ in 0..10_000 {
        let x = -2.0 + 8.0 * (words.word() as f64 / 2f64.powi(64));
        let back = -2.0 + grid.steps(x) as f64 * unit;
        assert!((x - back).abs() <= 0.5 * unit);
    }
}
