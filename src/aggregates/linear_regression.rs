//! `dp_linear_regression(y, x, ylo, yhi, xlo, xhi, eps [, mech [, confidence]])`: several predictors, as an array.

use dp_core::encoding::columns::{Columns, MOST_COLUMNS, each_addend, sums_of};
use dp_core::encoding::sums::Totals;
use dp_core::estimate::Regressions;
use dp_core::mechanism::regression::fit::{Coefficient, Fit};
use dp_core::mechanism::regression::sums::Regression;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::estimate::row;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::group::state as state_of;
use crate::call::release::release;
use crate::call::signature::{
    CONFIDENCE, EPS, MECH, Signature, X_ARRAY_OF_TWO, XHI_ARRAY, XLO_ARRAY, Y, YHI, YLO, at,
};
use crate::call::site::{CallSite, Price};
use crate::pg::array::Array;
use crate::pg::errors::Refusal;
use crate::pg::fmgr::{self, Call, argument, float8};
use crate::plan::planned_call::SupportFunction;
use crate::state::vector::{Kind, Layout, VectorState, add_steps};
use crate::state::wire_format::Form;

pub static LINEAR_REGRESSION: Aggregate<Regression> = Aggregate {
    name: "dp_linear_regression",
    signature: Signature::new(&[
        Y,
        X_ARRAY_OF_TWO,
        YLO,
        YHI,
        XLO_ARRAY,
        XHI_ARRAY,
        EPS,
        MECH.given_from(8),
        CONFIDENCE.given_from(9),
    ]),
    mechanisms: &Regressions,
};

impl Aggregate<Regression> {
    /// What the transition function does beyond the plain case: the first row of a group, arrays that are compressed
    /// or stored elsewhere, and everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let columns = CallSite::with(call, SupportFunction::Transition, self, |site| {
            Ok(site.mechanism_of_row(call)?.columns().clone())
        })?;
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let mut state = match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(datum) => unsafe { self.vector_state(datum, &Layout::of_columns(&columns)) }?,
            // The executor copies it into the aggregate's own memory.
            None => VectorState::of_columns(&columns),
        };
        // The plain case ignores NULL.
        if let (Some(y), Some(x)) = (call.datum(at::Y), call.datum(at::X_OF_TWO)) {
            // SAFETY: the SQL declaration makes it a float8[].
            unsafe { add_row(&mut state, float8(y), Array::detoasted(x)) };
        }
        Ok(state.into_datum())
    }

    /// A release of the group, or of no rows where there is no state, and what it costs.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    unsafe fn release_and_cost(&'static self, call: Call) -> (Fit, Price) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            let columns: &Columns = mechanism.columns();
            let layout = Layout::of_columns(columns);
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            let totals = match unsafe { state_of(call) } {
                // SAFETY: the same.
                Some(datum) => unsafe { self.vector_state(datum, &layout) }?.totals(),
                None => Totals::new(sums_of(columns.count())),
            };
            Ok((release(mechanism, &totals), site.price()))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// What a call with these arguments says of its states; `None` where it is refused.
///
/// # Safety
/// The values are those of the call's arguments: see [`Aggregate::made_of`].
pub unsafe fn form(values: &[Option<Option<Datum>>]) -> Option<Form> {
    // SAFETY: the caller guarantees it.
    let made = unsafe { LINEAR_REGRESSION.made_of(values) }?;
    let layout = Layout::of_columns(made.mechanism.columns());
    Some(Form::Any(layout.bytes()))
}

/// The transition function, `(state, y, x, ylo, yhi, xlo, xhi, ...)`: a row is ignored where `y` or a predictor is
/// NULL, NaN or missing, everything else becomes grid steps. `rest` takes all but the plain case. Unguarded, as those
/// in `scalars.rs` are.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, float8[], float8, float8, float8[],
/// float8[], ...)`.
#[inline(always)]
unsafe fn add_columns(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; non-NULL states and arrays are varlenas.
    unsafe {
        if !fmgr::in_aggregate(fcinfo) {
            return rest(fcinfo);
        }
        let [state, y, x] = [at::STATE, at::Y, at::X_OF_TWO].map(|i| argument(fcinfo, i));
        if y.isnull || x.isnull || float8(y.value).is_nan() {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        let [ylo, yhi, xlo, xhi] = at::BOUNDS_OF_TWO.map(|i| argument(fcinfo, i));
        if state.isnull || xlo.isnull || xhi.isnull {
            return rest(fcinfo);
        }
        let arrays = [x, xlo, xhi].map(|array| Array::of(array.value));
        let ([Some(x), Some(xlo), Some(xhi)], Some(mut group)) =
            (arrays, VectorState::of(state.value))
        else {
            return rest(fcinfo);
        };
        let of_y = [ylo, yhi].map(|end| float8(end.value));
        if !is_of(&mut group, of_y, [xlo, xhi]) {
            return rest(fcinfo);
        }
        add_row(&mut group, float8(y.value), x);
        state.value
    }
}

/// Whether a state is one of columns with these bounds.
///
/// # Safety
/// The arrays are of float8.
#[inline(always)]
unsafe fn is_of(state: &mut VectorState, [ylo, yhi]: [f64; 2], [xlo, xhi]: [Array; 2]) -> bool {
    if state.layout().kind() != Kind::Products {
        return false;
    }
    // SAFETY: the caller guarantees it.
    let [xlo, xhi] = unsafe { [xlo.numbers(MOST_COLUMNS), xhi.numbers(MOST_COLUMNS)] };
    let ends = xlo.zip(xhi).chain([(Some(ylo), Some(yhi))]);
    let (grids, _) = state.grids_and_sums();
    let same = |one: f64, other: Option<f64>| Some(one.to_bits()) == other.map(f64::to_bits);
    grids
        .map(Some)
        .chain([None])
        .zip(ends.map(Some).chain([None]))
        .all(|pair| match pair {
            (Some(grid), Some((lo, hi))) => same(grid.lo(), lo) && same(grid.hi(), hi),
            (None, None) => true,
            _ => false,
        })
}

/// Takes in one row. Cannot panic.
///
/// # Safety
/// The array is of float8.
#[inline(always)]
unsafe fn add_row(state: &mut VectorState, y: f64, x: Array) {
    let mut steps = [0; MOST_COLUMNS];
    let mut columns = 0;
    // SAFETY: the caller guarantees it.
    let mut values = unsafe { x.numbers(MOST_COLUMNS) };
    let count = state.layout().columns();
    let (grids, mut sums) = state.grids_and_sums();
    for (grid, steps) in grids.zip(&mut steps) {
        columns += 1;
        let value = if columns == count {
            Some(y)
        } else {
            values.next().flatten()
        };
        match value {
            Some(value) if !value.is_nan() => *steps = grid.pair_steps(value),
            _ => return,
        }
    }
    let Some(steps) = steps.get(..columns) else {
        return;
    };
    each_addend(steps, |addend| {
        if let Some(sum) = sums.next() {
            // Below 2^47.
            add_steps(sum, addend as i64);
        }
    });
    state.count_row();
}

transition_function!(dp_linear_regression_trans, LINEAR_REGRESSION, add_columns);

/// The answer, and what it cost.
fn regression(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it the aggregate's final function.
    let (fit, price) = unsafe { LINEAR_REGRESSION.release_and_cost(call) };
    let of = |number: fn(&Coefficient) -> f64| {
        let numbers = fit.coefficients.iter().map(number);
        numbers.collect::<Vec<_>>().into_datum()
    };
    let of_columns = |numbers: &[f64]| match numbers {
        [x @ .., y] => [x.to_vec().into_datum(), y.into_datum()],
        [] => [None; 2],
    };
    let [x_means, y_mean] = of_columns(&fit.means);
    let [x_stddevs, y_stddev] = of_columns(&fit.stddevs);
    let numbers = [
        of(|coefficient| coefficient.value),
        of(|coefficient| coefficient.standard_error),
        of(|coefficient| coefficient.p_value),
        of(|coefficient| coefficient.of_rows[0]),
        of(|coefficient| coefficient.of_rows[1]),
        of(|coefficient| coefficient.of_population[0]),
        of(|coefficient| coefficient.of_population[1]),
        fit.r2.into_datum(),
        fit.residual_stddev.into_datum(),
        y_mean,
        x_means,
        y_stddev,
        x_stddevs,
        fit.count.into_datum(),
    ];
    // SAFETY: the SQL declaration returns a dp_linear_regression_answer, which has these columns.
    Some(unsafe { row(call, numbers, &price) })
}

final_function!(dp_linear_regression_final, LINEAR_REGRESSION, regression);
