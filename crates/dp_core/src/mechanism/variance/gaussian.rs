//! A variance with Gaussian noise.
//!
//! The proof: docs/proofs/variance-gaussian.md.

use crate::accuracy::spread::WeightedReach;
use crate::accuracy::tail::{self, quantile};
use crate::encoding::grid;
use crate::mechanism::definition::{Entry, Info};
use crate::mechanism::gaussian;
use crate::mechanism::variance::inputs::SomeVariance;
use crate::mechanism::variance::moments::{MomentNoise, SAMPLE, Variance};
use crate::random::Bits;
use crate::request::budget::{DELTA, MU, RHO};
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<SomeVariance> = Entry {
    info: Info {
        parameters: &[DELTA, MU, RHO, SAMPLE],
        ..gaussian::info(
            "Gaussian noise on three sums",
            "Dong, Roth, Su 2022, Gaussian differential privacy: the Gaussian mechanism; on the \
             sums that the D-optimal design of Kiefer, Wolfowitz 1960 leads to",
        )
    },
    plan: None,
    build: |request| {
        let noise = Gaussian::new(grid::COARSE_STEPS, request.row_mu()?);
        let (bounds, is_sample) = (request.bounds()?, request.is_sample());
        SomeVariance::of_moments(Variance::new(bounds, is_sample, noise))
    },
};

/// Independent Gaussian noise of standard deviation `G^2 / mu`, rounded to integers, on the sums of
///
/// `l0 = b0 - b1 / 2 = (G - t) (G - 2 t)`, `l1 = 2 b1 = 4 t (G - t)`, `l2 = b2 - b1 / 2 = t (2 t -
/// G)`:
///
/// the polynomials of Lagrange that are `G^2` at one of `0`, `G / 2`, `G` and 0 at the two others.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). A row shifts the three
/// sums by `(l0, l1, l2)`, or by the opposite. With `w = (2 t / G - 1)^2`, in [0, 1], and in units
/// of `G^2`, `l0^2 + l2^2 = w (1 + w) / 2` and `l1^2 = (1 - w)^2`: together `1 - 3/2 w (1 - w)`, at
/// most 1. So the shift is at most `G^2` in Euclidean distance, and Gaussian noise of that distance
/// over `mu` in each coordinate is mu-GDP (Dong, Roth, Su 2022; Lebeda 2024, Lemma 2.1). The sums
/// are integers, so adding rounded noise is rounding the noisy sums: post-processing, as is the
/// rest.
///
/// The Bernstein sums are moved by at most `G^2` as well. But `b0` and `b2` take noise on the
/// variance as `l0` and `l2` do, and the middle one by `(1/2 - mean)^2 - variance - 1/4` where `l1`
/// does by `(1/2 - mean)^2 - variance`: for the uniform distribution -1/3 against -1/12, and the variance of
/// the noise is 2.7 times smaller. Of all Gaussian noise this has the smallest volume: the three
/// points are the D-optimal design for quadratics (Kiefer, Wolfowitz 1960).
#[derive(Clone, Debug)]
pub struct Gaussian {
    steps: u64,
    mu: f64,
    noise: RoundedNormal,
}

impl Gaussian {
    /// For 1 to 2^24 steps.
    pub fn new(steps: u64, mu: f64) -> Self {
        let sensitivity = (steps * steps) as f64;
        Self {
            steps,
            mu,
            noise: RoundedNormal::new(gaussian::no_less(sensitivity / mu)),
        }
    }
}

impl MomentNoise for Gaussian {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn sums(&self, [b0, b1, b2]: [i128; 3]) -> [i128; 3] {
        let [outer0, outer2] = [b0, b2].map(|b| b.saturating_sub(b1 / 2));
        [outer0, b1.saturating_mul(2), outer2]
    }

    fn eightfold_bernstein(&self, [l0, l1, l2]: [i128; 3]) -> [i128; 3] {
        let twice = l1.saturating_mul(2);
        let [outer0, outer2] = [l0, l2].map(|l| l.saturating_mul(8).saturating_add(twice));
        [outer0, l1.saturating_mul(4), outer2]
    }

    #[inline]
    fn draw<B: Bits>(&self, bits: &mut B) -> i128 {
        self.noise.draw(bits)
    }

    fn scale(&self) -> f64 {
        1.0 / self.mu
    }

    const TAIL: fn([f64; 3], f64) -> f64 = tail::normal_triple;

    const TAIL_BESIDE_NORMAL: fn(f64, [f64; 3], f64) -> f64 =
        |sigma, [a, b, c], t| tail::normal(sigma.hypot(a).hypot(b).hypot(c), t);

    const DEVIATION: f64 = 1.0;

    fn reach(miss: f64) -> WeightedReach {
        let one = quantile(miss, |t| tail::normal(1.0, t));
        Box::new(move |[a, b, c]| one * a.hypot(b).hypot(c))
    }
}
