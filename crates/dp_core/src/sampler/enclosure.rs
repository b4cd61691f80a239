//! Intervals around functions of epsilon, as narrow as asked for.

use crate::privacy::epsilon::Epsilon;
use crate::sampler::natural::Natural;

/// A real number between `low * 2^-digits` and `high * 2^-digits`.
#[derive(Clone, Debug)]
pub(crate) struct Enclosure {
    pub low: Natural,
    pub high: Natural,
    pub digits: u32,
}

impl Enclosure {
    /// `e^epsilon - 1`, to about `digits` binary digits.
    pub fn of_expm1(epsilon: Epsilon, digits: u32) -> Self {
        Self::of_expm1_times(epsilon, 1, digits)
    }

    /// `e^(n epsilon) - 1`, to about `digits` binary digits. Its cost grows with the number itself,
    /// so `n epsilon` had better be no more than some thousands.
    pub fn of_expm1_times(epsilon: Epsilon, n: u64, digits: u32) -> Self {
        // e^x = (e^y)^(2^halvings) with y = x / 2^halvings <= 1/2. Each squaring at most doubles
        // the relative error; there are at most 7 where n is 1.
        let numerator = u128::from(epsilon.numerator()) * u128::from(n);
        let halvings = (128 - numerator.leading_zeros() + 1).saturating_sub(epsilon.places());
        let places = epsilon.places() + halvings;
        let digits = digits
            + if halvings == 0 {
                0
            } else {
                halvings.max(7) + 3
            };
        let numerator = Natural::new(numerator);

        // e^y - 1 as the sum of y^k / k!. Each term is rounded down from the term before: it
        // lacks less than 2 units of the last place. After a term that has become 0, and with
        // y <= 1/2, the terms left sum to less than 2 units.
        let (mut term, mut low, mut terms) = (Natural::new(1).up(digits), Natural::new(0), 0);
        while !term.is_zero() {
            terms += 1;
            term = term.times(&numerator).down(places).over(terms);
            low = low.plus(&term);
        }
        let mut high = low.plus(&Natural::new(u128::from(2 * terms + 2)));

        let one = Natural::new(1).up(digits);
        for _ in 0..halvings {
            // (1 + z)^2 - 1 = z (2 + z).
            let two = one.up(1);
            low = low.times(&low.plus(&two)).down(digits);
            high = high
                .times(&high.plus(&two))
                .down(digits)
                .plus(&Natural::new(1));
        }
        Self { low, high, digits }
    }

    /// `e^-epsilon`, to about `digits` binary digits behind the point.
    pub fn of_exp_minus(epsilon: Epsilon, digits: u32) -> Self {
        // As above, with y <= 1/2 and e^-x = (e^-y)^(2^halvings); each squaring at most doubles the error.
        let numerator = u128::from(epsilon.numerator());
        let halvings = (128 - numerator.leading_zeros() + 1).saturating_sub(epsilon.places());
        let places = epsilon.places() + halvings;
        let digits = digits + halvings;
        let numerator = Natural::new(numerator);

        // The terms of even and of odd number, apart: those of odd number are subtracted.
        let mut sums = [Natural::new(0), Natural::new(0)];
        let (mut term, mut terms) = (Natural::new(1).up(digits), 0);
        while !term.is_zero() {
            let sum = &mut sums[terms as usize % 2];
            *sum = sum.plus(&term);
            terms += 1;
            term = term.times(&numerator).down(places).over(terms);
        }
        let [even, odd] = sums;
        let (middle, error) = (even.minus(&odd), Natural::new(u128::from(2 * terms + 2)));
        let start = Self {
            low: middle.minus(&error),
            high: middle.plus(&error),
            digits,
        };
        (0..halvings).fold(start, |power, _| power.squared())
    }

    /// The square of a number of at most 1.
    pub fn squared(&self) -> Self {
        let square = |a: &Natural| a.times(a).down(self.digits);
        Self {
            low: square(&self.low),
            high: square(&self.high).plus(&Natural::new(1)),
            digits: self.digits,
        }
    }

    /// The same with no more than `digits` binary digits after the point.
    pub fn cut(&self, digits: u32) -> Self {
        let beyond = self.digits.saturating_sub(digits);
        if beyond == 0 {
            return self.clone();
        }
        Self {
            low: self.low.down(beyond),
            high: self.high.down(beyond).plus(&Natural::new(1)),
            digits: self.digits - beyond,
        }
    }

    /// `(1 + a)(1 + b) - 1` of two numbers with as many digits.
    pub fn compounded(&self, other: &Self) -> Self {
        let digits = self.digits;
        let compound = |a: &Natural, b: &Natural| a.plus(b).plus(&a.times(b).down(digits));
        Self {
            low: compound(&self.low, &other.low),
            high: compound(&self.high, &other.high).plus(&Natural::new(1)),
            digits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(n: &Natural, digits: u32) -> f64 {
        // The top 64 bits are enough here.
        let mut shift = 0;
        while n.down(shift) >= Natural::new(1 << 64) {
            shift += 1;
        }
        let mut low = 0u128;
        for bit in (0..64).rev() {
            let tried = low | 1 << bit;
            if Natural::new(tried) <= n.down(shift) {
                low = tried;
            }
        }
        low as f64 * 2f64.powi(shift as i32 - digits as i32)
    }

    #[test]
    fn enclosures_are_tight_and_hold_the_number() {
        for value in [
            Epsilon::MIN,
            1e-3,
            0.1,
            0.4999,
            0.5,
            0.7,
            1.0,
            2.0,
            16.0,
            49.99,
            50.0,
        ] {
            let epsilon = Epsilon::new(Some(value)).unwrap();
            for epsilon in [epsilon, epsilon.half()] {
                let narrow = Enclosure::of_expm1(epsilon, 400);
                for digits in [100, 128, 192] {
                    let wide = Enclosure::of_expm1(epsilon, digits);
                    let more = narrow.digits - wide.digits;
                    assert!(wide.low.up(more) <= narrow.low && narrow.high <= wide.high.up(more));
                    let width = float(&wide.high.minus(&wide.low), wide.digits);
                    let middle = float(&wide.low, wide.digits);
                    assert!(
                        width <= middle * 2f64.powi(27 - digits as i32),
                        "{value} {digits}"
                    );
                    let expected = epsilon.value().exp_m1();
                    assert!(
                        (middle / expected - 1.0).abs() < 1e-14,
                        "{value} {middle} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn multiples_agree_with_compounding() {
        for value in [Epsilon::MIN, 0.3, 7.0, 50.0] {
            let epsilon = Epsilon::new(Some(value)).unwrap();
            let once = Enclosure::of_expm1(epsilon, 192).cut(192);
            let mut compounded = once.clone();
            for n in 2..=20 {
                compounded = compounded.compounded(&once);
                let direct = Enclosure::of_expm1_times(epsilon, n, 192).cut(192);
                assert!(direct.low <= compounded.high && compounded.low <= direct.high);
                for enclosure in [&direct, &compounded] {
                    let width = float(&enclosure.high.minus(&enclosure.low), 192);
                    assert!(
                        width <= float(&direct.low, 192) * 2f64.powi(-150),
                        "{value} {n}"
                    );
                }
            }
        }
    }
}
