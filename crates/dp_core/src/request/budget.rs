//! What one release of a Gaussian mechanism may spend.

use crate::error::ParameterError;
use crate::privacy::accounting;
use crate::privacy::cost::{Cost, Loss};
use crate::request::checked::{CallEpsilon, Request};
use crate::request::choice::Choice;
use crate::request::parameter::{Parameter, ParameterKind};
use crate::request::ranks::{asked, squares, with_interval};

/// The parameter `delta`.
pub(crate) const DELTA: Parameter = Parameter {
    name: "delta",
    kind: ParameterKind::Number,
    domain: "0 < delta < 1",
    description: "the budget is (eps, delta), with the eps of the call",
};

/// The parameter `mu`.
pub(crate) const MU: Parameter = Parameter {
    name: "mu",
    kind: ParameterKind::Number,
    domain: "1e-9 <= mu <= 1000",
    description: "the budget is mu (Gaussian differential privacy); the eps of the call is NULL",
};

/// The parameter `rho`.
pub(crate) const RHO: Parameter = Parameter {
    name: "rho",
    kind: ParameterKind::Number,
    domain: "1e-18 <= rho <= 500000",
    description: "the budget is rho (zero-concentrated differential privacy); the eps of the call \
                  is NULL",
};

const HINT: &str = "Give one of them: delta= to spend (eps, delta), or mu= or rho= with NULL for \
                    eps, as in gaussian(delta=1e-6).";

/// Whether the parameters say what may be spent without the call's eps.
pub(crate) fn replaces_epsilon(choice: &Choice) -> bool {
    [MU, RHO].iter().any(|own| choice.get(own.name).is_some())
}

/// The error for an eps beside another budget.
pub(crate) fn epsilon_besides() -> ParameterError {
    ParameterError::new(
        "eps",
        "must be NULL where the mechanism gives mu or rho",
        "The parameter mu or rho is the whole budget: write NULL for eps, or delta= to use eps.",
    )
}

impl Request<'_> {
    /// What the call may spend on a person in all, as the `mu` of Gaussian differential privacy, rounded
    /// down.
    fn call_mu(&self) -> Result<f64, ParameterError> {
        let [delta, mu, rho] = [DELTA, MU, RHO].map(|parameter| self.choice.get(parameter.name));
        match (delta, mu, rho) {
            (Some(delta), None, None) => {
                if !(delta > 0.0 && delta < 1.0) {
                    return Err(outside(&DELTA));
                }
                let epsilon = self.call_epsilon.map_or(0.0, |epsilon| epsilon.value());
                accounting::mu(epsilon, delta)
            }
            (None, Some(mu), None) if (1e-9..=1e3).contains(&mu) => Ok(mu),
            (None, Some(_), None) => Err(outside(&MU)),
            (None, None, Some(rho)) if (1e-18..=5e5).contains(&rho) => accounting::mu_of_rho(rho),
            (None, None, Some(_)) => Err(outside(&RHO)),
            (None, None, None) => Err(unclear("gives none of delta, mu and rho")),
            _ => Err(unclear("gives more than one of delta, mu and rho")),
        }
    }

    /// What a mechanism may spend on one row in one group, as `mu`, rounded down.
    pub(crate) fn row_mu(&self) -> Result<f64, ParameterError> {
        Ok(self.share_of_mu(self.call_mu()?)? * self.overspent.factor())
    }

    /// What a release costs a person in all, with a mechanism of this loss.
    pub(crate) fn cost(&self, loss: Loss) -> Result<Cost, ParameterError> {
        let epsilon = self.call_epsilon.map(CallEpsilon::asked);
        let delta = self.choice.get(DELTA.name);
        if loss == Loss::Gaussian {
            return Cost::of_mu(self.call_mu()?, epsilon.zip(delta));
        }
        if matches!(loss, Loss::BoundedRange | Loss::CountsAndRange)
            && let Some(rho) = self.choice.get(RHO.name)
        {
            return Ok(Cost::of_choices(rho));
        }
        let epsilon = CallEpsilon::new(epsilon)?.asked();
        let delta = match (loss, self.call_delta, delta) {
            (Loss::Approximate, Some(delta), _) => delta.of_person().value(),
            (Loss::Approximate, None, Some(delta)) => delta,
            _ => 0.0,
        };
        let squares = match loss {
            Loss::CountsAndRange => with_interval::SQUARES,
            _ => squares(asked(self.ranks)?.len()),
        };
        let groups = self.unit()?.groups;
        Ok(Cost::of_epsilon(loss, epsilon, delta, squares, groups))
    }
}

fn unclear(message: &str) -> ParameterError {
    ParameterError::new("mech", message, HINT)
}

/// The error for a parameter with a value outside its domain.
pub(crate) fn outside(parameter: &Parameter) -> ParameterError {
    ParameterError::new(
        "mech",
        format!(
            "gives the parameter {} a value outside its range",
            parameter.name
        ),
        format!("The parameter {}: {}.", parameter.name, parameter.domain),
    )
}
