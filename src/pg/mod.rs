//! PostgreSQL's side: its calling convention, arrays, plans, errors, memory and settings. Nothing here knows an
//! aggregate.

pub mod array;
pub mod carried;
#[cfg(feature = "testing")]
pub mod check;
pub mod citus;
pub mod composite;
pub mod counters;
pub mod defence;
pub mod errors;
pub mod extension;
pub mod fmgr;
pub mod hash;
pub mod key_file;
pub mod keys;
pub mod memory;
pub mod net;
pub mod nodes;
pub mod once;
pub mod origin;
pub mod plan;
pub mod procedure;
pub mod reset;
pub mod salt;
pub mod set;
pub mod settings;
pub mod sql_type;
pub mod stack;
pub mod subselect;
pub mod tree;
pub mod varlena;
pub mod with;

/// The checks of this folder.
#[cfg(feature = "testing")]
pub const CHECKS: [&[check::Check]; 5] = [
    array::checks::CHECKS,
    counters::checks::CHECKS,
    nodes::checks::CHECKS,
    origin::checks::CHECKS,
    plan::checks::CHECKS,
];
