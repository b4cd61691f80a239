//! `dp_count_distinct(id, eps [, mech])`, and `dp_count_distinct_estimate` with the interval.

use dp_core::encoding::bitmap::{Occupied, place};
use dp_core::estimate::{Estimate, Estimates};
use dp_core::mechanism::distinct::bitmap::{DistinctAnswer, OfIds};
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::estimate::row;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::group::state as state_of;
use crate::call::release::release;
use crate::call::signature::{CONFIDENCE, EPS, ID, MECH, Role, Signature, at};
use crate::call::site::{CallSite, Price};
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::{self, Call, argument};
use crate::plan::planned_call::SupportFunction;
use crate::state::bitmap::BitmapState;

/// A mechanism of ids that answers with an `A`.
type AnsweringWith<A> = dyn OfIds<Answer = A>;

pub static DISTINCT: Aggregate<AnsweringWith<DistinctAnswer>> = Aggregate {
    name: "dp_count_distinct",
    signature: Signature::new(&[ID, EPS, MECH.given_from(3)]),
    mechanisms: &registry::DISTINCT,
};

pub static ESTIMATE: Aggregate<AnsweringWith<Estimate<DistinctAnswer>>> = Aggregate {
    name: "dp_count_distinct_estimate",
    signature: Signature::new(&[ID, EPS, MECH.given_from(3), CONFIDENCE.given_from(4)]),
    mechanisms: &Estimates(&registry::DISTINCT),
};

impl<A: 'static> Aggregate<AnsweringWith<A>> {
    /// What the transition function does beyond the plain case: the first row of a group, ids that PostgreSQL must
    /// hash, a table that must grow, and everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let (power, hashing) = CallSite::with(call, SupportFunction::Transition, self, |site| {
            Ok((site.mechanism_of_row(call)?.power(), site.hashing()?))
        })?;
        let id = call.datum(at::X).expect("the plain case ignores NULL");
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let state = match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(datum) => unsafe { self.bitmap_state(datum, power) }?,
            // The executor copies it into the aggregate's own memory.
            None => BitmapState::new(power),
        };
        // SAFETY: the id is of the type that the call site has the hashing of.
        let hash = unsafe { hashing.of_any(id) };
        Ok(state.insert(place(hash, power)).into_datum())
    }

    /// The state of a group of a bitmap of 2 to this power of bits. Another one means that an argument changed on the
    /// way, through a function that calls itself stable and is not.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    unsafe fn bitmap_state<'a>(
        &self,
        datum: Datum,
        power: u32,
    ) -> Result<BitmapState<'a>, Refusal> {
        // SAFETY: the caller guarantees it.
        let state = unsafe { self.found(BitmapState::of(datum), datum) }?;
        match state.power() == power {
            true => Ok(state),
            false => Err(errors::depends_on_rows(self.name, Role::Mechanism.name())),
        }
    }

    /// A release of the group, or of no rows where there is no state, and what it costs.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    unsafe fn release_and_cost(&'static self, call: Call) -> (A, Price) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            let occupied = match unsafe { state_of(call) } {
                // SAFETY: the same.
                Some(datum) => unsafe { self.bitmap_state(datum, mechanism.power()) }?.occupied(),
                None => Occupied::default(),
            };
            Ok((release(mechanism, &occupied), site.price()))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// The transition function of ids, `(state, id, ...)`: NULL is ignored. `rest` takes all but the plain case. Unguarded,
/// as those in `scalars.rs` are.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, anyelement, ...)` and calls for a mechanism `M`.
#[inline(always)]
unsafe fn add_id<M: ?Sized + 'static>(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: two arguments, by the declaration; a non-NULL first one is a varlena. The id is of the type that the
    // call site has the hashing of.
    unsafe {
        let [state, id] = [argument(fcinfo, at::STATE), argument(fcinfo, at::X)];
        if !fmgr::in_aggregate(fcinfo) {
            return rest(fcinfo);
        }
        if id.isnull {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        if state.isnull {
            return rest(fcinfo);
        }
        let Some(hash) = CallSite::<M>::plain_hash(fcinfo, id.value) else {
            return rest(fcinfo);
        };
        match BitmapState::of(state.value) {
            Some(mut group) => {
                let place = place(hash, group.power());
                if group.set(place) {
                    state.value
                } else {
                    rest(fcinfo)
                }
            }
            None => rest(fcinfo),
        }
    }
}

transition_function!(
    dp_count_distinct_trans,
    DISTINCT,
    add_id::<AnsweringWith<DistinctAnswer>>
);

fn count_distinct(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_count_distinct's final function.
    let (answer, _) = unsafe { DISTINCT.release_and_cost(call) };
    answer.count.into_datum()
}

final_function!(dp_count_distinct_final, DISTINCT, count_distinct);

transition_function!(
    dp_count_distinct_estimate_trans,
    ESTIMATE,
    add_id::<AnsweringWith<Estimate<DistinctAnswer>>>
);

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_count_distinct_estimate's final function, which returns three bigint
    // and what it cost.
    unsafe {
        let (
            Estimate {
                answer, interval, ..
            },
            price,
        ) = ESTIMATE.release_and_cost(call);
        // Whole numbers; the casts saturate.
        let [lower, upper] = interval.map(|end| end as i64);
        let numbers = [answer.count, lower, upper];
        Some(row(call, numbers.map(IntoDatum::into_datum), &price))
    }
}

final_function!(dp_count_distinct_estimate_final, ESTIMATE, estimate);
