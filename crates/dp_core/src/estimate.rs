//! Answers with their intervals, and what they cost: what the aggregates called `..._estimate` release.

use std::rc::Rc;

use crate::accuracy::interval::{self, Intervals};
use crate::encoding::grid::Grid;
use crate::encoding::sums::Sums;
use crate::error::ParameterError;
use crate::mechanism::definition::{Built, Mechanism, Scalar};
use crate::mechanism::mean::kinds::{Mean, MeanAnswer};
use crate::privacy::cost::Cost;
use crate::random::Generator;
use crate::registry::{Chosen, Factory, Registry};
use crate::request::arguments::Arguments;
use crate::request::checked::Overspent;

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

/// The cost of a release, and its mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// What it costs a person.
    pub cost: Cost,
    /// The mechanism's canonical text.
    pub mechanism: String,
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
        let Chosen {
            mechanism,
            cost,
            choice,
        } = self.0.make_chosen(arguments, overspent)?;
        let miss = interval::miss(confidence)?;
        let estimator = scalar(mechanism).and_then(|mechanism| {
            let intervals = mechanism.intervals(miss)?;
            Some(Estimator {
                mechanism,
                intervals,
                spent: Rc::new(Spent {
                    cost,
                    mechanism: choice.text(),
                }),
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

impl<A: 'static> Factory<Scalar<Estimate<A>>> for Estimates<Scalar<A>> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Built<Scalar<Estimate<A>>> {
        self.with(arguments, confidence, overspent, Some)
    }
}

impl Factory<Scalar<Estimate<MeanAnswer>>> for Estimates<Mean> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Built<Scalar<Estimate<MeanAnswer>>> {
        self.with(arguments, confidence, overspent, |mean| mean.sums())
    }
}
