//! `dp_counts(eps, mech, questions ...)` and `dp_counts_estimate` with the same arguments.

use dp_core::mechanism::{self, Vector};
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::vectors::count_questions;
use crate::call::aggregate::{Aggregate, Shape};
use crate::call::entry::{final_function, transition_function};
use crate::pg::fmgr::Call;

static COUNTS: Aggregate<Vector> = Aggregate {
    name: "dp_counts",
    mechanisms: &mechanism::COUNTS,
    shape: Shape::Questions,
};

transition_function!(
    dp_counts_trans,
    pg_finfo_dp_counts_trans,
    COUNTS,
    count_questions
);

fn counts(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_counts's final function.
    unsafe { COUNTS.release(call) }.answer.values().into_datum()
}

final_function!(dp_counts_final, pg_finfo_dp_counts_final, COUNTS, counts);

fn estimate(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_counts_estimate's final function, which returns a
    // dp_vector_answer.
    Some(unsafe { COUNTS.release(call).into_row(call) })
}

final_function!(
    dp_counts_estimate_final,
    pg_finfo_dp_counts_estimate_final,
    COUNTS,
    estimate
);
