//! `dp_version()`: which version answers. The files of an update are installed before databases are updated.

use pgrx::prelude::*;

use crate::pg::extension;

/// The version of this library.
const LIBRARY: &str = env!("CARGO_PKG_VERSION");

#[pg_extern(sql = false)]
fn dp_version() -> String {
    match extension::version() {
        Some(sql) if sql != LIBRARY => format!("{LIBRARY}, with the SQL of {sql}"),
        _ => LIBRARY.to_owned(),
    }
}
