//! Intervals of variances: from three noisy sums and public numbers alone, so post-processing.
//!
//! All is in parts of the way between the bounds.
//!
//! **One statistic.** The rows are seen by the sums `B0`, `B1`, `B2` of `(1 - x)^2`, `2 x (1 - x)`, `x^2`. Of the
//! noisy sums, which are these and noise `E`, let
//!
//! `A(m) = m^2 B0 - m (1 - m) B1 + (1 - m)^2 B2` (the sum of `(x - m)^2`) and `N = B0 + B1 + B2`.
//!
//! At the true mean `m` and variance `v`, `A(m) - v N` is `c0 E0 + c1 E1 + c2 E2`, with `c0 = m^2 - v`, `c1 = m^2 - m -
//! v`, `c2 = (1 - m)^2 - v`: the rows and their number cancel (Fieller 1954, one degree up). Of a sample, the sum of
//! `(x - m)^2` is `(n - 1) v`, so it is `A(m) - v (N - 1)` that is just this noise. (A sample has two rows at least; of
//! fewer, there is no variance to hold.)
//!
//! **The interval.** Let `M` hold the true mean but with probability `miss / 20`, and let such noise be beyond
//! `r(m, v)` with at most the probability `19/20 miss`. At the true `m` and `v` both hold with probability `1 -
//! miss`, and then `v` is among those for which some `m` of `M` has `|A(m) - v N| <= r(m, v)`. `A` is a parabola with
//! its vertex at the noisy mean, so what `M` adds is of second order in the noise.
//!
//! **Never too small.** `r` is not searched for its largest value but bounded. A sum of independent symmetric
//! unimodal variables is farther out where one of them is stretched (Birnbaum 1948, of peakedness), so on a
//! rectangle of `m` and `v` no `r` is above that of the largest weights there, `R`. If the true `m` and `v` lie in
//! it, `v` lies between `(min A - R) / N` and `(max A + R) / N`. Twice the rectangle is made smaller by that.
//! Then `M` is cut into cells. The true `m` lies in one, and for each end `v` is either on the inner side of
//! some number, or between that and the end, where `R` is hardly above `r`: so it is below the larger of that
//! number and what the cells give. Which number that is does not matter for what is covered.

use crate::accuracy::interval::{Ratio, Reach, STEP};

/// How far a weighted sum of noise reaches.
pub type WeightedReach = Box<dyn Fn([f64; 3]) -> f64>;

/// Independent noise on three sums that lead back to `B0`, `B1`, `B2`.
#[derive(Clone, Copy)]
pub struct TripleNoise {
    /// The scale of the noise of each sum, in rows.
    pub scale: f64,
    /// `P(|w0 X0 + w1 X1 + w2 X2| > t)`, of the weights and `t`, for noise of scale 1.
    pub tail: fn([f64; 3], f64) -> f64,
    /// The same with a normal variable of this standard deviation beside it.
    pub tail_beside_normal: fn(f64, [f64; 3], f64) -> f64,
    /// The standard deviation of such noise.
    pub deviation: f64,
    /// From a probability to the least `t` beyond which such a sum lies with no more, of the weights.
    pub reach: fn(f64) -> WeightedReach,
    /// What one row more in each of the three sums makes of `B0`, `B1`, `B2`.
    pub back: [[f64; 3]; 3],
}

impl TripleNoise {
    /// What the noise of each sum counts for in `c0 B0 + c1 B1 + c2 B2`.
    pub(crate) fn weights(&self, c: [f64; 3]) -> [f64; 3] {
        self.back
            .map(|back| c.iter().zip(back).map(|(c, back)| c * back).sum())
    }
}

/// The part of the probability of missing that is the mean's.
const OF_MEAN: f64 = 1.0 / 20.0;

/// How many cells the interval of the mean is cut into.
const CELLS: usize = 4;

/// The intervals for one probability of missing.
pub struct Spread {
    noise: TripleNoise,
    is_sample: bool,
    reach: WeightedReach,
    means: Reach,
}

impl Spread {
    /// For rows that are a sample or all there are.
    pub fn new(noise: TripleNoise, is_sample: bool, miss: f64) -> Self {
        let mean = Ratio {
            origin: 0.0,
            unit: 1.0,
            range: [0.0, 1.0],
            // The sum of x - m.
            tail: Box::new(|m, t| {
                let weights = noise.weights([-m, 0.5 - m, 1.0 - m]);
                (noise.tail)(weights, t / noise.scale)
            }),
        };
        let means = mean.reach(miss * OF_MEAN);
        Self {
            means,
            is_sample,
            reach: (noise.reach)(miss * (1.0 - OF_MEAN)),
            noise,
        }
    }

    /// The largest variance that rows between the bounds can have; of two rows, if they are a sample.
    pub fn most(&self) -> f64 {
        if self.is_sample { 0.5 } else { 0.25 }
    }

    /// `r` on a rectangle of means and variances, or more.
    fn reach(&self, means: [f64; 2], variances: [f64; 2]) -> f64 {
        // Each weight is a parabola in m, with its vertex at 0, 1/2 or 1, and a line in v.
        let middle = inside(0.5, means);
        let mut largest = [0.0f64; 3];
        for m in [means[0], middle, means[1]] {
            for v in variances {
                let c = [m * m - v, m * m - m - v, (1.0 - m).powi(2) - v];
                for (largest, weight) in largest.iter_mut().zip(self.noise.weights(c)) {
                    *largest = largest.max(weight.abs());
                }
            }
        }
        let unit = largest.into_iter().fold(0.0, f64::max);
        let weights = largest.map(|weight| weight / unit);
        (self.reach)(weights) * unit * self.noise.scale + STEP
    }

    /// The ends of the interval of the variance, from the noisy sums `B0`, `B1`, `B2`, in rows.
    pub fn around(&self, [b0, b1, b2]: [f64; 3]) -> [f64; 2] {
        let mut variances = [0.0, self.most()];
        let rows = b0 + b1 + b2;
        let divisor = if self.is_sample { rows - 1.0 } else { rows };
        if divisor <= 0.0 || divisor.is_nan() {
            return variances;
        }
        let mean = (b1 / 2.0 + b2) / rows;
        let means = self.means.around(mean, rows);
        let squares = |m: f64| m * m * b0 - m * (1.0 - m) * b1 + (1.0 - m).powi(2) * b2;
        // Least at the noisy mean, and convex.
        let least = |cell| squares(inside(mean, cell));
        let largest = |[from, to]: [f64; 2]| squares(from).max(squares(to));
        // Noisy sums are rounded numbers.
        let slack = 16.0 * f64::EPSILON * (b0.abs() + b1.abs() + b2.abs());
        let reach = |means, variances| self.reach(means, variances) + slack;

        for _ in 0..2 {
            let reach = reach(means, variances);
            variances = [
                (least(means) - reach) / divisor,
                (largest(means) + reach) / divisor,
            ]
            .map(|end| inside(end, variances));
        }
        let edge = |i| match i {
            CELLS => means[1],
            _ => means[0] + (means[1] - means[0]) * (i as f64 / CELLS as f64),
        };
        let cells: [[f64; 2]; CELLS] = std::array::from_fn(|i| [edge(i), edge(i + 1)]);
        // Near each end by itself, from where it would be if the mean were known.
        let [from, to] = variances;
        let known = [inside(mean, means); 2];
        let end = |end, side| {
            let near = (squares(known[0]) + side * reach(known, [end; 2])) / divisor;
            inside(near, variances)
        };
        let near = end(to, 1.0);
        let upper = cells
            .iter()
            .map(|cell| (largest(*cell) + reach(*cell, [near, to])) / divisor)
            .fold(near, f64::max);
        let near = end(from, -1.0);
        let lower = cells
            .iter()
            .map(|cell| (least(*cell) - reach(*cell, [from, near])) / divisor)
            .fold(near, f64::min);
        [lower, upper].map(|end| inside(end, variances))
    }
}

/// The nearest number between the two.
fn inside(number: f64, [from, to]: [f64; 2]) -> f64 {
    number.max(from).min(to)
}
