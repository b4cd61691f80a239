//! The difference of two estimates, from their values and intervals alone: post-processing.
//!
//! **The interval.** Let `a` and `b` be independent estimates with intervals from `la` to `ua` and `lb` to `ub` of one
//! confidence. That of the difference begins at `a - b - sqrt((a - la)^2 + (ub - b)^2)` and ends likewise: each end has
//! the spread of the ends that move it (Zou, Donner 2008, the method of variance estimates recovery). For normal
//! estimates it is exact; where the tails of their noise are wider it covers more, as sums have narrower tails than
//! their parts.
//!
//! **The p value.** The least `alpha` for which such an interval would not hold 0. With the interval for one `alpha0`
//! reaching `h` from the difference towards 0, and the difference `r h` away from 0, it is that of a normal law, or of
//! a tail that falls as that of Laplace noise, `alpha0^r`: the larger of both. At `r = 1` both are `alpha0`.

use crate::accuracy::tail::{normal, quantile};

/// An estimate with an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The estimate.
    pub value: f64,
    /// The ends of its interval.
    pub ends: [f64; 2],
}

/// What two estimates differ by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference.
    pub value: f64,
    /// The ends of its interval, of the same confidence as theirs.
    pub ends: [f64; 2],
    /// How likely so large a difference is where there is none.
    pub p_value: f64,
}

/// The first less the second; their intervals miss with this probability, from above 0 to below 1.
pub fn difference(first: Between, second: Between, miss: f64) -> Difference {
    let value = first.value - second.value;
    // Of numbers made up by hand, an end may be on the wrong side.
    let room = [[first, second], [second, first]].map(|[low, high]| {
        (low.value - low.ends[0])
            .max(0.0)
            .hypot((high.ends[1] - high.value).max(0.0))
    });
    let towards_0 = if value > 0.0 { room[0] } else { room[1] };
    let far = value.abs() / towards_0;
    let p_value = if value == 0.0 {
        1.0
    } else {
        let deviations = quantile(miss, |t| normal(1.0, t));
        normal(1.0, deviations * far).max(miss.powf(far))
    };
    Difference {
        value,
        ends: [value - room[0], value + room[1]],
        p_value,
    }
}
