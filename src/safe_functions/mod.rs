//! Functions that may run on private rows: total ones, and stand-ins for those that are not. Nothing here knows an
//! aggregate, or who asks.

pub mod allowlist;
mod arithmetic;
pub mod caches;
pub mod canonical_key;
pub mod classify;
pub mod defence;
mod interval;
pub mod null_on_error;
mod numeric;
pub mod range;
pub mod work;
pub mod wrap;
mod zones;
