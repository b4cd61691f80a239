//! Zero-concentrated differential privacy: what `rho` a pure guarantee is, and what (eps, delta) a
//! `rho` is.
//!
//! More of it: docs/proofs/cost.md.
//!
//! All numbers here are plain and without unit, and every function returns a bound on the private
//! side: what is spent is rounded up, what may be spent is rounded down.
//!
//! ```
//! use dp_core::privacy::zcdp::{eps_of_rho, rho_of_eps};
//!
//! // 37 answers at eps 0.1 each are one of (3, 1e-6).
//! let rho = 37.0 * rho_of_eps(0.1)?;
//! assert!(eps_of_rho(rho, 1e-6)? <= 3.0);
//! # Ok::<(), dp_core::error::ParameterError>(())
//! ```

use crate::error::ParameterError;
use crate::privacy::accounting::{check_delta, check_positive};

/// More than the roundings of a dozen operations and of the mathematical library: relative to the
/// sum of the terms' sizes.
const ROUNDING: f64 = 1.0 / (1u64 << 44) as f64;

const EPS_HINT: &str = "Smaller is more private and noisier; 0.1 to 4 is usual.";
const RHO_HINT: &str = "Smaller is more private and noisier; 0.001 to 1 is usual.";

/// The smallest `rho` such that every `eps`-differentially private mechanism is `rho`-zCDP:
/// `eps tanh(eps / 2)`, rounded up.
///
/// Guarantee: at least the exact value, by a relative 2^-43 at most. It is the exact cost of
/// randomised response, and so of a mechanism whose privacy loss is always `eps` or `-eps`.
///
/// Source: the loss of any `eps`-differentially private mechanism is that of a post-processing of
/// randomised response (Kairouz, Oh, Viswanath 2015, The composition theorem for differential
/// privacy); docs/proofs/cost.md has its Rényi divergences.
///
/// # Errors
/// `eps` not finite or not above 0, or so large that `rho` is too large for a `float8`.
pub fn rho_of_eps(eps: f64) -> Result<f64, ParameterError> {
    check_positive("eps", eps, EPS_HINT)?;
    finite("eps", pure(eps), EPS_HINT)
}

/// A result, if it is a `float8`.
fn finite(argument: &'static str, result: f64, hint: &'static str) -> Result<f64, ParameterError> {
    if result.is_finite() {
        return Ok(result);
    }
    Err(ParameterError::new(
        argument,
        "is too large: what it converts to must be finite",
        hint,
    ))
}

/// [`rho_of_eps`] of an epsilon that is in order; 0 for none.
pub(crate) fn pure(eps: f64) -> f64 {
    if eps == 0.0 {
        return 0.0;
    }
    up(eps * (eps / 2.0).tanh())
}

/// The `rho` of choices that share `eps`, each with losses that range over its share: `eps^2 / 8` times the sum of the
/// squares of the shares, rounded up.
///
/// Source: Cesar, Rogers 2021, Bounding, concentrating, and truncating: unifying privacy loss composition for data
/// analytics; docs/proofs/cost.md has the proof.
pub(crate) fn bounded_range(eps: f64, squares: f64) -> f64 {
    if eps == 0.0 {
        return 0.0;
    }
    up(eps * eps / 8.0 * squares)
}

/// The `rho` of Laplace noise of scale `1 / eps` units, continuous or on a grid of `steps` in a unit:
/// `eps + e^-eps - 1`, and what the grid adds, rounded up.
///
/// For discrete noise the exact value is `eps - (u / sinh u) (1 - e^-eps)` with `u = eps / steps`, and
/// `u / sinh u` is at least `1 - u^2 / 6`.
pub(crate) fn laplace(eps: f64, steps: f64) -> f64 {
    if eps == 0.0 {
        return 0.0;
    }
    let noise = if eps < 0.125 {
        // The series alternates and its terms fall: it is below each sum that ends with a term above 0.
        let mut sum = 0.0;
        for k in (2..=8).rev() {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum = (sum * eps) + sign / factorial(k);
        }
        sum * eps * eps
    } else {
        eps + (-eps).exp_m1()
    };
    let u = eps / steps;
    // No more than the generic bound: beyond it the grid is too coarse for this form.
    up(noise + u * u / 6.0 * eps.min(1.0)).min(pure(eps))
}

fn factorial(k: u32) -> f64 {
    (1..=k).map(f64::from).product()
}

/// A positive number, made larger by more than roundings could have made it smaller; never 0.
fn up(value: f64) -> f64 {
    (value * (1.0 + 2.0 * ROUNDING)).max(f64::from_bits(1))
}

/// The smallest epsilon, at least 0, that is known to follow with this `delta` from `rho`-zCDP, rounded
/// up: the least over `alpha > 1` of
///
/// ```text
/// alpha rho + ln(1 / (alpha delta)) / (alpha - 1) + ln(1 - 1 / alpha)
/// ```
///
/// Guarantee: (eps, delta)-differential privacy, for every `rho`-zCDP mechanism: each alpha gives a
/// bound that holds, and the one returned is rounded up. It is within a relative 1e-9 of the least.
///
/// Source: Canonne, Kamath, Steinke 2020, The discrete Gaussian for differential privacy, section 2.3;
/// derived in docs/proofs/cost.md.
///
/// # Errors
/// `rho` not finite or not above 0, or so large that eps is too large for a `float8`; `delta` not above
/// 0 and below 1.
pub fn eps_of_rho(rho: f64, delta: f64) -> Result<f64, ParameterError> {
    check_positive("rho", rho, RHO_HINT)?;
    check_delta(delta)?;
    finite("rho", epsilon(rho, delta), RHO_HINT)
}

fn epsilon(rho: f64, delta: f64) -> f64 {
    // Below it the terms leave the range of floats; what holds of a larger rho holds of a smaller one.
    let rho = rho.max(1e-200);
    let log = -delta.ln();
    // Of x = alpha - 1, by its logarithm.
    let bound = |log_x: f64| {
        let x = log_x.exp();
        let terms = [rho * (1.0 + x), (log - x.ln_1p()) / x, -(1.0 / x).ln_1p()];
        let sizes: f64 = terms.iter().map(|term| term.abs()).sum();
        terms.iter().sum::<f64>() + sizes * ROUNDING
    };
    // About where the first two terms balance.
    let middle = (log / rho).ln() / 2.0;
    let (mut low, mut high) = (middle - 8.0, middle + 8.0);
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (bound(a), bound(b));
    for _ in 0..60 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = bound(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = bound(b);
        }
    }
    at_a.min(at_b).max(0.0)
}

/// The largest `rho`, up to `2 eps + 64`, that is known to be within (eps, delta): with it [`eps_of_rho`] is at most
/// `eps`.
///
/// # Errors
/// `eps` not finite or not above 0; `delta` not above 0 and below 1.
pub fn rho_within(eps: f64, delta: f64) -> Result<f64, ParameterError> {
    check_positive("eps", eps, EPS_HINT)?;
    check_delta(delta)?;
    // Bit patterns are in the order of the numbers. Far above eps there is none but at deltas near 1.
    let (mut yes, mut no) = (0u64, (2.0 * eps + 64.0).to_bits());
    while no - yes > 1 {
        let middle = yes.midpoint(no);
        if epsilon(f64::from_bits(middle), delta) <= eps {
            yes = middle;
        } else {
            no = middle;
        }
    }
    if yes == 0 {
        return Err(ParameterError::new(
            "eps",
            "is too small: with this delta no rho is within it",
            "Take a larger eps, or a larger delta.",
        ));
    }
    Ok(f64::from_bits(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [f64; 12] = [
        1.0, 1.000_01, 1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0,
    ];

    /// The Rényi divergence of order `alpha` between two distributions, given as pairs of logarithms.
    fn renyi(alpha: f64, points: &[(f64, f64)]) -> f64 {
        if alpha == 1.0 {
            return points.iter().map(|(p, q)| p.exp() * (p - q)).sum();
        }
        let power = |(p, q): &(f64, f64)| alpha * p - (alpha - 1.0) * q;
        let most = points.iter().map(power).fold(f64::MIN, f64::max);
        let sum: f64 = points.iter().map(|point| (power(point) - most).exp()).sum();
        (most + sum.ln()) / (alpha - 1.0)
    }

    /// The smallest rho that these orders allow.
    fn least_rho(divergence: impl Fn(f64) -> f64) -> f64 {
        let rhos = ORDERS.map(|alpha| divergence(alpha) / alpha);
        rhos.into_iter().fold(0.0, f64::max)
    }

    /// Discrete Laplace noise of scale `steps / eps` against itself moved by `shift`.
    fn moved(eps: f64, steps: i64, shift: i64) -> Vec<(f64, f64)> {
        let u = eps / steps as f64;
        let reach = (60.0 / u) as i64;
        let log = |x: i64| (u / 2.0).tanh().ln() - u * x.abs() as f64;
        (-reach..=reach).map(|x| (log(x), log(x - shift))).collect()
    }

    #[test]
    fn pure_is_the_rho_of_randomised_response() {
        for eps in [0.01_f64, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0] {
            let (yes, no) = (-(-eps).exp().ln_1p(), -eps - (-eps).exp().ln_1p());
            let least = least_rho(|alpha| renyi(alpha, &[(yes, no), (no, yes)]));
            let rho = rho_of_eps(eps).unwrap();
            assert!(least <= rho * (1.0 + 1e-9), "{eps}: {least} {rho}");
            assert!(least >= rho * (1.0 - 1e-9), "{eps}: {least} {rho}");
        }
    }

    #[test]
    fn laplace_covers_every_move_on_every_grid() {
        for eps in [0.1, 0.5, 1.0, 3.0] {
            for steps in [1, 2, 5, 40] {
                let rho = laplace(eps, steps as f64);
                for shift in 1..=steps {
                    let one = |alpha| renyi(alpha, &moved(eps, steps, shift));
                    let other = |alpha| match steps - shift {
                        0 => 0.0,
                        rest => renyi(alpha, &moved(eps, steps, rest)),
                    };
                    let pair = least_rho(|alpha| one(alpha) + other(alpha));
                    assert!(
                        pair <= rho * (1.0 + 1e-9),
                        "{eps} {steps} {shift}: {pair} {rho}"
                    );
                    if steps == 40 && shift == steps {
                        assert!(pair >= rho * 0.999, "{eps}: {pair} leaves some of {rho}");
                    }
                }
            }
        }
    }

    #[test]
    fn laplace_is_rounded_up_where_terms_cancel() {
        // eps^2 / 2 - eps^3 / 6 to the digits that there are.
        for eps in [1e-7, 1e-4, 1e-2] {
            let rho = laplace(eps, 1e12);
            let exact = eps * eps / 2.0 - eps.powi(3) / 6.0 + eps.powi(4) / 24.0;
            assert!(
                rho >= exact * (1.0 - eps.powi(3)) && rho <= exact * (1.0 + 1e-9),
                "{eps}"
            );
        }
        // Where the two ways to compute it meet: the first term left out is 2.6e-12 of the sum.
        let (below, above) = (laplace(0.125_f64.next_down(), 1e12), laplace(0.125, 1e12));
        assert!((above / below - 1.0).abs() < 3e-12, "{below} {above}");
    }

    #[test]
    fn known_values_of_rho_and_epsilon() {
        for (rho, expected) in [
            (rho_of_eps(0.1).unwrap(), 0.004_995_8),
            (rho_of_eps(1.0).unwrap(), 0.462_12),
            (laplace(0.1, 4e9), 0.004_837_4),
            (laplace(1.0, 4e9), 0.367_88),
            (rho_within(3.0, 1e-6).unwrap(), 0.185_07),
        ] {
            assert!((rho / expected - 1.0).abs() < 2e-5, "{rho} {expected}");
        }
    }

    #[test]
    fn epsilon_is_the_least_over_all_orders() {
        for rho in [1e-12, 1e-6, 1e-3, 0.1, 1.0, 50.0, 1e6] {
            for delta in [1e-300, 1e-12, 1e-6, 1e-2, 0.5, 0.999] {
                let found = epsilon(rho, delta);
                let least = (0..200_000)
                    .map(|i| (f64::from(i) * 5e-4 - 50.0).exp())
                    .map(|x: f64| {
                        rho * (1.0 + x) + (-delta.ln() - x.ln_1p()) / x - (1.0 / x).ln_1p()
                    })
                    .fold(f64::INFINITY, f64::min)
                    .max(0.0);
                let slack = 1e-6 * least + 1e-12;
                assert!(
                    (found - least).abs() <= slack,
                    "{rho} {delta}: {found} {least}"
                );
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_have_an_answer_or_an_error() {
        for end in [5e-324, 1e-200, 1e-100, 1e100, 1e300, f64::MAX] {
            assert!(
                rho_of_eps(end).is_ok_and(f64::is_finite) || end == f64::MAX,
                "{end}"
            );
            for delta in [5e-324, 1e-6, 1.0f64.next_down()] {
                let eps = eps_of_rho(end, delta);
                let is_answer = |eps: f64| eps.is_finite() && eps >= 0.0;
                assert!(eps.is_ok_and(is_answer) || end == f64::MAX, "{end} {delta}");
            }
        }
        assert_eq!(rho_of_eps(f64::MAX).unwrap_err().argument, "eps");
    }

    #[test]
    fn what_is_within_a_budget_is_within_it() {
        for eps in [0.01, 0.1, 1.0, 3.0, 10.0] {
            for delta in [1e-12, 1e-6, 1e-2] {
                let rho = rho_within(eps, delta).unwrap();
                assert!(epsilon(rho, delta) <= eps);
                assert!(epsilon(rho * (1.0 + 1e-9), delta) > eps * (1.0 - 1e-9));
            }
        }
    }

    #[test]
    fn the_bound_holds_for_gaussian_noise() {
        // The exact delta of mu-GDP is never above what its rho gives.
        for mu in [0.01, 0.1, 0.5, 1.0, 3.0] {
            for delta in [1e-9, 1e-6, 1e-3] {
                let rho = crate::privacy::accounting::rho_of_mu(mu).unwrap();
                let eps = eps_of_rho(rho, delta).unwrap();
                assert!(eps >= crate::privacy::accounting::epsilon(delta, mu).unwrap());
            }
        }
    }
}
