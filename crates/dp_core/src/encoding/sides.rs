//! Where a row is by two public bounds: below, inside or above. Each row is in one of the three, by
//! a fixed function of its value and the bounds.

use crate::encoding::grid::Grid;

/// Below, inside, above.
pub const SIDES: usize = 3;

/// The side of a row by the bounds of a grid: 0 below `lo`, 1 from `lo` to `hi`, both included, 2
/// above `hi`. Inside are the values that clamping does not change. Compared as they are, with no
/// arithmetic, so no width of the bounds and no magnitude of `x` can round a row to another side.
/// Below [`SIDES`] whatever `x` is (a NaN, which the aggregates ignore before they come here, would be
/// below). Cannot panic: the hot path calls it for each row.
#[inline(always)]
pub fn side(grid: &Grid, x: f64) -> usize {
    usize::from(x >= grid.lo()) + usize::from(x > grid.hi())
}
