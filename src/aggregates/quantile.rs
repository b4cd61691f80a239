//! `dp_quantile(x, lo, hi, q, eps [, mech])`, `dp_median(x, lo, hi, eps [, mech])`, `dp_quantiles(x, lo, hi, qs, eps
//! [, mech])`, `dp_quantile_estimate(x, lo, hi, q, eps [, mech [, confidence]])`.

use dp_core::encoding::ranks::{Bins, Cut};
use dp_core::estimate::{QuantileEstimates, QuantileEstimatesOfPeople};
use dp_core::mechanism::quantile::estimate::QuantileEstimator;
use dp_core::mechanism::quantile::exponential::RankMechanism;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::bins::{Binned, OfPeople, add_to_bin, one_of};
use crate::aggregates::shared::estimate::row;
use crate::aggregates::shared::people::take_contribution;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{
    CONFIDENCE, EPS, HI, LO, MECH, Q, QS, Signature, X, X_CONTRIBUTION, at,
};
use crate::pg::fmgr::{Call, argument};
use crate::state::vector::{Kind, Layout};

type Ranks = Aggregate<dyn RankMechanism>;

pub static QUANTILE: Ranks = Aggregate {
    name: "dp_quantile",
    signature: Signature::new(&[X, LO, HI, Q, EPS, MECH.given_from(6)]),
    mechanisms: &registry::QUANTILE,
};

pub static MEDIAN: Ranks = Aggregate {
    name: "dp_median",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &registry::MEDIAN,
};

pub static QUANTILES: Ranks = Aggregate {
    name: "dp_quantiles",
    signature: Signature::new(&[X, LO, HI, QS, EPS, MECH.given_from(6)]),
    mechanisms: &registry::QUANTILES,
};

pub static ESTIMATE: Aggregate<QuantileEstimator> = Aggregate {
    name: "dp_quantile_estimate",
    signature: Signature::new(&[
        X,
        LO,
        HI,
        Q,
        EPS,
        MECH.given_from(6),
        CONFIDENCE.given_from(7),
    ]),
    mechanisms: &QuantileEstimates,
};

/// As above, for contributions.
pub static QUANTILE_OF_PEOPLE: Ranks = Aggregate {
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, Q, EPS, MECH.given_from(6)]),
    ..QUANTILE
};

pub static MEDIAN_OF_PEOPLE: Ranks = Aggregate {
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, EPS, MECH.given_from(5)]),
    ..MEDIAN
};

pub static QUANTILES_OF_PEOPLE: Ranks = Aggregate {
    signature: Signature::new(&[X_CONTRIBUTION, LO, HI, QS, EPS, MECH.given_from(6)]),
    ..QUANTILES
};

pub static ESTIMATE_OF_PEOPLE: Aggregate<QuantileEstimator> = Aggregate {
    signature: Signature::new(&[
        X_CONTRIBUTION,
        LO,
        HI,
        Q,
        EPS,
        MECH.given_from(6),
        CONFIDENCE.given_from(7),
    ]),
    mechanisms: &QuantileEstimatesOfPeople,
    ..ESTIMATE
};

/// What the state of a group holds.
fn layout(bins: &Bins) -> Layout {
    let kind = match bins.cut() {
        Cut::Linear => Kind::LinearRanks,
        Cut::Log => Kind::LogRanks,
        Cut::Steps => Kind::StepRanks,
    };
    Layout::new(kind, one_of(bins.count()), Some(bins.grid()))
}

/// The bin of a row in such a state.
#[inline(always)]
fn bin(layout: &Layout, x: f64) -> Option<usize> {
    let cut = match layout.kind() {
        Kind::LogRanks => Cut::Log,
        Kind::StepRanks => Cut::Steps,
        _ => Cut::Linear,
    };
    Some(Bins::of(cut, *layout.grid(), layout.length()).bin(x))
}

impl Binned for dyn RankMechanism {
    fn layout(&self) -> Layout {
        layout(self.bins())
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        bin(layout, x)
    }
}

impl Binned for QuantileEstimator {
    fn layout(&self) -> Layout {
        layout(self.bins())
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        bin(layout, x)
    }
}

/// The transition function of quantiles, `(state, x, lo, hi, ...)`: NULL and NaN are ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, float8, float8, ...)`.
#[inline(always)]
unsafe fn add_to_rank<M: Binned + ?Sized>(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        let as_called = |layout: &Layout| {
            let [lo, hi] = [at::LO, at::HI].map(|i| argument(fcinfo, i).value.value());
            matches!(
                layout.kind(),
                Kind::LinearRanks | Kind::LogRanks | Kind::StepRanks
            ) && layout.grid().lo().to_bits() == lo as u64
                && layout.grid().hi().to_bits() == hi as u64
        };
        add_to_bin::<M>(fcinfo, as_called, rest)
    }
}

/// The only answer of a release.
///
/// # Safety
/// `call` is a call of this aggregate's final function, which is declared to return a `float8`.
unsafe fn one(aggregate: &'static Ranks, call: Call) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    let answers = unsafe { aggregate.release(call) };
    answers.first().copied().into_datum()
}

transition_function!(
    dp_quantile_trans,
    QUANTILE,
    add_to_rank::<dyn RankMechanism>
);

transition_function!(dp_median_trans, MEDIAN, add_to_rank::<dyn RankMechanism>);

transition_function!(
    dp_quantiles_trans,
    QUANTILES,
    add_to_rank::<dyn RankMechanism>
);

transition_function!(
    dp_quantile_estimate_trans,
    ESTIMATE,
    add_to_rank::<QuantileEstimator>
);

transition_function!(
    dp_quantile_people_trans,
    OfPeople(&QUANTILE_OF_PEOPLE),
    take_contribution
);

transition_function!(
    dp_median_people_trans,
    OfPeople(&MEDIAN_OF_PEOPLE),
    take_contribution
);

transition_function!(
    dp_quantiles_people_trans,
    OfPeople(&QUANTILES_OF_PEOPLE),
    take_contribution
);

transition_function!(
    dp_quantile_estimate_people_trans,
    OfPeople(&ESTIMATE_OF_PEOPLE),
    take_contribution
);

fn quantile(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_quantile's final function.
    unsafe { one(&QUANTILE, call) }
}

fn median(call: Call) -> Option<Datum> {
    // SAFETY: as above, for dp_median.
    unsafe { one(&MEDIAN, call) }
}

fn quantiles(call: Call) -> Option<Datum> {
    // SAFETY: as above, for dp_quantiles.
    unsafe { QUANTILES.release(call) }.into_datum()
}

/// An answer with its interval, and what it cost.
///
/// # Safety
/// `call` is a call of this aggregate's final function, which is declared to return three `float8` and the cost.
unsafe fn with_interval(
    aggregate: &'static Aggregate<QuantileEstimator>,
    call: Call,
) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe {
        let (answer, price) = aggregate.release_and_cost(call);
        let numbers = [answer.value, answer.lower, answer.upper];
        Some(row(call, numbers.map(IntoDatum::into_datum), &price))
    }
}

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_quantile_estimate's final function.
    unsafe { with_interval(&ESTIMATE, call) }
}

fn estimate_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for dp_quantile_estimate of contributions.
    unsafe { with_interval(&ESTIMATE_OF_PEOPLE, call) }
}

final_function!(
    dp_quantile_estimate_people_final,
    ESTIMATE_OF_PEOPLE,
    estimate_of_people
);

final_function!(dp_quantile_estimate_final, ESTIMATE, estimate);

fn quantile_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for dp_quantile of contributions.
    unsafe { one(&QUANTILE_OF_PEOPLE, call) }
}

fn median_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for dp_median of contributions.
    unsafe { one(&MEDIAN_OF_PEOPLE, call) }
}

fn quantiles_of_people(call: Call) -> Option<Datum> {
    // SAFETY: as above, for dp_quantiles of contributions.
    unsafe { QUANTILES_OF_PEOPLE.release(call) }.into_datum()
}

final_function!(dp_quantile_final, QUANTILE, quantile);

final_function!(dp_median_final, MEDIAN, median);

final_function!(dp_quantiles_final, QUANTILES, quantiles);

final_function!(
    dp_quantile_people_final,
    QUANTILE_OF_PEOPLE,
    quantile_of_people
);

final_function!(dp_median_people_final, MEDIAN_OF_PEOPLE, median_of_people);

final_function!(
    dp_quantiles_people_final,
    QUANTILES_OF_PEOPLE,
    quantiles_of_people
);
