//! A call of an aggregate: its arguments, its mechanism, its release.

pub mod aggregate;
pub mod entry;
pub mod group;
pub mod offset;
pub mod parts;
pub mod query_local;
pub mod release;
pub mod signature;
pub mod site;
pub mod testing;
