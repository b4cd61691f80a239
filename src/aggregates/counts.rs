//! `dp_counts(eps, mech, predicates ...)` and `dp_counts_estimate` with the same arguments.

use dp_core::mechanism::vector::items::Vector;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::vectors::count_predicates;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, MECH, PREDICATES, Signature};
use crate::pg::fmgr::Call;

pub static COUNTS: Aggregate<Vector> = Aggregate {
    name: "dp_counts",
    signature: Signature::new(&[EPS, MECH, PREDICATES]),
    mechanisms: &registry::COUNTS,
};

transition_function!(dp_counts_trans, COUNTS, count_predicates);

fn counts(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_counts's final function.
    unsafe { COUNTS.release(call) }.answer.values().into_datum()
}

final_function!(dp_counts_final, COUNTS, counts);

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_counts_estimate's final function, which returns a
    // dp_vector_answer.
    Some(unsafe { COUNTS.estimate(call) })
}

final_function!(dp_counts_estimate_final_0_2, COUNTS, estimate);

fn estimate_0_1(call: Call) -> Option<Datum> {
    // SAFETY: the SQL of 0.1.0 makes it dp_counts_estimate's final function, which returns a
    // dp_vector_answer of that version.
    Some(unsafe { COUNTS.release(call).into_row_0_1(call) })
}

final_function!(dp_counts_estimate_final, COUNTS, estimate_0_1);
