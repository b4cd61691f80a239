//! The number of distinct ids, by how full a bitmap of them is.
//!
//! The proof: docs/proofs/distinct-bitmap.md.

use crate::accuracy::interval::Intervals;
use crate::accuracy::tail::{self, quantile};
use crate::encoding::bitmap::Occupied;
use crate::encoding::grid::Grid;
use crate::error::ParameterError;
use crate::mechanism::definition::{Entry, Info, Mechanism, PURE};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::request::budget::outside;
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};
use crate::sampler::staircase::Staircase;

/// A mechanism that sees how full a bitmap of ids is.
pub trait OfIds: Mechanism<Occupied> {
    /// Its bits, as a power of two.
    fn power(&self) -> u32;
}

/// Any of them.
pub type DistinctMechanism = dyn OfIds<Answer = DistinctAnswer>;

/// What a release hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistinctAnswer {
    /// About how many ids there are. It can be negative.
    pub count: i64,
    /// The noisy number of bits that are set.
    pub set: f64,
}

/// The bits of a bitmap, as a power of two: 128 KB, and 16 MB at most.
const POWER: u32 = 20;
/// The least and the most.
pub const POWERS: [u32; 2] = [10, 27];

/// The parameter `bits`.
const BITS: Parameter = Parameter {
    name: "bits",
    kind: ParameterKind::Whole,
    domain: "a power of two from 1024 to 134217728",
    description: "the bits of the bitmap; by default 1048576, which are 128 KB and enough for 8 million ids",
};

/// The parameter `values`.
const VALUES: Parameter = Parameter {
    name: "values",
    kind: ParameterKind::Whole,
    domain: "1 to 1000000",
    description: "the most distinct ids that a person has in a group; by default 1. The query must keep to it",
};

/// The most ids of a person.
const MOST_VALUES: f64 = 1e6;

pub(crate) const ENTRY: Entry<DistinctMechanism> = Entry {
    info: Info {
        name: "bitmap",
        what: "how full a bitmap of the ids is, with two-sided geometric noise",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: "add or remove all rows of one id; with values=, those of that many ids",
        parameters: &[BITS, VALUES],
        example: "bitmap",
        source: "Whang, Vander-Zanden, Taylor 1990, linear counting; its number of bits with the noise of Ghosh, \
                 Roughgarden, Sundararajan 2009",
    },
    plan: None,
    build: |request| {
        let (power, epsilon) = (request.power()?, request.id_epsilon()?);
        Ok(Box::new(Bitmap::new(power, epsilon)))
    },
};

impl Request<'_> {
    /// The bits of the bitmap, as a power of two.
    fn power(&self) -> Result<u32, ParameterError> {
        let Some(bits) = self.choice.get(BITS.name) else {
            return Ok(POWER);
        };
        let [least, most] = POWERS;
        let powers = (least..=most).find(|power| bits == f64::from(1u32 << power));
        powers.ok_or_else(|| outside(&BITS))
    }

    /// What may be spent on one id in one group: the share of a row, and of that a `values`-th.
    ///
    /// **Why it is private**: a person with that many ids is as many steps, as in `row_epsilon`.
    fn id_epsilon(&self) -> Result<Epsilon, ParameterError> {
        let values = match self.choice.get(VALUES.name) {
            None => 1.0,
            Some(values) if (1.0..=MOST_VALUES).contains(&values) => values,
            Some(_) => return Err(outside(&VALUES)),
        };
        self.row_epsilon()?.shared(values as u64).ok_or_else(|| {
            ParameterError::new(
                "eps",
                "is too small for so many ids of a person",
                "Over values, rows and groups it must be at least 2^-20; let the query keep fewer.",
            )
        })
    }
}

/// The number of bits that are set, plus two-sided geometric noise; and about how many ids that is.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing all rows of one id). A row sets the bit of
/// its id, by a fixed public hash, whatever the other rows are. So all rows of an id set one bit, which others may have
/// set: an id more changes the number of bits that are set by 0 or 1, for every hash and who knows it. Noise `x` has
/// probability proportional to `e^(-epsilon |x|)`.
///
/// **How many ids.** Of `N` ids at random places among `B`, a bit is left empty with probability `(1 - 1/B)^N`; where
/// `z` bits are set, that is `N = ln(1 - z / B) / ln(1 - 1 / B)` (linear counting). It may be negative, as noise is.
#[derive(Clone, Debug)]
pub struct Bitmap {
    power: u32,
    epsilon: Epsilon,
    noise: Staircase,
}

impl Bitmap {
    /// Of 2 to this power of bits, 10 to 27, with noise of scale `1 / epsilon`.
    pub fn new(power: u32, epsilon: Epsilon) -> Self {
        Self {
            power,
            epsilon,
            noise: Staircase::two_sided_geometric(epsilon),
        }
    }

    fn bits(&self) -> f64 {
        f64::from(self.power).exp2()
    }

    /// The noisy number of bits that are set: this is what the guarantee is about.
    #[inline]
    pub fn noisy<B: Bits>(&self, occupied: &Occupied, bits: &mut B) -> i128 {
        add_noise(i128::from(occupied.bits), self.noise.draw(bits).value, bits)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, occupied: &Occupied, bits: &mut B) -> DistinctAnswer {
        let set = self.noisy(occupied, bits) as f64;
        DistinctAnswer {
            // The cast saturates.
            count: self.ids(set).round() as i64,
            set,
        }
    }

    /// About how many ids set that many bits; all but one at most, of a full bitmap nothing is known.
    fn ids(&self, set: f64) -> f64 {
        let bits = self.bits();
        (-set.min(bits - 1.0) / bits).ln_1p() / self.empty()
    }

    /// The logarithm of the probability that an id leaves a bit empty.
    fn empty(&self) -> f64 {
        (-1.0 / self.bits()).ln_1p()
    }

    /// How many bits that many ids set on average, and how far from that with no more than the probability
    /// `2 / e^rare`.
    ///
    /// The number of bits set by ids at independent random places has a generating polynomial with real roots alone
    /// (Vatutin, Mikhailov 1982): it is a sum of independent bits, for which Bernstein's inequality holds with its
    /// variance. That is at most `B (e^-t - (1 + t) e^-2t)`, with a little for what the formula leaves out.
    fn set_by(&self, ids: f64, rare: f64) -> [f64; 2] {
        let bits = self.bits();
        let load = ids / bits;
        let mean = -bits * (ids * self.empty()).exp_m1();
        let left = (-load).exp();
        let variance = bits * left * -((-load).exp_m1() + load * left) * 1.001 + load;
        let linear = rare / 3.0;
        [
            mean,
            linear + (linear * linear + 2.0 * variance.max(0.0) * rare).sqrt(),
        ]
    }

    /// Between how many ids there are, where that many bits are set with noise: but with the probability `miss`.
    fn between(&self, set: f64, reach: f64, miss: f64) -> [f64; 2] {
        let rare = (4.0 / miss).ln();
        // Beyond it nearly every bit is set.
        let most = 12.0 * self.bits();
        let first = |is_far: &dyn Fn(f64) -> bool| {
            let (mut near, mut far) = (0.0, most);
            if is_far(near) {
                return Some(near);
            }
            if !is_far(far) {
                return None;
            }
            while far - near > 0.5 {
                let middle = f64::midpoint(near, far);
                if is_far(middle) {
                    far = middle
                } else {
                    near = middle
                }
            }
            Some(far)
        };
        // The first number of ids that can have set that many bits, and the first that sets more.
        let lower = first(&|ids| {
            let [mean, off] = self.set_by(ids, rare);
            mean + off + reach >= set
        });
        let upper = first(&|ids| {
            let [mean, off] = self.set_by(ids, rare);
            mean - off - reach > set
        });
        [
            lower.map_or(most, |ids| (ids - 1.0).max(0.0).floor()),
            upper.map_or(f64::INFINITY, f64::ceil),
        ]
    }
}

impl Mechanism<Occupied> for Bitmap {
    type Answer = DistinctAnswer;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, occupied: &Occupied, generator: &mut Generator) -> DistinctAnswer {
        self.release_from(occupied, generator)
    }

    /// Half of the probability of missing is the noise's, half that of ids that fall on one another.
    fn intervals(&self, miss: f64) -> Option<Intervals<DistinctAnswer>> {
        let epsilon = self.epsilon.value();
        let reach = quantile(miss / 2.0, |k| tail::two_sided_geometric(epsilon, k)).ceil();
        let this = self.clone();
        Some(Box::new(move |answer| {
            let [lower, upper] = this.between(answer.set, reach, miss);
            let count = answer.count as f64;
            // No number of ids is negative.
            [lower.min(count.max(0.0)), upper.max(count.max(0.0))]
        }))
    }
}

impl OfIds for Bitmap {
    fn power(&self) -> u32 {
        self.power
    }
}
