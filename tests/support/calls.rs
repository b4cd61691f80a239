//! Every aggregate, once: the calls that the tests hold to the same rules. What is attacked, what answers without rows,
//! what is right in every plan and what anybody may ask is this table; `tests/signatures.rs` compares it with the catalog.
//!
//! A new aggregate has a line for each of its declarations, but for those of contributions.

use dp_core::registry::needs_permission;

/// What is kept of a group's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// 64 bytes: a count and a sum.
    Sums,
    /// 80 bytes: a sum of squares too.
    Moments,
    /// 160 bytes: the moments of two columns.
    Pairs,
    /// A table of ids that grows up to a bitmap.
    Ids,
    /// A sum for each position of a row.
    Vector,
    /// A count for each bin.
    Bins,
    /// Cells of a line without ends, more of them with more rows.
    Cells,
    /// Bins of equal relative width, more of them where rows are further apart.
    Octaves,
}

/// What the answer is if there are no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// Noise: another one at each run, and never NULL.
    Noise,
    /// What noise seldom or never changes: a group that is not kept, a mean or bounds that are not known.
    Nothing,
}

/// A call.
#[derive(Debug)]
pub struct Call {
    pub aggregate: &'static str,
    /// Of a column `x`: `{hi}` is the upper bound, `{eps}` epsilon, unless the mechanism has the budget.
    arguments: &'static str,
    pub state: State,
    pub empty: Empty,
    /// What is known of the answer up to noise that is far below 1 at eps 50: a number made of the call at `{}`, and the
    /// truth, in which `c` is `x` between 0 and `{hi}`, and `{after}` what may follow a call.
    pub truth: &'static [(&'static str, &'static str)],
}

impl Call {
    /// The call, with what may end its arguments.
    pub fn with(&self, hi: &str, eps: &str, inside: &str) -> String {
        let arguments = self.arguments.replace("{hi}", hi).replace("{eps}", eps);
        format!("{}({arguments}{inside})", self.aggregate)
    }

    /// The call, with values up to 100 and eps 1.
    pub fn sql(&self) -> String {
        self.with("100", "1", "")
    }

    /// The texts of the arguments, with values up to 100 and eps 1, and of each whether it is public: a constant.
    pub fn texts(&self) -> Vec<(String, bool)> {
        let text = self.arguments.replace("{hi}", "100").replace("{eps}", "1");
        let (mut texts, mut depth, mut quoted) = (vec![String::new()], 0, false);
        for letter in text.chars() {
            match letter {
                '\'' => quoted = !quoted,
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                ',' if depth == 0 && !quoted => {
                    texts.push(String::new());
                    continue;
                }
                _ => (),
            }
            texts.last_mut().expect("an argument").push(letter);
        }
        let texts = texts.into_iter().map(|text| text.trim().to_owned());
        let is_public =
            |text: &String| text == "NULL" || text.starts_with('\'') || text.parse::<f64>().is_ok();
        texts.map(|text| (text.clone(), is_public(&text))).collect()
    }

    /// Whether a row counts that has this value of `x`, `NULL` or `'NaN'`, or is as if it were not there.
    pub fn counts(&self, value: &str) -> bool {
        let data = self.arguments;
        let is_null = value == "NULL";
        match self.state {
            // No column, or one of any type.
            State::Sums if !data.contains('x') => true,
            State::Sums if self.aggregate.starts_with("dp_count") => !is_null,
            State::Ids => !is_null,
            _ => is_null && data.contains("coalesce"),
        }
    }

    /// Whether epsilon is an argument.
    pub fn takes_eps(&self) -> bool {
        self.arguments.contains("{eps}")
    }

    /// Whether only those may ask it who may show a row (`dp_mean.allow_pathological`).
    pub fn is_pathological(&self) -> bool {
        let texts = self.arguments.split('\'').skip(1).step_by(2);
        texts
            .filter_map(|text| needs_permission(text).ok())
            .any(|needs| needs)
    }

    /// Whether more than the noise of a release is drawn: an offset of cells, or a coin for each row.
    pub fn is_drawn(&self) -> bool {
        self.is_pathological()
            || ["sample", "symmetric"]
                .iter()
                .any(|word| self.arguments.contains(word))
    }
}

use Empty::{Noise, Nothing};
use State::{Bins, Cells, Ids, Moments, Octaves, Pairs, Sums, Vector};

type Truth = &'static [(&'static str, &'static str)];
type Line = (&'static str, &'static str, State, Empty, Truth);

const MEAN: Truth = &[("{}", "avg(c){after}")];
const PAIR: Truth = &[
    ("({}).mean", "avg(c){after}"),
    ("({}).count", "count(c){after}"),
];
const SUM: Truth = &[("{}", "sum(c){after}")];
const COUNT: Truth = &[("{}", "count(x){after}")];
const ROWS: Truth = &[("{}", "count(*){after}")];
const SIDES: Truth = &[
    ("({}).below", "count(CASE WHEN x < 0 THEN 1 END){after}"),
    (
        "({}).inside",
        "count(CASE WHEN x BETWEEN 0 AND {hi} THEN 1 END){after}",
    ),
    ("({}).above", "count(CASE WHEN x > {hi} THEN 1 END){after}"),
];
/// Of rows at one place the quantile is known: see the test of quantiles for the others.
const SEVEN: Truth = &[("{}", "7 * sign(count(*){after})")];

#[rustfmt::skip]
const LINES: &[Line] = &[
    ("dp_mean", "x, 0, {hi}, {eps}", Sums, Noise, MEAN),
    ("dp_mean", "x, 0, {hi}, {eps}, 'hourglass'", Sums, Noise, MEAN),
    ("dp_mean", "x, 0, {hi}, {eps}, 'laplace'", Sums, Noise, &[]),
    ("dp_mean", "x, 0, {hi}, {eps}, 'independent'", Sums, Noise, &[]),
    ("dp_mean", "x, 0, {hi}, {eps}, 'shifted'", Sums, Noise, &[]),
    ("dp_mean", "x, 0, {hi}, {eps}, 'smooth'", Sums, Noise, &[]),
    ("dp_mean", "x, 0, {hi}, {eps}, 'clipped(n=9)'", Sums, Noise, &[]),
    ("dp_mean", "x, NULL, NULL, {eps}, 'symmetric(delta=1e-6, scale=1)'", Cells, Nothing, &[]),
    ("dp_mean", "x, NULL, NULL, {eps}, 'symmetric_known_n(delta=0.5, scale=1, n=20, fallback=raw)'", Cells, Nothing, &[]),
    ("dp_mean", "x, NULL, NULL, {eps}, 'auto'", Octaves, Nothing, &[]),
    ("dp_mean", "x, 0, {hi}, {eps}, 'auto'", Octaves, Noise, &[]),
    ("dp_mean_and_count", "x, 0, {hi}, {eps}", Sums, Noise, PAIR),
    ("dp_mean_and_count", "x, 0, {hi}, {eps}, 'staircase'", Sums, Noise, &[("({}).mean", "avg(c){after}")]),
    ("dp_mean_and_count", "x, 0, {hi}, {eps}, 'independent'", Sums, Noise, &[]),
    ("dp_mean_and_count", "x, 0, {hi}, {eps}, 'clipped(n=100)'", Sums, Noise, &[]),
    ("dp_mean_and_count", "x, NULL, NULL, {eps}, 'symmetric(delta=1e-6, scale=2, bin=7, clip=5)'", Cells, Noise, &[]),
    ("dp_mean_and_count", "x, NULL, NULL, {eps}, 'auto'", Octaves, Noise, &[]),
    ("dp_mean_estimate", "x, NULL, NULL, {eps}, 'auto'", Octaves, Noise, &[]),
    ("dp_mean_estimate", "x, 0, {hi}, {eps}", Sums, Noise, &[("({}).value", "avg(c){after}")]),
    ("dp_mean_estimate", "x, 0, {hi}, NULL, 'gaussian(mu=1)'", Sums, Noise, &[]),
    ("dp_mean_estimate", "x, 0, {hi}, {eps}, 'hourglass', 0.5", Sums, Noise, &[("({}).count", "count(c){after}")]),
    ("dp_sum", "x, 0, {hi}, {eps}", Sums, Noise, SUM),
    ("dp_sum", "x, 0, {hi}, {eps}, 'staircase'", Sums, Noise, SUM),
    ("dp_sum", "x, 0, {hi}, {eps}, 'laplace'", Sums, Noise, &[]),
    ("dp_sum", "x, 0, {hi}, NULL, 'gaussian(mu=1)'", Sums, Noise, &[]),
    ("dp_sum", "x, NULL, NULL, {eps}, 'auto'", Octaves, Nothing, &[]),
    ("dp_sum", "x, 0, {hi}, {eps}, 'auto'", Octaves, Noise, &[]),
    ("dp_sum_estimate", "x, NULL, NULL, {eps}, 'auto'", Octaves, Noise, &[]),
    ("dp_sum_estimate", "x, 0, {hi}, {eps}", Sums, Noise, &[]),
    ("dp_sum_estimate", "x, 0, {hi}, {eps}, 'staircase'", Sums, Noise, &[("({}).value", "sum(c){after}")]),
    ("dp_sum_estimate", "x, 0, {hi}, {eps}, 'laplace', 0.9", Sums, Noise, &[]),
    ("dp_count", "{eps}", Sums, Noise, ROWS),
    ("dp_count", "x, {eps}", Sums, Noise, COUNT),
    ("dp_count", "x, {eps}, 'geometric'", Sums, Noise, COUNT),
    ("dp_count", "x, {eps}, 'undercount(delta=0.1)'", Sums, Noise, &[]),
    ("dp_count_estimate", "{eps}", Sums, Noise, &[("({}).value", "count(*){after}")]),
    ("dp_count_estimate", "x, {eps}", Sums, Noise, &[]),
    ("dp_count_estimate", "x, {eps}, 'geometric'", Sums, Noise, &[]),
    ("dp_count_estimate", "x, {eps}, 'geometric', 0.9", Sums, Noise, &[("({}).lower", "count(x){after}")]),
    ("dp_keep", "{eps}, 0.999", Sums, Nothing, &[("({})::int", "least(count(*){after}, 1)")]),
    ("dp_keep", "{eps}, 1e-6, 'keep(rows=2)'", Sums, Nothing, &[]),
    ("dp_var_pop", "x, 0, {hi}, {eps}", Moments, Noise, &[]),
    ("dp_var_pop", "x, 0, {hi}, {eps}, 'laplace(sample=yes)'", Moments, Noise, &[]),
    ("dp_var_pop", "x, NULL, NULL, {eps}, 'auto'", Octaves, Nothing, &[]),
    ("dp_var_pop", "x, 0, {hi}, {eps}, 'auto'", Octaves, Noise, &[]),
    ("dp_stddev_pop", "x, NULL, NULL, {eps}, 'auto'", Octaves, Nothing, &[]),
    ("dp_var_pop_estimate", "x, NULL, NULL, {eps}, 'auto'", Octaves, Noise, &[]),
    ("dp_stddev_pop", "x, 0, {hi}, {eps}", Moments, Noise, &[]),
    ("dp_stddev_pop", "x, 0, {hi}, {eps}, 'laplace'", Moments, Noise, &[]),
    ("dp_var_pop_estimate", "x, 0, {hi}, {eps}", Moments, Noise, &[]),
    ("dp_var_pop_estimate", "x, 0, {hi}, NULL, 'gaussian(mu=1000)'", Moments, Noise, &[("round(({}).count)", "count(x){after}")]),
    ("dp_var_pop_estimate", "x, 0, {hi}, {eps}, 'laplace(sample=yes)', 0.9", Moments, Noise, &[]),
    ("dp_histogram", "x, 0, {hi}, 1, {eps}", Bins, Noise, &[("({})[1]", "count(x){after}")]),
    ("dp_histogram", "x, 0, {hi}, 3, {eps}, 'geometric(outside=drop)'", Bins, Noise, &[]),
    ("dp_cdf", "x, 0, {hi}, 3, {eps}", Bins, Noise, &[]),
    ("dp_cdf", "x, 0, {hi}, 20, {eps}, 'tree'", Bins, Noise, &[]),
    ("dp_cdf_estimate", "x, 0, {hi}, 3, {eps}", Bins, Noise, &[]),
    ("dp_cdf_estimate", "x, 0, {hi}, 20, {eps}, 'tree'", Bins, Noise, &[]),
    ("dp_cdf_estimate", "x, 0, {hi}, 5, {eps}, 'tree', 0.9", Bins, Noise, &[]),
    ("dp_clamped", "x, 0, {hi}, {eps}", Bins, Noise, SIDES),
    ("dp_clamped", "x, 0, {hi}, {eps}, 'geometric'", Bins, Noise, &[]),
    ("dp_clamped", "x, 0, 10, {eps}, 'geometric'", Bins, Noise, &[("({}).above", "count(CASE WHEN x > 10 THEN 1 END){after}")]),
    ("dp_bounds", "x, {eps}", Bins, Nothing, &[]),
    ("dp_bounds", "x, {eps}, 'geometric(beta=0.5)'", Bins, Noise, &[]),
    ("dp_quantile", "x, 0, {hi}, 0.9, {eps}", Bins, Noise, &[]),
    ("dp_quantile", "x, 0, {hi}, 0.3, {eps}, 'em(grid=log)'", Bins, Noise, &[]),
    ("dp_quantile", "x, 0, {hi}, 0.9, {eps}, 'rising'", Bins, Noise, &[]),
    ("dp_quantile", "x, 0, {hi}, 0.1, NULL, 'em(rho=0.1, grid=log)'", Bins, Noise, &[]),
    ("dp_quantile", "coalesce(x * 0 + 7, 7), 0, {hi}, 0.99, {eps}, 'em(step=7)'", Bins, Noise, SEVEN),
    ("dp_quantile_estimate", "x, 0, {hi}, 0.9, {eps}", Bins, Noise, &[]),
    ("dp_quantile_estimate", "x, 0, {hi}, 0.5, NULL, 'em(rho=0.1, grid=log)'", Bins, Noise, &[]),
    ("dp_quantile_estimate", "x, 0, {hi}, 0.3, {eps}, 'em(step=1)', 0.9", Bins, Noise, &[]),
    ("dp_median", "x, 0, {hi}, {eps}", Bins, Noise, &[]),
    ("dp_median", "x, 0, {hi}, {eps}, 'em(step=1)'", Bins, Noise, &[]),
    ("dp_median", "coalesce(x * 0 + 7, 7), 0, {hi}, {eps}, 'em(step=7)'", Bins, Noise, SEVEN),
    ("dp_quantiles", "x, 0, {hi}, '{0.3,0.6}', {eps}", Bins, Noise, &[]),
    ("dp_quantiles", "coalesce(x * 0 + 7, 7), 0, {hi}, '{0.2,0.9}', {eps}, 'em(step=7)'", Bins, Noise, &[("({})[2]", "7 * sign(count(*){after})")]),
    ("dp_covar_pop", "x, x, 0, {hi}, 0, 99, {eps}", Pairs, Noise, &[]),
    ("dp_covar_pop", "x, x, 0, {hi}, 0, {hi}, NULL, 'gaussian(mu=1000)'", Pairs, Noise, &[("round(({})::numeric, -2)", "round(covar_pop(c, c){after}::numeric, -2)")]),
    ("dp_corr", "x, x, 0, {hi}, 0, 99, {eps}", Pairs, Noise, &[]),
    ("dp_corr", "x, x, 0, {hi}, 0, 99, {eps}, 'laplace'", Pairs, Noise, &[]),
    ("dp_regr_slope", "x, x, 0, {hi}, 0, 99, {eps}", Pairs, Noise, &[]),
    ("dp_regr_slope", "x, x, 0, {hi}, 0, 99, {eps}, 'laplace'", Pairs, Noise, &[]),
    ("dp_regr_intercept", "x, x, 0, {hi}, 0, 99, {eps}", Pairs, Noise, &[]),
    ("dp_regr_intercept", "x, x, 0, {hi}, 0, 99, {eps}, 'laplace'", Pairs, Noise, &[]),
    ("dp_corr_estimate", "x, x, 0, {hi}, 0, 99, {eps}", Pairs, Noise, &[]),
    ("dp_corr_estimate", "x, x, 0, {hi}, 0, 99, NULL, 'gaussian(mu=1000)'", Pairs, Noise, &[("round(({}).count)", "count(x){after}")]),
    ("dp_corr_estimate", "x, x, 0, {hi}, 0, 99, {eps}, 'laplace', 0.9", Pairs, Noise, &[]),
    ("dp_weighted_mean", "x, x, 0, {hi}, 0, 99, {eps}", Pairs, Noise, &[]),
    ("dp_weighted_mean", "x, x, 0, {hi}, 1, 99, {eps}, 'laplace'", Pairs, Noise, &[]),
    ("dp_weighted_mean_estimate", "x, x, 0, {hi}, 0, 99, {eps}", Pairs, Noise, &[]),
    ("dp_weighted_mean_estimate", "x, x, 0, {hi}, 1, 99, {eps}, 'laplace'", Pairs, Noise, &[]),
    ("dp_weighted_mean_estimate", "x, x, 0, {hi}, 0, 99, {eps}, 'laplace', 0.9", Pairs, Noise, &[]),
    ("dp_regr", "x, x, 0, {hi}, 0, 99, {eps}", Pairs, Noise, &[]),
    ("dp_regr", "x, x, 0, {hi}, 0, 99, NULL, 'gaussian(mu=1000)'", Pairs, Noise, &[("round(({}).count)", "count(x){after}")]),
    ("dp_linear_regression", "x, ARRAY[x, 1], 0, {hi}, ARRAY[0, 0], ARRAY[99, 2], {eps}", Vector, Noise, &[]),
    ("dp_linear_regression", "x, ARRAY[x, -x], 0, {hi}, ARRAY[0, -9], ARRAY[99, 0], {eps}, 'knorm'", Vector, Noise, &[]),
    ("dp_linear_regression", "x, ARRAY[x], 0, {hi}, ARRAY[0], ARRAY[99], NULL, 'gaussian(mu=1000)', 0.9", Vector, Noise, &[("round(({}).count)", "count(x){after}")]),
    ("dp_count_distinct", "floor(x / 100), {eps}", Ids, Noise, &[("{}", "count(DISTINCT floor(x / 100)){after}")]),
    ("dp_count_distinct", "round(x), {eps}, 'bitmap(bits=1024, values=3)'", Ids, Noise, &[]),
    ("dp_count_distinct_estimate", "x::text, {eps}", Ids, Noise, &[]),
    ("dp_count_distinct_estimate", "floor(x / 100)::text, {eps}, 'bitmap'", Ids, Noise, &[("({}).value", "count(DISTINCT floor(x / 100)){after}")]),
    ("dp_count_distinct_estimate", "round(x)::numeric, {eps}, 'bitmap(bits=2048)', 0.5", Ids, Noise, &[]),
    ("dp_counts", "{eps}, 'correlated(delta=1e-6)', x > 30, x > 60", Vector, Noise, &[]),
    ("dp_counts", "{eps}, 'laplace(d=2)', VARIADIC ARRAY[x > 30, x > 60]", Vector, Noise, &[]),
    ("dp_counts", "NULL, 'gaussian(mu=1000)', x > 30, x > 60", Vector, Noise, &[("round(({})[2])", "count(CASE WHEN x > 60 THEN 1 END){after}")]),
    ("dp_counts_estimate", "{eps}, 'correlated(delta=1e-6, c=2)', x > 30, x > 60", Vector, Noise, &[]),
    ("dp_counts_estimate", "NULL, 'gaussian(rho=0.5)', x > 30, x > 60", Vector, Noise, &[]),
    ("dp_sums", "ARRAY[x, 1], 0, {hi}, {eps}, 'laplace(d=2)'", Vector, Noise, &[]),
    ("dp_sums_estimate", "ARRAY[x, 1], 0, {hi}, {eps}, 'ellipse(delta=1e-6, k=1, d=2)'", Vector, Noise, &[]),
    ("dp_means", "ARRAY[x, 1], 0, {hi}, {eps}, 'correlated(delta=1e-6, d=2)'", Vector, Noise, &[]),
    ("dp_means", "ARRAY[x, 1], 0, {hi}, NULL, 'correlated(mu=1, d=4)'", Vector, Noise, &[]),
];

/// All of them.
pub fn calls() -> impl Iterator<Item = Call> {
    let call = |&(aggregate, arguments, state, empty, truth): &Line| Call {
        aggregate,
        arguments,
        state,
        empty,
        truth,
    };
    LINES.iter().map(call)
}
