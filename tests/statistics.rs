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

/// A lower bound, wrong with chance `alpha`, on the logarithm of how much likelier an event is
/// in one experiment than in another, of `tries` each. No mechanism that is private at epsilon
/// has one above epsilon (for neighbours). Where the event was never seen in the first, it says
/// nothing: minus infinity.
pub fn log_ratio_bound(hits: u64, other_hits: u64, tries: u64, alpha: f64) -> f64 {
    let (lower, _) = clopper_pearson(hits, tries, alpha / 2.0);
    let (_, upper) = clopper_pearson(other_hits, tries, alpha / 2.0);
    (lower / upper).ln()
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
