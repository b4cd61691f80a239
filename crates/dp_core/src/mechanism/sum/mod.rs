//! Mechanisms for sums.
//!
//! Rows count from 0, in steps of `max(|lo|, |hi|) / G`: grid steps `t` of a row lie in [-G, G].
//!
//! **Sensitivity space.** Adding or removing a row of `t` steps moves the sum `S` by `t` or by
//! `-t`. So noise is private at epsilon if shifting it by an integer in [-G, G] changes the
//! probability of any value by a factor of at most `e^epsilon`.
//!
//! **Post-processing.** The noisy sum of steps becomes a float in the column's own unit. It may
//! overflow to infinity where the bounds are near the largest floats.

pub mod auto;
pub mod bounded_by_search;
pub mod gaussian;
pub mod inputs;
pub mod laplace;
pub mod noise;
pub mod staircase;
