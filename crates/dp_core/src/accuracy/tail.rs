//! How likely noise is to be far from 0: what intervals and forecasts are made of.
//!
//! All lengths are in units of sensitivity (`G` grid steps), in which the integers that noise is
//! drawn on are so close that the distributions here are those of real numbers; what uses them allows for a
//! step more. Each function gives `P(|X| > t)` for `t >= 0`.

use crate::privacy::accounting::{PEAK, mills, normal_cdf};

/// Of Laplace noise.
pub fn laplace(scale: f64, t: f64) -> f64 {
    (-t / scale).exp()
}

/// Of `a X - c Y`, for independent Laplace `X` and `Y` of scale 1:
/// `(a^2 e^(-t/a) - c^2 e^(-t/c)) / (a^2 - c^2)`, in a form that keeps its digits where `a` and `c`
/// are near each other.
pub fn laplace_pair(a: f64, c: f64, t: f64) -> f64 {
    let (large, small) = (a.abs().max(c.abs()), a.abs().min(c.abs()));
    let x = t / large;
    let ratio = small / large;
    if ratio == 0.0 {
        return (-x).exp();
    }
    let less = (large - small) / large;
    if less == 0.0 {
        return (-x).exp() * (1.0 + x / 2.0);
    }
    let exponent = 2.0 * (-less).ln_1p() - x * less / ratio;
    (-x).exp() * -exponent.exp_m1() / (less * (1.0 + ratio))
}

/// Of `a X + b Y + c Z`, for independent Laplace `X`, `Y`, `Z` of scale 1.
///
/// For `c` the smallest and `a` the largest, `a X` is `c X'` with probability `r = (c / a)^2` and otherwise `c X' +
/// a Y'`: its characteristic function `1 / (1 + a^2 s^2)` is that times `r (1 + a^2 s^2) + 1 - r`, over `1 + c^2
/// s^2`. So the tail of `a X + b Y` is `r` times that of `c X' + b Y` and `1 - r` times what is wanted.
/// That loses digits where all three are near each other; within 1e-6 they count as equal to the largest, which
/// is as much farther out at most.
pub fn laplace_triple(scales: [f64; 3], t: f64) -> f64 {
    let mut scales = scales.map(f64::abs);
    scales.sort_by(f64::total_cmp);
    let [c, b, a] = scales;
    let x = t / a;
    let less = (a - c) / a;
    if less <= 1e-6 {
        return (-x).exp() * (1.0 + x * (5.0 + x) / 8.0);
    }
    let near = if b > 0.0 { laplace_pair(b, c, t) } else { 0.0 };
    let far = laplace_pair(a, b, t);
    near + (far - near).max(0.0) / (less * (2.0 - less))
}

/// Of a sum of independent Laplace numbers of these scales, not all 0.
///
/// The characteristic function is a product of `1 / (1 + a^2 s^2)`, and a sum of these with weights that are products
/// of `1 / (1 - (b / a)^2)` over the others. So that the sum keeps its digits, scales are moved at least 2% apart,
/// outwards, and those below a thousandth of the largest count as that: both make the tail heavier.
pub fn laplaces<const K: usize>(scales: [f64; K], t: f64) -> f64 {
    let mut scales = scales.map(f64::abs);
    scales.sort_by(f64::total_cmp);
    let largest = scales[K - 1];
    for i in 0..K {
        let least = if i == 0 { 0.0 } else { 1.02 * scales[i - 1] };
        scales[i] = scales[i].max(1e-3 * largest).max(least);
    }
    let term = |i: usize| {
        let others = (0..K).filter(|j| *j != i);
        let weight: f64 = others
            .map(|j| 1.0 / (1.0 - (scales[j] / scales[i]).powi(2)))
            .product();
        weight * (-t / scales[i]).exp()
    };
    (0..K).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// Of normal noise.
pub fn normal(sigma: f64, t: f64) -> f64 {
    (2.0 * normal_cdf(-t / sigma)).min(1.0)
}

/// Of `sigma Z + b X`, for independent standard normal `Z` and Laplace `X` of scale 1.
fn normal_and_laplace(sigma: f64, b: f64, t: f64) -> f64 {
    let (z, x) = (t / sigma, sigma / b);
    // exp(y^2 / 2) P(Z > y), times exp(-z^2 / 2).
    let scaled = |y: f64| {
        if y < 0.0 {
            ((y + z) * (y - z) / 2.0).exp() * normal_cdf(-y)
        } else {
            (-z * z / 2.0).exp() * PEAK * mills(y)
        }
    };
    (2.0 * normal_cdf(-z) + (scaled(x - z) - scaled(x + z)).max(0.0)).min(1.0)
}

/// Of `sigma Z + a W + b X + c Y`, for independent standard normal `Z` and Laplace `W`, `X`, `Y` of scale 1; where two
/// of the three are within 1% of each other, of a larger one.
///
/// The characteristic function of the last three, `1 / ((1 + a^2 s^2) (1 + b^2 s^2) (1 + c^2 s^2))`, is a sum of
/// `w / (1 + a^2 s^2)` and its like, with `w = a^4 / ((a^2 - b^2) (a^2 - c^2))`.
pub fn normal_and_laplace_triple(sigma: f64, scales: [f64; 3], t: f64) -> f64 {
    let mut scales = scales.map(f64::abs);
    scales.sort_by(f64::total_cmp);
    for i in 1..scales.len() {
        scales[i] = scales[i].max(1.01 * scales[i - 1]);
    }
    let weight = |a: f64| {
        let others = scales.iter().filter(|other| **other != a);
        others
            .map(|b| 1.0 / (1.0 - (b / a).powi(2)))
            .product::<f64>()
    };
    let terms = scales.map(|scale| weight(scale) * normal_and_laplace(sigma, scale, t));
    terms.iter().sum::<f64>().clamp(0.0, 1.0)
}

/// As above, where some of the scales, or the standard deviation, may be 0.
///
/// Those far below the largest count as a thousandth of it, which is farther out.
pub fn laplace_triple_beside_normal(sigma: f64, scales: [f64; 3], t: f64) -> f64 {
    let scales = scales.map(f64::abs);
    let largest = scales.into_iter().fold(0.0, f64::max);
    // The normal part adds nothing that could be seen, and the sum of the other way would lose its digits.
    if sigma <= 1e-3 * largest {
        return laplace_triple(scales, (t - 4.0 * sigma).max(0.0));
    }
    normal_and_laplace_triple(sigma, scales.map(|scale| scale.max(1e-3 * largest)), t)
}

/// Of the staircase with its first step at `gamma`.
pub fn staircase(epsilon: f64, gamma: f64, t: f64) -> f64 {
    let (b, z) = ((-epsilon).exp(), epsilon.exp_m1());
    // The weight of level 0 is gamma, that of level L is b^L; all together is gamma + 1 / z.
    let whole = gamma + 1.0 / z;
    if t < gamma {
        return (gamma - t + 1.0 / z) / whole;
    }
    let level = (t - gamma).floor() + 1.0;
    let left = level - (t - gamma);
    b.powf(level) * (left + 1.0 / z) / whole
}

/// Two-sided geometric noise: `P(|X| > k)` for a whole number `k`, in rows.
pub fn two_sided_geometric(epsilon: f64, k: f64) -> f64 {
    2.0 * (-epsilon * (k + 1.0)).exp() / (1.0 + (-epsilon).exp())
}

/// What Laplace noise is off by as a stand-in for a distribution of levels, at the epsilons where it is used: a
/// test compares.
const NEAR: f64 = 0.003;

/// The Laplace pair that represents a pair of noises in levels, where epsilon is small; `farther` is
/// what such noise can be farther out.
fn nearly_laplace(epsilon: f64, farther: f64, m: f64, t: f64) -> f64 {
    let t = (t / (1.0 + NEAR) - farther).max(0.0);
    laplace_pair((1.0 - m) / epsilon, m / epsilon, t)
}

/// Of `(1 - m) x - m y` for the noise `(x, y)` of the hourglass with its first step at `gamma`, for
/// `m` from 0 to 1.
///
/// With `K = K0(x) + D` the noise on the number of rows, that is `x - m K = A - m D`, where
/// `A = x - m K0(x)` and the two-sided geometric `D` are independent and symmetric.
pub fn hourglass(epsilon: f64, gamma: f64, m: f64, t: f64) -> f64 {
    if epsilon < 1.0 / 8.0 {
        // The count leans to the side of a wide first step.
        return nearly_laplace(epsilon, 0.6 * (gamma - 0.5).max(0.0), m, t);
    }
    let b = (-epsilon).exp();
    let above = |y: f64| {
        if y < 0.0 {
            1.0 - level_above(epsilon, gamma, 1.0 - m, -y)
        } else {
            level_above(epsilon, gamma, 1.0 - m, y)
        }
    };
    let (mut sum, mut weight, mut d) = (above(t), 1.0, 0.0);
    let mut left = 2.0 * b / (1.0 - b);
    // What is left out counts as beyond t.
    while left > 1e-7 * sum {
        d += 1.0;
        weight *= b;
        left *= b;
        sum += weight * (above(t + m * d) + above(t - m * d));
    }
    (2.0 * (sum + left) * (1.0 - b) / (1.0 + b)).min(1.0)
}

/// `P(A > y)` for `y >= 0`, where `A = x - m K0(x)` and `r = 1 - m`: the part of `x` in level `L`
/// lies between `r L + gamma - 1` and `r L + gamma`, each of weight `b^L`, or mirrored.
fn level_above(epsilon: f64, gamma: f64, r: f64, y: f64) -> f64 {
    let whole = 2.0 * (gamma + 1.0 / epsilon.exp_m1());
    let level_0 = (gamma - y).max(0.0);
    let rising = clamped_levels(epsilon, gamma - y, r);
    let falling = clamped_levels(epsilon, 1.0 - gamma - y, -r);
    (level_0 + rising + falling) / whole
}

/// The sum of `b^L clamp(a + r L, 0, 1)` over `L >= 1`, where `a <= 1`.
fn clamped_levels(epsilon: f64, a: f64, r: f64) -> f64 {
    let one_less_b = -(-epsilon).exp_m1();
    // Powers of b from here on are 0.
    let end = (800.0 / epsilon).ceil();
    let first = |border: f64| {
        // The first level at or beyond the border.
        (border.ceil()).clamp(1.0, end)
    };
    let (from, to, full) = if r > 0.0 {
        let full = first((1.0 - a) / r);
        (first(-a / r).min(full), full, full)
    } else if r < 0.0 {
        (1.0, first(a / -r), end)
    } else if a > 0.0 {
        (1.0, end, end)
    } else {
        return 0.0;
    };
    let power = |level: f64| (-epsilon * level).exp();
    let (p, q) = (power(from), power(to));
    let b = 1.0 - one_less_b;
    // Of b^L, and of L b^L, over from <= L < to.
    let plain = (p - q) / one_less_b;
    let times_level = (from * p - to * q) / one_less_b + b * (p - q) / (one_less_b * one_less_b);
    (a * plain + r * times_level).max(0.0) + power(full) / one_less_b
}

/// Of `(1 - m) x - m y` for the noise `(x, y)` of the two-dimensional staircase with its first step
/// at `gamma`, for `m` from 0 to 1.
///
/// Its distribution is a mixture of uniform ones on the squares `|x| + |y| < L + gamma`, on which `x + y` and
/// `x - y` are independent and uniform.
pub fn staircase2(epsilon: f64, gamma: f64, m: f64, t: f64) -> f64 {
    if epsilon < 1.0 / 128.0 {
        return nearly_laplace(epsilon, (gamma - 0.5).abs(), m, t);
    }
    let b = (-epsilon).exp();
    let c = (1.0 - 2.0 * m).abs();
    let (mut beyond, mut whole, mut power, mut radius) = (0.0, 0.0, 1.0, gamma);
    loop {
        let weight = power * radius * radius;
        whole += weight;
        beyond += weight * square_beyond(c, 2.0 * t / radius);
        power *= b;
        radius += 1.0;
        // Once it falls, what is left is less than that of a geometric series with the next ratio.
        let ratio = b * ((radius + 1.0) / radius).powi(2);
        if ratio < 1.0 {
            let left = power * radius * radius / (1.0 - ratio);
            if left <= 1e-7 * beyond || left == 0.0 {
                return ((beyond + left) / (whole + left)).min(1.0);
            }
        }
    }
}

/// `P(|c u + v| > s)` for independent `u` and `v`, uniform from -1 to 1, and `0 <= c <= 1`.
fn square_beyond(c: f64, s: f64) -> f64 {
    if s >= 1.0 + c {
        0.0
    } else if s > 1.0 - c {
        (1.0 + c - s).powi(2) / (4.0 * c)
    } else {
        1.0 - s
    }
}

/// Of `X - u Y` for independent normal `X` and `Y` of one standard deviation.
pub fn normal_pair(sigma: f64, u: f64, t: f64) -> f64 {
    normal(sigma * 1f64.hypot(u), t)
}

/// Of `a X + b Y + c Z`, for independent standard normal `X`, `Y`, `Z`.
pub fn normal_triple([a, b, c]: [f64; 3], t: f64) -> f64 {
    normal(a.hypot(b).hypot(c), t)
}

/// The least `t` beyond which a distribution lies with at most this probability, or more by a relative 1e-7 at
/// most: `tail` gives `P(|X| > t)`, which never rises.
///
/// By false position in the logarithm, near which tails are straight lines, with the Illinois rule.
pub fn quantile(probability: f64, tail: impl Fn(f64) -> f64) -> f64 {
    // Positive where the tail is above, by however little.
    let excess = |t: f64| {
        let tail = tail(t);
        let excess = (tail / probability).ln();
        if tail > probability {
            excess.max(f64::MIN_POSITIVE)
        } else {
            excess
        }
    };
    let (mut low, mut high) = (0.0, 1.0);
    let mut at_low = excess(low);
    if at_low <= 0.0 {
        return 0.0;
    }
    let mut at_high = excess(high);
    while at_high > 0.0 {
        (low, at_low) = (high, at_high);
        high *= 2.0;
        if high == f64::INFINITY {
            return high;
        }
        at_high = excess(high);
    }
    let mut last = 0;
    while high - low > 1e-7 * high {
        let t = if at_low.is_finite() && at_high.is_finite() {
            let margin = 2e-8 * high;
            let secant = low + (high - low) * (at_low / (at_low - at_high));
            secant.clamp(low + margin, high - margin)
        } else {
            low.midpoint(high)
        };
        let at = excess(t);
        if at > 0.0 {
            (low, at_low) = (t, at);
            if last == 1 {
                at_high /= 2.0;
            }
            last = 1;
        } else {
            (high, at_high) = (t, at);
            if last == -1 {
                at_low /= 2.0;
            }
            last = -1;
        }
    }
    high
}
