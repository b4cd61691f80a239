//! What a call asks for: its arguments, the text of its mechanism with its parameters, the budget of a
//! Gaussian mechanism, and the privacy unit, by which a call's budget is shared out.

pub mod arguments;
pub mod budget;
pub mod checked;
pub mod choice;
pub mod contribution;
pub mod groups;
pub mod parameter;
pub mod ranks;
pub mod unit;
