//! Rows in cells, and the sum of those that coins chose.

use crate::encoding::cells::{CellCounts, Line, STEPS};

/// What a group is: how its rows lie in cells, and the rows that coins chose.
#[derive(Clone, Debug)]
pub struct CoinedCounts {
    /// All rows.
    pub cells: CellCounts,
    /// Those that were chosen.
    pub chosen: Chosen,
}

impl CoinedCounts {
    /// No rows yet.
    pub fn new(line: Line) -> Self {
        Self {
            cells: CellCounts::new(line),
            chosen: Chosen::default(),
        }
    }
}

/// Rows that a coin has chosen: their number, and the sum of their steps from cell 0's lower edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Rows.
    pub count: u64,
    /// Sum of steps.
    pub steps: i128,
}

impl Chosen {
    /// Takes in a row in this place.
    pub fn add(&mut self, (cell, steps): (i64, u64)) {
        self.count = self.count.wrapping_add(1);
        let steps = i128::from(cell) * i128::from(STEPS) + i128::from(steps);
        self.steps = self.steps.wrapping_add(steps);
    }

    /// Takes in the rows of another part.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.steps = self.steps.wrapping_add(other.steps);
    }

    /// The sum of the rows, in cells from 0: the middle of each row's step.
    pub fn sum(&self, line: &Line) -> f64 {
        let count = self.count as f64;
        self.steps as f64 / STEPS as f64 + count * (line.offset() + 0.5 / STEPS as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_rows_add_up() {
        let line = Line::new(2.0, 0.125);
        let rows = [-9.0, -3.5, -0.5, 0.0, 0.75, 2.0, 3.0, 3.25, 8.0];
        let (mut one, mut other) = (Chosen::default(), Chosen::default());
        for (i, x) in rows.into_iter().enumerate() {
            let part = if i % 3 == 0 { &mut one } else { &mut other };
            part.add(line.cell_of(x));
        }
        one.merge(&other);
        assert_eq!(one.count, 9);
        let expected = rows.iter().sum::<f64>() / 2.0;
        assert!((one.sum(&line) - expected).abs() <= 9.0 * 0.5 / STEPS as f64);
        assert_eq!(Chosen::default().sum(&line), 0.0);
    }
}
