//! A mean that can show a row, by what it sees of the rows.

use crate::accuracy::forecast::{Forecast, Planned};
use crate::encoding::cells::Line;
use crate::mechanism::definition::Mechanism;
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::pathological::cells::CoinedCounts;
use crate::mechanism::mean::pathological::coin::Coin;
use crate::mechanism::mean::pathological::sampled::SampledMean;

/// A mean that can show a row, by what it sees of the rows.
pub enum Pathological {
    /// Their number, and the sum of what they come to with their coins.
    Sums(SampledMean),
    /// How they lie in the cells of a line without ends, and the sum of those that their coins chose.
    Cells(Box<dyn CoinedMean>),
}

/// A mechanism of means that sees rows in cells, and those that coins chose.
pub trait CoinedMean: Mechanism<CoinedCounts, Answer = MeanAnswer> {
    /// The coin that is tossed for each row.
    fn coin(&self) -> Coin;

    /// The cells for a random word: see `CellsMean::line`.
    fn line(&self, word: u64) -> Line;

    /// How far from the mean of the population an answer may be.
    fn forecast(&self, planned: &Planned) -> Forecast;
}

impl Pathological {
    /// The coin that is tossed for each row.
    pub fn coin(&self) -> Coin {
        match self {
            Self::Sums(mechanism) => mechanism.coin(),
            Self::Cells(mechanism) => mechanism.coin(),
        }
    }

    pub(crate) fn forecast(&self, planned: &Planned) -> Forecast {
        match self {
            Self::Sums(mechanism) => mechanism.forecast(planned),
            Self::Cells(mechanism) => mechanism.forecast(planned),
        }
    }
}
