//! The tests that need a server, a module a subject.

mod accuracy;
mod arguments;
mod attacks;
mod audit;
mod bounds;
mod budgets;
mod catalog;
mod documentation;
mod gaussian_audit;
mod histogram;
mod honest;
mod honest_audit;
mod hot_path;
mod keep;
mod order;
mod people;
mod planning;
mod plans;
mod privileges;
mod questions;
mod randomness;
mod values;
mod vector_accuracy;
mod vectors;
mod zero_rows;
