//! What the plan of a query says of a call: its arguments, and where its columns come from. Nothing here knows an
//! aggregate.

pub mod lineage;
pub mod planned_call;
pub mod subselect;
