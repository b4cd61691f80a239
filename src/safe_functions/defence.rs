//! The defences of what runs on private rows.

use crate::pg::defence::defences;

defences! {
    /// The work that a row can cause is bounded.
    Work = "work",
    /// Caches of the session do not tell what rows there were.
    Caches = "caches",
}
