//! The tests that need a server, a module a subject.

mod accuracy;
mod arguments;
mod attacks;
mod audit;
mod budgets;
mod catalog;
mod documentation;
mod gaussian_audit;
mod hot_path;
mod order;
mod planning;
mod plans;
mod privileges;
mod questions;
mod randomness;
mod values;
mod variance;
mod vector_accuracy;
mod vectors;
mod zero_rows;
