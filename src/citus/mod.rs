//! Citus: states of groups on their way between nodes. Nothing here knows an aggregate.

pub mod errors;
pub mod key_file;
pub mod partial_state;
pub mod replay_guard;
pub mod wrapper;
