//! What is kept of a group's rows, as it lies in PostgreSQL's memory.

pub mod bins;
pub mod bitmap;
pub mod cells;
mod combine;
pub mod form;
pub mod groups;
pub mod octaves;
pub mod person;
pub mod refused;
pub mod scalar;
pub mod vector;

/// The checks of this folder.
#[cfg(feature = "testing")]
pub const CHECKS: [&[crate::pg::check::Check]; 1] = [groups::checks::CHECKS];
