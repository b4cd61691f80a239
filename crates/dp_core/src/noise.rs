//! How far off answers are, before anything is spent: public numbers in, public numbers out.
//!
//! All numbers are half of the width of an interval that holds what an answer hides in 95% of releases, over the noise.

mod even;

use crate::accuracy::interval::Intervals;
use crate::error::ParameterError;
use crate::mechanism::vector::items::Vector;
pub use crate::noise::even::OfPairs;
use crate::planning::mean_error;
use crate::privacy::accounting::check_positive;
use crate::privacy::delta::Delta;
use crate::privacy::epsilon::Epsilon;
use crate::privacy::spending::{Accounting, HALF, Limit};
use crate::registry::{self, CORRELATION, COUNT, COUNTS, MEAN, SLOPE, SUM, SUMS};
use crate::request::arguments::{Arguments, MechanismArgument};
use crate::sampler::selection::Selection;

/// The probability with which an interval misses.
const MISS: f64 = 0.05;

/// How far off an answer of an aggregate is with these arguments; of all but counts and sums, for that many people with
/// a row each. A variance, a quantile and what is asked of two columns depend on how the rows lie, too: they are those
/// of rows that are spread evenly between the bounds, and of columns that have nothing to do with each other. `None`
/// where it depends on more than that, where a release has several numbers, and for people who are not given.
///
/// # Errors
/// The first argument that breaks its rule.
pub fn half_width(
    aggregate: &str,
    arguments: &Arguments,
    people: Option<f64>,
) -> Result<Option<f64>, ParameterError> {
    /// Of an answer that is far from where an interval would be cut off.
    fn width<A>(intervals: Option<Intervals<A>>, answer: &A) -> Option<f64> {
        intervals.map(|of| {
            let [lower, upper] = of(answer);
            (upper - lower) / 2.0
        })
    }
    Ok(match aggregate {
        "dp_count" | "dp_count_estimate" => {
            width(COUNT.build(arguments)?.intervals(MISS), &(1 << 40))
        }
        "dp_counts" | "dp_counts_estimate" => of_one(&*COUNTS.build(arguments)?),
        "dp_sums" | "dp_sums_estimate" => of_one(&*SUMS.build(arguments)?),
        "dp_sum" | "dp_sum_estimate" => match SUM.build(arguments)?.sums() {
            Some(sum) => {
                let (lo, hi) = arguments.bounds.unwrap_or_default();
                let size = [lo, hi]
                    .into_iter()
                    .flatten()
                    .fold(1.0, |a: f64, b| a.max(b.abs()));
                width(sum.intervals(MISS), &(size * 1e9))
            }
            None => None,
        },
        "dp_mean" | "dp_mean_and_count" | "dp_mean_estimate" => match people {
            Some(people) => mean_error(Some(people.max(1.0).round()), arguments, None)?.half_width,
            None => None,
        },
        _ => match people {
            Some(people) => half_width_evenly(aggregate, arguments, people)?,
            None => None,
        },
    })
}

/// As above, of what depends on how the rows lie.
fn half_width_evenly(
    aggregate: &str,
    arguments: &Arguments,
    people: f64,
) -> Result<Option<f64>, ParameterError> {
    let pair = |of| even::pair(aggregate, of, arguments, people, MISS);
    match aggregate {
        "dp_var_pop" | "dp_var_pop_estimate" => {
            let hidden = |width: f64| width * width / 12.0;
            even::variance(arguments, people, MISS, hidden, |answer| answer.variance)
        }
        "dp_stddev_pop" => {
            let hidden = |width: f64| width / 12f64.sqrt();
            even::variance(arguments, people, MISS, hidden, |answer| answer.stddev)
        }
        "dp_quantile" | "dp_median" | "dp_quantiles" | "dp_quantile_estimate" => {
            even::quantile(aggregate, arguments, people, MISS)
        }
        "dp_covar_pop" => pair(OfPairs::Covariance),
        "dp_corr" | "dp_corr_estimate" => pair(OfPairs::Correlation),
        "dp_regr_slope" => pair(OfPairs::Slope),
        "dp_regr_intercept" => pair(OfPairs::Intercept),
        _ => Ok(None),
    }
}

/// How far off a number is that is read from a release of `dp_regr`, for that many people: as [`half_width`].
///
/// # Errors
/// The first argument that breaks its rule.
pub fn half_width_of(
    number: OfPairs,
    arguments: &Arguments,
    people: Option<f64>,
) -> Result<Option<f64>, ParameterError> {
    match people {
        Some(people) => even::pair("dp_regr", number, arguments, people, MISS),
        None => Ok(None),
    }
}

/// How far off a mean of many rows is, times their number: it does not depend on that, where no bound cuts it off.
///
/// # Errors
/// The first argument that breaks its rule.
pub fn half_width_times_rows(arguments: &Arguments) -> Result<Option<f64>, ParameterError> {
    let rows = (1u64 << 52) as f64;
    let mean = MEAN.build(arguments)?;
    Ok(mean.half_width(rows, MISS).map(|width| width * rows))
}

/// How far off each of many numbers of one release is.
fn of_one(mechanism: &Vector) -> Option<f64> {
    let length = mechanism.rows().length;
    Some(mechanism.spread().half_widths(MISS, length).value)
}

/// From how many people on `dp_keep` shows a group in half of all cases.
///
/// # Errors
/// `eps` or `delta` out of its range.
pub fn kept_from(eps: f64, delta: f64, groups: u32) -> Result<f64, ParameterError> {
    let groups = f64::from(groups);
    let epsilon = Epsilon::new(Some(eps / groups))?;
    let selection = Selection::new(epsilon, Delta::new(Some(delta / groups))?);
    let (mut hidden, mut shown) = (0, selection.certain_from());
    while shown - hidden > 1 {
        let middle = u64::midpoint(hidden, shown);
        if selection.probability(middle) < 0.5 {
            hidden = middle;
        } else {
            shown = middle;
        }
    }
    Ok(shown as f64)
}

/// An answer that is planned for.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// What is asked.
    pub answer: &'static str,
    /// How far off the answer is.
    pub noise: f64,
    /// The unit of that.
    pub unit: &'static str,
}

/// What a budget of (eps, delta) buys, if it is shared by that many questions about that many people, a row each: the
/// price of one, and how far off answers are. Of a column that is spread evenly between its bounds; a correlation and a
/// slope of two that have nothing to do with each other.
///
/// # Errors
/// `people` or `questions` not finite or below 1; `eps` and `delta` as for a budget.
pub fn plan(
    people: f64,
    questions: f64,
    eps: f64,
    delta: f64,
) -> Result<(f64, Vec<Planned>), ParameterError> {
    const PEOPLE_HINT: &str =
        "Plan with a public number of people, never with one counted from the data.";
    for (name, value, hint) in [
        ("people", people, PEOPLE_HINT),
        (
            "questions",
            questions,
            "How many answers the budget is to be enough for.",
        ),
    ] {
        check_positive(name, value, hint)?;
        if value < 1.0 {
            return Err(ParameterError::new(name, "must be at least 1", hint));
        }
    }
    let limit = Limit::new(eps, delta, Accounting::Gaussian, HALF)?;
    let price = eps / questions;
    let mu = limit.mu_at(price);
    let text = |aggregate: &str| mu.and_then(|mu| registry::for_mu(aggregate, mu));
    let unit = Some((Some(0.0), Some(1.0)));
    let people = people.round().min(((1u64 << 53) - 1) as f64);
    let of = |aggregate: &str, bounds| {
        let text = text(aggregate);
        half_width(
            aggregate,
            &arguments(text.as_deref(), bounds, None, price),
            Some(people),
        )
    };
    let count = of("dp_count", None)?.unwrap_or(f64::INFINITY);
    let mut lines = vec![
        Planned {
            answer: "count",
            noise: count,
            unit: "people",
        },
        Planned {
            answer: "share",
            noise: count / people,
            unit: "of the people",
        },
    ];
    for (answer, aggregate, name) in [
        ("sum", "dp_sum", "ranges of the column"),
        ("mean", "dp_mean", "ranges of the column"),
    ] {
        if let Some(noise) = of(aggregate, unit)? {
            lines.push(Planned {
                answer,
                noise,
                unit: name,
            });
        }
    }
    // A place is chosen with a weight of e^-(epsilon ranks).
    let epsilon = match mu {
        Some(mu) => (8.0 * mu * mu / std::f64::consts::PI).sqrt(),
        None => price,
    };
    lines.push(Planned {
        answer: "median",
        noise: (1.0 / MISS).ln() / epsilon,
        unit: "ranks",
    });
    let pairs = [
        (
            "correlation",
            &CORRELATION,
            OfPairs::Correlation,
            "from -1 to 1",
        ),
        (
            "slope",
            &SLOPE,
            OfPairs::Slope,
            "ranges of y over those of x",
        ),
    ];
    for (answer, registry, number, name) in pairs {
        let text = text(registry.aggregate);
        let mechanism = registry.build(&arguments(text.as_deref(), unit, unit, price))?;
        let noise = even::of_release(&*mechanism, number, 0.0, people, MISS);
        lines.push(Planned {
            answer,
            noise: noise.unwrap_or(f64::INFINITY),
            unit: name,
        });
    }
    if limit.delta > 0 {
        let delta = delta / 1000.0;
        let noise = match text("dp_count") {
            Some(text) => registry::shown_above("dp_count", &text, delta)?,
            None => kept_from(price, delta, 1)?,
        };
        lines.push(Planned {
            answer: "group that is shown in half of all cases",
            noise,
            unit: "people",
        });
    }
    Ok((price, lines))
}

/// The bounds of a column, as a call has them.
type Ends = Option<(Option<f64>, Option<f64>)>;

/// Those of a call with a mechanism that has its own budget, or of one at the price.
fn arguments(text: Option<&str>, bounds: Ends, x_bounds: Ends, price: f64) -> Arguments<'_> {
    Arguments {
        bounds,
        x_bounds,
        epsilon: text.is_none().then_some(price),
        mechanism: text.map_or(MechanismArgument::Omitted, |text| {
            MechanismArgument::Given(Some(text))
        }),
        ..Arguments::default()
    }
}
