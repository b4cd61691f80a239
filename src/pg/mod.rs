//! PostgreSQL's side: its calling convention, arrays, plans, errors, memory and settings. Nothing here knows an
//! aggregate.

pub mod array;
pub mod composite;
pub mod errors;
pub mod fmgr;
pub mod hash;
pub mod memory;
pub mod nodes;
pub mod origin;
pub mod plan;
pub mod settings;
pub mod sql_type;
pub mod subselect;
pub mod varlena;
