//! Answers that are drawn together: what one vector of numbers costs, for each answer to have no more noise than alone.
//!
//! The proof: docs/proofs/together.md.
//!
//! A person is a row of numbers from -1 to 1, and each number is released with noise. With Gaussian noise of variance
//! `v / mu^2` a number costs `1 / v` of `mu^2`; the costs add up. In the shape of a cube, `D` numbers with the variance
//! `v / eps^2` cost `sqrt((D + 1) (D + 2) / (3 v))` of `eps` together.

use crate::sampler::staircase::least_variance;

/// The most noise that a number of the vector may have for its answer, in variances of a count alone:
/// `own - shared u` where the number of all rows, which the answer needs too, has the variance `u`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    own: f64,
    shared: f64,
}

impl Room {
    /// Of a mean: the sum of its numbers, from -1 to 1 around the middle of the bounds. A mean alone has this noise.
    pub const MEAN: Self = Self::alone(2.0);

    /// Of the number of rows that a mean is of, where it is a number of its own. A mean alone has this noise.
    pub const ROWS: Self = Self::alone(2.0);

    /// Of that number, where it is half of the sum of a number and of the number of all rows.
    pub const ROWS_OF_ALL: Self = Self {
        own: 8.0,
        shared: 1.0,
    };

    /// Of a count, which is half of the sum of a number and of the number of all rows.
    pub const COUNT: Self = Self {
        own: 4.0,
        shared: 1.0,
    };

    const fn alone(own: f64) -> Self {
        Self { own, shared: 0.0 }
    }

    /// Of a sum between bounds, which is `r g + m n`, with `r` half the width and `m` the middle of the least range that
    /// has the bounds and 0 in it. Alone it has the noise of the larger bound.
    pub fn sum(lo: f64, hi: f64) -> Self {
        let (lo, hi) = (lo.min(0.0), hi.max(0.0));
        let half = (hi / 2.0 - lo / 2.0) / hi.max(-lo);
        Self {
            own: 1.0 / (half * half),
            shared: ((1.0 - half) / half).powi(2),
        }
    }

    /// The variance of the number, where that of the number of all rows is `u`.
    pub fn at(&self, u: f64) -> f64 {
        self.own - self.shared * u
    }
}

/// The variance of the number of all rows at which these cost least, at most `most`.
///
/// The price is a convex function of it, so that its slope rises: from below 0, as the number of all rows is dear where
/// it is exact.
pub fn best_shared(rooms: &[Room], most: f64) -> f64 {
    let slope = |u: f64| {
        let numbers = rooms.iter().map(|room| room.shared / room.at(u).powi(2));
        numbers.sum::<f64>() - 1.0 / (u * u)
    };
    let ends = rooms.iter().filter(|room| room.shared > 0.0);
    let end = ends.map(|room| room.own / room.shared);
    let end = end.fold(f64::INFINITY, f64::min);
    if most < end && slope(most) <= 0.0 {
        return most;
    }
    let (mut low, mut high) = (0.0, most.min(end));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match slope(middle) <= 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// How many times the price of one count these cost with Gaussian noise; with the number of all rows, if it is among
/// them.
pub fn price_of_gaussian(rooms: &[Room], shared: Option<f64>) -> f64 {
    let u = shared.unwrap_or_default();
    let numbers = rooms.iter().map(|room| 1.0 / room.at(u));
    numbers.sum::<f64>() + shared.map_or(0.0, f64::recip)
}

/// How many times the epsilon of one answer these numbers cost in the shape of a cube, for none to have more noise than
/// an answer has alone at `epsilon`, for a person's row.
///
/// A count is half of the sum of two numbers, and so is a sum between 0 and a bound. A mean is a number over a number of
/// rows, which alone are those of `hourglass`: in the middle its noise is half of that of `x1 - x2`, whose variance is
/// `4 s - 2 c` where that of a sum alone is `s` and that of a count alone `c`.
pub fn price_of_cube(numbers: usize, epsilon: f64) -> f64 {
    let tail = (-epsilon).exp();
    let count = 2.0 * tail / (-epsilon).exp_m1().powi(2);
    let sum = least_variance(epsilon);
    let room = (2.0 * count).min(2.0 * sum).min(4.0 * sum - 2.0 * count);
    let numbers = numbers as f64;
    ((numbers + 1.0) * (numbers + 2.0) / (3.0 * room)).sqrt() / epsilon
}
