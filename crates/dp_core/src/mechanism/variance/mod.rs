//! Mechanisms for the variance; the mean and the number of rows come from the same release.
//!
//! Rows count from 0 to `G = 2^24` grid steps. Kulesza, Suresh and Wang (2024) get a mean out of
//! two sums, of `t` and of `G - t`, that a row moves by exactly `G` together. One degree up, what a
//! row of `t` steps is seen by are the three Bernstein polynomials of degree two,
//!
//! `b0 = (G - t)^2`, `b1 = 2 t (G - t)`, `b2 = t^2`:
//!
//! none is negative, and they add up to `G^2` whatever `t` is. With their sums `B0`, `B1`, `B2`
//! over the rows, and `p_i = B_i / (B0 + B1 + B2)`, of rows at `x = t / G`:
//!
//! * the number of rows is `(B0 + B1 + B2) / G^2`;
//! * the mean of `x` is `p2 + p1 / 2`, the mean of its square `p2`;
//! * so its variance is `p2 - (p2 + p1 / 2)^2`, which is `p0 p2 - p1^2 / 4`, as the `p_i` add up
//!   to 1: the same whether rows are counted from `lo` or from `hi`.
//!
//! **What noise goes on.** Not on the `B_i` themselves but on three integer combinations of them
//! (see [`MomentNoise`]), chosen for the noise: what is wanted is the variance. Of noise in the
//! sums of functions `f_i` that a quadratic `x^2` is made of, the variance of the rows takes up
//! `(c0 X0 + c1 X1 + c2 X2) / n`, to leading order, with the `c_i` for which `c0 f0 + c1 f1 + c2
//! f2` is `(x - mean)^2 - variance`. For the `b_i` the middle one is `(1/2 - mean)^2 - variance -
//! 1/4`: large just where rows lie around the middle. Taking a part of `b1` off `b0` and `b2` makes
//! it smaller, and each mechanism shows how far that goes at no cost.
//!
//! **Sensitivity space.** Adding a row of `t` steps moves the three sums by `(f0(t), f1(t), f2(t))`
//! and removing one by the opposite; nothing else happens between neighbours. The grid is fixed row
//! by row, so the rounding to it is part of the data's domain and costs no privacy.
//!
//! **Post-processing.** All the rest is a function of the noisy sums and of public numbers: back to
//! noisy `B_i`; those below 0 become 0 (true ones never are, so each comes nearer to the
//! truth; what comes of it are moments that rows between the bounds could have), the variance, kept
//! in [0, 1/4] of the squared width, and, where the noisy number of rows is not positive, the
//! variance and the mean of the uniform distribution between the bounds, which is what the bounds alone say.

pub mod auto;
pub mod bounded_by_search;
pub mod gaussian;
pub mod inputs;
pub mod laplace;
pub mod moments;
