//! Mechanisms for vectors: `d` counts of yes/no questions, or `d` bounded sums, in one release.
//!
//! A row is a vector of `d` integers: 0 or 1 for a question, grid steps for a value. The state is
//! the number of rows `n` and for each position the sum `S_j`. `d` is public and fixed by the call,
//! and so is what represents a missing answer: "no" for a question, the value 0 (clamped to the
//! bounds) for a value. In the files below, `G` is the number of steps in a unit of sensitivity.
//! For questions the unit is 1 and has 2^20 steps, so that a noisy count shows no visible
//! rounding; for values it has 2^32.
//!
//! **Sensitivity space.** Adding or removing a row moves `n` by 1 and each `S_j` by an amount
//! between 0 and `G` ("from below": values count from `lo`), or between `-G` and `G` ("signed":
//! values count from 0), all with the sign of the change. Replacing a row is both, and where rows
//! are grouped the two may happen in different groups.
//!
//! **Post-processing.** Noise is rounded after it is added to integers, which is rounding what the
//! ideal mechanism releases. Units, totals and means are computed from noisy integers.

pub mod additive;
pub mod correlated;
pub mod ellipse;
pub mod gaussian;
pub mod items;
pub mod knorm;
pub mod known_n;
pub mod laplace;
