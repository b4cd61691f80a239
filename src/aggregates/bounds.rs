//! `dp_bounds(x, eps [, mech])`.

use dp_core::mechanism::bounds::geometric::BoundsFinder;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, transition_function};
use crate::bins::add_to_magnitude;
use crate::fmgr::{Call, composite, final_function};

static BOUNDS: Aggregate<BoundsFinder> = Aggregate {
    name: "dp_bounds",
    mechanisms: &registry::BOUNDS,
    shape: Shape::Counted,
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
