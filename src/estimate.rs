//! The rows that the aggregates called `..._estimate` answer with.

use dp_core::mechanism::estimate::Spent;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::fmgr::{Call, composite};

/// The row of an estimate: its own numbers, and what the release cost.
///
/// # Safety
/// The function is declared to return columns of the types of `numbers`, then `float8`, `float8` and
/// `dp_mechanism`.
pub unsafe fn estimate_row<const N: usize>(
    call: Call,
    numbers: [Option<Datum>; N],
    spent: &Spent,
) -> Datum {
    // A dp_mechanism is its text, laid out as one.
    let mechanism = spent.mechanism.as_str().into_datum();
    let spent = [
        spent.epsilon.into_datum(),
        spent.delta.into_datum(),
        mechanism,
    ];
    // SAFETY: by the caller's word.
    unsafe { composite(call, numbers.into_iter().chain(spent)) }
}
