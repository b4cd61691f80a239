//! By how much a row may move the integers that noise meets, and which rows count.

use super::tables::Row;
use super::{COARSE, D, G, PAIR};

/// By how much a pair moves the integers, in the order in which they are noted. Of neighbours by
/// adding, `rows` of the added ones count; all that is said of one row holds of their sum.
#[derive(Clone, Copy, Debug)]
pub enum Space {
    /// `(S1, S2)` by `(t, G - t)`, `0 <= t <= G`.
    Complement,
    /// The sum from the midpoint by `2 t - G`, and `G n` by `G`.
    Centred,
    /// The sum from 0 by `-G` to `G`, and `G n` by `G`.
    Signed,
    /// A sum from 0 by `-G` to `G`.
    Sum,
    /// The number of rows by 1.
    Rows,
    /// `ceil(n / k)`, of up to `k` rows, by 0 or 1.
    People,
    /// `(f0, f1, f2)`: absolute values of at most `2 G^2` together.
    LaplaceMoments,
    /// `(l0, l1, l2)`: of length at most `G^2`.
    GaussianMoments,
    /// That many sums of two columns: absolute values of at most this times `G^2` together.
    LaplacePairs(usize, i128),
    /// Two sums of weights, between a quarter and all of `G^2` together, each rounded down.
    Weights,
    /// Squares of at most the second times `G^4` together, each counted that many times.
    GaussianPairs(&'static [i128], i128),
    /// Sums of two predictors and `y`, each by at most its weight times `G^2`; the first, of the rows, by just that.
    Columns([i128; 10]),
    /// Each `2 S_j - G n` by `-G` to `G`, with this `G`, and `G n` by `G` where it is released.
    Vector { unit: i128, whole: bool },
    /// Each `S_j` by `-G` to `G`.
    Values(i128),
    /// Each `S_j` by 0 to `G`, at most that many by more than 0.
    Few(i128, usize),
    /// The number of bits that are set by 0 or 1 for each row.
    Occupied,
    /// One of that many counts by 1.
    Bins(usize),
    /// See [`check_choices`]: counts of which one moves by 1, each level's on one side of a cut.
    Choices,
    /// How far the rows passed are from the part `a / d` of all, at the end of each bin on the way: by `d - a` behind the row, and by `-a`
    /// before it.
    Walk(i128, i128),
    /// See [`check_auto`]: what the searches look at, and then the sums of the rows between what they found.
    Auto,
    /// As above, for a sum from 0.
    AutoSum,
    /// As above, for a variance, whose three sums are rounded down.
    AutoVariance,
    /// `2 S - G N` by at most `2 G`, as `N` stays.
    ClippedReplace,
    /// Each `2 S_j - G n` by at most `2 G`, and `G n` stays.
    VectorReplace(i128),
    /// Each `S_j` by at most `2 G`.
    ValuesReplace(i128),
    /// See [`check_smooth`].
    Smooth,
    /// See [`check_cells`]: the sum of the rows around the place, and of their distances from the
    /// upper end.
    Cells,
    /// The sum alone, where a row is replaced.
    CellsReplace,
    /// The sum by at most that many steps, unless the coin of the replaced row's place came up.
    Coins(i128),
}

/// Cells, of 2^24 steps and as many halves, between the ends that rows are clipped to around a
/// place: with the default `clip`.
pub const AROUND_A_PLACE: i128 = 3 << 25;

impl Space {
    /// Whether integers can be moved so by `rows` rows more.
    pub fn has(self, moved: &[i128], rows: i128) -> bool {
        let within = |number: i128, most: i128| number.abs() <= most * rows;
        let from_middle =
            |number: i128, unit: i128| within(number, unit) && (number - rows * unit) % 2 == 0;
        match (self, moved) {
            (Self::Complement, [s1, s2]) => *s1 >= 0 && *s2 >= 0 && s1 + s2 == rows * G,
            (Self::Centred, [sum, whole]) => from_middle(*sum, G) && *whole == rows * G,
            (Self::Walk(a, d), ends) => {
                let fits = |end: &i128| (end + rows * a) % d == 0 && within(*end, a.max(d - a));
                !ends.is_empty() && ends.is_sorted() && ends.iter().all(fits)
            }
            (Self::AutoSum, [sum]) => from_middle(*sum, G),
            (Self::Auto, moved) => Self::Complement.has(moved, rows),
            (Self::Signed, [sum, whole]) => within(*sum, G) && *whole == rows * G,
            (Self::Sum, [sum]) => within(*sum, G),
            (Self::Rows, [n]) => *n == rows,
            (Self::People, [steps]) => (0..=rows.min(1)).contains(steps),
            (Self::LaplaceMoments, [f0, f1, f2]) => {
                let all = f0.abs() + f1.abs() + f2.abs();
                // Eight times the Bernstein sums of a row add up to 8 G^2.
                let bernstein = 4 * f0 + 6 * f1 + 4 * f2;
                all <= 2 * COARSE * COARSE * rows && bernstein == 8 * COARSE * COARSE * rows
            }
            (Self::AutoVariance, [f0, f1, f2]) => {
                let all = f0.abs() + f1.abs() + f2.abs();
                let bernstein = 4 * f0 + 6 * f1 + 4 * f2;
                // Each sum is less than one step off.
                all <= 2 * COARSE * COARSE * rows + 2
                    && (bernstein - 8 * COARSE * COARSE * rows).abs() < 14
            }
            (Self::GaussianMoments, [l0, l1, l2]) => {
                let square = l0 * l0 + l1 * l1 + l2 * l2;
                let unit = COARSE * COARSE * rows;
                square <= unit * unit && l0 + l1 + l2 == unit
            }
            (Self::LaplacePairs(length, most), sums) => {
                let all: i128 = sums.iter().map(|sum| sum.abs()).sum();
                sums.len() == length && all <= most * PAIR * rows && (rows == 0 || all > 0)
            }
            (Self::Weights, sums) => {
                let all: i128 = sums.iter().map(|sum| sum.abs()).sum();
                sums.len() == 2 && all <= PAIR * rows + 2 && 4 * (all + 2) >= PAIR * rows
            }
            (Self::GaussianPairs(times, most), sums) => {
                let squares = sums.iter().zip(times).map(|(sum, times)| times * sum * sum);
                let all: i128 = squares.sum();
                sums.len() == times.len() && all <= most * (PAIR * rows) * (PAIR * rows)
            }
            (Self::Columns(weights), sums) => {
                let mut each = sums.iter().zip(weights);
                sums.len() == weights.len()
                    && sums[0] == weights[0] * PAIR * rows
                    && each.all(|(sum, weight)| within(*sum, weight * PAIR))
            }
            (Self::Vector { unit, whole }, numbers) => {
                let (sums, rest) = numbers.split_at(D);
                sums.iter().all(|sum| from_middle(*sum, unit))
                    && rest == if whole { vec![rows * unit] } else { vec![] }
            }
            (Self::Values(unit), sums) => {
                sums.len() == D && sums.iter().all(|sum| within(*sum, unit))
            }
            (Self::Few(unit, most), sums) => {
                let all = sums.len() == D && sums.iter().all(|sum| *sum >= 0 && within(*sum, unit));
                all && sums.iter().filter(|sum| **sum > 0).count() <= most * rows as usize
            }
            (Self::Occupied, [bits]) => (0..=rows).contains(bits),
            (Self::Bins(length), counts) => {
                let sum: i128 = counts.iter().sum();
                counts.len() == length && counts.iter().all(|count| *count >= 0) && sum == rows
            }
            (Self::ClippedReplace, [sum]) => sum.abs() <= 2 * G * rows && sum % 2 == 0,
            (Self::VectorReplace(unit), numbers) => {
                let (sums, whole) = numbers.split_at(D);
                sums.iter()
                    .all(|sum| within(*sum, 2 * unit) && sum % 2 == 0)
                    && whole == [0]
            }
            (Self::ValuesReplace(unit), sums) => {
                sums.len() == D && sums.iter().all(|sum| within(*sum, 2 * unit))
            }
            (Self::Cells, [s1, s2]) => *s1 >= 0 && *s2 >= 0 && s1 + s2 == AROUND_A_PLACE * rows,
            // Without a place nothing is released of the sum.
            (Self::CellsReplace, []) => true,
            (Self::CellsReplace, [sum]) => within(*sum, AROUND_A_PLACE),
            _ => false,
        }
    }
}

/// Which rows count.
#[derive(Clone, Copy, Debug)]
pub enum Counted {
    All,
    /// `x` is not NULL.
    NotNull,
    /// `x` is neither NULL nor NaN.
    Values,
    /// And it is between the bounds.
    Inside,
    /// Neither `x` nor `y` is NULL or NaN.
    Pairs,
}

impl Counted {
    pub fn counts(self, row: &Row, (lo, hi): (f64, f64)) -> bool {
        match self {
            Self::All => true,
            Self::NotNull => row.x.is_some(),
            Self::Values => row.x.is_some_and(|x| !x.is_nan()),
            Self::Pairs => [row.x, row.y]
                .iter()
                .all(|value| value.is_some_and(|value| !value.is_nan())),
            Self::Inside => row.x.is_some_and(|x| lo <= x && x <= hi),
        }
    }
}
