//! Correlated Gaussian noise: many counts at nearly a quarter of the usual variance.
//!
//! The proof: docs/proofs/vector-correlated.md.

use crate::encoding::grid::Grid;
use crate::encoding::sums::Totals;
use crate::mechanism::definition::{Entry, Info, Mechanism};
use crate::mechanism::gaussian::{self, GAUSSIAN};
use crate::mechanism::vector::items::{
    EITHER, Items, LENGTH, Origin, RELATION, Relation, Rows, Spread, Vector, VectorAnswer,
    VectorMechanism,
};
use crate::privacy::cost::Loss;
use crate::random::{Bits, Generator, add_noise};
use crate::request::budget::{DELTA, MU, RHO, outside};
use crate::request::parameter::{Parameter, ParameterKind};
use crate::sampler::normal::RoundedNormal;

pub(crate) const ENTRY: Entry<Vector> = Entry {
    info: Info {
        name: "correlated",
        what: "Lebeda 2024, Algorithm 1: Gaussian noise that is partly common to all",
        guarantee: GAUSSIAN,
        loss: Loss::Gaussian,
        neighbours: EITHER,
        parameters: &[DELTA, MU, RHO, WEIGHT, LENGTH, RELATION],
        example: "correlated(delta=1e-6, d=64)",
        source: "Lebeda 2024, Better Gaussian mechanism using correlated noise: algorithm 1 in the \
                 representation of lemma 3.3; grouped, algorithm 2",
    },
    plan: None,
    build: |request| {
        let (items, relation, mu) = (request.items()?, request.relation(), request.row_mu()?);
        let weight = match request.choice.get(WEIGHT.name) {
            None => best_weight(&items, relation),
            Some(weight) if (LEAST..=MOST).contains(&weight) => weight,
            Some(_) => return Err(outside(&WEIGHT)),
        };
        Ok(Box::new(Correlated::new(items, relation, weight, mu)))
    },
};

const LEAST: f64 = 1.0 / (1 << 20) as f64;
const MOST: f64 = (1 << 20) as f64;

const WEIGHT: Parameter = Parameter {
    name: "c",
    kind: ParameterKind::Number,
    domain: "2^-20 <= c <= 2^20",
    description: "how much of the budget goes to the number of rows: by default what makes the \
                  counts best, the fourth root of d (with relation=replace the square root), and \
                  for values far from 0 more; more makes the total better and the counts worse",
};

/// The weight with the least variance of each answer.
///
/// Counts: `d^(1/4)` (Lebeda 2024, Lemma 3.5). A sum of values is `r g + m n`, with `r` half the
/// width of the bounds and `m` their midpoint, so its variance `(d + c^2) (r^2 + m^2 / c^2) / mu^2`
/// is least at `c^2 = sqrt(d) |m| / r`. Where that is below `sqrt(d)`, because the bounds have
/// 0 between them, `sqrt(d)` is kept: the number of rows would become useless for little gain.
/// With `relation=replace` the sensitivity does not grow until `c^2 = d`, so that is the least.
fn best_weight(items: &Items, relation: Relation) -> f64 {
    let length = items.length as f64;
    let least = match relation {
        Relation::AddRemove => length.sqrt(),
        Relation::Replace => length,
    };
    let ratio = items.bounds.map_or(1.0, |bounds| {
        // Halves first: the bounds may be near the largest floats.
        let (lo, hi) = (bounds.lo() / 2.0, bounds.hi() / 2.0);
        (hi + lo).abs() / (hi - lo)
    });
    // Bounds of tiny width far from 0 would ask for more than is allowed.
    (length.sqrt() * ratio).max(least).sqrt().min(MOST)
}

/// Independent Gaussian noise on the `d` numbers `g_j = 2 S_j - G n` and on `G n`, rounded. With
/// `D` the sensitivity (below), the standard deviation is `D G / mu` on each `g_j` and `1 / c` of
/// that on `G n`. A count is then read off as `(g_j + G n) / (2 G)`: the noise of `n`, common to
/// all counts, is the correlation.
///
/// **Why it is private** (mu-GDP). A row of `t_j` steps, 0 to `G`, contributes `2 t_j - G` to `g_j`,
/// which is in [-G, G], and `c G` to `c G n`. Noise goes on these `d + 1` coordinates with one
/// standard deviation `D G / mu` (that on `c G n`, divided by `c`, is the noise on `G n`), which is
/// mu-GDP if no neighbour moves them by more than `D G` in Euclidean distance (Lemma 2.1 of Lebeda
/// 2024):
///
/// * adding or removing a row moves them by at most `sqrt(d + c^2) G` (Lemma 3.2);
/// * replacing a row by one of the same group leaves `n` and moves each `g_j` by at most `2 G`, so
///   by at most `sqrt(4 d) G`; by one of another group it moves two groups' coordinates, by at most
///   `sqrt(2 (d + c^2)) G`. `D` is the larger; with `c = sqrt(d)` both are `2 sqrt(d)` (Lemma 4.2).
///
/// The numbers are integers, so rounded noise is post-processing, and so are counts and totals.
///
/// For replacing with `c = sqrt(d)` the noise common to the counts of a group has variance
/// `1 / mu^2`, a quarter of what the paper's Algorithm 2 prints: its proof (the noise on `c n`
/// over `2 c`) gives `4 d / mu^2` over `4 d`. What it prints is the variance of the group's size.
#[derive(Clone, Debug)]
pub struct Correlated {
    items: Items,
    /// Standard deviations in steps.
    sigma: f64,
    sigma_whole: f64,
    noise: RoundedNormal,
    noise_whole: RoundedNormal,
}

impl Correlated {
    /// For vectors of these items.
    pub fn new(items: Items, relation: Relation, weight: f64, mu: f64) -> Self {
        let (length, square) = (items.length as f64, weight * weight);
        let distance = match relation {
            Relation::AddRemove => length + square,
            Relation::Replace => (4.0 * length).max(2.0 * (length + square)),
        }
        .sqrt();
        let sigma = gaussian::no_less(distance * items.steps as f64 / mu);
        let sigma_whole = gaussian::no_less(sigma / weight);
        Self {
            items,
            sigma,
            sigma_whole,
            noise: RoundedNormal::new(sigma),
            noise_whole: RoundedNormal::new(sigma_whole),
        }
    }

    /// What noise goes on: `2 S_j - G n` for each position, and `G n`.
    pub fn coordinates(&self, totals: &Totals) -> (Vec<i128>, i128) {
        (self.items.centred(totals), self.items.whole(totals))
    }

    /// The standard deviations of that noise, in steps.
    pub fn sigmas(&self) -> (f64, f64) {
        (self.sigma, self.sigma_whole)
    }

    /// The noisy coordinates: this is what the guarantee is about.
    pub fn noisy<B: Bits>(&self, totals: &Totals, bits: &mut B) -> (Vec<i128>, i128) {
        let (mut centred, whole) = self.coordinates(totals);
        for number in &mut centred {
            *number = add_noise(*number, self.noise.draw(bits), bits);
        }
        let noise = self.noise_whole.draw(bits);
        (centred, add_noise(whole, noise, bits))
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> VectorAnswer {
        let (centred, whole) = self.noisy(totals, bits);
        VectorAnswer::of_centred(self.items, centred, whole)
    }
}

impl Mechanism<Totals> for Correlated {
    type Answer = VectorAnswer;

    fn grid(&self) -> Option<Grid> {
        self.items.grid(Origin::Lower)
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> VectorAnswer {
        self.release_from(totals, generator)
    }
}

impl VectorMechanism for Correlated {
    fn rows(&self) -> Rows {
        self.items.rows()
    }

    /// A value is `r g + m n`; for counts, Corollary 3.1 of Lebeda 2024.
    fn spread(&self) -> Spread {
        let steps = self.items.steps as f64;
        Spread::of_centred(&self.items, self.sigma / steps, self.sigma_whole / steps)
    }
}
