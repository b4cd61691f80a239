//! How much noise an answer has, so that it is shown without digits that are noise alone.
//!
//! It follows from public numbers, and of a mean from the noisy number of rows that is released with it.

use crate::gate::cost::{self, Priced};
use crate::gate::template::{Answer, Template};

/// Half of the width of an interval of 95%, in standard deviations of normal noise.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Numbers that PostgreSQL's functions compute with, without an error.
const COMPUTED: std::ops::Range<f64> = 1e-200..1e200;

/// The noise of an answer, and what rounding must not leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The standard deviation of normal noise with the same interval of 95%; of a mean times the number of its rows.
    sd: f64,
    /// Where the noisy number of rows of a mean is.
    pub rows: Option<Answer>,
    /// The bounds that the answer lies between.
    pub bounds: Option<(f64, f64)>,
}

impl Scale {
    /// Of half of the width of an interval of 95%.
    pub(super) fn of_half_width(half_width: Option<f64>) -> Option<Self> {
        let sd = half_width? / NORMAL;
        COMPUTED.contains(&sd).then_some(Self {
            sd,
            rows: None,
            bounds: None,
        })
    }

    /// Of an answer that is computed from several numbers: of no more noise than it has.
    pub(super) fn at_least_half(self) -> Self {
        Self {
            sd: self.sd / 2.0,
            ..self
        }
    }

    /// The standard deviation; of a mean times the number of its rows.
    pub fn sd(&self) -> f64 {
        self.sd
    }

    /// How many decimal digits behind the point are shown, two beyond the standard deviation; below 0 before it.
    pub fn digits(&self) -> i32 {
        1 - self.sd.log10().floor() as i32
    }
}

impl Template<'_, '_> {
    /// Notes how much noise an answer has. Where grouping sets differ, the least: what is shown must do for all.
    pub(super) fn note_scale(&mut self, answer: Answer, scale: Option<Scale>) {
        let Some(scale) = scale else { return };
        let known = self.scales.iter_mut().find(|(known, _)| *known == answer);
        match known {
            Some((_, known)) => known.sd = known.sd.min(scale.sd),
            None => self.scales.push((answer, scale)),
        }
    }

    /// The same of the answers of a call whose answer is that column.
    pub(super) fn note_call(&mut self, call: &cost::Call, column: usize) {
        let priced = Priced::of(call);
        match call.aggregate {
            "dp_count" | "dp_sum" => {
                let scale = Scale::of_half_width(priced.half_width(None));
                self.note_scale(Answer::Column(column), scale);
            }
            // Its number of rows comes with it, as a column of its own.
            "dp_mean" => {
                if let Some(scale) = scale_of_mean(&priced) {
                    let rows = Answer::Column(column + 1);
                    self.note_mean(Answer::Column(column), scale, rows, call.bounds);
                }
            }
            "dp_mean_and_count" => {
                let Some(scale) = scale_of_mean(&priced) else {
                    return;
                };
                let rows = Answer::Field(column, 2);
                self.note_mean(Answer::Field(column, 1), scale, rows, call.bounds);
                self.note_scale(Answer::Product(column), Some(scale.at_least_half()));
                self.note_scale(rows, self.scale_of_rows(call));
            }
            _ => {}
        }
    }

    /// Notes how much noise a mean has, of that many rows.
    pub(super) fn note_mean(
        &mut self,
        mean: Answer,
        scale: Scale,
        rows: Answer,
        bounds: cost::Bounds,
    ) {
        let bounds = bounds.and_then(|(lo, hi)| Some((lo?, hi?)));
        let scale = Scale {
            rows: Some(rows),
            bounds,
            ..scale
        };
        self.note_scale(mean, Some(scale));
    }

    /// Of the number of rows that is released beside a sum: it has no less noise than alone.
    fn scale_of_rows(&self, call: &cost::Call) -> Option<Scale> {
        let text = match call.epsilon {
            Some(_) => self.mechanism("dp_count", None, self.rows).ok()?,
            None => call.mechanism.to_owned(),
        };
        let alone = Priced::of(&cost::Call::of("dp_count", call.epsilon, &text));
        Scale::of_half_width(alone.half_width(None))
    }

    /// Whether that column is a mean with the number of its rows beside it.
    pub(super) fn has_rows_beside(&self, column: usize) -> bool {
        let beside = Some(Answer::Column(column + 1));
        let mut scales = self.scales.iter();
        scales.any(|(answer, scale)| *answer == Answer::Column(column) && scale.rows == beside)
    }
}

/// That of a mean, times the number of its rows.
pub(super) fn scale_of_mean(priced: &Priced) -> Option<Scale> {
    Scale::of_half_width(priced.half_width_times_rows())
}
