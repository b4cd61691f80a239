//! The staircase distribution on pairs of integers.

use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::branch::Branch;
use crate::sampler::geometric::Geometric;
use crate::sampler::uniform::{below, below_wide};

/// The two-dimensional staircase of Geng, Kairouz, Oh and Viswanath (2015) on pairs of integers:
/// rings of width `steps` in the norm `m = |x| + |y|` around a core of radius `core`.
///
/// The *level* of a pair is 0 for `m < core`, and `L >= 1` for
/// `(L - 1) steps + core <= m < L steps + core`. Then `P(x, y)` is proportional to `b^level`,
/// with `b = e^-epsilon`.
///
/// With `G` steps and a core of `g`, and as `4m` pairs have norm `m >= 1`:
/// level 0 holds `g^2 + (g - 1)^2` pairs, and level `L >= 1` holds the sum of
/// `4 ((L - 1) G + g + j)` over `0 <= j < G`. That is cut in two: a part of `4 (g + j)`
/// for each `j`, in all `c1 = 2 G (2 g + G - 1)`, and a part of `4 (L - 1) G` for each `j`, in all
/// `(L - 1) c2` with `c2 = 4 G^2`. Summed over the levels with their weights, and times `z^2`
/// with `z = e^epsilon - 1`: level 0 has `c0 z^2`, the first part `c1 z`, the second `c2`. Two
/// [branches](Branch) choose among the three. Then
///
/// * at level 0 the pairs are two interleaved squares, of `g^2` and `(g - 1)^2` places;
/// * in the first part `L - 1` is geometric, and `j` has probability proportional to
///   `g + j`: uniform with weight `2 g`, or, with weight `G - 1`, the larger of two different
///   uniform numbers, which is `j` with probability proportional to `j`;
/// * in the second part `L - 2` is the sum of two geometrics, which is `k` with probability
///   proportional to `(k + 1) b^k`, and `j` is uniform;
/// * and the place among the `4m` pairs of norm `m` is uniform.
#[derive(Clone, Debug)]
pub struct Staircase2 {
    steps: u64,
    core: u64,
    ring: Branch,
    second: Branch,
    level: Geometric,
}

impl Staircase2 {
    /// For 1 to 2^32 steps. The core is brought into `1..=steps`: there must be one, and a wider one
    /// would only add noise.
    pub fn new(steps: u64, core: u64, epsilon: Epsilon) -> Self {
        let core = core.clamp(1, steps);
        let (wide, g) = (u128::from(steps), u128::from(core));
        let c0 = g * g + (g - 1) * (g - 1);
        let c1 = 2 * wide * (2 * g + wide - 1);
        let c2 = 4 * wide * wide;
        Self {
            steps,
            core,
            ring: Branch::new(epsilon, [c2, c1, 0], [0, 0, c0]),
            second: Branch::new(epsilon, [c2, 0, 0], [0, c1, 0]),
            level: Geometric::new(epsilon),
        }
    }

    /// One draw: `(x, y)`.
    #[inline]
    pub fn draw<B: Bits>(&self, bits: &mut B) -> (i128, i128) {
        if !self.ring.toss(bits) {
            return self.draw_core(bits);
        }
        let (inner, place) = if self.second.toss(bits) {
            let inner = self.level.draw(bits) + self.level.draw(bits) + 1;
            (inner, below(self.steps, bits))
        } else {
            (self.level.draw(bits), self.draw_rising(bits))
        };
        let inside = u128::from(self.core) + u128::from(place);
        on_diamond(inner * u128::from(self.steps) + inside, bits)
    }

    /// Uniform on the pairs with `m < core`. The diamond is two squares, turned by 45 degrees.
    fn draw_core<B: Bits>(&self, bits: &mut B) -> (i128, i128) {
        let g = u128::from(self.core);
        let large = below_wide(g * g + (g - 1) * (g - 1), bits) < g * g;
        let side = if large { self.core } else { self.core - 1 };
        let i = i128::from(below(side, bits));
        let j = i128::from(below(side, bits));
        (i + j - i128::from(side - 1), i - j)
    }

    /// `j` in [0, steps) with probability proportional to `core + j`.
    fn draw_rising<B: Bits>(&self, bits: &mut B) -> u64 {
        let flat = 2 * self.core;
        if below(flat + self.steps - 1, bits) < flat {
            return below(self.steps, bits);
        }
        loop {
            let (i, j) = (below(self.steps, bits), below(self.steps, bits));
            if i != j {
                return i.max(j);
            }
        }
    }
}

/// Uniform on the `4m` pairs with `|x| + |y| = m`; `m >= 1`.
#[inline]
fn on_diamond<B: Bits>(m: u128, bits: &mut B) -> (i128, i128) {
    let place = match u64::try_from(4 * m) {
        Ok(pairs) => u128::from(below(pairs, bits)),
        Err(_) => below_wide(4 * m, bits),
    };
    // From the corner of each side (included) to the next one (left out).
    let (along, side) = ((place >> 2) as i128, place & 3);
    let back = m as i128 - along;
    match side {
        0 => (back, along),
        1 => (-along, back),
        2 => (-back, -along),
        _ => (along, -back),
    }
}

/// The core, as a fraction of a step, with the least variance for each coordinate. Any fraction
/// is equally private.
///
/// For small steps the norm squared has mean `A4 / A2` and a coordinate's variance is a sixth
/// of it, where `A_k` is the mean of `(L + gamma)^k` for a geometric `L`. The derivative in
/// `gamma` has the sign of `2 A3 A2 - A4 A1`, which changes once, from minus to plus.
pub fn best_gamma(epsilon: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let gamma = 0.5 * (low + high);
        let [a1, a2, a3, a4] = moments(epsilon, gamma);
        if 2.0 * a3 * a2 < a4 * a1 {
            low = gamma
        } else {
            high = gamma
        }
    }
    high
}

/// The variance of a coordinate, in squares of `steps`, for small steps (a core of at least some
/// hundreds of them).
pub fn variance(steps: u64, core: u64, epsilon: f64) -> f64 {
    let [_, a2, _, a4] = moments(epsilon, core as f64 / steps as f64);
    a4 / a2 / 6.0
}

/// The means of `(L + gamma)^k` for `k` from 1 to 4, with `P(L)` proportional to `e^(-L epsilon)`.
pub(crate) fn moments(epsilon: f64, gamma: f64) -> [f64; 4] {
    let m = 1.0 / epsilon.exp_m1();
    let l1 = m;
    let l2 = m * (1.0 + m * 2.0);
    let l3 = m * (1.0 + m * (6.0 + m * 6.0));
    let l4 = m * (1.0 + m * (14.0 + m * (36.0 + m * 24.0)));
    let g = gamma;
    [
        l1 + g,
        l2 + g * (2.0 * l1 + g),
        l3 + g * (3.0 * l2 + g * (3.0 * l1 + g)),
        l4 + g * (4.0 * l3 + g * (6.0 * l2 + g * (4.0 * l1 + g))),
    ]
}
