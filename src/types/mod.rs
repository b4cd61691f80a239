//! The SQL types of the extension.

pub mod contribution;
pub mod groups;
pub mod mechanism;
mod state;
