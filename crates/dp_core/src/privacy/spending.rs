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

    /// Whether [`new`](Self::new) can have made it, as far as its numbers say: none is negative or NaN, the sums of
    /// epsilons and deltas are no more than was asked for, and one of rhos has a delta.
    ///
    /// ```
    /// use dp_core::privacy::spending::{Accounting, HALF, Limit};
    ///
    /// let limit = Limit::new(3.0, 1e-6, Accounting::Gaussian, HALF)?;
    /// assert!(limit.is_possible());
    /// for asked in [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (4097.0, 0.0), (-1.0, 0.0), (3.0, 1.0), (3.0, f64::NAN)] {
    ///     assert!(!Limit { asked, ..limit }.is_possible());
    /// }
    /// assert!(!Limit { epsilon: limit.epsilon + 1, ..limit }.is_possible());
    /// assert!(!Limit { delta: -1, ..limit }.is_possible());
    /// assert!(!Limit { asked: (3.0, 0.0), delta: 0, ..limit }.is_possible());
    /// # Ok::<(), dp_core::error::ParameterError>(())
    /// ```
    pub fn is_possible(&self) -> bool {
        let (epsilon, delta) = self.asked;
        let is_asked = epsilon > 0.0
            && epsilon <= LARGEST_LIMIT
            && check_delta(delta).is_ok()
            && (0.0..=1.0).contains(&self.failures);
        let (most, most_delta) = (
            down(epsilon * UNIT),
            down(delta * self.failures * DELTA_UNIT),
        );
        is_asked
            && (0..=most).contains(&self.epsilon)
            && (0..=most_delta).contains(&self.delta)
            && self.rho >= 0
            && (self.rho == 0 || rest_of_delta(delta, self.failures) > 0.0)
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
mod tests;
