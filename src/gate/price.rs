//! What an aggregate costs, and the mechanism that it buys.

use dp_core::privacy::gdp;
use dp_core::privacy::spending::{Accounting, Limit};
use dp_core::registry;

/// The price of an aggregate, in the terms of the budget that pays.
#[derive(Clone, Copy)]
pub struct Price {
    /// As the policy or the session has it.
    epsilon: f64,
    /// Of Gaussian noise at this price; `None` where the budget has none to pay it from.
    mu: Option<f64>,
    /// In what the budget adds up.
    pub accounting: Accounting,
}

impl Price {
    /// Of a budget that has this limit; `None` where it is closed, or not there.
    pub fn of(epsilon: f64, limit: Option<&Limit>) -> Self {
        Self {
            epsilon,
            mu: limit.and_then(|limit| limit.mu_at(epsilon)),
            accounting: limit.map_or(Accounting::Gaussian, |limit| limit.accounting),
        }
    }

    /// Whether it buys Gaussian noise.
    pub fn is_gaussian(&self) -> bool {
        self.mu.is_some()
    }

    /// The epsilon of an answer with pure noise.
    pub fn pure(&self) -> f64 {
        match self.mu {
            Some(mu) => gdp::eps_of_half_square(mu * mu / 2.0),
            None => self.epsilon,
        }
    }

    /// The epsilon and the mechanism that answer an aggregate: Gaussian noise where it has such a mechanism, and there
    /// is a budget for it; else its default.
    pub fn buys(&self, aggregate: &str) -> (Option<f64>, Option<String>) {
        match self.mu.and_then(|mu| registry::for_mu(aggregate, mu)) {
            Some(mechanism) => (None, Some(mechanism)),
            None => (Some(self.pure()), None),
        }
    }
}
