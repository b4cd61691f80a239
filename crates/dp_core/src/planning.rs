//! Bias, accuracy and privacy of means, planned before anything is spent: public numbers in, public
//! numbers out. Nothing here looks at data.
//!
//! Bias and error are those of the *population*: the rows are independent draws from one distribution, and
//! bias is how far the answer is from that distribution's mean on average, over rows and noise. `psi` bounds
//! its moment of order `moment`, as in
//!
//! ```text
//! E |x - mean|^moment <= psi^moment
//! ```
//!
//! so that `psi`, like a standard deviation, has the unit of the column.
//!
//! Source: Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, A bias-accuracy-privacy
//! trilemma for statistical estimation ("the paper" below).
//!
//! ```
//! use dp_core::planning::{clip_bias, clip_radius, trilemma};
//!
//! let bias = clip_bias(2.0, 1.0, 5.0)?;
//! assert!((bias - 0.05).abs() < 1e-15);
//! assert!((clip_radius(2.0, 1.0, bias)? - 5.0).abs() < 1e-14);
//! assert!(!trilemma(10_000.0, 1.0, 0.0, 0.0)?.possible);
//! # Ok::<(), dp_core::error::ParameterError>(())
//! ```
use crate::accuracy::forecast::{
    Forecast, Planned, bias_of_clamping, exp_above_0, log_kappa, log_ratio,
};
use crate::accuracy::interval;
use crate::accuracy::tail::quantile;
use crate::encoding::grid::Bounds;
use crate::error::ParameterError;
use crate::mechanism::definition::{Entry, HOLDING_BOUNDS, Plan};
use crate::mechanism::mean::inputs::Mean;
use crate::mechanism::mean::parameters::replaces_bounds;
use crate::privacy::accounting::{check_delta, check_positive};
use crate::privacy::epsilon::Epsilon;
use crate::registry::{self, MEAN};
use crate::request::arguments::{Arguments, MechanismArgument};
use crate::request::budget::replaces_epsilon;

const MOMENT_HINT: &str = "The order of the moment that psi bounds: 2 where psi is a bound on the \
                           standard deviation; more for lighter tails.";
const PSI_HINT: &str = "Give a public bound on the moment's root, as on a standard deviation, in \
                        the unit of the column.";
const RADIUS_HINT: &str = "The distance from the mean to the nearer bound, in the unit of the \
                           column.";
const BIAS_HINT: &str = "The largest bias that will do, in the unit of the column.";
const ROWS_HINT: &str = "Plan with a public number of rows, never with one counted from the data.";

/// The largest bias that clamping rows to bounds at least `c` from their mean can make, in the unit
/// of `psi` and `c`:
///
/// ```text
/// kappa psi^moment / c^(moment - 1),    kappa = (moment - 1)^(moment - 1) / moment^moment
/// ```
///
/// Guarantee: for every distribution whose moment `psi` bounds; no smaller bound holds for all of them but
/// for a factor that is 0.941 at moment 2 and `c = 2 psi`, and closer to 1 farther out. Computed
/// to a relative error of 1e-12; never 0.
///
/// Source: the paper, Lemma 3.2, with the constant of its Lemma 3.1.
///
/// # Errors
/// `moment` not finite or not above 1; `psi` or `c` not finite or not above 0; a bias that is too
/// large for a `float8`.
pub fn clip_bias(moment: f64, psi: f64, c: f64) -> Result<f64, ParameterError> {
    check_moment(moment)?;
    check_positive("psi", psi, PSI_HINT)?;
    check_positive("c", c, RADIUS_HINT)?;
    let bias = bias_of_clamping(moment, psi, c);
    if bias.is_infinite() {
        return Err(ParameterError::new(
            "c",
            "is too small: the bias must be finite",
            RADIUS_HINT,
        ));
    }
    Ok(bias)
}

/// How far from the mean the bounds must be for a bias of at most `beta`: the `c` at which
/// [`clip_bias`] is `beta`, in the unit of `psi` and `beta`.
///
/// ```text
/// (kappa psi^moment / beta)^(1 / (moment - 1))
/// ```
///
/// Guarantee: as that of [`clip_bias`]. Computed to a relative error of 1e-12; never 0.
///
/// Source: the paper, Lemma 3.2, solved for `c`: for a mean in `[a, b]`, `lo = a - c` and
/// `hi = b + c` (Proposition 3.5 has the same without kappa, so farther out).
///
/// # Errors
/// `moment` not finite or not above 1; `psi` or `beta` not finite or not above 0; a radius that is
/// too large for a `float8`.
pub fn clip_radius(moment: f64, psi: f64, beta: f64) -> Result<f64, ParameterError> {
    check_moment(moment)?;
    check_positive("psi", psi, PSI_HINT)?;
    check_positive("beta", beta, BIAS_HINT)?;
    let log = psi.ln() + (log_kappa(moment) + log_ratio(psi, beta)) / (moment - 1.0);
    let c = exp_above_0(log);
    if c.is_infinite() {
        return Err(ParameterError::new(
            "beta",
            "is too small: the radius must be finite",
            "Take a larger bias, or a moment of a higher order.",
        ));
    }
    Ok(c)
}

/// What the trilemma says of the means of many rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trilemma {
    /// The least root mean squared error, the larger of the two parts; infinite where there is no
    /// such method.
    pub least_rmse: f64,
    /// What no method can beat, private or not.
    pub sampling: f64,
    /// What bias and privacy together cost; 0 where the theorem says nothing.
    pub privacy: f64,
    /// Whether there can be such a method at all.
    pub possible: bool,
}

/// The least root mean squared error that a method of this privacy and this bias can have, over
/// all distributions of rows with mean between 0 and 1 and variance at most 1: so in standard deviations.
///
/// The methods: any function of `n` rows, `n` public, with (`eps`, `delta`)-differential privacy
/// for neighbours that replace one row and a bias of at most `beta`. For `beta <= 1/80` the error
/// is at least
///
/// ```text
/// 1 / (64 n s max(16 beta, sqrt(sqrt(delta) / (2 s)))),    s = max(sinh(eps), 12.5 sqrt(delta))
/// ```
///
/// The theorem is for `delta <= (2/25 sinh(eps))^2`, where `s` is `sinh(eps)`. For a larger delta
/// it is used at the larger epsilon that fits: what is private at an epsilon is so at a larger one.
/// For a larger `beta` it says nothing, and the error is that of the rows alone, `1/sqrt(6 (n + 2))`.
///
/// Without delta there is no method without bias (Theorem 1.5): of Gaussian rows of variance 1 and
/// unknown mean, for one. The constants are some hundred times too small to predict an error: this
/// tells what cannot be had.
///
/// Sources: the paper, Theorem 2.4, Proposition A.1, Theorem 1.5.
///
/// # Errors
/// `n` not finite or below 1; `eps` not finite or not above 0; `delta` not from 0 to below 1;
/// `beta` not finite or negative.
pub fn trilemma(n: f64, eps: f64, delta: f64, beta: f64) -> Result<Trilemma, ParameterError> {
    if !(n.is_finite() && n >= 1.0) {
        return Err(ParameterError::new(
            "n",
            "must be a finite number, at least 1",
            ROWS_HINT,
        ));
    }
    check_positive(
        "eps",
        eps,
        "Smaller is more private and noisier; 0.1 to 4 is usual.",
    )?;
    if !(0.0..1.0).contains(&delta) {
        return Err(ParameterError::new(
            "delta",
            "must be at least 0 and less than 1",
            "Give 0 for pure differential privacy; well below one over the number of rows is usual.",
        ));
    }
    if !(beta.is_finite() && beta >= 0.0) {
        return Err(ParameterError::new(
            "beta",
            "must be a finite number that is not negative",
            "The bias that will do, in standard deviations of the rows; 0 for none.",
        ));
    }
    let sampling = 1.0 / (6.0 * (n + 2.0)).sqrt();
    let possible = delta > 0.0 || beta > 0.0;
    let privacy = if !possible {
        f64::INFINITY
    } else if beta <= 1.0 / 80.0 {
        // Finite, or 0 times it would be no number.
        let s = eps.sinh().min(f64::MAX).max(12.5 * delta.sqrt());
        let worst = (16.0 * beta * s).max((s * delta.sqrt() / 2.0).sqrt());
        (1.0 / (64.0 * n * worst)).min(f64::MAX)
    } else {
        0.0
    };
    Ok(Trilemma {
        least_rmse: sampling.max(privacy),
        sampling,
        privacy,
        possible,
    })
}

/// What to expect of one release of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanError {
    /// The root mean squared error about the mean of the clamped rows.
    pub rmse: f64,
    /// Half of the width of its interval; `None` where it has none.
    pub half_width: Option<f64>,
}

/// What to expect of one release of a mean of `n` rows, in the unit of the column, where the mean of
/// the rows is at the worst place between the bounds: about the mean of the rows as they are clamped,
/// so of the noise alone (and of nothing but the noise where rows are seen without bounds).
///
/// `rmse` knows that answers are kept between their bounds, however few the rows are. `half_width` is
/// to leading order in `1 / n`, and at most half of the width of the bounds. `confidence` is 0.95 where
/// it is `None`.
///
/// Sources: for the hourglass, Kulesza, Suresh, Wang 2024, theorem 4; for intervals,
/// [`interval`].
///
/// # Errors
/// The first argument that breaks its rule: `n` not a whole number from 1 to 2^53 - 1; the others as in a
/// call of `dp_mean_estimate`.
pub fn mean_error(
    n: Option<f64>,
    arguments: &Arguments,
    confidence: Option<Option<f64>>,
) -> Result<MeanError, ParameterError> {
    let rows = checked_rows(n)?;
    let mean = MEAN.build(arguments)?;
    let miss = interval::miss(confidence)?;
    Ok(MeanError {
        rmse: mean.rmse(rows),
        half_width: mean.half_width(rows, miss),
    })
}

/// The smallest eps at which [`mean_error`] has a root mean squared error of at most `rmse`, to a
/// relative 1e-6 above it.
///
/// # Errors
/// `rmse` not finite or not above 0, or below what eps 50 reaches; a mechanism whose budget is not eps;
/// the other arguments as those of [`mean_error`].
pub fn epsilon_for(
    n: Option<f64>,
    bounds: (Option<f64>, Option<f64>),
    rmse: Option<f64>,
    mechanism: MechanismArgument,
) -> Result<f64, ParameterError> {
    const HINT: &str = "Give the root mean squared error that will do, in the unit of the column.";
    const LEAST: f64 = 1.0 / (1 << 20) as f64;
    const MOST: f64 = 50.0;
    let rows = checked_rows(n)?;
    let error_at = |epsilon: f64| {
        let mean = MEAN.build(&Arguments {
            bounds: Some(bounds),
            epsilon: Some(epsilon),
            mechanism,
            pathological: true,
            ..Arguments::default()
        })?;
        Ok(mean.rmse(rows))
    };
    if let MechanismArgument::Given(Some(text)) = mechanism
        && replaces_epsilon(&registry::parse(text)?)
    {
        return Err(ParameterError::new(
            "mech",
            "has a budget that is not eps",
            "Leave mu= or rho= out, or ask dp_mean_error what error it brings.",
        ));
    }
    // What is wrong with the other arguments is wrong at any epsilon; but rows and groups of a person
    // may make small ones too small.
    let least = error_at(MOST)?;
    let rmse = match rmse {
        Some(rmse) => rmse,
        None => return Err(ParameterError::new("rmse", "must not be NULL", HINT)),
    };
    check_positive("rmse", rmse, HINT)?;
    if least > rmse {
        return Err(ParameterError::new(
            "rmse",
            "is less than any eps up to 50 reaches",
            "Take a larger error, more rows, bounds that are nearer to each other, or another \
             mechanism.",
        ));
    }
    let at = |excess: f64| (LEAST + excess).min(MOST);
    let excess = quantile(rmse, |excess| error_at(at(excess)).unwrap_or(f64::INFINITY));
    Ok(at(excess))
}

/// A mechanism of means, planned for.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRow {
    /// Its text, as `dp_mean` takes it; with `{delta}` and the like where a number was not given.
    pub mechanism: String,
    /// `None` where a number was not given, or the mechanism does not take one that was.
    pub forecast: Option<Forecast>,
    /// The pairs of tables between which the guarantee holds.
    pub neighbours: &'static str,
    /// The privacy guarantee of one release.
    pub guarantee: &'static str,
    /// What the forecast lacks, and what its promises ask of the rows.
    pub needs: String,
}

/// What the means that clamp to the bounds need of rows with a known moment.
const CENTRED_BOUNDS: &str =
    "lo and hi with the mean in the middle, and E|x - mean|^moment at most psi^moment";

/// A forecast for each mechanism of `dp_mean`, in the order of the registry: for `n` rows, one
/// release at `eps` (and `delta`, for those that spend one), bounds `lo` and `hi`, and a moment of
/// the rows, if one is known. `None` is NULL.
///
/// Bounds on errors are to leading order in `1 / n`. They compare mechanisms for what is promised of
/// the rows: see [`Planned::of_clamped`], or the mechanism's own forecast. Mechanisms that can show
/// a row are planned for, too; to run one takes a permission.
///
/// # Errors
/// The first argument that breaks its rule: `n` not a whole number from 1 to 2^53 - 1; `eps` and the
/// bounds as in a call of `dp_mean`; `delta` not above 0 and below 1; `moment` not finite or below
/// 2; `psi` not finite or not above 0; one of `moment` and `psi` without the other.
pub fn plan(
    n: Option<f64>,
    eps: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    delta: Option<f64>,
    moment: Option<f64>,
    psi: Option<f64>,
) -> Result<Vec<PlanRow>, ParameterError> {
    let rows = checked_rows(n)?;
    let arguments = Arguments {
        bounds: Some((lo, hi)),
        epsilon: eps,
        pathological: true,
        ..Arguments::default()
    };
    Epsilon::new(eps)?;
    Bounds::new(lo, hi)?;
    delta.map_or(Ok(()), check_delta)?;
    let planned = Planned {
        rows,
        moment: checked_moment(moment, psi)?,
    };
    let entries = MEAN.entries.iter();
    let plans = entries.filter_map(|entry| {
        let plan = entry.plan.as_ref()?;
        Some(plan_row(entry, plan, &arguments, delta, &planned))
    });
    Ok(plans.collect())
}

fn plan_row(
    entry: &Entry<Mean>,
    plan: &Plan,
    arguments: &Arguments,
    delta: Option<f64>,
    planned: &Planned,
) -> PlanRow {
    let (moment, psi) = planned.moment.unzip();
    let numbers = [
        ("n", Some(planned.rows)),
        ("delta", delta),
        ("moment", moment),
        ("psi", psi),
    ];
    let mut text = plan.text.to_owned();
    let mut missing = Vec::new();
    for (name, number) in numbers {
        let place = format!("{{{name}}}");
        match number {
            // A whole number as one: `n` takes no other.
            Some(number) if name == "n" => text = text.replace(&place, &format!("{number:.0}")),
            Some(number) => text = text.replace(&place, &format!("{number:?}")),
            None if text.contains(&place) => missing.push(name),
            None => {}
        }
    }
    let promises = match planned.moment {
        Some(_) if plan.needs == HOLDING_BOUNDS => CENTRED_BOUNDS,
        _ => plan.needs,
    };
    let (forecast, needs) = if missing.is_empty() {
        let bounds = if replaces_bounds(&entry.info) {
            Some((None, None))
        } else {
            arguments.bounds
        };
        let built = MEAN.build(&Arguments {
            bounds,
            mechanism: MechanismArgument::Given(Some(&text)),
            ..*arguments
        });
        match built {
            Ok(mechanism) => (Some(mechanism.forecast(planned)), promises.to_owned()),
            Err(error) => (None, format!("other numbers: {}", error.hint)),
        }
    } else {
        let missing = missing.join(", ");
        (None, format!("not given: {missing}; {promises}"))
    };
    PlanRow {
        // As the type dp_mechanism would print it.
        mechanism: registry::parse(&text).map_or(text, |choice| choice.to_string()),
        forecast,
        neighbours: entry.info.neighbours,
        guarantee: entry.info.guarantee,
        needs,
    }
}

fn checked_rows(n: Option<f64>) -> Result<f64, ParameterError> {
    match n {
        Some(n) if n.fract() == 0.0 && (1.0..(1u64 << 53) as f64).contains(&n) => Ok(n),
        Some(_) => Err(ParameterError::new(
            "n",
            "must be a whole number from 1 to 2^53 - 1",
            ROWS_HINT,
        )),
        None => Err(ParameterError::new("n", "must not be NULL", ROWS_HINT)),
    }
}

/// Order and bound of a moment that bounds the variance.
fn checked_moment(
    moment: Option<f64>,
    psi: Option<f64>,
) -> Result<Option<(f64, f64)>, ParameterError> {
    if let Some(moment) = moment
        && !(moment.is_finite() && moment >= 2.0)
    {
        return Err(ParameterError::new(
            "moment",
            "must be a finite number, at least 2",
            "A plan is about squared errors, which a moment of a lower order does not bound. 2 \
             where psi is a bound on the standard deviation; more for lighter tails.",
        ));
    }
    if let Some(psi) = psi {
        check_positive("psi", psi, PSI_HINT)?;
    }
    match (moment, psi) {
        (Some(moment), Some(psi)) => Ok(Some((moment, psi))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(ParameterError::new(
            "moment",
            "must be given with argument \"psi\"",
            MOMENT_HINT,
        )),
        (Some(_), None) => Err(ParameterError::new(
            "psi",
            "must be given with argument \"moment\"",
            PSI_HINT,
        )),
    }
}

fn check_moment(moment: f64) -> Result<(), ParameterError> {
    if moment.is_finite() && moment > 1.0 {
        return Ok(());
    }
    Err(ParameterError::new(
        "moment",
        "must be a finite number greater than 1",
        MOMENT_HINT,
    ))
}
