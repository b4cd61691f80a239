//! The registries: which mechanisms each aggregate has, the default first.
//!
//! To add a mechanism: write its file under `mechanism/` (with the reason it is private beside the
//! code), add its `ENTRY` to the registry of its aggregate here, and its tests and documentation.

use std::rc::Rc;

use crate::encoding::grid::Bounds;
use crate::error::ParameterError;
use crate::mechanism::bivariate::sums::PairMechanism;
use crate::mechanism::bivariate::weighted_laplace::WeightedMechanism;
use crate::mechanism::bounds::geometric::BoundsFinder;
use crate::mechanism::bounds_search::parameters::finds_bounds;
use crate::mechanism::cdf::tree::Cdf;
use crate::mechanism::clamped::geometric::Clamped;
use crate::mechanism::definition::{Built, Entry, Info, Scalar};
use crate::mechanism::distinct::bitmap::DistinctMechanism;
use crate::mechanism::histogram::geometric::Histogram;
use crate::mechanism::mean::inputs::Mean;
use crate::mechanism::mean::parameters::{REPLACE, refuse_bounds, replaces_bounds};
use crate::mechanism::mean::pathological::{forbidden, is_pathological};
use crate::mechanism::quantile::estimate::QuantileEstimator;
use crate::mechanism::quantile::exponential::RankMechanism;
use crate::mechanism::regression::sums::Regression;
use crate::mechanism::sum::inputs::SumMechanism;
use crate::mechanism::variance::inputs::SomeVariance;
use crate::mechanism::vector::items::{LENGTH, Vector};
use crate::mechanism::{
    bivariate, bounds, cdf, clamped, count, distinct, histogram, keep, mean, quantile, regression,
    sum, variance, vector,
};
use crate::privacy::cost::Cost;
use crate::privacy::delta::Delta;
use crate::privacy::gdp;
use crate::request::arguments::{Arguments, MechanismArgument};
use crate::request::budget::{epsilon_besides, replaces_epsilon};
use crate::request::checked::{CallDelta, CallEpsilon, Overspent, Request, column_bounds};
use crate::request::choice::{self, Choice, Known};
use crate::request::parameter::Parameter;
use crate::request::unit::{self, Unit};

/// The mechanisms of an aggregate. The first one is the default.
pub struct Registry<M: ?Sized + 'static> {
    /// The aggregate's name.
    pub aggregate: &'static str,
    /// Its mechanisms, the default first.
    pub entries: &'static [Entry<M>],
}

/// The mechanisms of means.
pub static MEAN: Registry<Mean> = Registry {
    aggregate: "dp_mean",
    entries: &[
        mean::hourglass::ENTRY,
        mean::laplace::ENTRY,
        mean::staircase::ENTRY,
        mean::gaussian::ENTRY,
        mean::smooth::ENTRY,
        mean::clipped::ENTRY,
        mean::shifted::ENTRY,
        mean::independent::ENTRY,
        mean::symmetric::ENTRY,
        mean::symmetric_known_n::ENTRY,
        mean::auto::ENTRY,
        mean::pathological::hybrid::ENTRY,
        mean::pathological::name_and_shame::ENTRY,
    ],
};

/// The mechanisms of sums. An answer may be infinite: where the bounds are near the largest
/// floats.
pub static SUM: Registry<SumMechanism> = Registry {
    aggregate: "dp_sum",
    entries: &[
        sum::staircase::ENTRY,
        sum::laplace::ENTRY,
        sum::gaussian::ENTRY,
        sum::auto::ENTRY,
    ],
};

/// The mechanisms of counts. An answer may be negative.
pub static COUNT: Registry<Scalar<i64>> = Registry {
    aggregate: "dp_count",
    entries: &[
        count::geometric::ENTRY,
        count::gaussian::ENTRY,
        count::undercount::ENTRY,
    ],
};

/// The mechanisms that say whether a group may be shown.
pub static KEEP: Registry<Scalar<bool>> = Registry {
    aggregate: "dp_keep",
    entries: &[keep::optimal::ENTRY],
};

/// The mechanisms of variances, and of what else their release gives.
pub static VARIANCE: Registry<SomeVariance> = Registry {
    aggregate: "dp_var_pop",
    entries: &[
        variance::laplace::ENTRY,
        variance::gaussian::ENTRY,
        variance::auto::ENTRY,
    ],
};

/// The mechanisms of covariances.
pub static COVARIANCE: Registry<PairMechanism> = Registry {
    aggregate: "dp_covar_pop",
    entries: &[
        bivariate::covariance_laplace::ENTRY,
        bivariate::covariance_gaussian::ENTRY,
    ],
};

/// The mechanisms of means with weights.
pub static WEIGHTED_MEAN: Registry<WeightedMechanism> = Registry {
    aggregate: "dp_weighted_mean",
    entries: &[bivariate::weighted_laplace::ENTRY],
};

/// The mechanisms of regression lines. Their release has the spread of `x` too.
pub static SLOPE: Registry<PairMechanism> = Registry {
    aggregate: "dp_regr_slope",
    entries: &[
        bivariate::slope_laplace::ENTRY,
        bivariate::correlation_gaussian::ENTRY,
    ],
};

/// The mechanisms of correlations, and of what else their release gives: all that a regression has.
pub static CORRELATION: Registry<PairMechanism> = Registry {
    aggregate: "dp_corr",
    entries: &[
        bivariate::correlation_laplace::ENTRY,
        bivariate::correlation_gaussian::ENTRY,
    ],
};

/// The mechanisms of regressions with several predictors.
pub static REGRESSION: Registry<Regression> = Registry {
    aggregate: "dp_linear_regression",
    entries: &[regression::knorm::ENTRY, regression::gaussian::ENTRY],
};

/// The mechanisms of numbers of distinct ids. An answer may be negative.
pub static DISTINCT: Registry<DistinctMechanism> = Registry {
    aggregate: "dp_count_distinct",
    entries: &[distinct::bitmap::ENTRY],
};

/// The mechanisms of many counts at once. Answers may be negative.
pub static COUNTS: Registry<Vector> = Registry {
    aggregate: "dp_counts",
    entries: VECTORS,
};

/// The mechanisms of sums of vectors. Answers may be infinite, as those of [`SUM`].
pub static SUMS: Registry<Vector> = Registry {
    aggregate: "dp_sums",
    entries: VECTORS,
};

const VECTORS: &[Entry<Vector>] = &[
    vector::knorm::ENTRY,
    vector::correlated::ENTRY,
    vector::gaussian::ENTRY,
    vector::known_n::ENTRY,
    vector::laplace::ENTRY,
    vector::ellipse::ENTRY,
];

/// The mechanisms of means of vectors: those that know the number of rows.
pub static MEANS: Registry<Vector> = Registry {
    aggregate: "dp_means",
    entries: &[
        vector::knorm::WITH_ROWS,
        vector::correlated::ENTRY,
        vector::known_n::ENTRY,
    ],
};

/// The mechanisms of histograms. Answers may be negative.
pub static HISTOGRAM: Registry<Histogram> = Registry {
    aggregate: "dp_histogram",
    entries: &[histogram::geometric::ENTRY],
};

/// The mechanisms that find bounds. An answer may be that there are none.
pub static BOUNDS: Registry<BoundsFinder> = Registry {
    aggregate: "dp_bounds",
    entries: &[bounds::geometric::ENTRY],
};

/// The mechanisms that say what clamping does. Answers may be negative.
pub static CLAMPED: Registry<Clamped> = Registry {
    aggregate: "dp_clamped",
    entries: &[clamped::geometric::ENTRY],
};

/// The mechanisms of distribution functions.
pub static CDF: Registry<Cdf> = Registry {
    aggregate: "dp_cdf",
    entries: &[cdf::tree::ENTRY],
};

/// The mechanisms of a quantile.
pub static QUANTILE: Registry<dyn RankMechanism> = Registry {
    aggregate: "dp_quantile",
    entries: ONE_RANK,
};

/// The mechanisms of a median.
pub static MEDIAN: Registry<dyn RankMechanism> = Registry {
    aggregate: "dp_median",
    entries: ONE_RANK,
};

/// The mechanisms of several quantiles.
pub static QUANTILES: Registry<dyn RankMechanism> = Registry {
    aggregate: "dp_quantiles",
    entries: &[quantile::exponential::ENTRY],
};

/// Those of a quantile with its interval: of the same names and parameters.
pub(crate) static QUANTILE_ESTIMATE: Registry<QuantileEstimator> = Registry {
    aggregate: "dp_quantile_estimate",
    entries: &[quantile::estimate::ESTIMATOR],
};

const ONE_RANK: &[Entry<dyn RankMechanism>] = &[
    quantile::exponential::ENTRY,
    quantile::above_threshold::ENTRY,
];

/// The mechanism of a call, and what a release by it costs.
pub struct Made<M: ?Sized> {
    /// Ready to release.
    pub mechanism: Box<M>,
    /// What each release costs.
    pub spent: Rc<Spent>,
}

/// What a release costs, and its mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// What it costs a person.
    pub cost: Cost,
    /// The mechanism's canonical text.
    pub mechanism: String,
}

/// What makes the mechanism of a call from its arguments.
pub trait Factory<M: ?Sized>: Sync {
    /// Checks the arguments and makes the mechanism. `confidence` is that argument; `None` where the
    /// call has none.
    ///
    /// # Errors
    /// The first argument that breaks its rule.
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<M>, ParameterError>;
}

impl<M: ?Sized + 'static> Factory<M> for Registry<M> {
    fn make(
        &self,
        arguments: &Arguments,
        _confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<M>, ParameterError> {
        self.make_chosen(arguments, overspent)
    }
}

/// Reads the text of a mechanism, as in `hourglass(gamma=0.4)`: see [`Choice`].
///
/// # Errors
/// A text of another form, or that names no mechanism or a parameter it does not take.
pub fn parse(text: &str) -> Result<Choice, ParameterError> {
    Choice::parse(text, &Catalog)
}

/// What a release of an aggregate with these arguments costs a person, and its mechanism's canonical text; `None` for
/// an aggregate that is not known.
pub fn price(aggregate: &str, arguments: &Arguments) -> Option<Result<Spent, ParameterError>> {
    fn of<M: ?Sized>(
        registry: &Registry<M>,
        arguments: &Arguments,
    ) -> Result<Spent, ParameterError> {
        let made = registry.make_chosen(arguments, Overspent::NOT)?;
        Ok(made.spent.as_ref().clone())
    }
    Some(match aggregate {
        "dp_mean" | "dp_mean_and_count" | "dp_mean_estimate" => of(&MEAN, arguments),
        "dp_sum" | "dp_sum_estimate" => of(&SUM, arguments),
        "dp_count" | "dp_count_estimate" => of(&COUNT, arguments),
        "dp_counts" | "dp_counts_estimate" => of(&COUNTS, arguments),
        "dp_sums" | "dp_sums_estimate" => of(&SUMS, arguments),
        "dp_means" => of(&MEANS, arguments),
        "dp_var_pop" | "dp_stddev_pop" | "dp_var_pop_estimate" => of(&VARIANCE, arguments),
        "dp_histogram" => of(&HISTOGRAM, arguments),
        "dp_cdf" | "dp_cdf_estimate" => of(&CDF, arguments),
        "dp_bounds" => of(&BOUNDS, arguments),
        "dp_clamped" => of(&CLAMPED, arguments),
        "dp_keep" => of(&KEEP, arguments),
        "dp_quantile" => of(&QUANTILE, arguments),
        "dp_quantile_estimate" => of(&QUANTILE_ESTIMATE, arguments),
        "dp_median" => of(&MEDIAN, arguments),
        "dp_quantiles" => of(&QUANTILES, arguments),
        "dp_covar_pop" => of(&COVARIANCE, arguments),
        "dp_regr_slope" | "dp_regr_intercept" => of(&SLOPE, arguments),
        "dp_corr" | "dp_corr_estimate" | "dp_regr" => of(&CORRELATION, arguments),
        "dp_linear_regression" => of(&REGRESSION, arguments),
        "dp_weighted_mean" | "dp_weighted_mean_estimate" => of(&WEIGHTED_MEAN, arguments),
        _ => return None,
    })
}

/// Whether the mechanism of a text protects whether a person is there at all, and not only what their rows say.
///
/// # Errors
/// A text that names no mechanism.
pub fn hides_presence(text: &str) -> Result<bool, ParameterError> {
    let choice = parse(text)?;
    let mut all = catalog().filter(|(_, _, info)| info.name == choice.name());
    Ok(all.all(|(_, _, info)| info.neighbours != REPLACE))
}

/// How many times the price of one count that many cost in one release, for each of them to have the noise of that one:
/// by correlated Gaussian noise, where prices are of `mu^2`, or by `knorm`, where they are of epsilon.
pub fn of_many(length: f64, is_gaussian: bool) -> f64 {
    match is_gaussian {
        true => ((1.0 + length.sqrt()) / 2.0).powi(2),
        false => ((length + 2.0) * (length + 3.0) / 12.0).sqrt(),
    }
}

/// Above which number of people, as a release with Gaussian noise tells it, their group may be shown, where nobody may
/// be seen to be alone in one but with probability `delta`: docs/proofs/keep-threshold.md. Of `dp_count`, or of the
/// number of rows of `dp_mean_and_count`, by a mechanism `gaussian`; of one of `dp_counts` by `correlated`; of one of
/// `dp_sums` by `gaussian`, where each row has one between -1 and 1.
///
/// # Errors
/// A text that names no mechanism, or one without a budget in Gaussian terms.
pub fn shown_above(aggregate: &str, mechanism: &str, delta: f64) -> Result<f64, ParameterError> {
    let choice = parse(mechanism)?;
    // Beside the sum of a mean the number of rows has more noise: see `mechanism::mean::gaussian`.
    let spread = match (aggregate, choice.get(LENGTH.name)) {
        ("dp_mean_and_count", _) => std::f64::consts::SQRT_2,
        ("dp_counts", Some(length)) => of_many(length, true).sqrt(),
        ("dp_sums", Some(length)) => length.sqrt(),
        _ => 1.0,
    };
    let request = Request {
        bounds: None,
        x_bounds: None,
        columns: &[],
        call_epsilon: None,
        call_delta: None,
        ranks: None,
        length: None,
        choice: &choice,
        overspent: Overspent::NOT,
    };
    keep::threshold::above(&request, spread, delta)
}

/// Whether a mechanism's text names one that can show a row, which takes a permission.
///
/// # Errors
/// A text that names no mechanism.
pub fn needs_permission(text: &str) -> Result<bool, ParameterError> {
    parse(text).map(|choice| is_pathological(&choice))
}

/// The name of an aggregate's default mechanism; `None` for an aggregate that is not known.
pub fn default_mechanism(aggregate: &str) -> Option<&'static str> {
    let family = family(aggregate);
    let mut all = catalog();
    all.find(|(known, is_default, _)| *known == family && *is_default)
        .map(|(_, _, info)| info.name)
}

/// The aggregate whose mechanisms this one has.
fn family(aggregate: &str) -> &str {
    match aggregate {
        "dp_mean_and_count" => "dp_mean",
        "dp_stddev_pop" => "dp_var_pop",
        "dp_regr_intercept" => "dp_regr_slope",
        "dp_regr" => "dp_corr",
        other => other.strip_suffix("_estimate").unwrap_or(other),
    }
}

/// The mechanism of an aggregate that spends all of `mu` best, in Gaussian differential privacy: Gaussian noise, or
/// choices of as much; `None` where it has neither.
pub fn for_mu(aggregate: &str, mu: f64) -> Option<String> {
    let family = family(aggregate);
    let has = |name: &str| {
        let mut all = catalog();
        all.any(|(known, _, info)| known == family && info.name == name)
    };
    if has("gaussian") {
        Some(format!("gaussian(mu={mu:?})"))
    } else if has("em") {
        let rho = gdp::rho_of_half_square(mu * mu / 2.0);
        Some(format!("em(rho={rho:?})"))
    } else {
        None
    }
}

/// A mechanism's text with these rows and groups of a person in the place of those that it has.
///
/// # Errors
/// A text that names no mechanism.
pub fn with_unit(text: &str, rows: u32, groups: u32) -> Result<String, ParameterError> {
    Ok(unit::with(parse(text)?, rows, groups).text())
}

/// The rows and groups of a person that a mechanism's text says, if it does.
///
/// # Errors
/// A text that names no mechanism, and numbers outside of their domain.
pub fn given_unit(text: &str) -> Result<unit::Given, ParameterError> {
    unit::given(&parse(text)?)
}

/// The privacy unit that the mechanism of a call says, in a text that a mechanism was made from. Of any other text it
/// is one row in one group, the least.
pub fn unit_of(mechanism: MechanismArgument) -> Unit {
    let MechanismArgument::Given(Some(text)) = mechanism else {
        return Unit::ROW;
    };
    parse(text).map_or(Unit::ROW, |choice| unit::unit_of(&choice))
}

/// All mechanisms, as a text may name them.
struct Catalog;

impl Known for Catalog {
    fn name(&self, text: &str) -> Option<&'static str> {
        let mut names = catalog().map(|(_, _, info)| info.name);
        names.find(|known| *known == text)
    }

    fn parameters(&self, name: &str) -> Vec<Parameter> {
        let mut seen: Vec<Parameter> = Vec::new();
        for (_, _, info) in catalog().filter(|(_, _, info)| info.name == name) {
            for parameter in info.all_parameters() {
                if !seen.iter().any(|known| known.name == parameter.name) {
                    seen.push(*parameter);
                }
            }
        }
        seen
    }

    /// The mechanisms of each aggregate; aggregates with the same ones stand together. It is the same
    /// whatever text was refused: that may be of a row, so not even the names nearest to it are singled out.
    fn listed(&self) -> String {
        let mut aggregates: Vec<(&str, Vec<&str>)> = Vec::new();
        for (aggregate, _, info) in catalog() {
            match aggregates.last_mut() {
                Some((last, names)) if *last == aggregate => names.push(info.name),
                _ => aggregates.push((aggregate, vec![info.name])),
            }
        }
        let mut groups: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for (aggregate, names) in aggregates {
            match groups.iter_mut().find(|(_, same)| *same == names) {
                Some((together, _)) => together.push(aggregate),
                None => groups.push((vec![aggregate], names)),
            }
        }
        let lines: Vec<String> = groups
            .iter()
            .map(|(together, names)| {
                format!("of {}: {}", together.join(" and "), choice::listed(names))
            })
            .collect();
        format!("The mechanisms are, {}.", lines.join("; "))
    }
}

/// All mechanisms of all aggregates: the aggregate's name, whether the mechanism is its
/// default, and the mechanism.
pub fn catalog() -> impl Iterator<Item = (&'static str, bool, &'static Info)> {
    let scalars = MEAN.infos().chain(SUM.infos()).chain(COUNT.infos());
    let vectors = COUNTS.infos().chain(SUMS.infos()).chain(MEANS.infos());
    let kept = KEEP.infos().chain(HISTOGRAM.infos());
    let kept = kept.chain(VARIANCE.infos());
    let pairs = COVARIANCE.infos().chain(SLOPE.infos());
    let kept = kept.chain(pairs).chain(CORRELATION.infos());
    let kept = kept.chain(REGRESSION.infos()).chain(WEIGHTED_MEAN.infos());
    let kept = kept.chain(DISTINCT.infos());
    let found = BOUNDS.infos().chain(CLAMPED.infos());
    let ranks = QUANTILE.infos().chain(MEDIAN.infos());
    let ranks = ranks.chain(QUANTILES.infos()).chain(CDF.infos());
    scalars.chain(kept).chain(vectors).chain(found).chain(ranks)
}

impl<M: ?Sized + 'static> Registry<M> {
    fn infos(&'static self) -> impl Iterator<Item = (&'static str, bool, &'static Info)> {
        let entries = self.entries.iter().enumerate();
        entries.map(|(position, entry)| (self.aggregate, position == 0, &entry.info))
    }

    /// Checks the arguments of a call, always in the order `lo`, `hi`, `eps`, `delta`, `mech`, and
    /// makes the mechanism. Nothing here depends on data.
    ///
    /// # Errors
    /// The first argument that breaks its rule.
    pub fn build(&self, arguments: &Arguments) -> Built<M> {
        self.make_chosen(arguments, Overspent::NOT)
            .map(|made| made.mechanism)
    }

    /// The same with noise for `factor` times the budget, which an audit must notice.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    #[cfg(feature = "testing")]
    pub fn build_with_budget_times(&self, factor: f64, arguments: &Arguments) -> Built<M> {
        self.make_chosen(arguments, Overspent::times(factor))
            .map(|made| made.mechanism)
    }

    /// What a release with these arguments costs a person.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn cost(&self, arguments: &Arguments) -> Result<Cost, ParameterError> {
        let made = self.make_chosen(arguments, Overspent::NOT)?;
        Ok(made.spent.cost)
    }

    pub(crate) fn make_chosen(
        &self,
        arguments: &Arguments,
        overspent: Overspent,
    ) -> Result<Made<M>, ParameterError> {
        let chosen = self.choose(arguments.mechanism);
        let own_scale = matches!(&chosen, Ok((entry, _)) if replaces_bounds(&entry.info));
        let own_bounds = matches!(&chosen, Ok((entry, _)) if finds_bounds(&entry.info));
        let bounds = match arguments.bounds {
            Some((None, None)) if own_bounds => None,
            Some((lo, hi)) if own_scale => {
                refuse_bounds(lo, hi)?;
                None
            }
            Some((lo, hi)) => Some(match arguments.x_bounds {
                Some(_) => Bounds::named(["ylo", "yhi"], lo, hi)?,
                None if arguments.columns.is_some() => Bounds::named(["ylo", "yhi"], lo, hi)?,
                None => Bounds::new(lo, hi)?,
            }),
            None => None,
        };
        let x_bounds = arguments.x_bounds;
        let x_bounds = x_bounds.map(|(lo, hi)| Bounds::named(["xlo", "xhi"], lo, hi));
        let x_bounds = x_bounds.transpose()?;
        let columns = arguments.columns.map(column_bounds).transpose()?;
        let own_budget = matches!(&chosen, Ok((_, choice)) if replaces_epsilon(choice));
        let epsilon = match arguments.epsilon {
            None if own_budget => None,
            // A mechanism with a scale refuses any other budget, by a better reason.
            Some(_) if own_budget && !own_scale => return Err(epsilon_besides()),
            epsilon => Some(CallEpsilon::new(epsilon)?),
        };
        let delta = arguments.delta.map(Delta::new).transpose()?;
        let (entry, choice) = chosen?;
        let request = Request {
            bounds,
            x_bounds,
            columns: columns.as_deref().unwrap_or_default(),
            call_epsilon: epsilon,
            call_delta: delta.map(CallDelta::new),
            ranks: arguments.ranks,
            length: arguments.length,
            choice: &choice,
            overspent,
        };
        let mechanism = (entry.build)(&request)?;
        if is_pathological(&choice) && !arguments.pathological {
            return Err(forbidden());
        }
        let cost = request.cost(entry.info.loss)?;
        Ok(Made {
            mechanism,
            spent: Rc::new(Spent {
                cost,
                mechanism: choice.text(),
            }),
        })
    }

    fn choose(&self, argument: MechanismArgument) -> Result<(&Entry<M>, Choice), ParameterError> {
        let names = || {
            let names: Vec<_> = self.entries.iter().map(|entry| entry.info.name).collect();
            format!(
                "The mechanisms of {} are: {}.",
                self.aggregate,
                choice::listed(&names)
            )
        };
        let choice = match argument {
            MechanismArgument::Given(Some(text)) => parse(text)?,
            MechanismArgument::Given(None) => {
                return Err(ParameterError::new("mech", "must not be NULL", names()));
            }
            MechanismArgument::Omitted => Choice::of_default(self.entries[0].info.name),
        };
        let Some(entry) = self
            .entries
            .iter()
            .find(|entry| entry.info.name == choice.name())
        else {
            let message = format!("is not a mechanism of {}", self.aggregate);
            return Err(ParameterError::new("mech", message, names()));
        };
        let parameters: Vec<Parameter> = entry.info.all_parameters().copied().collect();
        let taken = |key| parameters.iter().any(|parameter| parameter.name == key);
        if !choice.values().iter().all(|(key, _)| taken(*key)) {
            return Err(choice::unknown_key(entry.info.name, &parameters));
        }
        Ok((entry, choice))
    }
}
