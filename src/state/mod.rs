//! What is kept of a group's rows, as it lies in PostgreSQL's memory.

pub mod bins;
pub mod bitmap;
pub mod cells;
pub mod coined_cells;
mod combine;
pub mod groups;
pub mod log_bins;
pub mod person;
pub mod poisoned;
pub mod scalar;
pub mod vector;
pub mod wire_format;
