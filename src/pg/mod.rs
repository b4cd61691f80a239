//! PostgreSQL's side: its calling convention, arrays, plans, errors, memory and settings. Nothing here knows an
//! aggregate.

pub mod array;
pub mod attempt;
pub mod catch_error;
pub mod composite;
pub mod constant;
pub mod counters;
pub mod cte;
pub mod defence;
pub mod distributed;
pub mod errors;
pub mod execution;
pub mod extension;
pub mod fmgr;
pub mod grouping_keys;
pub mod hash;
pub mod kept;
pub mod memory;
pub mod nodes;
pub mod objects;
pub mod padding;
pub mod planning;
pub mod procedure;
pub mod relation;
pub mod salt;
pub mod set;
pub mod settings;
pub mod sql_type;
pub mod stack;
#[cfg(feature = "pg_test")]
pub mod test_helpers;
pub mod transaction;
pub mod tree;
pub mod tree_text;
pub mod varlena;
