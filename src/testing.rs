//! What tests need and a release build does not have: a chosen seed, noise of the wrong size, and
//! the integers before the noise. Tests declare these functions themselves.

use std::cell::Cell;

use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum};

use crate::fmgr::{Call, float8, sql_function};
use crate::release;
use crate::state::State;

thread_local! {
    /// What every eps is multiplied with before the noise is set up.
    static EPSILON_FACTOR: Cell<f64> = const { Cell::new(1.0) };
}

/// The eps that the noise is made for.
pub fn scale_epsilon(epsilon: f64) -> f64 {
    epsilon * EPSILON_FACTOR.get()
}

/// `dp_test_seed(bigint)`: from now on this backend's noise is the same at every run.
fn seed(call: Call) -> Option<Datum> {
    release::seed(call.datum(0)?.value() as u64);
    None
}

/// `dp_test_epsilon_factor(float8)`: 2 halves the noise, which an audit must notice.
fn epsilon_factor(call: Call) -> Option<Datum> {
    EPSILON_FACTOR.set(float8(call.datum(0)?));
    None
}

/// `dp_test_state(dp_state)`, a final function: the integers before the noise, as `n s`.
fn state(call: Call) -> Option<Datum> {
    // SAFETY: tests declare its argument as dp_state.
    let sums = unsafe { State::of(call.datum(0)?) }?.sums();
    format!("{} {}", sums.n, sums.s).into_datum()
}

/// `dp_test_panic()`: a panic of our own, which must end as an ordinary ERROR.
fn panic(_: Call) -> Option<Datum> {
    panic!("a panic that a test asked for")
}

sql_function!(dp_test_seed, pg_finfo_dp_test_seed, seed);
sql_function!(
    dp_test_epsilon_factor,
    pg_finfo_dp_test_epsilon_factor,
    epsilon_factor
);
sql_function!(dp_test_state, pg_finfo_dp_test_state, state);
sql_function!(dp_test_panic, pg_finfo_dp_test_panic, panic);

/// With the library in shared_preload_libraries this runs in the postmaster: every backend then
/// inherits a generator, and must not use it.
#[pgrx::pg_guard]
#[allow(non_snake_case)]
pub extern "C-unwind" fn _PG_init() {
    // SAFETY: a global that PostgreSQL sets before it loads libraries.
    if unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        release::warm_up();
    }
}
