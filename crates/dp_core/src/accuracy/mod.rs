//! How far an answer may be from the truth: tails of the noise, intervals, forecasts. Public numbers
//! in, public numbers out.

pub mod cube;
pub mod difference;
pub mod forecast;
pub mod interval;
pub mod population;
pub mod spread;
pub mod tail;
