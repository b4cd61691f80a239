//! What SQL calls of the gate: the owner's face, and the price of a query.

use pgrx::pg_sys;

