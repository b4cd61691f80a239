//! A mean that finds its bounds by itself.
//!
//! The proof: docs/proofs/mean-auto.md.

use crate::mechanism::bounds_search::parameters::BEYOND;
use crate::mechanism::bounds_search::release;
use crate::mechanism::definition::Entry;
use crate::mechanism::mean::bounded_by_search::OfMean;
use crate::mechanism::mean::inputs::Mean;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: release::info(
        "no bounds needed: it finds them, within `lo` and `hi` or, with NULL for both, \
         anywhere. A noisy count, AboveThreshold over octaves, the exponential mechanism \
         over pairs of bounds, then the hourglass. About twice the error of the best \
         bounds, from 500 / eps rows on",
        "Dwork, Roth 2014, The algorithmic foundations of differential privacy: AboveThreshold, over octaves, and the \
         exponential mechanism, over pairs of bounds; then Kulesza, Suresh, Wang 2024: algorithm 3",
        &[BEYOND],
    ),
    plan: None,
    build: |request| {
        let limits = request.limits("hourglass")?;
        Ok(Box::new(Mean::Auto(request.auto(OfMean, limits)?)))
    },
};
