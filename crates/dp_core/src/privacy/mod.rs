//! What privacy costs: epsilon, delta, and how guarantees convert and add up.

pub mod accounting;
pub mod cost;
pub mod delta;
pub mod epsilon;
pub mod gdp;
pub mod periods;
pub mod spending;
pub mod zcdp;
