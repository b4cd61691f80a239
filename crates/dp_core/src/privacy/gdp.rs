//! Gaussian differential privacy of releases that have no Gaussian noise: which `mu` covers them.
//!
//! More of it: docs/proofs/cost.md.
//!
//! Budgets add up `mu^2 / 2`, so that is what these functions return, rounded up. Of Gaussian noise it is the `rho` of
//! zero-concentrated differential privacy, too; of all others it is more.
//!
//! ```
//! use dp_core::privacy::gdp::half_square_of_eps;
//!
//! // A release of pure differential privacy at 0.1 is covered by Gaussian noise of standard deviation 8 on a count.
//! let mu = (2.0 * half_square_of_eps(0.1)?).sqrt();
//! assert!((1.0 / mu - 7.98).abs() < 0.01);
//! # Ok::<(), dp_core::error::ParameterError>(())
//! ```

use crate::error::ParameterError;
use crate::privacy::accounting::{check_positive, mills, normal_cdf};

/// More than the relative error of a tail of the normal distribution, and of the logistic function beside it.
const ROUNDING: f64 = 1.0 / (1u64 << 40) as f64;

/// Beyond it the logistic function has no digits left: nothing is known of `mu`.
const LARGEST_EPS: f64 = 600.0;

/// Below it the tangent is as near as the digits of a tail of nearly one half.
const SMALLEST_EPS: f64 = 1.0 / (1u64 << 10) as f64;

/// `mu^2 / 2` of the smallest `mu` such that every `eps`-differentially private mechanism is `mu`-GDP, rounded up.
///
/// `mu = 2 Phi^-1(e^eps / (1 + e^eps))`. Guarantee: at least the exact value, by a relative 2^-20 at most.
///
/// Source: Dong, Roth, Su 2022, Gaussian differential privacy; docs/proofs/cost.md has the proof.
///
/// # Errors
/// `eps` not finite or not above 0, or above 600.
pub fn half_square_of_eps(eps: f64) -> Result<f64, ParameterError> {
    const HINT: &str = "Smaller is more private and noisier; 0.1 to 4 is usual.";
    check_positive("eps", eps, HINT)?;
    if eps > LARGEST_EPS {
        return Err(ParameterError::new("eps", "must be at most 600", HINT));
    }
    Ok(pure(eps))
}

/// [`half_square_of_eps`] of an epsilon that is in order; 0 for none, and infinite for one that is too large.
pub(crate) fn pure(eps: f64) -> f64 {
    if eps > LARGEST_EPS {
        return f64::INFINITY;
    }
    // The quantile is concave in eps: it is below its tangent at 0.
    let tangent = std::f64::consts::PI / 4.0 * eps * eps;
    if eps < SMALLEST_EPS {
        return up(tangent);
    }
    let half = quantile_of_logistic(eps);
    up((2.0 * half * half).min(tangent))
}

/// An upper bound of `Phi^-1(e^eps / (1 + e^eps))`, which is half of `mu`.
fn quantile_of_logistic(eps: f64) -> f64 {
    let tail = (-eps).exp() / (1.0 + (-eps).exp());
    let log = tail.ln();
    // The logarithm of the tail is concave: each step of Newton's method ends at or below the solution, but for
    // roundings.
    let mut x = eps.min((2.0 * eps).sqrt());
    for _ in 0..40 {
        let step = (normal_cdf(-x).ln() - log) * mills(x);
        x += step;
        if step.abs() <= x * ROUNDING {
            break;
        }
    }
    let mut margin = ROUNDING;
    let is_enough = |x: f64| normal_cdf(-x) * (1.0 + ROUNDING) <= tail * (1.0 - ROUNDING);
    while !is_enough(x * (1.0 + margin)) {
        margin *= 2.0;
    }
    x * (1.0 + margin)
}

/// `mu^2 / 2` of choices that share `eps`, each with losses that range over its share: `pi eps^2 / 16` times the sum of
/// the squares of the shares, rounded up.
///
/// Source: docs/proofs/cost.md.
pub(crate) fn bounded_range(eps: f64, squares: f64) -> f64 {
    up(std::f64::consts::PI / 16.0 * eps * eps * squares)
}

/// As above, for choices that are `rho`-zCDP by the sum of the squares of their ranges.
pub(crate) fn bounded_range_of_rho(rho: f64) -> f64 {
    up(std::f64::consts::FRAC_PI_2 * rho)
}

/// The `rho` of choices whose `mu^2 / 2` is at most this, rounded down.
pub fn rho_of_half_square(half_square: f64) -> f64 {
    half_square * std::f64::consts::FRAC_2_PI * (1.0 - 4.0 * ROUNDING)
}

/// The largest epsilon of a pure release whose `mu^2 / 2` is at most this, rounded down; at least that of the tangent.
pub fn eps_of_half_square(half_square: f64) -> f64 {
    let mu = (2.0 * half_square).sqrt();
    let tail = normal_cdf(-mu / 2.0);
    let exact = ((1.0 - tail) / tail).ln().min(LARGEST_EPS);
    let mut eps = exact * (1.0 - ROUNDING);
    while eps > 0.0 && pure(eps) > half_square {
        eps *= 1.0 - 64.0 * ROUNDING;
    }
    eps
}

/// A number, made larger by more than roundings could have made it smaller.
fn up(value: f64) -> f64 {
    value * (1.0 + ROUNDING / 256.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The `mu` of a pair of distributions on two outcomes: of the first one's probabilities `p` and `q`.
    fn mu_of_two(p: f64, q: f64) -> f64 {
        let quantile = |p: f64| {
            let (mut low, mut high) = (-40.0, 40.0);
            for _ in 0..200 {
                let middle = 0.5 * (low + high);
                if normal_cdf(middle) < p {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            low
        };
        quantile(p) - quantile(q)
    }

    #[test]
    fn pure_is_the_mu_of_randomised_response() {
        for eps in [1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 20.0] {
            let truth = 1.0 / (1.0 + f64::exp(-eps));
            let mu = (2.0 * pure(eps)).sqrt();
            if eps >= 1e-3 {
                let exact = mu_of_two(truth, 1.0 - truth);
                assert!(mu >= exact * (1.0 - 1e-10), "{eps}: {mu} {exact}");
                assert!(mu <= exact * (1.0 + 1e-6), "{eps}: {mu} {exact}");
            }
            assert!(mu <= (std::f64::consts::PI / 2.0).sqrt() * eps * (1.0 + 1e-9));
            assert!(mu >= (std::f64::consts::PI / 2.0).sqrt() * eps * 0.5 || eps > 1.0);
        }
        for eps in [50.0, 300.0, 600.0] {
            // The tail is about exp(-x^2 / 2).
            let mu = (2.0 * pure(eps)).sqrt();
            let about = 2.0 * (2.0 * eps).sqrt();
            assert!(mu < about && mu > 0.9 * about, "{eps}: {mu}");
        }
        assert_eq!(pure(0.0), 0.0);
        assert_eq!(pure(601.0), f64::INFINITY);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 601.0] {
            assert_eq!(half_square_of_eps(bad).unwrap_err().argument, "eps");
        }
    }

    /// Pairs with losses in any interval of the length are at most the one in the middle, and below the tangent.
    #[test]
    fn bounded_range_covers_every_place_of_the_interval() {
        for eps in [0.01, 0.3, 1.0, 4.0, 12.0] {
            let mut worst = 0.0;
            for i in 1..400 {
                let loss = eps * f64::from(i) / 400.0;
                let q = -f64::exp_m1(loss - eps) / (loss.exp() - f64::exp(loss - eps));
                worst = f64::max(worst, mu_of_two(loss.exp() * q, q));
            }
            let middle = 1.0 / (1.0 + f64::exp(-eps / 2.0));
            let middle = mu_of_two(middle, 1.0 - middle);
            assert!(worst <= middle * (1.0 + 1e-9), "{eps}: {worst} {middle}");
            let mu = (2.0 * bounded_range(eps, 1.0)).sqrt();
            assert!(worst <= mu, "{eps}: {worst} {mu}");
            assert!(eps > 1.0 || worst > 0.95 * mu, "{eps}: {worst} {mu}");
        }
    }

    #[test]
    fn a_share_of_a_budget_buys_at_most_what_it_costs() {
        for half_square in [1e-15, 1e-9, 1e-4, 0.0066, 0.2, 1.6, 40.0] {
            let eps = eps_of_half_square(half_square);
            assert!(pure(eps) <= half_square, "{half_square}: {eps}");
            assert!(
                pure(eps * (1.0 + 1e-6) + 1e-15) >= half_square * (1.0 - 1e-5),
                "{half_square}: {eps}"
            );
            let rho = rho_of_half_square(half_square);
            assert!(bounded_range_of_rho(rho) <= half_square, "{half_square}");
            assert!(bounded_range_of_rho(rho) >= half_square * (1.0 - 1e-9));
        }
    }
}
