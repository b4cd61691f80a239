//! Private relations: rows that each are of one person, made of that person's rows and of public tables alone. Taking a
//! person away takes their rows away and changes no other, so whatever is asked of such rows is asked of people, as if
//! they were a table that names them. What is done within the rows of one person is free: joins of several protected
//! tables by the person, aggregates and windows of each person, sub-queries about the same person.
//!
//! Each rule has a function here, and its proof in docs/proofs/private-relations.md.

mod calls;
mod columns;
mod facts;
pub mod from;
pub mod full_join;
mod links;
mod one_value;
mod person;
pub mod reference;
pub mod rows_of_person;
mod set_operation;
mod shared;
mod sub_query;
mod sure_joins;
mod windows;

pub use links::Around;
pub use one_value::{is_of_one_row, is_of_person, is_of_single_rows};
pub use person::{Column, comparison, equality, has_private, is_relation, private_entries};
pub use set_operation::cast_arms;
pub use shared::{Shared, origins};
pub use sub_query::check as check_sub_query;
pub use sure_joins::column_of_table;
