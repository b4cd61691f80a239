//! `dp_bounds(x, eps [, mech])`.

use dp_core::mechanism;
use dp_core::mechanism::bounds::geometric::BoundsFinder;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::bins::add_to_magnitude;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, MECH, Signature, X};
use crate::pg::composite::composite;
use crate::pg::fmgr::Call;

pub static BOUNDS: Aggregate<BoundsFinder> = Aggregate {
    name: "dp_bounds",
    signature: Signature::new(&[X, EPS, MECH.given_from(3)]),
    mechanisms: &mechanism::BOUNDS,
};

transition_function!(
    dp_bounds_trans,
    pg_finfo_dp_bounds_trans,
    BOUNDS,
    add_to_magnitude
);

fn bounds(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_bounds's final function, which returns a
    // dp_bounds_answer: (float8, float8).
    unsafe {
        let found = BOUNDS
            .release(call)
            .map_or([None; 2], |ends| ends.map(Some));
        Some(composite(call, found.map(IntoDatum::into_datum)))
    }
}

final_function!(dp_bounds_final, pg_finfo_dp_bounds_final, BOUNDS, bounds);
