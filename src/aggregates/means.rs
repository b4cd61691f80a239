//! `dp_means(x, lo, hi, eps, mech)`.

use dp_core::mechanism::vector::items::Vector;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::vectors::add_vector;
use crate::call::aggregate::Aggregate;
use crate::call::entry::{final_function, transition_function};
use crate::call::signature::{EPS, HI, LO, MECH, Signature, X_ARRAY};
use crate::pg::fmgr::Call;

pub static MEANS: Aggregate<Vector> = Aggregate {
    name: "dp_means",
    signature: Signature::new(&[X_ARRAY, LO, HI, EPS, MECH]),
    mechanisms: &registry::MEANS,
};

transition_function!(dp_means_trans, MEANS, add_vector);

fn means(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_means's final function.
    unsafe { MEANS.release(call) }.answer.means().into_datum()
}

final_function!(dp_means_final, MEANS, means);
