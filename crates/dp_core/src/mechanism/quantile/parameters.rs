//! The parameters that say how the line is cut into bins.

use crate::encoding::ranks::{Bins, MOST, OCTAVES};
use crate::error::ParameterError;
use crate::request::budget::outside;
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};

/// The parameter `grid`.
pub(super) const GRID: Parameter = Parameter {
    name: "grid",
    kind: ParameterKind::Word(&["linear", "log"]),
    domain: "linear or log",
    description: "bins of equal width (the default), or of equal relative width, for loose bounds and long tails: by the \
                  distance from 0 between the bounds, else from the bound nearer to 0",
};

/// The parameter `bins`.
pub(super) const BINS: Parameter = Parameter {
    name: "bins",
    kind: ParameterKind::Whole,
    domain: "2 to 65536, and at least 64 with grid=log",
    description: "the most bins, 16384 by default: each is at most 8 bytes of memory in a group, and 16 places are told apart in \
                  each",
};

/// The parameter `step`.
pub(super) const STEP: Parameter = Parameter {
    name: "step",
    kind: ParameterKind::Number,
    domain: "a number above 0, with at most 65536 multiples between lo and hi",
    description: "the column has multiples of this only, as step=1 of integers: each is a bin, and answers are such \
                  multiples. In the place of grid and bins",
};

/// What bins a mechanism has where the call does not say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    /// Whether they are of equal relative width.
    pub log: bool,
    /// The most of them.
    pub bins: usize,
}

/// Of the exponential mechanism.
pub(super) const USUAL: Cuts = Cuts {
    log: false,
    bins: 1 << 14,
};

impl Request<'_> {
    /// The bins that the call's bounds and parameters say.
    pub(super) fn bins(&self, usual: Cuts) -> Result<Bins, ParameterError> {
        let bounds = self.bounds()?;
        let [grid, bins, step] = [GRID, BINS, STEP].map(|parameter| parameter.name);
        let is_log = self
            .choice
            .word(grid)
            .map_or(usual.log, |word| word == "log");
        let least = if is_log { 2 * OCTAVES } else { 2 };
        let most = match self.choice.get(bins) {
            None => usual.bins,
            Some(most) if (least as f64..=MOST as f64).contains(&most) => most as usize,
            Some(_) => return Err(outside(&BINS)),
        };
        let others = self.choice.word(grid).is_some() || self.choice.get(bins).is_some();
        match self.choice.get(step) {
            Some(_) if others => Err(ParameterError::new(
                "mech",
                "gives the parameter step beside grid or bins",
                "Multiples of step are the bins: leave out grid and bins.",
            )),
            Some(step) => Bins::steps(&bounds, step),
            None if is_log => Ok(Bins::log(&bounds, most)),
            None => Ok(Bins::linear(&bounds, most)),
        }
    }
}
