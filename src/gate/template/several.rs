//! Aggregates of ours that release several numbers of a row, or of a person.

use crate::gate::cost;
use crate::gate::price::Price;
use crate::gate::rejection::Checked;
use crate::gate::requests::asked::{Asked, Own, Reads};
use crate::gate::template::answers::Terms;
use crate::gate::template::{Level, Template, filtered, float, own_column};

/// An array of values.
fn array(values: &[String], element: &str) -> String {
    format!("ARRAY[{}]::pg_catalog.{element}[]", values.join(", "))
}

/// A call of one of them.
pub(super) struct Several<'a> {
    pub aggregate: &'a str,
    /// Of numbers; `None` of questions.
    pub bounds: Option<(f64, f64)>,
    /// An array of what a row says, and which rows say something.
    pub values: String,
    pub filter: String,
    pub length: usize,
    pub epsilon: Option<f64>,
    pub mechanism: String,
    /// What the numbers count, in the unit of the answer.
    pub unit: f64,
}

impl<'t> Template<'_, 't> {
    /// Writes the call, which is the last of the answers then. Its mechanism.
    pub(super) fn write_several(&mut self, of: Several) -> Checked<String> {
        let Several {
            aggregate,
            values,
            filter,
            ..
        } = &of;
        self.charge(&cost::Call {
            bounds: of.bounds.map(|(lo, hi)| (Some(lo), Some(hi))),
            length: of.bounds.is_none().then_some(of.length),
            unit: of.unit,
            ..cost::Call::of(aggregate, of.epsilon, &of.mechanism)
        })?;
        let budget = self.budget(of.epsilon, &of.mechanism);
        let schema = &self.schema;
        let call = match of.bounds {
            None => format!("{schema}.{aggregate}({budget}, VARIADIC {values}){filter}"),
            Some((lo, hi)) => format!(
                "{schema}.{aggregate}({values}, {}, {}, {budget}){filter}",
                float(lo),
                float(hi)
            ),
        };
        self.answers.push(call);
        Ok(of.mechanism)
    }

    /// What rows say where each is a person: an array, and which rows say it, of those that meet a condition.
    pub(super) fn several_of_rows(
        &mut self,
        values: Vec<String>,
        element: &str,
        condition: Option<String>,
    ) -> (String, String) {
        let (values, filter) = self.values_of_rows(values, condition);
        (array(&values, element), filter)
    }

    /// The values themselves.
    fn values_of_rows(
        &mut self,
        values: Vec<String>,
        condition: Option<String>,
    ) -> (Vec<String>, String) {
        let below = |template: &mut Self, value: String| match template.level {
            Level::RowBelow => template.column(value),
            _ => value,
        };
        let values: Vec<_> = values.into_iter().map(|value| below(self, value)).collect();
        let condition = condition.map(|condition| below(self, condition));
        // Of a listed group without rows there is a row without a person, which is none.
        let is_there = matches!(self.level, Level::RowBelow).then(|| "b.u IS NOT NULL".to_owned());
        let conditions: Vec<_> = condition.into_iter().chain(is_there).collect();
        let filter = (!conditions.is_empty()).then(|| conditions.join(" AND "));
        (values, filtered(filter))
    }

    /// A regression of rows that are a person each.
    pub(super) fn write_regression(
        &mut self,
        asked: &Asked<'t>,
        own: &Own,
        terms: &Terms,
    ) -> Checked<usize> {
        let mechanism = self.mechanism(own.name, terms.mechanism.as_deref(), terms.rows)?;
        let bounds = asked.bounds.map(|(lo, hi)| (Some(lo), Some(hi)));
        let [lo, hi] = &own.columns;
        self.charge(&cost::Call {
            bounds,
            columns: Some([lo, hi]),
            ..cost::Call::of(own.name, terms.epsilon, &mechanism)
        })?;
        let filter = self.filter(asked);
        let values = asked.argument.iter().chain(&asked.several);
        let values: Vec<_> = values
            .map(|value| format!("${}", self.parameter(*value)))
            .collect();
        let (values, filter) = self.values_of_rows(values, filter);
        let [y, x @ ..] = values.as_slice() else {
            return Err("a regression has no columns".into());
        };
        let numbers = |bounds: &[Option<f64>]| {
            let bounds = bounds.iter().copied().flatten().map(float);
            array(&bounds.collect::<Vec<_>>(), "float8")
        };
        let (ylo, yhi) = asked.bounds.ok_or("a regression has no bounds")?;
        let arguments = [
            y.clone(),
            array(x, "float8"),
            float(ylo),
            float(yhi),
            numbers(lo),
            numbers(hi),
            self.budget(terms.epsilon, &mechanism),
        ];
        let arguments = arguments.into_iter().chain(terms.confidence.map(float));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let call = format!("{}.{}({arguments}){filter}", self.schema, own.name);
        self.answers.push(call);
        self.outputs.push(own_column(self.answers.len()));
        Ok(self.outputs.len() - 1)
    }

    /// What people contribute to several counts, as numbers from 0 to 1. Who has nothing to count is no row of the release,
    /// nor is the row of a listed group without any.
    pub(super) fn counted_parts(&self, parts: Vec<String>, rows: u32) -> (String, String) {
        let there = parts.iter().map(|part| format!("{part} IS NOT NULL"));
        let there = there.collect::<Vec<_>>().join(" OR ");
        let groups = self.groups;
        let part = |part: &String| format!("dp_mean.dp_counted({part}, {rows}, {groups})");
        let parts = parts.iter().map(part).collect::<Vec<_>>().join(", ");
        (
            format!("ARRAY[{parts}]::pg_catalog.float8[]"),
            format!(" FILTER (WHERE {there})"),
        )
    }

    /// Writes a release of several counts, of what people contribute to each: parts of their most rows, which are added up
    /// as numbers from 0 to 1. Its mechanism.
    pub(super) fn write_parts(
        &mut self,
        parts: Vec<String>,
        rows: u32,
        price: &Price,
    ) -> Checked<String> {
        let length = parts.len();
        let (values, filter) = self.counted_parts(parts, rows);
        let (epsilon, mechanism) = price.buys_many(length);
        let aggregate = "dp_sums";
        self.write_several(Several {
            aggregate,
            bounds: Some((0.0, 1.0)),
            values,
            filter,
            length,
            epsilon,
            mechanism: self.mechanism(aggregate, Some(&mechanism), 1)?,
            unit: f64::from(rows),
        })
    }

    /// Several questions or numbers, as the query has them. Where a person has several rows, questions are whether any of
    /// them says yes: numbers from 0 to 1, which are added up.
    pub(super) fn write_own_several(
        &mut self,
        asked: &Asked<'t>,
        own: &Own,
        terms: &Terms,
    ) -> Checked<usize> {
        let is_row = self.rows_are_people();
        let asks = own.reads == Reads::Questions;
        let aggregate = match (asks && !is_row, own.name) {
            (true, "dp_counts") => "dp_sums",
            (true, _) => "dp_sums_estimate",
            (false, name) => name,
        };
        let bounds = match asks {
            true => (!is_row).then_some((0.0, 1.0)),
            false => asked.bounds,
        };
        let filter = self.filter(asked);
        let values = asked.several.iter();
        let values: Vec<_> = values
            .map(|value| format!("${}", self.parameter(*value)))
            .collect();
        let (values, filter) = match is_row {
            true => {
                let element = if asks { "bool" } else { "float8" };
                self.several_of_rows(values, element, filter)
            }
            false => {
                let rows = terms.rows;
                let part = |question: &String| {
                    let conditions = filter.iter().chain([question]);
                    let conditions: Vec<_> = conditions.map(|one| format!("({one})")).collect();
                    self.counted(None, Some(conditions.join(" AND ")), rows).0
                };
                let parts = values.iter().map(part).collect();
                self.counted_parts(parts, rows)
            }
        };
        let mechanism = self.mechanism(aggregate, terms.mechanism.as_deref(), terms.rows)?;
        self.write_several(Several {
            aggregate,
            bounds,
            values,
            filter,
            length: asked.several.len(),
            epsilon: terms.epsilon,
            mechanism,
            unit: 1.0,
        })?;
        self.outputs.push(own_column(self.answers.len()));
        Ok(self.outputs.len() - 1)
    }
}
