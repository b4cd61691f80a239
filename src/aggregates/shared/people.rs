//! What the aggregates that take contributions of persons share: how a contribution reaches the state of a group.
//!
//! Whatever bytes a contribution has, it adds no more than `rows` rows, those by which the call's mechanism shares its
//! budget: `docs/proofs/contribution.md`. One of a person who is kept in more groups than the mechanism shares it among
//! adds none: `docs/proofs/groups.md`. A contribution represents many rows, so this way is not the fast one: all but
//! NULL goes through the guarded function. But a person in many groups often has one row in each, and to means and sums
//! a contribution of one row is plain too.

use dp_core::encoding::contribution::Contribution;
use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::sums::Sums;
use dp_core::error::ParameterError;
use dp_core::registry::{Factory, Made, Registry};
use dp_core::request::arguments::Arguments;
use dp_core::request::checked::Overspent;
use dp_core::request::unit::Unit;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::call::signature::at;
use crate::call::site::CallSite;
use crate::pg::fmgr::{self, Call, argument};
use crate::state::scalar::{ColumnGrid, State};
use crate::types::contribution::Sealed;

/// The mechanisms of a registry that take contributions: those that look at the sums of the rows, and at nothing else.
pub struct OfSums<M: 'static, S: ?Sized + 'static> {
    pub registry: &'static Registry<M>,
    /// The mechanism, if it is one.
    pub of_sums: fn(M) -> Option<Box<S>>,
    /// A mechanism that is one, and one value of each person.
    pub instead: [&'static str; 2],
}

impl<M, S: ?Sized> Factory<S> for OfSums<M, S> {
    fn make(
        &self,
        arguments: &Arguments,
        confidence: Option<Option<f64>>,
        overspent: Overspent,
    ) -> Result<Made<S>, ParameterError> {
        let Made { mechanism, spent } = self.registry.make(arguments, confidence, overspent)?;
        let mechanism = (self.of_sums)(*mechanism).ok_or_else(|| {
            let [mechanism, value] = self.instead;
            ParameterError::new(
                "mech",
                "is a mechanism that takes no contributions",
                format!(
                    "It looks at each row by itself. Give another mechanism, as {mechanism}, or one value of each \
                     person, as {value}."
                ),
            )
        })?;
        Ok(Made { mechanism, spent })
    }
}

/// The transition function of `(state, contribution, ...)`: NULL is ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function with at least two arguments.
#[inline(always)]
pub unsafe fn take_contribution(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: two arguments, by the declaration.
    unsafe {
        let [state, x] = [argument(fcinfo, at::STATE), argument(fcinfo, at::X)];
        if fmgr::in_aggregate(fcinfo) && x.isnull {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        rest(fcinfo)
    }
}

/// As above, for an aggregate `(state, contribution, lo, hi, ...)` with mechanisms `M` that adds contributions up as
/// [`contributed`] has them: one row on the grid that it was made on is plain.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function with at least four arguments, the first three of them `dp_state`,
/// `dp_contribution` and `float8`, as is the fourth, that calls for mechanisms `M`.
#[inline(always)]
pub unsafe fn add_contribution<M: ?Sized + 'static>(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: four arguments, by the declaration; the first two are varlenas where they are not NULL.
    unsafe {
        let [state, x] = [argument(fcinfo, at::STATE), argument(fcinfo, at::X)];
        if !fmgr::in_aggregate(fcinfo) || state.isnull || x.isnull {
            return take_contribution(fcinfo, rest);
        }
        let Some(unit) = CallSite::<M>::plain_unit(fcinfo) else {
            return rest(fcinfo);
        };
        let row = Sealed::only_row(x.value, unit.groups);
        let called = [argument(fcinfo, at::LO), argument(fcinfo, at::HI)];
        let called = called.map(|bound| bound.value.value() as u64);
        match State::<Sums>::of(state.value).zip(row) {
            Some((group, (bounds, steps)))
                if group.grid().is_unit()
                    && group.grid().bounds().map(f64::to_bits) == called
                    && bounds == called =>
            {
                group.add(steps);
                state.value
            }
            _ => rest(fcinfo),
        }
    }
}

/// The contribution of a row, brought to at most the rows of the unit, with the bounds that it was made with; `None` of
/// bytes that are none, and of a person in more groups than those of the unit.
///
/// # Safety
/// `call` is a call of a transition function `(state, contribution, ...)`.
pub unsafe fn contribution(call: Call, unit: Unit) -> Option<(Bounds, Contribution)> {
    // SAFETY: the caller guarantees it.
    unsafe { contribution_at(call, at::X, unit) }
}

/// As above, for the contribution that stands elsewhere among the arguments.
///
/// # Safety
/// Argument `i` of the call is declared as a contribution.
pub unsafe fn contribution_at(call: Call, i: usize, unit: Unit) -> Option<(Bounds, Contribution)> {
    // SAFETY: the caller guarantees it.
    let (bounds, given) = unsafe { Sealed::read(call.datum(i)?, unit.groups) }?;
    Some((bounds, given.at_most(unit.rows)))
}

/// What a contribution of at most the unit's rows comes to: on the grid of a mean or a sum, or as a number of rows.
///
/// # Safety
/// As [`contribution`].
pub unsafe fn contributed(call: Call, unit: Unit, grid: Option<&Grid>) -> Sums {
    // SAFETY: the caller guarantees it.
    let given = unsafe { contribution(call, unit) };
    given.map_or_else(Sums::default, |(bounds, given)| match grid {
        Some(grid) => given.sums(&bounds, grid),
        None => Sums {
            n: i64::from(given.rows()),
            s: 0,
        },
    })
}
