//! A coin whose probability is a known function of `e^epsilon`, decided exactly.

use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::enclosure::Enclosure;
use crate::sampler::natural::Natural;

/// A polynomial in `z = e^epsilon - 1`, of degree at most 2: the coefficients of 1, `z`, `z^2`.
pub type Weight = [u128; 3];

/// True with probability `yes(z) / (yes(z) + no(z))`, where `z = e^epsilon - 1`.
///
/// The weights have coefficients of 0 and more, below 2^70, and `yes(z) / no(z)` falls as `z`
/// grows. Such a coin comes before a distribution's parts, so that each part is then drawn
/// without rejections, and a large epsilon costs no more than a small one.
///
/// Exact though the probability `p` is irrational: a uniform number `U` is compared with it
/// digit by digit. The first word decides unless it lies in an interval of a few 2^-64 that is
/// known to hold `p`; then more digits of `U` are drawn and `p` is enclosed more tightly, until
/// `U` is on one side of it.
#[derive(Clone, Debug)]
pub struct Branch {
    yes: Weight,
    no: Weight,
    epsilon: Epsilon,
    /// `p >= surely * 2^-64`.
    surely: u64,
    /// `p <= (at_most + 1) * 2^-64`.
    at_most: u64,
}

impl Branch {
    /// Binary digits of `z` that the thresholds are computed from: `z >= 2^-21`, so 80 of them
    /// count, and `p` moves by at most twice as much, relatively, as `z`.
    const DIGITS: u32 = 101;

    /// Computes the interval that is known to hold `p`.
    pub fn new(epsilon: Epsilon, yes: Weight, no: Weight) -> Self {
        let z = Enclosure::of_expm1(epsilon, Self::DIGITS);
        // The ratio falls in z: its least value is at the upper end.
        let (least_yes, least_all) = z.high.weights(&yes, &no, z.digits);
        let (most_yes, most_all) = z.low.weights(&yes, &no, z.digits);
        let surely = ratio_64(&least_yes, &least_all, false);
        let at_most = ratio_64(&most_yes, &most_all, true);
        Self {
            yes,
            no,
            epsilon,
            surely,
            at_most,
        }
    }

    /// One toss.
    #[inline]
    pub fn toss<B: Bits>(&self, bits: &mut B) -> bool {
        let unseen = 64 - B::WIDTH;
        let word = bits.word();
        // U is in [word, word + 1) * 2^-WIDTH.
        if word < self.surely >> unseen {
            true
        } else if word > self.at_most >> unseen {
            false
        } else {
            self.decide(word, bits)
        }
    }

    #[cold]
    #[inline(never)]
    fn decide<B: Bits>(&self, word: u64, bits: &mut B) -> bool {
        let mut uniform = Natural::new(u128::from(word));
        let mut width = B::WIDTH;
        loop {
            // As tight as the interval of U: with narrow words, that leaves open what the first
            // thresholds would have decided, so that tests come here again and again.
            let z = Enclosure::of_expm1(self.epsilon, width + 32);
            let (yes, all) = z.high.weights(&self.yes, &self.no, z.digits);
            if uniform.plus(&Natural::new(1)).times(&all) <= yes.up(width) {
                return true;
            }
            let (yes, all) = z.low.weights(&self.yes, &self.no, z.digits);
            if uniform.times(&all) >= yes.up(width) {
                return false;
            }
            uniform = uniform
                .up(B::WIDTH)
                .plus(&Natural::new(u128::from(bits.word())));
            width += B::WIDTH;
        }
    }
}

impl Natural {
    /// `yes` and `yes + no` at `z = self * 2^-digits`, both times `2^(2 * digits)`.
    fn weights(&self, yes: &Weight, no: &Weight, digits: u32) -> (Natural, Natural) {
        let at = |[c0, c1, c2]: &Weight| {
            let constant = Natural::new(*c0).up(2 * digits);
            let linear = Natural::new(*c1).times(self).up(digits);
            let square = Natural::new(*c2).times(self).times(self);
            constant.plus(&linear).plus(&square)
        };
        let yes = at(yes);
        let all = yes.plus(&at(no));
        (yes, all)
    }
}

/// `part / whole * 2^64` rounded down, or, where `up` is set, one less than rounded up; cut to
/// 64 bits. For `part <= whole`. May be off by one outwards: only the top 127 bits are looked at.
pub(crate) fn ratio_64(part: &Natural, whole: &Natural, up: bool) -> u64 {
    let cut = whole.length().saturating_sub(126);
    let widen = u128::from(cut > 0);
    let (mut remainder, divisor) = (part.down(cut).low_128(), whole.down(cut).low_128());
    let (divisor, widen) = if up {
        (divisor, widen)
    } else {
        (divisor + widen, 0)
    };
    remainder += widen;
    if remainder >= divisor {
        return u64::MAX;
    }
    let mut quotient = 0;
    for _ in 0..64 {
        remainder <<= 1;
        quotient <<= 1;
        if remainder >= divisor {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Script;

    #[test]
    fn thresholds_enclose_the_probability_within_two_units() {
        let g = 1u128 << 32;
        let weights: [(Weight, Weight); 5] = [
            ([2, 0, 0], [0, 1, 0]),
            ([2 * g, 0, 0], [0, 1, 0]),
            ([2 * g, 0, 0], [0, 2 * g - 1, 0]),
            ([4 * g * g, 2 * g * (g + 1), 0], [0, 0, 1]),
            ([4 * g * g, 6 * g * g, 0], [0, 0, 2 * g * g]),
        ];
        for value in [Epsilon::MIN, 0.01, 1.0, 4.0, 16.0, 50.0] {
            let epsilon = Epsilon::new(Some(value)).unwrap();
            let z = epsilon.value().exp_m1();
            for (yes, no) in weights {
                let branch = Branch::new(epsilon, yes, no);
                assert!(
                    branch.at_most - branch.surely <= 1,
                    "{value} {yes:?} {no:?}"
                );
                let at = |w: Weight| w[0] as f64 + z * (w[1] as f64 + z * w[2] as f64);
                let p = at(yes) / (at(yes) + at(no));
                let threshold = branch.surely as f64 / 2f64.powi(64);
                assert!((threshold / p - 1.0).abs() < 1e-12 || (threshold - p).abs() < 1e-18);
            }
        }
    }

    /// A first word that leaves the coin open does not decide it: what comes after it does.
    #[test]
    fn the_words_after_the_first_decide_what_it_leaves_open() {
        for value in [0.01, 0.7, 1.0, 4.0, 16.0] {
            let epsilon = Epsilon::new(Some(value)).unwrap();
            for (yes, no) in [([2, 0, 0], [0, 1, 0]), ([7, 3, 0], [0, 0, 5])] {
                let branch = Branch::new(epsilon, yes, no);
                let toss = |words: &[u64]| Script::play(words, |bits| branch.toss(bits));
                assert_eq!(toss(&[branch.surely - 1]), (true, 1));
                assert_eq!(toss(&[branch.at_most + 1]), (false, 1));
                // The probability has this first word, or the next one.
                let open = branch.surely..=branch.at_most;
                let ends = open.map(|word| [0, u64::MAX].map(|next| toss(&[word, next])));
                let ends: Vec<_> = ends.collect();
                let is_open = |end: &&[(bool, usize); 2]| **end == [(true, 2), (false, 2)];
                assert_eq!(ends.iter().filter(is_open).count(), 1, "{value} {ends:?}");
            }
        }
    }

    /// Where the last digits are cut off, a threshold is moved outwards for what was lost.
    #[test]
    fn thresholds_enclose_fractions_of_many_digits() {
        let number = |high: u32, low: u128| Natural::new(1).up(high).plus(&Natural::new(low));
        // Of 127 digits, one is cut: 2^125 / (2^126 + 1) is below a half.
        let below_half = ratio_64(&number(125, 0), &number(126, 1), false);
        assert_eq!(below_half, (1 << 63) - 1);
        // And (2^62 + 1) / (2^126 + 2^63) is above 2^-64.
        let above_one = ratio_64(&number(62, 1), &number(126, 1 << 63), true);
        assert_eq!(above_one, 1);
    }
}
