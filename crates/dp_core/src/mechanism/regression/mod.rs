//! Mechanisms for a linear regression with several predictors, from one release.
//!
//! A row is `D = p + 1` numbers, `x_1` to `x_p` and `y`, each from 0 to `G = 2^23` grid steps; with `u = 2 X - G` it is
//! a point of the cube `[-G, G]^D`. What is released are `K = 1 + 2 D + D (D - 1) / 2` sums over the rows:
//!
//! `G^2` (the number of rows), `G u_i`, `2 u_i^2 - G^2`, `u_i u_j` for `i < j`:
//!
//! none is moved by a row by more than `G^2`, and each goes up or down by as much.
//!
//! **Sensitivity space.** Adding a row moves them by a point of the cube `[-G^2, G^2]^K`, removing one by its opposite;
//! nothing else happens between neighbours.
//!
//! **Post-processing.** Coefficients, standard errors and intervals are functions of the noisy sums and of public
//! numbers: see [`fit`].

pub mod fit;
pub mod gaussian;
pub mod knorm;
pub mod parts;
mod shrunk;
pub mod sums;
mod symmetric;
