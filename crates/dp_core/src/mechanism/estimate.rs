//! Answers with their intervals, and what they cost: what the aggregates called `..._estimate` release.

use std::rc::Rc;

use super::mean::Mean;
use crate::choice::Choice;

use super::{Arguments, Built, Make, MeanAnswer, Mechanism, Overspent, Registry, Scalar};
use crate::error::ParameterError;
use crate::grid::Grid;
use crate::interval::{self, Intervals};
use crate::random::Generator;
use crate::sums::Sums;

/// What a release of an estimate hands back.
#[derive(Clone, Debug)]
pub struct Estimate<A> {
    /// The answer.
    pub answer: A,
    /// The ends of the interval that follows from it.
    pub interval: [f64; 2],
    /// What the release cost.
    pub spent: Rc<Spent>,
}

/// The budget of a release, and its mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// Epsilon; `None` where the mechanism has a budget of its own.
    pub epsilon: Option<f64>,
    /// Delta, 0 of pure differential privacy; `None` where the mechanism has a budget of its own.
    pub delta: Option<f64>,
    /// The mechanism's canonical text.
    pub mechanism: String,
}

impl Spent {
    /// What a release by the mechanism `choice` costs, beside an eps.
    pub(super) fn of(epsilon: Option<f64>, choice: &Choice) -> Self {
        let delta = choice.get(super::budget::DELTA.name);
        Self {
            epsilon,
            delta: epsilon.map(|_| delta.unwrap_or(0.0)),
            mechanism: choice.text(),
        }
    }
}

/// A mechanism with the intervals of its answers.
///
/// **Why it is private**: the interval is a function of the answer and of public numbers, and so is
/// what was spent: post-processing.
struct Estimator<A> {
    mechanism: Box<Scalar<A>>,
    intervals: Intervals<A>,
    spent: Rc<Spent>,
}

impl<A> Mechanism for Estimator<A> {
    type Answer = Estimate<A>;

    fn grid(&self) -> Option<Grid> {
        self.mechanism.grid()
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> Estimate<A> {
        let answer = self.mechanism.release(sums, generator);
        Estimate {
            interval: (self.intervals)(&answer),
            answer,
            spent: Rc::clone(&self.spent),
        }
    }
}

/// The mechanisms of a registry, each with the intervals of its answers.
pub struct Estimates<M: ?Sized + 'static>(pub &'static Registry<M>);

impl<M: ?Sized> Estimates<M> {
    fn with<A: 'static>(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
        scalar: impl FnOnce(Box<M>) -> Option<Box<Scalar<A>>>,
    ) -> Built<Scalar<Estimate<A>>> {
        let (mechanism, choice) = self.0.make_chosen(arguments, overspent)?;
        let miss = interval::miss(confidence)?;
        let estimator = scalar(mechanism).and_then(|mechanism| {
            let intervals = mechanism.intervals(miss)?;
            Some(Estimator {
                mechanism,
                intervals,
                spent: Rc::new(Spent::of(arguments.epsilon, &choice)),
            })
        });
        match estimator {
            Some(estimator) => Ok(Box::new(estimator)),
            None => Err(ParameterError::new(
                "mech",
                "is a mechanism whose answers have no interval",
                format!(
                    "How uncertain such an answer is depends on what is private. Take another \
                     mechanism, such as {}, or ask {} for the answer alone.",
                    self.0.entries[0].info.name, self.0.aggregate
                ),
            )),
        }
    }
}

impl<A: 'static> Make<Scalar<Estimate<A>>> for Estimates<Scalar<A>> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Built<Scalar<Estimate<A>>> {
        self.with(arguments, confidence, overspent, Some)
    }
}

impl Make<Scalar<Estimate<MeanAnswer>>> for Estimates<Mean> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Built<Scalar<Estimate<MeanAnswer>>> {
        self.with(arguments, confidence, overspent, |mean| mean.sums())
    }
}
