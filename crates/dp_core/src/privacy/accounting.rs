//! What Gaussian noise costs: between `mu` of Gaussian differential privacy, (eps, delta), zCDP
//! and Rényi differential privacy.
//!
//! More of it: docs/proofs/accounting.md.
//!
//! Noise of standard deviation `sensitivity / mu` is `mu`-GDP (Dong, Roth and Su 2022, Theorem
//! 1), and `mu`-GDP implies (eps, delta)-differential privacy just where
//!
//! ```text
//! delta >= Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)
//! ```
//!
//! (Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 1). All numbers here are
//! plain and without unit. Every function returns a bound on the private side: a `mu`, which is
//! what a mechanism may spend, is rounded down; what it costs is rounded up.
//!
//! The two terms of that difference may agree to nine digits and more, so it is never formed.
//! With `a = eps/mu - mu/2`, `phi` the normal density and `R` the Mills ratio,
//!
//! ```text
//! delta     = phi(a) integral from 0 to infinity of exp(-a t - t^2/2) (1 - exp(-mu t)) dt
//! 1 - delta = phi(a) (R(-a) + R(a + mu)),    R(x) = integral of exp(-x t - t^2/2) dt
//! ```
//!
//! where nothing cancels: the first is used for `a >= -1`, the second below.
//!
//! ```
//! use dp_core::privacy::accounting::{delta, mu};
//!
//! let budget = mu(1.0, 1e-6)?;
//! assert!((budget - 0.236704381).abs() < 1e-9);
//! assert!(delta(1.0, budget)? <= 1e-6);
//! # Ok::<(), dp_core::error::ParameterError>(())
//! ```

use std::sync::LazyLock;

use crate::error::ParameterError;

/// The relative error allowed to a computed delta, or to `1 - delta` where `a < -1`: 2^-44, about
/// 5.7e-14. Every bound takes the private end of it.
///
/// Against references of 75 digits the error was at most 1.5e-15 at a million points (epsilon
/// up to 5e11, `mu` from 1e-12 to 1e6, `a` from -9 to 38): this is over thirty times as much. The
/// difference between two libraries' `exp` is of the order of 1e-16.
pub const RELATIVE_ERROR: f64 = 1.0 / (1u64 << 44) as f64;

/// Deltas are held times 2^200, which makes the smallest subnormal a normal number.
const LIFT: f64 = power_of_two(200);

/// Below it, delta is linear in `mu` at a given `eps / mu`, to far beyond the last digit.
const TINY_MU: f64 = power_of_two(-500);

/// A greater epsilon counts as this one, which costs some use and no privacy: up to here a pair
/// of doubles holds `a` to within 2^-64.
const LARGEST_EPS: f64 = power_of_two(80);

/// At every epsilon up to [`LARGEST_EPS`], delta rounds to 1 at this `mu`.
const LARGEST_MU: f64 = power_of_two(41);

/// `1 / sqrt(2 pi)`, the normal density at 0.
pub(crate) const PEAK: f64 =
    std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2 / 2.0;

const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// The largest `mu` such that `mu`-GDP implies (eps, delta)-differential privacy, rounded down.
///
/// Guarantee: [`delta`] at the returned `mu` is at most the given delta. The relative error is
/// at most 2 [`RELATIVE_ERROR`], about 1.2e-13, up to an epsilon of 2^80; a greater one counts
/// as 2^80. Never 0. Grows with delta, and with epsilon but for that error.
///
/// Source: Balle and Wang 2018, Theorem 8.
///
/// # Errors
/// `eps` not finite or negative; `delta` not above 0 and below 1.
pub fn mu(eps: f64, delta: f64) -> Result<f64, ParameterError> {
    check_eps(eps)?;
    check_delta(delta)?;
    Ok(bisect(0.0, LARGEST_MU, |mu| is_private(eps, delta, mu)))
}

/// The smallest delta such that `mu`-GDP implies (eps, delta)-differential privacy, rounded up;
/// at most 1.
///
/// Guarantee: at least the exact value. The relative error is at most 2 [`RELATIVE_ERROR`], and
/// one unit in the last place where delta is subnormal. Falls with epsilon and grows with `mu`
/// but for that error.
///
/// Source: Balle and Wang 2018, Theorem 8.
///
/// # Errors
/// `eps` not finite or negative; `mu` not finite or not above 0.
pub fn delta(eps: f64, mu: f64) -> Result<f64, ParameterError> {
    check_eps(eps)?;
    check_positive("mu", mu, MU_HINT)?;
    Ok(match Curve::at(eps, mu) {
        Curve::Lifted(lifted) => {
            let upper = lifted * (1.0 + RELATIVE_ERROR);
            let delta = upper / LIFT;
            // The division is exact but where delta is subnormal; and no delta is 0.
            if delta * LIFT < upper || delta == 0.0 {
                delta.next_up()
            } else {
                delta
            }
        }
        Curve::Complement(rest) => {
            let lower = rest * (1.0 - RELATIVE_ERROR);
            let delta = 1.0 - lower;
            // Exact: delta is above 1/2.
            if 1.0 - delta > lower {
                delta.next_up()
            } else {
                delta
            }
        }
    })
}

/// The smallest epsilon, at least 0, such that `mu`-GDP implies (eps, delta)-differential
/// privacy, rounded up; 0 where delta is at least [`delta`]`(0, mu)`.
///
/// Guarantee: [`delta`] at the returned epsilon is at most the given delta. The relative error is
/// at most 1.1 [`RELATIVE_ERROR`] times the condition of the problem,
///
/// ```text
/// delta / (eps e^eps Phi(-mu/2 - eps/mu))
/// ```
///
/// (with `1 - delta` for `delta` where `a < -1`). Where the epsilon is at least `mu / 4` the
/// condition is at most 9, and the error below 1e-12. It has no bound where delta is close to
/// `delta(0, mu)`: there a tiny change of `mu` changes nearly all of a tiny epsilon.
///
/// Source: Balle and Wang 2018, Theorem 8.
///
/// # Errors
/// `delta` not above 0 and below 1; `mu` not finite, not above 0, or above 2^40.
pub fn epsilon(delta: f64, mu: f64) -> Result<f64, ParameterError> {
    check_delta(delta)?;
    check_positive("mu", mu, MU_HINT)?;
    if mu > LARGEST_MU / 2.0 {
        return Err(ParameterError::new("mu", "must be at most 2^40", MU_HINT));
    }
    if is_private(0.0, delta, mu) {
        return Ok(0.0);
    }
    Ok(bisect(LARGEST_EPS, 0.0, |eps| is_private(eps, delta, mu)))
}

/// The smallest `rho` such that `mu`-GDP implies `rho`-zCDP: `mu^2 / 2`, rounded up.
///
/// Guarantee: at least the exact value, and the double next to it at most.
///
/// Source: Bun and Steinke 2016, Proposition 1.6, for the Gaussian mechanism; a `mu`-GDP one is a
/// post-processing of it (Dong, Roth and Su 2022, Theorem 2).
///
/// # Errors
/// `mu` not finite or not above 0, or `mu^2 / 2` too large for a `float8`.
pub fn rho_of_mu(mu: f64) -> Result<f64, ParameterError> {
    check_positive("mu", mu, MU_HINT)?;
    let rho = product_up(mu / 2.0, mu);
    if rho.is_infinite() {
        return Err(ParameterError::new(
            "mu",
            "is too large: mu^2 / 2 must be finite",
            MU_HINT,
        ));
    }
    Ok(rho)
}

/// The largest `mu` of a Gaussian mechanism that is `rho`-zCDP: `sqrt(2 rho)`, rounded down.
///
/// Guarantee: the largest double that is at most the exact value. This is about Gaussian noise:
/// other mechanisms may be `rho`-zCDP and not `mu`-GDP.
///
/// Source: Bun and Steinke 2016, Proposition 1.6.
///
/// # Errors
/// `rho` not finite or not above 0.
pub fn mu_of_rho(rho: f64) -> Result<f64, ParameterError> {
    check_positive(
        "rho",
        rho,
        "Smaller is more private and noisier; 0.001 to 1 is usual.",
    )?;
    // Moved by an even power of two, so that neither 2 rho nor the residual leaves the range.
    let (square, back) = if rho < 1.0 {
        (rho * power_of_two(601), power_of_two(-300))
    } else {
        (rho / 2.0, 2.0)
    };
    let root = square.sqrt();
    // The sign of the exact root^2 - square.
    let root = if root.mul_add(root, -square) > 0.0 {
        root.next_down()
    } else {
        root
    };
    Ok(root * back)
}

/// The budget of Rényi differential privacy at order `alpha` that `mu`-GDP implies:
/// `alpha mu^2 / 2`, rounded up.
///
/// Guarantee: at least the exact value, by a relative 2^-51 at most where `mu` is above 1e-140.
///
/// Source: Mironov 2017, Corollary 3, for the Gaussian mechanism; a `mu`-GDP one is a
/// post-processing of it (Dong, Roth and Su 2022, Theorem 2).
///
/// # Errors
/// `mu` as for [`rho_of_mu`]; `alpha` not finite, not above 1, or so large that the budget is
/// too large for a `float8`.
pub fn rdp_of_mu(mu: f64, alpha: f64) -> Result<f64, ParameterError> {
    const HINT: &str = "The order of a Rényi divergence: 2 to 64 is usual.";
    let rho = rho_of_mu(mu)?;
    // A NaN is not finite, and goes the same way.
    if !(alpha.is_finite() && alpha > 1.0) {
        return Err(ParameterError::new(
            "alpha",
            "must be a finite number greater than 1",
            HINT,
        ));
    }
    let budget = product_up(alpha, rho);
    if budget.is_infinite() {
        return Err(ParameterError::new(
            "alpha",
            "is too large: alpha * mu^2 / 2 must be finite",
            HINT,
        ));
    }
    Ok(budget)
}

const MU_HINT: &str = "Smaller is more private and noisier; 0.01 to 2 is usual.";

fn check_eps(eps: f64) -> Result<(), ParameterError> {
    if eps.is_finite() && eps >= 0.0 {
        return Ok(());
    }
    Err(ParameterError::new(
        "eps",
        "must be a finite number that is not negative",
        "Smaller is more private and noisier; 0.1 to 4 is usual.",
    ))
}

pub(crate) fn check_delta(delta: f64) -> Result<(), ParameterError> {
    if delta > 0.0 && delta < 1.0 {
        return Ok(());
    }
    Err(ParameterError::new(
        "delta",
        "must be greater than 0 and less than 1",
        "Smaller is more private and noisier; well below one over the number of rows is usual.",
    ))
}

pub(crate) fn check_positive(
    argument: &'static str,
    value: f64,
    hint: &'static str,
) -> Result<(), ParameterError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(ParameterError::new(
        argument,
        "must be a finite number greater than 0",
        hint,
    ))
}

/// The product of two positive numbers, rounded up.
fn product_up(x: f64, y: f64) -> f64 {
    let product = x * y;
    // The residual of a small product may be too small for a double.
    if product < power_of_two(-960) || x.mul_add(y, -product) > 0.0 {
        product.next_up()
    } else {
        product
    }
}

/// The double next to where `holds` changes, on the side where it holds. `yes` and `no` are not
/// negative, and `no` is never returned.
///
/// Halves the interval of bit patterns, which are in the order of the numbers.
fn bisect(yes: f64, no: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut yes, mut no) = (yes.to_bits(), no.to_bits());
    while yes.abs_diff(no) > 1 {
        let middle = yes.midpoint(no);
        if holds(f64::from_bits(middle)) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    f64::from_bits(yes)
}

/// Whether `mu`-GDP certainly implies (eps, delta)-differential privacy: [`delta`]`(eps, mu)` is
/// at most `delta`.
fn is_private(eps: f64, delta: f64, mu: f64) -> bool {
    match Curve::at(eps, mu) {
        Curve::Lifted(lifted) => lifted * (1.0 + RELATIVE_ERROR) <= delta * LIFT,
        // 1 - delta is exact from 1/2 on, and below that the complement is too small anyway.
        Curve::Complement(rest) => rest * (1.0 - RELATIVE_ERROR) >= 1.0 - delta,
    }
}

/// A point of the privacy curve of `mu`-GDP, to nearest, in the form that keeps its digits.
enum Curve {
    /// delta, times [`LIFT`].
    Lifted(f64),
    /// 1 - delta, where delta is above 0.68.
    Complement(f64),
}

impl Curve {
    /// For `eps >= 0` and `mu > 0`, both finite.
    fn at(eps: f64, mu: f64) -> Self {
        let eps = eps.min(LARGEST_EPS);
        let (eps, mu, lift) = if mu < TINY_MU {
            (eps * LIFT, mu * LIFT, 1.0)
        } else {
            (eps, mu, LIFT)
        };
        let (quotient, half) = (eps / mu, mu / 2.0);
        let difference = quotient - half;
        // delta < Phi(-39.9), which is below the smallest subnormal.
        if difference > 40.0 {
            return Self::Lifted(0.0);
        }
        // 1 - delta < 2 Phi(-8.9), which is below the last digit of 1.
        if difference < -9.0 {
            return Self::Complement(0.0);
        }

        // a = difference + low: what the division and the subtraction (Knuth's two-sum) dropped.
        let back = difference - quotient;
        let dropped = (quotient - (difference - back)) - (half + back);
        let low = dropped + quotient.mul_add(-mu, eps) / mu;
        let a = difference + low;
        let low = (difference - a) + low;

        // phi(a) = PEAK exp(-a^2/2), in two factors so that neither underflows.
        let square = a * a;
        let square_low = a.mul_add(a, -square) + 2.0 * a * low;
        let factor = (-square / 4.0).exp();
        let scaled = |integral: f64, lift: f64| {
            PEAK * (1.0 - square_low / 2.0) * integral * factor * lift * factor
        };

        if a < -1.0 {
            return Self::Complement(scaled(mills(-a) + mills(a + mu), 1.0));
        }
        let width = 1.0 / a.max(1.0);
        let integral = if mu * width < 4.0 {
            integrate(a, width, |t| -(-mu * t).exp_m1())
        } else {
            // R(a + mu) is less than a third of R(a).
            mills(a) - mills(a + mu)
        };
        Self::Lifted(scaled(integral, lift))
    }
}

/// The distribution function of the standard normal distribution.
///
/// The relative error is below 1e-13 down to -37; from -38.6 down it is 0.
pub fn normal_cdf(x: f64) -> f64 {
    if x > 0.0 {
        return 1.0 - normal_cdf(-x);
    }
    if x < -40.0 {
        return 0.0;
    }
    PEAK * (-x * x / 2.0).exp() * mills(-x)
}

/// The Mills ratio: the integral of `exp(-x t - t^2/2)` over `t > 0`, for `x >= -1`.
pub(crate) fn mills(x: f64) -> f64 {
    integrate(x, 1.0 / x.max(1.0), |_| 1.0)
}

/// The integral of `exp(-x t - t^2/2) f(t)` over `t > 0`, for `x >= -1`, `width = 1 / max(1, x)`
/// and an `f` that is smooth at this width and at most about `t`, or 1.
fn integrate(x: f64, width: f64, f: impl Fn(f64) -> f64) -> f64 {
    let sum: f64 = NODES
        .iter()
        .map(|&(u, weight)| {
            let t = width * u;
            weight * (-(x + t / 2.0) * t).exp() * f(t)
        })
        .sum();
    width * sum
}

/// Places and weights of a double-exponential quadrature over `u > 0` of functions that fall like
/// `exp(-u)` (Takahasi and Mori 1974): the trapezoidal rule in `s`, where `u = exp(s - exp(-s))`.
///
/// A step of 1/10 leaves a relative error of 7e-17 of the integrals here; the places reach from
/// 3e-18 to 44, and what is outside is less than that.
static NODES: LazyLock<[(f64, f64); 75]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let s = (i as f64 - 36.0) / 10.0;
        let e = (-s).exp();
        let u = (s - e).exp();
        (u, u * (1.0 + e) / 10.0)
    })
});
