//! The arithmetic of a budget: what was spent, what a limit allows, and what is left.
//!
//! More of it: docs/proofs/budget.md.
//!
//! A budget adds up epsilons, and beside them the rhos of zero-concentrated differential privacy, or `mu^2 / 2` of
//! Gaussian differential privacy: its [`Accounting`], which is fixed with it.
//!
//! Sums are integers, so they are the same in every order and never lose a charge: epsilon and rho in
//! units of 2^-50, delta in units of 2^-62. A charge is rounded up once, a limit down once. The epsilon of a
//! charge is what the mechanisms spend of the one they are given ([`Epsilon`]: a multiple of 2^-40), so
//! that ten answers at 0.1 are within 1, as a decimal reader expects.
//!
//! ```
//! use dp_core::privacy::spending::{Accounting, HALF, Limit, Spent};
//!
//! // Of (3, 1e-6), 30 answers at epsilon 0.1 are within the sum of epsilons; by their rho it is 35.
//! let limit = Limit::new(3.0, 1e-6, Accounting::Zcdp, HALF)?;
//! let charge = Spent::of_epsilon(0.1, 0.0, Accounting::Zcdp)?;
//! assert_eq!(limit.how_many(&Spent::default(), &charge), 35);
//! # Ok::<(), dp_core::error::ParameterError>(())
//! ```

use crate::error::ParameterError;
use crate::privacy::accounting::{self, check_positive};
use crate::privacy::cost::Cost;
use crate::privacy::epsilon::Epsilon;
use crate::privacy::{gdp, zcdp};

/// Units in an epsilon of 1, and in a rho of 1.
pub const UNIT: f64 = (1u64 << 50) as f64;

/// Units in a delta of 1.
pub const DELTA_UNIT: f64 = (1u64 << 62) as f64;

/// A sum that has no bound: no limit reaches it.
pub const UNBOUNDED: i64 = i64::MAX;

/// The largest epsilon of a limit. What is beyond it protects nobody.
const LARGEST_LIMIT: f64 = 4096.0;

const EPSILON_HINT: &str = "Smaller is more private; 0.1 to 10 is usual.";
const DELTA_HINT: &str = "It is the probability that the promise does not cover: far below 1 over the number of \
                          people, as in 1e-6; or 0.";

/// The share of delta that is for failures, where a budget's maker says nothing else.
pub const HALF: f64 = 0.5;

const FAILURES_HINT: &str = "It is the share of delta for choices of groups; the rest is for the noise. 0.5 is usual; with \
                             0 there are no choices of groups.";

/// In which terms a budget adds up what no sum of epsilons holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// Zero-concentrated differential privacy: `rho`.
    Zcdp,
    /// Gaussian differential privacy: `mu^2 / 2`, which of Gaussian noise is `rho` too, and of all else more.
    Gaussian,
}

impl Accounting {
    /// Each with its name.
    const ALL: [Self; 2] = [Self::Zcdp, Self::Gaussian];

    /// By its name.
    ///
    /// # Errors
    /// Another name.
    pub fn named(name: &str) -> Result<Self, ParameterError> {
        let found = Self::ALL
            .into_iter()
            .find(|accounting| accounting.name() == name);
        found.ok_or_else(|| {
            let hint = "gaussian is right for new budgets; zcdp is that of older ones.";
            ParameterError::new("accounting", "must be gaussian or zcdp", hint)
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zcdp => "zcdp",
            Self::Gaussian => "gaussian",
        }
    }

    /// What a pure release at `epsilon` adds to the sum.
    fn pure(self, epsilon: f64) -> f64 {
        match self {
            Self::Zcdp => zcdp::pure(epsilon),
            Self::Gaussian => gdp::pure(epsilon),
        }
    }

    /// The largest sum that is within (epsilon, delta); 0 where none is known to be.
    fn within(self, epsilon: f64, delta: f64) -> f64 {
        match self {
            Self::Zcdp => zcdp::rho_within(epsilon, delta).unwrap_or(0.0),
            // The square is rounded down by more than its rounding could have added.
            Self::Gaussian => accounting::mu(epsilon, delta)
                .map_or(0.0, |mu| mu * mu / 2.0 * (1.0 - f64::EPSILON)),
        }
    }

    /// The epsilon that such a sum has with this delta, rounded up.
    fn epsilon(self, sum: f64, delta: f64) -> Option<f64> {
        match self {
            Self::Zcdp => zcdp::eps_of_rho(sum, delta).ok(),
            Self::Gaussian => {
                let mu = (2.0 * sum).sqrt().next_up();
                accounting::epsilon(delta, mu).ok()
            }
        }
    }
}

/// What releases spent together, or what one of them spends: rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The sum of the epsilons; [`UNBOUNDED`] once there is a release whose loss has no bound.
    pub epsilon: i64,
    /// The sum of the rhos, or of `mu^2 / 2`: which, is a matter of the budget.
    pub rho: i64,
    /// The sum of the probabilities that neither of the two covers.
    pub delta: i64,
}

impl Spent {
    /// What a release costs.
    pub fn of(cost: &Cost, accounting: Accounting) -> Self {
        let epsilon = match (cost.mu, cost.epsilon) {
            (None, Some(epsilon)) => epsilon_units(epsilon),
            // The loss of Gaussian noise has no bound.
            _ => UNBOUNDED,
        };
        Self {
            epsilon,
            rho: up(match accounting {
                Accounting::Zcdp => cost.rho,
                Accounting::Gaussian => cost.half_square,
            } * UNIT),
            delta: up(cost.failure * DELTA_UNIT),
        }
    }

    /// What any (epsilon, delta)-differentially private release costs. From 2^-20 to 50, the release spends
    /// `epsilon` as the mechanisms here do: rounded down to a multiple of 2^-40.
    ///
    /// # Errors
    /// `epsilon` not finite or not above 0; `delta` negative or not below 1.
    pub fn of_epsilon(
        epsilon: f64,
        delta: f64,
        accounting: Accounting,
    ) -> Result<Self, ParameterError> {
        check_positive("eps", epsilon, EPSILON_HINT)?;
        check_delta(delta)?;
        Ok(Self {
            epsilon: epsilon_units(epsilon),
            rho: up(accounting.pure(epsilon) * UNIT),
            delta: up(delta * DELTA_UNIT),
        })
    }

    /// What was spent elsewhere, in all: (0, 0) if nothing was.
    ///
    /// # Errors
    /// `epsilon` not finite or below 0; `delta` negative or not below 1.
    pub fn missing(
        epsilon: f64,
        delta: f64,
        accounting: Accounting,
    ) -> Result<Self, ParameterError> {
        if epsilon == 0.0 {
            check_delta(delta)?;
            return Ok(Self {
                delta: up(delta * DELTA_UNIT),
                ..Self::default()
            });
        }
        if !(epsilon.is_finite() && epsilon > 0.0) {
            return Err(ParameterError::new(
                "eps",
                "must be a finite number, 0 or greater",
                "It is what was spent and is not in this ledger; 0 if nothing is missing.",
            ));
        }
        Self::of_epsilon(epsilon, delta, accounting)
    }

    /// Both together. What would be too large for the sum stays [`UNBOUNDED`].
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            epsilon: self.epsilon.saturating_add(other.epsilon),
            rho: self.rho.saturating_add(other.rho),
            delta: self.delta.saturating_add(other.delta),
        }
    }

    /// The larger number of both, of each kind.
    #[must_use]
    pub fn at_least(&self, other: &Self) -> Self {
        Self {
            epsilon: self.epsilon.max(other.epsilon),
            rho: self.rho.max(other.rho),
            delta: self.delta.max(other.delta),
        }
    }

    /// How many more times `recent` can be spent after `spent`, where these sums are the most that is allowed: by epsilons
    /// or by rhos, whichever lasts longer, and by deltas. `None` where nothing recent was spent, and so there is no end.
    ///
    /// ```
    /// use dp_core::privacy::spending::{Spent, UNBOUNDED};
    ///
    /// let sums = |epsilon, rho, delta| Spent { epsilon, rho, delta };
    /// let limit = sums(100, 1000, 10);
    /// assert_eq!(limit.lasts(&sums(40, 200, 0), &sums(20, 100, 0)), Some(8.0));
    /// assert_eq!(limit.lasts(&sums(UNBOUNDED, 900, 0), &sums(UNBOUNDED, 200, 0)), Some(0.5));
    /// assert_eq!(limit.lasts(&sums(40, 200, 9), &sums(20, 100, 2)), Some(0.5));
    /// assert_eq!(limit.lasts(&sums(40, 200, 9), &sums(0, 0, 0)), None);
    /// // Without a rho, the sum of epsilons alone counts.
    /// assert_eq!(sums(100, 0, 0).lasts(&sums(75, 7, 0), &sums(50, 7, 0)), Some(0.5));
    /// ```
    #[must_use]
    pub fn lasts(&self, spent: &Self, recent: &Self) -> Option<f64> {
        let times = |most: i64, spent: i64, recent: i64| match most.saturating_sub(spent) {
            ..=0 => 0.0,
            rest => rest as f64 / recent as f64,
        };
        if recent.epsilon == 0 && recent.rho == 0 && recent.delta == 0 {
            return None;
        }
        let by_epsilon = times(self.epsilon, spent.epsilon, recent.epsilon);
        let by_rho = times(self.rho, spent.rho, recent.rho);
        let by_delta = match recent.delta {
            0 => f64::INFINITY,
            recent => times(self.delta, spent.delta, recent),
        };
        let least = by_epsilon.max(by_rho).min(by_delta);
        least.is_finite().then_some(least)
    }

    /// What has to be added for the sum to be at least `whole`.
    ///
    /// ```
    /// use dp_core::privacy::spending::{Spent, UNBOUNDED};
    ///
    /// let spent = |epsilon, rho, delta| Spent { epsilon, rho, delta };
    /// assert_eq!(spent(5, 3, 2).rest_of(&spent(7, 3, 1)), spent(2, 0, 0));
    /// // What has no bound has none after it was added either.
    /// let rest = spent(5, 3, 2).rest_of(&spent(UNBOUNDED, 4, 2));
    /// assert_eq!(rest, spent(UNBOUNDED, 1, 0));
    /// let all = spent(UNBOUNDED, 4, 2);
    /// assert_eq!(all.rest_of(&all), spent(0, 0, 0));
    /// assert_eq!(spent(5, 3, 2).at_least(&spent(7, 1, 2)), spent(7, 3, 2));
    /// ```
    #[must_use]
    pub fn rest_of(&self, whole: &Self) -> Self {
        let rest = |own: i64, whole: i64| match whole {
            UNBOUNDED if own < UNBOUNDED => UNBOUNDED,
            _ => whole.saturating_sub(own).max(0),
        };
        Self {
            epsilon: rest(self.epsilon, whole.epsilon),
            rho: rest(self.rho, whole.rho),
            delta: rest(self.delta, whole.delta),
        }
    }
}

/// What may be spent: (epsilon, delta), as sums that are kept within it; rounded down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// As it was asked for.
    pub asked: (f64, f64),
    /// What the sum of rhos is a sum of.
    pub accounting: Accounting,
    /// The share of delta that is for failures.
    pub failures: f64,
    /// The most that the sum of epsilons may be.
    pub epsilon: i64,
    /// The most that the sum of rhos may be, with the rest of delta; 0 without a delta.
    pub rho: i64,
    /// The most that the sum of deltas may be: the share of failures.
    pub delta: i64,
}

impl Limit {
    /// A limit of (epsilon, delta), with a share of delta for failures; with a delta of 0, the sum of epsilons alone
    /// counts.
    ///
    /// # Errors
    /// `epsilon` not above 0 or above 4096; `delta` negative or not below 1; `failures` not from 0 to 1.
    pub fn new(
        epsilon: f64,
        delta: f64,
        accounting: Accounting,
        failures: f64,
    ) -> Result<Self, ParameterError> {
        check_positive("eps", epsilon, EPSILON_HINT)?;
        if epsilon > LARGEST_LIMIT {
            return Err(ParameterError::new(
                "eps",
                "must be at most 4096",
                EPSILON_HINT,
            ));
        }
        check_delta(delta)?;
        if !(0.0..=1.0).contains(&failures) {
            return Err(ParameterError::new(
                "failures",
                "must be a number from 0 to 1",
                FAILURES_HINT,
            ));
        }
        let rest = rest_of_delta(delta, failures);
        // Where no rho is known to be within it, there is the sum of epsilons still.
        let rho = match rest > 0.0 {
            true => accounting.within(epsilon, rest),
            false => 0.0,
        };
        Ok(Self {
            asked: (epsilon, delta),
            accounting,
            failures,
            epsilon: down(epsilon * UNIT),
            rho: down(rho * UNIT),
            delta: down(delta * failures * DELTA_UNIT),
        })
    }

    /// The `mu` of Gaussian noise at the price `epsilon`: it takes the same share of the sum that is allowed as `epsilon`
    /// is of the limit's, so that prices add up. Rounded down; `None` where the budget has no such sum.
    pub fn mu_at(&self, epsilon: f64) -> Option<f64> {
        if self.accounting != Accounting::Gaussian || self.rho == 0 {
            return None;
        }
        let share = epsilon / self.asked.0 * self.rho as f64;
        // Less by more than what is rounded up where it is charged.
        let share = (share * (1.0 - 8.0 * f64::EPSILON) - 2.0).floor() / UNIT;
        (share > 0.0).then(|| accounting::mu_of_rho(share).ok())?
    }

    /// What an answer at the price `epsilon` is charged: its share of the sum that is allowed, for Gaussian noise; else
    /// what pure noise costs.
    ///
    /// # Errors
    /// `epsilon` not finite or not above 0.
    pub fn price(&self, epsilon: f64) -> Result<Spent, ParameterError> {
        let pure = Spent::of_epsilon(epsilon, 0.0, self.accounting)?;
        let noise = self
            .mu_at(epsilon)
            .and_then(|mu| Cost::of_mu(mu, None).ok());
        Ok(noise.map_or(pure, |noise| Spent::of(&noise, self.accounting)))
    }

    /// Which part of all that is allowed so much is, by the sum that has more room.
    pub fn share(&self, spent: &Spent) -> f64 {
        part(spent.epsilon, self.epsilon).min(part(spent.rho, self.rho))
    }

    /// The price of a charge: the share that it takes, times epsilon, by the sum that the budget is meant for. So prices
    /// add up.
    pub fn price_of(&self, charge: &Spent) -> f64 {
        let is_of_rho = self.accounting == Accounting::Gaussian && self.rho > 0;
        let share = match is_of_rho || charge.epsilon == UNBOUNDED {
            true => part(charge.rho, self.rho),
            false => part(charge.epsilon, self.epsilon),
        };
        share * self.asked.0
    }

    /// Whether so much may have been spent: the deltas are within their share of delta, and the epsilons or
    /// the rhos within theirs.
    pub fn allows(&self, spent: &Spent) -> bool {
        spent.delta <= self.delta && (spent.epsilon <= self.epsilon || spent.rho <= self.rho)
    }

    /// How many charges like this one fit beside what was spent.
    pub fn how_many(&self, spent: &Spent, charge: &Spent) -> i64 {
        // A limit is below i64::MAX, and what was spent is not negative.
        let fit = |limit: i64, spent: i64, each: i64| match limit.saturating_sub(spent) {
            left if left < 0 => 0,
            _ if each == 0 => i64::MAX,
            left => left / each,
        };
        let epsilons = fit(self.epsilon, spent.epsilon, charge.epsilon);
        let rhos = fit(self.rho, spent.rho, charge.rho);
        fit(self.delta, spent.delta, charge.delta).min(epsilons.max(rhos))
    }

    /// The largest epsilon that one release may still spend, rounded down: of pure differential privacy, where
    /// nothing but that is known of it.
    pub fn left(&self, spent: &Spent) -> f64 {
        if spent.delta > self.delta {
            return 0.0;
        }
        let by_sum = float_down(self.epsilon.saturating_sub(spent.epsilon).max(0), UNIT);
        let fits = |epsilon: f64| {
            let charge = Spent {
                epsilon: UNBOUNDED,
                rho: up(self.accounting.pure(epsilon) * UNIT),
                delta: 0,
            };
            self.allows(&spent.plus(&charge))
        };
        // Bit patterns are in the order of the numbers; 4096 is too much for both.
        let (mut yes, mut no) = (by_sum.to_bits(), (2.0 * LARGEST_LIMIT).to_bits());
        while no - yes > 1 {
            let middle = yes.midpoint(no);
            if fits(f64::from_bits(middle)) {
                yes = middle;
            } else {
                no = middle;
            }
        }
        f64::from_bits(yes)
    }

    /// What was spent, as one (epsilon, delta) with this limit's way to keep it: the least epsilon of a limit
    /// that had allowed it, rounded up. `None` where there is no such number.
    pub fn total(&self, spent: &Spent) -> Option<(f64, f64)> {
        let rest = rest_of_delta(self.asked.1, self.failures);
        let failures = float_up(spent.delta, DELTA_UNIT);
        let sum =
            (spent.epsilon < UNBOUNDED).then(|| (float_up(spent.epsilon, UNIT), failures.min(1.0)));
        let rho = (spent.rho < UNBOUNDED && spent.rho > 0)
            .then(|| {
                let sum = float_up(spent.rho, UNIT);
                self.accounting.epsilon(sum, rest)
            })
            .flatten()
            .map(|epsilon| (epsilon, sum_up(rest, failures).min(1.0)));
        match (sum, rho) {
            (Some(sum), Some(rho)) if rho.0 < sum.0 => Some(rho),
            (Some(sum), _) => Some(sum),
            (None, rho) => rho,
        }
    }
}

/// What is left of delta beside its share for failures, rounded down.
fn rest_of_delta(delta: f64, failures: f64) -> f64 {
    let share = delta * failures;
    let rest = delta - share;
    // What the subtraction has dropped, exactly (Dekker's sum).
    if (delta - rest) - share < 0.0 {
        rest.next_down()
    } else {
        rest
    }
}

/// Which part of all so much is.
fn part(spent: i64, all: i64) -> f64 {
    match (spent, all) {
        (0, _) => 0.0,
        (UNBOUNDED, _) | (_, 0) => f64::INFINITY,
        (spent, all) => spent as f64 / all as f64,
    }
}

fn check_delta(delta: f64) -> Result<(), ParameterError> {
    if (0.0..1.0).contains(&delta) {
        return Ok(());
    }
    Err(ParameterError::new(
        "delta",
        "must be 0, or above 0 and below 1",
        DELTA_HINT,
    ))
}

/// What a mechanism that is given this epsilon spends of it, exactly; of others, all of it.
fn epsilon_units(epsilon: f64) -> i64 {
    match Epsilon::new(Some(epsilon)) {
        // At most 2^46 times 2^10.
        Ok(epsilon) => (epsilon.numerator() as i64) << (50 - epsilon.places()),
        Err(_) => up(epsilon * UNIT),
    }
}

/// That many units, or more; [`UNBOUNDED`] where that is too many, or no number.
fn up(units: f64) -> i64 {
    if units.is_nan() {
        return UNBOUNDED;
    }
    // The scaling was exact, but for what is below the least unit anyway; the cast saturates.
    let whole = units.ceil() as i64;
    if whole == 0 && units != 0.0 { 1 } else { whole }
}

/// That many units, or fewer; always below [`UNBOUNDED`].
fn down(units: f64) -> i64 {
    (units.floor() as i64).clamp(0, UNBOUNDED - 1)
}

/// Units as a number, rounded up. `unit` is a power of two, and `units` not negative.
pub fn float_up(units: i64, unit: f64) -> f64 {
    let nearest = units as f64;
    // i128 holds what the rounding may have carried beyond i64.
    if (nearest as i128) < i128::from(units) {
        nearest.next_up() / unit
    } else {
        nearest / unit
    }
}

/// Units as a number, rounded down.
pub fn float_down(units: i64, unit: f64) -> f64 {
    let nearest = units as f64;
    if (nearest as i128) > i128::from(units) {
        nearest.next_down() / unit
    } else {
        nearest / unit
    }
}

/// A sum, rounded up.
fn sum_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if b == 0.0 { sum } else { sum.next_up() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::cost::Loss;

    const ZCDP: Accounting = Accounting::Zcdp;
    const GAUSSIAN: Accounting = Accounting::Gaussian;

    /// The exact value of that many units is at least, or at most, a number: compared as integers of 2^-1074.
    fn compare(units: i64, shift: i32, value: f64) -> std::cmp::Ordering {
        // units / 2^shift against mantissa * 2^exponent, by cross-multiplying within i128.
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        assert!(exponent > 0 && exponent < 2047, "a normal number");
        let (mantissa, exponent) = (i128::from(fraction | 1 << 52), exponent - 1075);
        let (mut left, mut right) = (i128::from(units), mantissa);
        let difference = exponent + shift;
        if difference >= 0 {
            right <<= difference.min(70);
        } else {
            // Beyond 63 bits the right side is less than a unit.
            if -difference > 63 {
                return if units > 0 {
                    std::cmp::Ordering::Greater
                } else {
                    std::cmp::Ordering::Less
                };
            }
            left <<= -difference;
        }
        left.cmp(&right)
    }

    const VALUES: [f64; 14] = [
        1e-300,
        1e-20,
        8e-16,
        9e-16,
        1e-10,
        1e-6,
        0.1,
        0.3,
        1.0,
        1.0000000000000002,
        2.5,
        3.0,
        50.0,
        4000.1,
    ];

    #[test]
    fn charges_are_rounded_up_and_limits_down() {
        for value in VALUES {
            let charge = up(value * UNIT);
            assert!(compare(charge, 50, value).is_ge(), "{value}");
            assert!(compare(charge - 1, 50, value).is_lt(), "{value}: too much");
            let limit = down(value * UNIT);
            assert!(compare(limit, 50, value).is_le(), "{value}");
            assert!(compare(limit + 1, 50, value).is_gt(), "{value}: too little");
            if value < 1.0 {
                let delta = Spent::of_epsilon(1.0, value, ZCDP).unwrap().delta;
                assert!(compare(delta, 62, value).is_ge(), "{value}");
                assert!(compare(delta - 1, 62, value).is_lt(), "{value}: too much");
                // Half of it, and never more.
                let half = Limit::new(1.0, value, ZCDP, HALF).unwrap().delta;
                assert!(compare(half, 61, value).is_le(), "{value}");
                assert!(compare(half + 1, 61, value).is_gt(), "{value}: too little");
            }
        }
    }

    #[test]
    fn what_is_missing_costs_what_its_epsilon_and_delta_cost() {
        assert_eq!(Spent::missing(0.0, 0.0, ZCDP).unwrap(), Spent::default());
        let nothing_but_delta = Spent::missing(0.0, 1e-6, ZCDP).unwrap();
        let delta = Spent::of_epsilon(1.0, 1e-6, ZCDP).unwrap().delta;
        assert_eq!(
            nothing_but_delta,
            Spent {
                delta,
                ..Spent::default()
            }
        );
        for (epsilon, delta) in [(0.3, 0.0), (7.0, 1e-9), (1e-300, 0.5)] {
            assert_eq!(
                Spent::missing(epsilon, delta, ZCDP),
                Spent::of_epsilon(epsilon, delta, ZCDP)
            );
            // Of many charges that were lost it is at least the sum.
            let half = Spent::of_epsilon(epsilon / 2.0, delta / 2.0, ZCDP).unwrap();
            let (both, all) = (
                half.plus(&half),
                Spent::missing(epsilon, delta, ZCDP).unwrap(),
            );
            assert!(
                all.epsilon >= both.epsilon - 1 && all.rho >= both.rho - 1,
                "{epsilon}"
            );
        }
        for epsilon in [-0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(
                Spent::missing(epsilon, 0.0, ZCDP).unwrap_err().argument,
                "eps"
            );
        }
        for (epsilon, delta) in [(0.0, 1.0), (0.0, -0.1), (1.0, 1.0), (0.0, f64::NAN)] {
            assert_eq!(
                Spent::missing(epsilon, delta, ZCDP).unwrap_err().argument,
                "delta"
            );
        }
    }

    #[test]
    fn units_as_numbers_are_on_the_side_that_was_asked_for() {
        for units in [
            0,
            1,
            (1 << 53) + 1,
            (1 << 60) + 1,
            (1 << 62) - 1,
            i64::MAX - 1,
            i64::MAX,
        ] {
            let (low, high) = (float_down(units, UNIT), float_up(units, UNIT));
            assert!((low * UNIT) as i128 <= i128::from(units), "{units}");
            assert!((high * UNIT) as i128 >= i128::from(units), "{units}");
            assert!(high <= low.next_up(), "{units}");
        }
    }

    #[test]
    fn a_charge_is_never_nothing_and_a_huge_one_never_fits() {
        let largest = Limit::new(4096.0, 0.999, ZCDP, HALF).unwrap();
        for epsilon in [5e-324, 1e-300, 1e-17] {
            let charge = Spent::of_epsilon(epsilon, 5e-324, ZCDP).unwrap();
            assert_eq!((charge.epsilon, charge.rho, charge.delta), (1, 1, 1));
        }
        for epsilon in [8192.0, 1e10, f64::MAX] {
            let charge = Spent::of_epsilon(epsilon, 0.0, ZCDP).unwrap();
            assert_eq!((charge.epsilon, charge.rho), (UNBOUNDED, UNBOUNDED));
            assert!(!largest.allows(&charge));
            assert_eq!(largest.how_many(&Spent::default(), &charge), 0);
        }
        // Nor does what was spent wrap around.
        let full = Spent {
            epsilon: UNBOUNDED,
            rho: UNBOUNDED,
            delta: UNBOUNDED,
        };
        assert_eq!(full.plus(&full), full);
        assert!(!largest.allows(&full));
        assert_eq!(largest.left(&full), 0.0);
        assert_eq!(largest.total(&full), None);
        let top = Limit {
            epsilon: i64::MAX - 1,
            rho: i64::MAX - 1,
            delta: i64::MAX - 1,
            ..largest
        };
        assert!(!top.allows(&full));
    }

    #[test]
    fn what_does_not_divide_a_limit_stops_below_it() {
        let limit = Limit::new(1.0, 0.0, ZCDP, HALF).unwrap();
        let charge = Spent::of_epsilon(0.3, 0.0, ZCDP).unwrap();
        let mut spent = Spent::default();
        let mut fitted = 0;
        while limit.allows(&spent.plus(&charge)) {
            assert_eq!(limit.how_many(&spent, &charge), 3 - fitted);
            spent = spent.plus(&charge);
            fitted += 1;
        }
        assert_eq!(fitted, 3);
        assert_eq!(limit.how_many(&spent, &charge), 0);
        // A decimal reader's sums come out, though 0.1 is a little more than a tenth.
        for (epsilon, limit, times) in
            [(0.1, 1.0, 10), (0.1, 3.0, 30), (0.1, 0.3, 3), (0.7, 4.9, 7)]
        {
            let charge = Spent::of_epsilon(epsilon, 0.0, ZCDP).unwrap();
            let limit = Limit::new(limit, 0.0, ZCDP, HALF).unwrap();
            assert_eq!(limit.how_many(&Spent::default(), &charge), times);
            let spent = Epsilon::new(Some(epsilon)).unwrap().value() * UNIT;
            assert_eq!(charge.epsilon as f64, spent);
        }
        let exact = Spent::of_epsilon(0.125, 0.0, ZCDP).unwrap();
        assert_eq!(limit.how_many(&Spent::default(), &exact), 8);
    }

    #[test]
    fn without_a_delta_only_the_sum_counts() {
        let limit = Limit::new(3.0, 0.0, ZCDP, HALF).unwrap();
        assert_eq!((limit.rho, limit.delta), (0, 0));
        let pure = Spent::of_epsilon(3.0, 0.0, ZCDP).unwrap();
        assert!(limit.allows(&pure));
        assert!(!limit.allows(&Spent::of_epsilon(1e-3, 1e-12, ZCDP).unwrap()));
        let gaussian = Spent::of(&Cost::of_mu(1e-6, None).unwrap(), ZCDP);
        assert!(!limit.allows(&gaussian));
        assert_eq!(limit.total(&gaussian), None);
        assert_eq!(limit.total(&pure), Some((3.0, 0.0)));
    }

    #[test]
    fn costs_are_charged_as_their_mechanisms_say() {
        let pure = Spent::of(&Cost::of_epsilon(Loss::Pure, 0.5, 0.0, 1.0, 1), ZCDP);
        assert_eq!(pure, Spent::of_epsilon(0.5, 0.0, ZCDP).unwrap());
        let laplace = Spent::of(
            &Cost::of_epsilon(Loss::Laplace { steps: 1 << 32 }, 0.5, 0.0, 1.0, 1),
            ZCDP,
        );
        assert!(laplace.epsilon == pure.epsilon && laplace.rho < pure.rho);
        let keep = Spent::of(
            &Cost::of_epsilon(Loss::Approximate, 0.5, 1e-9, 1.0, 1),
            ZCDP,
        );
        assert_eq!(keep, Spent::of_epsilon(0.5, 1e-9, ZCDP).unwrap());
        // Gaussian noise costs the same in both terms; what is pure costs more beside it.
        let noise = Cost::of_mu(0.1, Some((0.5, 1e-6))).unwrap();
        assert_eq!(Spent::of(&noise, ZCDP), Spent::of(&noise, GAUSSIAN));
        for (loss, more) in [(Loss::Pure, 1.5), (Loss::BoundedRange, 1.57)] {
            let cost = Cost::of_epsilon(loss, 0.1, 0.0, 1.0, 1);
            let ratio = cost.half_square / cost.rho;
            assert!(ratio > more && ratio < 1.573, "{ratio}");
        }
        let choices = Cost::of_choices(0.00125);
        let same = Cost::of_epsilon(Loss::BoundedRange, 0.1, 0.0, 1.0, 1);
        assert!((choices.half_square / same.half_square - 1.0).abs() < 1e-9);
        let gaussian = Spent::of(&noise, ZCDP);
        assert_eq!(gaussian.epsilon, UNBOUNDED);
        assert_eq!(gaussian.delta, 0);
        assert!(gaussian.rho >= (0.005 * UNIT) as i64);
        // Once something without a bound was spent, only the rhos count, and pure ones go on to fit there.
        let limit = Limit::new(3.0, 1e-6, ZCDP, HALF).unwrap();
        assert!(limit.allows(&gaussian) && limit.allows(&gaussian.plus(&pure)));
        let many = Spent::of_epsilon(1.0, 0.0, ZCDP).unwrap();
        assert!(limit.allows(&many) && !limit.allows(&gaussian.plus(&many)));
    }

    #[test]
    fn what_is_left_fits_and_more_does_not() {
        for (epsilon, delta, accounting) in [
            (3.0, 1e-6, ZCDP),
            (1.0, 0.0, ZCDP),
            (0.05, 1e-9, ZCDP),
            (4096.0, 0.5, ZCDP),
            (3.0, 1e-6, GAUSSIAN),
            (0.05, 1e-9, GAUSSIAN),
        ] {
            let limit = Limit::new(epsilon, delta, accounting, HALF).unwrap();
            let pure = |epsilon, delta| Spent::of_epsilon(epsilon, delta, accounting).unwrap();
            for used in [0.0, 0.01, 0.3, 0.9] {
                let spent = match used {
                    0.0 => Spent::default(),
                    _ => pure(used * epsilon, delta / 4.0),
                };
                let left = limit.left(&spent);
                assert!(left >= (1.0 - used) * epsilon * (1.0 - 1e-9), "{left}");
                let fits = |epsilon: f64| limit.allows(&spent.plus(&pure(epsilon, 0.0)));
                assert!(fits(left), "{epsilon} {delta} {used}: {left}");
                assert!(!fits(left + 1e-9 * epsilon), "{epsilon} {delta}: {left}");
            }
        }
        // After something without a bound: what rho leaves.
        let limit = Limit::new(3.0, 1e-6, ZCDP, HALF).unwrap();
        let gaussian = Spent::of(&Cost::of_mu(0.5, None).unwrap(), ZCDP);
        let left = limit.left(&gaussian);
        let charge = |epsilon| gaussian.plus(&Spent::of_epsilon(epsilon, 0.0, ZCDP).unwrap());
        assert!(left > 0.1 && limit.allows(&charge(left)));
        assert!(!limit.allows(&charge(left + 1e-9)));
        // Nothing is, where the deltas are used up.
        let failed = Spent::of_epsilon(1e-3, 9e-7, ZCDP).unwrap();
        assert_eq!(limit.left(&failed), 0.0);
    }

    #[test]
    fn the_total_is_within_every_limit_that_allowed_it() {
        for (epsilon, delta) in [(3.0, 1e-6), (1.0, 1e-3), (10.0, 1e-9), (2.0, 0.0)] {
            let limit = Limit::new(epsilon, delta, ZCDP, HALF).unwrap();
            for each in [0.013, 0.1, 0.7, 1.9] {
                let charge = Spent::of_epsilon(each, 0.0, ZCDP).unwrap();
                let mut spent = Spent::default();
                for _ in 0..limit.how_many(&spent, &charge) {
                    spent = spent.plus(&charge);
                }
                let (total, rest) = limit.total(&spent).unwrap();
                assert!(total <= epsilon && rest <= delta, "{total} {rest}");
                // And what does not fit has a total above it.
                let (total, _) = limit.total(&spent.plus(&charge)).unwrap();
                assert!(total > epsilon * (1.0 - 1e-9), "{total} {epsilon}");
            }
        }
        let limit = Limit::new(3.0, 1e-6, ZCDP, HALF).unwrap();
        assert_eq!(limit.total(&Spent::default()), Some((0.0, 0.0)));
        // With failures beside the half of delta.
        let charge = Spent::of_epsilon(0.01, 1e-9, ZCDP).unwrap();
        let spent = (0..400).fold(Spent::default(), |spent, _| spent.plus(&charge));
        assert!(limit.allows(&spent));
        let (total, delta) = limit.total(&spent).unwrap();
        assert!(
            total < 1.5 && (9e-7..9.001e-7).contains(&delta),
            "{total} {delta}"
        );
    }

    #[test]
    fn bad_limits_and_charges_are_refused() {
        for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, -0.0] {
            assert_eq!(
                Limit::new(bad, 0.0, ZCDP, HALF).unwrap_err().argument,
                "eps"
            );
            assert_eq!(
                Spent::of_epsilon(bad, 0.0, ZCDP).unwrap_err().argument,
                "eps"
            );
        }
        assert!(Limit::new(4096.0, 0.0, ZCDP, HALF).is_ok());
        assert!(Limit::new(4096.0_f64.next_up(), 0.0, ZCDP, HALF).is_err());
        for bad in [f64::NAN, f64::INFINITY, -1e-9, 1.0, 2.0] {
            assert_eq!(
                Limit::new(1.0, bad, ZCDP, HALF).unwrap_err().argument,
                "delta"
            );
            assert_eq!(
                Spent::of_epsilon(1.0, bad, ZCDP).unwrap_err().argument,
                "delta"
            );
        }
    }
}
