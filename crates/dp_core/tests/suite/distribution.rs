//! The distributions that the mechanisms are meant to follow, written down again from the literature,
//! without a look at the samplers.

/// Level of a norm: 0 below `core`, then one more for each `steps`.
pub fn level(norm: i64, steps: i64, core: i64) -> i64 {
    if norm < core {
        0
    } else {
        (norm - core) / steps + 1
    }
}

/// Level of `x`, with its sign.
pub fn signed_level(x: i64, steps: i64, core: i64) -> i64 {
    x.signum() * level(x.abs(), steps, core)
}

/// How many times a hourglass pair `(x, k)` is less likely than the origin, as a power of
/// `e^epsilon`.
pub fn hourglass(x: i64, k: i64, steps: i64, core: i64) -> i64 {
    let k0 = signed_level(x, steps, core);
    k0.abs() + (k - k0).abs()
}

/// Two-sided geometric, normalised.
pub fn two_sided_geometric(x: i64, epsilon: f64) -> f64 {
    (epsilon / 2.0).tanh() * (-epsilon * x.abs() as f64).exp()
}

/// Geometric, normalised.
pub fn geometric(k: i64, epsilon: f64) -> f64 {
    -(-epsilon).exp_m1() * (-epsilon * k as f64).exp()
}

/// Univariate staircase, normalised.
pub fn staircase(x: i64, steps: i64, core: i64, epsilon: f64) -> f64 {
    let all = (2 * core - 1) as f64 + 2.0 * steps as f64 / epsilon.exp_m1();
    (-epsilon * level(x.abs(), steps, core) as f64).exp() / all
}

/// Proportional to `exp(-rate max|x_j|)`, normalised.
pub fn max_norm(x: &[i64], rate: f64) -> f64 {
    let points = |r: i64| (2.0 * r as f64 + 1.0).powi(x.len() as i32);
    let cube = |r: i64| {
        if r == 0 {
            1.0
        } else {
            points(r) - points(r - 1)
        }
    };
    let weight = |r: i64| (-rate * r as f64).exp();
    let all: f64 = (0..(60.0 / rate) as i64 + 60)
        .map(|r| cube(r) * weight(r))
        .sum();
    let largest = x.iter().map(|x| x.abs()).max().unwrap_or(0);
    weight(largest) / all
}

/// Hourglass pair, normalised.
pub fn hourglass_pair(x: i64, k: i64, steps: i64, core: i64, epsilon: f64) -> f64 {
    let k0 = signed_level(x, steps, core);
    staircase(x, steps, core, epsilon) * two_sided_geometric(k - k0, epsilon)
}

/// Two-dimensional staircase, normalised.
pub fn staircase2(x: i64, y: i64, steps: i64, core: i64, epsilon: f64) -> f64 {
    // Summing over the borders r of the levels: the diamond below r holds 2r^2 - 2r + 1 points.
    let diamond = |r: f64| 2.0 * r * r - 2.0 * r + 1.0;
    // (1 - b) * the sum of b^L * diamond(core + L * steps), by the geometric's moments.
    let (g, s, m) = (core as f64, steps as f64, 1.0 / epsilon.exp_m1());
    let squares = m * (1.0 + 2.0 * m);
    let all = diamond(g) + (4.0 * g * s - 2.0 * s) * m + 2.0 * s * s * squares;
    (-epsilon * level(x.abs() + y.abs(), steps, core) as f64).exp() / all
}

#[test]
fn laws_sum_to_one() {
    for epsilon in [0.3, 1.0, 3.0] {
        for (steps, core) in [(1, 1), (5, 2), (5, 5), (7, 1)] {
            let reach = (40.0 / epsilon) as i64 * steps + core;
            let line = || -reach..=reach;
            let near =
                |sum: f64| assert!((sum - 1.0).abs() < 1e-12, "{epsilon} {steps} {core} {sum}");
            near(line().map(|x| staircase(x, steps, core, epsilon)).sum());
            near(line().map(|x| two_sided_geometric(x, epsilon)).sum());
            near((0..=reach).map(|x| geometric(x, epsilon)).sum());
            let ring = |m: i64| staircase2(m, 0, steps, core, epsilon) * (4 * m).max(1) as f64;
            near((0..=reach).map(ring).sum());
        }
    }
}
