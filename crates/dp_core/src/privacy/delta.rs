//! A probability that may be spent beside epsilon, as the exact rational number it is.

use crate::error::ParameterError;

const HINT: &str = "It is the probability with which one person may be shown: far below 1 over the \
                    number of people, as in 1e-6.";

/// A `delta`: the dyadic rational `numerator / 2^places`, above 0 and below 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    numerator: u128,
    places: u32,
}

impl Delta {
    /// Checks a call's delta. A float is a dyadic rational, so nothing is rounded.
    ///
    /// # Errors
    /// NULL (`None`), not finite, or not between 0 and 1.
    pub fn new(value: Option<f64>) -> Result<Self, ParameterError> {
        let Some(value) = value else {
            return Err(ParameterError::new("delta", "must not be NULL", HINT));
        };
        if !value.is_finite() {
            return Err(ParameterError::new(
                "delta",
                "must be a finite number",
                HINT,
            ));
        }
        if !(value > 0.0 && value < 1.0) {
            return Err(ParameterError::new(
                "delta",
                "must be above 0 and below 1",
                HINT,
            ));
        }
        // Positive, so the sign is 0. Below 2^-1022 there is no hidden bit.
        let (exponent, fraction) = (value.to_bits() >> 52, value.to_bits() & ((1 << 52) - 1));
        let (numerator, places) = match exponent {
            0 => (fraction, 1074),
            _ => (fraction | 1 << 52, 1075 - exponent as u32),
        };
        // In lowest terms.
        let even = numerator.trailing_zeros();
        Ok(Self {
            numerator: u128::from(numerator >> even),
            places: places - even,
        })
    }

    /// The integer `a` of `a / 2^places`: at least 1, below 2^93.
    pub fn numerator(&self) -> u128 {
        self.numerator
    }

    /// The exponent of the denominator `2^places`: at most 1114.
    pub fn places(&self) -> u32 {
        self.places
    }

    /// One of `parts` equal parts, rounded down, for up to a million of them: each may be spent.
    /// Of one part, all of it.
    pub(crate) fn over(&self, parts: u32) -> Self {
        if parts <= 1 {
            return *self;
        }
        Self {
            numerator: (self.numerator << 40) / u128::from(parts),
            places: self.places + 40,
        }
    }

    /// Its natural logarithm, as a float.
    pub(crate) fn ln(&self) -> f64 {
        (self.numerator as f64).ln() - f64::from(self.places) * std::f64::consts::LN_2
    }

    /// The value as a float: the one that was given, or for a part of it the nearest, which may
    /// be 0.
    pub fn value(&self) -> f64 {
        // In two factors, as 2^-1074 is the smallest.
        let half = self.places as i32 / 2;
        let scaled = self.numerator as f64 * 2f64.powi(-half);
        scaled * 2f64.powi(half - self.places as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_float_itself() {
        let below_one = 1.0 - 1.0 / (1u64 << 53) as f64;
        for value in [5e-324, 1e-310, 1e-300, 1e-6, 0.1, 0.5, 0.75, below_one] {
            let delta = Delta::new(Some(value)).unwrap();
            assert_eq!(delta.value(), value);
            assert!(delta.numerator() % 2 == 1 && delta.places() <= 1074);
            assert!((delta.ln() - value.ln()).abs() < 1e-12 * (1.0 - value.ln()));
            assert_eq!(delta.over(1), delta);
        }
    }

    #[test]
    fn parts_do_not_exceed_the_whole() {
        for value in [5e-324, 1e-300, 1e-6, 0.3, 0.999] {
            let delta = Delta::new(Some(value)).unwrap();
            for parts in [2u32, 3, 7, 1000, 999_999, 1_000_000] {
                let part = delta.over(parts);
                let (spent, whole) = (
                    part.numerator() * u128::from(parts),
                    delta.numerator() << 40,
                );
                assert!(spent <= whole && part.numerator() > 0);
                assert!((whole - spent) as f64 <= whole as f64 * 1e-6);
                assert!(part.numerator() < 1 << 93 && part.places() <= 1114);
            }
        }
    }

    #[test]
    fn bad_values_are_refused() {
        for bad in [
            f64::NAN,
            f64::INFINITY,
            -f64::INFINITY,
            0.0,
            -0.0,
            -0.5,
            1.0,
            2.0,
        ] {
            let error = Delta::new(Some(bad)).unwrap_err();
            assert_eq!(error.argument, "delta");
            assert!(!error.hint.is_empty());
        }
        assert_eq!(Delta::new(None).unwrap_err().message, "must not be NULL");
    }
}
