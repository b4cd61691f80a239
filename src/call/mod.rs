//! A call of an aggregate: its arguments, its mechanism, its release.

pub mod aggregate;
pub mod offset;
pub mod release;
pub mod site;
