//! A quantile with an interval around it, from one release.
//!
//! The proof: docs/proofs/quantile-estimate.md.

use crate::accuracy::tail::{self, laplace_pair, normal_and_laplace_triple};
use crate::encoding::grid::Grid;
use crate::encoding::ranks::Bins;
use crate::encoding::sums::Totals;
use crate::mechanism::definition::{Entry, Info, Mechanism};
use crate::mechanism::quantile::even::Even;
use crate::mechanism::quantile::exponential::{self, Budget, Stretch};
use crate::mechanism::quantile::parameters::USUAL;
use crate::mechanism::quantile::ranks::Scores;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::request::budget::outside;
use crate::request::ranks::with_interval::{ALL, CHECK, END, QUANTILE, ROWS, SQUARES};
use crate::request::ranks::{Fraction, asked};
use crate::sampler::staircase::Staircase;
use crate::sampler::weighted::Weighted;

/// The mechanism of a call of `dp_quantile_estimate`: `em`, with the same parameters.
pub(crate) const ESTIMATOR: Entry<QuantileEstimator> = Entry {
    info: Info {
        loss: Loss::CountsAndRange,
        ..exponential::ENTRY.info
    },
    plan: None,
    build: |request| {
        let bins = request.bins(USUAL)?;
        let quantiles = asked(request.ranks)?;
        let quantile = quantiles.first().copied().unwrap_or(0.5);
        let estimator = QuantileEstimator::new(bins, quantile, request.of_choices()?);
        Ok(Box::new(
            estimator.ok_or_else(|| outside(&exponential::RHO))?,
        ))
    },
};

/// An end that is chosen is too near to be certified with about this probability, both ends together.
const SHORT: f64 = 0.02;

/// What of the probability of missing goes to a number of rows that is far too small.
const OF_ROWS: f64 = 0.1;

/// More rows than there are.
const MOST_ROWS: f64 = (1u64 << 62) as f64;

/// A quantile with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileAnswer {
    /// The quantile.
    pub value: f64,
    /// Where its interval begins.
    pub lower: f64,
    /// Where it ends.
    pub upper: f64,
}

/// How far in rows an end is from the quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankReach {
    /// An end is certified where the noisy numbers of rows say that it is at least that many rows away.
    pub certain: f64,
    /// An end is chosen about that many rows away.
    pub chosen: f64,
}

/// A quantile, and two values around it, between which the quantile of the law that the rows were drawn from lies with
/// a given probability.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Seven noisy numbers share epsilon:
/// the number of rows; three places, chosen as [`Em`](exponential::Em) does, at the quantile's rank and some rows below
/// and above it, where how many follows from the noisy number of rows; and how many rows are below, in and above the
/// bins between the two ends. A row is in one of these three, so they share one part.
///
/// **Why it holds what it says.** Let the lower end be above the law's quantile. Then at least as many rows are below
/// the end as below the quantile, whose number is binomial, whatever the end was chosen by. So the noisy number can say
/// that the end is far below the quantile's rank only if the binomial number and the noise on these counts are off by
/// so much together, whose probability is known. Any other end is replaced by the bound.
#[derive(Clone, Debug)]
pub struct QuantileEstimator {
    bins: Bins,
    quantile: Fraction,
    /// Epsilon of the release; each number has a share.
    epsilon: Epsilon,
    miss: f64,
    /// The most rows that are alike, as they come of one person.
    alike: u32,
}

impl QuantileEstimator {
    /// Of this quantile, with an interval that misses with a probability of 5%; `None` where an epsilon would be below
    /// 2^-20.
    pub fn new(bins: Bins, quantile: f64, budget: Budget) -> Option<Self> {
        let epsilon = match budget {
            Budget::Sum(epsilon) => epsilon,
            Budget::Squares(squares) => {
                let root = (squares / SQUARES).sqrt() * (1.0 - 1e-15);
                Epsilon::new(Some(root.min(Epsilon::MAX))).ok()?
            }
        };
        Some(Self {
            bins,
            quantile: Fraction::near(quantile),
            epsilon,
            miss: 0.05,
            alike: 1,
        })
    }

    /// The same with this probability of missing.
    #[must_use]
    pub fn missing(self, miss: f64) -> Self {
        Self { miss, ..self }
    }

    /// As above, for rows with up to that many of one person: it is persons who are drawn from a law.
    #[must_use]
    pub fn of_persons(self, rows: u32) -> Self {
        Self {
            alike: rows,
            ..self
        }
    }

    /// The bins.
    pub fn bins(&self) -> &Bins {
        &self.bins
    }

    /// How far the quantile is from what it hides: see
    /// [`RankMechanism::reach_evenly`](exponential::RankMechanism::reach_evenly).
    pub fn reach_evenly(&self, rows: f64, draws: usize, miss: f64) -> Option<f64> {
        let q = self.quantile.value();
        let fall = self.epsilon.value() * QUANTILE as f64 / ALL as f64 / 2.0 / q.max(1.0 - q);
        let draw = |even: &mut Even| vec![even.choose([0.0, 1.0], q, fall)];
        Even::new(rows).reach(&self.bins, &[q], draws, miss, draw)
    }

    /// The reach of the lower end and of the upper one, of about that many rows.
    pub fn reaches(&self, count: f64) -> [RankReach; 2] {
        let share = |part: u64| self.epsilon.value() * part as f64 / ALL as f64;
        let q = self.quantile.value();
        let rows = count.max(0.0) + (1.0 / (OF_ROWS * self.miss)).ln() / share(ROWS);
        let alike = f64::from(self.alike);
        let sigma = (alike * q * (1.0 - q) * rows).sqrt();
        let miss = (1.0 - OF_ROWS) * self.miss;
        // What a binomial number is off by more than a normal one (the next term of the expansion of Cornish and
        // Fisher), and geometric noise by more than Laplace noise.
        let skew = alike * (2.0 + 2.0 * (2.0 / miss).ln() / 6.0 * (1.0 - 2.0 * q).abs());
        let choice = 2.0 * q.max(1.0 - q) / share(END);
        // The rows below, in and above the interval, as parts of the rank of each end.
        [[1.0 - q, q, q], [1.0 - q, 1.0 - q, q]].map(|parts| {
            let scales = parts.map(|part| part / share(CHECK));
            let off = tail::quantile(miss, |t| normal_and_laplace_triple(sigma, scales, t));
            let certain = (off + skew).min(MOST_ROWS);
            let [a, b, c] = scales;
            let noise = a.hypot(b).hypot(c);
            let short = tail::quantile(SHORT, |t| laplace_pair(choice, noise, t));
            let chosen = (certain + short).ceil().min(MOST_ROWS);
            RankReach { certain, chosen }
        })
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> QuantileAnswer {
        let rows = Stretch::whole(&self.bins, totals);
        let sensitivity = self.quantile.larger_part();
        let sampler = |part| {
            let unit = self.epsilon.part(part, ALL * sensitivity);
            Weighted::new(unit.half())
        };
        let noise = |part| Staircase::two_sided_geometric(self.epsilon.part(part, ALL));

        let all: i128 = rows.counts.iter().sum();
        let count = add_noise(all, noise(ROWS).draw(bits).value, bits) as f64;
        let [below, above] = self.reaches(count);

        let scores = |off: i128| {
            let counts = &rows.counts;
            move |far| Scores::new(counts, self.quantile, far).higher(off)
        };
        let (bin, place) = rows.choose(&sampler(QUANTILE), scores(0), bits);
        let value = self.bins.value(bin, rows.part(bin, place));
        let ends = sampler(END);
        let (one, _) = rows.choose(&ends, scores(-(below.chosen as i128)), bits);
        let (other, _) = rows.choose(&ends, scores(above.chosen as i128), bits);
        let [first, last] = [one.min(other), one.max(other)];

        let check = noise(CHECK);
        let counts = [
            &rows.counts[..first],
            &rows.counts[first..=last],
            &rows.counts[last + 1..],
        ];
        let noisy = counts.map(|counts| {
            let exact = counts.iter().sum();
            add_noise(exact, check.draw(bits).value, bits) as f64
        });
        let (q, [outside, inside, beyond]) = (self.quantile.value(), noisy);
        let from_lower = q * (inside + beyond) - (1.0 - q) * outside;
        let from_upper = (1.0 - q) * (outside + inside) - q * beyond;
        let grid = self.bins.grid();
        let lower = if from_lower >= below.certain {
            self.bins.value(first, 0.0)
        } else {
            grid.lo()
        };
        let upper = if from_upper >= above.certain {
            self.bins.value(last, 1.0)
        } else {
            grid.hi()
        };
        QuantileAnswer {
            value,
            lower: lower.min(value),
            upper: upper.max(value),
        }
    }
}

impl Mechanism<Totals> for QuantileEstimator {
    type Answer = QuantileAnswer;

    fn grid(&self) -> Option<Grid> {
        Some(self.bins.grid())
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> QuantileAnswer {
        self.release_from(totals, generator)
    }
}
