//! Statistics of the tests, with their constants in one place.

use statrs::distribution::{Beta, ContinuousCDF};

/// The chance at which a statistical test may fail though nothing is wrong.
pub const ALPHA: f64 = 1e-6;

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
