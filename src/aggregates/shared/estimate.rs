//! What the aggregates called `..._estimate` share: their final function, up to their own numbers.

use dp_core::estimate::Estimate;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::scalars::Releases;
use crate::call::site::Price;
use crate::pg::composite::composite_of;
use crate::pg::fmgr::Call;

/// A release of the group as a row: the numbers of its answer and its interval, and what it cost.
///
/// # Safety
/// `call` is a call of this aggregate's final function, which is declared as [`row`] has it.
pub unsafe fn estimate<A, const N: usize>(
    aggregate: &'static impl Releases<(Estimate<A>, Price)>,
    call: Call,
    numbers: impl FnOnce(A, [f64; 2]) -> [Option<Datum>; N],
) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe {
        let (estimate, price) = aggregate.release(call);
        let Estimate {
            answer, interval, ..
        } = estimate;
        Some(row(call, numbers(answer, interval), &price))
    }
}

/// The row of an estimate: its numbers, then the privacy unit (`text`), rho, mu, epsilon, delta (`float8`) and the
/// mechanism (`text`). In 0.1.0 there is no unit, no rho and no mu, and the mechanism is a `dp_mechanism`, which is
/// laid out as a text.
///
/// # Safety
/// The function that `call` calls is declared to return such a row, with columns of the types of `numbers`.
pub unsafe fn row<const N: usize>(call: Call, numbers: [Option<Datum>; N], price: &Price) -> Datum {
    let (cost, mechanism) = (price.spent.cost, &price.spent.mechanism);
    let since_0_2 = [
        price.unit.as_str().into_datum(),
        cost.rho.into_datum(),
        cost.mu.into_datum(),
    ];
    let in_epsilon = [
        cost.epsilon.into_datum(),
        cost.delta.into_datum(),
        mechanism.as_str().into_datum(),
    ];
    // SAFETY: the caller guarantees it.
    unsafe {
        composite_of(call, |declared| {
            let is_old = declared == N + in_epsilon.len();
            let since_0_2 = since_0_2.into_iter().filter(move |_| !is_old);
            numbers.into_iter().chain(since_0_2).chain(in_epsilon)
        })
    }
}
