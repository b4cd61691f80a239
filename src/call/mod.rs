//! A call of an aggregate: its arguments, its mechanism, its release.

pub mod aggregate;
pub mod entry;
pub mod group;
pub mod kept;
pub mod offset;
pub mod overspent;
pub mod parts;
pub mod release;
pub mod signature;
pub mod site;
