//! The parameter `fallback=raw` of means without bounds: where no place is found, rows come out as they are.
//!
//! The proof: docs/proofs/mean-symmetric-known-n.md.

use crate::accuracy::forecast::{Forecast, Planned};
use crate::encoding::cells::Line;
use crate::encoding::grid::Grid;
use crate::error::ParameterError;
use crate::mechanism::definition::{Built, Mechanism};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::{CellsMean, Mean};
use crate::mechanism::mean::pathological::cells::CoinedCounts;
use crate::mechanism::mean::pathological::coin::Coin;
use crate::mechanism::mean::pathological::device::{CoinedMean, Pathological};
use crate::random::Generator;
use crate::request::choice::Choice;
use crate::request::parameter::{Parameter, ParameterKind};

pub(crate) const FALLBACK: Parameter = Parameter {
    name: "fallback",
    kind: ParameterKind::Word(&["none", "raw"]),
    domain: "none or raw",
    description: "where there is no location: none (the default) answers NULL; raw adds up rows as they \
                  are, each with probability delta / 2, which dp_mean.allow_pathological must allow",
};

/// Whether rows are to come out where there is no place.
pub(crate) fn is_asked(choice: &Choice) -> bool {
    choice.word(FALLBACK.name) == Some("raw")
}

/// A mean that answers NULL where it finds no place, of a public number of rows; and there the sum of the rows that
/// coins chose, times the number of tosses that a coin takes to come up.
///
/// **Why it is private** ((epsilon, delta); neighbours by replacing one row). The mean has half of delta, and the coins
/// the other. With probability at most delta / 2 the replaced row is among the chosen, and if it is not, the
/// replacement changes nothing.
///
/// **Why it is unbiased** whether there is a place or not: the chosen rows, each over the probability of being chosen,
/// add up to the sum of all rows on average.
struct RawFallback {
    mean: Box<dyn CellsMean>,
    coin: Coin,
    rows: f64,
}

/// With this fallback: `mean` makes the mean with half of delta.
pub(crate) fn behind<M: CellsMean + 'static>(
    delta: f64,
    rows: f64,
    mean: impl FnOnce(f64) -> Result<M, ParameterError>,
) -> Built<Mean> {
    let coin = Coin::new(delta / 2.0)?;
    Mean::of_pathological(Pathological::Cells(Box::new(RawFallback {
        mean: Box::new(mean(delta / 2.0)?),
        coin,
        rows,
    })))
}

impl Mechanism<CoinedCounts> for RawFallback {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        None
    }

    fn release(&self, counts: &CoinedCounts, generator: &mut Generator) -> MeanAnswer {
        let answer = self.mean.release(&counts.cells, generator);
        let raw = || {
            let width = self.mean.location().bins().width;
            let cells = counts.chosen.sum(&counts.cells.line) * self.coin.one_in() as f64;
            (cells / self.rows * width).clamp(f64::MIN, f64::MAX)
        };
        MeanAnswer {
            mean: Some(answer.mean.unwrap_or_else(raw)),
            ..answer
        }
    }
}

impl CoinedMean for RawFallback {
    fn coin(&self) -> Coin {
        self.coin
    }

    fn line(&self, word: u64) -> Line {
        self.mean.line(word)
    }

    fn forecast(&self, planned: &Planned) -> Forecast {
        let noise_sd = self.mean.noise_sd(planned.rows);
        self.mean.location().forecast(planned, noise_sd)
    }
}
