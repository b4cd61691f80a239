//! What the Gaussian mechanisms share.

use crate::mechanism::definition::{ADD_REMOVE, Info};
use crate::privacy::cost::Loss;
use crate::request::budget::{DELTA, MU, RHO};

/// The guarantee of a Gaussian mechanism.
pub(crate) const GAUSSIAN: &str = "mu-Gaussian differential privacy; with delta= it is \
                                   (eps, delta)-differential privacy, with rho= it is rho-zCDP";

/// What to tell users of the Gaussian mechanism of a single number.
pub(crate) const fn info(what: &'static str, source: &'static str) -> Info {
    Info {
        name: "gaussian",
        what,
        guarantee: GAUSSIAN,
        loss: Loss::Gaussian,
        neighbours: ADD_REMOVE,
        parameters: &[DELTA, MU, RHO],
        example: "gaussian(delta=1e-6)",
        source,
    }
}

/// A standard deviation computed in floats, made larger than their roundings could have made it
/// smaller: too much noise is private, too little is not. The mechanisms need fewer than 16
/// operations, each rounding by a relative 2^-53 at most.
pub(crate) fn no_less(sigma: f64) -> f64 {
    sigma * (1.0 + 1.0 / (1u64 << 48) as f64)
}
