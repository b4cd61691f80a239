//! Two columns: `dp_covar_pop(y, x, ylo, yhi, xlo, xhi, eps [, mech])`, and with the same arguments `dp_corr`,
//! `dp_regr_slope`, `dp_regr_intercept`, and `dp_regr` with all of them; `dp_corr_estimate(... [, mech [,
//! confidence]])`.

use dp_core::encoding::pairs::PairMoments;
use dp_core::estimate::Correlations;
use dp_core::mechanism::bivariate::ends::{PairEnds, PairEstimate, PairEstimator};
use dp_core::mechanism::bivariate::sums::{
    OfPairs, PairAnswer, PairMechanism, RegressionLine, Strength,
};
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::estimate::row;
use crate::aggregates::shared::people::{contribution_at, take_contribution};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{
    CONFIDENCE, EPS, MECH, Signature, X_CONTRIBUTION_OF_TWO, X_OF_TWO, XHI, XLO, Y, Y_CONTRIBUTION,
    YHI, YLO, at,
};
use crate::call::site::{CallSite, Price};
use crate::pg::errors::Refusal;
use crate::pg::fmgr::{self, Call, argument, float8};
use crate::plan::planned_call::SupportFunction;
use crate::state::scalar::State;

/// The arguments of two columns.
pub const SIGNATURE: Signature =
    Signature::new(&[Y, X_OF_TWO, YLO, YHI, XLO, XHI, EPS, MECH.given_from(8)]);

/// The arguments of two columns, and the confidence of an interval.
pub const WITH_CONFIDENCE: Signature = Signature::new(&[
    Y,
    X_OF_TWO,
    YLO,
    YHI,
    XLO,
    XHI,
    EPS,
    MECH.given_from(8),
    CONFIDENCE.given_from(9),
]);

/// As above, for contributions.
pub const WITH_CONFIDENCE_OF_PEOPLE: Signature = Signature::new(&[
    Y_CONTRIBUTION,
    X_CONTRIBUTION_OF_TWO,
    YLO,
    YHI,
    XLO,
    XHI,
    EPS,
    MECH.given_from(8),
    CONFIDENCE.given_from(9),
]);

/// Those of contributions of two columns.
pub const OF_PEOPLE: Signature = Signature::new(&[
    Y_CONTRIBUTION,
    X_CONTRIBUTION_OF_TWO,
    YLO,
    YHI,
    XLO,
    XHI,
    EPS,
    MECH.given_from(8),
]);

pub static COVARIANCE: Aggregate<PairMechanism> = Aggregate {
    name: "dp_covar_pop",
    signature: SIGNATURE,
    mechanisms: &registry::COVARIANCE,
};

/// Of `dp_regr_slope` and `dp_regr_intercept`.
pub static SLOPE: Aggregate<PairMechanism> = Aggregate {
    name: "dp_regr_slope",
    signature: SIGNATURE,
    mechanisms: &registry::SLOPE,
};

/// Of `dp_corr` and `dp_regr`.
pub static CORRELATION: Aggregate<PairMechanism> = Aggregate {
    name: "dp_corr",
    signature: SIGNATURE,
    mechanisms: &registry::CORRELATION,
};

/// As above, for contributions.
pub static COVARIANCE_OF_PEOPLE: Aggregate<PairMechanism> = Aggregate {
    signature: OF_PEOPLE,
    ..COVARIANCE
};

pub static SLOPE_OF_PEOPLE: Aggregate<PairMechanism> = Aggregate {
    signature: OF_PEOPLE,
    ..SLOPE
};

pub static CORRELATION_OF_PEOPLE: Aggregate<PairMechanism> = Aggregate {
    signature: OF_PEOPLE,
    ..CORRELATION
};

pub static ESTIMATE: Aggregate<PairEstimator> = Aggregate {
    name: "dp_corr_estimate",
    signature: WITH_CONFIDENCE,
    mechanisms: &Correlations,
};

/// As above, for contributions.
pub static ESTIMATE_OF_PEOPLE: Aggregate<PairEstimator> = Aggregate {
    signature: WITH_CONFIDENCE_OF_PEOPLE,
    ..ESTIMATE
};

/// An aggregate of contributions: what persons have are rows at the means of both columns.
pub struct OfPeople<A: 'static>(pub &'static Aggregate<dyn OfPairs<Answer = A>>);

impl<A: 'static> OfPeople<A> {
    /// What the transition function does with the contributions of a person: as many rows as both have, and none
    /// where they have none in either.
    ///
    /// # Safety
    /// `call` is a call of the aggregate's transition function of contributions.
    pub unsafe fn other_row(&self, call: Call) -> Result<Datum, Refusal> {
        let aggregate = self.0;
        let (grid, unit) = CallSite::with(call, SupportFunction::Transition, aggregate, |site| {
            Ok((site.mechanism_of_row(call)?.pair_grid(), site.unit()))
        })?;
        // SAFETY: the SQL declaration makes both of them contributions.
        let given = |i| unsafe { contribution_at(call, i, unit) };
        let rows = match (given(at::Y), given(at::X_OF_TWO)) {
            (Some((y_bounds, y)), Some((x_bounds, x))) => {
                let means = [y.mean(&y_bounds), x.mean(&x_bounds)];
                PairMoments::of_rows(grid.steps(means), y.rows().min(x.rows()))
            }
            _ => PairMoments::default(),
        };
        // SAFETY: the caller guarantees it.
        unsafe { aggregate.add_sums(call, grid, &rows) }
    }
}

impl<A: 'static> Aggregate<dyn OfPairs<Answer = A>> {
    /// What the transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let grid = CallSite::with(call, SupportFunction::Transition, self, |site| {
            Ok(site.mechanism_of_row(call)?.pair_grid())
        })?;
        let value = |i| float8(call.datum(i).expect("the plain case ignores NULL"));
        let mut state = State::<PairMoments>::new(grid);
        state.take([at::Y, at::X_OF_TWO].map(value));
        // SAFETY: the caller guarantees it.
        unsafe { self.first_row(call, state) }
    }

    /// A release of the group, or of no rows where there is no state, and what it costs.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function, or of its like's.
    pub unsafe fn release_and_cost(&'static self, call: Call) -> (A, Price) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            let grid = mechanism.pair_grid();
            // SAFETY: the caller guarantees it.
            let answer = unsafe { self.release_state_on(call, mechanism, &grid) }?;
            Ok((answer, site.price()))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// The transition function of two columns, `(state, y, x, ylo, yhi, xlo, xhi, ...)`: a row with a NULL or a NaN in
/// either is ignored, everything else becomes grid steps. `rest` takes all but the plain case. Unguarded, as those in
/// `scalars.rs` are.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared with at least seven arguments, a `dp_state` and six
/// `float8`.
#[inline(always)]
pub unsafe fn add_pair(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: seven arguments, by the declaration; a non-NULL first one is a varlena.
    unsafe {
        if !fmgr::in_aggregate(fcinfo) {
            return rest(fcinfo);
        }
        let state = argument(fcinfo, at::STATE);
        let [y, x] = [argument(fcinfo, at::Y), argument(fcinfo, at::X_OF_TWO)];
        if y.isnull || x.isnull || float8(y.value).is_nan() || float8(x.value).is_nan() {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        if state.isnull {
            return rest(fcinfo);
        }
        let bounds = at::BOUNDS_OF_TWO.map(|i| argument(fcinfo, i).value.value() as u64);
        match State::<PairMoments>::of(state.value) {
            Some(group) if group.grid().ends().map(f64::to_bits) == bounds => {
                group.take([float8(y.value), float8(x.value)]);
                state.value
            }
            _ => rest(fcinfo),
        }
    }
}

transition_function!(dp_covar_pop_trans, COVARIANCE, add_pair);
transition_function!(dp_regr_slope_trans, SLOPE, add_pair);
transition_function!(dp_corr_trans, CORRELATION, add_pair);

transition_function!(
    dp_covar_pop_people_trans,
    OfPeople(&COVARIANCE_OF_PEOPLE),
    take_contribution
);
transition_function!(
    dp_regr_slope_people_trans,
    OfPeople(&SLOPE_OF_PEOPLE),
    take_contribution
);
transition_function!(
    dp_corr_people_trans,
    OfPeople(&CORRELATION_OF_PEOPLE),
    take_contribution
);

transition_function!(dp_corr_estimate_trans, ESTIMATE, add_pair);

transition_function!(
    dp_corr_estimate_people_trans,
    OfPeople(&ESTIMATE_OF_PEOPLE),
    take_contribution
);

/// All mechanisms of `dp_regr_slope` have a line, and those of `dp_corr` its strength, too.
fn covariance(answer: &PairAnswer) -> Option<f64> {
    Some(answer.covariance)
}

fn slope(answer: &PairAnswer) -> Option<f64> {
    answer.line.as_ref().map(|line| line.slope)
}

fn intercept(answer: &PairAnswer) -> Option<f64> {
    answer.line.as_ref().map(|line| line.intercept)
}

fn correlation(answer: &PairAnswer) -> Option<f64> {
    answer
        .strength
        .as_ref()
        .map(|strength| strength.correlation)
}

/// All of them.
///
/// # Safety
/// `call` is a call of the final function of this aggregate, which returns ten float8 and what it cost.
unsafe fn regression(aggregate: &'static Aggregate<PairMechanism>, call: Call) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe {
        let (answer, price) = aggregate.release_and_cost(call);
        let RegressionLine {
            slope,
            intercept,
            x_stddev,
        } = answer.line?;
        let Strength {
            correlation,
            y_stddev,
        } = answer.strength?;
        let numbers = [
            slope,
            intercept,
            correlation,
            correlation * correlation,
            answer.covariance,
            answer.y_mean,
            answer.x_mean,
            y_stddev,
            x_stddev,
            answer.count,
        ];
        Some(row(call, numbers.map(IntoDatum::into_datum), &price))
    }
}

/// The final functions that return one number, of rows and of contributions, as the SQL declarations name them.
macro_rules! numbers {
    ($($name:ident, $aggregate:ident, $number:ident;)*) => {$(
        const _: () = {
            fn answered(call: Call) -> Option<Datum> {
                // SAFETY: the SQL declaration makes it a final function of this aggregate.
                let (answer, _) = unsafe { $aggregate.release_and_cost(call) };
                $number(&answer).into_datum()
            }

            final_function!($name, $aggregate, answered);
        };
    )*};
}

numbers! {
    dp_covar_pop_final, COVARIANCE, covariance;
    dp_regr_slope_final, SLOPE, slope;
    dp_regr_intercept_final, SLOPE, intercept;
    dp_corr_final, CORRELATION, correlation;
    dp_covar_pop_people_final, COVARIANCE_OF_PEOPLE, covariance;
    dp_regr_slope_people_final, SLOPE_OF_PEOPLE, slope;
    dp_regr_intercept_people_final, SLOPE_OF_PEOPLE, intercept;
    dp_corr_people_final, CORRELATION_OF_PEOPLE, correlation;
}

fn of_rows(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_regr's final function, with its columns.
    unsafe { regression(&CORRELATION, call) }
}

fn of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for contributions.
    unsafe { regression(&CORRELATION_OF_PEOPLE, call) }
}

final_function!(dp_regr_final, CORRELATION, of_rows);

final_function!(dp_regr_people_final, CORRELATION_OF_PEOPLE, of_people);

/// The correlation and the slope with their intervals.
///
/// # Safety
/// `call` is a call of the final function of this aggregate, which returns nine float8 and what it cost.
unsafe fn estimate(aggregate: &'static Aggregate<PairEstimator>, call: Call) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe {
        let (PairEstimate { answer, ends }, price) = aggregate.release_and_cost(call);
        let PairEnds {
            correlation: [lower, upper],
            correlation_of_population: [population_lower, population_upper],
            slope: [slope_lower, slope_upper],
        } = ends;
        let numbers = [
            answer.strength?.correlation,
            lower,
            upper,
            population_lower,
            population_upper,
            answer.line?.slope,
            slope_lower,
            slope_upper,
            answer.count,
        ];
        Some(row(call, numbers.map(IntoDatum::into_datum), &price))
    }
}

fn estimate_of_rows(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_corr_estimate's final function, with its columns.
    unsafe { estimate(&ESTIMATE, call) }
}

fn estimate_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for contributions.
    unsafe { estimate(&ESTIMATE_OF_PEOPLE, call) }
}

final_function!(dp_corr_estimate_final, ESTIMATE, estimate_of_rows);

final_function!(
    dp_corr_estimate_people_final,
    ESTIMATE_OF_PEOPLE,
    estimate_of_people
);
