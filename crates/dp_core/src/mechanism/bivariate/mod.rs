//! Mechanisms for two columns: covariance, regression line and correlation; and a mean with weights.
//!
//! Rows count from 0 to `G = 2^23` grid steps in each column. What a row of `Y` and `X` steps is seen by are products
//! of two such steps. For the covariance the four of the tensored Bernstein basis are enough, as it is bilinear:
//!
//! `t00 = (G - X) (G - Y)`, `t10 = X (G - Y)`, `t01 = (G - X) Y`, `t11 = X Y`:
//!
//! none is negative, and they add up to `G^2` for every row (Kulesza, Suresh and Wang 2024, their two sums in each
//! column). The spread of a column takes one more each, `p = X (G - X)` and `q = Y (G - Y)`. With their sums `T00` to
//! `Q` over the rows, `p_ij = T_ij / (T00 + T10 + T01 + T11)`, and rows at `x = X / G`, `y = Y / G`:
//!
//! * the number of rows is `(T00 + T10 + T01 + T11) / G^2`;
//! * the means are `mx = p10 + p11` and `my = p01 + p11`;
//! * the covariance is `p11 - mx my = p11 p00 - p10 p01`;
//! * the variance of `x` is `mx (1 - mx) - P / (n G^2)`, that of `y` the same with `Q`.
//!
//! **What noise goes on.** On integer combinations of these six (a [`Design`](sums::Design)), chosen so that a row
//! moves them all together by one unit and the wanted number takes up little of their noise. A statistic whose gradient
//! is `c` takes up the noise by `B^T c / n`, to leading order, where `B` leads back from the released sums.
//!
//! **Sensitivity space.** Adding a row moves the released sums by a quadratic in its steps, removing one by the
//! opposite; nothing else happens between neighbours.
//!
//! **Post-processing.** All the rest is a function of the noisy sums and of public numbers: back to noisy `T00` to `Q`,
//! which are kept in what rows can have; then the moments. Where the noisy number of rows is not positive, they are
//! those of two uniform columns that have nothing to do with each other; where a noisy spread is not positive, no line
//! is seen, and slope and correlation are 0.

pub mod correlation_gaussian;
pub mod correlation_laplace;
pub mod covariance_gaussian;
pub mod covariance_laplace;
pub mod ends;
pub mod slope_laplace;
pub mod sums;
pub mod weighted_laplace;
