//! `dp_cdf(x, lo, hi, points, eps [, mech])`, and `dp_cdf_estimate(... [, mech [, confidence]])` with its bands.

use dp_core::encoding::buckets::Buckets;
use dp_core::estimate::Cdfs;
use dp_core::mechanism::cdf::band::{Band, CdfEstimate, CdfEstimator};
use dp_core::mechanism::cdf::tree::Cdf;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::bins::{Binned, OfPeople, add_to_bin, one_of};
use crate::aggregates::shared::estimate::row;
use crate::aggregates::shared::people::take_contribution;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{
    CONFIDENCE, EPS, HI, LO, MECH, POINTS, Signature, X, X_CONTRIBUTION, at,
};
use crate::pg::fmgr::{Call, argument};
use crate::state::vector::{Kind, Layout};

pub static CDF: Aggregate<Cdf> = Aggregate {
    name: "dp_cdf",
    signature: Signature::new(&[X, LO, HI, POINTS, EPS, MECH.given_from(6)]),
    mechanisms: &registry::CDF,
};

/// As above, for contributions.
pub static CDF_OF_PEOPLE: Aggregate<Cdf> = Aggregate {
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, POINTS, EPS, MECH.given_from(6)]),
    ..CDF
};

pub static ESTIMATE: Aggregate<CdfEstimator> = Aggregate {
    name: "dp_cdf_estimate",
    signature: Signature::new(&[
        X,
        LO,
        HI,
        POINTS,
        EPS,
        MECH.given_from(6),
        CONFIDENCE.given_from(7),
    ]),
    mechanisms: &Cdfs,
};

/// As above, for contributions.
pub static ESTIMATE_OF_PEOPLE: Aggregate<CdfEstimator> = Aggregate {
    signature: Signature::new(&[
        X_CONTRIBUTION,
        LO,
        HI,
        POINTS,
        EPS,
        MECH.given_from(6),
        CONFIDENCE.given_from(7),
    ]),
    ..ESTIMATE
};

fn layout(cells: &Buckets) -> Layout {
    Layout::new(Kind::Buckets, one_of(cells.count()), Some(cells.grid()))
}

#[inline(always)]
fn cell(layout: &Layout, x: f64) -> Option<usize> {
    Some(Buckets::of(*layout.grid(), layout.length()).bucket(x))
}

impl Binned for Cdf {
    fn layout(&self) -> Layout {
        layout(self.cells())
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        cell(layout, x)
    }
}

impl Binned for CdfEstimator {
    fn layout(&self) -> Layout {
        layout(self.cells())
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        cell(layout, x)
    }
}

/// The transition function of distribution functions, `(state, x, lo, hi, points, ...)`: NULL and NaN are ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, float8, float8, int4, ...)`.
#[inline(always)]
unsafe fn add_to_cell<M: Binned>(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        let as_called = |layout: &Layout| {
            let [lo, hi, points] =
                [at::LO, at::HI, at::BUCKETS].map(|i| argument(fcinfo, i).value.value());
            layout.kind() == Kind::Buckets
                && layout.grid().lo().to_bits() == lo as u64
                && layout.grid().hi().to_bits() == hi as u64
                && layout.length() == points as u32 as usize
        };
        add_to_bin::<M>(fcinfo, as_called, rest)
    }
}

transition_function!(dp_cdf_trans, CDF, add_to_cell::<Cdf>);

transition_function!(dp_cdf_estimate_trans, ESTIMATE, add_to_cell::<CdfEstimator>);

transition_function!(
    dp_cdf_people_trans,
    OfPeople(&CDF_OF_PEOPLE),
    take_contribution
);

transition_function!(
    dp_cdf_estimate_people_trans,
    OfPeople(&ESTIMATE_OF_PEOPLE),
    take_contribution
);

fn cdf(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_cdf's final function.
    unsafe { CDF.release(call) }.into_datum()
}

final_function!(dp_cdf_final, CDF, cdf);

fn cdf_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for dp_cdf of contributions.
    unsafe { CDF_OF_PEOPLE.release(call) }.into_datum()
}

final_function!(dp_cdf_people_final, CDF_OF_PEOPLE, cdf_of_people);

/// The parts with their bands.
///
/// # Safety
/// `call` is a call of this aggregate's final function, which returns five arrays of float8, a float8 and what it cost.
unsafe fn with_bands(aggregate: &'static Aggregate<CdfEstimator>, call: Call) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe {
        let (answer, price) = aggregate.release_and_cost(call);
        let CdfEstimate {
            parts,
            of_rows,
            of_population,
            count,
        } = answer;
        let [rows, population] =
            [of_rows, of_population].map(|Band { lower, upper }| [lower, upper]);
        let [lower, upper] = rows.map(IntoDatum::into_datum);
        let [population_lower, population_upper] = population.map(IntoDatum::into_datum);
        let columns = [
            parts.into_datum(),
            lower,
            upper,
            population_lower,
            population_upper,
            count.into_datum(),
        ];
        Some(row(call, columns, &price))
    }
}

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_cdf_estimate's final function, with its columns.
    unsafe { with_bands(&ESTIMATE, call) }
}

final_function!(dp_cdf_estimate_final, ESTIMATE, estimate);

fn estimate_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for contributions.
    unsafe { with_bands(&ESTIMATE_OF_PEOPLE, call) }
}

final_function!(
    dp_cdf_estimate_people_final,
    ESTIMATE_OF_PEOPLE,
    estimate_of_people
);
