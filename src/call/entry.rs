//! The C functions that PostgreSQL calls for an aggregate: for a row, and at the end of a group.

use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::call::signature::{Role, at};
use crate::pg::errors::Refusal;
use crate::pg::fmgr::{self, Call};
use crate::plan::planned_call;
use crate::state::poisoned::Refused;

/// What a transition function does with a row that is not in the plain case: `row`, but for a call that is
/// refused. Where the state is a part of a group's, that is kept in it, as an ERROR here would tell that
/// there is a row; the final function, which runs in any case, finds the mistake in the plan.
///
/// # Safety
/// `fcinfo` is PostgreSQL's own, of a call of a transition function; the caller is below a guard.
pub unsafe fn guarded_row(
    fcinfo: FunctionCallInfo,
    row: impl FnOnce(Call) -> Result<Datum, Refusal>,
) -> Datum {
    fmgr::guarded(|| {
        // SAFETY: the caller guarantees it; the SQL declarations make argument 0 a dp_state.
        let (call, refused) = unsafe {
            (*fcinfo).isnull = false;
            let call = Call::new(fcinfo);
            let state = call.datum(at::STATE);
            (call, state.filter(|state| Refused::of(*state).is_some()))
        };
        if let Some(refused) = refused {
            return refused;
        }
        row(call).unwrap_or_else(|refusal| {
            if planned_call::is_partial(call) {
                Refused::new(Role::number_of(refusal.argument())).into_datum()
            } else {
                refusal.raise()
            }
        })
    })
}

/// Exports the transition function `$name` of aggregate `$aggregate`: `$plain` for a row in the
/// plain case, the aggregate's `other_row`, guarded and never inlined, for the rest.
macro_rules! transition_function {
    ($name:ident, $aggregate:expr, $plain:path) => {
        $crate::pg::fmgr::unguarded_function!($name, $plain, |fcinfo| {
            $crate::call::entry::guarded_row(fcinfo, |call| $aggregate.other_row(call))
        });
    };
}

/// Exports `$body` as the final function `$name` of the aggregate `$aggregate`. The call's arguments are
/// computed before it, unguarded: see [`Computations::compute`](crate::plan::planned_call::Computations::compute).
///
/// `$aggregate => $body` is a body that several aggregates share, and takes the one that it works for.
macro_rules! final_function {
    ($name:ident, $aggregate:path => $body:path) => {
        $crate::call::entry::final_function!($name, $aggregate, |call| $body(&$aggregate, call));
    };
    ($name:ident, $aggregate:expr, $body:expr) => {
        $crate::pg::fmgr::finfo!($name);

        #[unsafe(no_mangle)]
        /// # Safety
        /// PostgreSQL calls it, with the arguments that the SQL declaration names.
        pub unsafe extern "C-unwind" fn $name(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            #[pgrx::pg_guard]
            unsafe extern "C-unwind" fn guarded_computations(
                fcinfo: pgrx::pg_sys::FunctionCallInfo,
            ) -> $crate::plan::planned_call::Computations {
                $crate::pg::fmgr::guarded(|| {
                    // SAFETY: PostgreSQL's own fcinfo, for the length of this call.
                    let call = unsafe { $crate::pg::fmgr::Call::new(fcinfo) };
                    let found = $crate::call::site::CallSite::computations(call, &$aggregate);
                    found.unwrap_or_else(|refusal| refusal.raise())
                })
            }
            #[pgrx::pg_guard]
            unsafe extern "C-unwind" fn guarded_answer(
                fcinfo: pgrx::pg_sys::FunctionCallInfo,
            ) -> pgrx::pg_sys::Datum {
                // SAFETY: the same.
                unsafe { $crate::pg::fmgr::answer(fcinfo, $body) }
            }
            // SAFETY: the same; the computations are those of this call site, and this function, which
            // PostgreSQL calls, owns nothing.
            unsafe {
                guarded_computations(fcinfo).compute(fcinfo);
                guarded_answer(fcinfo)
            }
        }
    };
}

pub(crate) use {final_function, transition_function};
