//! The kinds of means, by what they see of the rows.

use crate::accuracy::forecast::{Forecast, Planned};
use crate::accuracy::interval::Ratio;
use crate::encoding::cells::{CellCounts, Line};
use crate::encoding::grid::Grid;
use crate::encoding::log_bins::Content;
use crate::mechanism::bounds_search::release::Finding;
use crate::mechanism::definition::{Built, Mechanism, Scalar};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::location::Location;
use crate::mechanism::mean::pathological::device::Pathological;

/// A mechanism of means, by what it sees of the rows.
pub enum Mean {
    /// Their number, and the sum of their grid steps.
    Sums(Box<dyn SumsMean>),
    /// How they lie in the cells of a line without ends.
    Cells(Box<dyn CellsMean>),
    /// How they lie in bins of equal relative width.
    Auto(Box<dyn Finding<Content, MeanAnswer>>),
    /// Those that can show a row.
    Pathological(Pathological),
}

/// A mechanism of means that sees the number of rows and the sum of their grid steps.
pub trait SumsMean: Mechanism<Answer = MeanAnswer> {
    /// The standard deviation of the noise in the mean of that many rows, in the unit of the column:
    /// the largest over where the mean can lie between the bounds, to leading order in `1 / rows`.
    ///
    /// Public: it knows the number of rows that a plan is made for, never that of a group.
    fn noise_sd(&self, rows: f64) -> f64;

    /// A bound on the bias of the answer where all of that many rows lie between the bounds: the
    /// largest over where the mean can lie, to leading order in `1 / rows`; in the unit of the
    /// column.
    ///
    /// An answer that is kept between the bounds, as here, is biased where the mean lies at an end:
    /// for centred noise `X` by `E max(0, X) = E|X| / 2`, at most half of its standard deviation.
    /// It is not where the mean lies far from the ends. A mechanism whose answers may lie outside
    /// and that is unbiased between the bounds says 0.
    fn answer_bias(&self, rows: f64) -> f64 {
        self.noise_sd(rows) / 2.0
    }

    /// The mean as a ratio of what is released; `None` of a mechanism that releases no such pair.
    fn ratio(&self) -> Option<Ratio<'_>> {
        None
    }

    /// What half of an interval's width is for that many rows, at most and to leading order in
    /// `1 / rows`; `None` where answers have no interval.
    fn half_width(&self, rows: f64, miss: f64) -> Option<f64> {
        let ratio = self.ratio()?;
        let most = (ratio.range[1] - ratio.range[0]) / 2.0;
        Some(ratio.unit * (ratio.reach(miss).largest() / rows).min(most))
    }

    /// The root mean squared error of the answer about the mean of that many clamped rows, where that is
    /// at the worst place.
    fn rmse(&self, rows: f64) -> f64 {
        let noise_sd = self.noise_sd(rows);
        match self.ratio() {
            Some(ratio) => ratio.unit * ratio.worst_rmse(rows, noise_sd / ratio.unit),
            None => noise_sd,
        }
    }
}

/// A mechanism of means that sees how rows lie in the cells of a line without ends.
pub trait CellsMean: Mechanism<CellCounts, Answer = MeanAnswer> {
    /// The coarse step.
    fn location(&self) -> &Location;

    /// The cells for a random word, which must be uniform and must not depend on the rows. It need
    /// not be secret, and the same in all parts of a group.
    fn line(&self, word: u64) -> Line {
        self.location().bins().line(word)
    }

    /// The standard deviation of the noise in the mean of that many rows, or somewhat more.
    fn noise_sd(&self, rows: f64) -> f64;
}

impl Mean {
    pub(crate) fn of_sums(mechanism: impl SumsMean + 'static) -> Built<Self> {
        Ok(Box::new(Self::Sums(Box::new(mechanism))))
    }

    pub(crate) fn of_pathological(mechanism: Pathological) -> Built<Self> {
        Ok(Box::new(Self::Pathological(mechanism)))
    }

    pub(crate) fn of_cells(mechanism: impl CellsMean + 'static) -> Built<Self> {
        Ok(Box::new(Self::Cells(Box::new(mechanism))))
    }

    /// How far from the mean of the population an answer may be, for rows that a plan is made for.
    pub fn forecast(&self, planned: &Planned) -> Forecast {
        match self {
            Self::Sums(mechanism) => {
                let grid = mechanism.grid().unwrap_or(Grid::NONE);
                let [noise_sd, answer_bias] = [
                    mechanism.noise_sd(planned.rows),
                    mechanism.answer_bias(planned.rows),
                ];
                planned.of_clamped(grid.hi() - grid.lo(), noise_sd, answer_bias)
            }
            Self::Pathological(mechanism) => mechanism.forecast(planned),
            Self::Cells(mechanism) => {
                let noise_sd = mechanism.noise_sd(planned.rows);
                mechanism.location().forecast(planned, noise_sd)
            }
            // Its bounds, and so all of its errors, hang on the rows.
            Self::Auto(_) => Forecast {
                noise_sd: f64::INFINITY,
                bias: f64::INFINITY,
                rmse: f64::INFINITY,
                null: 0.0,
            },
        }
    }

    /// The root mean squared error of the answer about the mean of that many rows as they are clamped,
    /// where that is at the worst place; of the noise alone where there are no bounds.
    pub fn rmse(&self, rows: f64) -> f64 {
        match self {
            Self::Sums(mechanism) => mechanism.rmse(rows),
            Self::Cells(_) | Self::Auto(_) | Self::Pathological(_) => {
                self.forecast(&Planned { rows, moment: None }).noise_sd
            }
        }
    }

    /// Half of the width of an interval for that many rows; `None` where answers have none.
    pub fn half_width(&self, rows: f64, miss: f64) -> Option<f64> {
        match self {
            Self::Sums(mechanism) => mechanism.half_width(rows, miss),
            Self::Cells(_) | Self::Auto(_) | Self::Pathological(_) => None,
        }
    }

    /// The mechanism, if it sees the rows' number and sum.
    pub fn sums(self) -> Option<Box<Scalar<MeanAnswer>>> {
        match self {
            Self::Sums(mechanism) => Some(mechanism),
            Self::Cells(_) | Self::Auto(_) | Self::Pathological(_) => None,
        }
    }
}
