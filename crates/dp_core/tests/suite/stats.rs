//! The constants and the arithmetic of the statistical tests.

/// The chance that a test fails though the code is right, had its seed not been fixed.
pub const ALPHA: f64 = 1e-6;

/// `P(|Z| > Z_ALPHA) = ALPHA` for a standard normal `Z`.
pub const Z_ALPHA: f64 = 4.891638;

/// Cells of a chi-square test are pooled up to this many expected draws.
const POOL: f64 = 10.0;

/// Checks draws against a distribution by chi-square, at level [`ALPHA`].
///
/// `cells` holds, per cell, how many draws fell in it and its probability; draws that fell in no
/// cell are in `draws` all the same, and the probability left over belongs to them.
pub fn assert_law(what: &str, draws: u64, cells: impl IntoIterator<Item = (u64, f64)>) {
    let total = draws as f64;
    let (mut statistic, mut groups) = (0.0, 0);
    let (mut left, mut left_p) = (draws, 1.0);
    let mut pooled = (0, 0.0);
    for (observed, p) in cells {
        assert!(p > 0.0 || observed == 0, "{what}: a draw of probability 0");
        left -= observed;
        left_p -= p;
        pooled = (pooled.0 + observed, pooled.1 + p);
        if pooled.1 * total >= POOL {
            statistic += term(pooled, total);
            groups += 1;
            pooled = (0, 0.0);
        }
    }
    pooled = (pooled.0 + left, pooled.1 + f64::max(left_p, 0.0));
    if pooled.1 * total >= POOL {
        statistic += term(pooled, total);
        groups += 1;
    } else {
        // Too few for a cell: a Chernoff bound on at least this many.
        let (count, mean) = (pooled.0 as f64, (pooled.1 * total).max(1e-9));
        if count > mean {
            let log_p = count - mean - count * (count / mean).ln();
            assert!(
                log_p > ALPHA.ln(),
                "{what}: {count} draws in the tail, {mean} expected"
            );
        }
    }
    if groups > 1 {
        let p = chi_square_tail(f64::from(groups - 1), statistic);
        assert!(
            p > ALPHA,
            "{what}: chi-square {statistic} with {groups} cells, p = {p:e}"
        );
    }
}

fn term((observed, p): (u64, f64), total: f64) -> f64 {
    let expected = p * total;
    (observed as f64 - expected).powi(2) / expected
}

/// `P(X > x)` for a chi-square `X`: the upper incomplete gamma function, by its series below
/// the mean and by its continued fraction above.
pub fn chi_square_tail(freedom: f64, x: f64) -> f64 {
    let (a, x) = (freedom / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        1.0 - front * sum
    } else {
        // Lentz's method.
        let mut b = x + 1.0 - a;
        let mut c = f64::MAX;
        let mut d = 1.0 / b;
        let mut h = d;
        for i in 1..10_000 {
            let i = f64::from(i);
            let an = -i * (i - a);
            b += 2.0;
            d = 1.0 / (an * d + b);
            c = b + an / c;
            h *= d * c;
            if (d * c - 1.0).abs() < 1e-15 {
                break;
            }
        }
        front * h
    }
}

/// Stirling's series, after moving the argument up to where it is exact.
fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 15.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[test]
fn tails_agree_with_known_quantiles() {
    for (freedom, x, tail) in [
        (1.0, 3.841458820694124, 0.05),
        (1.0, 23.928126811, 1e-6),
        (10.0, 29.588298445, 0.001),
        (100.0, 124.342113406, 0.05),
        (2.0, 0.020100671707, 0.99),
    ] {
        let p = chi_square_tail(freedom, x);
        assert!((p / tail - 1.0).abs() < 1e-6, "{freedom} {x}: {p}");
    }
    let p = chi_square_tail(1.0, Z_ALPHA * Z_ALPHA);
    assert!((p / ALPHA - 1.0).abs() < 1e-5, "{p}");
}

#[test]
fn a_wrong_law_is_caught() {
    let caught = std::panic::catch_unwind(|| {
        assert_law(
            "a loaded die",
            60_000,
            [10_600, 9_880, 9_880, 9_880, 9_880].map(|n| (n, 1.0 / 6.0)),
        );
    });
    assert!(caught.is_err());
    assert_law(
        "a fair die",
        60_000,
        [10_060, 9_940, 10_000, 9_990, 10_010].map(|n| (n, 1.0 / 6.0)),
    );
}

/// Mean and variance of values, and the standard error of their mean square.
pub struct Moments {
    n: f64,
    sum: f64,
    squares: f64,
    fourths: f64,
}

impl Moments {
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut moments = Self {
            n: 0.0,
            sum: 0.0,
            squares: 0.0,
            fourths: 0.0,
        };
        for value in values {
            moments.n += 1.0;
            moments.sum += value;
            moments.squares += value * value;
            moments.fourths += value.powi(4);
        }
        moments
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.n
    }

    pub fn mean_square(&self) -> f64 {
        self.squares / self.n
    }

    pub fn mean_square_error(&self) -> f64 {
        ((self.fourths / self.n - self.mean_square().powi(2)) / self.n).sqrt()
    }

    /// Fails unless the mean square is within the noise of `expected`, give or take a
    /// relative `rounding` of that number.
    pub fn assert_mean_square(&self, what: &str, expected: f64, rounding: f64) {
        let slack = Z_ALPHA * self.mean_square_error() + rounding * expected;
        let found = self.mean_square();
        assert!(
            (found - expected).abs() < slack,
            "{what}: {found}, expected {expected} +- {slack}"
        );
    }
}
