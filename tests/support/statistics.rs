//! Statistics of the tests, with their constants in one place.

use statrs::distribution::{Beta, ContinuousCDF, Normal};

/// The chance at which a statistical test may fail though nothing is wrong.
pub const ALPHA: f64 = 1e-6;

/// How far a mean squared error may lie from its expectation, in standard errors. With noise
/// from fixed seeds, so a test that passed once passes for as long as the code draws the same.
pub const STANDARD_ERRORS: f64 = 4.0;

/// Clopper and Pearson's bounds on a probability, each missed with chance `alpha`: `hits` of
/// `tries` were seen.
pub fn clopper_pearson(hits: u64, tries: u64, alpha: f64) -> (f64, f64) {
    let (k, n) = (hits as f64, tries as f64);
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).expect("positive").inverse_cdf(p);
    let lower = if hits == 0 {
        0.0
    } else {
        quantile(k, n - k + 1.0, alpha)
    };
    let upper = if hits == tries {
        1.0
    } else {
        quantile(k + 1.0, n - k, 1.0 - alpha)
    };
    (lower, upper)
}

/// Wilson's bounds: near those of Clopper and Pearson and found at once, but not certain.
pub fn wilson(hits: u64, tries: u64, alpha: f64) -> (f64, f64) {
    let (p, n, z) = (
        hits as f64 / tries as f64,
        tries as f64,
        normal_deviations(2.0 * alpha),
    );
    let centre = p + z * z / (2.0 * n);
    let width = z * (p * (1.0 - p) / n + (z / (2.0 * n)).powi(2)).sqrt();
    let at = |bound: f64| (bound / (1.0 + z * z / n)).clamp(0.0, 1.0);
    (at(centre - width), at(centre + width))
}

/// The smallest `mu` with which an event can have these chances on two neighbours: with
/// `mu`-Gaussian differential privacy none has more (Dong, Roth, Su 2022).
pub fn mu_of_event(chance: f64, other: f64) -> f64 {
    let normal = Normal::standard();
    normal.inverse_cdf(chance) - normal.inverse_cdf(other)
}

/// The smallest `delta` for which `mu`-Gaussian differential privacy is `(epsilon, delta)`-
/// differential privacy (Balle, Wang 2018, Theorem 8), in floats.
pub fn gaussian_delta(epsilon: f64, mu: f64) -> f64 {
    let normal = Normal::standard();
    normal.cdf(mu / 2.0 - epsilon / mu) - epsilon.exp() * normal.cdf(-mu / 2.0 - epsilon / mu)
}

/// The largest `mu` with no more than `delta`, in floats.
pub fn gaussian_mu(epsilon: f64, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..100 {
        let mu = (low + high) / 2.0;
        if gaussian_delta(epsilon, mu) <= delta {
            low = mu;
        } else {
            high = mu;
        }
    }
    low
}

/// The chance that a normal number is at most `deviations` standard deviations above its mean.
pub fn normal_chance(deviations: f64) -> f64 {
    Normal::standard().cdf(deviations)
}

/// How many standard deviations a normal number exceeds, either way, with chance `alpha`.
pub fn normal_deviations(alpha: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - alpha / 2.0)
}

/// The mean.
pub fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// The mean of the squared distances from `centre`.
pub fn mean_square(numbers: &[f64], centre: f64) -> f64 {
    numbers
        .iter()
        .map(|number| (number - centre).powi(2))
        .sum::<f64>()
        / numbers.len() as f64
}

/// The correlation between a number and the one that stands `lag` later: of independent numbers
/// it is normal around 0 with variance one over their number, very nearly.
pub fn autocorrelation(numbers: &[f64], lag: usize) -> f64 {
    let centre = mean(numbers);
    let products = numbers
        .iter()
        .zip(&numbers[lag..])
        .map(|(a, b)| (a - centre) * (b - centre));
    products.sum::<f64>() / numbers.len() as f64 / mean_square(numbers, centre)
}
