//! Bias, accuracy and privacy of means, planned before anything is spent: these functions look at
//! no data.

use dp_core::accuracy::difference::{Between, difference};
use dp_core::accuracy::interval;
use dp_core::error::ParameterError;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::{noise, planning};
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;

use crate::pg::composite::composite;
use crate::pg::errors;
use crate::pg::fmgr::{Call, float8, sql_function};
use crate::pg::set::Rows;
use crate::types::mechanism::text_of;

/// What a function answers, or the ERROR that says what is wrong with an argument of it.
fn answer<T>(function: &str, result: Result<T, ParameterError>) -> T {
    result.unwrap_or_else(|error| errors::parameter(function, &error).raise())
}

#[pg_extern(sql = false)]
fn dp_clip_bias(moment: f64, psi: f64, c: f64) -> f64 {
    answer("dp_clip_bias", planning::clip_bias(moment, psi, c))
}

#[pg_extern(sql = false)]
fn dp_clip_radius(moment: f64, psi: f64, beta: f64) -> f64 {
    answer("dp_clip_radius", planning::clip_radius(moment, psi, beta))
}

fn trilemma(call: Call) -> Option<Datum> {
    let [n, eps, delta, beta] =
        [0, 1, 2, 3].map(|i| float8(call.datum(i).expect("the function is declared STRICT")));
    let least = answer("dp_trilemma", planning::trilemma(n, eps, delta, beta));
    let errors = [least.least_rmse, least.sampling, least.privacy].map(IntoDatum::into_datum);
    let [least_rmse, sampling, privacy] = errors;
    let columns = [least_rmse, sampling, privacy, least.possible.into_datum()];
    // SAFETY: the SQL declaration makes it return (float8, float8, float8, boolean).
    Some(unsafe { composite(call, columns) })
}

sql_function!(dp_trilemma, trilemma);

/// The text of argument 4, `mech`.
fn mechanism(call: Call) -> Option<String> {
    // SAFETY: the SQL declarations make it a dp_mechanism.
    call.datum(4).map(|datum| unsafe { text_of(datum) })
}

/// `dp_mean_error(n, lo, hi, eps, mech, confidence)`
fn mean_error(call: Call) -> Option<Datum> {
    let number = |i: usize| call.datum(i).map(float8);
    let mechanism = mechanism(call);
    let arguments = Arguments {
        bounds: Some((number(1), number(2))),
        epsilon: number(3),
        mechanism: MechanismArgument::Given(mechanism.as_deref()),
        pathological: true,
        ..Arguments::default()
    };
    let error = planning::mean_error(number(0), &arguments, Some(number(5)));
    let error = answer("dp_mean_error", error);
    let columns = [error.rmse.into_datum(), error.half_width.into_datum()];
    // SAFETY: the SQL declaration makes it return (float8, float8).
    Some(unsafe { composite(call, columns) })
}

sql_function!(dp_mean_error, mean_error);

/// `dp_difference(first, first_lower, first_upper, second, second_lower, second_upper, confidence)`
fn difference_of(call: Call) -> Option<Datum> {
    let number = |i: usize| float8(call.datum(i).expect("the function is declared STRICT"));
    let of = |i: usize| Between {
        value: number(i),
        ends: [number(i + 1), number(i + 2)],
    };
    let [first, second] = [of(0), of(3)];
    let miss = answer("dp_difference", interval::miss(Some(Some(number(6)))));
    let names = ["first", "second"].into_iter().zip([first, second]);
    for (name, Between { value, ends }) in names {
        let finite = [value, ends[0], ends[1]].iter().all(|x| x.is_finite());
        let found = match finite {
            true => Ok(()),
            false => Err(ParameterError::new(
                name,
                "must be finite, and so must the ends of its interval",
                "Give the value, lower and upper of an estimate.",
            )),
        };
        answer("dp_difference", found);
    }
    let found = difference(first, second, miss);
    let columns = [found.value, found.ends[0], found.ends[1], found.p_value];
    // SAFETY: the SQL declaration makes it return (float8, float8, float8, float8).
    Some(unsafe { composite(call, columns.map(IntoDatum::into_datum)) })
}

sql_function!(dp_difference_wrapper, difference_of);

/// `dp_epsilon_for(n, lo, hi, rmse, mech)`
fn epsilon_for(call: Call) -> Option<Datum> {
    let number = |i: usize| call.datum(i).map(float8);
    let mechanism = mechanism(call);
    let epsilon = planning::epsilon_for(
        number(0),
        (number(1), number(2)),
        number(3),
        MechanismArgument::Given(mechanism.as_deref()),
    );
    answer("dp_epsilon_for", epsilon).into_datum()
}

sql_function!(dp_epsilon_for, epsilon_for);

/// `dp_plan(people, questions, eps, delta)`
fn plan(call: Call) -> Option<Datum> {
    let number = |i: usize| float8(call.datum(i).expect("the function is declared STRICT"));
    let mut rows = Rows::of(call)?;
    let plan = noise::plan(number(0), number(1), number(2), number(3));
    let (price, lines) = answer("dp_plan", plan);
    for line in lines {
        let values = [
            line.answer.into_datum(),
            line.noise.into_datum(),
            line.unit.into_datum(),
            price.into_datum(),
        ];
        // SAFETY: the SQL declaration makes it return these columns.
        unsafe { rows.add_row(values) };
    }
    None
}

sql_function!(dp_plan, plan);

/// `dp_mean_plan(n, lo, hi, eps, delta, moment, psi)`
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn dp_mean_plan_0_2(
    n: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    eps: Option<f64>,
    delta: Option<f64>,
    moment: Option<f64>,
    psi: Option<f64>,
) -> TableIterator<
    'static,
    (
        name!(mechanism, String),
        name!(noise_sd, Option<f64>),
        name!(bias_bound, Option<f64>),
        name!(rmse_bound, Option<f64>),
        name!(null_bound, Option<f64>),
        name!(neighbours, &'static str),
        name!(guarantee, &'static str),
        name!(needs, String),
    ),
> {
    let plan = planning::plan(n, eps, lo, hi, delta, moment, psi);
    TableIterator::new(answer("dp_mean_plan", plan).into_iter().map(|row| {
        (
            row.mechanism,
            row.forecast.map(|forecast| forecast.noise_sd),
            row.forecast.map(|forecast| forecast.bias),
            row.forecast.map(|forecast| forecast.rmse),
            row.forecast.map(|forecast| forecast.null),
            row.neighbours,
            row.guarantee,
            row.needs,
        )
    }))
}

/// `dp_mean_plan` of the SQL of 0.1.0, which has eps before lo and hi.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn dp_mean_plan(
    n: Option<f64>,
    eps: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    delta: Option<f64>,
    moment: Option<f64>,
    psi: Option<f64>,
) -> TableIterator<
    'static,
    (
        name!(mechanism, String),
        name!(noise_sd, Option<f64>),
        name!(bias_bound, Option<f64>),
        name!(rmse_bound, Option<f64>),
        name!(null_bound, Option<f64>),
        name!(neighbours, &'static str),
        name!(guarantee, &'static str),
        name!(needs, String),
    ),
> {
    dp_mean_plan_0_2(n, lo, hi, eps, delta, moment, psi)
}
