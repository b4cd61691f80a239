//! What the crate promises, checked from outside: privacy by enumeration (`privacy`, `vectors`), samplers against the
//! distributions that the enumeration is about (`samplers`, `tapes`), accuracy against the literature (`accuracy`),
//! Gaussian accounting against references of many digits (`accounting`), what the mechanisms without bias of their own
//! promise (`unbiased`, `symmetric`, `pathological`), which groups are shown (`keep`), variances (`variance`), two columns (`columns`),
//! distinct ids (`distinct`), quantiles (`quantile`), means, sums and variances that find their bounds (`auto`,
//! `auto_sum`, `auto_variance`), what every mechanism spends on a row of a person (`shares`), forecasts against releases
//! (`planning`), what intervals cover (`intervals`, `spread`), budgets against the best analyst (`spending`), periods of a
//! budget (`periods`), behaviour at the edges (`order`, `parsing`, `extremes`), that every mechanism has a page with its proof (`proofs`), that no file
//! imports itself through others (`imports`), that pages and comments are easy to read (`prose`), and that mutations fit
//! the sources (`mutations`).

#![forbid(unsafe_code)]

mod accounting;
mod accuracy;
mod auto;
mod auto_sum;
mod auto_variance;
mod bounds;
mod cdf;
mod cdf_bands;
mod clamped;
mod columns;
mod cost;
mod distinct;
mod distribution;
mod extremes;
mod histogram;
mod imports;
#[cfg(feature = "testing")]
mod intervals;
mod keep;
mod machine_checked;
mod mutations;
mod noise;
mod normal;
mod order;
mod pair_ends;
mod parsing;
mod pathological;
mod periods;
mod planning;
mod population;
mod privacy;
mod proofs;
mod prose;
#[cfg(feature = "testing")]
mod quantile;
mod quantile_estimate;
#[cfg(feature = "testing")]
mod quantile_rising;
mod regression;
mod samplers;
#[cfg(feature = "testing")]
mod shares;
mod spending;
#[cfg(feature = "testing")]
mod spread;
mod stats;
mod symmetric;
mod tapes;
mod together;
mod top_keys;
mod unbiased;
#[cfg(feature = "testing")]
mod unit;
mod variance;
#[cfg(feature = "testing")]
mod vector_noise;
mod vectors;
mod weighted_mean;
mod words;
