//! How much noise answers have. It follows from public numbers, and of a mean from the noisy number of rows that is
//! released with it.

use crate::gate::cost::{self, Priced};
use crate::gate::shown::{Answer, Scale};
use crate::gate::template::Template;

impl Template<'_, '_> {
    /// Notes how much noise an answer has. Where grouping sets differ, the least: what is shown must do for all.
    pub(super) fn note_scale(&mut self, answer: Answer, scale: Option<Scale>) {
        let Some(scale) = scale else { return };
        let known = self.scales.iter_mut().find(|(known, _)| *known == answer);
        match known {
            Some((_, known)) => *known = known.least(scale),
            None => self.scales.push((answer, scale)),
        }
    }

    /// That of each number of the release that was charged last.
    pub(super) fn scale_of_last(&self) -> Option<Scale> {
        let last = self.priced.last();
        Scale::of_half_width(last.and_then(|priced| priced.half_width(None)))
    }

    /// Notes that of the answers of a call whose answer is that column.
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
        let scale = scale.over(rows, bounds);
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
