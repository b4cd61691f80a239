//! Closed forms that the simulations are held against.

use dp_core::sampler::staircase::{best_gamma, least_variance};

/// The error of a mean that is a ratio of noisy sums: at `m` of the way between bounds 0 and 1,
/// times `n^2`, to leading order in `1 / n`.
pub trait Ratio {
    /// The variance of the noise that moves the mean, times `n^2`, before the answer is clipped.
    fn variance(&self, m: f64) -> f64;

    /// What of it clipping takes away at an end that is `t` (times `n`) below a mean at `m`:
    /// `E[W^2 - t^2; W < -t]` for the noise `W`.
    fn clipped(&self, m: f64, t: f64) -> f64;

    /// The error of the clipped mean of `n` rows.
    fn error(&self, m: f64, n: f64) -> f64 {
        self.variance(m) - self.clipped(m, n * m) - self.clipped(m, n * (1.0 - m))
    }
}

/// Algorithms 1 to 3 with Laplace noise. What moves the mean is `x - y` with independent Laplace
/// noise `x`, `y`.
#[derive(Clone, Copy, Debug)]
pub enum Laplace {
    Independent(f64),
    Shifted(f64),
    Transformed(f64),
}

impl Laplace {
    /// The scales of `x` and of `y`.
    fn scales(&self, m: f64) -> (f64, f64) {
        match *self {
            Self::Independent(epsilon) => (2.0 / epsilon, 2.0 * m / epsilon),
            Self::Shifted(epsilon) => (1.0 / epsilon, (2.0 * m - 1.0).abs() / epsilon),
            Self::Transformed(epsilon) => ((1.0 - m) / epsilon, m / epsilon),
        }
    }
}

impl Ratio for Laplace {
    fn variance(&self, m: f64) -> f64 {
        let (a, c) = self.scales(m);
        2.0 * (a * a + c * c)
    }

    /// The distribution of `x - y` is `(a^2 L(a) - c^2 L(c)) / (a^2 - c^2)`, `L` the Laplace distribution of a scale;
    /// for one such distribution it is `a (t + a) e^(-t/a)`.
    fn clipped(&self, m: f64, t: f64) -> f64 {
        let (a, c) = self.scales(m);
        if (a - c).abs() < 1e-4 * (a + c) {
            // The limit, exact to the square of the difference.
            let s = f64::midpoint(a, c);
            return (-t / s).exp() * (2.0 * s * s + 2.0 * s * t + t * t / 2.0);
        }
        let part = |s: f64| {
            if s == 0.0 {
                return 0.0;
            }
            s.powi(3) * (t + s) * (-t / s).exp()
        };
        (part(a) - part(c)) / (a * a - c * c)
    }
}

/// The levels of a staircase of unit sensitivity, as far as they matter beyond `t`: from where to
/// where, and `e^(-eps level)`.
fn levels(gamma: f64, epsilon: f64, t: f64) -> impl Iterator<Item = (f64, f64, f64)> {
    let last = t + 45.0 / epsilon + 2.0;
    let level = move |k: u32| {
        let k = f64::from(k);
        ((k - 1.0 + gamma).max(0.0), k + gamma, (-epsilon * k).exp())
    };
    (0..).map(level).take_while(move |(from, ..)| *from < last)
}

/// Algorithm 3 with the hourglass, with a best core of `gamma`.
#[derive(Clone, Copy, Debug)]
pub struct Hourglass {
    pub epsilon: f64,
    pub gamma: f64,
}

impl Ratio for Hourglass {
    /// Noise `(x1, x2)` moves the mean by `(1 - m) x1 - m x2`. Each has variance `sigma^2(eps)`;
    /// their sum is the noise of the number of rows, a level of the staircase and two-sided
    /// geometric noise.
    fn variance(&self, m: f64) -> f64 {
        let b = (-self.epsilon).exp();
        let rest = -(-self.epsilon).exp_m1();
        let level = b * (1.0 + b) / rest.powi(3) / (self.gamma + b / rest);
        let sum = level + 2.0 * b / (rest * rest);
        let one = least_variance(self.epsilon);
        let covariance = (sum - 2.0 * one) / 2.0;
        ((1.0 - m).powi(2) + m * m) * one - 2.0 * m * (1.0 - m) * covariance
    }

    /// Only where `m` is near an end does clipping matter, and there only one of the two moves it.
    fn clipped(&self, _: f64, t: f64) -> f64 {
        let b = (-self.epsilon).exp();
        let height = 0.5 / (self.gamma + b / (1.0 - b));
        let below = |x: f64| x.powi(3) / 3.0 - t * t * x;
        let parts = levels(self.gamma, self.epsilon, t)
            .filter(|(_, to, _)| *to > t)
            .map(|(from, to, weight)| weight * (below(to) - below(from.max(t))));
        height * parts.sum::<f64>()
    }
}

/// Algorithm 3 with the two-dimensional staircase, with a core of `gamma` and the variance of one
/// coordinate.
#[derive(Clone, Copy, Debug)]
pub struct Staircase2 {
    pub epsilon: f64,
    pub gamma: f64,
    pub variance: f64,
}

impl Ratio for Staircase2 {
    /// The two are uncorrelated: the distribution stays the same where one changes its sign.
    fn variance(&self, m: f64) -> f64 {
        ((1.0 - m).powi(2) + m * m) * self.variance
    }

    /// As for the hourglass. The density of one coordinate at `x` is twice the integral of the
    /// level's density over distances beyond `x`.
    fn clipped(&self, _: f64, t: f64) -> f64 {
        let area = |r: f64| 2.0 * r * r;
        let below = |r: f64| r.powi(4) / 12.0 - t * t * r * r / 2.0 + 2.0 * t.powi(3) * r / 3.0;
        let whole: f64 = levels(self.gamma, self.epsilon, 0.0)
            .map(|(from, to, weight)| weight * (area(to) - area(from)))
            .sum();
        let parts = levels(self.gamma, self.epsilon, t)
            .filter(|(_, to, _)| *to > t)
            .map(|(from, to, weight)| weight * (below(to) - below(from.max(t))));
        2.0 * parts.sum::<f64>() / whole
    }
}

/// The error, times `n^2`, of a mean at `m` of the way between bounds 0 and 1 with the best noise
/// for a public number of rows, clipped to the bounds. Of any `n`: the noise alone is random.
pub fn clipped_staircase(epsilon: f64, m: f64, n: f64) -> f64 {
    let staircase = Hourglass {
        epsilon,
        gamma: best_gamma(epsilon),
    };
    let ends = staircase.clipped(m, n * m) + staircase.clipped(m, n * (1.0 - m));
    least_variance(epsilon) - ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise `x` with its level `l`, and `G (l + d) - x` with two-sided geometric `d`, counted on a
    /// fine grid: `(1 - m) x1 - m x2` is `x - m G (l + d)`.
    #[test]
    fn the_variance_of_the_hourglass_is_that_of_its_levels() {
        const STEPS: i64 = 1 << 12;
        for epsilon in [1.0f64, 4.0, 8.0] {
            let b = (-epsilon).exp();
            let core = (best_gamma(epsilon) * STEPS as f64).round() as i64;
            let gamma = core as f64 / STEPS as f64;
            let geometric = 2.0 * b / (1.0 - b).powi(2);
            for m in [0.0, 0.1, 0.5, 1.0] {
                let (mut weight, mut squares) = (0.0, 0.0);
                // Middles of the steps.
                for step in 0..STEPS * (40.0 / epsilon) as i64 {
                    let x = (step as f64 + 0.5) / STEPS as f64;
                    let level = if step < core {
                        0.0
                    } else {
                        (x - gamma).floor() + 1.0
                    };
                    let here = (-epsilon * level).exp();
                    weight += here;
                    squares += here * ((x - m * level).powi(2) + m * m * geometric);
                }
                let expected = squares / weight;
                let found = Hourglass { epsilon, gamma }.variance(m);
                assert!(
                    (found / expected - 1.0).abs() < 1e-5,
                    "{epsilon} {m}: {found} {expected}"
                );
            }
        }
    }
}
