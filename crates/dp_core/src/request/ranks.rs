//! Which quantiles a call asks for.

use crate::error::ParameterError;

/// The quantiles of a call as they stand; NULL is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ranks<'a> {
    /// The argument `q`.
    One(Option<f64>),
    /// The argument `qs`; of no elements where it is NULL.
    Many(&'a [Option<f64>]),
}

/// The most quantiles of a call.
pub const MOST: usize = 1000;

/// The largest denominator of a [`Fraction`].
pub const FINEST: u64 = 100_000;

/// A number of `0 < q < 1` as a fraction in lowest terms, with a denominator of at most [`FINEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// From 1 to one less than the denominator.
    pub numerator: u64,
    /// From 2 to [`FINEST`].
    pub denominator: u64,
}

impl Fraction {
    /// A fraction that is `q` to about 10 digits, and just `q` where a decimal of up to 5 digits is the nearest float
    /// to it. Of `q` nearer to 0 or 1 than `1 / FINEST`, the nearest one that is neither.
    pub fn near(q: f64) -> Self {
        // The convergents of the continued fraction.
        let ([mut a, mut b], [mut c, mut d]) = ([0u64, 1u64], [1u64, 0u64]);
        // Of what is no number 0, so that it ends.
        let mut rest = q.max(0.0);
        loop {
            let whole = rest.floor();
            let next = |one: u64, two: u64| (whole as u64).saturating_mul(two).saturating_add(one);
            let (numerator, denominator) = (next(a, c), next(b, d));
            if denominator > FINEST {
                break;
            }
            ([a, b], [c, d]) = ([c, d], [numerator, denominator]);
            let off = (c as f64 / d as f64 - q).abs();
            if off <= q * f64::EPSILON || rest == whole {
                break;
            }
            rest = 1.0 / (rest - whole);
        }
        if c == 0 {
            (c, d) = (1, FINEST);
        } else if c >= d {
            (c, d) = (FINEST - 1, FINEST);
        }
        Self {
            numerator: c,
            denominator: d,
        }
    }

    /// As a float.
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The larger of `q` and `1 - q`, times the denominator.
    pub fn larger_part(self) -> u64 {
        self.numerator.max(self.denominator - self.numerator)
    }
}

/// What is left of a budget on the way from the first of several quantiles, that in the middle, to those on its sides,
/// and so on: a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    numerator: u64,
    denominator: u64,
}

impl Rest {
    /// All of it.
    pub const ALL: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    /// The part that the choice for the one in the middle of that many has, as a numerator and a denominator of at most
    /// 100, and what it leaves to those on each side. A row takes part in one choice on each level at most. Those that
    /// are left share alike, and where the levels end sooner on one side, it has more for each.
    pub fn share(self, quantiles: usize) -> ((u64, u64), Self) {
        let levels = u64::from(quantiles.max(1).ilog2()) + 1;
        let reduced = |numerator: u64, denominator: u64| {
            let (mut a, mut b) = (numerator, denominator);
            while a != 0 {
                (a, b) = (b % a, a);
            }
            (numerator / b, denominator / b)
        };
        let denominator = self.denominator * levels;
        let (numerator, rest) = reduced(self.numerator * (levels - 1), denominator);
        let left = Self {
            numerator,
            denominator: rest,
        };
        (reduced(self.numerator, denominator), left)
    }
}

/// The sum of the squares of the shares of epsilon on a row's way through the choices for that many quantiles: of the
/// way where it is the largest.
pub(crate) fn squares(quantiles: usize) -> f64 {
    fn from(quantiles: usize, rest: Rest) -> f64 {
        if quantiles == 0 {
            return 0.0;
        }
        let ((numerator, denominator), rest) = rest.share(quantiles);
        let below = quantiles / 2;
        let sides = [below, quantiles - below - 1].map(|side| from(side, rest));
        (numerator as f64 / denominator as f64).powi(2) + sides[0].max(sides[1])
    }
    from(quantiles, Rest::ALL)
}

/// How the release of a quantile with its interval shares epsilon, in sixteenths.
pub(crate) mod with_interval {
    /// All of it.
    pub(crate) const ALL: u64 = 16;
    /// For the number of rows.
    pub(crate) const ROWS: u64 = 1;
    /// For the quantile.
    pub(crate) const QUANTILE: u64 = 3;
    /// For each end of the interval.
    pub(crate) const END: u64 = 4;
    /// For the numbers of rows below, in and above the interval.
    pub(crate) const CHECK: u64 = 4;

    const _: () = assert!(ROWS + QUANTILE + 2 * END + CHECK == ALL);

    /// The sum of the squares of the shares, those of numbers of rows twice as large: pure differential privacy at `e`
    /// costs `e^2 / 2` in zCDP at most, where a choice costs `e^2 / 8`.
    pub(crate) const SQUARES: f64 = {
        let counts = 4 * (ROWS * ROWS + CHECK * CHECK);
        let choices = QUANTILE * QUANTILE + 2 * END * END;
        (counts + choices) as f64 / (ALL * ALL) as f64
    };
}

/// The range of a quantile, one step beside the ends.
const LEAST: f64 = 1.0 / FINEST as f64;

const HINT: &str = "0.5 is the median. What is beyond all rows but a few no private answer can tell: for the ends of a \
                    column take q = 10 / (eps n) or 1 less that, or dp_bounds.";

/// The quantiles that a call asks for: one half where it does not say.
pub(crate) fn asked(ranks: Option<Ranks>) -> Result<Vec<f64>, ParameterError> {
    let in_range = |q: &f64| (LEAST..=1.0 - LEAST).contains(q);
    let refused = |argument, message| Err(ParameterError::new(argument, message, HINT));
    match ranks {
        None => Ok(vec![0.5]),
        Some(Ranks::One(None)) => refused("q", "must not be NULL"),
        Some(Ranks::One(Some(q))) if in_range(&q) => Ok(vec![q]),
        Some(Ranks::One(Some(_))) => refused("q", "must be at least 0.00001 and at most 0.99999"),
        Some(Ranks::Many(qs)) => {
            let given = qs.iter().flatten().filter(|q| in_range(q));
            if !(1..=MOST).contains(&qs.len()) || given.clone().count() != qs.len() {
                return refused(
                    "qs",
                    "must be an array of 1 to 1000 numbers from 0.00001 to 0.99999, none of them NULL",
                );
            }
            if !given.clone().is_sorted_by(|one, next| one < next) {
                return Err(ParameterError::new(
                    "qs",
                    "must be in ascending order, each number once",
                    "Answers come in ascending order, too: write ARRAY[0.25, 0.5, 0.75].",
                ));
            }
            Ok(given.copied().collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_the_fractions_that_they_say() {
        for denominator in [2u64, 3, 7, 10, 100, 1000, 99_991, 100_000] {
            for numerator in (1..denominator).step_by(1 + denominator as usize / 97) {
                let near = Fraction::near(numerator as f64 / denominator as f64);
                let same = u128::from(near.numerator) * u128::from(denominator)
                    == u128::from(numerator) * u128::from(near.denominator);
                assert!(
                    same && near.denominator <= denominator,
                    "{numerator}/{denominator}"
                );
            }
        }
        let Fraction {
            numerator,
            denominator,
        } = Fraction::near(0.5);
        assert_eq!((numerator, denominator), (1, 2));
    }

    #[test]
    fn other_numbers_are_near_theirs() {
        let mut q = 0.000_010_1;
        while q < 0.999_99 {
            let near = Fraction::near(q);
            assert!(near.numerator >= 1 && near.numerator < near.denominator);
            assert!(near.denominator <= FINEST);
            let off = (near.value() - q).abs();
            assert!(
                off <= 1.0 / (near.denominator * FINEST) as f64,
                "{q} {near:?}"
            );
            q += 0.000_317_7;
        }
        // Recursion asks for numbers that no call may have.
        for (q, numerator) in [
            (f64::NAN, 1),
            (0.0, 1),
            (1e-9, 1),
            (1.0, FINEST - 1),
            (1.0 - 1e-9, FINEST - 1),
        ] {
            let near = Fraction::near(q);
            assert_eq!(
                (near.numerator, near.denominator),
                (numerator, FINEST),
                "{q}"
            );
        }
    }

    /// Along every way the shares add up to no more than all, and to all at its end.
    #[test]
    fn shares_add_up() {
        fn ways(quantiles: usize, rest: Rest, spent: f64, squared: f64, worst: &mut f64) {
            if quantiles == 0 {
                return;
            }
            let ((numerator, denominator), rest) = rest.share(quantiles);
            assert!(
                numerator < 10 && denominator <= 100,
                "{quantiles} {numerator}/{denominator}"
            );
            let share = numerator as f64 / denominator as f64;
            let (spent, squared) = (spent + share, squared + share * share);
            *worst = f64::max(*worst, squared);
            assert!(spent < 1.0 + 1e-12);
            if quantiles == 1 {
                assert!((spent - 1.0).abs() < 1e-12);
            }
            let below = quantiles / 2;
            ways(below, rest, spent, squared, worst);
            ways(quantiles - below - 1, rest, spent, squared, worst);
        }
        for quantiles in 1..=MOST {
            let mut worst = 0.0;
            ways(quantiles, Rest::ALL, 0.0, 0.0, &mut worst);
            assert!((squares(quantiles) - worst).abs() < 1e-12, "{quantiles}");
        }
        assert_eq!(
            [1, 2, 3, 5, 7].map(squares),
            [1.0, 0.5, 0.5, 1.0 / 3.0, 1.0 / 3.0]
        );
    }
}
