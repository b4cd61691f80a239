//! Answers with their intervals, and what they cost: what the aggregates called `..._estimate` release.

use std::rc::Rc;

use crate::accuracy::interval::{self, Intervals};
use crate::accuracy::population::{MeanEnds, MeanIntervals};
use crate::encoding::bitmap::Occupied;
use crate::encoding::grid::Grid;
use crate::encoding::log_bins::{Content, Limits, OctaveCounts};
use crate::encoding::squares::Squares;
use crate::encoding::sums::{Moments, Sums};
use crate::error::ParameterError;
use crate::mechanism::bivariate::ends::{PairEstimator, WithEnds};
use crate::mechanism::bivariate::weighted_laplace::{WeightedEstimator, WithInterval};
use crate::mechanism::bounds_search::answer::AutoAnswer;
use crate::mechanism::bounds_search::release::Finding;
use crate::mechanism::cdf::band::CdfEstimator;
use crate::mechanism::definition::{Mechanism, Scalar};
use crate::mechanism::distinct::bitmap::{DistinctAnswer, DistinctMechanism, OfIds};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::Mean;
use crate::mechanism::quantile::estimate::QuantileEstimator;
use crate::mechanism::regression::sums::Regression;
use crate::mechanism::sum::inputs::SumMechanism;
use crate::mechanism::variance::inputs::SomeVariance;
use crate::mechanism::variance::moments::VarianceAnswer;
use crate::random::Generator;
use crate::registry::{self, Factory, Made, Registry, Spent};
use crate::request::arguments::Arguments;
use crate::request::checked::Overspent;

/// What a release of an estimate hands back.
#[derive(Clone, Debug)]
pub struct Estimate<A> {
    /// The answer.
    pub answer: A,
    /// The ends of the interval that follows from it.
    pub interval: [f64; 2],
    /// Those of a mean that comes with it.
    pub mean: Option<MeanEnds>,
}

/// A mechanism with the intervals of its answers.
///
/// **Why it is private**: the interval is a function of the answer and of public numbers: post-processing.
struct Estimator<D, A> {
    mechanism: Box<dyn Mechanism<D, Answer = A>>,
    intervals: Intervals<A>,
    of_mean: Option<MeanIntervals<A>>,
}

impl<D, A> Mechanism<D> for Estimator<D, A> {
    type Answer = Estimate<A>;

    fn grid(&self) -> Option<Grid> {
        self.mechanism.grid()
    }

    fn release(&self, data: &D, generator: &mut Generator) -> Estimate<A> {
        let answer = self.mechanism.release(data, generator);
        Estimate {
            interval: (self.intervals)(&answer),
            mean: self.of_mean.as_ref().map(|ends| ends(&answer)),
            answer,
        }
    }
}

/// As above, for a mechanism that counts ids.
struct OfIdsEstimator {
    mechanism: Estimator<Occupied, DistinctAnswer>,
    power: u32,
}

impl Mechanism<Occupied> for OfIdsEstimator {
    type Answer = Estimate<DistinctAnswer>;

    fn grid(&self) -> Option<Grid> {
        self.mechanism.grid()
    }

    fn release(&self, data: &Occupied, generator: &mut Generator) -> Estimate<DistinctAnswer> {
        self.mechanism.release(data, generator)
    }
}

impl OfIds for OfIdsEstimator {
    fn power(&self) -> u32 {
        self.power
    }
}

/// The mechanisms of a registry, each with the intervals of its answers.
pub struct Estimates<M: ?Sized + 'static>(pub &'static Registry<M>);

fn no_interval<M: ?Sized>(registry: &Registry<M>) -> ParameterError {
    ParameterError::new(
        "mech",
        "is a mechanism whose answers have no interval",
        format!(
            "How uncertain such an answer is depends on what is private. Take another \
             mechanism, such as {}, or ask {} for the answer alone.",
            registry.entries[0].info.name, registry.aggregate
        ),
    )
}

impl<M: ?Sized> Estimates<M> {
    fn with<D: 'static, A: 'static>(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
        plain: impl FnOnce(Box<M>) -> Option<Box<dyn Mechanism<D, Answer = A>>>,
    ) -> Result<Made<dyn Mechanism<D, Answer = Estimate<A>>>, ParameterError> {
        let (estimator, spent) = self.estimator(arguments, confidence, overspent, plain)?;
        Ok(Made {
            mechanism: Box::new(estimator),
            spent,
        })
    }

    fn estimator<D: 'static, A: 'static>(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
        plain: impl FnOnce(Box<M>) -> Option<Box<dyn Mechanism<D, Answer = A>>>,
    ) -> Result<(Estimator<D, A>, Rc<Spent>), ParameterError> {
        let Made { mechanism, spent } = self.0.make_chosen(arguments, overspent)?;
        let miss = interval::miss(confidence)?;
        let alike = registry::unit_of(arguments.mechanism).rows;
        let estimator = plain(mechanism).and_then(|mechanism| {
            let intervals = mechanism.intervals(miss)?;
            let of_mean = mechanism.mean_intervals(miss, alike);
            Some(Estimator {
                mechanism,
                of_mean,
                intervals,
            })
        });
        match estimator {
            Some(estimator) => Ok((estimator, spent)),
            None => Err(no_interval(self.0)),
        }
    }
}

impl<D: 'static, A: 'static> Factory<dyn Mechanism<D, Answer = Estimate<A>>>
    for Estimates<dyn Mechanism<D, Answer = A>>
{
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<dyn Mechanism<D, Answer = Estimate<A>>>, ParameterError> {
        self.with(arguments, confidence, overspent, Some)
    }
}

impl Factory<dyn OfIds<Answer = Estimate<DistinctAnswer>>> for Estimates<DistinctMechanism> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<dyn OfIds<Answer = Estimate<DistinctAnswer>>>, ParameterError> {
        let mut power = 0;
        let (mechanism, spent) = self.estimator(arguments, confidence, overspent, |mechanism| {
            power = mechanism.power();
            Some(mechanism)
        })?;
        Ok(Made {
            mechanism: Box::new(OfIdsEstimator { mechanism, power }),
            spent,
        })
    }
}

impl Factory<Scalar<Estimate<MeanAnswer>>> for Estimates<Mean> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<Scalar<Estimate<MeanAnswer>>>, ParameterError> {
        self.with(arguments, confidence, overspent, |mean| mean.sums())
    }
}

/// What makes the mechanism of a call of `dp_quantile_estimate`. Its intervals are no post-processing of a quantile:
/// how far they reach is a choice of its own.
pub struct QuantileEstimates;

impl Factory<QuantileEstimator> for QuantileEstimates {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<QuantileEstimator>, ParameterError> {
        let Made { mechanism, spent } =
            registry::QUANTILE_ESTIMATE.make_chosen(arguments, overspent)?;
        let miss = interval::miss(confidence)?;
        Ok(Made {
            mechanism: Box::new(mechanism.missing(miss)),
            spent,
        })
    }
}

/// As above, for contributions: rows of one person are alike, so that intervals must reach further.
pub struct QuantileEstimatesOfPeople;

impl Factory<QuantileEstimator> for QuantileEstimatesOfPeople {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<QuantileEstimator>, ParameterError> {
        let Made { mechanism, spent } = QuantileEstimates.make(arguments, confidence, overspent)?;
        let rows = registry::unit_of(arguments.mechanism).rows;
        Ok(Made {
            mechanism: Box::new(mechanism.of_persons(rows)),
            spent,
        })
    }
}

/// What makes the mechanism of a call of `dp_linear_regression`.
pub struct Regressions;

impl Factory<Regression> for Regressions {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<Regression>, ParameterError> {
        let Made { mechanism, spent } = registry::REGRESSION.make_chosen(arguments, overspent)?;
        let miss = interval::miss(confidence)?;
        Ok(Made {
            mechanism: mechanism.missing(miss),
            spent,
        })
    }
}

/// What makes the mechanism of a call of `dp_corr_estimate`.
pub struct Correlations;

impl Factory<PairEstimator> for Correlations {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<PairEstimator>, ParameterError> {
        let Made { mechanism, spent } = registry::CORRELATION.make_chosen(arguments, overspent)?;
        let miss = interval::miss(confidence)?;
        let alike = registry::unit_of(arguments.mechanism).rows;
        let mechanism = WithEnds::new(mechanism, miss, alike)
            .ok_or_else(|| no_interval(&registry::CORRELATION))?;
        Ok(Made {
            mechanism: Box::new(mechanism),
            spent,
        })
    }
}

/// What makes the mechanism of a call of `dp_weighted_mean_estimate`.
pub struct WeightedMeans;

impl Factory<WeightedEstimator> for WeightedMeans {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<WeightedEstimator>, ParameterError> {
        let Made { mechanism, spent } =
            registry::WEIGHTED_MEAN.make_chosen(arguments, overspent)?;
        let miss = interval::miss(confidence)?;
        let mechanism = WithInterval::new(mechanism, miss)
            .ok_or_else(|| no_interval(&registry::WEIGHTED_MEAN))?;
        Ok(Made {
            mechanism: Box::new(mechanism),
            spent,
        })
    }
}

/// What makes the mechanism of a call of `dp_cdf_estimate`.
pub struct Cdfs;

impl Factory<CdfEstimator> for Cdfs {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<CdfEstimator>, ParameterError> {
        let Made { mechanism, spent } = registry::CDF.make_chosen(arguments, overspent)?;
        let miss = interval::miss(confidence)?;
        let alike = registry::unit_of(arguments.mechanism).rows;
        Ok(Made {
            mechanism: Box::new(CdfEstimator::new(*mechanism, miss, alike)),
            spent,
        })
    }
}

/// A mechanism with the intervals of its answers, by what it sees of the rows.
pub enum SomeEstimate<A, D = Sums, S = Content> {
    /// What they add up to.
    Sums(Box<dyn Mechanism<D, Answer = Estimate<A>>>),
    /// How they lie in bins of equal relative width, between these limits.
    Auto(
        Limits,
        Box<dyn Mechanism<OctaveCounts<S>, Answer = Estimate<AutoAnswer<A>>>>,
    ),
}

impl<M> Estimates<M> {
    /// The mechanism of a call, which `sort` knows by what it sees of the rows: one that finds its bounds, or `None` of
    /// what has no intervals.
    fn of_some<A: 'static, D: 'static, S: 'static>(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
        sort: impl FnOnce(M) -> Sorted<A, D, S>,
    ) -> Result<Made<SomeEstimate<A, D, S>>, ParameterError> {
        let made = self.0.make_chosen(arguments, overspent)?;
        let mechanism = match sort(*made.mechanism) {
            Sorted::Auto(finding) => {
                let limits = *finding.limits();
                let plain = |_| Some(finding as Box<dyn Mechanism<_, Answer = _>>);
                let (estimator, _) = self.estimator(arguments, confidence, overspent, plain)?;
                SomeEstimate::Auto(limits, Box::new(estimator))
            }
            Sorted::Sums(sums) => {
                let (estimator, _) = self.estimator(arguments, confidence, overspent, |_| sums)?;
                SomeEstimate::Sums(Box::new(estimator))
            }
        };
        Ok(Made {
            mechanism: Box::new(mechanism),
            spent: made.spent,
        })
    }
}

/// A mechanism, by what it sees of the rows.
enum Sorted<A, D, S> {
    Sums(Option<Box<dyn Mechanism<D, Answer = A>>>),
    Auto(Box<dyn Finding<S, A>>),
}

impl Factory<SomeEstimate<MeanAnswer>> for Estimates<Mean> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<SomeEstimate<MeanAnswer>>, ParameterError> {
        self.of_some(arguments, confidence, overspent, |mean| match mean {
            Mean::Auto(auto) => Sorted::Auto(auto),
            other => Sorted::Sums(other.sums()),
        })
    }
}

impl Factory<SomeEstimate<f64>> for Estimates<SumMechanism> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<SomeEstimate<f64>>, ParameterError> {
        self.of_some(arguments, confidence, overspent, |sum| match sum {
            SumMechanism::Auto(auto) => Sorted::Auto(auto),
            SumMechanism::Sums(sums) => Sorted::Sums(Some(sums)),
        })
    }
}

/// With their intervals, mechanisms of variances.
pub type VarianceEstimate = SomeEstimate<VarianceAnswer, Moments, Squares>;

impl Factory<VarianceEstimate> for Estimates<SomeVariance> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<VarianceEstimate>, ParameterError> {
        self.of_some(
            arguments,
            confidence,
            overspent,
            |variance| match variance {
                SomeVariance::Auto(auto) => Sorted::Auto(auto),
                SomeVariance::Moments(moments) => Sorted::Sums(Some(moments)),
            },
        )
    }
}

impl Factory<dyn Mechanism<Moments, Answer = Estimate<VarianceAnswer>>>
    for Estimates<SomeVariance>
{
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<dyn Mechanism<Moments, Answer = Estimate<VarianceAnswer>>>, ParameterError>
    {
        self.with(arguments, confidence, overspent, |variance| {
            variance.moments()
        })
    }
}

impl Factory<Scalar<Estimate<f64>>> for Estimates<SumMechanism> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<Scalar<Estimate<f64>>>, ParameterError> {
        self.with(arguments, confidence, overspent, |sum| sum.sums())
    }
}
