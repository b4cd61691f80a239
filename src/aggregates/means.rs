//! `dp_means(x, lo, hi, eps, mech)`.

use dp_core::mechanism::vector::items::Vector;
use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::Datum;

use crate::aggregate::{Aggregate, Shape, transition_function};
use crate::fmgr::{Call, final_function};
use crate::vector::add_vector;

static MEANS: Aggregate<Vector> = Aggregate {
    name: "dp_means",
    mechanisms: &registry::MEANS,
    shape: Shape::Bounded,
};

transition_function!(dp_means_trans, pg_finfo_dp_means_trans, MEANS, add_vector);

fn means(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes it dp_means's final function.
    unsafe { MEANS.release(call) }.answer.means().into_datum()
}

final_function!(dp_means_final, pg_finfo_dp_means_final, MEANS, means);
