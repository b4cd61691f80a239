//! `dp_clamped(x, lo, hi, eps [, mech])`.

use dp_core::mechanism::clamped::geometric::Clamped;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, transition_function};
use crate::bins::add_to_side;
use crate::fmgr::{Call, composite, final_function};

static CLAMPED: Aggregate<Clamped> = Aggregate {
    name: "dp_clamped",
    mechanisms: &registry::CLAMPED,
    shape: Shape::Bounded,
};

transition_function!(
    dp_clamped_trans,
    pg_finfo_dp_clamped_trans,
    CLAMPED,
    add_to_side
);

fn clamped(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_clamped's final function, which returns a
    // dp_clamped_answer: three bigint.
    unsafe {
        let sides = CLAMPED.release(call);
        Some(composite(call, sides.map(IntoDatum::into_datum)))
    }
}

final_function!(
    dp_clamped_final,
    pg_finfo_dp_clamped_final,
    CLAMPED,
    clamped
);
