//! `dp_sums(x, lo, hi, eps, mech)` and `dp_sums_estimate` with the same arguments.

use dp_core::mechanism::vector::items::Vector;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::vectors::add_vector;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, HI, LO, MECH, Signature, X_ARRAY};
use crate::pg::fmgr::Call;

pub static SUMS: Aggregate<Vector> = Aggregate {
    name: "dp_sums",
    signature: Signature::new(&[X_ARRAY, LO, HI, EPS, MECH]),
    mechanisms: &registry::SUMS,
};

transition_function!(dp_sums_trans, SUMS, add_vector);

fn sums(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sums's final function.
    unsafe { SUMS.release(call) }.answer.values().into_datum()
}

final_function!(dp_sums_final, SUMS, sums);

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_sums_estimate's final function, which returns a
    // dp_vector_answer.
    Some(unsafe { SUMS.estimate(call) })
}

final_function!(dp_sums_estimate_final_0_2, SUMS, estimate);

fn estimate_0_1(call: Call) -> Option<Datum> {
    // SAFETY: the SQL of 0.1.0 makes it dp_sums_estimate's final function, which returns a
    // dp_vector_answer of that version.
    Some(unsafe { SUMS.release(call).into_row_0_1(call) })
}

final_function!(dp_sums_estimate_final, SUMS, estimate_0_1);
