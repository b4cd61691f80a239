//! PostgreSQL's side: its calling convention, arrays, plans, errors, memory and settings. Nothing here knows an
//! aggregate.

pub mod array;
pub mod errors;
pub mod fmgr;
pub mod memory;
pub mod plan;
pub mod settings;
pub mod subselect;
