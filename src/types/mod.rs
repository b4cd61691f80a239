//! The SQL types of the extension.

pub mod mechanism;
mod state;
