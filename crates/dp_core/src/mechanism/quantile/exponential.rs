//! The exponential mechanism over ranks, for one quantile or many.
//!
//! The proof: docs/proofs/quantile-exponential.md.

use crate::encoding::grid::Grid;
use crate::encoding::ranks::Bins;
use crate::encoding::sums::Totals;
use crate::error::ParameterError;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism};
use crate::mechanism::quantile::even::Even;
use crate::mechanism::quantile::parameters::{BINS, GRID, STEP, USUAL};
use crate::mechanism::quantile::ranks::{PLACES, Scores, rows_below_middle};
use crate::memory;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, noted};
use crate::request::budget::outside;
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};
use crate::request::ranks::{Fraction, Rest, asked};
use crate::sampler::weighted::Weighted;

/// The parameter `rho`.
pub(super) const RHO: Parameter = Parameter {
    name: "rho",
    kind: ParameterKind::Number,
    domain: "1e-12 <= rho <= 300, and enough of it for each row, group and level",
    description: "the budget is rho (zero-concentrated differential privacy), of which the exponential mechanism needs \
                  eps^2 / 8; the eps of the call is NULL",
};

pub(crate) const ENTRY: Entry<dyn RankMechanism> = Entry {
    info: Info {
        name: "em",
        what: "the exponential mechanism over ranks, recursively for several (Kaplan, Schnapp, \
               Stemmer 2022)",
        guarantee: "eps-differential privacy; with rho= it is rho-zCDP",
        loss: Loss::BoundedRange,
        neighbours: ADD_REMOVE,
        parameters: &[GRID, BINS, STEP, RHO],
        example: "em",
        source: "McSherry, Talwar 2007, Mechanism design via differential privacy; Smith 2011; for several quantiles \
                 Kaplan, Schnapp, Stemmer 2022, Differentially private approximate quantiles; for rho Cesar, Rogers \
                 2021, Bounding, concentrating, and truncating",
    },
    plan: None,
    build: |request| {
        let bins = request.bins(USUAL)?;
        let quantiles = asked(request.ranks)?;
        let em = Em::new(bins, &quantiles, request.of_choices()?);
        Ok(Box::new(em.ok_or_else(|| outside(&RHO))?))
    },
};

/// A mechanism of rows that are counted in the bins of a line.
pub trait RankMechanism: Mechanism<Totals, Answer = Vec<f64>> {
    /// The bins.
    fn bins(&self) -> &Bins;

    /// How far from what they hide answers are but with the probability `miss`, the farthest of several: of that many
    /// rows that are spread evenly between the bounds, by this number of draws. `None` where nothing says so.
    fn reach_evenly(&self, _rows: f64, _draws: usize, _miss: f64) -> Option<f64> {
        None
    }
}

/// What the choices that a row takes part in may spend together.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    /// An epsilon, from which their shares add up.
    Sum(Epsilon),
    /// The sum of the squares of their epsilons: 8 rho, for a row of a group.
    Squares(f64),
}

impl Budget {
    /// The unit by which the logarithm of a weight falls with the score: a share of epsilon over twice the sensitivity,
    /// rounded down. `None` where epsilon would be too small or too large.
    fn unit(self, (numerator, denominator): (u64, u64), sensitivity: u64) -> Option<Epsilon> {
        match self {
            Self::Sum(epsilon) => Some(epsilon.part(numerator, denominator * sensitivity)),
            Self::Squares(squares) => {
                let share = squares * numerator as f64 / denominator as f64;
                let epsilon = Epsilon::new(Some(share.sqrt() * (1.0 - 1e-15))).ok()?;
                Some(epsilon.part(1, sensitivity))
            }
        }
        .map(|epsilon| epsilon.half())
    }
}

impl Request<'_> {
    /// What the choices may spend on a row of a group.
    pub(super) fn of_choices(&self) -> Result<Budget, ParameterError> {
        let Some(rho) = self.choice.get(RHO.name) else {
            return Ok(Budget::Sum(self.row_epsilon()?));
        };
        if !(1e-12..=300.0).contains(&rho) {
            return Err(outside(&RHO));
        }
        // Groups add up in rho, rows in epsilon.
        let unit = self.unit()?;
        let squares = 8.0 * rho / f64::from(unit.groups) / f64::from(unit.rows).powi(2);
        Ok(Budget::Squares(squares * self.overspent.factor().powi(2)))
    }
}

/// Chooses a place near each quantile.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). One choice draws a place with a
/// probability proportional to `exp(-e s / (2 D))`, where a row moves each score `s` by at most `D` (see [`Scores`]): a
/// weight and the sum of all move by a factor within `e^(e/2)` each, so a probability by one within `e^e`.
///
/// For several quantiles the one in the middle is chosen first, at a share of epsilon. The place cuts the rows in two:
/// those of the bins below it and a part of its own bin's, and the rest. The quantiles below are then found among the
/// former, those above among the latter. One row more is one row more on one of the two sides, and on the other none,
/// wherever the cut is: so at each level one choice at most sees it, and the shares add up to epsilon along every way
/// (see [`Rest`]).
///
/// **In zCDP** a choice costs `e^2 / 8`, as the logarithms of its ratios range over `e` only (Cesar, Rogers 2021).
///
/// Answers are values of bins, which are public, and ascend as the quantiles do.
#[derive(Clone, Debug)]
pub struct Em {
    bins: Bins,
    first: Option<Box<Node>>,
}

/// A quantile among some rows, and those that are found among the rows on its two sides.
#[derive(Clone, Debug)]
struct Node {
    quantile: Fraction,
    /// By how much the logarithm of a weight falls with the score.
    unit: Epsilon,
    below: Option<Box<Node>>,
    above: Option<Box<Node>>,
}

impl Node {
    /// Of quantiles of all rows, where those of this node lie between two of them: as floats, for they are public, and
    /// in ascending order, so that no two are alike. No node of none; `None` where a budget is too small or too large
    /// to be drawn with.
    fn new(
        quantiles: &[f64],
        between: [f64; 2],
        budget: Budget,
        rest: Rest,
    ) -> Option<Option<Box<Self>>> {
        let (below, others) = quantiles.split_at(quantiles.len() / 2);
        let Some((middle, above)) = others.split_first() else {
            return Some(None);
        };
        let [from, to] = between;
        let quantile = Fraction::near((middle - from) / (to - from));
        let (share, rest) = rest.share(quantiles.len());
        let unit = budget.unit(share, quantile.larger_part())?;
        Some(Some(Box::new(Self {
            quantile,
            unit,
            below: Self::new(below, [from, *middle], budget, rest)?,
            above: Self::new(above, [*middle, to], budget, rest)?,
        })))
    }
}

impl Node {
    /// The quantiles among all rows, where those of this node lie between two of them.
    fn wanted(&self, [from, to]: [f64; 2], wanted: &mut Vec<f64>) {
        let at = from + (to - from) * self.quantile.value();
        if let Some(below) = &self.below {
            below.wanted([from, at], wanted);
        }
        wanted.push(at);
        if let Some(above) = &self.above {
            above.wanted([at, to], wanted);
        }
    }

    /// What is chosen among rows that are spread evenly over a part of the line.
    fn choose_evenly(&self, [from, to]: [f64; 2], even: &mut Even, chosen: &mut Vec<f64>) {
        let target = from + (to - from) * self.quantile.value();
        // A row is as many units of the score as the denominator.
        let fall = self.unit.value() * self.quantile.denominator as f64;
        let at = even.choose([from, to], target, fall);
        if let Some(below) = &self.below {
            below.choose_evenly([from, at], even, chosen);
        }
        chosen.push(at);
        if let Some(above) = &self.above {
            above.choose_evenly([at, to], even, chosen);
        }
    }
}

/// Some bins that lie side by side; of the first and of the last, perhaps only a part.
pub(super) struct Stretch {
    /// The number of the first one.
    first: usize,
    /// The rows of each.
    pub counts: Vec<i128>,
    /// Where in the first bin it begins, and where in the last it ends, from 0 to 1. Public, as it follows from
    /// answers.
    ends: [f64; 2],
}

impl Stretch {
    /// All bins.
    pub fn whole(bins: &Bins, totals: &Totals) -> Self {
        let counts = totals.s.iter().copied().chain(std::iter::repeat(0));
        Self {
            first: 0,
            counts: memory::vector(bins.count(), counts),
            ends: [0.0, 1.0],
        }
    }

    /// The bin, counted from the first one, and the place in it that is drawn by these scores of its places.
    pub fn choose<'a, B: Bits>(
        &self,
        sampler: &Weighted,
        scores: impl Fn(u128) -> Scores<'a>,
        bits: &mut B,
    ) -> (usize, u64) {
        let chosen = sampler.choose(scores, bits);
        let chosen = noted(&self.counts, i128::from(chosen), bits) as u64;
        let bin = (chosen / PLACES) as usize;
        (bin.min(self.counts.len() - 1), chosen % PLACES)
    }

    /// Where in its bin, from 0 to 1, the middle of a place lies.
    pub fn part(&self, bin: usize, place: u64) -> f64 {
        let from = if bin == 0 { self.ends[0] } else { 0.0 };
        let to = if bin + 1 == self.counts.len() {
            self.ends[1]
        } else {
            1.0
        };
        from + (to - from) * ((place as f64 + 0.5) / PLACES as f64)
    }

    /// Its two sides of the middle of a place.
    fn cut(&self, bin: usize, place: u64) -> [Self; 2] {
        let at = self.part(bin, place);
        let rows = self.counts[bin];
        let below = rows_below_middle(rows, place);
        let copy = |counts: &[i128]| memory::vector(counts.len(), counts.iter().copied());
        let [mut left, mut right] = [copy(&self.counts[..=bin]), copy(&self.counts[bin..])];
        if let (Some(last), Some(first)) = (left.last_mut(), right.first_mut()) {
            (*last, *first) = (below, rows - below);
        }
        [
            Self {
                first: self.first,
                counts: left,
                ends: [self.ends[0], at],
            },
            Self {
                first: self.first + bin,
                counts: right,
                ends: [at, self.ends[1]],
            },
        ]
    }
}

impl Em {
    /// For these quantiles, in ascending order; `None` where an epsilon would be below 2^-20 or above 50.
    pub fn new(bins: Bins, quantiles: &[f64], budget: Budget) -> Option<Self> {
        let first = Node::new(quantiles, [0.0, 1.0], budget, Rest::ALL)?;
        Some(Self { bins, first })
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> Vec<f64> {
        let whole = Stretch::whole(&self.bins, totals);
        let mut answers = Vec::new();
        if let Some(node) = &self.first {
            self.answer(node, &whole, &mut answers, bits);
        }
        answers
    }

    fn answer<B: Bits>(&self, node: &Node, rows: &Stretch, answers: &mut Vec<f64>, bits: &mut B) {
        let scores = |far| Scores::new(&rows.counts, node.quantile, far);
        let (bin, place) = rows.choose(&Weighted::new(node.unit), scores, bits);
        let value = self.bins.value(rows.first + bin, rows.part(bin, place));
        let [left, right] = match (&node.below, &node.above) {
            (None, None) => return answers.push(value),
            _ => rows.cut(bin, place),
        };
        if let Some(below) = &node.below {
            self.answer(below, &left, answers, bits);
        }
        answers.push(value);
        if let Some(above) = &node.above {
            self.answer(above, &right, answers, bits);
        }
    }
}

impl Mechanism<Totals> for Em {
    type Answer = Vec<f64>;

    fn grid(&self) -> Option<Grid> {
        Some(self.bins.grid())
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> Vec<f64> {
        self.release_from(totals, generator)
    }
}

impl RankMechanism for Em {
    fn bins(&self) -> &Bins {
        &self.bins
    }

    fn reach_evenly(&self, rows: f64, draws: usize, miss: f64) -> Option<f64> {
        let node = self.first.as_ref()?;
        let mut wanted = Vec::new();
        node.wanted([0.0, 1.0], &mut wanted);
        let draw = |even: &mut Even| {
            let mut chosen = Vec::new();
            node.choose_evenly([0.0, 1.0], even, &mut chosen);
            chosen
        };
        Even::new(rows).reach(&self.bins, &wanted, draws, miss, draw)
    }
}
