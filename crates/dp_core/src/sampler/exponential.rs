//! A standard exponential variable, refined digit by digit, and its multiples rounded down.

use std::cmp::Ordering;

use crate::random::Bits;
use crate::sampler::natural::Natural;

/// A real number uniform on [0, 1): its first word of binary digits, and the words after it, which
/// are drawn when they are first needed, and kept.
#[derive(Debug)]
pub(crate) struct Lazy {
    pub first: u64,
    rest: Option<Vec<u64>>,
}

impl Lazy {
    /// With no more than the first word drawn.
    #[inline]
    pub fn new(first: u64) -> Self {
        Self { first, rest: None }
    }

    /// The word at this position, drawn if it has not been yet.
    pub fn word<B: Bits>(&mut self, position: usize, bits: &mut B) -> u64 {
        if position == 0 {
            return self.first;
        }
        let rest = self.rest.get_or_insert_default();
        while rest.len() < position {
            rest.push(bits.word());
        }
        rest[position - 1]
    }

    /// The number made of the first that many words: this one in units of their last place, rounded
    /// down.
    pub fn digits<B: Bits>(&mut self, words: u32, bits: &mut B) -> Natural {
        (0..words as usize).fold(Natural::new(0), |digits, position| {
            let word = Natural::new(u128::from(self.word(position, bits)));
            digits.up(B::WIDTH).plus(&word)
        })
    }

    /// Ends a coin of probability `U / toss` that the first words left at this `difference`: see
    /// [`coin`].
    fn close<B: Bits>(&mut self, toss: u64, mut difference: i128, bits: &mut B) -> bool {
        let mut position = 0;
        loop {
            if let Some(outcome) = decided(difference, toss) {
                return outcome;
            }
            position += 1;
            let (u, v) = (self.word(position, bits), bits.word());
            difference =
                (difference << B::WIDTH) + i128::from(u) - i128::from(v) * i128::from(toss);
        }
    }

    /// How this number compares with `numerator / denominator`, which is in [0, 1) and has a
    /// denominator below 2^95. Never `Equal`.
    fn compare<B: Bits>(
        &mut self,
        mut numerator: u128,
        denominator: u128,
        bits: &mut B,
    ) -> Ordering {
        // The part of the fraction after the digits seen so far is numerator / denominator of
        // their last place; U's own part after them is in [0, 1). Digits go in by at most 32 at
        // a time, so that nothing outgrows 128 bits.
        for position in 0.. {
            let word = self.word(position, bits);
            let mut missing = B::WIDTH;
            while missing > 0 {
                let taken = missing.min(32);
                missing -= taken;
                let digits = u128::from(word >> missing & ((1 << taken) - 1));
                let (scaled, below) = (numerator << taken, digits * denominator);
                if scaled < below {
                    return Ordering::Greater;
                }
                numerator = scaled - below;
                if numerator == 0 {
                    // U's remaining digits make it larger but with probability 0.
                    return Ordering::Greater;
                }
                if numerator >= denominator {
                    return Ordering::Less;
                }
            }
        }
        Ordering::Greater
    }
}

/// Starts a coin that is true with probability `U / toss`, where `U` is a uniform number with
/// first word `u`.
///
/// Draws the first word of a second uniform number `V`: `toss * V < U` has that probability.
/// With `u` and `v` the digits so far, `U` is in [u, u + 1) and `toss * V` in
/// [toss * v, toss * v + toss) of their last place: see [`decided`] for what `u - toss * v` tells.
#[inline]
fn coin<B: Bits>(u: u64, toss: u64, bits: &mut B) -> i128 {
    i128::from(u) - i128::from(bits.word()) * i128::from(toss)
}

/// The sign of `U - toss * V`, unless the difference of their digits leaves it open.
#[inline]
fn decided(difference: i128, toss: u64) -> Option<bool> {
    if difference >= i128::from(toss) {
        Some(true)
    } else if difference < 0 {
        Some(false)
    } else {
        None
    }
}

/// A standard exponential variable `E`, as the real number that it is: its digits are drawn when
/// they are first needed.
#[derive(Debug)]
pub(crate) struct Exponential {
    pub integer: u64,
    pub fraction: Lazy,
}

impl Exponential {
    /// Von Neumann's method (1951; see Karney 2016): given a uniform `U`, toss coins of probability
    /// `U/1`, `U/2`, `U/3`, ... until one fails. It is toss number `k` that fails with probability
    /// `U^(k-1)/(k-1)! - U^k/k!`, so that `k` is odd with probability `1 - U + U^2/2! - ... =
    /// e^-U`: accepting `U` on odd `k` gives the fraction the density of `E`'s. A `U` is rejected
    /// with probability `e^-1` over all `U`, the probability of `E` exceeding the next integer, so
    /// counting rejections gives the integer part. No constant is used and nothing is rounded.
    #[inline]
    pub fn draw<B: Bits>(bits: &mut B) -> Self {
        let mut integer = 0;
        loop {
            let first = bits.word();
            let mut toss = 1;
            loop {
                let difference = coin(first, toss, bits);
                match decided(difference, toss) {
                    Some(true) => toss += 1,
                    Some(false) => break,
                    None => match close_call(first, toss, difference, bits) {
                        Some(fraction) => return Self { integer, fraction },
                        None => {
                            // An even number of tosses: rejected.
                            toss = 2;
                            break;
                        }
                    },
                }
            }
            if toss % 2 == 1 {
                let fraction = Lazy::new(first);
                return Self { integer, fraction };
            }
            integer += 1;
        }
    }

    /// This number in units of the last place of the fraction's first that many words, rounded down.
    pub fn digits<B: Bits>(&mut self, words: u32, bits: &mut B) -> Natural {
        let integer = Natural::new(u128::from(self.integer)).up(words * B::WIDTH);
        integer.plus(&self.fraction.digits(words, bits))
    }
}

/// Goes on with a round of [`Exponential::draw`] from the first toss that needs more than one
/// word; the fraction, if it is accepted.
#[cold]
#[inline(never)]
fn close_call<B: Bits>(
    first: u64,
    mut toss: u64,
    mut difference: i128,
    bits: &mut B,
) -> Option<Lazy> {
    let mut fraction = Lazy::new(first);
    while fraction.close(toss, difference, bits) {
        toss += 1;
        difference = coin(first, toss, bits);
    }
    (toss % 2 == 1).then_some(fraction)
}

/// Draws `floor(E * numerator / denominator)` with `E` a standard exponential variable.
///
/// That is a geometric variable: it is at least `k` with probability
/// `exp(-k * denominator / numerator)`.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    numerator: u128,
    denominator: u128,
    /// `floor(numerator * 2^(shift - lift) / denominator)`, in [2^63, 2^64).
    factor: u64,
    shift: u32,
    /// Is 0 unless `shift` is.
    lift: u32,
}

impl Floor {
    /// For a numerator of at most 2^91, a denominator below 2^47, and a quotient between 2^-10 and
    /// 2^71.
    pub fn new(numerator: u128, denominator: u128) -> Self {
        debug_assert!(numerator <= 1 << 91 && denominator >> 47 == 0);
        debug_assert!(numerator << 10 >= denominator && numerator <= denominator << 71);
        // The largest shift (upwards, less downwards) that leaves the factor below 2^64.
        let length = |n: u128| 128 - n.leading_zeros();
        let up = 64 + length(denominator);
        let (mut shift, mut lift) = (
            up.saturating_sub(length(numerator)),
            length(numerator).saturating_sub(up),
        );
        let factor = |shift, lift| (numerator << shift) / (denominator << lift);
        if factor(shift, lift) >> 64 != 0 {
            if shift > 0 { shift -= 1 } else { lift += 1 }
        }
        Self {
            numerator,
            denominator,
            factor: factor(shift, lift) as u64,
            shift,
            lift,
        }
    }

    /// One draw. Finite: to overflow would take `E` above 2^36, as many rejections in a row, each
    /// of probability 1/e.
    #[inline]
    pub fn draw<B: Bits>(&self, bits: &mut B) -> u128 {
        let e = Exponential::draw(bits);
        let (low, high) = self.enclose(e.integer, e.fraction.first, B::WIDTH);
        let (least, most) = (low >> self.shift, high >> self.shift);
        // Never so where there is a lift: `high` is at least `low + 3`.
        if least == most {
            least
        } else {
            self.search(e.integer, e.fraction, least, most, bits)
        }
    }

    /// Between what and what `E * q * 2^(shift - lift)` is, `q` being the quotient, given the
    /// integer part of `E` and the first word of its fraction.
    ///
    /// Let `f` be the factor and `u` the word in units of `2^-width`. `E` is in
    /// [integer + u, integer + u + 2^-width) and `q * 2^(shift - lift)` in [f, f + 1), so the
    /// product is at least `low`, and above it by less than the sum of what was dropped: the cut in
    /// `low` (1), the rest of `E` times `f` (`f 2^-width`, rounded up), and `E` times 1.
    #[inline]
    fn enclose(&self, integer: u64, first: u64, width: u32) -> (u128, u128) {
        let word = first << (64 - width);
        let low = u128::from(integer) * u128::from(self.factor)
            + ((u128::from(word) * u128::from(self.factor)) >> 64);
        let slack = 3 + u128::from(integer) + (u128::from(self.factor) >> width);
        (low, low + slack)
    }

    /// The answer between `least` and `most` (times 2^lift), decided exactly by as many more digits
    /// as needed.
    #[cold]
    #[inline(never)]
    fn search<B: Bits>(
        &self,
        integer: u64,
        mut fraction: Lazy,
        mut least: u128,
        mut most: u128,
        bits: &mut B,
    ) -> u128 {
        (least, most) = (least << self.lift, most << self.lift);
        while least < most {
            // Is (integer + fraction) * numerator / denominator at least `middle`?
            let middle = least + (most - least).div_ceil(2);
            let bound = middle * self.denominator;
            let reached = match bound.checked_sub(u128::from(integer) * self.numerator) {
                None => true,
                Some(rest) if rest >= self.numerator => false,
                Some(rest) => fraction.compare(rest, self.numerator, bits).is_gt(),
            };
            if reached {
                least = middle
            } else {
                most = middle - 1
            }
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::super::natural::Natural;
    use super::*;
    use crate::random::Script;

    /// A toss of two words that are alike is open: the words after them decide it.
    #[test]
    fn a_toss_that_is_open_is_decided_by_more_words() {
        let draw = |words: &[u64]| {
            Script::play(words, |bits| {
                let drawn = Exponential::draw(bits);
                (drawn.integer, drawn.fraction.first)
            })
        };
        // The first toss fails at once, or comes up and the second fails: the next fraction is taken.
        assert_eq!(draw(&[5, 6]), ((0, 5), 2));
        assert_eq!(draw(&[5, 4, 5, 9, 10]), ((1, 9), 5));
        // The same, left open by the first two words, and by the next two.
        assert_eq!(draw(&[5, 5, 0, 1]), ((0, 5), 4));
        assert_eq!(draw(&[5, 5, 7, 7, 0, 1]), ((0, 5), 6));
        assert_eq!(draw(&[5, 5, 1, 0, 5, 9, 10]), ((1, 9), 7));
        assert_eq!(draw(&[5, 5, 7, 7, 1, 0, 5, 9, 10]), ((1, 9), 9));
        // The second toss has half the probability: 2 * 3 is 6, and 7 is open.
        assert_eq!(draw(&[7, 0, 3, 0, u64::MAX, 9, 10]), ((1, 9), 7));
    }

    #[test]
    fn enclosures_hold_what_they_enclose() {
        let mut state = 1u64;
        let mut word = || {
            state = state
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(0x1405_7B7E_F767_814F);
            state ^ state >> 29
        };
        let natural = |n: u64| Natural::new(u128::from(n));
        for round in 0..20_000 {
            let steps = u128::from(word() >> (round % 51) >> 14) + 1;
            let numerator = steps << (40 + round % 2);
            let denominator = u128::from((word() >> (round % 27) >> 18) | 1 << 20);
            let floor = Floor::new(numerator, denominator);
            assert!(floor.shift == 0 || floor.lift == 0);
            assert!(floor.factor >> 63 == 1);
            let integer = if round % 2 == 0 {
                word() % 40
            } else {
                word() >> 20
            };
            for width in [1, 3, 32, 63, 64] {
                let first = match round % 5 {
                    0 => 0,
                    1 => u64::MAX >> (64 - width),
                    _ => word() >> (64 - width),
                };
                let (low, high) = floor.enclose(integer, first, width);
                // Times the denominator and 2^width, all are integers.
                let digits = natural(integer).up(width).plus(&natural(first));
                let scaled = Natural::new(numerator).up(floor.shift);
                let denominator = Natural::new(denominator).up(floor.lift);
                let bound = |n: u128| Natural::new(n).times(&denominator).up(width);
                assert!(bound(low) <= digits.times(&scaled));
                assert!(digits.plus(&natural(1)).times(&scaled) <= bound(high));
            }
        }
    }
}
