//! Functions that may run on private rows: total ones, and stand-ins for those that are not. Nothing here knows an
//! aggregate, or who asks.

pub mod call;
pub mod defence;
mod interval;
pub mod judge;
pub mod key;
pub mod list;
mod native;
pub mod range;
pub mod variant;
pub mod work;
