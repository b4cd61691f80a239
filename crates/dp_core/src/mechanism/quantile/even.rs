//! How far off quantiles are, before anything is spent: of rows that are spread evenly between the bounds.
//!
//! Where bins are of equal width, a choice among such rows has the weight `exp(-rate |x - target|)` at a part `x` of the
//! line: the rank, and so the score, is a straight line in `x`. So a draw takes no look at bins, but for the value at
//! that part. Logarithmic bins are for columns that are not spread evenly, and nothing is said of them.

use crate::encoding::ranks::{Bins, Cut};
use crate::mechanism::quantile::ranks::PLACES;
use crate::random::{Bits, Generator};

/// Draws choices among rows that are spread evenly.
pub(super) struct Even {
    /// How many rows there are.
    rows: f64,
    generator: Generator,
}

impl Even {
    pub fn new(rows: f64) -> Self {
        Self {
            rows,
            generator: Generator::simulated(),
        }
    }

    /// A part of the line between two others, near the target; `fall` is by how much the logarithm of a weight falls
    /// with a row.
    pub fn choose(&mut self, [from, to]: [f64; 2], target: f64, fall: f64) -> f64 {
        let rate = fall * self.rows;
        let weight = |reach: f64| -(-rate * reach).exp_m1();
        let [below, above] = [weight(target - from), weight(to - target)];
        let uniform = self.generator.word() as f64 / (1u128 << Generator::WIDTH) as f64;
        let drawn = uniform * (below + above) - below;
        let reach = -(-drawn.abs()).ln_1p() / rate;
        let chosen = if drawn < 0.0 {
            target - reach
        } else {
            target + reach
        };
        chosen.max(from).min(to)
    }

    /// The largest distance of several answers from what they hide that is passed with this probability: `draw` gives
    /// the parts of the line of one release. `None` of logarithmic bins.
    pub fn reach(
        mut self,
        bins: &Bins,
        wanted: &[f64],
        draws: usize,
        miss: f64,
        draw: impl Fn(&mut Self) -> Vec<f64>,
    ) -> Option<f64> {
        if bins.cut() == Cut::Log {
            return None;
        }
        let mut off = vec![Vec::new(); wanted.len()];
        for _ in 0..draws {
            for ((off, at), wanted) in off.iter_mut().zip(draw(&mut self)).zip(wanted) {
                off.push((value(bins, at) - exact(bins, *wanted)).abs());
            }
        }
        let within = |off: &mut Vec<f64>| {
            off.sort_by(f64::total_cmp);
            off.get((off.len() as f64 * (1.0 - miss)) as usize).copied()
        };
        off.iter_mut().filter_map(within).reduce(f64::max)
    }
}

/// The value at a part of the line.
fn exact(bins: &Bins, part: f64) -> f64 {
    let (lo, hi) = (bins.grid().lo(), bins.grid().hi());
    match bins.cut() {
        Cut::Steps => value(bins, part),
        Cut::Linear | Cut::Log => lo + (hi - lo) * part,
    }
}

/// What a choice of that part answers: the middle of a place of a bin, or the multiple of the step.
fn value(bins: &Bins, part: f64) -> f64 {
    let at = part * bins.count() as f64;
    let bin = (at as usize).min(bins.count() - 1);
    let places = PLACES as f64;
    let place = ((at - bin as f64) * places).floor().min(places - 1.0);
    bins.value(bin, (place + 0.5) / places)
}
