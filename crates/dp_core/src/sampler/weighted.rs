//! One of many places, with weights that fall exponentially in an integer: what the exponential mechanism draws.

use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::enclosure::Enclosure;
use crate::sampler::natural::Natural;

/// Places next to each other that have one score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How many, at least 1.
    pub width: u64,
    /// Their score, 0 of the likeliest.
    pub score: u128,
}

/// A place of score `s` is drawn with a probability proportional to `e^(-unit s)`.
///
/// **Exactly.** The places lie side by side on a line, each as wide as its weight, and a uniform point of the line
/// says which one it is. The weights are irrational: intervals of fixed-point numbers hold them, so that the first word
/// decides unless the point is within about 2^-64 of the line from where two places meet. Then more words are
/// drawn and the weights are bracketed more tightly, until it is decided. So a draw takes one word, whatever the
/// scores are, but once in about 2^64 over the number of places.
///
/// That ends with certainty: with every word the point is known to a smaller part of the line, and the probability that
/// it is still within reach of a border is smaller by as much.
#[derive(Clone, Debug)]
pub struct Weighted {
    unit: Epsilon,
    /// `e^(-unit s)` for `s = digit 64^level`, by level and digit.
    table: Vec<[u128; DIGITS]>,
    /// What is above has a weight below 2^-POINT.
    far: u128,
}

/// Binary digits behind the point of a weight, which is at most 1. A line of 2^27 places fits in 128 bits.
const POINT: u32 = 100;
const ONE: u128 = 1 << POINT;

/// The most places in all.
const MOST: u64 = 1 << 27;

/// The digits of a score in the table.
const DIGITS: usize = 64;
const DIGIT: u32 = DIGITS.trailing_zeros();

/// By how many units of the last place a weight may be too small, unless it is 1: a power is by 2, a product of
/// two numbers of at most 1 by what they are together, and 3. An entry of the table is one of at most 6 powers,
/// 27 units, and a weight one of at most 9 entries, 267.
const LACK: u128 = 512;

/// Binary digits beyond those that are wanted. The errors of powers double with each squaring as long as these are near
/// 1: 51 times, as `unit` is at least 2^-45; and at most 64 terms of a series have brought 2 each.
const GUARD: u32 = 80;

impl Weighted {
    /// With this unit, from 2^-45 to 64.
    pub fn new(unit: Epsilon) -> Self {
        // From here on weights are below 2^-100: 70 > 100 ln 2.
        let far = (70.0 / unit.value()).ceil() as u128;
        let bits = 128 - far.leading_zeros();
        let powers: Vec<u128> = powers(unit, POINT, bits)
            .map(|power| power.low.low_128())
            .collect();
        let levels = powers.chunks(DIGIT as usize);
        let table = levels.map(|powers| {
            std::array::from_fn(|digit| {
                let set = powers.iter().enumerate();
                let set = set.filter(|(bit, _)| digit >> bit & 1 == 1);
                set.fold(ONE, |product, (_, power)| times(product, *power))
            })
        });
        Self {
            unit,
            table: table.collect(),
            far,
        }
    }

    /// Scores above it may be told as any other one above it, but where [`choose`](Self::choose) asks for all.
    pub fn far(&self) -> u128 {
        self.far
    }

    /// The weight, too small by [`LACK`] at most, and never too large; 1 is exact.
    #[inline]
    fn weight(&self, score: u128) -> u128 {
        if score > self.far {
            return 0;
        }
        let (mut weight, mut rest) = (ONE, score as u64);
        for level in &self.table {
            let digit = rest as usize % DIGITS;
            if digit != 0 {
                weight = times(weight, level[digit]);
            }
            rest >>= DIGIT;
        }
        weight
    }

    /// Draws a place, counted from 0, from runs that are at most 2^27 places wide together. `runs` is asked for them
    /// several times, with the score above which the scores that it gives need only be above it, too.
    pub fn choose<B: Bits, R: Iterator<Item = Run>>(
        &self,
        runs: impl Fn(u128) -> R,
        bits: &mut B,
    ) -> u64 {
        let word = bits.word();
        self.at(runs(self.far), || runs(self.far), word, B::WIDTH)
            .unwrap_or_else(|| self.decide(&runs, word, bits))
    }

    /// The place of a point that lies from `word` to `word + 1`, times `2^-width`, of the line; `None` if that
    /// leaves it open.
    fn at<R: Iterator<Item = Run>>(
        &self,
        first: impl Iterator<Item = Run>,
        again: impl FnOnce() -> R,
        word: u64,
        width: u32,
    ) -> Option<u64> {
        let lack = |run: &Run| if run.score == 0 { 0 } else { LACK };
        let (mut least, mut most, mut places) = (0u128, 0u128, 0);
        for run in first {
            let weight = self.weight(run.score);
            least += weight * u128::from(run.width);
            most += (weight + lack(&run)) * u128::from(run.width);
            places += run.width;
        }
        debug_assert!(places <= MOST);
        // The point, at least and at most.
        let word = word << (64 - width);
        let after = u128::from(word) + (1 << (64 - width));
        let (least, most) = (part(least, u128::from(word)), part(most, after) + 2);

        let (mut low, mut high, mut place) = (0u128, 0u128, 0);
        for run in again() {
            let weight = self.weight(run.score);
            let heavier = weight + lack(&run);
            let width = u128::from(run.width);
            if least < high + heavier * width {
                // In this run or before its end, if it can be told.
                let inside = (least.checked_sub(high)? / heavier.max(1)).min(width - 1);
                let ends = low + (inside + 1) * weight;
                return (most <= ends).then_some(place + inside as u64);
            }
            low += weight * width;
            high += heavier * width;
            place += run.width;
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn decide<B: Bits, R: Iterator<Item = Run>>(
        &self,
        runs: &impl Fn(u128) -> R,
        word: u64,
        bits: &mut B,
    ) -> u64 {
        let mut uniform = Natural::new(u128::from(word));
        let mut width = B::WIDTH;
        loop {
            // Narrower than the point's interval, even over all places.
            let digits = width + 64;
            if let Some(place) = self.at_exactly(runs, &uniform, width, digits) {
                return place;
            }
            uniform = uniform
                .up(B::WIDTH)
                .plus(&Natural::new(u128::from(bits.word())));
            width += B::WIDTH;
        }
    }

    /// As [`at`](Self::at), with weights to that many binary digits.
    fn at_exactly<R: Iterator<Item = Run>>(
        &self,
        runs: &impl Fn(u128) -> R,
        word: &Natural,
        width: u32,
        digits: u32,
    ) -> Option<u64> {
        let largest = runs(u128::MAX).map(|run| run.score).max().unwrap_or(0);
        let powers: Vec<_> = powers(self.unit, digits, 128 - largest.leading_zeros()).collect();
        let one = Natural::new(1);
        // Below and above the weight of a score, times 2^digits.
        let weigh = |score: u128| {
            let set = powers.iter().enumerate();
            let set = set.filter(|(bit, _)| score >> bit & 1 == 1);
            set.fold(
                [one.up(digits), one.up(digits)],
                |[low, high], (_, power)| {
                    [
                        low.times(&power.low).down(digits),
                        high.times(&power.high).down(digits).plus(&one),
                    ]
                },
            )
        };
        let beyond = |ends: &[Natural; 2], weights: &[Natural; 2], places: u64| {
            let places = Natural::new(u128::from(places));
            [0, 1].map(|i| ends[i].plus(&weights[i].times(&places)))
        };
        let nothing = [Natural::new(0), Natural::new(0)];
        let all = runs(u128::MAX).fold(nothing.clone(), |ends, run| {
            beyond(&ends, &weigh(run.score), run.width)
        });
        let (least, most) = (word.times(&all[0]), word.plus(&one).times(&all[1]));

        let (mut start, mut place) = (nothing, 0);
        for run in runs(u128::MAX) {
            let weights = weigh(run.score);
            let end = beyond(&start, &weights, run.width);
            if least < end[1].up(width) {
                // The last place of the run that certainly starts at the point or before it.
                let starts_before = |inside| beyond(&start, &weights, inside)[1].up(width) <= least;
                if !starts_before(0) {
                    return None;
                }
                let (mut inside, mut after) = (0, run.width);
                while after - inside > 1 {
                    let middle = inside + (after - inside) / 2;
                    if starts_before(middle) {
                        inside = middle;
                    } else {
                        after = middle;
                    }
                }
                let ends = &beyond(&start, &weights, inside + 1)[0];
                return (most <= ends.up(width)).then_some(place + inside);
            }
            start = end;
            place += run.width;
        }
        None
    }
}

/// `e^(-unit 2^k)` for `k` from 0 on, that many, with `digits` binary digits.
fn powers(unit: Epsilon, digits: u32, many: u32) -> impl Iterator<Item = Enclosure> {
    let first = Enclosure::of_exp_minus(unit, digits + GUARD);
    let all = std::iter::successors(Some(first), |power| Some(power.squared()));
    all.take(many as usize).map(move |power| power.cut(digits))
}

/// `a b` of two weights, rounded down by at most 3 units.
#[inline(always)]
fn times(a: u128, b: u128) -> u128 {
    let [a1, a0] = [a >> 64, a & u128::from(u64::MAX)];
    let [b1, b0] = [b >> 64, b & u128::from(u64::MAX)];
    // Weights are at most 2^100, so each term is below 2^128.
    ((a1 * b1) << (128 - POINT)) + ((a1 * b0 + a0 * b1) >> (POINT - 64)) + ((a0 * b0) >> POINT)
}

/// `whole part / 2^64`, rounded down by less than 2 units; `part` is at most 2^64.
#[inline(always)]
fn part(whole: u128, part: u128) -> u128 {
    let [high, low] = [whole >> 64, whole & u128::from(u64::MAX)];
    if part >> 64 != 0 {
        return whole;
    }
    high * part + ((low * part) >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Script;

    /// A first word at the border of two places does not decide: what comes after it does.
    #[test]
    fn the_words_after_the_first_decide_at_a_border() {
        let weighted = Weighted::new(Epsilon::new(Some(1.0)).unwrap());
        // Three places of one weight meet at thirds: 0x5555... and 0xAAAA...
        for score in [0, 7] {
            let runs = |_| [Run { width: 3, score }].into_iter();
            let choose = |words: &[u64]| Script::play(words, |bits| weighted.choose(runs, bits));
            let (first, second) = (u64::MAX / 3, u64::MAX / 3 * 2);
            for (border, place) in [(first, 0), (second, 1)] {
                let far = 1 << 32;
                assert_eq!(choose(&[border - far]), (place, 1));
                assert_eq!(choose(&[border + far]), (place + 1, 1));
                assert_eq!(choose(&[border, 0]), (place, 2), "{score}");
                assert_eq!(choose(&[border, u64::MAX]), (place + 1, 2), "{score}");
            }
        }
    }
}
