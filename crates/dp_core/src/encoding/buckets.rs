//! Where a row is counted: the buckets of a histogram, and bins of magnitudes. Each row is in one,
//! by a fixed function of its value and of public numbers.

use crate::encoding::grid::{Bounds, Grid, STEPS};
use crate::error::ParameterError;
use crate::memory;

/// The most buckets of a histogram.
pub const MOST: usize = 100_000;

/// Above this width, a width times a number of buckets might overflow.
const WIDE: f64 = 1e300;

/// Buckets of equal width between two public bounds. Plain numbers, cheap to make for each row.
#[derive(Clone, Copy, Debug)]
pub struct Buckets {
    grid: Grid,
    count: u64,
}

impl Buckets {
    /// Checks a call's number of buckets: `None` is NULL, or what no number of buckets can be.
    ///
    /// # Errors
    /// Not from 1 to [`MOST`], or that many that a bucket is narrower than 8 of the gaps between
    /// neighbouring floats near the bounds: its edges would be rounded away.
    pub fn new(bounds: &Bounds, count: Option<usize>) -> Result<Self, ParameterError> {
        let hint = "Give the number of buckets between lo and hi, a constant: 10 to 100 is usual.";
        Self::named("buckets", bounds, count, hint)
    }

    /// As above, for the cells below that many points, and the last one is `hi`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn points(bounds: &Bounds, count: Option<usize>) -> Result<Self, ParameterError> {
        let hint = "Give the number of points between lo and hi, a constant: 100 to 1000 is usual.";
        Self::named("points", bounds, count, hint)
    }

    fn named(
        argument: &'static str,
        bounds: &Bounds,
        count: Option<usize>,
        hint: &str,
    ) -> Result<Self, ParameterError> {
        let Some(count) = count.filter(|count| (1..=MOST).contains(count)) else {
            return Err(ParameterError::new(
                argument,
                "must be a number from 1 to 100000, and not NULL",
                hint,
            ));
        };
        let gap = (bounds.magnitude() * f64::EPSILON).max(f64::from_bits(1));
        if bounds.width() / (count as f64) < 8.0 * gap {
            return Err(ParameterError::new(
                argument,
                "is more than float8 can distinguish between \"lo\" and \"hi\"",
                format!(
                    "Give fewer {argument}, or subtract a constant from the column and from its bounds."
                ),
            ));
        }
        Ok(Self::of(Grid::unit(bounds), count))
    }

    /// That many buckets between the bounds of a grid on which `lo` is step 0.
    #[inline(always)]
    pub fn of(grid: Grid, count: usize) -> Self {
        let count = count as u64;
        Self { grid, count }
    }

    /// The grid that carries the bounds.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The lower edge of bucket `i`, counted from 0: `lo` of the first, `hi` after the last.
    /// `lo + i (hi - lo) / count`, each operation rounded.
    #[inline(always)]
    pub fn edge(&self, i: u64) -> f64 {
        let (lo, hi) = (self.grid.lo(), self.grid.hi());
        let (width, i, count) = (hi - lo, i as f64, self.count as f64);
        // Each operation is monotone in `i`, and so is the edge.
        let offset = if width > WIDE {
            width * (i / count)
        } else {
            width * i / count
        };
        let edge = lo + offset;
        if i < count && edge < hi { edge } else { hi }
    }

    /// All edges, one more than buckets.
    pub fn edges(&self) -> Vec<f64> {
        let edges = (0..=self.count).map(|i| self.edge(i));
        memory::vector(self.count as usize + 1, edges)
    }

    /// The bucket of a row, counted from 0: the last one whose lower edge is not above `x`; the
    /// first one for values below `lo`, the last one for `hi` and above. Whatever `x` is, it is
    /// below the number of buckets. Cannot panic: the hot path calls it for each row.
    ///
    /// The grid has 2^32 steps and says which bucket it is but for roundings: with buckets as wide
    /// as [`new`](Self::new) has them, the edges are off by less than half a bucket, the grid by
    /// less than a quarter, so that the bucket is the one found or one beside it.
    #[inline(always)]
    pub fn bucket(&self, x: f64) -> usize {
        const { assert!(STEPS == 1 << 32 && (MOST as u64) < 1 << 31) };
        let last = self.count.wrapping_sub(1);
        let near = (self.grid.steps(x) as u64).wrapping_mul(self.count) >> 32;
        let near = near.min(last);
        let bucket = if x < self.edge(near) {
            near.saturating_sub(1)
        } else if x >= self.edge(near + 1) {
            (near + 1).min(last)
        } else {
            near
        };
        bucket as usize
    }

    /// The same, or `None` for values outside of `[lo, hi]`.
    #[inline(always)]
    pub fn bucket_within(&self, x: f64) -> Option<usize> {
        (x >= self.grid.lo() && x <= self.grid.hi()).then(|| self.bucket(x))
    }
}
