//! Bins of a line in which ranks are told apart: where a row is counted for a quantile. Each row is in one, by a
//! fixed function of its value and of public numbers.

use crate::encoding::grid::{Bounds, Grid, STEPS};
use crate::error::ParameterError;

/// The most bins.
pub const MOST: usize = 1 << 16;

/// Powers of two that logarithmic bins reach down, from the bound that is further from their anchor.
pub const OCTAVES: usize = 32;

/// The mantissa of a float.
const MANTISSA: u32 = 52;

/// Multiples of a step are told apart up to this one, either sign.
const FURTHEST: f64 = (1u64 << 50) as f64;

/// How a line is cut into bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Of equal width.
    Linear,
    /// Of equal relative width, by the distance from an anchor: 0 between the bounds, or the bound nearer to 0.
    Log,
    /// Around the multiples of a step.
    Steps,
}

/// Bins of a line between two public bounds. Plain numbers, so that an aggregate's state can carry them.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    cut: Cut,
    grid: Grid,
    count: u32,
}

impl Bins {
    /// That many bins of equal width, from 1 to [`MOST`].
    pub fn linear(bounds: &Bounds, count: usize) -> Self {
        Self {
            cut: Cut::Linear,
            grid: Grid::unit(bounds),
            count: count.clamp(1, MOST) as u32,
        }
    }

    /// Bins of a relative width of `2^-m`, with the largest `m` for which those of [`OCTAVES`] powers of two are no
    /// more than `most` on all sides together; `most` is from 64 to [`MOST`]. Besides there is one for what is
    /// nearer to the anchor.
    pub fn log(bounds: &Bounds, most: usize) -> Self {
        let (lo, hi) = (bounds.lo(), bounds.hi());
        let anchor = if lo < 0.0 && hi > 0.0 {
            0.0
        } else if lo >= 0.0 {
            lo
        } else {
            hi
        };
        let [below, above] = [anchor - lo, hi - anchor];
        let sides = 1 + usize::from(below > 0.0 && above > 0.0);
        let digits = (most.clamp(2 * OCTAVES, MOST) / (OCTAVES * sides)).ilog2();
        let key = |distance: f64| distance.to_bits() >> (MANTISSA - digits);
        let base = key(below.max(above)).saturating_sub((OCTAVES as u64) << digits);
        let [below, above] = [below, above].map(|side| key(side).saturating_sub(base) as u32);
        let map = LogMap {
            base,
            below,
            digits,
        };
        Self {
            cut: Cut::Log,
            grid: Grid::carrying(bounds, anchor, map.packed()),
            count: below + above + 1,
        }
    }

    /// A bin around each multiple of `step` between the bounds.
    ///
    /// # Errors
    /// A step that is not a finite number above 0, without multiples between the bounds, or with more than
    /// [`MOST`], or with some beyond 2^50.
    pub fn steps(bounds: &Bounds, step: f64) -> Result<Self, ParameterError> {
        let refused = |message| {
            ParameterError::new(
                "mech",
                message,
                "The parameter step: the distance of the values that the column can have, as 1 of integers; from 1 to \
                 65536 multiples of it lie between lo and hi.",
            )
        };
        if !(step > 0.0 && step.is_finite()) {
            return Err(refused(
                "gives the parameter step a value outside its range",
            ));
        }
        let [first, last] = [(bounds.lo() / step).ceil(), (bounds.hi() / step).floor()];
        let count = last - first + 1.0;
        if !(first.abs() <= FURTHEST && last.abs() <= FURTHEST) || count > MOST as f64 {
            return Err(refused("gives a step that is too small for these bounds"));
        }
        if count < 1.0 {
            return Err(refused("gives a step without a multiple between lo and hi"));
        }
        Ok(Self {
            cut: Cut::Steps,
            // -0 and 0 are one.
            grid: Grid::carrying(bounds, first + 0.0, step),
            count: count as u32,
        })
    }

    /// Bins of such a kind as a state carries them.
    #[inline(always)]
    pub fn of(cut: Cut, grid: Grid, count: usize) -> Self {
        Self {
            cut,
            grid,
            count: count as u32,
        }
    }

    /// How the line is cut.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// The grid that carries the bounds, and what else there is to know.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The bin of a row, counted from 0: below the number of bins whatever `x` is. What is outside of the bounds is
    /// clamped to them. Cannot panic: the hot path calls it for each row.
    #[inline(always)]
    pub fn bin(&self, x: f64) -> usize {
        let last = self.count.saturating_sub(1);
        let bin = match self.cut {
            Cut::Linear => {
                const { assert!(STEPS == 1 << 32) };
                (self.grid.steps(x) as u64).wrapping_mul(u64::from(self.count)) >> 32
            }
            Cut::Log => {
                let map = LogMap::unpacked(self.grid.scale());
                let distance = self.grid.clamped(x) - self.grid.origin();
                let along = u64::from(map.along(distance.abs()));
                let middle = u64::from(map.below);
                if distance < 0.0 {
                    middle.saturating_sub(along)
                } else {
                    middle.wrapping_add(along)
                }
            }
            Cut::Steps => {
                let steps = self.grid.clamped(x) / self.grid.scale();
                let from_first = steps - self.grid.origin();
                // To nearest; the cast sends what is below 0 to 0.
                (from_first + 0.5) as u64
            }
        };
        bin.min(u64::from(last)) as usize
    }

    /// The value that lies at `part` of a bin, from 0 to 1; of bins around steps the multiple itself. Within the
    /// bounds, and never falling as the bin and the part grow. It is no part of the privacy: bins were chosen before.
    pub fn value(&self, bin: usize, part: f64) -> f64 {
        let (lo, hi) = (self.grid.lo(), self.grid.hi());
        let value = match self.cut {
            Cut::Linear => lo + (hi - lo) * ((bin as f64 + part) / f64::from(self.count)),
            Cut::Log => {
                let map = LogMap::unpacked(self.grid.scale());
                let middle = map.below as usize;
                let has_above = middle + 1 < self.count();
                // The ends of a bin, as signed distances from the anchor.
                let [from, to] = match bin.checked_sub(middle) {
                    Some(0) => [
                        if middle > 0 { -map.edge(1) } else { 0.0 },
                        if has_above { map.edge(1) } else { 0.0 },
                    ],
                    Some(along) => [map.edge(along), map.edge(along + 1)],
                    None => [-map.edge(middle - bin + 1), -map.edge(middle - bin)],
                };
                self.grid.origin() + (from + (to - from) * part).clamp(from, to)
            }
            Cut::Steps => (self.grid.origin() + bin as f64) * self.grid.scale(),
        };
        // Only a NaN, of an edge beyond the largest float, is no number.
        if value.is_nan() {
            hi
        } else {
            value.clamp(lo, hi)
        }
    }
}

/// From a distance to a bin: the first digits of the float, exponent and all.
#[derive(Clone, Copy)]
struct LogMap {
    /// The key of the bin next to the anchor; below 2^27.
    base: u64,
    /// Bins below the anchor's; below 2^17.
    below: u32,
    /// Digits of the mantissa that count; at most 11.
    digits: u32,
}

impl LogMap {
    /// In a float that is no NaN, so that no move changes its bits.
    fn packed(self) -> f64 {
        f64::from_bits(self.base << 32 | u64::from(self.below) << 8 | u64::from(self.digits))
    }

    #[inline(always)]
    fn unpacked(scale: f64) -> Self {
        let bits = scale.to_bits();
        Self {
            base: bits >> 32,
            below: (bits as u32) >> 8,
            digits: (bits & 0x1f) as u32,
        }
    }

    /// Bins from the anchor's to that of a distance.
    #[inline(always)]
    fn along(self, distance: f64) -> u32 {
        (distance.to_bits() >> MANTISSA.wrapping_sub(self.digits)).saturating_sub(self.base) as u32
    }

    /// The least distance of the bin that many from the anchor's, from 1 on.
    fn edge(self, along: usize) -> f64 {
        f64::from_bits((self.base + along as u64) << (MANTISSA - self.digits))
    }
}
