//! A regression with Gaussian noise.
//!
//! The proof: docs/proofs/regression-gaussian.md.

use crate::encoding::columns::Columns;
use crate::encoding::grid::PAIR_STEPS;
use crate::mechanism::definition::Entry;
use crate::mechanism::gaussian;
use crate::mechanism::regression::fit::{Fitting, Law};
use crate::mechanism::regression::parts::{Part, count, parts};
use crate::mechanism::regression::sums::{Noise, Regression, Sums};
use crate::memory;
use crate::random::Bits;
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<Regression> = Entry {
    info: gaussian::info(
        "Gaussian noise on all sums of products, least on those with `y`",
        "Dong, Roth, Su 2022, Gaussian differential privacy: the Gaussian mechanism; on the sums of a row's products of \
         two columns, which Wang 2018 (AdaSSP) releases too",
    ),
    plan: None,
    build: |request| {
        let (columns, mu) = (request.columns()?, request.row_mu()?);
        Ok(Box::new(gaussian(columns, PAIR_STEPS, mu)))
    },
};

/// How many times each sum is taken: those that coefficients hang on most, of `y` and of products with it, twice as
/// often as squares, whose noise is halved where they are read off.
pub fn weights(columns: usize) -> Vec<u8> {
    let y = columns - 1;
    let weight = |part| match part {
        Part::Rows => 4,
        Part::Column(i) if i == y => 4,
        Part::Product(_, j) if j == y => 4,
        Part::Column(_) | Part::Product(..) => 3,
        Part::Square(_) => 2,
    };
    memory::vector(count(columns), parts(columns).map(weight))
}

/// Independent Gaussian noise of standard deviation `sqrt(sum of w^2) G^2 / mu`, rounded, on the `K` sums, each times
/// its weight `w`.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). No sum is moved by a row by more than
/// `G^2`, so that all of them together, each times its weight, move by at most `sqrt(sum of w^2) G^2` in Euclidean
/// distance: at the corners of the cube by just that. Gaussian noise of that length over `mu` is `mu`-GDP (Dong, Roth,
/// Su 2022). The sums and weights are integers, so adding rounded noise is rounding the noisy sums: post-processing.
pub fn gaussian(columns: Columns, steps: u64, mu: f64) -> Sums<Independent> {
    let weights = weights(columns.count());
    let square: f64 = weights.iter().map(|w| f64::from(*w).powi(2)).sum();
    let sd = square.sqrt() / mu;
    let noise = Independent {
        length: weights.len(),
        noise: RoundedNormal::new(gaussian::no_less(sd * (steps * steps) as f64)),
    };
    let fitting = Fitting::new(columns, Law::Normal { sd }, &weights);
    Sums::new(fitting, steps, weights, noise)
}

/// The same noise on each sum.
#[derive(Clone, Debug)]
pub struct Independent {
    length: usize,
    noise: RoundedNormal,
}

impl Noise for Independent {
    fn draw<B: Bits>(&self, bits: &mut B) -> Vec<i128> {
        memory::vector(self.length, (0..self.length).map(|_| self.noise.draw(bits)))
    }
}
