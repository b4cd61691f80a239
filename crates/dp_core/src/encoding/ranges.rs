//! The ends that rows in octaves may be clamped to: where bins meet, or at the limits; and sums of the rows between
//! them.

use crate::encoding::grid::STEPS;
use crate::encoding::log_bins::{
    Content, DIGITS, LOWEST, Limits, OF_A_SIGN, OctaveCounts, QUARTERS, power,
};

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

/// The edges around an octave, in ascending order: zero, and of both signs the powers of two from `first` octaves away
/// to `last`, and the quarters between them if these are wanted, as far as the limits reach: the last on each side may
/// be beyond the limit.
pub fn edges(limits: &Limits, j: i32, powers: [i32; 2], quarters: bool) -> Vec<Edge> {
    let [below, above] = limits.ends();
    let side = |sign: i32, most: f64| edges_of_sign(sign, most, j, powers, quarters);
    let [mut negative, positive] = [side(-1, -below), side(1, above)];
    negative.reverse();
    [negative, vec![Edge::ZERO], positive].concat()
}

/// As above, for magnitudes, so without zero: as far as the farther limit reaches. At least one.
pub fn magnitudes(limits: &Limits, j: i32, powers: [i32; 2], quarters: bool) -> Vec<Edge> {
    edges_of_sign(1, limits.farthest(), j, powers, quarters)
}

/// The edges of one sign, from zero on, until one reaches so far. No row is beyond that one, and those in the bin that
/// begins there, at the limit itself, are not either.
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

/// That many 64ths of an octave's lower end.
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

    /// Between two edges around an octave, `from` below `to`, and within the limits: no row is beyond those, so that to
    /// move an end to one of them clamps no row otherwise.
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

    /// From as far below where the bins start as above it: up to an edge above it, or to the farther limit where that
    /// is nearer.
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

    /// The same up to the farther limit. Meant for the limits' [highest octave](Limits::highest), where they are
    /// finite.
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

impl OctaveCounts {
    /// The sum of the grid steps of all rows, each clamped to a range: a row below it or at its lower end has 0, one
    /// above or at its upper end [`STEPS`]. A range without width gives 0.
    ///
    /// Rounded down twice in each bin: to the range's unit, and to a step. So a row more of a bin inside moves the
    /// first by an integer between those next to its value, which are not beyond the ends of the range, as these are
    /// integers; and the second, by an integer from 0 to [`STEPS`].
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

    /// The same from zero, for a range as far below it as above: in steps, [`STEPS`] of them to the upper end, a row
    /// from minus that number to that number.
    pub fn steps_from_zero(&self, range: &Range) -> i128 {
        if range.width() == 0 {
            return 0;
        }
        2 * self.steps_between(range) - i128::from(STEPS) * self.rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::log_bins::tests::{bin, limits, of_rows};
    use crate::encoding::log_bins::{LAST, MASK};

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
                            let x = x.clamp(limits.lo(), limits.hi()).clamp(lo, hi);
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
