//! The grid: every row becomes an integer number of steps by a fixed function of that row alone.
//!
//! More of it: docs/proofs/grid.md.

use crate::error::ParameterError;

/// Grid steps in one unit of sensitivity: 2^32. Rounding to it moves a row by at most
/// `unit * 2^-33`, far below the noise; sums of 2^63 rows fit an `i128` with room to spare.
pub const STEPS: u64 = 1 << 32;

/// Steps of the coarser grid of means of squares: 2^24. Squares of its steps are below 2^49, where
/// noise can still be drawn exactly; a row moves by at most `unit * 2^-25`, and the standard
/// deviation of any rows by no more than that.
pub const COARSE_STEPS: u64 = 1 << 24;

/// Steps of the grid of each of two columns: 2^23. Products of two of its steps are at most 2^46, and nine of those
/// below 2^50, where noise can still be drawn exactly; a row moves by at most `unit * 2^-24`.
pub const PAIR_STEPS: u64 = 1 << 23;

/// Public bounds of a column: finite, `lo < hi`, and `hi - lo` finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    lo: f64,
    hi: f64,
}

impl Bounds {
    /// Checks a call's bounds.
    ///
    /// # Errors
    /// NULL (`None`), not finite, `lo >= hi`, or `hi - lo` too large for a `float8`.
    pub fn new(lo: Option<f64>, hi: Option<f64>) -> Result<Self, ParameterError> {
        Self::named(["lo", "hi"], lo, hi)
    }

    /// As above, for arguments with these names.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn named(
        [lower, upper]: [&'static str; 2],
        lo: Option<f64>,
        hi: Option<f64>,
    ) -> Result<Self, ParameterError> {
        let finite = |argument, value: Option<f64>| match value {
            Some(value) if value.is_finite() => Ok(value),
            Some(_) => Err(ParameterError::new(
                argument,
                "must be a finite number",
                "Give public bounds that most values lie between; values outside are clamped.",
            )),
            None => Err(ParameterError::new(
                argument,
                "must not be NULL",
                "Give public bounds that most values lie between; values outside are clamped.",
            )),
        };
        let (lo, hi) = (finite(lower, lo)?, finite(upper, hi)?);
        if lo >= hi {
            return Err(ParameterError::new(
                upper,
                format!("must be greater than argument \"{lower}\""),
                format!("Bounds are given as {lower}, {upper}: the smaller first."),
            ));
        }
        if !(hi - lo).is_finite() {
            return Err(ParameterError::new(
                upper,
                format!("is too far from argument \"{lower}\": {upper} - {lower} must be finite"),
                "Bring the bounds nearer to each other, or divide the column by a constant.",
            ));
        }
        Ok(Self { lo, hi })
    }

    /// The lower bound.
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// The upper bound.
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// `hi - lo`: the sensitivity of a sum of distances from a bound.
    pub fn width(&self) -> f64 {
        self.hi - self.lo
    }

    /// The larger of `|lo|` and `|hi|`: the sensitivity of an unshifted sum.
    pub fn magnitude(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
}

/// The map from a row's value to its grid steps. Plain numbers, so that an aggregate's state can
/// carry it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Grid {
    lo: f64,
    hi: f64,
    /// The value that is zero steps: `lo`, or 0 for a sum.
    origin: f64,
    /// `STEPS / unit`, or 0 where that overflows or loses digits (a tiny or a huge `unit`).
    scale: f64,
}

impl Grid {
    /// The grid of an aggregate that adds no values.
    pub const NONE: Self = Self {
        lo: 0.0,
        hi: 0.0,
        origin: 0.0,
        scale: 0.0,
    };

    /// The grid of an aggregate that adds no values, where a row may be several: its state is never taken for
    /// one of rows that are counted one by one.
    pub const SEVERAL: Self = Self {
        lo: 1.0,
        ..Self::NONE
    };

    /// `lo` is step 0, `hi` is step `STEPS`: for means. A row gives 0 to `STEPS`.
    pub fn unit(bounds: &Bounds) -> Self {
        Self::new(bounds, bounds.lo)
    }

    /// 0 is step 0, the bound larger in magnitude is `STEPS` or `-STEPS`: for sums.
    pub fn signed(bounds: &Bounds) -> Self {
        Self::new(bounds, 0.0)
    }

    /// Bounds with two more numbers, for rows that are not mapped to steps but to bins.
    pub(crate) fn carrying(bounds: &Bounds, origin: f64, scale: f64) -> Self {
        Self {
            lo: bounds.lo,
            hi: bounds.hi,
            origin,
            scale,
        }
    }

    #[inline(always)]
    fn new(bounds: &Bounds, origin: f64) -> Self {
        let mut grid = Self {
            lo: bounds.lo,
            hi: bounds.hi,
            origin,
            scale: 0.0,
        };
        let scale = STEPS as f64 / grid.value_of_steps();
        if scale.is_normal() {
            grid.scale = scale;
        }
        grid
    }

    /// Its numbers, to be kept in memory.
    pub fn words(&self) -> [u64; 4] {
        [self.lo, self.hi, self.origin, self.scale].map(f64::to_bits)
    }

    /// The grid of such numbers. Of any others it is one too, and what it maps rows to has the same limits.
    #[inline(always)]
    pub fn of_words(words: [u64; 4]) -> Self {
        let [lo, hi, origin, scale] = words.map(f64::from_bits);
        Self {
            lo,
            hi,
            origin,
            scale,
        }
    }

    /// The lower bound.
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// The upper bound.
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// The value, in the column's own unit, of `STEPS` grid steps.
    #[inline(always)]
    pub fn value_of_steps(&self) -> f64 {
        if self.origin == self.lo {
            self.hi - self.lo
        } else {
            self.lo.abs().max(self.hi.abs())
        }
    }

    /// The value that is zero steps.
    #[inline(always)]
    pub fn origin(&self) -> f64 {
        self.origin
    }

    /// The second number of [`carrying`](Self::carrying).
    #[inline(always)]
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// A value within the bounds, as [`steps`](Self::steps) clamps it. Cannot panic.
    #[inline(always)]
    pub(crate) fn clamped(&self, x: f64) -> f64 {
        let x = if x > self.lo { x } else { self.lo };
        if x < self.hi { x } else { self.hi }
    }

    /// This grid with its bounds exchanged: no call has such bounds, so that its rows are never taken
    /// for rows that [`steps`](Self::steps) alone maps.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self {
            lo: self.hi,
            hi: self.lo,
            ..*self
        }
    }

    /// Whether it is the grid that [`unit`](Self::unit) has for its bounds, of one that it or [`signed`](Self::signed)
    /// made. Cannot panic.
    #[inline(always)]
    pub fn is_unit(&self) -> bool {
        self.origin.to_bits() == self.lo.to_bits()
    }

    /// Whether two grids are the same, bit by bit.
    pub fn same(&self, other: &Self) -> bool {
        let bits = |g: &Self| [g.lo, g.hi, g.origin, g.scale].map(f64::to_bits);
        bits(self) == bits(other)
    }

    /// The name of a bound in which two grids differ.
    pub fn changed_bound(&self, other: &Self) -> Option<&'static str> {
        let differ = |one: f64, other: f64| one.to_bits() != other.to_bits();
        if differ(self.lo, other.lo) {
            Some("lo")
        } else if differ(self.hi, other.hi) {
            Some("hi")
        } else {
            None
        }
    }

    /// The grid steps of one row, between `-STEPS` and `STEPS` whatever `x` is (a NaN, which
    /// the aggregates ignore before they come here, would count as `lo`).
    ///
    /// Infinities and values outside the bounds are clamped; to nearest, ties to even. Depends
    /// on `x` and the public bounds alone. Cannot panic: the hot path calls it for each row.
    #[inline(always)]
    pub fn steps(&self, x: f64) -> i64 {
        // Each comparison sends what it cannot order, a NaN, to a bound too.
        let x = if x > self.lo { x } else { self.lo };
        let x = if x < self.hi { x } else { self.hi };
        let offset = x - self.origin;
        let steps = self.unrounded(offset);
        // Sensitivity is what privacy rests on, so it is forced here, whatever the roundings
        // above did.
        let bound = STEPS as f64;
        let steps = if steps > -bound { steps } else { -bound };
        let steps = if steps < bound { steps } else { bound };
        round_to_integer(steps)
    }

    /// As above, for a grid from `lo`, where they are not negative; others would count as 0. Cannot panic.
    #[inline(always)]
    pub fn steps_above(&self, x: f64) -> u64 {
        self.steps(x).max(0) as u64
    }

    /// The steps from the origin of a value that is not clamped to the bounds, but to 2^62 steps. Depends on `x`
    /// and the public bounds alone. Cannot panic.
    #[inline(always)]
    pub fn unclamped_steps(&self, x: f64) -> i64 {
        const BOUND: f64 = (1u64 << 62) as f64;
        let steps = self.unrounded(x - self.origin);
        let steps = if steps > -BOUND { steps } else { -BOUND };
        let steps = if steps < BOUND { steps } else { BOUND };
        // Beyond 2^50 a float has at most two digits for a fraction, which the cast drops.
        if steps.abs() < (1u64 << 50) as f64 {
            round_to_integer(steps)
        } else {
            steps as i64
        }
    }

    /// A distance from the origin in steps.
    #[inline(always)]
    fn unrounded(&self, offset: f64) -> f64 {
        if self.scale != 0.0 {
            offset * self.scale
        } else {
            offset / self.value_of_steps() * STEPS as f64
        }
    }
}

/// [`Grid::unit`] by the bounds alone, for the many states: half as long, and the rest is found again for
/// each row. Plain numbers, as they may be read from memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct UnitGrid {
    lo: f64,
    hi: f64,
}

impl UnitGrid {
    /// Of checked bounds.
    pub fn new(bounds: &Bounds) -> Self {
        let Bounds { lo, hi } = *bounds;
        Self { lo, hi }
    }

    /// The lower bound.
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// The upper bound.
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// The grid itself.
    #[inline(always)]
    pub fn grid(&self) -> Grid {
        let Self { lo, hi } = *self;
        Grid::new(&Bounds { lo, hi }, lo)
    }
}

impl Grid {
    /// The steps of one row on the coarser grid, between 0 and [`COARSE_STEPS`]: those of
    /// [`steps`](Self::steps) in units of 2^8, to nearest. For a grid from `lo`, where they are not
    /// negative; others would count as 0. Cannot panic, and depends on nothing else either.
    #[inline(always)]
    pub fn coarse_steps(&self, x: f64) -> u64 {
        self.steps_of(x, const { (STEPS / COARSE_STEPS).trailing_zeros() })
    }

    /// The same on the grid of two columns: between 0 and [`PAIR_STEPS`].
    #[inline(always)]
    pub fn pair_steps(&self, x: f64) -> u64 {
        self.steps_of(x, const { (STEPS / PAIR_STEPS).trailing_zeros() })
    }

    /// In units of 2^shift, for a shift above 0. `steps` is at most 2^32, so this is at most 2^(32 - shift).
    #[inline(always)]
    fn steps_of(&self, x: f64, shift: u32) -> u64 {
        (self.steps_above(x) + (1 << (shift - 1))) >> shift
    }
}

/// Rounds `|v| <= 2^50` to the nearest integer, ties to even: adding 1.5 * 2^52 leaves no
/// binary digit for a fraction, and the integer is in the low digits of the sum.
#[inline(always)]
fn round_to_integer(v: f64) -> i64 {
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    ((v + MAGIC).to_bits() as i64).wrapping_sub(MAGIC.to_bits() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(lo: f64, hi: f64) -> Bounds {
        Bounds::new(Some(lo), Some(hi)).unwrap()
    }

    #[test]
    fn ends_of_the_bounds_are_ends_of_the_grid() {
        for (lo, hi) in [
            (0.0, 1.0),
            (-3.0, 7.0),
            (1e300, 1.7e308),
            (1e6, 1e6 + 1.0),
            (-0.0, 1e-300),
            (0.0, 5e-324),
            (-1e-310, 1e-310),
            (-8e307, 8e307),
        ] {
            let grid = Grid::unit(&bounds(lo, hi));
            assert_eq!(grid.steps(lo), 0, "{lo} {hi}");
            assert_eq!(grid.steps(hi), STEPS as i64, "{lo} {hi}");
            assert_eq!(grid.steps(f64::NEG_INFINITY), 0);
            assert_eq!(grid.steps(f64::INFINITY), STEPS as i64);
            assert_eq!(grid.steps(f64::MAX), STEPS as i64);
            let signed = Grid::signed(&bounds(lo, hi));
            let far = if hi.abs() >= lo.abs() { hi } else { lo };
            assert_eq!(signed.steps(far).unsigned_abs(), STEPS, "{lo} {hi}");
            assert!(signed.steps(lo).unsigned_abs() <= STEPS);
        }
    }

    #[test]
    fn a_grid_is_found_again_by_its_bounds() {
        for (lo, hi) in [
            (0.0, 1.0),
            (-0.0, 1e-300),
            (-8e307, 8e307),
            (0.0, 5e-324),
            (1e6, 1e6 + 1.0),
        ] {
            let bounds = bounds(lo, hi);
            let by_bounds = UnitGrid::new(&bounds);
            assert!(by_bounds.grid().same(&Grid::unit(&bounds)), "{lo} {hi}");
            assert_eq!(
                [by_bounds.lo(), by_bounds.hi()].map(f64::to_bits),
                [lo, hi].map(f64::to_bits)
            );
            for x in [
                lo,
                hi,
                f64::NAN,
                f64::INFINITY,
                -f64::INFINITY,
                lo + (hi - lo) / 3.0,
            ] {
                let steps = by_bounds.grid().steps_above(x);
                assert_eq!(steps as i64, Grid::unit(&bounds).steps(x), "{lo} {hi} {x}");
            }
        }
    }

    #[test]
    fn steps_round_to_nearest() {
        let grid = Grid::unit(&bounds(0.0, STEPS as f64));
        for (x, t) in [
            (0.49, 0),
            (0.5, 0),
            (0.51, 1),
            (1.5, 2),
            (2.5, 2),
            (1e9 + 0.75, 1_000_000_001),
        ] {
            assert_eq!(grid.steps(x), t, "{x}");
        }
        let signed = Grid::signed(&bounds(-(STEPS as f64), 1.0));
        for (x, t) in [
            (-0.49, 0),
            (-0.51, -1),
            (-1.5, -2),
            (-1e9 - 0.75, -1_000_000_001),
        ] {
            assert_eq!(signed.steps(x), t, "{x}");
        }
    }

    #[test]
    fn steps_stay_within_the_sensitivity_whatever_the_value() {
        for (lo, hi) in [
            (0.0, 1.0),
            (-1.7e308, -1e308),
            (-5e-324, 5e-324),
            (-0.0, 1e-300),
        ] {
            for grid in [
                Grid::unit(&bounds(lo, hi)),
                Grid::signed(&bounds(lo, hi)),
                Grid::NONE,
            ] {
                for x in [
                    f64::NAN,
                    -f64::NAN,
                    f64::INFINITY,
                    -f64::INFINITY,
                    -0.0,
                    5e-324,
                    lo,
                    hi,
                ] {
                    assert!(grid.steps(x).unsigned_abs() <= STEPS, "{lo} {hi} {x}");
                }
            }
        }
    }

    #[test]
    fn coarse_steps_are_steps_rounded() {
        for (lo, hi) in [(0.0, 1.0), (-3.0, 7.0), (-8e307, 8e307), (-0.0, 1e-300)] {
            let grid = Grid::unit(&bounds(lo, hi));
            for (x, t) in [
                (lo, 0),
                (hi, COARSE_STEPS),
                (f64::NEG_INFINITY, 0),
                (f64::INFINITY, COARSE_STEPS),
                (f64::NAN, 0),
                (lo.midpoint(hi), COARSE_STEPS / 2),
            ] {
                assert_eq!(grid.coarse_steps(x), t, "{lo} {hi} {x}");
                assert_eq!(grid.pair_steps(x), t / 2, "{lo} {hi} {x}");
            }
            let mut last = 0;
            for i in 0..=1000 {
                let x = lo + (hi - lo) * (f64::from(i) / 1000.0);
                let t = grid.coarse_steps(x);
                let fine = grid.steps(x) as f64 * (COARSE_STEPS as f64 / STEPS as f64);
                assert!((t as f64 - fine).abs() <= 0.5 && t >= last && t <= COARSE_STEPS);
                last = t;
            }
        }
        // A grid from 0 has steps of both signs.
        assert_eq!(Grid::signed(&bounds(-5.0, 1.0)).coarse_steps(-4.0), 0);
        assert_eq!(Grid::NONE.coarse_steps(1.0), 0);
    }

    #[test]
    fn grids_differ_in_any_bit_and_name_the_bound() {
        let grid = Grid::unit(&bounds(0.0, 1.0));
        for (other, bound) in [
            (Grid::unit(&bounds(0.0, 1.0)), None),
            (Grid::unit(&bounds(-0.0, 1.0)), Some("lo")),
            (Grid::unit(&bounds(-1.0, 1.0)), Some("lo")),
            (Grid::unit(&bounds(-1.0, 2.0)), Some("lo")),
            (Grid::unit(&bounds(0.0, 2.0)), Some("hi")),
        ] {
            assert_eq!(grid.changed_bound(&other), bound);
            assert_eq!(other.changed_bound(&grid), bound);
            assert_eq!(grid.same(&other), bound.is_none());
        }
        let (unit, signed) = (
            Grid::unit(&bounds(-1.0, 1.0)),
            Grid::signed(&bounds(-1.0, 1.0)),
        );
        assert!(!unit.same(&signed) && unit.changed_bound(&signed).is_none());
        // No call has a grid that is apart.
        let apart = grid.apart();
        assert!(!apart.same(&grid) && apart.apart().same(&grid));
        assert_eq!((apart.lo(), apart.hi()), (1.0, 0.0));
        assert_eq!(apart.origin(), 0.0);
    }

    #[test]
    fn bad_bounds_name_the_argument() {
        let argument = |lo, hi| Bounds::new(lo, hi).unwrap_err().argument;
        assert_eq!(argument(None, Some(1.0)), "lo");
        assert_eq!(argument(Some(0.0), None), "hi");
        assert_eq!(argument(Some(f64::NAN), Some(1.0)), "lo");
        assert_eq!(argument(Some(0.0), Some(f64::INFINITY)), "hi");
        assert_eq!(argument(Some(1.0), Some(1.0)), "hi");
        assert_eq!(argument(Some(0.0), Some(-0.0)), "hi");
        assert_eq!(argument(Some(-1.7e308), Some(1.7e308)), "hi");
    }
}
