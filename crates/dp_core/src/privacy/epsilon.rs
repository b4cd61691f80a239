//! The privacy parameter, as the exact rational number that the samplers work with.

use crate::error::ParameterError;

/// Binary digits after the point that an epsilon is rounded down to.
const PLACES: u32 = 40;

const HINT: &str = "Smaller is more private and noisier; 0.1 to 4 is usual.";

/// A privacy parameter: the dyadic rational `numerator / 2^places`.
///
/// The samplers draw from the distribution of exactly this number. A given value is rounded
/// down to a multiple of 2^-40, so no more is ever spent than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epsilon {
    numerator: u64,
    places: u32,
}

impl Epsilon {
    /// The smallest value taken: 2^-20.
    pub const MIN: f64 = 1.0 / (1 << 20) as f64;
    /// The largest value taken.
    pub const MAX: f64 = 50.0;

    /// Checks a call's epsilon, and rounds it down to a multiple of 2^-40.
    ///
    /// # Errors
    /// NULL (`None`), not finite, or outside [2^-20, 50].
    pub fn new(value: Option<f64>) -> Result<Self, ParameterError> {
        let Some(value) = value else {
            return Err(ParameterError::new("eps", "must not be NULL", HINT));
        };
        if !value.is_finite() {
            return Err(ParameterError::new("eps", "must be a finite number", HINT));
        }
        if !(Self::MIN..=Self::MAX).contains(&value) {
            return Err(ParameterError::new(
                "eps",
                "must be at least 2^-20 (about 0.00000095367) and at most 50",
                HINT,
            ));
        }
        // Scaling by a power of two is exact, and the cast drops the fraction: at most 2^46.
        let numerator = (value * (1u64 << PLACES) as f64) as u64;
        Ok(Self {
            numerator,
            places: PLACES,
        })
    }

    /// The integer `a` of `a / 2^places`: at least 2^20, below 2^46.
    pub fn numerator(&self) -> u64 {
        self.numerator
    }

    /// The exponent of the denominator `2^places`: 40, one more for each halving, and up to 20 more
    /// of a part.
    pub fn places(&self) -> u32 {
        self.places
    }

    /// Exactly half, for a mechanism that splits its budget over two releases.
    #[must_use]
    pub fn half(&self) -> Self {
        Self {
            numerator: self.numerator,
            places: self.places + 1,
        }
    }

    /// A part of it, rounded down: `None` where that would be below 2^-20.
    pub(crate) fn shared(&self, parts: u64) -> Option<Self> {
        let numerator = self.numerator / parts.max(1);
        let least = (Self::MIN * (1u64 << self.places) as f64) as u64;
        (numerator >= least).then_some(Self { numerator, ..*self })
    }

    /// One of `parts` equal parts, rounded down, for up to a million of them: each may be spent.
    /// Of one part, all of it. A part may be below [`MIN`](Self::MIN).
    pub(crate) fn over(&self, parts: u32) -> Self {
        if parts <= 1 {
            return *self;
        }
        // As many more places as keep the numerator below 2^46, 20 at most. It is at least 2^20
        // again: a million is below 2^20, and 2^40 over a million is above.
        let more = (self.numerator.leading_zeros() - 18).min(20);
        Self {
            numerator: (self.numerator << more) / u64::from(parts),
            places: self.places + more,
        }
    }

    /// `numerator / denominator` of it, rounded down, of fractions of at most 1 with a numerator below 128 and a
    /// denominator up to 10^7: each part may be spent. It may be below [`MIN`](Self::MIN), but is at least 2^-44.
    pub(crate) fn part(&self, numerator: u64, denominator: u64) -> Self {
        // As in `over`, where it is explained.
        let more = (self.numerator.leading_zeros() - 18).min(20);
        Self {
            numerator: (self.numerator << more) * numerator / denominator,
            places: self.places + more,
        }
    }

    /// Rounded down to a multiple of 2^-40, as that of a call is: for samplers of large scales.
    pub(crate) fn coarse(&self) -> Self {
        let fewer = self.places.saturating_sub(PLACES);
        Self {
            numerator: self.numerator >> fewer,
            places: self.places - fewer,
        }
    }

    /// About `part` of it, at least that much, and the rest: they add up to it exactly. `None` where
    /// one of the two would be below 2^-20.
    pub(crate) fn split(&self, part: f64) -> Option<(Self, Self)> {
        let part = (part * (1u64 << self.places) as f64).ceil() as u64;
        let least = (Self::MIN * (1u64 << self.places) as f64) as u64;
        let rest = self.numerator.checked_sub(part)?;
        let number = |numerator| Self { numerator, ..*self };
        (part >= least && rest >= least).then(|| (number(part), number(rest)))
    }

    /// The value as a float (exact: the numerator is below 2^53).
    pub fn value(&self) -> f64 {
        self.numerator as f64 / (1u64 << self.places) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_down_to_a_dyadic_rational() {
        for value in [
            Epsilon::MIN,
            1e-5,
            0.01,
            0.1,
            1.0 / 3.0,
            1.0,
            2.5,
            49.999,
            50.0,
        ] {
            let epsilon = Epsilon::new(Some(value)).unwrap();
            assert!(epsilon.value() <= value);
            assert!(value - epsilon.value() < 1.0 / (1u64 << 40) as f64);
            assert!(epsilon.numerator() >= 1 << 20 && epsilon.numerator() < 1 << 46);
            let half = epsilon.half();
            assert_eq!(half.value() * 2.0, epsilon.value());
            assert_eq!(half.numerator(), epsilon.numerator());
        }
    }

    #[test]
    fn parts_do_not_exceed_the_whole() {
        for value in [Epsilon::MIN, 1e-3, 1.0, 49.999, 50.0] {
            let epsilon = Epsilon::new(Some(value)).unwrap();
            assert_eq!(epsilon.over(1), epsilon);
            for parts in [2u32, 3, 7, 1000, 999_999, 1_000_000] {
                let part = epsilon.over(parts);
                let more = part.places() - epsilon.places();
                let spent = u128::from(part.numerator()) * u128::from(parts);
                let whole = u128::from(epsilon.numerator()) << more;
                assert!(spent <= whole && (whole - spent) as f64 <= whole as f64 * 1e-6);
                assert!(part.numerator() >= 1 << 20 && part.numerator() < 1 << 46);
                let expected = value / f64::from(parts);
                assert!((part.value() / expected - 1.0).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn fractions_do_not_exceed_theirs() {
        for value in [Epsilon::MIN, 1e-3, 1.0, 50.0] {
            let epsilon = Epsilon::new(Some(value)).unwrap();
            for (numerator, denominator) in [
                (1, 1),
                (1, 2),
                (9, 90),
                (63, 64),
                (8, 9_999_999),
                (127, 10_000_000),
            ] {
                let part = epsilon.part(numerator, denominator);
                let spent = u128::from(part.numerator()) * u128::from(denominator);
                let more = part.places() - epsilon.places();
                let whole = (u128::from(epsilon.numerator()) << more) * u128::from(numerator);
                assert!(spent <= whole && whole - spent < u128::from(denominator));
                assert!(
                    part.value() > 2f64.powi(-44),
                    "{value} {numerator}/{denominator}"
                );
            }
        }
    }

    #[test]
    fn a_split_adds_up_and_neither_side_is_too_small() {
        let whole = Epsilon::new(Some(1.0)).unwrap();
        for epsilon in [whole, whole.half()] {
            let unit = 1.0 / (1u64 << epsilon.places()) as f64;
            for asked in [Epsilon::MIN, 1e-3, 0.3, 0.49] {
                let (part, rest) = epsilon.split(asked).unwrap();
                assert!(part.value() >= asked && part.value() < asked + unit);
                assert_eq!(part.places(), epsilon.places());
                assert_eq!(rest.places(), epsilon.places());
                assert_eq!(part.numerator() + rest.numerator(), epsilon.numerator());
            }
            // As much as leaves the least, and no more; the least, and no less.
            let most = epsilon.value() - Epsilon::MIN;
            let (_, rest) = epsilon.split(most).unwrap();
            assert_eq!(rest.value(), Epsilon::MIN);
            assert_eq!(epsilon.split(most + unit), None);
            assert_eq!(epsilon.split(Epsilon::MIN - unit), None);
            assert_eq!(epsilon.split(epsilon.value() + unit), None);
        }
    }

    #[test]
    fn bad_values_are_refused() {
        let below = f64::from_bits(Epsilon::MIN.to_bits() - 1);
        let above = f64::from_bits(50f64.to_bits() + 1);
        for bad in [
            f64::NAN,
            f64::INFINITY,
            -f64::INFINITY,
            0.0,
            -0.0,
            -1.0,
            below,
            above,
            5e-324,
        ] {
            let error = Epsilon::new(Some(bad)).unwrap_err();
            assert_eq!(error.argument, "eps");
            assert!(!error.hint.is_empty());
        }
        assert_eq!(Epsilon::new(None).unwrap_err().message, "must not be NULL");
    }
}
