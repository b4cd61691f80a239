//! The functions that are no aggregates: they look at no data.

mod accounting;
mod histogram_edges;
mod mechanisms;
mod planning;
mod stats;
mod version;
