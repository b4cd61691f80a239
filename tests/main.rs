//! The tests that need a server, a module a subject.

mod accuracy;
mod arguments;
mod attacks;
mod audit;
mod catalog;
mod documentation;
mod hot_path;
mod order;
mod plans;
mod privileges;
mod randomness;
mod values;
mod zero_rows;
