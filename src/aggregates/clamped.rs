//! `dp_clamped(x, lo, hi, eps [, mech])`.

use dp_core::mechanism;
use dp_core::mechanism::clamped::geometric::Clamped;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::bins::add_to_side;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, HI, LO, MECH, Signature, X};
use crate::pg::composite::composite;
use crate::pg::fmgr::Call;

pub static CLAMPED: Aggregate<Clamped> = Aggregate {
    name: "dp_clamped",
    signature: Signature::new(&[X, LO, HI, EPS, MECH.given_from(5)]),
    mechanisms: &mechanism::CLAMPED,
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
