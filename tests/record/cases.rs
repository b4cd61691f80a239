//! Every mechanism of every aggregate, with what is declared of it.

use dp_core::encoding::grid::{COARSE_STEPS, PAIR_STEPS, STEPS};
use dp_core::encoding::power_of_two_bins::BINS;
use dp_core::encoding::sides::SIDES;
use dp_core::sampler::hourglass::Hourglass;
use dp_core::sampler::normal::RoundedNormal;
use dp_core::sampler::staircase::{Staircase, core_of};
use dp_core::sampler::staircase2::{self, Staircase2};
use dp_core::sampler::uniform::below;

use super::noise::{
    Noise, correlated, cube, ellipse, epsilon, geometric, halves, hourglass, laplace, no_less,
    normal, staircase, walked,
};
use super::spaces::{Counted, Space};
use super::tables::Relation;
use super::{COARSE, D, EPS, G, PAIR, UNIT};

/// A mechanism as a call gives it, and what is declared of it.
pub struct Case {
    pub aggregate: &'static str,
    pub mechanism: &'static str,
    /// With `{lo}`, `{hi}`, `{eps}` and `{mech}`.
    pub call: &'static str,
    pub counted: Counted,
    pub relation: Relation,
    pub space: Space,
    /// `None` where it is not drawn apart from the rows, or not by itself.
    pub noise: Option<Noise>,
    /// The lower bound is 0.
    pub from_0: bool,
}

pub fn cases() -> Vec<Case> {
    use Counted::{All, Inside, NotNull, Pairs, Values};
    use Relation::{AddRemove, Replace};
    const MEAN: &str = "dp_mean_and_count(x, {lo}, {hi}, {eps}, '{mech}')";
    const SUM: &str = "dp_sum(x, {lo}, {hi}, {eps}, '{mech}')";
    const COUNT: &str = "dp_count(x, {eps}, '{mech}')";
    const KEEP: &str = "dp_keep({eps}, 0.05, '{mech}')";
    const VARIANCE: &str = "dp_var_pop_estimate(x, {lo}, {hi}, {eps}, '{mech}')";
    const COVARIANCE: &str = "dp_covar_pop(y, x, {lo}, {hi}, -3, 0.5, {eps}, '{mech}')";
    const WEIGHTED: &str = "dp_weighted_mean(y, x, {lo}, {hi}, 0.125, 0.5, {eps}, '{mech}')";
    const SLOPE: &str = "dp_regr_slope(y, x, -3, 0.5, {lo}, {hi}, {eps}, '{mech}')";
    const CORRELATION: &str = "dp_regr(y, x, {lo}, {hi}, -3, 0.5, {eps}, '{mech}')";
    const LINEAR: &str = "dp_linear_regression(y, ARRAY[x, -x], {lo}, {hi}, ARRAY[-3, {lo}]::float8[], \
                          ARRAY[0.5, {hi}]::float8[], {eps}, '{mech}')";
    const COUNTS: &str = "dp_counts_estimate({eps}, '{mech}', x > 0, y > 0, x < y, x = y)";
    // A NULL row, a short one, and one with all numbers.
    const SUMS: &str = "dp_sums_estimate(CASE WHEN x IS NULL THEN NULL WHEN y IS NULL THEN \
                        ARRAY[x] ELSE ARRAY[x, y, NULL, -x] END, {lo}, {hi}, {eps}, '{mech}')";
    const SUMS_AROUND_0: &str = "dp_sums(CASE WHEN x IS NULL THEN NULL WHEN y IS NULL THEN ARRAY[x] \
                                 ELSE ARRAY[x, y, NULL, -x] END, -2, 2, {eps}, '{mech}')";
    const MEANS: &str = "dp_means(CASE WHEN x IS NULL THEN NULL WHEN y IS NULL THEN ARRAY[x] \
                         ELSE ARRAY[x, y, NULL, -x] END, {lo}, {hi}, {eps}, '{mech}')";
    const HISTOGRAM: &str = "dp_histogram(x, {lo}, {hi}, 7, {eps}, '{mech}')";
    const BOUNDS: &str = "dp_bounds(x, {eps}, '{mech}')";
    const CLAMPED: &str = "dp_clamped(x, {lo}, {hi}, {eps}, '{mech}')";
    // So that a few rows are enough to be seen.
    const AUTO: &str = "dp_mean_and_count(x, NULL, NULL, 40, '{mech}')";
    const AUTO_BETWEEN: &str = "dp_mean_and_count(x, -3, 8, 40, '{mech}')";
    const AUTO_SUM: &str = "dp_sum(x, NULL, NULL, 40, '{mech}')";
    const AUTO_SUM_BETWEEN: &str = "dp_sum(x, -3, 8, 40, '{mech}')";
    const AUTO_VARIANCE: &str = "dp_var_pop_estimate(x, NULL, NULL, 40, '{mech}')";
    const AUTO_VARIANCE_BETWEEN: &str = "dp_var_pop_estimate(x, -3, 8, 40, '{mech}')";
    const CELLS: &str = "dp_mean_and_count(x, NULL, NULL, {eps}, '{mech}')";
    let case = |aggregate, call, mechanism, counted, relation, space, noise| Case {
        aggregate,
        mechanism,
        call,
        counted,
        relation,
        space,
        noise,
        from_0: false,
    };
    let value = |aggregate, call, mechanism, space, noise: Noise| {
        case(
            aggregate,
            call,
            mechanism,
            Values,
            AddRemove(1),
            space,
            Some(noise),
        )
    };
    let mean = |mechanism, space, noise: Noise| value("dp_mean", MEAN, mechanism, space, noise);
    let sum = |mechanism, noise: Noise| value("dp_sum", SUM, mechanism, Space::Sum, noise);
    let vector = |aggregate, call, mechanism, space, noise: Noise| {
        let counted = if aggregate == "dp_counts" {
            All
        } else {
            NotNull
        };
        case(
            aggregate,
            call,
            mechanism,
            counted,
            AddRemove(1),
            space,
            Some(noise),
        )
    };
    let pair = |aggregate, call, mechanism, space, noise: Noise| {
        let noise = Some(noise);
        case(
            aggregate,
            call,
            mechanism,
            Pairs,
            AddRemove(1),
            space,
            noise,
        )
    };
    let whole = |unit| Space::Vector { unit, whole: true };
    let alone = |unit| Space::Vector { unit, whole: false };
    let mut cases = vec![
        mean("hourglass", Space::Complement, |words| {
            hourglass(EPS, words)
        }),
        mean("hourglass(gamma=1e-12)", Space::Complement, |words| {
            let (x, k) = Hourglass::new(STEPS, 1, epsilon(EPS)).draw(words);
            vec![x, k * G - x]
        }),
        mean("laplace", Space::Complement, |words| {
            laplace(2, STEPS, EPS, words)
        }),
        mean("staircase", Space::Complement, |words| {
            let core = core_of(staircase2::best_gamma(EPS), STEPS);
            let (x, y) = Staircase2::new(STEPS, core, epsilon(EPS)).draw(words);
            vec![x, y]
        }),
        mean("staircase(gamma=1e-12)", Space::Complement, |words| {
            let (x, y) = Staircase2::new(STEPS, 1, epsilon(EPS)).draw(words);
            vec![x, y]
        }),
        mean("gaussian(mu=1)", Space::Centred, |words| {
            normal(2, 2f64.sqrt() * STEPS as f64, words)
        }),
        mean("gaussian(delta=1e-6)", Space::Centred, |words| {
            let mu = dp_core::privacy::accounting::mu(EPS, 1e-6).expect("a mu");
            normal(2, 2f64.sqrt() * STEPS as f64 / mu, words)
        }),
        mean("shifted", Space::Centred, halves),
        mean("independent", Space::Signed, halves),
        case(
            "dp_mean",
            MEAN,
            "smooth",
            Values,
            AddRemove(1),
            Space::Smooth,
            None,
        ),
        case(
            "dp_mean",
            MEAN,
            "smooth",
            Values,
            Replace,
            Space::Smooth,
            None,
        ),
        case(
            "dp_mean",
            MEAN,
            "clipped(n=5)",
            Values,
            Replace,
            Space::ClippedReplace,
            Some(|words| vec![2 * staircase(EPS, words)]),
        ),
        case(
            "dp_mean",
            CELLS,
            "symmetric(delta=0.05, scale=1, share=0.9)",
            Values,
            AddRemove(1),
            Space::Cells,
            None,
        ),
        case(
            "dp_mean",
            CELLS,
            "symmetric_known_n(delta=0.05, scale=1, n=5, share=0.9)",
            Values,
            Replace,
            Space::CellsReplace,
            None,
        ),
        case(
            "dp_mean",
            AUTO,
            "auto",
            Values,
            AddRemove(1),
            Space::Auto,
            None,
        ),
        case(
            "dp_mean",
            AUTO_BETWEEN,
            "auto(rows=3)",
            Values,
            AddRemove(3),
            Space::Auto,
            None,
        ),
        case(
            "dp_sum",
            AUTO_SUM,
            "auto",
            Values,
            AddRemove(1),
            Space::AutoSum,
            None,
        ),
        case(
            "dp_sum",
            AUTO_SUM_BETWEEN,
            "auto(rows=3)",
            Values,
            AddRemove(3),
            Space::AutoSum,
            None,
        ),
        case(
            "dp_var_pop",
            AUTO_VARIANCE,
            "auto",
            Values,
            AddRemove(1),
            Space::AutoVariance,
            None,
        ),
        case(
            "dp_var_pop",
            AUTO_VARIANCE_BETWEEN,
            "auto(sample=yes, rows=3)",
            Values,
            AddRemove(3),
            Space::AutoVariance,
            None,
        ),
        case(
            "dp_mean",
            "dp_mean_and_count(x, 0, 1, {eps}, '{mech}')",
            "hybrid(delta=0.2, n=5, moment=4, psi=1)",
            Values,
            Replace,
            Space::Coins(G),
            Some(|words| {
                below(5, words);
                vec![staircase(EPS, words)]
            }),
        ),
        case(
            "dp_mean",
            MEAN,
            "name_and_shame(delta=0.2, n=5)",
            Values,
            Replace,
            Space::Coins(0),
            Some(|_| vec![0]),
        ),
        sum("staircase", |words| vec![staircase(EPS, words)]),
        sum("staircase(gamma=1e-12)", |words| {
            vec![Staircase::new(STEPS, 1, epsilon(EPS)).draw(words).value]
        }),
        sum("laplace", |words| laplace(1, STEPS, EPS, words)),
        sum("gaussian(mu=1)", |words| normal(1, STEPS as f64, words)),
        value(
            "dp_var_pop",
            VARIANCE,
            "laplace",
            Space::LaplaceMoments,
            |words| laplace(3, 2 * COARSE_STEPS * COARSE_STEPS, EPS, words),
        ),
        value(
            "dp_var_pop",
            VARIANCE,
            "gaussian(mu=1, sample=yes)",
            Space::GaussianMoments,
            |words| normal(3, (COARSE * COARSE) as f64, words),
        ),
        pair(
            "dp_covar_pop",
            COVARIANCE,
            "laplace",
            Space::LaplacePairs(4, 1),
            |words| laplace(4, PAIR_STEPS * PAIR_STEPS, EPS, words),
        ),
        pair(
            "dp_covar_pop",
            COVARIANCE,
            "gaussian(mu=1)",
            Space::GaussianPairs(&[1, 2, 2, 4], 9),
            |words| {
                let unit = 3.0 * PAIR as f64;
                let sizes = [unit, unit / 2f64.sqrt(), unit / 2f64.sqrt(), unit / 2.0];
                let each = sizes.map(|size| normal(1, size, words)[0]);
                each.to_vec()
            },
        ),
        pair(
            "dp_weighted_mean",
            WEIGHTED,
            "laplace",
            Space::Weights,
            |words| laplace(2, PAIR_STEPS * PAIR_STEPS + 2, EPS, words),
        ),
        pair(
            "dp_regr_slope",
            SLOPE,
            "laplace",
            Space::LaplacePairs(5, 9),
            |words| laplace(5, 9 * PAIR_STEPS * PAIR_STEPS, EPS, words),
        ),
        pair(
            "dp_regr_slope",
            SLOPE,
            "gaussian(mu=1)",
            Space::GaussianPairs(&[1; 6], 243),
            |words| normal(6, 243f64.sqrt() * PAIR as f64, words),
        ),
        pair(
            "dp_corr",
            CORRELATION,
            "laplace",
            Space::LaplacePairs(6, 8),
            |words| laplace(6, 8 * PAIR_STEPS * PAIR_STEPS, EPS, words),
        ),
        pair(
            "dp_corr",
            CORRELATION,
            "gaussian(mu=1)",
            Space::GaussianPairs(&[1; 6], 243),
            |words| normal(6, 243f64.sqrt() * PAIR as f64, words),
        ),
        pair(
            "dp_linear_regression",
            LINEAR,
            "knorm",
            Space::Columns([1; 10]),
            |words| cube(10, PAIR_STEPS * PAIR_STEPS, words),
        ),
        pair(
            "dp_linear_regression",
            LINEAR,
            "gaussian(mu=1)",
            Space::Columns([4, 3, 3, 4, 2, 2, 2, 3, 4, 4]),
            |words| normal(10, 103f64.sqrt() * PAIR as f64, words),
        ),
        value(
            "dp_histogram",
            HISTOGRAM,
            "geometric",
            Space::Bins(7),
            |words| geometric(7, words),
        ),
        case(
            "dp_histogram",
            HISTOGRAM,
            "geometric(outside=drop)",
            Inside,
            AddRemove(1),
            Space::Bins(7),
            Some(|words| geometric(7, words)),
        ),
        value(
            "dp_cdf",
            "dp_cdf(x, {lo}, {hi}, 7, {eps}, '{mech}')",
            "tree",
            Space::Bins(7),
            |words| geometric(7, words),
        ),
        value(
            "dp_bounds",
            BOUNDS,
            "geometric(beta=0.9)",
            Space::Bins(BINS),
            |words| geometric(BINS, words),
        ),
        value(
            "dp_clamped",
            CLAMPED,
            "geometric",
            Space::Bins(SIDES),
            |words| geometric(SIDES, words),
        ),
        vector("dp_counts", COUNTS, "knorm", whole(UNIT), |words| {
            cube(D + 1, UNIT as u64, words)
        }),
        vector(
            "dp_counts",
            COUNTS,
            "correlated(mu=1, c=2)",
            whole(UNIT),
            |words| correlated(UNIT as f64, words),
        ),
        vector(
            "dp_counts",
            COUNTS,
            "gaussian(mu=1)",
            Space::Few(UNIT, D),
            |words| normal(D, (D as f64).sqrt() * UNIT as f64, words),
        ),
        vector(
            "dp_counts",
            COUNTS,
            "known_n(mu=1, n=5)",
            alone(UNIT),
            |words| normal(D, (D as f64).sqrt() * UNIT as f64, words),
        ),
        vector("dp_counts", COUNTS, "laplace", Space::Few(1, D), |words| {
            laplace(D, D as u64, EPS, words)
        }),
        vector(
            "dp_counts",
            COUNTS,
            "ellipse(mu=1, k=2)",
            Space::Few(UNIT, 2),
            |words| ellipse(UNIT as f64, words),
        ),
        Case {
            from_0: true,
            ..vector("dp_sums", SUMS, "knorm(d=4)", whole(G), |words| {
                cube(D + 1, STEPS, words)
            })
        },
        // Values that count from 0.
        vector(
            "dp_sums",
            SUMS_AROUND_0,
            "knorm(d=4)",
            Space::Values(G),
            |words| cube(D, STEPS, words),
        ),
        vector(
            "dp_sums",
            SUMS,
            "correlated(mu=1, c=2, d=4)",
            whole(G),
            |words| correlated(STEPS as f64, words),
        ),
        vector(
            "dp_sums",
            SUMS,
            "gaussian(mu=1, d=4)",
            Space::Values(G),
            |words| normal(D, (D as f64).sqrt() * STEPS as f64, words),
        ),
        vector(
            "dp_sums",
            SUMS,
            "known_n(mu=1, n=5, d=4)",
            alone(G),
            |words| normal(D, (D as f64).sqrt() * STEPS as f64, words),
        ),
        vector("dp_sums", SUMS, "laplace(d=4)", Space::Values(G), |words| {
            laplace(D, D as u64 * STEPS, EPS, words)
        }),
        vector("dp_means", MEANS, "knorm(d=4)", whole(G), |words| {
            cube(D + 1, STEPS, words)
        }),
        vector(
            "dp_means",
            MEANS,
            "correlated(mu=1, c=2, d=4)",
            whole(G),
            |words| correlated(STEPS as f64, words),
        ),
        vector(
            "dp_means",
            MEANS,
            "known_n(mu=1, n=5, d=4)",
            alone(G),
            |words| normal(D, (D as f64).sqrt() * STEPS as f64, words),
        ),
        Case {
            from_0: true,
            ..vector(
                "dp_sums",
                SUMS,
                "ellipse(mu=1, k=2, d=4)",
                Space::Few(G, 2),
                |words| ellipse(STEPS as f64, words),
            )
        },
        case(
            "dp_counts",
            COUNTS,
            "correlated(mu=1, c=2, relation=replace)",
            All,
            Replace,
            Space::VectorReplace(UNIT),
            Some(|words| {
                let sigma = no_less(16f64.sqrt() * UNIT as f64);
                let distribution = RoundedNormal::new(sigma);
                let mut noise: Vec<_> = (0..D).map(|_| distribution.draw(words)).collect();
                noise.extend(normal(1, sigma / 2.0, words));
                noise
            }),
        ),
        case(
            "dp_counts",
            COUNTS,
            "laplace(relation=replace)",
            All,
            Replace,
            Space::ValuesReplace(1),
            Some(|words| laplace(D, 2 * D as u64, EPS, words)),
        ),
        case(
            "dp_counts",
            COUNTS,
            "knorm(relation=replace)",
            All,
            Replace,
            Space::VectorReplace(UNIT),
            Some(|words| cube(D + 1, 2 * UNIT as u64, words)),
        ),
        case(
            "dp_sums",
            SUMS,
            "gaussian(mu=1, relation=replace, d=4)",
            NotNull,
            Replace,
            Space::ValuesReplace(G),
            None,
        ),
    ];
    let quantiles = |aggregate, call, mechanism, relation| {
        case(
            aggregate,
            call,
            mechanism,
            Values,
            relation,
            Space::Choices,
            None,
        )
    };
    let walk = |aggregate, call, mechanism, relation, space, noise: Noise| {
        case(
            aggregate,
            call,
            mechanism,
            Values,
            relation,
            space,
            Some(noise),
        )
    };
    const QUANTILE: &str = "dp_quantile(x, {lo}, {hi}, 0.9, {eps}, '{mech}')";
    const UPPER_QUARTILE: &str = "dp_quantile(x, {lo}, {hi}, 0.75, {eps}, '{mech}')";
    const MEDIAN: &str = "dp_median(x, {lo}, {hi}, {eps}, '{mech}')";
    const QUARTILES: &str = "dp_quantiles(x, {lo}, {hi}, '{0.25,0.5,0.75}', {eps}, '{mech}')";
    cases.extend([
        quantiles("dp_quantile", QUANTILE, "em(bins=8)", AddRemove(1)),
        quantiles(
            "dp_median",
            MEDIAN,
            "em(bins=64, grid=log, rho=0.3)",
            AddRemove(1),
        ),
        walk(
            "dp_quantile",
            UPPER_QUARTILE,
            "rising(grid=linear, bins=8)",
            AddRemove(1),
            Space::Walk(3, 4),
            |words| walked(EPS, [3, 4], words),
        ),
        walk(
            "dp_median",
            MEDIAN,
            "rising(grid=linear, bins=8, rows=3)",
            AddRemove(3),
            Space::Walk(1, 2),
            |words| walked(EPS / 3.0, [1, 2], words),
        ),
        quantiles("dp_quantiles", QUARTILES, "em(bins=8)", AddRemove(1)),
        quantiles(
            "dp_quantiles",
            QUARTILES,
            "em(bins=8, rows=3)",
            AddRemove(3),
        ),
    ]);
    let count = |mechanism, relation, noise: Noise| {
        let space = Space::Rows;
        case(
            "dp_count",
            COUNT,
            mechanism,
            NotNull,
            relation,
            space,
            Some(noise),
        )
    };
    let keep = |mechanism, relation| {
        case(
            "dp_keep",
            KEEP,
            mechanism,
            All,
            relation,
            Space::People,
            None,
        )
    };
    cases.extend([
        case(
            "dp_count_distinct",
            "dp_count_distinct(x, {eps}, '{mech}')",
            "bitmap(bits=1024)",
            NotNull,
            AddRemove(1),
            Space::Occupied,
            Some(|words| geometric(1, words)),
        ),
        case(
            "dp_count_distinct",
            "dp_count_distinct(x::text, {eps}, '{mech}')",
            "bitmap(values=3)",
            NotNull,
            AddRemove(3),
            Space::Occupied,
            Some(|words| {
                let distribution = Staircase::two_sided_geometric(epsilon(EPS / 3.0));
                vec![distribution.draw(words).value]
            }),
        ),
        count("geometric", AddRemove(1), |words| geometric(1, words)),
        count("gaussian(mu=1)", AddRemove(1), |words| {
            normal(1, 1.0, words)
        }),
        // The least v with e^(-eps v) / (1 + e^-eps) <= 0.05 at this eps is 2.
        count("undercount(delta=0.05)", AddRemove(1), |words| {
            vec![geometric(1, words)[0].clamp(-2, 2) - 2]
        }),
        keep("keep", AddRemove(1)),
        keep("keep(rows=3)", AddRemove(3)),
        // Three rows of a person, at a third of eps and of mu each.
        count("gaussian(mu=1, rows=3)", AddRemove(3), |words| {
            let mu = 1.0 / 3.0 * (1.0 - 1e-15);
            normal(1, 1.0 / mu, words)
        }),
        case(
            "dp_mean",
            MEAN,
            "hourglass(rows=3)",
            Values,
            AddRemove(3),
            Space::Complement,
            Some(|words| hourglass(EPS / 3.0, words)),
        ),
        case(
            "dp_sum",
            SUM,
            "laplace(rows=3)",
            Values,
            AddRemove(3),
            Space::Sum,
            Some(|words| laplace(1, STEPS, EPS / 3.0, words)),
        ),
        case(
            "dp_counts",
            COUNTS,
            "laplace(rows=3)",
            All,
            AddRemove(3),
            Space::Few(1, D),
            Some(|words| laplace(D, D as u64, EPS / 3.0, words)),
        ),
        case(
            "dp_clamped",
            CLAMPED,
            "geometric(rows=3)",
            Values,
            AddRemove(3),
            Space::Bins(SIDES),
            None,
        ),
        case(
            "dp_histogram",
            HISTOGRAM,
            "geometric(rows=3)",
            Values,
            AddRemove(3),
            Space::Bins(7),
            None,
        ),
        case(
            "dp_count",
            "dp_count({eps})",
            "geometric",
            All,
            AddRemove(1),
            Space::Rows,
            Some(|words| geometric(1, words)),
        ),
    ]);
    cases
}
