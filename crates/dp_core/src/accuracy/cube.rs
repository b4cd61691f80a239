//! How far noise in the shape of a cube reaches: of one number, and of two together.
//!
//! Noise on `D` numbers with density proportional to `exp(-max|x_j|)` is a point of the cube from `-R` to `R`, all
//! alike, where `R` is a gamma variable of shape `D + 1`. Given `R`, numbers are independent and uniform, so what is
//! beyond `t` is a polynomial of `1 / R`, and the mean of that is a sum of tails of gamma variables.

use std::f64::consts::TAU;

use crate::accuracy::tail::quantile;

/// The least `t` for which `|a X + b Y| > t` has at most the probability `miss`, for two of `numbers` numbers of scale 1;
/// with `b` of 0, for one of them.
pub fn reach(numbers: usize, [a, b]: [f64; 2], miss: f64) -> f64 {
    let (large, small) = (a.abs().max(b.abs()), a.abs().min(b.abs()));
    if large == 0.0 || large == f64::INFINITY {
        return large;
    }
    large * quantile(miss, |t| beyond(numbers, small / large, t))
}

/// `P(|X + c Y| > t)` for `c` from 0 to 1.
fn beyond(numbers: usize, c: f64, t: f64) -> f64 {
    // The mean of R^-power where R is above y.
    let mean = |power: usize, y: f64| {
        let below = (0..power).map(|i| (numbers - i) as f64);
        gamma_above(numbers + 1 - power, y) / below.product::<f64>()
    };
    // P(|X| > t) is 1 - t / R.
    let plain = |y: f64| mean(0, y) - t * mean(1, y);
    // A weight that is lost beside the other.
    if c < 1e-9 {
        return plain(t).clamp(0.0, 1.0);
    }
    // P(|X + c Y| > t) is (1 + c - t / R)^2 / 4 c where t / R is between 1 - c and 1 + c, and 1 - t / R below.
    let (first, second) = (t / (1.0 + c), t / (1.0 - c));
    let between = |power| mean(power, first) - mean(power, second);
    let square = (1.0 + c).powi(2) * between(0) - 2.0 * (1.0 + c) * t * between(1);
    let square = square + t * t * between(2);
    (square / (4.0 * c) + plain(second)).clamp(0.0, 1.0)
}

/// The probability that a gamma variable of a whole shape is above `y`: that of fewer than `shape` events where `y` are
/// expected.
fn gamma_above(shape: usize, y: f64) -> f64 {
    if y <= 0.0 {
        return 1.0;
    }
    if y == f64::INFINITY {
        return 0.0;
    }
    let shape = shape as f64;
    // exp(-y) y^shape / shape!
    let next = (-shape * excess(y / shape) - stirling(shape)).exp() / (TAU * shape).sqrt();
    if y < shape {
        let (mut sum, mut term, mut i) = (0.0, 1.0, shape);
        while term > 1e-17 * sum {
            sum += term;
            i += 1.0;
            term *= y / i;
        }
        return 1.0 - next * sum;
    }
    let (mut sum, mut term, mut i) = (0.0, shape / y, shape);
    while term > 1e-17 * sum {
        sum += term;
        i -= 1.0;
        term *= i / y;
    }
    next * sum
}

/// `x - 1 - ln x`.
fn excess(x: f64) -> f64 {
    let off = x - 1.0;
    off - off.ln_1p()
}

/// `ln n!` less `n ln n - n + ln(2 pi n) / 2`.
fn stirling(n: f64) -> f64 {
    if n < 16.0 {
        let logarithms = (2..=n as u32).map(|i| f64::from(i).ln());
        return logarithms.sum::<f64>() - (n * n.ln() - n + (TAU * n).ln() / 2.0);
    }
    let square = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_gamma_variable_is_a_sum_of_poisson_weights() {
        for shape in [1, 2, 3, 15, 16, 40, 150] {
            for y in [0.01, 0.5, 1.0, 3.0, 14.9, 30.0, 150.0, 300.0] {
                let mut weight = f64::exp(-y);
                let mut sum = 0.0;
                for i in 0..shape {
                    sum += weight;
                    weight *= y / (i + 1) as f64;
                }
                let found = gamma_above(shape, y);
                assert!(
                    (found - sum).abs() < 1e-12,
                    "{shape} {y}: {found}, not {sum}"
                );
            }
        }
        // Of many, the normal law and its first correction.
        let found = gamma_above(100_001, 100_001.0);
        let normal = 0.5 + 1.0 / (3.0 * (TAU * 100_001.0).sqrt());
        assert!((1.0 - found - normal).abs() < 1e-8, "{found} {normal}");
    }

    /// The sum over all radii of a lattice so fine that it is as good as none.
    #[test]
    fn what_is_beyond_is_the_mean_over_all_cubes() {
        let steps = 4000.0;
        for (numbers, c) in [(1, 0.0), (2, 0.0), (2, 1.0), (3, 1.0), (5, 0.15), (13, 0.5)] {
            for t in [0.1, 1.0, 4.0, 10.0] {
                let (mut whole, mut beyond_t) = (0.0, 0.0);
                for k in 1..(60.0 * steps) as u32 {
                    let radius = f64::from(k) / steps;
                    let weight = (-radius + numbers as f64 * radius.ln()).exp();
                    whole += weight;
                    beyond_t += weight * of_square(c, t / radius);
                }
                let (found, expected) = (beyond(numbers, c, t), beyond_t / whole);
                // Cells of 1/32 that a corner of the law lies in.
                let close = (found - expected).abs() < f64::powi(1.0 / 32.0, 2) / 8.0;
                assert!(close, "{numbers} {c} {t}: {found}, not {expected}");
            }
        }
    }

    /// `P(|X + c Y| > t)` for uniform numbers from -1 to 1, by the middles of cells.
    fn of_square(c: f64, t: f64) -> f64 {
        // Of X given Y, exactly; then over 64 values of Y.
        let given = |y: f64| {
            let (low, high) = (-t - c * y, t - c * y);
            1.0 - (high.clamp(-1.0, 1.0) - low.clamp(-1.0, 1.0)) / 2.0
        };
        let cells = 64;
        let middles = (0..cells).map(|i| (2 * i + 1) as f64 / cells as f64 - 1.0);
        middles.map(given).sum::<f64>() / f64::from(cells)
    }

    #[test]
    fn numbers_without_noise_and_with_all_of_it() {
        assert_eq!(reach(3, [0.0, 0.0], 0.05), 0.0);
        assert_eq!(reach(3, [f64::INFINITY, 1.0], 0.05), f64::INFINITY);
        let one = reach(3, [2.0, 0.0], 0.05);
        assert!((beyond(3, 0.0, one / 2.0) - 0.05).abs() < 1e-6);
    }
}
