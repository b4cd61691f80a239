//! An answer is a call of its own: `dp_mean.answer(block, ...)` in FROM takes the place of a block. The query around
//! it sees rows that were released, and nothing of how they came about.
//!
//! Where its first row is asked for, the call runs the private query to its end: it looks at rights and the policy
//! again, hands out the answer that is kept if there is one, else plans, reads what is public, charges, and runs. A
//! cursor, a rescan or a plan that asks twice reads the same rows again.

pub mod call;
mod canonical;
mod early_groups;
mod identity;
mod paid_periods;
pub mod question;
pub mod remote;
pub mod run;
mod settle;
