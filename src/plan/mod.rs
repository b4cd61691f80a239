//! What the plan of a query says of a call: its arguments, and where its columns come from. Nothing here knows an
//! aggregate.

pub mod lineage;
pub mod planned_call;
pub mod subselect;

/// The checks of this folder.
#[cfg(feature = "testing")]
pub const CHECKS: [&[crate::pg::check::Check]; 2] =
    [lineage::checks::CHECKS, planned_call::checks::CHECKS];
