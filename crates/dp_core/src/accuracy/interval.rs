//! Intervals: what a release says of the number that it hides, from released and public numbers alone.
//!
//! **What an interval covers.** The mean (sum, number) of the rows that were counted, clamped to the
//! bounds, with at least the probability that was asked for, over the noise, whatever the rows are. It
//! does not cover the mean of a population that the rows were drawn from.
//!
//! **Why it costs nothing.** It is a function of the answer, which is private, and of public numbers:
//! post-processing. The functions here never see a state.
//!
//! **A ratio.** A mean is the noisy sum `s` over the noisy number of rows `w`. With `u` the true mean and
//! noise `X`, `Y` on sum and number, `s - u w = X - u Y`, whatever the rows and their number are (Fieller
//! 1954). So the `u` with `|s - u w| <= q(u)`, where `|X - u Y|` is above `q(u)` with at most the
//! probability `miss`, hold the true one with probability `1 - miss`. (The tempting `m +- q(m) / w`
//! around the answer `m` does not: it holds it in 93% of releases of one row at eps 2, for 95%.)
//! Moving `s` to the nearest sum that rows can have, as an answer kept between its bounds has done,
//! brings it no farther from any `u w`; so the answer itself serves as `s / w`. Where `w` is not
//! positive, the interval is all there is between the bounds.

use crate::accuracy::tail::quantile;
use crate::error::ParameterError;

/// From an answer to the ends of its interval.
pub type Intervals<A> = Box<dyn Fn(&A) -> [f64; 2]>;

/// The probability with which an interval misses: 1 less the argument `confidence`, which is 0.95 where
/// a call has none.
///
/// # Errors
/// NULL, or not above 0 and below 1.
pub fn miss(confidence: Option<Option<f64>>) -> Result<f64, ParameterError> {
    const HINT: &str = "0.95 is usual: the interval then holds what it estimates in at least 95 of 100 \
                        releases.";
    match confidence {
        None => Ok(0.05),
        Some(Some(confidence)) if confidence > 0.0 && confidence < 1.0 => Ok(1.0 - confidence),
        Some(Some(_)) => Err(ParameterError::new(
            "confidence",
            "must be greater than 0 and less than 1",
            HINT,
        )),
        Some(None) => Err(ParameterError::new("confidence", "must not be NULL", HINT)),
    }
}

/// `P(|X - u Y| > t)`, of `u` and `t`.
type Tail<'a> = Box<dyn Fn(f64, f64) -> f64 + 'a>;

/// A mean as a ratio of a noisy sum and a noisy number of rows.
pub struct Ratio<'a> {
    /// The value, in the column's unit, where the ratio is 0.
    pub origin: f64,
    /// What the value moves by where the ratio moves by 1.
    pub unit: f64,
    /// The ratios that rows between the bounds can have.
    pub range: [f64; 2],
    /// `P(|X - u Y| > t)`, of `u` and `t`, for the noise `X` of the sum and `Y` of the number of rows.
    pub tail: Tail<'a>,
}

/// How the range of a ratio is cut, for `q(u)`.
const PIECES: usize = 32;

/// What `q(u)` is made larger by, for what it may bulge by between the points where it is computed: a
/// test compares.
const BULGE: f64 = 1e-3;

/// Grid steps are not real numbers: a row is off by half a step of 2^-32 at most, noise by a few.
pub(crate) const STEP: f64 = 4.0 / (1u64 << 32) as f64;

/// `q(u)` for one probability: never below it, as straight pieces.
pub struct Reach {
    range: [f64; 2],
    /// At both ends of each piece.
    pieces: Vec<[f64; 2]>,
}

impl Ratio<'_> {
    /// `q(u)` for this probability, at one place.
    pub fn reach_at(&self, u: f64, miss: f64) -> f64 {
        quantile(miss, |t| (self.tail)(u, t)) * (1.0 + BULGE) + STEP
    }

    /// `q(u)` for this probability.
    pub fn reach(&self, miss: f64) -> Reach {
        let [from, to] = self.range;
        let at = |i: usize| {
            let u = from + (to - from) * (i as f64 / (2 * PIECES) as f64);
            self.reach_at(u, miss)
        };
        let points: Vec<f64> = (0..=2 * PIECES).map(at).collect();
        let pieces = (0..PIECES).map(|i| {
            let [left, middle, right] = [points[2 * i], points[2 * i + 1], points[2 * i + 2]];
            // Where it bends outwards, by more than what shows in the middle.
            let above = 2.0 * (middle - left.midpoint(right)).max(0.0);
            [left + above, right + above]
        });
        Reach {
            range: self.range,
            pieces: pieces.collect(),
        }
    }

    /// The root mean squared error of the answer for that many rows, where their mean is at the worst
    /// place; `noise_sd` is that of the noise in the answer, in the ratio's own unit, at its largest.
    ///
    /// The worst place is near an end, as far from it as answers seldom are pushed beyond it, or
    /// wherever there is room. Exact but for answers of a number of rows that is not positive, as if
    /// those were where the noisy sum sends them.
    pub fn worst_rmse(&self, rows: f64, noise_sd: f64) -> f64 {
        let [from, to] = self.range;
        let far = [from, to].map(|u| quantile(1e-9, |t| (self.tail)(u, t)) / rows);
        let far = far[0].max(far[1]);
        let width = to - from;
        let places = [0.0, 0.7, 1.4, 2.1, 2.8, 4.0, 6.0].map(|sds: f64| sds * noise_sd);
        let inside = places.into_iter().filter(|place| *place < 0.5 * width);
        // A place, and the room above it and below it.
        let ends = inside.flat_map(|place| {
            [
                (from + place, width - place, place),
                (to - place, place, width - place),
            ]
        });
        let middle = (from.midpoint(to), 0.5 * width, 0.5 * width);
        let squares = ends.chain([middle]).map(|(u, above, below)| {
            [(1.0, above), (-1.0, below)].map(|(side, room)| {
                // E max(0, answer - u)^2 is the integral of 2 d P(answer - u > d), and the answer is
                // beyond u + d where X - (u + d) Y is beyond d rows: a fair half of |X - (u + d) Y|.
                let beyond = |d: f64| (self.tail)(u + side * d, d * rows) / 2.0;
                integral(far.min(room), |d| 2.0 * d * beyond(d))
            })
        });
        squares
            .map(|[up, down]| up + down)
            .fold(0.0, f64::max)
            .sqrt()
    }

    /// The intervals for this probability of missing, of answers between `lo` and `hi`: from the
    /// released mean and number of rows.
    pub fn intervals(&self, miss: f64, lo: f64, hi: f64) -> impl Fn(f64, f64) -> [f64; 2] + use<> {
        let (reach, origin, unit) = (self.reach(miss), self.origin, self.unit);
        let value = move |u: f64| origin + unit * u;
        // The answer is a rounded number, and so are the ends.
        let slack = 4.0 * f64::EPSILON * lo.abs().max(hi.abs()) + STEP * unit;
        move |mean, count| {
            let ratio = (mean - origin) / unit;
            let [from, to] = reach.around(ratio, count);
            let (lower, upper) = (value(from) - slack, value(to) + slack);
            [lower.clamp(lo, hi), upper.clamp(lo, hi)]
        }
    }
}

/// The integral from 0 to `end`, by Simpson's rule in the square root: finer near 0.
fn integral(end: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 64;
    let at = |i: usize| {
        let s = i as f64 / STEPS as f64;
        f(end * s * s) * 2.0 * end * s
    };
    let inner = (1..STEPS).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * at(i));
    (inner.sum::<f64>() + at(STEPS)) / (3 * STEPS) as f64
}

impl Reach {
    /// `q(u)`, or somewhat more.
    pub fn at(&self, u: f64) -> f64 {
        let [from, to] = self.range;
        let place = ((u - from) / (to - from) * PIECES as f64).clamp(0.0, PIECES as f64);
        let piece = (place as usize).min(PIECES - 1);
        let [left, right] = self.pieces[piece];
        left + (right - left) * (place - piece as f64)
    }

    /// The largest.
    pub fn largest(&self) -> f64 {
        self.pieces.iter().flatten().copied().fold(0.0, f64::max)
    }

    /// The least and the largest `u` with `|ratio - u| rows <= q(u)`; all where `rows` is not positive.
    pub fn around(&self, ratio: f64, rows: f64) -> [f64; 2] {
        let [from, to] = self.range;
        if rows <= 0.0 || rows.is_nan() {
            return self.range;
        }
        let width = (to - from) / PIECES as f64;
        let ratio = ratio.clamp(from, to);
        let [mut least, mut largest] = [ratio; 2];
        for (i, [left, right]) in self.pieces.iter().enumerate() {
            let start = from + width * i as f64;
            // On this piece q is left + slope v, with v the way into it.
            let slope = (right - left) / width;
            let [mut low, mut high] = [0.0, width];
            // Above the answer: start + v - ratio <= (left + slope v) / rows, and below it likewise.
            for side in [1.0, -1.0] {
                let (gain, room) = (side - slope / rows, left / rows - side * (start - ratio));
                if gain > 0.0 {
                    high = f64::min(high, room / gain);
                } else if gain < 0.0 {
                    low = f64::max(low, room / gain);
                } else if room < 0.0 {
                    high = -1.0;
                }
            }
            if low <= high {
                least = f64::min(least, start + low);
                largest = f64::max(largest, start + high);
            }
        }
        [least, largest]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reach that grows just as fast as what it is compared with.
    #[test]
    fn parallel_lines_meet_everywhere_or_nowhere() {
        let rows = 64.0;
        let reach = |first: f64| Reach {
            range: [0.0, 1.0],
            pieces: (0..PIECES)
                .map(|i| [i, i + 1].map(|end| first + rows * end as f64 / PIECES as f64))
                .collect(),
        };
        // |ratio - u| rows <= rows u, for u from half the ratio on.
        assert_eq!(reach(0.0).around(0.5, rows), [0.25, 1.0]);
        assert_eq!(reach(0.0).around(0.0, rows), [0.0, 1.0]);
        // |ratio - u| rows <= rows (u - 1/8), for u from half of 5/8 on, if the ratio is beyond 1/8.
        assert_eq!(reach(-8.0).around(0.5, rows), [0.3125, 1.0]);
        assert_eq!(reach(-8.0).around(0.0625, rows), [0.0625; 2]);
    }
}
