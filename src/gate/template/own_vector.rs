//! Aggregates of ours that release several numbers, called by name.

use crate::gate::cost;
use crate::gate::rejection::Checked;
use crate::gate::requests::asked::{Asked, Own, Reads};
use crate::gate::template::answers::Terms;
use crate::gate::template::{Level, Template, float, own_column};

impl<'t> Template<'_, 't> {
    /// Several questions or numbers, as the query has them. Where a person has several rows, questions are whether any of
    /// them says yes: numbers from 0 to 1, which are added up.
    pub(super) fn write_several(
        &mut self,
        asked: &Asked<'t>,
        own: &Own,
        terms: &Terms,
    ) -> Checked<usize> {
        let is_row = self.rows_are_people();
        let aggregate = match (own.reads, is_row, own.name) {
            (Reads::Questions, false, "dp_counts") => "dp_sums",
            (Reads::Questions, false, _) => "dp_sums_estimate",
            _ => own.name,
        };
        let bounds = match (own.reads, is_row) {
            (Reads::Questions, true) => None,
            (Reads::Questions, false) => Some((0.0, 1.0)),
            _ => asked.bounds,
        };
        let mechanism = self.mechanism(aggregate, terms.mechanism.as_deref(), terms.rows)?;
        let length = asked.several.len();
        self.charge(&cost::Call {
            aggregate,
            bounds: bounds.map(|(lo, hi)| (Some(lo), Some(hi))),
            x_bounds: None,
            epsilon: terms.epsilon,
            delta: None,
            length: bounds.is_none().then_some(length),
            ranks: None,
            mechanism: &mechanism,
            unit: 1.0,
        })?;
        let epsilon = terms.epsilon;
        let epsilon = epsilon.map_or("NULL::pg_catalog.float8".to_owned(), float);
        let budget = format!("{epsilon}, {}", self.literal(&mechanism));
        let (values, filter) = self.several(asked, own, terms.rows);
        let schema = &self.schema;
        let call = match bounds {
            None => format!("{schema}.{aggregate}({budget}, VARIADIC {values}){filter}"),
            Some((lo, hi)) => format!(
                "{schema}.{aggregate}({values}, {}, {}, {budget}){filter}",
                float(lo),
                float(hi)
            ),
        };
        self.answers.push(call);
        self.outputs.push(own_column(self.answers.len()));
        Ok(self.outputs.len() - 1)
    }

    /// The array of what a row says, and the filter of the aggregate that reads it.
    fn several(&mut self, asked: &Asked<'t>, own: &Own, rows: u32) -> (String, String) {
        let filter = self.filter(asked);
        let values = asked.several.iter();
        let values: Vec<_> = values
            .map(|value| format!("${}", self.parameter(*value)))
            .collect();
        if !self.rows_are_people() {
            let parts = values
                .iter()
                .map(|question| {
                    let conditions = filter.iter().chain([question]);
                    let conditions: Vec<_> = conditions.map(|one| format!("({one})")).collect();
                    self.counted(None, Some(conditions.join(" AND ")), rows).0
                })
                .collect();
            return self.counted_parts(parts, rows);
        }
        let below = |template: &mut Self, value: String| match template.level {
            Level::RowBelow => template.column(value),
            _ => value,
        };
        let values: Vec<_> = values.into_iter().map(|value| below(self, value)).collect();
        let filter = filter.map(|filter| below(self, filter));
        // Of a listed group without rows there is a row without a person, which is none.
        let is_there = matches!(self.level, Level::RowBelow).then(|| "b.u IS NOT NULL".to_owned());
        let conditions: Vec<_> = filter.into_iter().chain(is_there).collect();
        let element = match own.reads {
            Reads::Questions => "bool",
            _ => "float8",
        };
        let filter = match conditions.is_empty() {
            true => String::new(),
            false => format!(" FILTER (WHERE {})", conditions.join(" AND ")),
        };
        (
            format!("ARRAY[{}]::pg_catalog.{element}[]", values.join(", ")),
            filter,
        )
    }
}
