//! A line cut by relative width, for what finds its bounds by itself: both signs, a hundred octaves, four
//! quarters of each, and a bin of zero.
//!
//! A row becomes the number of its bin and the digits behind those that say the bin, by a fixed function of that row alone; a
//! group is the number of rows in each bin, and what those digits add up to. As with [`grid`](crate::encoding::grid) these
//! are integers, so that no order of rows and no split into parts changes them.

use crate::encoding::grid::{Bounds, STEPS};
use crate::memory;

/// Magnitudes are told apart from `2^LOWEST` to `2^HIGHEST`: those below count as 0, those above as the largest one below.
pub const LOWEST: i32 = -40;
/// See [`LOWEST`].
pub const HIGHEST: i32 = 60;

/// The last octave.
const LAST: i32 = HIGHEST - 1;

/// Bins of an octave.
pub(super) const QUARTERS: i32 = 4;

/// Bins of one sign.
pub const OF_A_SIGN: i32 = (HIGHEST - LOWEST) * QUARTERS;

/// Binary digits of a `float8` behind those that say its bin.
pub(super) const DIGITS: u32 = 50;
const MASK: u64 = (1 << DIGITS) - 1;

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
    /// Of a column of which nothing is known.
    pub const NONE: Self = Self {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
        origin: 0.0,
    };

    /// Of a column between two numbers: the bins start from the one of them that is nearest to 0, or from 0 where that is between.
    pub fn between(bounds: &Bounds) -> Self {
        let (lo, hi) = (bounds.lo(), bounds.hi());
        Self {
            lo,
            hi,
            origin: 0f64.clamp(lo, hi),
        }
    }

    /// Of the same column, where the bins start from 0 wherever that is: what a sum needs, which counts rows from there.
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
    fn ends(&self) -> [f64; 2] {
        const MOST: f64 = (1u64 << HIGHEST) as f64;
        [self.lo, self.hi].map(|end| (end - self.origin).clamp(-MOST, MOST))
    }

    /// How far from where the bins start a row can be.
    fn farthest(&self) -> f64 {
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
    fn value(&self, y: f64) -> f64 {
        (self.origin + y).clamp(self.lo, self.hi)
    }
}

/// `2^j`.
fn power(j: i32) -> f64 {
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

/// What a bin holds of which sums are wanted.
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
    fn bins(&self) -> impl Iterator<Item = (i32, &S)> {
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

    /// The sum of the grid steps of all rows, each clamped to a range: a row below it or at its lower end has 0, one above or at its upper
    /// end [`STEPS`]. A range without width gives 0.
    ///
    /// Rounded down twice in each bin: to the range's unit, and to a step. So a row more of a bin inside moves the first by an
    /// integer between those next to its value, which are not beyond the ends of the range, as these are integers; and
    /// the second, by an integer from 0 to [`STEPS`].
    pub fn steps_between(&self, range: &Range) -> i128 {
        let (steps, width) = (i128::from(STEPS), range.width());
        if width == 0 {
            return 0;
        }
        let inside = |bin: i32, content: &Content| {
            let most = i128::from(content.count) * width;
            let units = range.units(bin, content) - i128::from(content.count) * range.lower;
            let units = units.clamp(0, most);
            steps * (units / width) + steps * (units % width) / width
        };
        let of_bin = |(bin, content): (i32, &Content)| {
            if content.count == 0 || bin <= range.below {
                0
            } else if bin >= range.above {
                steps * i128::from(content.count)
            } else {
                inside(bin, content)
            }
        };
        self.bins().map(of_bin).sum()
    }

    /// The same from zero, for a range as far below it as above: in steps of which [`STEPS`] are the upper end, a row from minus that
    /// number to that number.
    pub fn steps_from_zero(&self, range: &Range) -> i128 {
        if range.width() == 0 {
            return 0;
        }
        2 * self.steps_between(range) - i128::from(STEPS) * self.rows()
    }
}

impl<S: BinSums> Default for OctaveCounts<S> {
    fn default() -> Self {
        let count = 2 * OF_A_SIGN as usize + 1;
        Self(memory::vector(count, std::iter::repeat(S::default())))
    }
}

/// Where two bins meet, or the bin of zero: an end that a range may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The distance from where the bins start, in 64ths of the octave's lower end.
    pub at: i64,
    /// The number of the bin that begins there, away from zero; beyond the last one where there is none.
    bin: i32,
}

/// Digits of [`Edge::at`] behind the point, and those of a range's unit.
const PARTS: u32 = 6;
pub(super) const PLACES: i32 = 36;

impl Edge {
    /// At zero.
    const ZERO: Self = Self { at: 0, bin: 0 };

    /// The edge `2^(j + o) (1 + q / 4)` of an octave, of this sign.
    fn new(j: i32, o: i32, q: i32, sign: i32) -> Self {
        let bin = ((j + o - LOWEST) * QUARTERS + q + 1).clamp(1, OF_A_SIGN + 1);
        Self {
            at: (i64::from(sign * (QUARTERS + q)) << (o + PARTS as i32)) / i64::from(QUARTERS),
            bin: sign * bin,
        }
    }

    /// As far from zero, on the other side.
    pub fn mirrored(&self) -> Self {
        Self {
            at: -self.at,
            bin: -self.bin,
        }
    }

    /// As a lower end: the last bin whose rows are below it.
    pub fn last_below(&self) -> i32 {
        if self.bin >= 0 {
            self.bin - 1
        } else {
            self.bin
        }
    }

    /// As an upper end: the first bin whose rows are above it, or at it.
    pub fn first_above(&self) -> i32 {
        if self.bin > 0 { self.bin } else { self.bin + 1 }
    }
}

/// The edges around an octave, in ascending order: zero, and of both signs the powers of two from `first` octaves away to
/// `last`, and the quarters between them if these are wanted, as far as the limits reach: the last on each side may be
/// beyond the limit.
pub fn edges(limits: &Limits, j: i32, powers: [i32; 2], quarters: bool) -> Vec<Edge> {
    let [below, above] = limits.ends();
    let side = |sign: i32, most: f64| edges_of_sign(sign, most, j, powers, quarters);
    let [mut negative, positive] = [side(-1, -below), side(1, above)];
    negative.reverse();
    [negative, vec![Edge::ZERO], positive].concat()
}

/// The same of magnitudes, so without zero: as far as the farther limit reaches. At least one.
pub fn magnitudes(limits: &Limits, j: i32, powers: [i32; 2], quarters: bool) -> Vec<Edge> {
    edges_of_sign(1, limits.farthest(), j, powers, quarters)
}

/// The edges of one sign, from zero on, until one reaches so far. No row is beyond that one, and those in the bin that begins there, at the
/// limit itself, are not either.
fn edges_of_sign(
    sign: i32,
    most: f64,
    j: i32,
    [first, last]: [i32; 2],
    quarters: bool,
) -> Vec<Edge> {
    let parts = if quarters { 0..QUARTERS } else { 0..1 };
    let all = (first..last).flat_map(|o| parts.clone().map(move |q| (o, q)));
    let all = all
        .chain([(last, 0)])
        .map(|(o, q)| Edge::new(j, o, q, sign));
    let mut inner = 0.0;
    let reached = all.take_while(|edge| {
        let reached = inner < most;
        inner = distance(edge.at, j).abs();
        reached
    });
    let mut edges: Vec<Edge> = reached.collect();
    if let Some(last) = edges.last_mut()
        && distance(last.at, j).abs() >= most
    {
        last.bin = sign * (OF_A_SIGN + 1);
    }
    edges
}

/// So many 64ths of an octave's lower end.
fn distance(at: i64, j: i32) -> f64 {
    at as f64 * power(j - PARTS as i32)
}

/// The ends that rows are clamped to: whole numbers of `2^(octave - 36)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub(super) octave: i32,
    pub(super) lower: i128,
    upper: i128,
    /// Rows in bins up to this one are at the lower end, those of bins from `above` on at the upper one.
    pub(super) below: i32,
    pub(super) above: i32,
}

impl Range {
    /// Of zero alone.
    pub const NOTHING: Self = Self {
        octave: 0,
        lower: 0,
        upper: 0,
        below: -1,
        above: 1,
    };

    /// Between two edges around an octave, `from` below `to`, and within the limits: no row is beyond those, so that to move an end to one
    /// of them clamps no row otherwise.
    pub fn between(limits: &Limits, octave: i32, from: &Edge, to: &Edge) -> Self {
        let units = |edge: &Edge| i128::from(edge.at) << (PLACES - PARTS as i32);
        let whole = Self::of_limits(limits, octave);
        Self {
            octave,
            lower: units(from).max(whole.lower),
            upper: units(to).min(whole.upper),
            below: from.last_below(),
            above: to.first_above(),
        }
    }

    /// Between the limits. Meant for their [highest octave](Limits::highest), where they are finite.
    pub fn of_limits(limits: &Limits, octave: i32) -> Self {
        let [lower, upper] = limits.ends().map(|end| end * power(PLACES - octave));
        // At most 2^(60 + 76) in magnitude; where it is more than 2^100, no edge is near.
        const MOST: f64 = (1u128 << 100) as f64;
        Self {
            octave,
            lower: lower.floor().max(-MOST) as i128,
            upper: upper.ceil().min(MOST) as i128,
            below: -OF_A_SIGN - 1,
            above: OF_A_SIGN + 1,
        }
    }

    /// From as far below where the bins start as above it: up to an edge above it, or to the farther limit where that is nearer.
    pub fn around(limits: &Limits, octave: i32, edge: &Edge) -> Self {
        let whole = Self::around_limits(limits, octave);
        let upper = (i128::from(edge.at) << (PLACES - PARTS as i32)).min(whole.upper);
        Self {
            octave,
            lower: -upper,
            upper,
            below: edge.mirrored().last_below(),
            above: edge.first_above(),
        }
    }

    /// The same up to the farther limit. Meant for the limits' [highest octave](Limits::highest), where they are finite.
    pub fn around_limits(limits: &Limits, octave: i32) -> Self {
        let whole = Self::of_limits(limits, octave);
        let upper = whole.upper.max(-whole.lower);
        Self {
            lower: -upper,
            upper,
            ..whole
        }
    }

    /// How far the upper end is from where the bins start.
    pub fn upper(&self) -> f64 {
        self.upper as f64 * power(self.octave - PLACES)
    }

    /// In units.
    pub(super) fn width(&self) -> i128 {
        self.upper - self.lower
    }

    /// The sum of the rows of a bin, in units, rounded down.
    fn units(&self, bin: i32, content: &Content) -> i128 {
        if bin == 0 {
            return 0;
        }
        let quarter = (bin.abs() - 1) % QUARTERS;
        let octave = (bin.abs() - 1) / QUARTERS + LOWEST;
        let first = (u128::from(content.count) * (QUARTERS + quarter) as u128) << DIGITS;
        // In 2^(octave - 52). Below 2^117.
        let sum = first.wrapping_add(content.digits) as i128;
        let sum = if bin < 0 { sum.wrapping_neg() } else { sum };
        // A bin inside the range is at most 5 octaves above its own, so this is not negative.
        let down = (self.octave - PLACES) - (octave - DIGITS as i32 - 2);
        sum >> down.clamp(0, 127)
    }

    /// The value of so much of the way from the lower end to the upper one.
    pub fn value(&self, limits: &Limits, part: f64) -> f64 {
        let y = (self.lower as f64 + part * self.width() as f64) * power(self.octave - PLACES);
        limits.value(y)
    }
}

#[cfg(test)]
mod tests {
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

    fn limits(lo: f64, hi: f64) -> Limits {
        Limits::between(&Bounds::new(Some(lo), Some(hi)).unwrap())
    }

    /// The number of the bin of a row.
    fn bin(limits: &Limits, x: f64) -> i32 {
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

    fn of_rows(limits: &Limits, rows: &[f64]) -> OctaveCounts {
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

    #[test]
    fn edges_are_where_bins_meet() {
        let fine = edges(&Limits::NONE, 3, [-4, 6], true);
        assert_eq!(fine.len(), 83);
        let coarse = edges(&Limits::NONE, 3, [0, 3], false);
        let at: Vec<i64> = coarse.iter().map(|edge| edge.at / 64).collect();
        assert_eq!(at, [-8, -4, -2, -1, 0, 1, 2, 4, 8]);
        for edge in &fine {
            let value = distance(edge.at, 3);
            // As an upper end it has the values next to it towards zero inside, and itself if it is not positive.
            let above = |x: f64| bin(&Limits::NONE, x) >= edge.first_above();
            let below = |x: f64| bin(&Limits::NONE, x) <= edge.last_below();
            assert_eq!(above(value), value > 0.0, "{value}");
            assert_eq!(below(value), value < 0.0, "{value}");
            if value != 0.0 {
                assert!(above(value.next_up()) && !above(value.next_down()));
                assert!(below(value.next_down()) && !below(value.next_up()));
            } else {
                assert!(above(1e-9) && below(-1e-9) && !above(-1e-9) && !below(1e-9));
            }
        }
        assert!(fine.windows(2).all(|pair| pair[0].at < pair[1].at));
        // Where the bins end, and between limits.
        assert_eq!(edges(&Limits::NONE, LOWEST, [-4, 6], true).len(), 83);
        assert_eq!(edges(&Limits::NONE, LAST, [-4, 6], true).len(), 43);
        let at = |lo, hi| {
            let edges = edges(&limits(lo, hi), 3, [0, 3], false);
            Vec::from_iter(edges.iter().map(|edge| edge.at / 64))
        };
        assert_eq!(at(0.0, 10.0), [0, 1, 2]);
        assert_eq!(at(0.0, 16.0), [0, 1, 2]);
        assert_eq!(at(-1.0, 1e9), [-1, 0, 1, 2, 4, 8]);
        assert_eq!(at(-40.0, -10.0), [-4, -2, -1, 0]);
    }

    #[test]
    fn no_row_is_beyond_a_limit() {
        for (lo, hi, j) in [
            (0.0, 1.0, 0),
            (-3.0, 8.0, 1),
            (-20.0, 20.5, 4),
            (0.0, 64.0, 0),
        ] {
            let limits = limits(lo, hi);
            let edges = edges(&limits, j, [-4, 6], true);
            let (first, last) = (edges.first().unwrap(), edges.last().unwrap());
            assert!(bin(&limits, f64::INFINITY) < last.first_above(), "{hi}");
            if lo < 0.0 {
                assert!(bin(&limits, f64::NEG_INFINITY) > first.last_below(), "{lo}");
            }
            // Rows there are where the range ends.
            let range = Range::between(&limits, j, first, last);
            let counts = of_rows(&limits, &[lo, hi, f64::MAX]);
            assert_eq!(counts.steps_between(&range), 2 * i128::from(STEPS));
        }
    }

    #[test]
    fn no_row_is_both_above_an_end_and_below_another() {
        for quarters in [false, true] {
            let edges = edges(&Limits::NONE, 0, [-4, 6], quarters);
            for (i, from) in edges.iter().enumerate() {
                for to in &edges[i + 1..] {
                    assert!(from.last_below() < to.first_above());
                }
            }
        }
    }

    #[test]
    fn sums_clamp_each_row() {
        let rows = [
            -1e12, -9.0, -3.5, -0.5, 0.0, 0.75, 1e-9, 2.0, 3.0, 3.25, 8.0, 31.9, 1e12,
        ];
        for limits in [
            Limits::NONE,
            limits(-7.5, 100.0),
            limits(0.5, 20.0),
            limits(-30.0, -0.1),
        ] {
            let counts = of_rows(&limits, &rows);
            for j in [-2, 1, 3] {
                let edges = edges(&limits, j, [-4, 6], true);
                for (i, from) in edges.iter().enumerate() {
                    for to in &edges[i + 1..] {
                        let range = Range::between(&limits, j, from, to);
                        let [lo, hi] = [0.0, 1.0].map(|part| range.value(&limits, part));
                        let steps = rows.map(|x| {
                            let x = x.clamp(limits.lo, limits.hi).clamp(lo, hi);
                            (x - lo) / (hi - lo) * STEPS as f64
                        });
                        let expected: f64 = steps.iter().sum();
                        let found = counts.steps_between(&range) as f64;
                        // A step for each bin, and what is below 2^-40.
                        assert!(
                            (found - expected).abs() < 30.0,
                            "{lo} {hi} {found} {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_moves_a_sum_by_the_steps_of_a_row() {
        let limits = limits(-7.5, 100.0);
        let rows = [-9.0, -3.3, -1e-9, 0.0, 1e-9, 0.7, 3.9, 12.3, 99.9];
        let edges = edges(&limits, 1, [-4, 6], true);
        for (i, from) in edges.iter().enumerate() {
            for to in &edges[i + 1..] {
                let range = Range::between(&limits, 1, from, to);
                let mut counts = OctaveCounts::new();
                let mut sum = 0;
                for x in rows.iter().cycle().take(50) {
                    counts.add_row(limits.place_of(*x));
                    let moved = counts.steps_between(&range) - sum;
                    assert!((0..=i128::from(STEPS)).contains(&moved), "{x} {moved}");
                    sum += moved;
                }
            }
        }
    }

    #[test]
    fn the_most_rows_there_can_be_overflow_nothing() {
        let mut counts = OctaveCounts::new();
        let count = 1 << 62;
        let full = Content {
            count,
            digits: u128::from(count) * u128::from(MASK),
        };
        for x in [f64::MAX, f64::MIN] {
            counts.add(Limits::NONE.place_of(x).0, &full);
        }
        let edges = edges(&Limits::NONE, LAST, [-4, 6], true);
        let (first, last) = (edges.first().unwrap(), edges.last().unwrap());
        let range = Range::between(&Limits::NONE, LAST, first, last);
        let half = i128::from(STEPS) * counts.rows() / 2;
        assert!((counts.steps_between(&range) - half).abs() <= 1 << 62);
        assert_eq!(counts.steps_between(&Range::NOTHING), 0);
    }

    #[test]
    fn narrow_limits_are_a_range_of_their_own() {
        let limits = limits(5.0, 5.0 + 1e-3);
        let j = limits.highest();
        let range = Range::of_limits(&limits, j);
        let counts = of_rows(&limits, &[5.0005; 1000]);
        let part = counts.steps_between(&range) as f64 / 1000.0 / STEPS as f64;
        assert!((range.value(&limits, part) - 5.0005).abs() < 1e-12);
        assert_eq!(range.value(&limits, 0.0), 5.0);
        assert_eq!(range.value(&limits, 1.0), 5.0 + 1e-3);
    }
}
