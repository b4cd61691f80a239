//! The SQL types of the extension.

mod block;
pub mod contribution;
pub mod groups;
pub mod mechanism;
mod state;
