//! The audit: every mechanism of every aggregate, through SQL, on tables that differ by one row. Of each,
//! the largest bound from below on what it spends, by the events and the statistics of `auditing`, as
//! promised and with the noise halved, which must be seen, else the audit is blind. `make test` has
//! a look with fewer releases, where eps, or mu, is 1; `make audit` has a table for `docs/audit.md`.
//!
//! What tells most, for the mechanisms that are not in the other audits:
//!
//! * The sums that noise goes on can be had back from an answer about many rows, where no answer
//!   is cut off at a bound. Of a variance, `B0`, `B1` and `B2` over `G^2` are the count times
//!   `(1 - p)^2 + v`, `2 (p (1 - p) - v)` and `p^2 + v`, for a mean `p` and a variance `v` between the
//!   bounds 0 and 1. A row at 0 moves one of the three noisy sums alone, as far as it can.
//! * As above, for two columns, with `y = x`: `p11` is the covariance and the product of the means, `P / n` is `m (1 - m)`
//!   less the variance. Where the answer is a slope alone, rows are at the corners such that it is 0 and most of its
//!   noise is that of the corner without a spread, where the row is added.
//! * Of a vector with Gaussian noise the weights are those of `audit::gaussian`. For counts of a row
//!   of all "yes", with the default `c^2 = sqrt(d)`, they are `2` for each count and `c^2 - d` for the
//!   total.
//! * Of noise in the shape of a cube the event is that all numbers are above some number: all of the points in it become
//!   more likely by `e^eps` with a row that moves all of them up.
//! * A rank tells most where nearly all places are too high and a row more, at the upper bound, makes them right: the few
//!   that are too low become too low by as much again, and their probability falls by nearly `e^eps`.
//! * A walk over bins that stops at the only row in its way does so for that row, and passes the bins before for lack of it.
//! * `hybrid` is one row, far below the bounds or far above: its head is at an end either way.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use dp_mean_tests::auditing::{bound, bound_beside, delta_bound, threshold_bound};
use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{ALPHA, mu_of_event};
use dp_mean_tests::{Build, assert_covers_the_catalog, run, session, variable};

/// What is promised, and looked for: eps, or mu.
const PROMISES: [f64; 3] = [0.5, 1.0, 2.0];

/// Releases for each table.
const RELEASES: usize = 100_000;

/// What part of them a look takes.
const LOOK: usize = 5;

/// A mechanism's guarantee.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Guarantee {
    /// The eps of any event.
    Pure,
    /// The eps of any event, beside this delta.
    Beside(f64),
    /// The mu of any event.
    Gaussian,
    /// The delta of any event at eps 0, whatever eps is.
    Delta(f64),
}

/// Where to look: an answer, an array of numbers, and pairs of tables.
struct Probe {
    /// Options of the mechanism that make this event the likely one.
    options: &'static str,
    /// With `{call}`.
    answer: &'static str,
    pairs: &'static [(&'static str, &'static str)],
    /// For one number made of all, larger for the second table; without them, the numbers are looked
    /// at together.
    weights: &'static [f64],
    releases: usize,
}

/// A mechanism of an aggregate.
struct Subject {
    aggregate: &'static str,
    mechanism: &'static str,
    guarantee: Guarantee,
    /// With `{eps}`, and `{mech}` for the mechanism's text.
    call: &'static str,
    probes: Vec<Probe>,
}

const NONE: &[(usize, f64)] = &[];

/// Tables, of that many rows of each value.
const TABLES: [(&str, &[(usize, f64)]); 37] = [
    ("nothing", NONE),
    ("low", &[(1, 0.0)]),
    ("high", &[(1, 1.0)]),
    ("ends", &[(1, 0.0), (1, 1.0)]),
    ("beneath", &[(1, -1e6)]),
    ("beyond", &[(1, 1e6)]),
    ("many", &[(10, 0.0), (90, 1.0)]),
    ("many_low", &[(11, 0.0), (90, 1.0)]),
    ("spread", &[(40, 0.0), (40, 0.5), (40, 1.0)]),
    ("spread_low", &[(41, 0.0), (40, 0.5), (40, 1.0)]),
    ("broad", &[(512, 0.0), (512, 0.5), (512, 0.99)]),
    ("broad_low", &[(513, 0.0), (512, 0.5), (512, 0.99)]),
    ("nine_low", &[(9, 0.0)]),
    ("lows", &[(100, 0.0)]),
    ("lows_and_high", &[(100, 0.0), (1, 1.0)]),
    ("nine_and_high", &[(9, 0.0), (1, 1.0)]),
    ("nine_and_middle", &[(9, 0.0), (1, 0.55)]),
    ("middle", &[(1, 0.55)]),
    ("corners", &[(20, 0.0), (63, 1.0), (63, 2.0), (200, 3.0)]),
    (
        "corners_low",
        &[(21, 0.0), (63, 1.0), (63, 2.0), (200, 3.0)],
    ),
    ("one", &[(1, 3.0)]),
    ("two", &[(2, 3.0)]),
    ("three", &[(3, 3.0)]),
    ("four", &[(4, 3.0)]),
    ("five", &[(5, 3.0)]),
    ("six", &[(6, 3.0)]),
    ("seven", &[(7, 3.0)]),
    ("eight", &[(8, 3.0)]),
    ("nine", &[(9, 3.0)]),
    ("ten", &[(10, 3.0)]),
    ("crowd", &[(300, 3.0)]),
    ("crowd_far", &[(300, 3.0), (1, 1e9)]),
    ("crowd_left", &[(299, 3.0), (1, -1e9)]),
    ("crowd_right", &[(299, 3.0), (1, 1e9)]),
    ("four_none", &[(4, 3.0)]),
    ("three_one", &[(3, 3.0), (1, 1e3)]),
    ("two_two", &[(2, 3.0), (2, 1e3)]),
];

const ADDED: &[(&str, &str)] = &[("nothing", "low"), ("nothing", "high"), ("low", "ends")];
/// A row below, inside and above.
const SIDES: &[(&str, &str)] = &[("nothing", "beneath"), ("nothing", "low"), ("low", "ends")];
const FIRST: &[(&str, &str)] = &[("nothing", "high")];
const ANOTHER: &[(&str, &str)] = &[("low", "high")];
const MANY: &[(&str, &str)] = &[("many", "many_low")];
const SPREAD: &[(&str, &str)] = &[("spread", "spread_low")];
/// Of that many rows that their bounds are found, and little of epsilon is spent on that.
const BROAD: &[(&str, &str)] = &[("broad", "broad_low")];
/// 2 B0 - B1 / 2 over 2 G^2, of a variance.
const LAPLACE_SPREAD: &str = "ARRAY[({call}).count * ((1 - ({call}).mean) ^ 2 + ({call}).value \
     - (({call}).mean * (1 - ({call}).mean) - ({call}).value) / 2)]";
const CORNERS: &[(&str, &str)] = &[("corners", "corners_low")];
/// Around where a group of rows alike begins to be shown, for each of the promises.
const ALIKE: &[(&str, &str)] = &[
    ("nothing", "one"),
    ("one", "two"),
    ("two", "three"),
    ("four", "five"),
    ("six", "seven"),
    ("nine", "ten"),
];

/// Of rows at a corner each: 0 is the lower ends, 1 the upper end of `x`, 2 that of `y`, 3 both.
const SLOPE: &str =
    "dp_regr_slope(floor(x / 2), x - 2 * floor(x / 2), 0, 1, 0, 1, {eps}, '{mech}')";
const REGRESSION: &str = "dp_regr(x, x, 0, 1, 0, 1, {eps}, '{mech}')";
const LINEAR: &str = "dp_linear_regression(x, ARRAY[x], 0, 1, ARRAY[0], ARRAY[1], {eps}, '{mech}')";
/// The six sums of its release, as a row at the lower ends moves them: each up. The middle of an interval is what least
/// squares give.
const OF_LINEAR: &str = "(SELECT ARRAY[n, -n * x, -n * y, 2 * n * (x * x + xx) - n, 2 * n * (y * y + yy) - n, \
    n * (x * y + slope * xx)] FROM (SELECT r.count AS n, 2 * r.x_means[1] - 1 AS x, 2 * r.y_mean - 1 AS y, \
    (2 * r.x_stddevs[1]) ^ 2 AS xx, (2 * r.y_stddev) ^ 2 AS yy, (r.lower[2] + r.upper[2]) / 2 AS slope \
    FROM (SELECT ({call}).*) r) s)";
/// That which is farthest from what it is of the rows of `spread`, as noise in the shape of a cube is likely to the farthest.
const FARTHEST_OF_LINEAR: &str = "(SELECT ARRAY[(SELECT off FROM unnest(ARRAY[n - 120, -n * x, -n * y, \
    2 * n * (x * x + xx) - n - 40, 2 * n * (y * y + yy) - n - 40, n * (x * y + slope * xx) - 80]) off \
    ORDER BY abs(off) DESC LIMIT 1)] FROM (SELECT r.count AS n, 2 * r.x_means[1] - 1 AS x, 2 * r.y_mean - 1 AS y, \
    (2 * r.x_stddevs[1]) ^ 2 AS xx, (2 * r.y_stddev) ^ 2 AS yy, (r.lower[2] + r.upper[2]) / 2 AS slope \
    FROM (SELECT ({call}).*) r) s)";
/// The squares of their weights.
const LINEAR_WEIGHTS: &[f64] = &[16.0, 9.0, 16.0, 4.0, 4.0, 16.0];
/// The questions that a row at 1 answers with "yes", one at 0 with "no".
const COUNTS: &str = "dp_counts_estimate({eps}, '{mech}', x > 0.5, x > 0.5, x > 0.5, x > 0.5)";
const SUMS: &str = "dp_sums_estimate(ARRAY[x, x, x, x], 0, 1, {eps}, '{mech}')";
const WITH_TOTAL: &str = "({call}).value || ({call}).total";
/// Of the four counts and the total.
const CORRELATED: &[f64] = &[2.0, 2.0, 2.0, 2.0, -2.0];
const TOGETHER: &[f64] = &[1.0; 4];
/// Of means, which a row at the lower bound lowers.
const LOWER: &[f64] = &[-1.0; 4];
/// `(3 + sqrt 3) / 6` for the two that count, and `(sqrt 3 - 3) / 6`.
const ELLIPSE: &[f64] = &[
    0.788_675_134_594_812_9,
    0.788_675_134_594_812_9,
    -0.211_324_865_405_187_1,
    -0.211_324_865_405_187_1,
];

/// The numbers of an answer looked at together.
fn probe(answer: &'static str, pairs: &'static [(&'static str, &'static str)]) -> Probe {
    Probe {
        options: "",
        answer,
        pairs,
        weights: &[],
        releases: RELEASES,
    }
}

/// One number.
fn number(answer: &'static str, pairs: &'static [(&'static str, &'static str)]) -> Probe {
    weighted(answer, pairs, &[1.0])
}

fn weighted(
    answer: &'static str,
    pairs: &'static [(&'static str, &'static str)],
    weights: &'static [f64],
) -> Probe {
    Probe {
        weights,
        ..probe(answer, pairs)
    }
}

fn subjects() -> Vec<Subject> {
    use Guarantee::{Beside, Delta, Gaussian, Pure};
    let subject = |aggregate, mechanism, guarantee, call, probes| Subject {
        aggregate,
        mechanism,
        guarantee,
        call,
        probes,
    };
    let mean = |mechanism, guarantee, probes| {
        let call = "dp_mean_and_count(x, 0, 1, {eps}, '{mech}')";
        subject("dp_mean", mechanism, guarantee, call, probes)
    };
    let without_bounds = |mechanism, probes| {
        let call = "dp_mean_and_count(x, NULL, NULL, {eps}, '{mech}')";
        subject("dp_mean", mechanism, Beside(0.055), call, probes)
    };
    let sum = |mechanism, guarantee, probes| {
        let call = "dp_sum(x, 0, 1, {eps}, '{mech}')";
        subject("dp_sum", mechanism, guarantee, call, probes)
    };
    let count = |mechanism, guarantee, probes| {
        let call = "dp_count(x, {eps}, '{mech}')";
        subject("dp_count", mechanism, guarantee, call, probes)
    };
    let variance = |mechanism, guarantee, answer, pairs| {
        let call = "dp_var_pop_estimate(x, 0, 1, {eps}, '{mech}')";
        subject(
            "dp_var_pop",
            mechanism,
            guarantee,
            call,
            vec![number(answer, pairs)],
        )
    };
    let two = |aggregate, mechanism, guarantee, call, answer, pairs| {
        let probes = vec![number(answer, pairs)];
        subject(aggregate, mechanism, guarantee, call, probes)
    };
    let vector = |aggregate, call, mechanism, answer, weights| {
        let probes = vec![weighted(answer, FIRST, weights)];
        subject(aggregate, mechanism, Gaussian, call, probes)
    };
    let counts =
        |mechanism, answer, weights| vector("dp_counts", COUNTS, mechanism, answer, weights);
    let sums = |mechanism, answer, weights| vector("dp_sums", SUMS, mechanism, answer, weights);
    let means = |mechanism| {
        let call = "dp_means(ARRAY[x, x, x, x], 0, 1, {eps}, '{mech}')";
        let probes = vec![weighted("{call}", MANY, LOWER)];
        subject("dp_means", mechanism, Gaussian, call, probes)
    };
    const MEAN: &str = "ARRAY[({call}).mean]";
    const BOTH: &str = "ARRAY[({call}).mean, ({call}).count]";
    // Without a place there is no mean.
    const PLACE: &str = "ARRAY[coalesce(({call}).mean, -1e300), ({call}).count]";
    // What is left of the rows' number when those at the upper bound are taken off.
    const FROM_ABOVE: &str = "ARRAY[({call}).count * (1 - ({call}).mean)]";
    const NUMBER: &str = "ARRAY[{call}]::float8[]";
    const ESTIMATES: &str = "({call}).value";
    // The least of the three numbers that have noise, which a row at the upper bound moves up.
    const CUBE: &str = "ARRAY[least(({call}).total, 2 * ({call}).value[1] - ({call}).total, \
                        2 * ({call}).value[2] - ({call}).total)]";
    vec![
        mean("hourglass", Pure, vec![probe(MEAN, ADDED)]),
        mean("laplace", Pure, vec![probe(MEAN, ADDED)]),
        mean("staircase", Pure, vec![probe(MEAN, ADDED)]),
        mean(
            "gaussian(mu={eps})",
            Gaussian,
            vec![number(FROM_ABOVE, MANY)],
        ),
        mean(
            "smooth",
            Pure,
            vec![
                Probe {
                    releases: 6 * RELEASES,
                    ..probe(MEAN, ANOTHER)
                },
                probe(MEAN, FIRST),
            ],
        ),
        mean("clipped(n=1)", Pure, vec![probe(MEAN, ANOTHER)]),
        mean("shifted", Pure, vec![probe(BOTH, ADDED)]),
        mean("independent", Pure, vec![probe(BOTH, ADDED)]),
        without_bounds(
            "symmetric(delta=0.055, scale=1, clip=60, {options})",
            vec![
                Probe {
                    options: "share=0.9",
                    ..probe(PLACE, ALIKE)
                },
                Probe {
                    options: "share=0.1",
                    ..probe(PLACE, &[("crowd", "crowd_far")])
                },
            ],
        ),
        without_bounds(
            "symmetric_known_n(delta=0.055, scale=1, clip=60, n=300, {options})",
            vec![
                Probe {
                    options: "share=0.9",
                    ..probe(
                        PLACE,
                        &[("four_none", "three_one"), ("three_one", "two_two")],
                    )
                },
                Probe {
                    options: "share=0.1",
                    ..probe(PLACE, &[("crowd_left", "crowd_right")])
                },
            ],
        ),
        mean(
            "hybrid(delta=0.001, n=1, moment=4, psi=0.1)",
            Beside(0.001),
            vec![probe(MEAN, &[("beneath", "beyond")])],
        ),
        mean(
            "name_and_shame(delta=0.05, n=1)",
            Delta(0.05),
            vec![probe(MEAN, ANOTHER)],
        ),
        sum("staircase", Pure, vec![probe(NUMBER, FIRST)]),
        sum("laplace", Pure, vec![probe(NUMBER, FIRST)]),
        sum("gaussian(mu={eps})", Gaussian, vec![number(NUMBER, FIRST)]),
        count("geometric", Pure, vec![probe(NUMBER, FIRST)]),
        count("gaussian(mu={eps})", Gaussian, vec![number(NUMBER, FIRST)]),
        count(
            "undercount(delta=0.05)",
            Beside(0.05),
            vec![probe(NUMBER, FIRST)],
        ),
        subject(
            "dp_keep",
            "keep",
            Beside(0.05),
            "dp_keep({eps}, 0.05, '{mech}')",
            vec![probe("ARRAY[({call})::int]::float8[]", ALIKE)],
        ),
        subject(
            "dp_histogram",
            "geometric",
            Pure,
            "dp_histogram(x, 0, 1, 2, {eps}, '{mech}')",
            vec![probe("({call})::float8[]", ADDED)],
        ),
        variance("laplace", Pure, LAPLACE_SPREAD, SPREAD),
        variance(
            "gaussian(mu={eps})",
            Gaussian,
            // B0 - B1 / 2 over G^2
            "ARRAY[({call}).count * ((1 - ({call}).mean) ^ 2 + ({call}).value \
             - (({call}).mean * (1 - ({call}).mean) - ({call}).value))]",
            SPREAD,
        ),
        subject(
            "dp_counts",
            "knorm",
            Pure,
            "dp_counts_estimate({eps}, '{mech}', x > 0.5, x > 0.5)",
            vec![probe(CUBE, FIRST)],
        ),
        counts("correlated(mu={eps})", WITH_TOTAL, CORRELATED),
        counts("gaussian(mu={eps})", ESTIMATES, TOGETHER),
        counts("known_n(mu={eps}, n=3)", ESTIMATES, TOGETHER),
        subject(
            "dp_counts",
            "laplace",
            Pure,
            "dp_counts({eps}, '{mech}', x > 0.5, x > 0.5)",
            vec![probe("{call}", FIRST)],
        ),
        counts("ellipse(mu={eps}, k=2)", ESTIMATES, ELLIPSE),
        subject(
            "dp_sums",
            "knorm(d=2)",
            Pure,
            "dp_sums_estimate(ARRAY[x, x], 0, 1, {eps}, '{mech}')",
            vec![probe(CUBE, FIRST)],
        ),
        sums("correlated(mu={eps}, d=4)", WITH_TOTAL, CORRELATED),
        sums("gaussian(mu={eps}, d=4)", ESTIMATES, TOGETHER),
        sums("known_n(mu={eps}, n=3, d=4)", ESTIMATES, TOGETHER),
        subject(
            "dp_sums",
            "laplace(d=2)",
            Pure,
            "dp_sums(ARRAY[x, x], 0, 1, {eps}, '{mech}')",
            vec![probe("{call}", FIRST)],
        ),
        sums("ellipse(mu={eps}, k=2, d=4)", ESTIMATES, ELLIPSE),
        subject(
            "dp_means",
            "knorm(d=1)",
            Pure,
            "dp_means(ARRAY[x], 0, 1, {eps}, '{mech}')",
            vec![probe("{call}", MANY)],
        ),
        means("correlated(mu={eps}, d=4)"),
        means("known_n(mu={eps}, n=100, d=4)"),
        subject(
            "dp_bounds",
            "geometric(beta=0.5)",
            Pure,
            "dp_bounds(x, {eps}, '{mech}')",
            vec![probe(
                "ARRAY[coalesce(({call}).lower, -9), coalesce(({call}).upper, -9)]",
                &[("two", "three"), ("five", "six"), ("nine", "ten")],
            )],
        ),
        subject(
            "dp_quantile",
            "em(bins=2)",
            Pure,
            "dp_quantile(x, 0, 1, 0.9, {eps}, '{mech}')",
            vec![probe(
                "ARRAY[({call} BETWEEN 14 / 32.0 AND 15 / 32.0)::int]::float8[]",
                &[("nine_low", "nine_and_high")],
            )],
        ),
        subject(
            "dp_median",
            "em(bins=16)",
            Pure,
            "dp_median(x, 0, 1, {eps}, '{mech}')",
            vec![probe(
                "ARRAY[({call} < 15 / 256.0)::int]::float8[]",
                &[("low", "ends")],
            )],
        ),
        subject(
            "dp_quantiles",
            "em(bins=4)",
            Pure,
            "dp_quantiles(x, 0, 1, '{0.25,0.5,0.75}', {eps}, '{mech}')",
            // Two of three in the bin of the lower bound, and each not in the last place of it.
            vec![probe(
                "ARRAY[(({call})[2] < 15 / 64.0 AND 1 - 4 * ({call})[3] > (1 - 4 * ({call})[2]) / 16)::int]::float8[]",
                &[("low", "ends")],
            )],
        ),
        subject(
            "dp_cdf",
            "tree",
            Pure,
            "dp_cdf(x, 0, 1, 2, {eps}, '{mech}')",
            vec![probe("ARRAY[({call})[1]]::float8[]", ADDED)],
        ),
        subject(
            "dp_clamped",
            "geometric",
            Pure,
            "dp_clamped(x, 0, 0.5, {eps}, '{mech}')",
            // Each alone, which tells most, and all together.
            vec![
                probe("ARRAY[({call}).below]::float8[]", &SIDES[..1]),
                probe("ARRAY[({call}).inside]::float8[]", &SIDES[1..2]),
                probe("ARRAY[({call}).above]::float8[]", &SIDES[2..]),
                probe(
                    "ARRAY[({call}).below, ({call}).inside, ({call}).above]::float8[]",
                    SIDES,
                ),
            ],
        ),
        two(
            "dp_covar_pop",
            "laplace",
            Pure,
            "dp_covar_pop(x, x, 0, 1, 0, 1, {eps}, '{mech}')",
            NUMBER,
            MANY,
        ),
        two(
            "dp_covar_pop",
            "gaussian(mu={eps})",
            Gaussian,
            "dp_covar_pop(x, x, 0, 1, 0, 1, {eps}, '{mech}')",
            NUMBER,
            MANY,
        ),
        two(
            "dp_weighted_mean",
            "laplace",
            Pure,
            "dp_weighted_mean_estimate(x, 1, 0, 1, 0, 1, {eps}, '{mech}')",
            "ARRAY[(1 - ({call}).value) * ({call}).weight]",
            MANY,
        ),
        two("dp_regr_slope", "laplace", Pure, SLOPE, NUMBER, CORNERS),
        two(
            "dp_regr_slope",
            "gaussian(mu={eps})",
            Gaussian,
            SLOPE,
            NUMBER,
            CORNERS,
        ),
        two(
            "dp_linear_regression",
            "knorm",
            Pure,
            LINEAR,
            FARTHEST_OF_LINEAR,
            SPREAD,
        ),
        subject(
            "dp_linear_regression",
            "gaussian(mu={eps})",
            Gaussian,
            LINEAR,
            vec![weighted(OF_LINEAR, SPREAD, LINEAR_WEIGHTS)],
        ),
        two(
            "dp_corr",
            "laplace",
            Pure,
            REGRESSION,
            // 7 T00 + T11 - 3 (P + Q)
            "(SELECT ARRAY[r.count * (7 * (1 - r.x_mean - r.y_mean) + 8 * (r.covariance + r.x_mean * r.y_mean) \
             - 3 * (r.x_mean * (1 - r.x_mean) - r.x_stddev ^ 2 + r.y_mean * (1 - r.y_mean) - r.y_stddev ^ 2))] \
             FROM (SELECT ({call}).*) r)",
            SPREAD,
        ),
        two(
            "dp_corr",
            "gaussian(mu={eps})",
            Gaussian,
            REGRESSION,
            // The six sums times what a row at the lower ends moves them by.
            "(SELECT ARRAY[r.count * (243 - 260 * (r.x_mean + r.y_mean) + 324 * (r.covariance + r.x_mean * r.y_mean) \
             - 128 * (r.x_mean * (1 - r.x_mean) - r.x_stddev ^ 2 + r.y_mean * (1 - r.y_mean) - r.y_stddev ^ 2))] \
             FROM (SELECT ({call}).*) r)",
            SPREAD,
        ),
        subject(
            "dp_count_distinct",
            "bitmap",
            Pure,
            "dp_count_distinct(x::int, {eps}, '{mech}')",
            vec![probe(NUMBER, FIRST)],
        ),
        // Where no bounds are found, as here, 39/64 of eps are spent on the mean, or the sum.
        mean("auto", Pure, vec![probe(MEAN, ADDED)]),
        sum("auto", Pure, vec![probe(NUMBER, FIRST)]),
        subject(
            "dp_quantile",
            "rising(grid=linear, bins=8)",
            Pure,
            "dp_quantile(x, 0, 1, 0.9, {eps}, '{mech}')",
            vec![probe(
                "ARRAY[({call} = 0.625)::int]::float8[]",
                &[("nine_low", "nine_and_middle")],
            )],
        ),
        subject(
            "dp_median",
            "rising(grid=linear, bins=8)",
            Pure,
            "dp_median(x, 0, 1, {eps}, '{mech}')",
            vec![probe(
                "ARRAY[({call} = 0.625)::int]::float8[]",
                &[("nothing", "middle")],
            )],
        ),
        // Where bounds are surely found, as here, 40/64 of eps or more are spent on the variance.
        variance("auto", Pure, LAPLACE_SPREAD, BROAD),
    ]
}

/// Other forms of the same, which `make test` alone looks at: other bounds, options and columns of an answer.
fn forms() -> Vec<Subject> {
    use Guarantee::Pure;
    let form = |aggregate, mechanism, call, probe| Subject {
        aggregate,
        mechanism,
        guarantee: Pure,
        call,
        probes: vec![probe],
    };
    const NUMBER: &str = "ARRAY[{call}]::float8[]";
    const BOTH: &str = "ARRAY[({call}).mean, ({call}).count]";
    vec![
        form(
            "dp_mean",
            "hourglass(gamma=0.9)",
            "dp_mean(x, 0, 1, {eps}, '{mech}')",
            probe(NUMBER, ADDED),
        ),
        form(
            "dp_mean",
            "hourglass",
            "dp_mean_and_count(x, 0, 1, {eps})",
            probe(BOTH, ADDED),
        ),
        form(
            "dp_mean",
            "laplace",
            "dp_mean_and_count(3 * x - 2, -2, 1, {eps}, '{mech}')",
            probe(BOTH, ADDED),
        ),
        form(
            "dp_mean",
            "staircase",
            "dp_mean_and_count(x, 0, 1, {eps}, '{mech}')",
            probe(BOTH, ADDED),
        ),
        form(
            "dp_mean",
            "independent",
            "dp_mean(2 * x - 1, -1, 1, {eps}, '{mech}')",
            probe(NUMBER, ADDED),
        ),
        form(
            "dp_mean",
            "clipped(n=3)",
            "dp_mean(x, 0, 1, {eps}, '{mech}')",
            probe(NUMBER, ANOTHER),
        ),
        form(
            "dp_mean",
            "hourglass",
            "dp_mean_estimate(x, 0, 1, {eps})",
            probe("ARRAY[({call}).value, ({call}).upper]", ADDED),
        ),
        form(
            "dp_sum",
            "staircase",
            "dp_sum(3 * x - 2, -2, 1, {eps})",
            probe(NUMBER, ADDED),
        ),
        form(
            "dp_sum",
            "staircase",
            "dp_sum_estimate(3 * x - 2, -2, 1, {eps})",
            probe("ARRAY[({call}).value, ({call}).lower]", ADDED),
        ),
        form(
            "dp_count",
            "geometric",
            "dp_count({eps})",
            probe(NUMBER, FIRST),
        ),
        form(
            "dp_count",
            "geometric",
            "dp_count_estimate({eps})",
            probe("ARRAY[({call}).value, ({call}).upper]::float8[]", FIRST),
        ),
        form(
            "dp_var_pop",
            "laplace(sample=yes)",
            "dp_var_pop_estimate(x, 0, 1, {eps}, '{mech}')",
            probe(
                "ARRAY[({call}).value, ({call}).mean, ({call}).count]",
                ADDED,
            ),
        ),
        form(
            "dp_histogram",
            "geometric(outside=drop)",
            "dp_histogram(x, 0, 1, 2, {eps}, '{mech}')",
            probe("({call})::float8[]", ADDED),
        ),
        // Two levels, of 8 branches; the part below the last point but one, which a row above makes smaller.
        form(
            "dp_cdf",
            "tree",
            "dp_cdf(x, 0, 1, 57, {eps}, '{mech}')",
            probe(
                "ARRAY[({call})[56]]::float8[]",
                &[("lows", "lows_and_high")],
            ),
        ),
        // The quantile itself is chosen at 3/16 of eps.
        form(
            "dp_quantile",
            "em(bins=16)",
            "dp_quantile_estimate(x, 0, 1, 0.5, {eps} * 16 / 3.0, '{mech}')",
            probe(
                "ARRAY[(({call}).value < 15 / 256.0)::int]::float8[]",
                &[("low", "ends")],
            ),
        ),
    ]
}

/// A bound from below on what a mechanism spends, where this is promised, by a part of the releases.
fn spent(releases: &mut Releases, subject: &Subject, promise: f64, part: usize) -> f64 {
    let eps = match subject.guarantee {
        Guarantee::Gaussian => "NULL".to_owned(),
        _ => promise.to_string(),
    };
    let of_probe = |probe: &Probe| {
        let mechanism = subject.mechanism.replace("{options}", probe.options);
        let mechanism = mechanism.replace("{eps}", &promise.to_string());
        let call = subject.call.replace("{eps}", &eps);
        let call = call.replace("{mech}", &mechanism);
        let answer = probe.answer.replace("{call}", &call);
        let mut draw = |table: &str| {
            let answers = releases.draw_arrays(&answer, table, None, probe.releases / part);
            let columns = answers.len() / (probe.releases / part);
            if probe.weights.is_empty() {
                return (answers, columns);
            }
            assert_eq!(columns, probe.weights.len(), "{answer}");
            let project = |answer: &[f64]| {
                let products = answer.iter().zip(probe.weights);
                products.map(|(number, weight)| number * weight).sum()
            };
            (answers.chunks_exact(columns).map(project).collect(), 1)
        };
        let of_pair = |(one, other): &(&str, &str)| {
            let ((one, columns), (other, _)) = (draw(one), draw(other));
            let answers = [one.as_slice(), other.as_slice()];
            match subject.guarantee {
                Guarantee::Pure => bound(answers, columns),
                Guarantee::Beside(delta) => bound_beside(delta, answers, columns),
                Guarantee::Gaussian => threshold_bound(answers, mu_of_event),
                Guarantee::Delta(_) => delta_bound(answers, columns, 0.0),
            }
        };
        let bounds = probe.pairs.iter().map(of_pair);
        bounds.fold(f64::NEG_INFINITY, f64::max)
    };
    let bounds = subject.probes.iter().map(of_probe);
    bounds.fold(f64::NEG_INFINITY, f64::max)
}

/// A session with the tables, and noise for that many times the budget.
fn prepared(seed: i64, factor: u32) -> Releases {
    let mut releases = Releases::seeded(seed);
    let settings =
        format!("SET dp_mean.allow_pathological = on; SELECT dp_test_budget_factor({factor})");
    run(releases.client(), &settings);
    for (table, rows) in TABLES {
        let mut sql = format!("CREATE TABLE {table} (x float8);");
        for (count, x) in rows {
            sql += &format!("INSERT INTO {table} SELECT {x} FROM generate_series(1, {count});");
        }
        run(releases.client(), &sql);
    }
    releases
}

/// What the noise is made for times the budget: as promised, and half of it; of a mechanism without noise as it is.
fn factors(subject: &Subject) -> &'static [u32] {
    match subject.guarantee {
        Guarantee::Delta(_) => &[1],
        _ => &[1, 2],
    }
}

/// For each of the promises, with the noise of each of the factors.
fn audit(number: usize, subject: &Subject) -> Vec<Vec<f64>> {
    let of_factor = |factor: &u32| {
        let mut releases = prepared(1000 + 10 * number as i64 + i64::from(*factor), *factor);
        let spent = |promise: &f64| spent(&mut releases, subject, *promise, 1);
        PROMISES.iter().map(spent).collect()
    };
    factors(subject).iter().map(of_factor).collect()
}

/// A line of the table in the documentation.
fn line(subject: &Subject, bounds: &[Vec<f64>]) -> String {
    let text = subject.mechanism.replace(", {options}", "");
    let text = text.replace("mu={eps}", "mu=...");
    let what = match subject.guarantee {
        Guarantee::Pure => "eps".to_owned(),
        Guarantee::Beside(delta) => format!("eps, beside delta = {delta}"),
        Guarantee::Gaussian => "mu".to_owned(),
        Guarantee::Delta(delta) => format!("delta, of {delta}"),
    };
    let mut line = format!("| `{}` | `{text}` | {what} |", subject.aggregate);
    let numbers = bounds.iter().flatten();
    for number in numbers {
        write!(line, " {number:.3} |").expect("a String takes all");
    }
    // A mechanism without noise.
    for _ in bounds.len()..2 {
        line.push_str(" – | – | – |");
    }
    line
}

/// Puts the lines between the marks of the page.
fn publish(page: &str, lines: &[String]) {
    const MARKS: [&str; 2] = [
        "<!-- audit: written by make audit -->",
        "<!-- end of audit -->",
    ];
    let text = fs::read_to_string(page).expect("the page");
    let (before, rest) = text.split_once(MARKS[0]).expect("the first mark");
    let (_, after) = rest.split_once(MARKS[1]).expect("the second mark");
    let head = "| aggregate | mechanism | bound on | 0.5 | 1 | 2 | halved, 0.5 | halved, 1 | halved, 2 |\n\
                | --- | --- | --- | --- | --- | --- | --- | --- | --- |";
    let table = lines.join("\n");
    let [first, second] = MARKS;
    let text = format!("{before}{first}\n\n{head}\n{table}\n\n{second}{after}");
    fs::write(page, text).expect("the page is written");
}

/// The promises that the bounds break, or that half the noise is not seen to break.
fn broken_promises(subject: &Subject, bounds: &[Vec<f64>], promises: &[f64]) -> Vec<String> {
    let breaks = |(i, promise): &(usize, &f64)| {
        let allowed = match subject.guarantee {
            Guarantee::Delta(delta) => delta,
            _ => **promise,
        };
        let goes_unnoticed = |halved: &Vec<f64>| halved[*i] <= allowed;
        bounds[0][*i] > allowed || bounds.get(1).is_some_and(goes_unnoticed)
    };
    let broken = promises.iter().enumerate().filter(breaks);
    broken
        .map(|(_, promise)| format!("at {promise}: {}", line(subject, bounds)))
        .collect()
}

/// A look at the mechanisms of these aggregates.
fn look(aggregates: &[&str]) {
    let (listed, forms) = (subjects(), forms());
    let subjects = listed.iter().chain(&forms);
    let subjects = subjects.filter(|subject| aggregates.contains(&subject.aggregate));
    let mut sessions = [1, 2].map(|factor| prepared(20 + i64::from(factor), factor));
    let mut broken = Vec::new();
    for subject in subjects {
        // What little they spend on what is looked at takes more releases to see.
        let part = match (subject.aggregate, subject.mechanism) {
            (_, "auto" | "smooth") => 1,
            (_, "em(bins=4)") => 2,
            // It takes ten times as long as others do, and is seen in few.
            ("dp_linear_regression", _) => 4 * LOOK,
            _ => LOOK,
        };
        let sessions = sessions.iter_mut().zip(factors(subject));
        let bounds = sessions.map(|(releases, _)| vec![spent(releases, subject, 1.0, part)]);
        let bounds: Vec<_> = bounds.collect();
        println!("{}", line(subject, &bounds));
        broken.extend(broken_promises(subject, &bounds, &[1.0]));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

const OF_SUMS: [&str; 5] = [
    "dp_sum",
    "dp_count",
    "dp_keep",
    "dp_var_pop",
    "dp_count_distinct",
];
const OF_BINS: [&str; 7] = [
    "dp_histogram",
    "dp_bounds",
    "dp_quantile",
    "dp_median",
    "dp_quantiles",
    "dp_cdf",
    "dp_clamped",
];
const OF_COLUMNS: [&str; 8] = [
    "dp_counts",
    "dp_sums",
    "dp_means",
    "dp_covar_pop",
    "dp_weighted_mean",
    "dp_regr_slope",
    "dp_corr",
    "dp_linear_regression",
];

#[test]
fn means_spend_no_more_than_they_promise() {
    look(&["dp_mean"]);
}

#[test]
fn sums_spend_no_more_than_they_promise() {
    look(&OF_SUMS);
}

#[test]
fn bins_spend_no_more_than_they_promise() {
    look(&OF_BINS);
}

#[test]
fn columns_spend_no_more_than_they_promise() {
    look(&OF_COLUMNS);
}

#[test]
fn every_mechanism_is_looked_at() {
    let of_columns = OF_COLUMNS.iter().chain(&OF_SUMS).chain(&OF_BINS);
    let looked_at: Vec<_> = of_columns.chain(&["dp_mean"]).collect();
    let subjects = subjects();
    let listed = subjects
        .iter()
        .map(|subject| (subject.aggregate, subject.mechanism));
    let listed: Vec<_> = listed
        .filter(|(aggregate, _)| looked_at.contains(&aggregate))
        .collect();
    let (_database, mut client) = session(Build::Testing);
    assert_covers_the_catalog(&mut client, &listed);
}

#[test]
#[ignore = "takes minutes: make audit runs it"]
fn every_mechanism_of_every_aggregate() {
    let subjects = subjects();
    let (_database, mut client) = session(Build::Testing);
    let covered: Vec<_> = subjects
        .iter()
        .map(|subject| (subject.aggregate, subject.mechanism))
        .collect();
    assert_covers_the_catalog(&mut client, &covered);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![Vec::new(); subjects.len()]);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((number, subject)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|n| Some((n, subjects.get(n)?)))
                {
                    let bounds = audit(number, subject);
                    println!("{}", line(subject, &bounds));
                    found.lock().expect("no thread panicked")[number] = bounds;
                }
            });
        }
    });
    let found = found.into_inner().expect("no thread panicked");
    println!("Each bound is wrong with a chance of {ALPHA} for each pair of tables and direction.");
    let lines = subjects.iter().zip(&found);
    let lines: Vec<_> = lines
        .map(|(subject, bounds)| line(subject, bounds))
        .collect();
    publish(&variable("DP_MEAN_AUDIT"), &lines);
    let broken = subjects.iter().zip(&found);
    let broken = broken.flat_map(|(subject, bounds)| broken_promises(subject, bounds, &PROMISES));
    let broken: Vec<_> = broken.collect();
    assert!(broken.is_empty(), "{broken:#?}");
}
