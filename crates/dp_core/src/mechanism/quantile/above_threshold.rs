//! A walk over the line that stops where enough rows are passed, for quantiles far out.
//!
//! The proof: docs/proofs/quantile-above-threshold.md.

use crate::encoding::grid::Grid;
use crate::encoding::ranks::Bins;
use crate::encoding::sums::Totals;
use crate::mechanism::definition::{ADD_REMOVE, Entry, Info, Mechanism, PURE};
use crate::mechanism::quantile::exponential::{RankMechanism, Stretch};
use crate::mechanism::quantile::parameters::{self, Cuts, STEP};
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, add_noise};
use crate::request::parameter::Parameter;
use crate::request::ranks::{Fraction, asked};
use crate::sampler::geometric::Geometric;

/// The parameter `grid`.
const GRID: Parameter = Parameter {
    description: "bins of equal relative width (log, the default), by the distance from 0 between the bounds, else from the \
                  bound nearer to 0; or of equal width",
    ..parameters::GRID
};

/// The parameter `bins`.
const BINS: Parameter = Parameter {
    description: "the most bins, 2048 by default: each is at most 8 bytes of memory in a group, and its end a value that can be \
                  the answer",
    ..parameters::BINS
};

/// 64 for each power of two: more of them would stop the walk earlier, fewer could not tell values apart.
const USUAL: Cuts = Cuts {
    log: true,
    bins: 1 << 11,
};

pub(crate) const ENTRY: Entry<dyn RankMechanism> = Entry {
    info: Info {
        name: "rising",
        what: "a walk that stops where enough rows are passed (Durfee 2023): for quantiles far \
               out, between loose bounds",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE,
        parameters: &[GRID, BINS, STEP],
        example: "rising",
        source: "Durfee 2023, Unbounded differentially private quantile and maximum estimation; with one-sided geometric \
                 noise",
    },
    plan: None,
    build: |request| {
        let bins = request.bins(USUAL)?;
        let quantiles = asked(request.ranks)?;
        let quantile = quantiles.first().copied().unwrap_or(0.5);
        Ok(Box::new(Rising::new(
            bins,
            quantile,
            request.row_epsilon()?,
        )))
    },
};

/// Walks over the ends of the bins, from `lo` upwards, and stops at the first with about the part `q` of the rows below
/// it. Of a quantile below the median it walks from `hi` downwards, and looks for the part `1 - q` above. So it comes
/// from where most rows are, and cannot run on to the bound where hardly any is left.
///
/// **Why it is private** (pure, epsilon; neighbours by adding or removing one row). With `q = a / d`, or `1 - q`, at
/// least one half: at the end of each bin the walk asks for `s = d v - a n`, `v` the rows that it has passed, with
/// noise of its own, and stops where that reaches a noisy threshold. A row more adds `d - a` to `s` at all ends behind
/// it, and takes `a` from it at all before.
///
/// Let the walk stop at one end for one table. It stops there for the neighbour as well, if the threshold's noise is
/// larger by the most that `s` grows at an end before, at most `a`, and the noise at the end by that and by what `s`
/// falls there: by at most `d`, since `s` falls by `d - a` where it grew by `a` before. Each noise is geometric on 0,
/// 1, 2, ..., so that being larger by `m` is less likely by a factor `e^(-e m / (2 a))` of the threshold, by
/// `e^(-e m / (2 d))` of an end: by `e^-e` at most in all. The noise at all other ends stays.
///
/// All noise is drawn, wherever the walk stops: how long it takes does not tell.
#[derive(Clone, Debug)]
pub struct Rising {
    bins: Bins,
    quantile: Fraction,
    /// Whether the walk goes downwards.
    falls: bool,
    threshold: Geometric,
    end: Geometric,
}

impl Rising {
    /// Of this quantile, at this epsilon.
    pub fn new(bins: Bins, quantile: f64, epsilon: Epsilon) -> Self {
        let quantile = Fraction::near(quantile);
        let larger = quantile.larger_part();
        let half = epsilon.half();
        Self {
            bins,
            falls: quantile.numerator < larger,
            quantile: Fraction {
                numerator: larger,
                ..quantile
            },
            threshold: Geometric::new(half.part(1, larger)),
            end: Geometric::new(half.part(1, quantile.denominator)),
        }
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> f64 {
        let rows = Stretch::whole(&self.bins, totals).counts;
        let [a, d] = [self.quantile.numerator, self.quantile.denominator].map(i128::from);
        let wanted = a * rows.iter().sum::<i128>();
        let threshold = self.threshold.draw(bits) as i128;
        let last = rows.len().saturating_sub(1);
        let bin = |step: usize| if self.falls { last - step } else { step };
        let (mut passed, mut stop) = (0, last);
        for step in 0..last {
            passed += rows[bin(step)];
            let noise = self.end.draw(bits) as i128;
            let reached = add_noise(d * passed - wanted, noise, bits) >= threshold;
            stop = stop.min(if reached { step } else { last });
        }
        let end = if self.falls { 0.0 } else { 1.0 };
        self.bins.value(bin(stop), end)
    }
}

impl Mechanism<Totals> for Rising {
    type Answer = Vec<f64>;

    fn grid(&self) -> Option<Grid> {
        Some(self.bins.grid())
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> Vec<f64> {
        vec![self.release_from(totals, generator)]
    }
}

impl RankMechanism for Rising {
    fn bins(&self) -> &Bins {
        &self.bins
    }
}
