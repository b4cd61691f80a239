//! What the aggregates called `..._estimate` share: their final function, up to their own numbers.

use dp_core::estimate::Estimate;
use dp_core::mechanism::definition::Scalar;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::call::aggregate::Aggregate;
use crate::pg::composite::composite;
use crate::pg::fmgr::Call;

/// A release of the group as a row: the numbers of its answer and its interval, and what it cost.
///
/// # Safety
/// `call` is a call of this aggregate's final function, which is declared to return columns of the
/// types of `numbers`, then `float8`, `float8` and `dp_mechanism`.
pub unsafe fn estimate<A: 'static, const N: usize>(
    aggregate: &'static Aggregate<Scalar<Estimate<A>>>,
    call: Call,
    numbers: impl FnOnce(A, [f64; 2]) -> [Option<Datum>; N],
) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    let Estimate {
        answer,
        interval,
        spent,
    } = unsafe { aggregate.release(call) };
    // A dp_mechanism is its text, laid out as one.
    let mechanism = spent.mechanism.as_str().into_datum();
    let cost = [
        spent.cost.epsilon.into_datum(),
        spent.cost.delta.into_datum(),
        mechanism,
    ];
    let columns = numbers(answer, interval).into_iter().chain(cost);
    // SAFETY: the caller guarantees it.
    Some(unsafe { composite(call, columns) })
}
