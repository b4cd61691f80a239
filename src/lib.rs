//! The PostgreSQL face of `dp_mean`: it reads arguments, feeds integers to states, and asks the
//! mechanisms of `dp_core` for answers. The SQL that declares all of it is in `sql/`.

mod accounting;
mod aggregate;
mod aggregates;
mod array;
mod bins;
mod call_site;
mod catalog;
mod cell_state;
mod errors;
mod estimate;
mod fmgr;
mod mechanism_type;
mod memory;
mod offset;
mod plan;
mod planning;
mod release;
mod settings;
mod state;
mod subselect;
#[cfg(feature = "testing")]
mod testing;
mod vector;
mod vector_state;

pgrx::pg_module_magic!(name, version);
