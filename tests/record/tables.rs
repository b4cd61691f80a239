//! Pairs of neighbouring tables, with values that mechanisms might go wrong at.

use dp_core::encoding::grid::STEPS;
use dp_mean_tests::mix::Mix;

use super::PAIRS;

/// A row; `None` is NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub x: Option<f64>,
    pub y: Option<f64>,
}

/// What the second table of a pair differs by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// That many rows more or less.
    AddRemove(usize),
    /// One row replaced by another.
    Replace,
}

/// Two tables, and the rows that only one of them has.
#[derive(Clone, Debug)]
pub struct Pair {
    pub tables: [Vec<Row>; 2],
    pub own: [Vec<Row>; 2],
    pub position: usize,
}

/// A value of a kind that mechanisms might go wrong at.
pub fn any_value(mix: &mut Mix, (lo, hi): (f64, f64)) -> Option<f64> {
    let edge = if mix.below(2) == 0 { lo } else { hi };
    let sign = if mix.below(2) == 0 { 1.0 } else { -1.0 };
    let inside = lo + (hi - lo) * mix.unit();
    Some(match mix.below(16) {
        0 => return None,
        1 => f64::NAN,
        2 => sign * f64::INFINITY,
        3 | 4 => edge,
        5 => edge.next_up(),
        6 => edge.next_down(),
        7 => sign * f64::from_bits(mix.word() >> 13),
        8 => sign * 5e-324,
        9 => sign * 0.0,
        10 => sign * f64::MAX,
        11 => f64::from_bits(mix.word()),
        // On the border of two grid steps, and of two buckets.
        12 => lo + (hi - lo) * ((mix.below(8) as f64 + 0.5) / STEPS as f64),
        13 => lo + (hi - lo) * (mix.below(9) as f64 / 8.0),
        // Near the scale of the means without bounds, whatever these bounds are.
        14 => sign * 12.0 * mix.unit(),
        _ => inside,
    })
}

pub fn any_row(mix: &mut Mix, bounds: (f64, f64), others: &[Row]) -> Row {
    if !others.is_empty() && mix.below(4) == 0 {
        return others[mix.below(others.len())];
    }
    Row {
        x: any_value(mix, bounds),
        y: any_value(mix, bounds),
    }
}

/// The first two pairs are of an empty table.
pub fn pairs(relation: Relation, bounds: (f64, f64)) -> Vec<Pair> {
    let mut mix = Mix(bounds.1.to_bits());
    let pair = |number: usize| {
        let length = if number < 2 { 0 } else { mix.below(13) };
        let mut table = Vec::new();
        for _ in 0..length {
            let row = any_row(&mut mix, bounds, &table);
            table.push(row);
        }
        let position = mix.below(length + 1);
        let mut draw =
            |n: usize| -> Vec<Row> { (0..n).map(|_| any_row(&mut mix, bounds, &table)).collect() };
        let mut own = match relation {
            Relation::AddRemove(rows) => [Vec::new(), draw(rows)],
            Relation::Replace => [draw(1), draw(1)],
        };
        // A row is removed as often as added.
        if number % 2 == 1 {
            own.reverse();
        }
        let tables = own.each_ref().map(|own| {
            let mut table = table.clone();
            table.splice(position..position, own.iter().copied());
            table
        });
        Pair {
            tables,
            own,
            position,
        }
    };
    (0..PAIRS).map(pair).collect()
}
