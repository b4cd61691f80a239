//! Noise in the shape of a cube: many counts without a delta, and the number of rows with them.
//!
//! The proof: docs/proofs/vector-knorm.md.

use crate::encoding::grid::Grid;
use crate::encoding::sums::Totals;
use crate::mechanism::definition::{Built, Entry, Info, Mechanism, PURE};
use crate::mechanism::vector::items::{
    EITHER, Items, LENGTH, Law, Origin, RELATION, Relation, Rows, Spread, Vector, VectorAnswer,
    VectorMechanism,
};
use crate::memory;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::request::checked::Request;
use crate::sampler::max_norm::MaxNorm;

/// That of counts and sums.
pub(crate) const ENTRY: Entry<Vector> = entry(|request| build(request, best_origin));

/// That of means, which need the number of rows.
pub(crate) const WITH_ROWS: Entry<Vector> = entry(|request| build(request, |_| Origin::Lower));

const fn entry(build: fn(&Request) -> Built<Vector>) -> Entry<Vector> {
    Entry {
        info: Info {
            name: "knorm",
            what: "noise in the shape of a cube, without a delta, and the number of rows with it: an eighth of the \
                   variance of `laplace` for 12 counts",
            guarantee: PURE,
            loss: Loss::Pure,
            neighbours: EITHER,
            parameters: &[LENGTH, RELATION],
            example: "knorm(d=64)",
            source: "Hardt, Talwar 2010, On the geometry of differential privacy: the K-norm mechanism; of the \
                     lift of Lebeda 2024, Better Gaussian mechanism using correlated noise",
        },
        plan: None,
        build,
    }
}

fn build(request: &Request, origin: fn(&Items) -> Origin) -> Built<Vector> {
    let (items, relation, epsilon) = (request.items()?, request.relation(), request.row_epsilon()?);
    Ok(Box::new(KNorm::new(
        items,
        origin(&items),
        relation,
        epsilon,
    )))
}

/// What values count from, so that their noise is least.
///
/// With `D` numbers the noise on each has variance proportional to `(D + 1) (D + 2)`. Counted from the lower bound
/// there is one more of them, and a value is half the width times one plus the midpoint times another; from 0 it is
/// one of them, times the larger bound.
fn best_origin(items: &Items) -> Origin {
    let Some(bounds) = items.bounds else {
        return Origin::Lower;
    };
    let largest = bounds.magnitude();
    let [lo, hi] = [bounds.lo(), bounds.hi()].map(|bound| bound / largest / 2.0);
    let (half, middle) = (hi - lo, hi + lo);
    let length = items.length as f64;
    match (half * half + middle * middle) * (length + 3.0) <= length + 1.0 {
        true => Origin::Lower,
        false => Origin::Zero,
    }
}

/// Noise `x` with probability proportional to `exp(-max|x_j| epsilon / G)`: on the `d` numbers `2 S_j - G n` and on
/// `G n`, or, where values count from 0, on the `d` sums `S_j` alone. A count is then read off as
/// `((2 S_j - G n) + G n) / (2 G)`.
///
/// **Why it is private** (pure, epsilon). A row of `t_j` steps, 0 to `G`, moves `2 S_j - G n` by `2 t_j - G` and
/// `G n` by `G`; one of `-G` to `G` steps, as values that count from 0 have, moves `S_j` by as many. None of the
/// numbers moves by more than `G`, so `max|x_j|` changes by at most `G`, and the probability by a factor of at most
/// `exp(epsilon)`. Replacing a row in its group moves each number by at most `2 G`; by a row of another group those
/// of both groups by at most `G`, each with noise of its own, which multiplies the factors. Noise of twice the scale
/// covers both.
///
/// The corners of that cube are rows, so no other norm gives less noise to all of them: any other set that holds them
/// holds the cube, if it is convex (Joseph, Yu 2024).
#[derive(Clone, Debug)]
pub struct KNorm {
    items: Items,
    origin: Origin,
    /// `epsilon` over the largest move of a number.
    rate: f64,
    noise: MaxNorm,
}

/// How many numbers have noise.
fn numbers(items: &Items, origin: Origin) -> usize {
    match origin {
        Origin::Lower => items.length + 1,
        Origin::Zero => items.length,
    }
}

impl KNorm {
    /// For vectors of these items.
    pub(crate) fn new(items: Items, origin: Origin, relation: Relation, epsilon: Epsilon) -> Self {
        let numbers = numbers(&items, origin);
        let moved = match relation {
            Relation::AddRemove => items.steps,
            Relation::Replace => 2 * items.steps,
        };
        Self {
            items,
            origin,
            rate: epsilon.value() / moved as f64,
            noise: MaxNorm::new(numbers, moved, epsilon),
        }
    }

    /// The numbers that noise goes on, in steps: this is what the guarantee is about. The last one is the number of
    /// rows, where it is among them.
    pub fn coordinates(&self, totals: &Totals) -> Vec<i128> {
        match self.origin {
            Origin::Lower => {
                let centred = self.items.centred(totals).into_iter();
                let whole = self.items.whole(totals);
                memory::vector(numbers(&self.items, self.origin), centred.chain([whole]))
            }
            Origin::Zero => memory::vector(self.items.length, self.items.sums(totals)),
        }
    }

    /// The noisy numbers.
    pub fn noisy<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Vec<i128> {
        let mut numbers = self.coordinates(totals);
        let noise = self.noise.draw(bits);
        for (number, noise) in numbers.iter_mut().zip(noise) {
            *number = add_noise(*number, noise, bits);
        }
        numbers
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> VectorAnswer {
        let mut noisy = self.noisy(totals, bits);
        match self.origin {
            Origin::Lower => {
                let whole = noisy.pop().unwrap_or(0);
                VectorAnswer::of_centred(self.items, noisy, whole)
            }
            Origin::Zero => {
                let steps = self.items.steps as f64;
                let parts = noisy.into_iter().map(|sum| sum as f64 / steps);
                VectorAnswer::new(self.items, self.origin, None, parts)
            }
        }
    }

    /// The variance of the noise on a number, in squares of steps.
    ///
    /// That of a uniform integer from `-R` to `R` is `R (R + 1) / 3`. `R + 1/2` has the density of a gamma variable of
    /// `D + 1` at points that are a step apart, which are so close that its square has the same mean, `(D + 1) (D + 2) /
    /// rate^2`.
    fn variance(&self) -> f64 {
        let numbers = numbers(&self.items, self.origin) as f64;
        ((numbers + 1.0) * (numbers + 2.0) / (self.rate * self.rate) - 0.25) / 3.0
    }
}

impl Mechanism<Totals> for KNorm {
    type Answer = VectorAnswer;

    fn grid(&self) -> Option<Grid> {
        self.items.grid(self.origin)
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> VectorAnswer {
        self.release_from(totals, generator)
    }
}

impl VectorMechanism for KNorm {
    fn rows(&self) -> Rows {
        self.items.rows()
    }

    fn spread(&self) -> Spread {
        let steps = self.items.steps as f64;
        let sd = self.variance().sqrt() / steps;
        // Noise of scale 1, in units of sensitivity.
        let unit = 1.0 / (self.rate * steps);
        let law = |own: f64, shared: f64| Law::Cube {
            numbers: numbers(&self.items, self.origin),
            own: own * unit,
            shared: shared * unit,
            unit,
        };
        match self.origin {
            // The signs of two numbers are fair coins, whatever their size: they do not correlate.
            Origin::Lower => {
                let [half, middle] = self.items.half_and_middle();
                Spread {
                    law: law(half, middle),
                    ..Spread::of_centred(&self.items, sd, sd)
                }
            }
            Origin::Zero => {
                let (_, width) = self.items.scale(self.origin);
                Spread {
                    sd: width * sd,
                    covariance: 0.0,
                    total_sd: None,
                    total_covariance: None,
                    law: law(width, 0.0),
                    step: [width / steps; 2],
                }
            }
        }
    }
}
