//! A line without ends, cut into cells: for mechanisms that know no bounds of the rows.
//!
//! A row becomes the number of its cell and the steps from that cell's lower edge, by a fixed
//! function of that row alone; a group is the number of rows in each cell, and the sum of their
//! steps. As with [`grid`](crate::encoding::grid) these are integers, so that no order of rows and no split
//! into parts changes them.
//!
//! The cells start at an offset that was drawn at random, without a look at the rows. Rows are
//! rounded down to steps from there, so the rounding does not favour any place: half a step more,
//! which [`CellCounts::sum_between`] adds, makes it even.

use crate::memory;

/// Steps in a cell. Sums in a cell fit 64 bits up to 2^40 rows.
pub const STEPS: u64 = 1 << 24;

/// The cells end that many from 0, where a `float8` has few digits left for a fraction: rows beyond,
/// and infinities, count as there.
pub const LAST: i64 = 1 << 50;

const FARTHEST: f64 = LAST as f64;

/// The map from a row to its cell. Plain numbers, so that an aggregate's state can carry it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Line {
    /// Cells in one unit of the column.
    per_unit: f64,
    /// The width of a cell.
    width: f64,
    /// The lower edge of cell 0, in cells.
    offset: f64,
}

impl Line {
    /// Cells of this width, from 1e-292 to 1e291, with the lower edge of cell 0 at `offset` widths.
    pub fn new(width: f64, offset: f64) -> Self {
        Self {
            per_unit: 1.0 / width,
            width,
            offset,
        }
    }

    /// The lower edge of cell 0, in cells.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// Whether two lines are the same, bit by bit.
    pub fn same(&self, other: &Self) -> bool {
        self.offset.to_bits() == other.offset.to_bits() && self.same_cells(other)
    }

    /// Whether their cells are as wide.
    pub fn same_cells(&self, other: &Self) -> bool {
        self.width.to_bits() == other.width.to_bits()
    }

    /// The cell of a row, within 2^50 of 0, and its steps from that cell's lower edge, below
    /// [`STEPS`]. A NaN, which the aggregates ignore before they come here, counts as -2^50.
    ///
    /// Depends on `x` and the line alone. Cannot panic: the hot path calls it for each row.
    #[inline(always)]
    pub fn cell_of(&self, x: f64) -> (i64, u64) {
        let z = x * self.per_unit - self.offset;
        let z = if z > -FARTHEST { z } else { -FARTHEST };
        let z = if z < FARTHEST { z } else { FARTHEST };
        // The cast drops the fraction, which for a negative number is up.
        let cell = z as i64;
        let cell = cell - i64::from((cell as f64) > z);
        let steps = ((z - cell as f64) * STEPS as f64) as u64;
        (cell, if steps < STEPS { steps } else { STEPS - 1 })
    }

    /// The value at that many cells from the lower edge of cell 0, kept finite.
    pub fn value(&self, cells: f64) -> f64 {
        ((cells + self.offset) * self.width).clamp(f64::MIN, f64::MAX)
    }
}

/// What a cell holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Rows.
    pub count: u64,
    /// Sum of their steps from the lower edge.
    pub steps: u64,
}

/// Cells that hold a row, in order of their numbers, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells(Vec<(i64, Content)>);

impl Cells {
    /// Of that many cells in any order.
    pub fn of(count: usize, cells: impl IntoIterator<Item = (i64, Content)>) -> Self {
        let mut cells = memory::vector(count, cells);
        cells.sort_unstable_by_key(|(cell, _)| *cell);
        cells.dedup_by_key(|(cell, _)| *cell);
        Self(cells)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, Content)> {
        self.0.iter().copied()
    }

    /// Takes in what a cell holds, unless there are [`MOST`] others already; whether it did.
    fn add(&mut self, cell: i64, content: Content) -> bool {
        match self.0.binary_search_by_key(&cell, |(known, _)| *known) {
            Ok(place) => {
                let (_, held) = &mut self.0[place];
                held.count = held.count.wrapping_add(content.count);
                held.steps = held.steps.wrapping_add(content.steps);
            }
            Err(_) if self.count() == MOST => return false,
            Err(place) => self.0.insert(place, (cell, content)),
        }
        true
    }
}

/// What a group is: how its rows lie in cells.
#[derive(Clone, Debug)]
pub struct CellCounts {
    /// Where the cells lie.
    pub line: Line,
    /// Rows, in cells or not.
    pub n: i64,
    /// The cells that hold a row.
    pub cells: Cells,
    /// Whether rows were left out, because more than [`MOST`] cells would hold one.
    pub full: bool,
}

/// The most cells that a group's memory is spent on.
pub const MOST: usize = 1 << 18;

impl CellCounts {
    /// No rows yet.
    pub fn new(line: Line) -> Self {
        Self {
            line,
            n: 0,
            cells: Cells::default(),
            full: false,
        }
    }

    /// Takes in a row in this place.
    pub fn add(&mut self, (cell, steps): (i64, u64)) {
        self.n = self.n.wrapping_add(1);
        self.full |= !self.cells.add(cell, Content { count: 1, steps });
    }

    /// The sum of the rows, each brought between the lower edges of two cells and counted from the
    /// first of them, in halves of a step: a row inside counts as the middle of its step, and one
    /// outside as 0 or as `2 STEPS (to - from)`.
    pub fn sum_between(&self, from: i64, to: i64) -> i128 {
        let half_steps = |cells: i64| 2 * i128::from(STEPS) * i128::from(cells);
        let (mut sum, mut counted) = (0i128, 0i128);
        for (cell, content) in self.cells.iter().take_while(|(cell, _)| *cell < to) {
            let count = i128::from(content.count);
            counted = counted.wrapping_add(count);
            if cell >= from {
                let inside = 2 * i128::from(content.steps) + count;
                sum = sum.wrapping_add(count * half_steps(cell - from) + inside);
            }
        }
        // Of rows in no cell it is not known where they are; they count as above.
        let above = i128::from(self.n).wrapping_sub(counted);
        sum.wrapping_add(above.wrapping_mul(half_steps(to - from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [f64; 17] = [
        0.0,
        -0.0,
        0.25,
        -0.25,
        1.0,
        -1.0,
        1.5,
        -7.75,
        1e9,
        -1e15,
        1e300,
        -1e300,
        5e-324,
        -1e-308,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];

    #[test]
    fn every_row_has_a_place() {
        for width in [1e-292, 1e-10, 1.0, 3.0, 1e291] {
            for offset in [0.0, 0.3, 9.99] {
                let line = Line::new(width, offset);
                for x in NUMBERS.into_iter().chain([f64::NAN]) {
                    let (cell, steps) = line.cell_of(x);
                    assert!(cell.unsigned_abs() <= 1 << 50 && steps < STEPS);
                    assert!(line.value(cell as f64).is_finite());
                    let position = cell as f64 + steps as f64 / STEPS as f64;
                    let inside = (x / width).abs() < FARTHEST / 2.0;
                    if inside {
                        let error = (position + offset - x / width).abs();
                        assert!(error < 1.01 / STEPS as f64 + (x / width).abs() * 1e-15);
                    }
                }
            }
        }
    }

    #[test]
    fn a_mirror_mirrors_places() {
        // Off the edges: a step's lower edge belongs to it, and in a mirror the upper one would.
        let (line, mirror) = (Line::new(1.0, 0.3), Line::new(1.0, -0.3));
        for x in NUMBERS.into_iter().filter(|x| x.abs() < 1e6) {
            let (cell, steps) = line.cell_of(x);
            assert_eq!(mirror.cell_of(-x), (-1 - cell, STEPS - 1 - steps), "{x}");
        }
    }

    #[test]
    fn lines_are_the_same_bit_by_bit() {
        let line = Line::new(1.0, 0.0);
        assert!(line.same(&Line::new(1.0, 0.0)) && line.same_cells(&line));
        for other in [Line::new(1.0, -0.0), Line::new(1.0, 0.5)] {
            assert!(!line.same(&other) && line.same_cells(&other));
        }
        let wider = Line::new(1f64.next_up(), 0.0);
        assert!(!line.same(&wider) && !line.same_cells(&wider));
    }

    #[test]
    fn sums_between_clamp_each_row() {
        let line = Line::new(2.0, 0.125);
        let mut histogram = CellCounts::new(line);
        let rows = [-9.0, -3.5, -0.5, 0.0, 0.75, 2.0, 3.0, 3.25, 8.0, 1e12];
        for x in rows {
            histogram.add(line.cell_of(x));
        }
        for (from, to) in [(-1, 1), (0, 2), (-8, -4), (3, 9), (-100, 100)] {
            let (lo, hi) = (line.value(from as f64), line.value(to as f64));
            let expected: f64 = rows.iter().map(|x| (x.clamp(lo, hi) - lo) / 2.0).sum();
            let sum = histogram.sum_between(from, to) as f64 / (2 * STEPS) as f64;
            assert!((sum - expected).abs() <= 10.0 / STEPS as f64, "{from} {to}");
        }
    }
}
