//! Scores of the places of a line: how far each is from a quantile, in rows.

use crate::request::ranks::Fraction;
use crate::sampler::weighted::Run;

/// Places that are told apart in a bin.
pub const PLACES: u64 = 16;

/// The number of rows that a part `numerator / denominator` of a bin holds: rows are spread over a bin evenly. One row
/// more in the bin makes it one more, or as many, and never fewer, as the part is at most 1.
fn share(rows: i128, numerator: i128, denominator: i128) -> i128 {
    rows * numerator / denominator
}

/// How many of the rows of a bin lie below the middle of a place of it.
pub(super) fn rows_below_middle(rows: i128, place: u64) -> i128 {
    share(rows, i128::from(2 * place + 1), 2 * i128::from(PLACES))
}

/// The scores of all places of some bins, 0 of those that hold the quantile. With `a / d` the quantile, `n` the number
/// of rows, and `L` and `U` those below a place and below its end, the score is `max(0, d L - a n, a n - d U)`: how far
/// the quantile's rank is from the place's, in units of a `d`th of a row.
///
/// A row more moves `L` and `U` by 0 or 1, and so `d L - a n` and `a n - d U` by `d - a`, `-a`, `a - d` or `a`: by at
/// most [`larger_part`](Fraction::larger_part), and their maximum, too.
pub(super) struct Scores<'a> {
    counts: std::slice::Iter<'a, i128>,
    quantile: Fraction,
    /// `a n`.
    wanted: i128,
    /// Rows below the bin.
    below: i128,
    /// Scores above it need not be told apart.
    far: u128,
    /// Rows of the bin whose places are on, and the next of them.
    bin: Option<(i128, u64)>,
}

impl<'a> Scores<'a> {
    /// Of bins with that many rows.
    pub fn new(counts: &'a [i128], quantile: Fraction, far: u128) -> Self {
        let rows: i128 = counts.iter().sum();
        Self {
            counts: counts.iter(),
            quantile,
            wanted: i128::from(quantile.numerator) * rows,
            below: 0,
            far,
            bin: None,
        }
    }

    /// The same for the rank that is that many rows higher: a public number, which moves no score by what a row moves
    /// it.
    pub fn higher(self, rows: i128) -> Self {
        let by = i128::from(self.quantile.denominator) * rows;
        Self {
            wanted: self.wanted + by,
            ..self
        }
    }

    /// Of a place with that many rows below it and below its end.
    fn score(&self, below: i128, below_end: i128) -> u128 {
        let d = i128::from(self.quantile.denominator);
        let over = (d * below - self.wanted).max(self.wanted - d * below_end);
        over.max(0).unsigned_abs()
    }
}

impl Iterator for Scores<'_> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        let (rows, place) = match self.bin.take() {
            Some(bin) => bin,
            None => {
                let rows = *self.counts.next()?;
                let score = self.score(self.below, self.below + rows);
                // All places of an empty bin are alike, and all of one that is far away.
                if rows == 0 || score > self.far {
                    self.below += rows;
                    return Some(Run {
                        width: PLACES,
                        score,
                    });
                }
                (rows, 0)
            }
        };
        let ends = [place, place + 1]
            .map(|place| self.below + share(rows, i128::from(place), i128::from(PLACES)));
        if place + 1 < PLACES {
            self.bin = Some((rows, place + 1));
        } else {
            self.below += rows;
        }
        Some(Run {
            width: 1,
            score: self.score(ends[0], ends[1]),
        })
    }
}
