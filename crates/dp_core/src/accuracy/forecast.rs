//! What to expect of a mean of rows that a plan is made for.

/// What a forecast is made for: public numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// The number of rows, at least 1.
    pub rows: f64,
    /// A moment of the rows: its order, at least 2, and `psi`.
    pub moment: Option<(f64, f64)>,
}

impl Planned {
    /// The standard deviation of the mean of the rows, of a column with bounds `width` apart: at
    /// most `psi / sqrt(n)` (a moment of order 2 or higher bounds the variance by `psi^2`), or,
    /// where all that is known are the bounds, `width / (2 sqrt(n))` (Popoviciu).
    pub fn sampling_sd(&self, width: f64) -> f64 {
        self.moment.map_or(width / 2.0, |(_, psi)| psi) / self.rows.sqrt()
    }

    /// The forecast of a mechanism that clamps rows to bounds `width` apart.
    ///
    /// `answer_bias` bounds the bias where the rows lie between the bounds: this is all of it where
    /// no moment is given, by the promise that they do. With a moment, rows may lie outside and the
    /// promise is that the mean lies in the middle of the bounds: then clamping the rows has the
    /// bias of [`clip_bias`] at half the width, and an answer so far from both bounds has no other
    /// to leading order in `1 / rows`.
    ///
    /// An answer kept between bounds that the mean lies between is never farther from it, so the
    /// error needs no more than the noise. (Clamping rows does not raise their variance either:
    /// Lemma 3.2 of the paper.)
    pub fn of_clamped(&self, width: f64, noise_sd: f64, answer_bias: f64) -> Forecast {
        let sampling = self.sampling_sd(width);
        match self.moment {
            None => Forecast {
                noise_sd,
                bias: answer_bias,
                rmse: sampling.hypot(noise_sd),
                null: 0.0,
            },
            Some((moment, psi)) => {
                let bias = bias_of_clamping(moment, psi, width / 2.0);
                Forecast {
                    noise_sd,
                    bias,
                    rmse: sampling.hypot(noise_sd).hypot(bias),
                    null: 0.0,
                }
            }
        }
    }
}

/// How far from the mean of the population the answer of a mechanism may be, in the unit of the
/// column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The standard deviation of the noise.
    pub noise_sd: f64,
    /// A bound on the bias.
    pub bias: f64,
    /// A bound on the root mean squared error: rows, noise and bias together.
    pub rmse: f64,
    /// A bound on the probability that there is no answer.
    pub null: f64,
}

/// [`clip_bias`] of arguments that are in order; infinite where it is too large for a `float8`.
pub(crate) fn bias_of_clamping(moment: f64, psi: f64, c: f64) -> f64 {
    exp_above_0(psi.ln() + log_kappa(moment) + (moment - 1.0) * log_ratio(psi, c))
}

/// The logarithm of `kappa`, in a form that keeps its digits for large moments.
pub(crate) fn log_kappa(moment: f64) -> f64 {
    (moment - 1.0) * (-1.0 / moment).ln_1p() - moment.ln()
}

/// The logarithm of `a / b`, which may be outside the range of floats.
pub(crate) fn log_ratio(a: f64, b: f64) -> f64 {
    let ratio = a / b;
    if ratio.is_normal() {
        ratio.ln()
    } else {
        a.ln() - b.ln()
    }
}

/// No bound is 0.
pub(crate) fn exp_above_0(log: f64) -> f64 {
    log.exp().max(f64::from_bits(1))
}
