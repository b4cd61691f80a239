//! `dp_keep(eps, delta [, mech])`, for HAVING: whether a group may be shown.

use dp_core::mechanism::definition::Scalar;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::scalars::{Releases, count_row};
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{DELTA, EPS, MECH, Signature};
use crate::pg::fmgr::Call;

pub static KEEP: Aggregate<Scalar<bool>> = Aggregate {
    name: "dp_keep",
    signature: Signature::new(&[EPS, DELTA, MECH.given_from(3)]),
    mechanisms: &registry::KEEP,
};

transition_function!(dp_keep_trans, KEEP, count_row);

fn keep(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_keep's final function.
    unsafe { KEEP.release(call) }.into_datum()
}

final_function!(dp_keep_final, KEEP, keep);
