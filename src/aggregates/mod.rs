//! The aggregates, one a file.

mod bounds;
mod cdf;
mod clamped;
mod contribution;
mod count;
mod counts;
mod distinct;
mod groups;
mod histogram;
mod keep;
mod linear_regression;
mod mean;
mod means;
mod pathological;
mod quantile;
mod regression;
mod sealed;
mod shared;
mod sum;
mod sums;
mod variance;
mod weighted_mean;

use crate::call::signature::{OF_GROUPS, Signature};

/// All aggregates with their signatures. A test holds them against the catalog.
pub const SIGNATURES: [(&str, Signature); 62] = [
    ("dp_bounds", bounds::BOUNDS.signature),
    ("dp_cdf", cdf::CDF.signature),
    ("dp_cdf", cdf::CDF_OF_PEOPLE.signature),
    ("dp_cdf_estimate", cdf::ESTIMATE.signature),
    ("dp_cdf_estimate", cdf::ESTIMATE_OF_PEOPLE.signature),
    ("dp_clamped", clamped::CLAMPED.signature),
    ("dp_contribution", contribution::CONTRIBUTION.signature),
    (
        "dp_contribution_sum",
        contribution::CONTRIBUTION_SUM.signature,
    ),
    ("dp_corr", regression::CORRELATION.signature),
    ("dp_corr", regression::CORRELATION_OF_PEOPLE.signature),
    ("dp_corr_estimate", regression::ESTIMATE.signature),
    ("dp_corr_estimate", regression::ESTIMATE_OF_PEOPLE.signature),
    ("dp_count", count::COUNT.signature),
    ("dp_count_distinct", distinct::DISTINCT.signature),
    ("dp_count_distinct_estimate", distinct::ESTIMATE.signature),
    ("dp_count_estimate", count::ESTIMATE.signature),
    ("dp_counts", counts::COUNTS.signature),
    ("dp_counts_estimate", counts::COUNTS.signature),
    ("dp_covar_pop", regression::COVARIANCE.signature),
    ("dp_covar_pop", regression::COVARIANCE_OF_PEOPLE.signature),
    ("dp_groups", OF_GROUPS),
    ("dp_histogram", histogram::HISTOGRAM.signature),
    ("dp_histogram", histogram::PEOPLE.signature),
    ("dp_keep", keep::KEEP.signature),
    (
        "dp_linear_regression",
        linear_regression::LINEAR_REGRESSION.signature,
    ),
    ("dp_mean", mean::MEAN.signature),
    ("dp_mean", mean::PEOPLE.signature),
    ("dp_mean_and_count", mean::MEAN.signature),
    ("dp_mean_and_count", mean::PEOPLE.signature),
    ("dp_mean_estimate", mean::ESTIMATE.signature),
    ("dp_mean_estimate", mean::ESTIMATE_OF_PEOPLE.signature),
    ("dp_means", means::MEANS.signature),
    ("dp_median", quantile::MEDIAN.signature),
    ("dp_median", quantile::MEDIAN_OF_PEOPLE.signature),
    ("dp_quantile", quantile::QUANTILE.signature),
    ("dp_quantile", quantile::QUANTILE_OF_PEOPLE.signature),
    ("dp_quantile_estimate", quantile::ESTIMATE.signature),
    (
        "dp_quantile_estimate",
        quantile::ESTIMATE_OF_PEOPLE.signature,
    ),
    ("dp_quantiles", quantile::QUANTILES.signature),
    ("dp_quantiles", quantile::QUANTILES_OF_PEOPLE.signature),
    ("dp_regr", regression::CORRELATION.signature),
    ("dp_regr", regression::CORRELATION_OF_PEOPLE.signature),
    ("dp_regr_intercept", regression::SLOPE.signature),
    ("dp_regr_intercept", regression::SLOPE_OF_PEOPLE.signature),
    ("dp_regr_slope", regression::SLOPE.signature),
    ("dp_regr_slope", regression::SLOPE_OF_PEOPLE.signature),
    ("dp_stddev_pop", variance::VARIANCE.signature),
    ("dp_stddev_pop", variance::PEOPLE.signature),
    ("dp_sum", sum::SUM.signature),
    ("dp_sum", sum::PEOPLE.signature),
    ("dp_sum_estimate", sum::ESTIMATE.signature),
    ("dp_sum_estimate", sum::ESTIMATE_OF_PEOPLE.signature),
    ("dp_sums", sums::SUMS.signature),
    ("dp_sums_estimate", sums::SUMS.signature),
    ("dp_var_pop", variance::VARIANCE.signature),
    ("dp_var_pop", variance::PEOPLE.signature),
    ("dp_var_pop_estimate", variance::ESTIMATE.signature),
    (
        "dp_var_pop_estimate",
        variance::ESTIMATE_OF_PEOPLE.signature,
    ),
    ("dp_weighted_mean", weighted_mean::WEIGHTED_MEAN.signature),
    (
        "dp_weighted_mean",
        weighted_mean::WEIGHTED_MEAN_OF_PEOPLE.signature,
    ),
    (
        "dp_weighted_mean_estimate",
        weighted_mean::ESTIMATE.signature,
    ),
    (
        "dp_weighted_mean_estimate",
        weighted_mean::ESTIMATE_OF_PEOPLE.signature,
    ),
];
