//! A variance that finds its bounds by itself.
//!
//! The proof: docs/proofs/variance-auto.md.

use crate::mechanism::bounds_search::parameters::BEYOND;
use crate::mechanism::bounds_search::release;
use crate::mechanism::definition::Entry;
use crate::mechanism::variance::bounded_by_search::OfVariance;
use crate::mechanism::variance::inputs::SomeVariance;
use crate::mechanism::variance::moments::SAMPLE;

pub(crate) const ENTRY: Entry<SomeVariance> = Entry {
    info: release::info(
        "no bounds needed, as `auto` of `dp_mean`; then `laplace` between the bounds. 1.8 \
         to 2.1 times the error of the best bounds, from 500 / eps rows on",
        "Dwork, Roth 2014, The algorithmic foundations of differential privacy: AboveThreshold, over octaves, and the \
         exponential mechanism, over pairs of bounds; then Kulesza, Suresh, Wang 2024: algorithm 3, here for polynomials of \
         degree two",
        &[BEYOND, SAMPLE],
    ),
    plan: None,
    build: |request| {
        let limits = request.limits("laplace")?;
        let question = OfVariance::new(request.is_sample());
        Ok(Box::new(SomeVariance::Auto(
            request.auto(question, limits)?,
        )))
    },
};
