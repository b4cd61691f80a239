//! The ledger: what was spent of each budget, in a way that no ROLLBACK takes back.
//!
//! Limits are promises, in ordinary transactional tables. What was spent lies in rows of ordinary tables that
//! are changed in place, outside of every transaction, and are on disk before a charge returns. The tables are
//! those of `sql/ledger.sql`; the arithmetic is `dp_core::privacy::spending`.

mod archive;
mod balance;
mod balances;
pub mod budgets;
mod changes;
pub mod charge;
mod check;
pub mod defence;
mod deployment;
pub mod division;
mod errors;
mod fields;
mod finding;
pub mod flush;
mod functions;
mod history;
mod home;
mod known;
#[cfg(feature = "pg_test")]
mod lock_order;
mod marks;
mod number_check;
mod page_check;
pub mod pages;
mod period_check;
mod period_known;
mod period_lines;
pub mod periods;
mod replication;
mod restore;
pub mod rows;
pub mod session;
pub mod tables;
