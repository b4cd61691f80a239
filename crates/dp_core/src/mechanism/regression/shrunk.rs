//! Slopes that are nearer to 0 where noise hides them: post-processing of noisy sums.
//!
//! With few rows the noise on a slope can be larger than the slope. Least squares then answer the noise; to leave out
//! what is hidden answers 0 for what was nearly seen. Between the two lies the mean of what the slopes may be, given the
//! noisy sums. It is the one with the least square error on average over slopes of a likely size (Hoerl, Kennard 1970).
//!
//! **A direction.** The predictors have the spread `l` along it, and `t` is their covariance with `y`, both with noise on
//! them. For the slope `b` the number `t - l b` is noise alone, of variance `w`, which is public. If slopes of the
//! variance `g` are likely, the mean of `b` is `l t / (l^2 + w / g)`. `l` has noise on it, too, and so do products of the
//! predictors with those of other directions: on average the square of what is true is larger than what is seen, by the
//! variance of that noise. It goes beside `l^2`.
//!
//! **A likely size.** `g` is that of predictors that together explain the whole spread of `y`, in each of their `p`
//! directions as much of it: the spread of `y` by `p l`. It follows from the noisy sums; the spread of `y` counts less
//! its noise and that of the predictors with it, so that noise is no reason for large slopes.
//!
//! **Much data.** `w` and the variance of the noise on `l` are of order 1 over the square of the number of rows, so
//! that nothing is left of all this.
//!
//! **What is not a spread.** A direction in which the spread is not above twice its noise is as good as none: its slope
//! is 0. Intervals ask for more than that (see [`fit`](super::fit)).

use crate::mechanism::regression::fit::{Direction, Directions, Fitting, Moments, add};

impl Fitting {
    /// The slopes that are shown.
    pub(super) fn shrunk(&self, moments: &Moments, directions: &Directions) -> Vec<f64> {
        let predictors = moments.y() - 1;
        let is_spread = |of: &&Direction| of.spread > (2.0 * of.noise).max(1e-12);
        let all = directions.seen.iter().chain(&directions.unseen);
        let all = Vec::from_iter(all.filter(|of| of.spread.is_finite()).filter(is_spread));
        let whole = self.whole(moments);
        let mut slopes = vec![0.0; predictors];
        // The noise depends on the slopes: first as if they were 0.
        for _ in 0..2 {
            let residual = moments.residual(&slopes);
            slopes = vec![0.0; predictors];
            let hidden = all.iter().map(|of| {
                let z = moments.around_means(&of.along);
                (self.noise(&z, &residual) / moments.rows).powi(2)
            });
            let hidden = Vec::from_iter(hidden);
            for (of, own) in all.iter().zip(&hidden) {
                let z = moments.around_means(&of.along);
                let of_spreads = all.iter().zip(&hidden).map(|(other, variance)| {
                    let other = moments.around_means(&other.along);
                    (self.noise(&z, &other) / moments.rows).powi(2) / variance
                });
                let likely = predictors as f64 * (of.spread + of.noise) / whole;
                let beside = own * (likely + of_spreads.sum::<f64>());
                let slope = of.spread * moments.with_y(&of.along) / (of.spread.powi(2) + beside);
                add(&mut slopes, slope, &of.along);
            }
        }
        slopes
    }

    /// The spread of `y`, less its noise.
    fn whole(&self, moments: &Moments) -> f64 {
        let y = moments.y();
        let mut z = vec![0.0; y + 1];
        (z[0], z[y]) = (-moments.means[y], 1.0);
        let noise = self.noise(&z, &z) / moments.rows;
        (moments.covariance(y, y) - noise).max(noise / 2.0)
    }
}
