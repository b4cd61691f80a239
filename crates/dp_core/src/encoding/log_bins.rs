//! A line cut by relative width, for what finds its bounds by itself: both signs, a hundred octaves, four
//! quarters of each, and a bin of zero.
//!
//! A row becomes the number of its bin and the digits behind those that say the bin, by a fixed function of that row
//! alone; a group is the number of rows in each bin, and what those digits add up to. As with
//! [`grid`](crate::encoding::grid) these are integers, so that no order of rows and no split into parts changes them.

use crate::encoding::grid::Bounds;
use crate::memory;

/// Magnitudes are told apart from `2^LOWEST` to `2^HIGHEST`: those below count as 0, those above as the largest one
/// below.
pub const LOWEST: i32 = -40;
/// See [`LOWEST`].
pub const HIGHEST: i32 = 60;

/// The last octave.
pub(super) const LAST: i32 = HIGHEST - 1;

/// Bins of an octave.
pub(super) const QUARTERS: i32 = 4;

/// Bins of one sign.
pub const OF_A_SIGN: i32 = (HIGHEST - LOWEST) * QUARTERS;

/// Binary digits of a `float8` behind those that say its bin.
pub(super) const DIGITS: u32 = 50;
pub(super) const MASK: u64 = (1 << DIGITS) - 1;

/// Slots of one sign in a state: a bin's number is its slot, and the negative ones come after all others.
const SIDE: usize = 416;

/// All slots in a state. Not all are bins.
pub const SLOTS: usize = 2 * SIDE;

const _: () = assert!(SIDE > OF_A_SIGN as usize);

/// What the bins start from. Plain numbers, so that an aggregate's state can carry it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Limits {
    lo: f64,
    hi: f64,
    /// The value that has the bin of zero.
    origin: f64,
}

impl Limits {
    /// For a column about which nothing is known.
    pub const NONE: Self = Self {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
        origin: 0.0,
    };

    /// Of a column between two numbers: the bins start from the one of them that is nearest to 0, or from 0 where that
    /// is between.
    pub fn between(bounds: &Bounds) -> Self {
        let (lo, hi) = (bounds.lo(), bounds.hi());
        Self {
            lo,
            hi,
            origin: 0f64.clamp(lo, hi),
        }
    }

    /// Of the same column, where the bins start from 0 wherever that is: what a sum needs, which counts rows from
    /// there.
    pub fn around_zero(bounds: &Bounds) -> Self {
        Self {
            lo: bounds.lo(),
            hi: bounds.hi(),
            origin: 0.0,
        }
    }

    /// Where there is no limit, an infinity.
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// See [`lo`](Self::lo).
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// Both.
    pub fn both(&self) -> [f64; 2] {
        [self.lo, self.hi]
    }

    /// Whether two are the same, bit by bit.
    pub fn same(&self, other: &Self) -> bool {
        self.lo.to_bits() == other.lo.to_bits() && self.hi.to_bits() == other.hi.to_bits()
    }

    /// The slot of a row, below [`SLOTS`], and the digits behind those that say it. A NaN, which the aggregates ignore
    /// before they come here, counts as the lower limit.
    ///
    /// Depends on `x` and the limits alone. Cannot panic: the hot path calls it for each row.
    #[inline(always)]
    pub fn place_of(&self, x: f64) -> (usize, u64) {
        let x = if x > self.lo { x } else { self.lo };
        let x = if x < self.hi { x } else { self.hi };
        let bits = (x - self.origin).to_bits();
        // The exponent and two digits more, counted so that the first bin above zero is 1.
        const BEFORE: i32 = (1023 + LOWEST) * QUARTERS - 1;
        let magnitude = (bits >> DIGITS & 0x1fff) as i32 - BEFORE;
        if magnitude < 1 {
            return (0, 0);
        }
        let digits = if magnitude > OF_A_SIGN {
            MASK
        } else {
            bits & MASK
        };
        let slot = magnitude.min(OF_A_SIGN) as usize;
        (slot + (bits >> 63) as usize * SIDE, digits)
    }

    /// How far the lower limit is from where the bins start, and the upper one: at most `2^HIGHEST`.
    pub(super) fn ends(&self) -> [f64; 2] {
        const MOST: f64 = (1u64 << HIGHEST) as f64;
        [self.lo, self.hi].map(|end| (end - self.origin).clamp(-MOST, MOST))
    }

    /// How far from where the bins start a row can be.
    pub(super) fn farthest(&self) -> f64 {
        let [below, above] = self.ends();
        above.max(-below)
    }

    /// How far from where the bins start the farther one of two values is.
    pub fn farthest_of(&self, values: [f64; 2]) -> f64 {
        let [one, other] = values.map(|value| (value - self.origin).abs());
        one.max(other)
    }

    /// The highest octave in which a row can be, and at least the lowest there is.
    pub fn highest(&self) -> i32 {
        let farthest = self.farthest();
        let highest = (LOWEST..=LAST).rev().find(|j| power(*j) <= farthest);
        highest.unwrap_or(LOWEST)
    }

    /// The value so far from where the bins start, within the limits.
    pub(super) fn value(&self, y: f64) -> f64 {
        (self.origin + y).clamp(self.lo, self.hi)
    }
}

/// `2^j`.
pub(super) fn power(j: i32) -> f64 {
    2f64.powi(j)
}

/// What a bin holds of its rows: their number, and sums.
pub trait BinSums: Copy + Default {
    /// Of one row with these digits behind those that say its bin. Cannot panic.
    fn of_row(digits: u64) -> Self;

    /// Takes in rows. Cannot panic.
    fn add(&mut self, other: &Self);

    /// The number of rows.
    fn count(&self) -> u64;
}

/// Contents of a bin whose sums are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Rows.
    pub count: u64,
    /// Sum of the digits behind those that say the bin.
    pub digits: u128,
}

impl BinSums for Content {
    #[inline(always)]
    fn of_row(digits: u64) -> Self {
        let digits = u128::from(digits);
        Self { count: 1, digits }
    }

    #[inline(always)]
    fn add(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.digits = self.digits.wrapping_add(other.digits);
    }

    #[inline(always)]
    fn count(&self) -> u64 {
        self.count
    }
}

/// What a group is: how its rows lie in the bins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OctaveCounts<S = Content>(Vec<S>);

impl<S: BinSums> OctaveCounts<S> {
    /// Takes in what is in a slot.
    pub fn add(&mut self, slot: usize, content: &S) {
        let bin = if slot < SIDE {
            slot as i32
        } else {
            -((slot - SIDE) as i32)
        };
        if let Some(held) = self.0.get_mut((bin + OF_A_SIGN).unsigned_abs() as usize) {
            held.add(content);
        }
    }

    /// Takes in a row.
    pub fn add_row(&mut self, (slot, digits): (usize, u64)) {
        self.add(slot, &S::of_row(digits));
    }

    /// The bins, from the most negative to the largest: their numbers, 0 of zero, and what they hold.
    pub(super) fn bins(&self) -> impl Iterator<Item = (i32, &S)> {
        (-OF_A_SIGN..).zip(&self.0)
    }

    /// Those of them that hold a row.
    pub fn occupied(&self) -> impl Iterator<Item = (i32, &S)> {
        self.bins().filter(|(_, content)| content.count() != 0)
    }

    /// The number of rows in each bin, from the most negative to the largest.
    pub fn counts(&self) -> Vec<i128> {
        let counts = self.0.iter().map(|content| i128::from(content.count()));
        memory::vector(self.0.len(), counts)
    }

    /// All rows.
    pub fn rows(&self) -> i128 {
        self.0.iter().map(|bin| i128::from(bin.count())).sum()
    }

    /// For each octave, from this one down to the lowest, the number of rows of its magnitude or of a larger one.
    pub fn outside_in(&self, highest: i32) -> Vec<i128> {
        let of_octave = |j: i32| {
            let first = (j - LOWEST) * QUARTERS + 1;
            let bins = first..first + QUARTERS;
            let both = bins.flat_map(|bin| [bin, -bin]);
            both.map(|bin| i128::from(self.0[(bin + OF_A_SIGN) as usize].count()))
                .sum::<i128>()
        };
        let beyond = (highest + 1..=LAST).map(of_octave).sum::<i128>();
        let octaves = (LOWEST..=highest).rev();
        let within = octaves.scan(beyond, |rows, j| {
            *rows += of_octave(j);
            Some(*rows)
        });
        memory::vector((highest - LOWEST + 1) as usize, within)
    }
}

impl OctaveCounts {
    /// No rows yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S: BinSums> Default for OctaveCounts<S> {
    fn default() -> Self {
        let count = 2 * OF_A_SIGN as usize + 1;
        Self(memory::vector(count, std::iter::repeat(S::default())))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const NUMBERS: [f64; 22] = [
        0.0,
        -0.0,
        5e-324,
        -1e-308,
        1e-13,
        9.1e-13,
        -9.2e-13,
        0.1,
        -0.3,
        1.0,
        1.25,
        1.999,
        -2.0,
        37.0,
        -99.5,
        1e9,
        -1e15,
        1.1e18,
        1.2e18,
        -f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];

    pub(in crate::encoding) fn limits(lo: f64, hi: f64) -> Limits {
        Limits::between(&Bounds::new(Some(lo), Some(hi)).unwrap())
    }

    /// The number of the bin of a row.
    pub(in crate::encoding) fn bin(limits: &Limits, x: f64) -> i32 {
        let (slot, _) = limits.place_of(x);
        if slot < SIDE {
            slot as i32
        } else {
            -((slot - SIDE) as i32)
        }
    }

    #[test]
    fn every_row_has_a_place() {
        for limits in [Limits::NONE, limits(-3.0, 5e300), limits(1e5, 1e6)] {
            for x in NUMBERS.into_iter().chain([f64::NAN]) {
                let (slot, digits) = limits.place_of(x);
                assert!(slot < SLOTS && digits <= MASK, "{x}");
                assert!(bin(&limits, x).abs() <= OF_A_SIGN, "{x}");
            }
        }
        let none = Limits::NONE;
        for (x, expected) in [
            (2f64.powi(LOWEST).next_down(), 0),
            (2f64.powi(LOWEST), 1),
            (-(2f64.powi(LOWEST)), -1),
            (1.0, 161),
            (1.25, 162),
            (1.75f64.next_up(), 164),
            (-2.0, -165),
            (2f64.powi(HIGHEST).next_down(), OF_A_SIGN),
            (f64::INFINITY, OF_A_SIGN),
            (f64::NEG_INFINITY, -OF_A_SIGN),
        ] {
            assert_eq!(bin(&none, x), expected, "{x}");
        }
        assert_eq!(none.place_of(2f64.powi(HIGHEST)).1, MASK);
    }

    #[test]
    fn bins_start_from_what_is_nearest_to_zero() {
        assert_eq!(bin(&limits(-1e9, 1e9), 1.0), 161);
        assert_eq!(bin(&limits(1e5, 2e5), 100_001.0), 161);
        assert_eq!(bin(&limits(-2e5, -1e5), -100_001.0), -161);
        assert_eq!(bin(&limits(1e5, 2e5), f64::NEG_INFINITY), 0);
        assert_eq!(limits(0.0, 100.0).highest(), 6);
        assert_eq!(limits(100.0, 164.0).highest(), 6);
        assert_eq!(limits(-1e300, 1.0).highest(), LAST);
        assert_eq!(Limits::NONE.highest(), LAST);
        assert_eq!(limits(0.0, 1e-300).highest(), LOWEST);
    }

    pub(in crate::encoding) fn of_rows(limits: &Limits, rows: &[f64]) -> OctaveCounts {
        let mut counts = OctaveCounts::new();
        for x in rows {
            counts.add_row(limits.place_of(*x));
        }
        counts
    }

    #[test]
    fn rows_are_counted_from_the_outside_in() {
        let rows = [0.0, 1e-20, 0.3, -0.3, 1.0, -5.0, 7.9, 1e30];
        let counts = of_rows(&Limits::NONE, &rows);
        assert_eq!(counts.rows(), 8);
        for highest in [LAST, 2, 0] {
            let found = counts.outside_in(highest);
            assert_eq!(found.len(), (highest - LOWEST + 1) as usize);
            for (rows_outside, j) in found.into_iter().zip((LOWEST..=highest).rev()) {
                let expected = rows.iter().filter(|x| x.abs() >= power(j)).count();
                assert_eq!(rows_outside, expected as i128, "{j}");
            }
        }
    }
}
