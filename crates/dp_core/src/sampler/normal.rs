//! Gaussian noise on the integers: real Gaussian numbers, drawn lazily and rounded exactly.

use crate::memory;
use crate::random::Bits;
use crate::sampler::exponential::{Exponential, Lazy};
use crate::sampler::natural::Natural;

/// Binary digits after the point of the fixed-point numbers that decide nearly every draw.
const PLACES: u32 = 56;

/// Fixed-point numbers serve while `|Z|` is below this; what exceeds it is left to [`Natural`].
const NEAR: u64 = 64;

/// A standard normal variable `Z`, as the real number that it is: the digits of `|Z|` are drawn
/// when they are first needed.
///
/// A standard exponential `E` is kept as `|Z|` with probability `exp(-(E - 1)^2 / 2)`, and else
/// drawn afresh. So the density of what is kept is proportional to
/// `e^-x exp(-(x - 1)^2 / 2) = e^(-1/2) e^(-x^2 / 2)`: that of `|Z|`. The sign is fair.
///
/// Kept with just that probability, given all digits of `E`, though most are not drawn: it is
/// decided by comparisons of real numbers (see [`keep`]), which the digits drawn so far nearly
/// always settle, whatever the others are. Where they do not, more are drawn, and remembered. So
/// the digits never drawn are still independent fair bits when the draw is kept, and they can be
/// drawn afterwards.
#[derive(Debug)]
struct Normal {
    magnitude: Exponential,
    negative: bool,
}

impl Normal {
    #[inline]
    fn draw<B: Bits>(bits: &mut B) -> Self {
        loop {
            let mut magnitude = Exponential::draw(bits);
            if keep(&mut magnitude, bits) {
                let negative = bits.word() & 1 == 1;
                return Self {
                    magnitude,
                    negative,
                };
            }
        }
    }
}

/// True with probability `e^-t`, where `t = (E - 1)^2 / 2`.
///
/// That is `parts` times in a row a coin of probability `e^-s`, where `s = t / parts` is at most 1.
/// Each is von Neumann's, as in [`Exponential::draw`]: of coins with probability `s/1`, `s/2`,
/// `s/3`, ... the first to fail is an odd one. And coin `k` asks whether a uniform number `V`
/// has `V < s/k`, that is `V * 2 * parts * k < (E - 1)^2`: no constant, no division.
#[inline]
fn keep<B: Bits>(e: &mut Exponential, bits: &mut B) -> bool {
    let (least, most) = square(e.integer, e.fraction.first, B::WIDTH);
    // `|E - 1|` is at most 1 where E is below 1, and at most E's integer part above. (This would
    // overflow after 2^32 rejections in a row, each of probability 1/e.)
    let parts = e.integer * e.integer / 2 + 1;
    for _ in 0..parts {
        let (mut scale, mut odd) = (0, false);
        loop {
            scale += 2 * parts;
            odd = !odd;
            let first = bits.word();
            // V is in [first, first + 1) * 2^-width; all is in units of 2^-64.
            let unseen = 64 - B::WIDTH;
            let low = u128::from(first << unseen) * u128::from(scale);
            let high = low + (u128::from(scale) << unseen);
            let below = if low >= most {
                false
            } else if high <= least {
                true
            } else {
                is_below(scale, Lazy::new(first), e, bits)
            };
            if !below {
                break;
            }
        }
        if !odd {
            return false;
        }
    }
    true
}

/// Between what and what `(E - 1)^2` is, in units of 2^-64, given the integer part of `E` and the
/// first word of its fraction.
#[inline]
fn square(integer: u64, first: u64, width: u32) -> (u128, u128) {
    if integer >= NEAR {
        return (0, u128::MAX);
    }
    // E is between these, in units of 2^-PLACES, and they are on the same side of 1.
    let low = integer << PLACES | first << (64 - width) >> (64 - PLACES);
    let high = low + (1 << PLACES.saturating_sub(width));
    let one = 1 << PLACES;
    let (a, b) = (
        u128::from(low.abs_diff(one)),
        u128::from(high.abs_diff(one)),
    );
    let (least, most) = (a.min(b), a.max(b));
    let surplus = 2 * PLACES - 64;
    ((least * least) >> surplus, ((most * most) >> surplus) + 1)
}

/// Whether `V * scale < (E - 1)^2`, decided exactly by as many more digits as needed.
#[cold]
#[inline(never)]
fn is_below<B: Bits>(scale: u64, mut v: Lazy, e: &mut Exponential, bits: &mut B) -> bool {
    let (unit, scale) = (Natural::new(1), Natural::new(u128::from(scale)));
    let mut words = 2;
    loop {
        // In units of the last place: V is in [v, v + 1), E in [low, high], both on one side of
        // one, so that of the two differences in each sum one is 0.
        let width = words * B::WIDTH;
        let one = unit.up(width);
        let low = e.digits(words, bits);
        let high = low.plus(&unit);
        let least = low.minus(&one).plus(&one.minus(&high));
        let most = high.minus(&one).plus(&one.minus(&low));
        let v = v.digits(words, bits);
        if v.plus(&unit).times(&scale).up(width) <= least.times(&least) {
            return true;
        }
        if v.times(&scale).up(width) >= most.times(&most) {
            return false;
        }
        words += 1;
    }
}

/// A standard deviation in grid steps, as the number that the float is: `mantissa * 2^exponent`.
#[derive(Clone, Copy, Debug)]
struct Deviation {
    mantissa: u64,
    exponent: i32,
}

/// A real number in grid steps lies between these, in units of 2^-PLACES.
type Interval = (i128, i128);

/// Interval that leave everything open, whose sum with another does not overflow.
const UNKNOWN: Interval = (-(1 << 125), 1 << 125);

impl Deviation {
    /// For 0 to 2^100.
    fn new(sigma: f64) -> Self {
        let most = (1u128 << 100) as f64;
        assert!(
            (0.0..=most).contains(&sigma),
            "standard deviation out of range: {sigma}"
        );
        let (exponent, fraction) = (sigma.to_bits() >> 52 & 0x7ff, sigma.to_bits() << 12 >> 12);
        // Without the leading bit where the exponent is 0: those floats are subnormal, or 0.
        let leading = u64::from(exponent != 0) << 52;
        Self {
            mantissa: leading | fraction,
            exponent: exponent.max(1) as i32 - 1075,
        }
    }

    /// Interval of `sigma * Z`, from the first word of `|Z|`'s fraction, or the first two.
    #[inline]
    fn bounds<B: Bits>(&self, z: &mut Normal, two: bool, bits: &mut B) -> Interval {
        // Above 2^60 the cut would be negative. The product is below 2^123, so that nothing of it
        // is left by a cut of 127 places, or of more.
        let cut = 64 - PLACES as i32 - self.exponent;
        if z.magnitude.integer >= NEAR || cut < 0 {
            return UNKNOWN;
        }
        let cut = cut.min(127);
        // |Z| times the mantissa is at least `product`, in units of 2^-64, and above it by less
        // than `spread`.
        let (unseen, mantissa) = (64 - B::WIDTH, u128::from(self.mantissa));
        let first = u128::from(z.magnitude.fraction.first << unseen);
        let digits = u128::from(z.magnitude.integer) << 64 | first;
        let (mut product, mut spread) = (mantissa * digits, mantissa << unseen);
        if two {
            // Both are cut, each by less than 1.
            let second = z.magnitude.fraction.word(1, bits) << unseen;
            product += (mantissa * u128::from(second)) >> B::WIDTH;
            spread = (spread >> B::WIDTH) + 2;
        }
        // Again.
        let low = (product >> cut) as i128;
        let high = low + (spread >> cut) as i128 + 2;
        if z.negative {
            (-high, -low)
        } else {
            (low, high)
        }
    }
}

/// Interval of a sum.
#[inline]
fn add(a: Interval, b: Interval) -> Interval {
    (a.0 + b.0, a.1 + b.1)
}

/// The nearest integer, where it is the same for all numbers within the bounds.
#[inline]
fn rounded((low, high): Interval) -> Option<i128> {
    let nearest = |x: i128| (x + (1 << (PLACES - 1))) >> PLACES;
    (nearest(low) == nearest(high)).then_some(nearest(low))
}

/// The integer nearest to a sum of normal variables times deviations, decided exactly by as many
/// more digits as needed.
#[cold]
#[inline(never)]
fn round<B: Bits>(terms: &mut [(Deviation, &mut Normal)], bits: &mut B) -> i128 {
    let bounds = terms
        .iter_mut()
        .map(|(sigma, z)| sigma.bounds(z, true, bits));
    if let Some(nearest) = rounded(bounds.fold((0, 0), add)) {
        return nearest;
    }
    // Added to the sum, so that no part of it is negative. A sum that large would take |Z| above
    // 2^24, and that as many rejections in a row.
    const AWAY: u32 = 126;
    let down = terms.iter().map(|(sigma, _)| -sigma.exponent).max();
    let down = down.unwrap_or(0).max(0);
    let mut words = 2;
    loop {
        // In units of 2^-places, the sum plus 2^AWAY plus 1/2 is between `low` and `high`.
        let places = words * B::WIDTH + down as u32;
        let half = Natural::new(1).up(places - 1);
        let mut low = half.up(AWAY + 1).plus(&half);
        let mut high = low.clone();
        for (sigma, z) in &mut *terms {
            let unit = Natural::new(u128::from(sigma.mantissa)).up((sigma.exponent + down) as u32);
            let least = z.magnitude.digits(words, bits).times(&unit);
            let most = least.plus(&unit);
            (low, high) = if z.negative {
                (low.minus(&most), high.minus(&least))
            } else {
                (low.plus(&least), high.plus(&most))
            };
        }
        let (low, high) = (low.down(places), high.down(places));
        if low == high {
            return low.low_128() as i128 - (1 << AWAY);
        }
        words += 1;
    }
}

/// `round(Z)`: a normal variable of mean 0, rounded to the nearest integer.
///
/// `P(k)` is the probability that a real `Z ~ N(0, sigma^2)` falls in `[k - 1/2, k + 1/2)`:
/// `Z / sigma` is drawn to as many digits as tell where `Z` falls, and those not drawn do not
/// matter. (That `Z` falls on an end of a cell has probability 0.)
#[derive(Clone, Debug)]
pub struct RoundedNormal {
    sigma: Deviation,
}

impl RoundedNormal {
    /// With a standard deviation of `sigma` grid steps, 0 to 2^100 (where it is 0, so are the
    /// draws). A float is a rational number, and it is that number.
    ///
    /// Fast up to 2^60. Above it, each draw needs more digits than a word has.
    ///
    /// # Panics
    /// `sigma` is out of range, or not a number.
    pub fn new(sigma: f64) -> Self {
        let sigma = Deviation::new(sigma);
        Self { sigma }
    }

    /// One draw.
    #[inline]
    pub fn draw<B: Bits>(&self, bits: &mut B) -> i128 {
        self.round(&mut Normal::draw(bits), bits)
    }

    /// `round(sigma * Z)`.
    #[inline]
    fn round<B: Bits>(&self, z: &mut Normal, bits: &mut B) -> i128 {
        match rounded(self.sigma.bounds(z, false, bits)) {
            Some(nearest) => nearest,
            None => round(&mut [(self.sigma, z)], bits),
        }
    }
}

/// `round(X_j + Y)` for `j` in a set: each with a normal `X_j` of its own, all with the same
/// normal `Y`.
///
/// The real numbers are added, and the sum is rounded once: the joint distribution is that of
/// correlated real normal variables, each rounded to the nearest integer. The digits of `Y` are
/// drawn once; those that an earlier sum needed are there for the later ones.
#[derive(Clone, Debug)]
pub struct RoundedSums {
    own: Deviation,
    shared: Deviation,
}

impl RoundedSums {
    /// With standard deviations in grid steps, of each `X_j` and of `Y`: both as in
    /// [`RoundedNormal::new`].
    ///
    /// # Panics
    /// One of them is out of range, or not a number.
    pub fn new(own: f64, shared: f64) -> Self {
        Self {
            own: Deviation::new(own),
            shared: Deviation::new(shared),
        }
    }

    /// `count` draws with a common `Y`.
    pub fn draw<B: Bits>(&self, count: usize, bits: &mut B) -> Vec<i128> {
        let mut y = Normal::draw(bits);
        let sum = |_| self.round(&mut Normal::draw(bits), &mut y, bits);
        memory::vector(count, (0..count).map(sum))
    }

    /// `round(own * X + shared * Y)`, for standard `X` and `Y`.
    #[inline]
    fn round<B: Bits>(&self, x: &mut Normal, y: &mut Normal, bits: &mut B) -> i128 {
        let own = self.own.bounds(x, false, bits);
        let shared = self.shared.bounds(y, false, bits);
        match rounded(add(own, shared)) {
            Some(nearest) => nearest,
            None => round(&mut [(self.own, x), (self.shared, y)], bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits that are known; as words, they end in ones.
    const KNOWN: u32 = 192;

    /// Words that are written; after the last of them, ones.
    struct Written<const W: u32>(std::vec::IntoIter<u64>);

    impl<const W: u32> Bits for Written<W> {
        const WIDTH: u32 = W;

        fn word(&mut self) -> u64 {
            self.0.next().unwrap_or(u64::MAX >> (64 - W))
        }
    }

    /// No words: the digits known must do.
    struct Nothing<const W: u32>;

    impl<const W: u32> Bits for Nothing<W> {
        const WIDTH: u32 = W;

        fn word(&mut self) -> u64 {
            panic!("the digits known decide")
        }
    }

    fn words<const W: u32>(digits: &Natural) -> Vec<u64> {
        let word = |position| {
            let word = digits.down(KNOWN - W * position).low_128() as u64;
            word & u64::MAX >> (64 - W)
        };
        (1..=KNOWN / W).map(word).collect()
    }

    fn fraction<const W: u32>(digits: &Natural) -> Lazy {
        let mut words = words::<W>(digits).into_iter();
        let mut fraction = Lazy::new(words.next().unwrap());
        let count = KNOWN / W;
        fraction.digits(count, &mut Written::<W>(words));
        fraction
    }

    /// The number `digits * 2^-KNOWN`, a little more or less.
    fn exponential<const W: u32>(digits: &Natural) -> Exponential {
        Exponential {
            integer: digits.down(KNOWN).low_128() as u64,
            fraction: fraction::<W>(digits),
        }
    }

    fn normal<const W: u32>(digits: &Natural, negative: bool) -> Normal {
        Normal {
            magnitude: exponential::<W>(digits),
            negative,
        }
    }

    struct Random(u64);

    impl Random {
        fn word(&mut self) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(0x1405_7B7E_F767_814F);
            self.0 ^ self.0 >> 29
        }

        /// Below 2^bits.
        fn digits(&mut self, bits: u32) -> Natural {
            let mut digits = Natural::new(0);
            for _ in 0..bits.div_ceil(64) {
                digits = digits.up(64).plus(&natural(self.word()));
            }
            digits.down(bits.next_multiple_of(64) - bits)
        }

        /// A power of two with an exponent between these.
        fn power(&mut self, least: u32, most: u32) -> Natural {
            let range = u64::from(most - least) + 1;
            natural(1).up(least + (self.word() % range) as u32)
        }

        /// A number with this integer part, in units of 2^-KNOWN.
        fn number(&mut self, integer: u64) -> Natural {
            natural(integer).up(KNOWN).plus(&self.digits(KNOWN))
        }
    }

    fn natural(n: u64) -> Natural {
        Natural::new(u128::from(n))
    }

    const INTEGERS: [u64; 12] = [0, 0, 0, 1, 1, 2, 3, 7, 8, 63, 64, 1000];

    /// `(E - 1)^2 / scale`, cut to KNOWN digits.
    fn threshold(e: &Natural, scale: u64) -> Natural {
        let one = natural(1).up(KNOWN);
        let difference = e.minus(&one).plus(&one.minus(e));
        difference.times(&difference).down(KNOWN).over(scale)
    }

    fn check_below<const W: u32>(random: &mut Random) {
        for integer in INTEGERS {
            let e = random.number(integer);
            let scale = (integer * integer / 2 + 1) * 2 * (1 + random.word() % 5);
            let threshold = threshold(&e, scale);
            for _ in 0..8 {
                let off = random.power(4, KNOWN - 1);
                let one = natural(1).up(KNOWN);
                for (v, below) in [(threshold.minus(&off), true), (threshold.plus(&off), false)] {
                    if v.is_zero() || v >= one {
                        continue;
                    }
                    let (mut e, v) = (exponential::<W>(&e), fraction::<W>(&v));
                    let found = is_below(scale, v, &mut e, &mut Nothing::<W>);
                    assert_eq!(found, below, "{W} {integer} {scale} {off:?}");
                }
            }
        }
    }

    #[test]
    fn coins_are_exact_down_to_the_last_digits() {
        let mut random = Random(1);
        for _ in 0..2 {
            check_below::<1>(&mut random);
            check_below::<2>(&mut random);
            check_below::<3>(&mut random);
            check_below::<8>(&mut random);
            check_below::<32>(&mut random);
            check_below::<64>(&mut random);
        }
    }

    /// The same through [`keep`]. Where the first coin fails, and the next words are ones, so do
    /// the first coins of all other parts: kept. Where it does not, the second one does.
    #[test]
    fn what_is_kept_is_exact_down_to_the_last_digits() {
        let mut random = Random(2);
        for round in 0..2000 {
            // Far ones have too many parts.
            let integer = INTEGERS[round % INTEGERS.len()].min(NEAR - 1);
            let e = random.number(integer);
            let threshold = threshold(&e, integer * integer / 2 * 2 + 2);
            // The words after those that decide are ones: see above.
            for (decide, least, most) in [(64, 140, 190), (128, 76, 125), (192, 5, 60)] {
                let off = random.power(least, most);
                let ones = natural(1).up(KNOWN - decide).minus(&natural(1));
                for (v, kept) in [(threshold.minus(&off), false), (threshold.plus(&off), true)] {
                    if v.is_zero() || v >= natural(1).up(KNOWN) {
                        continue;
                    }
                    let v = v.down(KNOWN - decide).up(KNOWN - decide).plus(&ones);
                    let mut bits = Written::<64>(words::<64>(&v).into_iter());
                    let found = keep(&mut exponential::<64>(&e), &mut bits);
                    assert_eq!(found, kept, "{integer} {decide} {off:?}");
                }
            }
        }
    }

    /// `n * sigma` and `n / sigma`, rounded down.
    fn times(n: &Natural, sigma: Deviation) -> Natural {
        let up = n.times(&natural(sigma.mantissa)).up(1100);
        up.down((1100 - sigma.exponent) as u32)
    }

    fn over(n: &Natural, sigma: Deviation) -> Natural {
        let down = n.up(1100).over(sigma.mantissa);
        down.down((1100 + sigma.exponent) as u32)
    }

    /// Numbers, and sums of two, that lie a little below or above the middle of two integers.
    fn check_middles<const W: u32>(random: &mut Random) {
        for power in [-40, -1, 0, 1, 10, 30, 52, 56, 60, 61, 80, 99] {
            let mut deviation =
                |power: i32| (1.0 + random.word() as f64 / 2f64.powi(64)) * 2f64.powi(power);
            let sigma = deviation(power);
            let shared = deviation(power) * [1e-9, 0.4, 1.0][(sigma.to_bits() % 3) as usize];
            let length = sigma.max(shared).log2().ceil().max(0.0) as u32;
            let normals = RoundedNormal::new(sigma);
            let sums = RoundedSums::new(sigma, shared);
            for near in [0.1, 0.5, 1.0, 3.0, 20.0, 70.0] {
                let k = (near * sigma) as i128;
                let middle = Natural::new(2 * k as u128 + 1).up(KNOWN - 1);
                let y = random.number(3);
                let part = times(&y, sums.shared);
                // What the digits known leave open is a few deviations in their last place.
                let off = random.power(4 + length, KNOWN - 2);
                for (n, nearest) in [(middle.minus(&off), k), (middle.plus(&off), k + 1)] {
                    for negative in [false, true] {
                        let expected = if negative { -nearest } else { nearest };
                        let mut bits = Nothing::<W>;
                        let mut z = normal::<W>(&over(&n, normals.sigma), negative);
                        let found = normals.round(&mut z, &mut bits);
                        assert_eq!(found, expected, "{W} {sigma} {k} {off:?}");
                        // n = (n + part) - part = (n - part) + part.
                        for (x, same) in [(n.plus(&part), false), (n.minus(&part), true)] {
                            if x.is_zero() {
                                continue;
                            }
                            let mut x = normal::<W>(&over(&x, sums.own), negative);
                            let mut y = normal::<W>(&y, negative == same);
                            let found = sums.round(&mut x, &mut y, &mut bits);
                            assert_eq!(found, expected, "{W} {sigma} {shared} {k} {off:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rounding_is_exact_down_to_the_last_digits() {
        let mut random = Random(3);
        for _ in 0..3 {
            check_middles::<2>(&mut random);
            check_middles::<8>(&mut random);
            check_middles::<32>(&mut random);
        }
        for _ in 0..100 {
            check_middles::<64>(&mut random);
        }
    }

    /// The fixed-point numbers by themselves, which are to leave hardly anything open.
    #[test]
    fn bounds_hold_what_they_bound_and_are_tight() {
        let mut random = Random(4);
        for sigma in [5e-324, 1e-300, 1e-9, 0.3, 1.0, 1e3, 1e9, 2f64.powi(60)] {
            let sigma = Deviation::new(sigma);
            for integer in INTEGERS {
                for negative in [false, true] {
                    let digits = random.number(integer);
                    let mut z = normal::<64>(&digits, negative);
                    for two in [false, true] {
                        let (low, high) = sigma.bounds(&mut z, two, &mut Nothing::<64>);
                        let (low, high) = if negative { (-high, -low) } else { (low, high) };
                        if integer >= NEAR {
                            assert_eq!((low, high), UNKNOWN);
                            continue;
                        }
                        let unit = KNOWN - PLACES;
                        assert!(Natural::new(low as u128).up(unit) <= times(&digits, sigma));
                        assert!(times(&digits, sigma) < Natural::new(high as u128).up(unit));
                        let width = sigma.mantissa as f64 * 2f64.powi(sigma.exponent - 8);
                        let most = if two { 4.0 } else { 3.0 + width };
                        assert!((high - low) as f64 <= most);
                    }
                }
            }
        }
    }

    #[test]
    fn deviations_are_the_floats() {
        for (sigma, mantissa, exponent) in [
            (0.0, 0, -1074),
            (5e-324, 1, -1074),
            (f64::MIN_POSITIVE, 1 << 52, -1074),
            (1.0, 1 << 52, -52),
            (1.5, 3 << 51, -52),
            (2f64.powi(100), 1 << 52, 48),
        ] {
            let deviation = Deviation::new(sigma);
            assert_eq!(
                (deviation.mantissa, deviation.exponent),
                (mantissa, exponent)
            );
        }
    }
}
