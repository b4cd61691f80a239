//! The ends of what has no bounds: first an octave, from the outside in; then both ends near it, in one choice, or one
//! for both sides.
//!
//! The proofs: docs/proofs/mean-auto.md, docs/proofs/sum-auto.md.

use crate::encoding::log_bins::OF_A_SIGN;
use crate::encoding::ranges::Edge;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, noted};
use crate::sampler::geometric::Geometric;
use crate::sampler::weighted::{Run, Weighted};

/// The probability that noise alone stops a walk where there are no rows.
const FALSE_STOP: f64 = 3.1e-4;

/// A walk over numbers of rows that never fall, to the first that noise does not tell from enough of them.
///
/// Each number has one-sided geometric noise, and so has the threshold: where the former reaches the latter, the walk
/// stops (AboveThreshold; Dwork, Roth 2014, algorithm 1, with noise of one side).
///
/// **Why it is private** (pure, `epsilon` in all, however many numbers there are; neighbours by adding or removing one
/// row). A row more raises the numbers from some place on by 1, and those before it not at all. Let the walk stop at
/// place `j`.
///
/// * If `j` is before that place, nothing that was looked at moved.
/// * If not: let `P` be the probability with the row and `P'` without it, and look at the threshold's noise `r`. *With*
///   the row and `r + 1` the stop at `j` compares the same numbers as *without* the row and `r`, and each place before
///   `j` either the same ones or a number that is by 1 further from its threshold, so that not stopping there is as
///   likely or likelier; and `r + 1` is `e^-epsilon` times as likely as `r`. So `P >= e^-epsilon P'`. *Without* the row
///   and the same `r`, not stopping before `j` is as likely or likelier; and to stop at `j` takes noise that is larger
///   by 1, which is `e^-epsilon` times as likely, or is certain in both. So `P' >= e^-epsilon P`.
///
/// That numbers move one way, and that none moves before one that does not, is what this rests on. It does not hold for
/// a second walk from the other end over the same rows: the two together are 2 `epsilon`-private, as a test shows.
#[derive(Clone, Debug)]
pub struct Walk {
    threshold: i128,
    noise: Geometric,
}

impl Walk {
    /// Over that many numbers.
    pub fn new(epsilon: Epsilon, places: usize) -> Self {
        // Noise reaches a threshold t that has noise itself with probability e^(-epsilon t) / (1 + e^-epsilon), at each
        // place.
        let once = FALSE_STOP * (1.0 + (-epsilon.value()).exp());
        let t = (places as f64 / once).ln() / epsilon.value();
        Self::with_threshold(epsilon, t.ceil() as i128)
    }

    /// With this threshold.
    pub fn with_threshold(epsilon: Epsilon, threshold: i128) -> Self {
        Self {
            threshold,
            noise: Geometric::new(epsilon),
        }
    }

    /// The threshold, before its noise.
    pub fn threshold(&self) -> i128 {
        self.threshold
    }

    /// The place of the first number that is large enough, counted from 0.
    ///
    /// All noise is drawn, whatever the numbers are: the time that it takes must not tell where it stopped.
    pub fn stop<B: Bits>(&self, numbers: &[i128], bits: &mut B) -> Option<usize> {
        let mut draw = || i128::try_from(self.noise.draw(bits)).unwrap_or(i128::MAX);
        let threshold = self.threshold.saturating_add(draw());
        let first = numbers.iter().enumerate().rev();
        let first = first.fold(None, |first, (place, number)| {
            let reached = number.saturating_add(draw()) >= threshold;
            if reached { Some(place) } else { first }
        });
        // The place, and -1 of none.
        let noted = noted(numbers, first.map_or(-1, |place| place as i128), bits);
        usize::try_from(noted).ok()
    }
}

/// Rows outside of each edge: below it, were it the lower end, and above it, were it the upper one.
#[derive(Clone, Debug)]
pub struct Outside {
    below: Vec<i128>,
    above: Vec<i128>,
}

impl Outside {
    /// Of that many rows in each bin, from the most negative to the largest.
    pub fn new(counts: &[i128], edges: &[Edge]) -> Self {
        let mut sum = 0;
        let upto: Vec<i128> = std::iter::once(0)
            .chain(counts.iter().map(|count| {
                sum += count;
                sum
            }))
            .collect();
        // The number of rows in bins before this one.
        let before = |bin: i32| upto[((bin + OF_A_SIGN).max(0) as usize).min(upto.len() - 1)];
        Self {
            below: edges.iter().map(|e| before(e.last_below() + 1)).collect(),
            above: edges
                .iter()
                .map(|e| sum - before(e.first_above()))
                .collect(),
        }
    }

    /// The number of rows outside of each edge and of its mirror image together: beyond both they are not.
    pub fn on_both_sides(counts: &[i128], edges: &[Edge]) -> Vec<i128> {
        let mirrored: Vec<Edge> = edges.iter().map(Edge::mirrored).collect();
        let (inner, outer) = (Self::new(counts, edges), Self::new(counts, &mirrored));
        let sides = inner.above.iter().zip(&outer.below);
        sides.map(|(above, below)| above + below).collect()
    }

    /// Of these numbers of rows, for each edge.
    pub fn of(below: Vec<i128>, above: Vec<i128>) -> Self {
        Self { below, above }
    }
}

/// By which exponents a pair's weight falls with the distance between its ends, in octaves: from one octave's lower end
/// on, and below it.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    /// From there on.
    pub wide: f64,
    /// Below.
    pub narrow: f64,
}

/// Steps of a score that are one row.
const FINE: u64 = 64;

/// One choice of two ends, the first below the second: the exponential mechanism over *pairs*.
///
/// A pair is drawn with a probability proportional to `pi e^(-epsilon s)`, where `s` is the number of rows that it
/// leaves outside, below the one or above the other, and `pi` a weight that falls with the distance between the two.
/// The weight is `e^(-unit p)`, with `unit = epsilon / 64` and a public whole number `p`: so a pair's score is
/// `64 s + p`.
///
/// **Why it is private** (pure, `epsilon`; neighbours by adding or removing one row). A row more is outside of a pair
/// or it is not: below one end and above the other it cannot be. So it moves `s` by 0 or by 1, of all pairs in the same
/// direction: each weight by a factor between `e^-epsilon` and 1, and so their sum, and a pair's share of it by one
/// between `e^-epsilon` and `e^epsilon`. (Scores that moved either way would cost twice that.)
#[derive(Clone, Debug)]
pub struct Ends {
    unit: Epsilon,
    weighted: Weighted,
}

impl Ends {
    /// At this share of epsilon.
    pub fn new(epsilon: Epsilon) -> Self {
        let unit = epsilon.part(1, FINE);
        Self {
            unit,
            weighted: Weighted::new(unit),
        }
    }

    /// What is added to a score for the distance between two ends: in 64ths of an octave's lower end.
    fn penalty(&self, prior: Prior, width: i64) -> i128 {
        let octaves = (width as f64 / FINE as f64).ln();
        let exponent = if octaves < 0.0 {
            prior.narrow
        } else {
            prior.wide
        };
        (exponent * octaves / self.unit.value()).round() as i128
    }

    /// The scores of all pairs, the first end in the outer loop: at least 0.
    pub fn scores(&self, outside: &Outside, at: &[i64], prior: Prior) -> Vec<i128> {
        let pairs = (0..at.len()).flat_map(|i| (i + 1..at.len()).map(move |j| (i, j)));
        let scores = pairs.map(|(i, j)| {
            let rows = outside.below[i] + outside.above[j];
            i128::from(FINE) * rows + self.penalty(prior, at[j] - at[i])
        });
        from_zero(scores.collect())
    }

    /// The scores of single ends that leave that many rows outside: at least 0.
    pub fn scores_of_one(&self, outside: &[i128], at: &[i64], prior: Prior) -> Vec<i128> {
        let ends = outside.iter().zip(at);
        let scores = ends.map(|(rows, at)| i128::from(FINE) * rows + self.penalty(prior, *at));
        from_zero(scores.collect())
    }

    fn draw<B: Bits>(&self, scores: &[i128], bits: &mut B) -> i128 {
        let runs = |_far| {
            scores.iter().map(|score| Run {
                width: 1,
                score: score.unsigned_abs(),
            })
        };
        i128::from(self.weighted.choose(runs, bits))
    }

    /// Draws the place of one end, of at least one, where a row that is outside of an end is outside of all before it.
    ///
    /// **Why it is private**: as for a pair. A row more moves each score by 0 or 1 in the same direction.
    pub fn choose_one<B: Bits>(
        &self,
        outside: &[i128],
        at: &[i64],
        prior: Prior,
        bits: &mut B,
    ) -> usize {
        let chosen = self.draw(&self.scores_of_one(outside, at, prior), bits);
        noted(outside, chosen, bits) as usize
    }

    /// Draws the places of two ends, of at least two.
    pub fn choose<B: Bits>(
        &self,
        outside: &Outside,
        at: &[i64],
        prior: Prior,
        bits: &mut B,
    ) -> (usize, usize) {
        let chosen = self.draw(&self.scores(outside, at, prior), bits);
        let exact = [&outside.below[..], &outside.above].concat();
        let mut chosen = noted(&exact, chosen, bits) as usize;
        let last = at.len() - 1;
        for i in 0..last {
            let pairs = last - i;
            if chosen < pairs {
                return (i, i + 1 + chosen);
            }
            chosen -= pairs;
        }
        (0, last)
    }
}

/// Less the least of them.
fn from_zero(scores: Vec<i128>) -> Vec<i128> {
    let least = scores.iter().copied().min().unwrap_or(0);
    scores.into_iter().map(|score| score - least).collect()
}
