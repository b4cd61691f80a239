//! What an aggregate costs, and the mechanism that it buys.

use dp_core::privacy::gdp;
use dp_core::privacy::spending::{Accounting, Limit};
use dp_core::registry;

/// The most epsilon of an answer.
const MOST_EPSILON: f64 = 50.0;

/// The price of an aggregate, in the terms of the budget that pays.
#[derive(Clone, Copy)]
pub struct Price {
    /// As the policy, the session or the query has it.
    epsilon: f64,
    /// Of the budget; `None` where it is closed, or not there.
    limit: Option<Limit>,
    /// That of the role that pays, if it has one.
    own: Option<Limit>,
}

impl Price {
    /// By the limit of the budget, and that of the role that pays.
    pub fn of(epsilon: f64, limits: Option<(Limit, Option<Limit>)>) -> Self {
        Self {
            epsilon,
            limit: limits.map(|(all, _)| all),
            own: limits.and_then(|(_, own)| own),
        }
    }

    /// Another price, from the same budget.
    pub fn at(&self, epsilon: f64) -> Self {
        Self { epsilon, ..*self }
    }

    /// In what the budget adds up.
    pub fn accounting(&self) -> Accounting {
        let accounting = self.limit.map(|limit| limit.accounting);
        accounting.unwrap_or(Accounting::Gaussian)
    }

    /// The `mu` of Gaussian noise at this price: a share of the budget, and of what the role may spend of it, whichever
    /// is less. `None` where one of them has none to pay it from.
    fn mu(&self) -> Option<f64> {
        let all = self.limit?.mu_at(self.epsilon)?;
        match self.own {
            Some(own) => Some(all.min(own.mu_at(self.epsilon)?)),
            None => Some(all),
        }
    }

    /// Whether it buys Gaussian noise.
    pub fn is_gaussian(&self) -> bool {
        self.mu().is_some()
    }

    /// The epsilon of an answer with pure noise.
    pub fn pure(&self) -> f64 {
        match self.mu() {
            Some(mu) => gdp::eps_of_half_square(mu * mu / 2.0),
            None => self.epsilon,
        }
    }

    /// That of many counts in one release, so that each has the noise of one at this price; `None` where it would be more
    /// than an answer may cost. And how many times this price it is.
    pub fn of_many(&self, length: usize) -> Option<(f64, Self)> {
        let times = registry::of_many(length as f64, self.is_gaussian());
        Some((times, self.times(times)?))
    }

    /// This price, times a number; `None` where that is more than an answer may cost.
    pub fn times(&self, times: f64) -> Option<Self> {
        let price = self.at(self.epsilon * times);
        (price.epsilon <= MOST_EPSILON).then_some(price)
    }

    /// How many answers at this price take as much of the budget as one at `times` the price: pure noise takes more than
    /// its share where the budget adds up squares.
    pub fn answers(&self, times: f64) -> f64 {
        match self.accounting() {
            Accounting::Zcdp => times * times,
            Accounting::Gaussian => times,
        }
    }

    /// The epsilon and the mechanism that answer many counts.
    pub fn buys_many(&self, length: usize) -> (Option<f64>, String) {
        match self.mu() {
            Some(mu) => (None, format!("correlated(d={length}, mu={mu:?})")),
            None => (Some(self.pure()), format!("knorm(d={length})")),
        }
    }

    /// The epsilon and the mechanism that release many numbers, if a person moves each by 1 at most.
    pub fn buys_sums(&self, length: usize) -> (Option<f64>, String) {
        match self.mu() {
            Some(mu) => (None, format!("gaussian(d={length}, mu={mu:?})")),
            None => (Some(self.pure()), format!("knorm(d={length})")),
        }
    }

    /// The epsilon and the mechanism that answer an aggregate: Gaussian noise where it has such a mechanism, and there
    /// is a budget for it; else its default.
    pub fn buys(&self, aggregate: &str) -> (Option<f64>, Option<String>) {
        match self.mu().and_then(|mu| registry::for_mu(aggregate, mu)) {
            Some(mechanism) => (None, Some(mechanism)),
            None => (Some(self.pure()), None),
        }
    }
}
