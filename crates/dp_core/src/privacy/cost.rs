//! What a release costs a person: all of its answers, with rows and groups of a person counted in.
//!
//! More of it: docs/proofs/cost.md.

use crate::error::ParameterError;
use crate::privacy::{accounting, gdp, zcdp};

/// What a release costs a person, in the currencies that budgets are kept in. Every number is rounded up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Epsilon, as it was asked for; `None` where the mechanism has a budget of its own.
    pub epsilon: Option<f64>,
    /// The delta beside epsilon, 0 of pure differential privacy; `None` where there is no epsilon.
    pub delta: Option<f64>,
    /// `rho` of zero-concentrated differential privacy, but for `failure`.
    pub rho: f64,
    /// `mu^2 / 2` of Gaussian differential privacy, but for `failure`: the least that is known.
    pub half_square: f64,
    /// The probability that neither of the two covers (`delta`-approximate zCDP); mostly 0.
    pub failure: f64,
    /// `mu` of Gaussian differential privacy, of Gaussian mechanisms.
    pub mu: Option<f64>,
}

/// What bounds the privacy loss of a mechanism, and so its cost beyond what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Nothing is known but that it is at most epsilon.
    Pure,
    /// Laplace noise of scale `sensitivity / epsilon`, on a grid of at least that many steps in a unit of
    /// sensitivity; on several numbers, the distances add up to one unit.
    Laplace {
        /// Grid steps.
        steps: u64,
    },
    /// The same twice, each at half of epsilon.
    TwoLaplaces {
        /// Grid steps.
        steps: u64,
    },
    /// Differences of losses are at most epsilon, at each of the choices that a row takes part in, which share epsilon.
    BoundedRange,
    /// As above, for a release that counts rows, too: by shares of its own.
    CountsAndRange,
    /// At most epsilon, but with probability delta.
    Approximate,
    /// That of Gaussian noise.
    Gaussian,
}

impl Loss {
    /// How the cost follows, in words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Pure => "eps; rho = eps tanh(eps / 2)",
            Self::Laplace { .. } => "eps; rho = eps + exp(-eps) - 1",
            Self::TwoLaplaces { .. } => "eps; rho = eps + 2 exp(-eps / 2) - 2",
            Self::BoundedRange => "eps; rho = eps^2 / 8, and less for several quantiles",
            Self::CountsAndRange => "eps; rho = 0.426 eps^2 / 8",
            Self::Approximate => "eps, delta; rho = eps tanh(eps / 2), but with probability delta",
            Self::Gaussian => "mu, or the largest mu within (eps, delta); rho = mu^2 / 2",
        }
    }

    /// The `rho` of a release that spends `epsilon` on a person's groups together; `squares` as in
    /// [`Cost::of_epsilon`].
    fn rho(self, epsilon: f64, squares: f64, groups: u32) -> f64 {
        let groups = f64::from(groups);
        // Rounded up, as every share is at most.
        let each = (epsilon / groups).next_up();
        let one = match self {
            Self::Pure | Self::Approximate => zcdp::pure(each),
            Self::BoundedRange | Self::CountsAndRange => zcdp::bounded_range(each, squares),
            Self::Laplace { steps } => zcdp::laplace(each, steps as f64),
            Self::TwoLaplaces { steps } => {
                2.0 * zcdp::laplace((each / 2.0).next_up(), steps as f64)
            }
            Self::Gaussian => unreachable!("a Gaussian mechanism has a mu"),
        };
        (one * groups).next_up()
    }

    /// The same in `mu^2 / 2` of Gaussian differential privacy.
    fn half_square(self, epsilon: f64, squares: f64, groups: u32) -> f64 {
        let groups = f64::from(groups);
        let each = (epsilon / groups).next_up();
        let one = match self {
            Self::Pure | Self::Approximate | Self::Laplace { .. } => gdp::pure(each),
            Self::BoundedRange | Self::CountsAndRange => {
                gdp::bounded_range(each, squares).min(gdp::pure(each))
            }
            Self::TwoLaplaces { .. } => 2.0 * gdp::pure((each / 2.0).next_up()),
            Self::Gaussian => unreachable!("a Gaussian mechanism has a mu"),
        };
        (one * groups).next_up()
    }
}

impl Cost {
    /// Of a mechanism that spends `epsilon` in all, and `delta` where its loss is approximate, on a number of groups
    /// of a person. `squares` is the sum of the squares of the shares of epsilon that choices have, of a
    /// mechanism that makes some.
    pub(crate) fn of_epsilon(
        loss: Loss,
        epsilon: f64,
        delta: f64,
        squares: f64,
        groups: u32,
    ) -> Self {
        Self {
            epsilon: Some(epsilon),
            delta: Some(delta),
            rho: loss.rho(epsilon, squares, groups),
            half_square: loss.half_square(epsilon, squares, groups),
            failure: delta,
            mu: None,
        }
    }

    /// Of choices that spend `rho` in all, by the sum of the squares of their ranges, and have no other budget.
    pub(crate) fn of_choices(rho: f64) -> Self {
        Self {
            epsilon: None,
            delta: None,
            rho,
            half_square: gdp::bounded_range_of_rho(rho),
            failure: 0.0,
            mu: None,
        }
    }

    /// Of a Gaussian mechanism that spends `mu` on a person in all; `asked` is the (eps, delta) that it was
    /// made from, if it was.
    ///
    /// # Errors
    /// A `mu` too large for its `rho` to be finite.
    pub(crate) fn of_mu(mu: f64, asked: Option<(f64, f64)>) -> Result<Self, ParameterError> {
        let rho = accounting::rho_of_mu(mu)?;
        Ok(Self {
            epsilon: asked.map(|(epsilon, _)| epsilon),
            delta: asked.map(|(_, delta)| delta),
            rho,
            half_square: rho,
            failure: 0.0,
            mu: Some(mu),
        })
    }
}
