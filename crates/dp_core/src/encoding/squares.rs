//! Sums of squares in bins of equal relative width: what a variance needs that finds its bounds by itself.
//!
//! A row keeps 30 of the binary digits behind those that say its bin, so that it is off by at most 2^-32 of its
//! magnitude, and its square is an integer of 60 bits. All that follows is exact, whatever the range is, until the end:
//! there a sum is rounded once.

use crate::encoding::log_bins::{BinSums, DIGITS, LOWEST, OctaveCounts, QUARTERS};
use crate::encoding::ranges::{PLACES, Range};
use crate::sampler::natural::Natural;

/// Digits of a row that are kept.
const KEPT: u32 = 30;

/// By how much of its magnitude a row is off at most: rows are rounded towards where the bins start.
pub const ROUNDING: f64 = 1.0 / (1u64 << (KEPT + 2)) as f64;

/// The unit of exact numbers is `2^-FINEST`: that of ranges at the lowest octave. The one of rows there is larger.
const FINEST: i32 = PLACES - LOWEST;

/// Contents of a bin whose sums of squares are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Squares {
    /// Rows.
    pub count: u64,
    /// Sum of the digits behind those that say the bin.
    pub digits: u128,
    /// Sum of the squares of these digits.
    pub squares: u128,
}

impl BinSums for Squares {
    #[inline(always)]
    fn of_row(digits: u64) -> Self {
        let digits = digits >> (DIGITS - KEPT);
        Self {
            count: 1,
            digits: u128::from(digits),
            squares: u128::from(digits * digits),
        }
    }

    #[inline(always)]
    fn add(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.digits = self.digits.wrapping_add(other.digits);
        self.squares = self.squares.wrapping_add(other.squares);
    }

    #[inline(always)]
    fn count(&self) -> u64 {
        self.count
    }
}

impl OctaveCounts<Squares> {
    /// The sums of `f0 = (1 - x) (2 - 3 x)`, `f1 = 4 x (1 - x)` and `f2 = x (3 x - 1)` over all rows, each clamped to a
    /// range and `x` of the way from its lower end to its upper one; with that many units to 1, each sum rounded
    /// down. `x` is 0 in a range without width.
    ///
    /// A row more moves each exact sum by its `f`, and so the integer below it by less than one unit more or less than
    /// that.
    pub fn quadratics(&self, range: &Range, unit: u64) -> [i128; 3] {
        let finer = (range.octave - PLACES + FINEST).unsigned_abs();
        let (mut rows, mut inside, mut above) = (0u128, 0u128, 0u128);
        // Of rows inside, distances from where the bins start: their sums on each side, and that of their squares.
        let [mut negative, mut positive, mut squares] = [0; 3].map(Natural::new);
        for (bin, content) in self.occupied() {
            let count = u128::from(content.count);
            rows += count;
            if bin <= range.below {
                continue;
            }
            if bin >= range.above {
                above += count;
                continue;
            }
            inside += count;
            if bin == 0 {
                continue;
            }
            // A row is `first` and its digits, in units of 2^(octave - 2 - KEPT).
            let (octave, quarter) = ((bin.abs() - 1) / QUARTERS, (bin.abs() - 1) % QUARTERS);
            let first = ((QUARTERS + quarter) as u128) << KEPT;
            let places = (octave + LOWEST - 2 - KEPT as i32 + FINEST).unsigned_abs();
            let digits = Natural::new(content.digits);
            let sum = Natural::new(first * count).plus(&digits).up(places);
            let (side, count) = match bin < 0 {
                true => (&mut negative, Natural::new(count)),
                false => (&mut positive, Natural::new(count)),
            };
            *side = side.plus(&sum);
            let square = count
                .times(&Natural::new(first * first))
                .plus(&digits.times(&Natural::new(2 * first)))
                .plus(&Natural::new(content.squares));
            squares = squares.plus(&square.up(2 * places));
        }
        let width = range.width().unsigned_abs();
        let Some(divisor) = u64::try_from(width).ok().filter(|width| *width > 0) else {
            // A range is less than 2^45 units wide; without width all rows are at the lower end.
            return [2 * (rows * u128::from(unit)) as i128, 0, 0];
        };
        // From there to the lower end: where that is below, rows beyond are farther from it.
        let [inside, above] = [inside, above].map(Natural::new);
        let lower = Natural::new(range.lower.unsigned_abs()).up(finer);
        let (farther, nearer) = match range.lower < 0 {
            true => (positive, negative),
            false => (negative, positive),
        };
        let apart = inside.times(&lower);
        let width = Natural::new(width).up(finer);
        let first = distance(&farther.plus(&apart), &nearer).plus(&above.times(&width));
        let twice = lower.up(1);
        let second = squares
            .plus(&apart.times(&lower))
            .plus(&twice.times(&farther))
            .minus(&twice.times(&nearer))
            .plus(&above.times(&width).times(&width));
        let sums = [Natural::new(rows), first, second];
        floors(&sums, divisor, finer, unit)
    }
}

/// How far two numbers are apart.
fn distance(one: &Natural, other: &Natural) -> Natural {
    one.minus(other).plus(&other.minus(one))
}

/// The sums of `f0`, `f1`, `f2`, rounded down, of the number of rows, the sum of their distances from the lower end,
/// and that of the squares of these. The width of the range is `divisor`, not 0, times `2^finer`; a row has at most
/// that distance.
fn floors([rows, first, second]: &[Natural; 3], divisor: u64, finer: u32, unit: u64) -> [i128; 3] {
    let width = Natural::new(u128::from(divisor)).up(finer);
    let crossed = first.times(&width);
    let whole = rows.times(&width).times(&width);
    let few = |times: u128, of: &Natural| Natural::new(times).times(of);
    let units = few(u128::from(unit), rows).low_128() as i128;
    // None is below -1 for a row: with 1 more for each, none is negative.
    let floor = |plus: Natural, minus: Natural| {
        let exact = plus.plus(&whole).minus(&minus);
        let floor = few(u128::from(unit), &exact).down(2 * finer);
        let floor = floor.over(divisor).over(divisor).low_128() as i128;
        floor.saturating_sub(units)
    };
    [
        floor(few(2, &whole).plus(&few(3, second)), few(5, &crossed)),
        floor(few(4, &crossed), few(4, second)),
        floor(few(3, second), crossed.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::grid::Bounds;
    use crate::encoding::log_bins::Limits;
    use crate::encoding::ranges::{Edge, edges};

    fn total(moved: [i128; 3]) -> i128 {
        moved.iter().map(|x| x.abs()).sum()
    }

    fn less(one: [i128; 3], other: [i128; 3]) -> [i128; 3] {
        std::array::from_fn(|i| one[i] - other[i])
    }

    /// Of rows at these distances from the lower end.
    fn of_rows(rows: &[u64], width: u64, finer: u32, unit: u64) -> [i128; 3] {
        let sum = |of: fn(u64) -> u64| rows.iter().copied().map(of).sum::<u64>();
        let sums = [sum(|_| 1), sum(|t| t), sum(|t| t * t)];
        floors(
            &sums.map(|sum| Natural::new(u128::from(sum))),
            width,
            finer,
            unit,
        )
    }

    /// Over all tables of up to three rows and all rows more: the lemma that the scale of the noise rests on.
    #[test]
    fn a_row_moves_the_floors_by_two_units_and_two_at_most() {
        let mut most = 0;
        for (divisor, finer) in [(1, 0), (2, 0), (3, 0), (5, 0), (7, 0), (3, 1), (1, 3)] {
            let width = divisor << finer;
            for unit in [1, 2, 3, 4, 9] {
                let allowed = 2 * i128::from(unit) + 2;
                let rows: Vec<u64> = (0..=width).collect();
                let mut tables = vec![vec![]];
                for _ in 0..3 {
                    let more: Vec<Vec<u64>> = tables
                        .iter()
                        .flat_map(|table| rows.iter().map(move |t| [&table[..], &[*t]].concat()))
                        .collect();
                    tables.extend(more);
                    tables.sort();
                    tables.dedup();
                }
                for table in tables {
                    let without = of_rows(&table, divisor, finer, unit);
                    for t in &rows {
                        let with = of_rows(&[&table[..], &[*t]].concat(), divisor, finer, unit);
                        let moved = total(less(with, without));
                        assert!(moved <= allowed, "{table:?} {t} {width} {unit}: {moved}");
                        most = most.max(moved - 2 * i128::from(unit));
                    }
                }
            }
        }
        // Rounding does take up more than the exact sums do.
        assert!((1..=2).contains(&most), "{most}");
    }

    /// As they are without rounding, where nothing needs to be rounded.
    #[test]
    fn floors_are_the_exact_sums() {
        for t in 0..=6i128 {
            let exact = [(6 - t) * (12 - 3 * t), 4 * t * (6 - t), t * (3 * t - 6)];
            assert_eq!(of_rows(&[t as u64], 6, 0, 36), exact);
            assert_eq!(of_rows(&[t as u64], 3, 1, 36), exact);
            let halves = exact.map(|f| f.div_euclid(2));
            assert_eq!(of_rows(&[t as u64], 6, 0, 18), halves);
        }
        assert_eq!(of_rows(&[], 6, 0, 36), [0; 3]);
    }

    fn limits(lo: f64, hi: f64) -> Limits {
        Limits::between(&Bounds::new(Some(lo), Some(hi)).unwrap())
    }

    fn counted(limits: &Limits, rows: &[f64]) -> OctaveCounts<Squares> {
        let mut counts = OctaveCounts::default();
        for x in rows {
            counts.add_row(limits.place_of(*x));
        }
        counts
    }

    const UNIT: u64 = 1 << 48;

    fn ranges(limits: &Limits, octave: i32) -> Vec<Range> {
        let edges = edges(limits, octave, [-4, 6], true);
        let pairs = |(i, from)| {
            let between = move |to: &Edge| Range::between(limits, octave, from, to);
            edges[i + 1..].iter().map(between).collect::<Vec<_>>()
        };
        edges.iter().enumerate().flat_map(pairs).collect()
    }

    /// Numbers of few digits, whose sums floats hold exactly.
    #[test]
    fn rows_between_the_ends_are_where_they_are() {
        let rows = [
            -4096.0, -9.5, -3.5, -0.5, 0.0, 0.75, 0.125, 2.0, 3.0, 3.25, 8.0, 31.875, 4096.0,
        ];
        for limits in [
            Limits::NONE,
            limits(-7.5, 100.0),
            limits(0.5, 20.0),
            limits(-30.0, -0.125),
        ] {
            let counts = counted(&limits, &rows);
            for octave in [-2, 1, 3] {
                for range in ranges(&limits, octave) {
                    let [lo, hi] = [0.0, 1.0].map(|part| range.value(&limits, part));
                    let mut exact = [0.0f64; 3];
                    for row in rows {
                        let row = row.clamp(limits.lo(), limits.hi()).clamp(lo, hi);
                        let x = (row - lo) / (hi - lo);
                        let f = [
                            (1.0 - x) * (2.0 - 3.0 * x),
                            4.0 * x * (1.0 - x),
                            x * (3.0 * x - 1.0),
                        ];
                        exact = std::array::from_fn(|i| exact[i] + f[i]);
                    }
                    let found = counts
                        .quadratics(&range, UNIT)
                        .map(|sum| sum as f64 / UNIT as f64);
                    for (found, exact) in found.into_iter().zip(exact) {
                        assert!((found - exact).abs() < 1e-12, "{lo} {hi}: {found} {exact}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_moves_what_is_released_by_no_more_than_the_noise_is_for() {
        let rows = [
            -9.0, -3.3, -1e-9, 0.0, 1e-9, 0.7, 3.9, 12.3, 99.9, 1e-13, -5e300,
        ];
        let mut most = 0;
        for limits in [Limits::NONE, limits(-7.5, 100.0), limits(3.0, 77.7)] {
            for octave in [-40, 1, 4, 59] {
                for range in ranges(&limits, octave).iter().step_by(37) {
                    let mut counts = OctaveCounts::default();
                    let mut sums = [0; 3];
                    for (i, x) in rows.iter().cycle().take(30).enumerate() {
                        counts.add_row(limits.place_of(x * (1.0 + i as f64 / 300.0)));
                        let now = counts.quadratics(range, UNIT);
                        let moved = total(less(now, sums));
                        assert!(moved <= 2 * i128::from(UNIT) + 2, "{x} {moved}");
                        most = most.max(moved);
                        sums = now;
                    }
                }
            }
        }
        assert!(most >= 2 * i128::from(UNIT), "{most}");
    }

    #[test]
    fn the_most_rows_there_can_be_overflow_nothing() {
        let digits = u128::from((1u64 << KEPT) - 1);
        for count in [1 << 50, 1 << 62] {
            let mut counts = OctaveCounts::default();
            let full = Squares {
                count,
                digits: u128::from(count) * digits,
                squares: u128::from(count) * digits * digits,
            };
            for x in [f64::MAX, f64::MIN] {
                counts.add(Limits::NONE.place_of(x).0, &full);
            }
            let rows = 2.0 * count as f64;
            let edges = edges(&Limits::NONE, 59, [-4, 6], true);
            let (first, last) = (edges.first().unwrap(), edges.last().unwrap());
            // The rows are at both ends but for their last digits: half of them each.
            let range = Range::between(&Limits::NONE, 59, first, last);
            for (found, exact) in counts
                .quadratics(&range, UNIT)
                .into_iter()
                .zip([1.0, 0.0, 1.0])
            {
                let found = found as f64 / UNIT as f64 / rows;
                assert!((found - exact).abs() < 1e-9, "{found} {exact}");
            }
            let nothing = counts.quadratics(&Range::NOTHING, UNIT);
            assert_eq!(nothing, [4 * i128::from(UNIT) * i128::from(count), 0, 0]);
        }
    }

    #[test]
    fn parts_of_a_group_add_up() {
        let rows = [-7.25, 1e-5, 3.0, 3.1, 3.2, 1e9];
        let whole = counted(&Limits::NONE, &rows);
        let mut parts = counted(&Limits::NONE, &rows[..2]);
        for x in &rows[2..] {
            let (slot, digits) = Limits::NONE.place_of(*x);
            parts.add(slot, &Squares::of_row(digits));
        }
        assert_eq!(parts, whole);
        assert_eq!(whole.rows(), 6);
    }
}
