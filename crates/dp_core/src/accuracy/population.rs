//! Intervals of means that come with a variance: of the rows, and of the population that they were drawn from.
//!
//! From three noisy sums and public numbers alone, so post-processing. All is in parts of the way between the bounds.
//!
//! **The rows.** Of the noisy sums `B0`, `B1`, `B2` of [`spread`](crate::accuracy::spread), `S = B1 / 2 + B2` is the
//! sum of the rows and `N = B0 + B1 + B2` their number. At the mean `m` of the rows `S - m N` is known noise (Fieller
//! 1954): see [`Ratio`].
//!
//! **The population.** Let rows be independent draws of a law with mean `u`. Then `S - u N` is that noise at `u`, and
//! the sum of `x - u` over the rows beside it. By the central limit theorem the sum is nearly normal. Its variance is
//! that of the law times the number of rows, for which `T`, the noisy sum of squares around the noisy mean, stands,
//! times `N / (N - 1)`. The interval holds each `u` where `|S - u N|` is below the quantile of both together.
//!
//! **What `T` may be off by.** Its noise is as large as that of the sums. Where it is large beside `T`, the noise of
//! `S - u N` itself is larger than what chance adds: so one standard deviation more in the place of `T` widens the
//! interval little and covers. A sum of squares is at least 0, and at most `m (1 - m) N` for rows between the bounds.
//!
//! **Persons.** With up to `k` rows of one person it is persons who are drawn. The variance of the sum is then up to
//! `k` times as large: of a person's rows, `(sum of d)^2 <= k (sum of d^2)`.

use crate::accuracy::interval::{Ratio, Reach, STEP};
use crate::accuracy::spread::TripleNoise;
use crate::accuracy::tail::quantile;

/// The ends of both intervals of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanEnds {
    /// Of the mean of the rows.
    pub of_rows: [f64; 2],
    /// Of the mean of the population that they were drawn from.
    pub of_population: [f64; 2],
}

/// From an answer to both intervals of its mean.
pub type MeanIntervals<A> = Box<dyn Fn(&A) -> MeanEnds>;

/// The intervals of means for one probability of missing.
pub struct Means {
    noise: TripleNoise,
    miss: f64,
    /// The most rows of one person.
    alike: f64,
    of_rows: Reach,
}

/// What `S - u N` is of the three sums.
const fn centred(u: f64) -> [f64; 3] {
    [-u, 0.5 - u, 1.0 - u]
}

impl Means {
    /// For rows with up to that many of one person.
    pub fn new(noise: TripleNoise, miss: f64, alike: u32) -> Self {
        let mean = Ratio {
            origin: 0.0,
            unit: 1.0,
            range: [0.0, 1.0],
            tail: Box::new(|u, t| (noise.tail)(noise.weights(centred(u)), t / noise.scale)),
        };
        Self {
            of_rows: mean.reach(miss),
            noise,
            miss,
            alike: f64::from(alike),
        }
    }

    /// Both intervals, from the noisy sums in rows: within 0 and 1.
    pub fn around(&self, [b0, b1, b2]: [f64; 3]) -> MeanEnds {
        let rows = b0 + b1 + b2;
        let mean = ((b1 / 2.0 + b2) / rows).clamp(0.0, 1.0);
        if rows <= 0.0 || mean.is_nan() {
            return MeanEnds {
                of_rows: [0.0, 1.0],
                of_population: [0.0, 1.0],
            };
        }
        let of_rows = self.of_rows.around(mean, rows);
        let sigma = self.chance([b0, b1, b2], mean);
        let end = |side| (mean + side * self.reach(side, mean, rows, sigma) / rows).clamp(0.0, 1.0);
        // Of the same noise and more: no end of it is inside of the other interval.
        MeanEnds {
            of_population: [of_rows[0].min(end(-1.0)), of_rows[1].max(end(1.0))],
            of_rows,
        }
    }

    /// The standard deviation of the sum of the rows around the mean of their population.
    fn chance(&self, [b0, b1, b2]: [f64; 3], mean: f64) -> f64 {
        let other = 1.0 - mean;
        let squares = [mean * mean, -mean * other, other * other];
        let seen = squares[0] * b0 + squares[1] * b1 + squares[2] * b2;
        let weights = self.noise.weights(squares);
        let off = self.noise.scale
            * self.noise.deviation
            * weights.map(|w| w * w).iter().sum::<f64>().sqrt();
        let rows = b0 + b1 + b2;
        let most = mean * other * rows + off;
        let sample = if rows > 2.0 { rows / (rows - 1.0) } else { 2.0 };
        (self.alike * sample * (seen + off).clamp(0.0, most)).sqrt()
    }

    /// How far in `S - u N` the end on a side is: there it is beyond that with the probability of missing.
    fn reach(&self, side: f64, mean: f64, rows: f64, sigma: f64) -> f64 {
        let scale = self.noise.scale;
        let beyond = |t: f64| {
            let u = (mean + side * t * scale / rows).clamp(0.0, 1.0);
            let weights = self.noise.weights(centred(u));
            (self.noise.tail_beside_normal)(sigma / scale, weights, t)
        };
        quantile(self.miss, beyond) * scale + STEP
    }
}
