//! A mean that finds its bounds by itself.
//!
//! The proof: docs/proofs/mean-auto.md.

use crate::encoding::octaves::{LOWEST, Limits};
use crate::error::ParameterError;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, PURE};
use crate::mechanism::mean::finding::Auto;
use crate::mechanism::mean::kinds::Mean;
use crate::mechanism::search::parameters::BEYOND;
use crate::privacy::cost::Loss;
use crate::request::checked::Request;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "auto",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[BEYOND],
        example: "auto",
        source: "Dwork, Roth 2014, The algorithmic foundations of differential privacy: AboveThreshold, over octaves, and the \
                 exponential mechanism, over pairs of bounds; then Kulesza, Suresh, Wang 2024: algorithm 3",
    },
    plan: None,
    build: |request| {
        let beyond = request.beyond()?;
        let auto = Auto::new(limits(request)?, request.row_epsilon()?, beyond);
        Ok(Box::new(Mean::Auto(Box::new(auto))))
    },
};

/// The limits of the column, if it has any.
fn limits(request: &Request) -> Result<Limits, ParameterError> {
    let Some(bounds) = &request.bounds else {
        return Ok(Limits::NONE);
    };
    if bounds.width() < 2f64.powi(LOWEST + 1) {
        return Err(ParameterError::new(
            "hi",
            "is too near to argument \"lo\" for a mechanism that looks for bounds between them",
            "Give hourglass as the mechanism: the bounds are near enough for it.",
        ));
    }
    Ok(Limits::between(bounds))
}
