//! What the aggregates called `..._estimate` share: their final function, up to their own numbers.

use dp_core::estimate::Estimate;
use dp_core::mechanism::definition::Scalar;
use dp_core::registry::Asked;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::Aggregate;
use crate::fmgr::{Call, composite};

/// A release of the group as a row: the numbers of its answer and its interval, and what it cost.
///
/// # Safety
/// `call` is a call of this aggregate's final function, which is declared to return columns of the
/// types of `numbers`, then `float8`, `float8` and `text` (in 0.1.0 `dp_mechanism`, which is laid out as one).
pub unsafe fn estimate<A: 'static, const N: usize>(
    aggregate: &'static Aggregate<Scalar<Estimate<A>>>,
    call: Call,
    numbers: impl FnOnce(A, [f64; 2]) -> [Option<Datum>; N],
) -> Option<Datum> {
    // SAFETY: by the caller's word.
    unsafe { row(call, aggregate.release(call), numbers) }
}

/// An estimate as such a row.
///
/// # Safety
/// As of [`estimate`].
pub unsafe fn row<A, const N: usize>(
    call: Call,
    released: Estimate<A>,
    numbers: impl FnOnce(A, [f64; 2]) -> [Option<Datum>; N],
) -> Option<Datum> {
    let Estimate {
        answer,
        interval,
        spent,
    } = released;
    let asked = Asked {
        epsilon: spent.cost.epsilon,
        delta: spent.cost.delta,
        mechanism: spent.mechanism.clone(),
    };
    let columns = numbers(answer, interval).into_iter().chain(cost(&asked));
    // SAFETY: by the caller's word.
    Some(unsafe { composite(call, columns) })
}

/// What every estimate ends with: epsilon, delta and mechanism.
pub fn cost(asked: &Asked) -> [Option<Datum>; 3] {
    [
        asked.epsilon.into_datum(),
        asked.delta.into_datum(),
        asked.mechanism.as_str().into_datum(),
    ]
}
