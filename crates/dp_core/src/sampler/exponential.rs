//! A standard exponential variable, refined digit by digit, and its multiples rounded down.

use std::cmp::Ordering;

use crate::random::Bits;

/// A real number uniform on [0, 1) whose binary digits are drawn when they are first needed.
struct Lazy {
    words: Vec<u64>,
}

impl Lazy {
    /// The word at this position, drawn if it has not been yet.
    fn word<B: Bits>(&mut self, position: usize, bits: &mut B) -> u64 {
        while self.words.len() <= position {
            self.words.push(bits.word());
        }
        self.words[position]
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

/// A standard exponential variable `E`: its integer part, the first word of its fraction, and all
/// words of its fraction where more than one was needed.
///
/// Von Neumann's method (1951; see Karney 2016): given a uniform `U`, toss coins of probability
/// `U/1`, `U/2`, `U/3`, ... until one fails. It is toss number `k` that fails with probability
/// `U^(k-1)/(k-1)! - U^k/k!`, so that `k` is odd with probability `1 - U + U^2/2! - ... =
/// e^-U`: accepting `U` on odd `k` gives the fraction the density of `E`'s. A `U` is rejected
/// with probability `e^-1` over all `U`, the probability of `E` exceeding the next integer, so
/// counting rejections gives the integer part. No constant is used and nothing is rounded.
#[inline]
fn exponential<B: Bits>(bits: &mut B) -> (u64, u64, Option<Lazy>) {
    let mut integer = 0;
    loop {
        let fraction = bits.word();
        let mut toss = 1;
        loop {
            let difference = coin(fraction, toss, bits);
            match decided(difference, toss) {
                Some(true) => toss += 1,
                Some(false) => break,
                None => match close_call(fraction, toss, difference, bits) {
                    all @ Some(_) => return (integer, fraction, all),
                    None => {
                        // An even number of tosses: rejected.
                        toss = 2;
                        break;
                    }
                },
            }
        }
        if toss % 2 == 1 {
            return (integer, fraction, None);
        }
        integer += 1;
    }
}

/// Goes on with a round of [`exponential`] from the first toss that needs more than one word;
/// the fraction, if it is accepted.
#[cold]
#[inline(never)]
fn close_call<B: Bits>(
    first: u64,
    mut toss: u64,
    mut difference: i128,
    bits: &mut B,
) -> Option<Lazy> {
    let mut fraction = Lazy { words: vec![first] };
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
    /// `floor(numerator * 2^shift / denominator)`, in [2^63, 2^64).
    factor: u64,
    shift: u32,
}

impl Floor {
    /// For a numerator below 2^75, a denominator below 2^47, and a quotient between 2^-10 and
    /// 2^56.
    pub fn new(numerator: u128, denominator: u128) -> Self {
        debug_assert!(numerator >> 75 == 0 && denominator >> 47 == 0);
        debug_assert!(numerator << 10 >= denominator && numerator < denominator << 56);
        // The largest shift that leaves the factor below 2^64.
        let length = |n: u128| 128 - n.leading_zeros();
        let mut shift = (64 + length(denominator)) - length(numerator);
        if ((numerator << shift) / denominator) >> 64 != 0 {
            shift -= 1;
        }
        let factor = ((numerator << shift) / denominator) as u64;
        Self {
            numerator,
            denominator,
            factor,
            shift,
        }
    }

    /// One draw. Finite: a draw above 2^40 times the quotient would take over 2^40 rejections
    /// in a row, each of probability 1/e.
    #[inline]
    pub fn draw<B: Bits>(&self, bits: &mut B) -> u128 {
        let (integer, first, fraction) = exponential(bits);
        let (low, high) = self.enclose(integer, first, B::WIDTH);
        let (least, most) = (low >> self.shift, high >> self.shift);
        if least == most {
            least
        } else {
            let fraction = fraction.unwrap_or_else(|| Lazy { words: vec![first] });
            self.search(integer, fraction, least, most, bits)
        }
    }

    /// Between what and what `E * q * 2^shift` is, `q` being the quotient, given the integer part
    /// of `E` and the first word of its fraction.
    ///
    /// Let `f` be the factor and `u` the word in units of `2^-width`. `E` is in
    /// [integer + u, integer + u + 2^-width) and `q * 2^shift` in [f, f + 1), so the product is at
    /// least `low`, and above it by less than the sum of what was dropped: the cut in `low` (1),
    /// the rest of `E` times `f` (`f 2^-width`, rounded up), and `E` times 1.
    #[inline]
    fn enclose(&self, integer: u64, first: u64, width: u32) -> (u128, u128) {
        let word = first << (64 - width);
        let low = u128::from(integer) * u128::from(self.factor)
            + ((u128::from(word) * u128::from(self.factor)) >> 64);
        let slack = 3 + u128::from(integer) + (u128::from(self.factor) >> width);
        (low, low + slack)
    }

    /// The answer between `least` and `most`, decided exactly by as many more digits as needed.
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
        while least < most {
            // Is (integer + U) * numerator / denominator at least `middle`?
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
            let numerator = (u128::from(word() >> (round % 33) >> 31) + 1) << 40;
            let denominator = u128::from((word() >> (round % 27) >> 18) | 1 << 20);
            let floor = Floor::new(numerator, denominator);
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
                let bound = |n: u128| Natural::new(n).times(&Natural::new(denominator)).up(width);
                assert!(bound(low) <= digits.times(&scaled));
                assert!(digits.plus(&natural(1)).times(&scaled) <= bound(high));
            }
        }
    }
}
