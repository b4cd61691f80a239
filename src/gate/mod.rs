//! The gate: roles without SELECT on a protected table ask in plain SQL, and get private answers.
//!
//! It changes the query before it is planned. What it can prove private is rewritten, bounded and charged, and only
//! then is the table lent to it; what it cannot is left alone, and PostgreSQL refuses it, as the role has no right.
//! More of it: docs/gate.md.

mod access;
mod advice;
mod allowance;
mod answer;
mod beyond;
mod bill;
mod block;
mod canonical_keys;
mod computed;
mod conditions;
mod cost;
mod defence;
mod dependent_columns;
mod dependent_keys;
mod errors;
mod expression;
mod expressions;
mod floats;
mod foreign_code;
mod functions;
mod hooks;
mod inputs;
mod kept_side;
mod key_lists;
mod key_ranges;
mod key_references;
mod key_tables;
mod label;
mod length;
mod message_filter;
mod moments;
mod normalize;
mod outer_query;
mod period_ends;
mod periods;
mod policy;
mod price;
mod private_relation;
mod public_keys;
mod rejection;
mod released;
mod requests;
mod rewrite;
mod shown;
mod size;
mod sound_columns;
mod template;
mod time_granules;
mod width;

#[cfg(feature = "testing")]
pub use defence::set as set_defence;
pub use hooks::install;
