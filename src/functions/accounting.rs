//! Conversions between budgets, for planning: they look at no data.

use dp_core::error::ParameterError;
use dp_core::privacy::{accounting, zcdp};
use pgrx::prelude::*;

use crate::pg::errors;

/// A budget, or the ERROR that says what is wrong with an argument of `function`.
fn answer(function: &str, result: Result<f64, ParameterError>) -> f64 {
    result.unwrap_or_else(|error| errors::parameter(function, &error).raise())
}

#[pg_extern(sql = false)]
fn dp_mu(eps: f64, delta: f64) -> f64 {
    answer("dp_mu", accounting::mu(eps, delta))
}

#[pg_extern(sql = false)]
fn dp_delta(eps: f64, mu: f64) -> f64 {
    answer("dp_delta", accounting::delta(eps, mu))
}

#[pg_extern(sql = false)]
fn dp_eps(delta: f64, mu: f64) -> f64 {
    answer("dp_eps", accounting::epsilon(delta, mu))
}

#[pg_extern(sql = false)]
fn dp_rho_of_mu(mu: f64) -> f64 {
    answer("dp_rho_of_mu", accounting::rho_of_mu(mu))
}

#[pg_extern(sql = false)]
fn dp_mu_of_rho(rho: f64) -> f64 {
    answer("dp_mu_of_rho", accounting::mu_of_rho(rho))
}

#[pg_extern(sql = false)]
fn dp_rdp_of_mu(mu: f64, alpha: f64) -> f64 {
    answer("dp_rdp_of_mu", accounting::rdp_of_mu(mu, alpha))
}

#[pg_extern(sql = false)]
fn dp_rho_of_eps(eps: f64) -> f64 {
    answer("dp_rho_of_eps", zcdp::rho_of_eps(eps))
}

#[pg_extern(sql = false)]
fn dp_eps_of_rho(rho: f64, delta: f64) -> f64 {
    answer("dp_eps_of_rho", zcdp::eps_of_rho(rho, delta))
}
