//! What a release does that finds its bounds: the steps that all of them share.
//!
//! The proof: docs/proofs/mean-auto.md.

use std::cell::OnceCell;

use crate::accuracy::interval::Intervals;
use crate::encoding::grid::Grid;
use crate::encoding::log_bins::{BinSums, LOWEST, Limits, OctaveCounts};
use crate::encoding::ranges::{Range, edges};
use crate::error::ParameterError;
use crate::mechanism::bounds_search::answer::AutoAnswer;
use crate::mechanism::bounds_search::ends::{Ends, Outside, Prior};
use crate::mechanism::bounds_search::magnitude::{Candidates, PARTS, Search};
use crate::mechanism::definition::{ADD_REMOVE, Info, Mechanism, PURE};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator};
use crate::request::checked::Request;
use crate::request::parameter::Parameter;

/// What is asked for between the bounds that are found.
pub trait Statistic: Clone + 'static {
    /// What a bin must hold of its rows.
    type Sums: BinSums;
    /// What is released between the bounds.
    type Answer;
    /// What the intervals of one share of epsilon follow from.
    type Reach;

    /// By how much ends that are farther away are less likely, where rows are many.
    const PRIOR: Prior;

    /// The ends near an octave, chosen with noise: by one choice of a pair, at the share of the ends.
    fn range<B: Bits>(
        limits: &Limits,
        octave: i32,
        among: Candidates,
        counts: &[i128],
        ends: &Ends,
        bits: &mut B,
    ) -> Range {
        let edges = edges(limits, octave, among.powers, among.quarters);
        let at: Vec<i64> = edges.iter().map(|edge| edge.at).collect();
        let rows = Outside::new(counts, &edges);
        let (from, to) = ends.choose(&rows, &at, among.prior, bits);
        Range::between(limits, octave, &edges[from], &edges[to])
    }

    /// The ends where no octave was found, and the column has limits.
    fn whole(limits: &Limits) -> Range {
        Range::of_limits(limits, limits.highest())
    }

    /// The ends as an answer shows them.
    fn shown(limits: &Limits, range: &Range) -> [f64; 2] {
        [0.0, 1.0].map(|part| range.value(limits, part))
    }

    /// A release about the rows clamped to the ends, at so much of epsilon.
    fn release<B: Bits>(
        &self,
        rows: &OctaveCounts<Self::Sums>,
        range: &Range,
        limits: &Limits,
        epsilon: Epsilon,
        bits: &mut B,
    ) -> Self::Answer;

    /// How far noise at so much of epsilon reaches, but with at most this probability.
    fn reach(&self, epsilon: Epsilon, miss: f64) -> Self::Reach;

    /// The interval around an answer; for that many rows, over epsilon, beyond the ends.
    fn interval(
        &self,
        reach: &Self::Reach,
        limits: &Limits,
        beyond: f64,
        found: &AutoAnswer<Self::Answer>,
    ) -> [f64; 2];
}

/// Four steps, at shares of epsilon that add up to it:
///
/// 1. and 2. the octave of the largest magnitudes: see [`Search`];
/// 3. the ends, on a grid around that octave, by one choice ([`Ends`]), at 16/64;
/// 4. what is asked for, of the rows clamped to these ends, at the rest.
///
/// Where the walk finds no octave, the ends are the limits of the column, and step 4 has the share of step 3, too;
/// without limits both ends are 0.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). Steps 1 to 3: see there. Step 4:
/// see each [`Statistic`]. What is asked in a step, and at what share, follows from answers of those before it.
#[derive(Clone, Debug)]
pub struct Auto<Q> {
    search: Search,
    widened: f64,
    ends: Ends,
    statistic: Q,
}

impl<Q: Statistic + Default> Auto<Q> {
    /// Between these limits, with so much to spend, and intervals that are wide enough for that many rows outside, over
    /// epsilon.
    pub fn new(limits: Limits, epsilon: Epsilon, widened: f64) -> Self {
        Self::asking(Q::default(), limits, epsilon, widened)
    }
}

impl<Q: Statistic> Auto<Q> {
    /// As above, for this statistic.
    pub fn asking(statistic: Q, limits: Limits, epsilon: Epsilon, widened: f64) -> Self {
        Self {
            search: Search::new(limits, epsilon),
            widened,
            ends: Ends::new(Search::of_ends(epsilon)),
            statistic,
        }
    }

    /// How it looks for the octave.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(
        &self,
        rows: &OctaveCounts<Q::Sums>,
        bits: &mut B,
    ) -> AutoAnswer<Q::Answer> {
        let (counts, limits) = (rows.counts(), self.search.limits());
        let start = self.search.start(rows, &counts, bits);
        let range = match start.octave {
            Some(octave) => {
                let among = if start.many {
                    Candidates::many(Q::PRIOR)
                } else {
                    Candidates::FEW
                };
                Q::range(limits, octave, among, &counts, &self.ends, bits)
            }
            None if limits.same(&Limits::NONE) => Range::NOTHING,
            None => Q::whole(limits),
        };
        let epsilon = self.search.share(start.parts);
        AutoAnswer {
            answer: self.statistic.release(rows, &range, limits, epsilon, bits),
            bounds: Q::shown(limits, &range),
            nonzero: start.nonzero,
            few: start.few,
            parts: start.parts,
        }
    }
}

impl<Q: Statistic> Mechanism<OctaveCounts<Q::Sums>> for Auto<Q> {
    type Answer = AutoAnswer<Q::Answer>;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(
        &self,
        rows: &OctaveCounts<Q::Sums>,
        generator: &mut Generator,
    ) -> AutoAnswer<Q::Answer> {
        self.release_from(rows, generator)
    }

    fn intervals(&self, miss: f64) -> Option<Intervals<AutoAnswer<Q::Answer>>> {
        let auto = self.clone();
        let beyond = auto.widened / auto.search.epsilon().value();
        // Set up for a share when an answer has it.
        let reaches: Vec<OnceCell<Q::Reach>> = (0..=PARTS).map(|_| OnceCell::new()).collect();
        Some(Box::new(move |found| {
            let parts = found.parts.min(PARTS);
            let reach = reaches[parts as usize].get_or_init(|| {
                let epsilon = auto.search.share(parts);
                auto.statistic.reach(epsilon, miss)
            });
            auto.statistic
                .interval(reach, auto.search.limits(), beyond, found)
        }))
    }
}

/// A mechanism that sees how rows lie in bins of equal relative width, and finds its bounds in them.
pub trait Finding<S, A>: Mechanism<OctaveCounts<S>, Answer = AutoAnswer<A>> {
    /// The limits of the column.
    fn limits(&self) -> &Limits;
}

impl<Q: Statistic> Finding<Q::Sums, Q::Answer> for Auto<Q> {
    fn limits(&self) -> &Limits {
        self.search.limits()
    }
}

/// What to tell users of a mechanism that finds its bounds.
pub(crate) const fn info(
    what: &'static str,
    source: &'static str,
    parameters: &'static [Parameter],
) -> Info {
    Info {
        name: "auto",
        what,
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters,
        example: "auto",
        source,
    }
}

impl Request<'_> {
    /// The limits of the column, if it has any. Bounds that are too near for a search are near enough for the mechanism
    /// `other`.
    pub(crate) fn limits(&self, other: &str) -> Result<Limits, ParameterError> {
        let Some(bounds) = &self.bounds else {
            return Ok(Limits::NONE);
        };
        if bounds.width() < 2f64.powi(LOWEST + 1) {
            return Err(ParameterError::new(
                "hi",
                "is too near to argument \"lo\" for a mechanism that looks for bounds between them",
                format!("Give {other} as the mechanism: the bounds are near enough for it."),
            ));
        }
        Ok(Limits::between(bounds))
    }

    /// The mechanism of a call that finds its bounds.
    pub(crate) fn auto<Q: Statistic>(
        &self,
        statistic: Q,
        limits: Limits,
    ) -> Result<Box<Auto<Q>>, ParameterError> {
        let (epsilon, widened) = (self.row_epsilon()?, self.beyond()?);
        Ok(Box::new(Auto::asking(statistic, limits, epsilon, widened)))
    }
}
