//! How far off answers are that depend on how the rows lie: of rows that are spread evenly between the bounds, and of
//! two columns that have nothing to do with each other. Releases of such rows are drawn; they are no data.

use crate::encoding::grid::{COARSE_STEPS, PAIR_STEPS};
use crate::encoding::pairs::PairMoments;
use crate::encoding::sums::Moments;
use crate::error::ParameterError;
use crate::mechanism::bivariate::sums::{PairAnswer, PairMechanism};
use crate::mechanism::variance::moments::VarianceAnswer;
use crate::random::Generator;
use crate::registry::{
    CORRELATION, COVARIANCE, MEDIAN, QUANTILE, QUANTILE_ESTIMATE, QUANTILES, SLOPE, VARIANCE,
};
use crate::request::arguments::Arguments;

/// How many answers are drawn.
const DRAWN: usize = 1000;

/// How many choices, which take less time.
const CHOSEN: usize = 4000;

/// A number of a release about two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfPairs {
    /// The slope of the regression line.
    Slope,
    /// Where the line is at `x = 0`.
    Intercept,
    /// The correlation.
    Correlation,
    /// Its square.
    R2,
    /// The covariance.
    Covariance,
    /// The mean of `y`.
    MeanOfY,
    /// That of `x`.
    MeanOfX,
    /// The number of rows.
    Count,
}

impl OfPairs {
    /// That number of an answer.
    fn read(self, answer: &PairAnswer) -> Option<f64> {
        let strength = answer.strength.map(|strength| strength.correlation);
        Some(match self {
            Self::Slope => answer.line?.slope,
            Self::Intercept => answer.line?.intercept,
            Self::Correlation => strength?,
            Self::R2 => strength?.powi(2),
            Self::Covariance => answer.covariance,
            Self::MeanOfY => answer.y_mean,
            Self::MeanOfX => answer.x_mean,
            Self::Count => answer.count,
        })
    }
}

/// The distance from what is hidden that answers pass with this probability.
fn reach(
    hidden: f64,
    miss: f64,
    mut draw: impl FnMut(&mut Generator) -> Option<f64>,
) -> Option<f64> {
    let mut generator = Generator::simulated();
    let off = (0..DRAWN).map(|_| Some((draw(&mut generator)? - hidden).abs()));
    let mut off = off.collect::<Option<Vec<f64>>>()?;
    off.sort_by(f64::total_cmp);
    off.get((DRAWN as f64 * (1.0 - miss)) as usize).copied()
}

/// Of that many rows, at most as many as there can be.
fn whole(people: f64) -> i64 {
    people.round().clamp(1.0, ((1u64 << 53) - 1) as f64) as i64
}

/// Half of the width of an interval of a variance, or of what else `read` takes of the answer, which is to be `hidden`
/// in parts of the width of the bounds. `None` where bounds are found in the rows.
pub(super) fn variance(
    arguments: &Arguments,
    people: f64,
    miss: f64,
    hidden: impl Fn(f64) -> f64,
    read: impl Fn(&VarianceAnswer) -> f64,
) -> Result<Option<f64>, ParameterError> {
    let Some(mechanism) = VARIANCE.build(arguments)?.moments() else {
        return Ok(None);
    };
    let (Some(lo), Some(hi)) = arguments.bounds.unwrap_or_default() else {
        return Ok(None);
    };
    let (n, steps) = (whole(people), COARSE_STEPS as i128);
    let rows = i128::from(n);
    let moments = Moments {
        n,
        s: rows * steps / 2,
        q: rows * steps * steps / 3,
    };
    Ok(reach(hidden(hi - lo), miss, |generator| {
        Some(read(&mechanism.release(&moments, generator)))
    }))
}

/// The mechanism of an aggregate about two columns.
fn pair_mechanism(
    aggregate: &str,
    arguments: &Arguments,
) -> Result<Option<Box<PairMechanism>>, ParameterError> {
    let registry = match aggregate {
        "dp_covar_pop" => &COVARIANCE,
        "dp_regr_slope" | "dp_regr_intercept" => &SLOPE,
        "dp_corr" | "dp_corr_estimate" | "dp_regr" => &CORRELATION,
        _ => return Ok(None),
    };
    registry.build(arguments).map(Some)
}

/// Half of the width of an interval of a number of two columns.
pub(super) fn pair(
    aggregate: &str,
    of: OfPairs,
    arguments: &Arguments,
    people: f64,
    miss: f64,
) -> Result<Option<f64>, ParameterError> {
    let Some(mechanism) = pair_mechanism(aggregate, arguments)? else {
        return Ok(None);
    };
    let middle = |bounds: Option<(Option<f64>, Option<f64>)>| {
        let (lo, hi) = bounds.unwrap_or_default();
        Some(lo?.midpoint(hi?))
    };
    let hidden = match of {
        OfPairs::Slope | OfPairs::Correlation | OfPairs::R2 | OfPairs::Covariance => Some(0.0),
        OfPairs::Intercept | OfPairs::MeanOfY => middle(arguments.bounds),
        OfPairs::MeanOfX => middle(arguments.x_bounds),
        OfPairs::Count => Some(whole(people) as f64),
    };
    Ok(hidden.and_then(|hidden| of_release(&*mechanism, of, hidden, people, miss)))
}

/// As above, by a mechanism that is made.
pub(super) fn of_release(
    mechanism: &PairMechanism,
    of: OfPairs,
    hidden: f64,
    people: f64,
    miss: f64,
) -> Option<f64> {
    let (n, steps) = (whole(people), i128::from(PAIR_STEPS));
    let sum = |times: i128, part: i128| i128::from(n) * times / part;
    let moments = PairMoments {
        n,
        y: sum(steps, 2),
        x: sum(steps, 2),
        yy: sum(steps * steps, 3),
        xy: sum(steps * steps, 4),
        xx: sum(steps * steps, 3),
    };
    reach(hidden, miss, |generator| {
        of.read(&mechanism.release(&moments, generator))
    })
}

/// Half of the width of an interval of a quantile; of several, the widest. `None` of a mechanism that is none of
/// choices.
pub(super) fn quantile(
    aggregate: &str,
    arguments: &Arguments,
    people: f64,
    miss: f64,
) -> Result<Option<f64>, ParameterError> {
    let rows = whole(people) as f64;
    let registry = match aggregate {
        "dp_quantile_estimate" => {
            let estimator = QUANTILE_ESTIMATE.build(arguments)?;
            return Ok(estimator.reach_evenly(rows, CHOSEN, miss));
        }
        "dp_median" => &MEDIAN,
        "dp_quantiles" => &QUANTILES,
        _ => &QUANTILE,
    };
    let mechanism = registry.build(arguments)?;
    Ok(mechanism.reach_evenly(rows, CHOSEN, miss))
}
