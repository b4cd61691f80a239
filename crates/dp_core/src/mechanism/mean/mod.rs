//! Mechanisms for means.
//!
//! Hourglass, laplace and staircase follow algorithm 3 of Kulesza, Suresh and Wang (2024), here
//! on integers. Grid steps `t` of a row lie in [0, G]. With `n` rows and `S1` the sum of their
//! steps, let `S2 = G n - S1` be the sum of their distances from the upper bound. Noise goes on
//! the pair, and the mean is read off as the fraction `s1 / (s1 + s2)` of the noisy pair.
//!
//! **Sensitivity space.** Adding a row of `t` steps moves `(S1, S2)` by `(t, G - t)`, removing
//! one moves it by `(-t, t - G)`; nothing else happens between neighbours. So noise is private
//! at epsilon if shifting it by `(t, G - t)`, for each integer `t` in [0, G], changes the
//! probability of any pair by a factor of at most `e^epsilon` either way: each mechanism shows
//! that for its noise. In the coordinates `(S1, n)` the same move is `(t, 1)`. The grid is
//! fixed row by row, so the rounding to it is part of the data's domain and costs no privacy.
//!
//! **Post-processing.** The fraction, its clipping to [0, 1], the midpoint where the noisy
//! number of rows is not positive, and the noisy number of rows are functions of the noisy pair
//! and of public numbers.

pub mod answer;
pub mod auto;
pub mod bounded_by_search;
pub mod clipped;
pub mod gaussian;
pub mod hourglass;
pub mod independent;
pub mod inputs;
pub mod laplace;
pub mod location;
pub mod pair;
pub mod parameters;
pub mod pathological;
pub mod shifted;
pub mod smooth;
pub mod split_budget;
pub mod staircase;
pub mod symmetric;
pub mod symmetric_known_n;
