//! Counts where the number of rows is known already.
//!
//! The proof: docs/proofs/vector-known-n.md.

use crate::encoding::grid::Grid;
use crate::encoding::sums::Totals;
use crate::error::ParameterError;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism};
use crate::mechanism::gaussian::{self, GAUSSIAN};
use crate::mechanism::vector::items::{
    Items, LENGTH, Law, Origin, Rows, Spread, Vector, VectorAnswer, VectorMechanism,
};
use crate::privacy::cost::Loss;
use crate::random::{Bits, Generator, add_noise};
use crate::request::budget::{DELTA, MU, RHO, outside};
use crate::request::parameter::{Parameter, ParameterKind};
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<Vector> = Entry {
    info: Info {
        name: "known_n",
        what: "Lebeda 2024, Lemma 3.6: the number of rows is given, `n=`",
        guarantee: GAUSSIAN,
        loss: Loss::Gaussian,
        neighbours: ADD_REMOVE,
        parameters: &[DELTA, MU, RHO, TOTAL, LENGTH],
        example: "known_n(delta=1e-6, n=12345, d=64)",
        source: "Lebeda 2024, Better Gaussian mechanism using correlated noise: lemma 3.6",
    },
    plan: None,
    build: |request| {
        let (items, mu) = (request.items()?, request.row_mu()?);
        match request.choice.get(TOTAL.name) {
            Some(total) if (0.0..=MOST).contains(&total) => {
                Ok(Box::new(KnownN::new(items, total, mu)))
            }
            Some(_) => Err(outside(&TOTAL)),
            None => Err(ParameterError::new(
                "mech",
                "does not say how many rows there are",
                "Give a number of rows that is public or was released before, as in \
                 known_n(delta=1e-6, n=12345), or use correlated, which needs none.",
            )),
        }
    },
};

/// 2^53.
const MOST: f64 = 9_007_199_254_740_992.0;

const TOTAL: Parameter = Parameter {
    name: "n",
    kind: ParameterKind::Number,
    domain: "0 <= n <= 2^53",
    description: "the number of rows, as it is public or was released before; its error goes into \
                  the answers, half of it into each count",
};

/// Independent Gaussian noise of standard deviation `sqrt(d) G / mu` on each `2 S_j - G n`,
/// rounded; then the number of rows that was given, in the place of `n`, makes counts of them.
///
/// **Why it is private** (mu-GDP; neighbours by adding or removing one row). A row of `t_j` steps,
/// 0 to `G`, moves `2 S_j - G n` by `2 t_j - G`, which is in [-G, G]: all together by at most
/// `sqrt(d) G`, and noise of that distance over `mu` is mu-GDP (Lebeda 2024, Lemma 2.1). The
/// numbers are integers, so rounded noise is post-processing; the number that was given is public.
#[derive(Clone, Debug)]
pub struct KnownN {
    items: Items,
    total: f64,
    sigma: f64,
    noise: RoundedNormal,
}

impl KnownN {
    /// For vectors of these items, with `total` rows for all anybody knows.
    pub fn new(items: Items, total: f64, mu: f64) -> Self {
        let distance = (items.length as f64).sqrt() * items.steps as f64;
        let sigma = gaussian::no_less(distance / mu);
        Self {
            items,
            total,
            sigma,
            noise: RoundedNormal::new(sigma),
        }
    }

    /// What noise goes on: `2 S_j - G n` for each position.
    pub fn coordinates(&self, totals: &Totals) -> Vec<i128> {
        self.items.centred(totals)
    }

    /// The standard deviation of that noise, in steps.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> VectorAnswer {
        let steps = self.items.steps as f64;
        let part = |sum: i128| {
            let noisy = add_noise(sum, self.noise.draw(bits), bits) as f64;
            (noisy / steps + self.total) / 2.0
        };
        let parts = self.coordinates(totals).into_iter().map(part);
        VectorAnswer::new(self.items, Origin::Lower, Some(self.total), parts)
    }
}

impl Mechanism<Totals> for KnownN {
    type Answer = VectorAnswer;

    fn grid(&self) -> Option<Grid> {
        self.items.grid(Origin::Lower)
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> VectorAnswer {
        self.release_from(totals, generator)
    }
}

impl VectorMechanism for KnownN {
    fn rows(&self) -> Rows {
        self.items.rows()
    }

    fn spread(&self) -> Spread {
        let [half, _] = self.items.half_and_middle();
        let steps = self.items.steps as f64;
        Spread {
            sd: self.sigma / steps * half,
            covariance: 0.0,
            total_sd: Some(0.0),
            total_covariance: Some(0.0),
            law: Law::Normal,
            step: [half / steps, 0.0],
        }
    }
}
