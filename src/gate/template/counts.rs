//! The counts of a block: one release, or one price where no row is in two of them.

use pgrx::pg_sys::Aggref;

use crate::gate::price::Price;
use crate::gate::rejection::Checked;
use crate::gate::requests::asked::Asked;
use crate::gate::shown::Answer;
use crate::gate::template::several::Several;
use crate::gate::template::{Level, People, Template, float, own_column};
use crate::pg::tree::{self, Condition, Ref};

/// The most counts whose conditions are compared with each other.
const MOST_COMPARED: usize = 100;

impl<'t> Template<'_, 't> {
    /// Counts of a block. Where a row is a person, those of conditions that no row can meet together are as one, since a
    /// person is in one of them. Others are one release where that is cheaper, each with the noise that it had alone.
    pub(super) fn write_counts(
        &mut self,
        counts: &[(&Asked<'t>, Vec<Ref<'t, Aggref>>)],
    ) -> Checked<Vec<usize>> {
        let asked: Vec<&Asked<'t>> = counts.iter().map(|(asked, _)| *asked).collect();
        if asked.len() < 2 {
            return asked.into_iter().map(|one| self.write_alone(one)).collect();
        }
        let units = self.units_of_counts(&asked);
        let count = number_of(&units);
        match self.price.of_many(asked.len()) {
            Some((times, price)) if times < count as f64 => self.write_many(&asked, &price),
            _ => {
                let mut paid = vec![false; count];
                let columns = asked.into_iter().zip(units).map(|(one, unit)| {
                    self.is_paid = std::mem::replace(&mut paid[unit], true);
                    let column = self.write_alone(one);
                    self.is_paid = false;
                    column
                });
                columns.collect()
            }
        }
    }

    /// How many times the price of one these counts cost, where nothing is drawn with them.
    pub(super) fn price_of_counts(&mut self, asked: &[&Asked<'t>]) -> f64 {
        if asked.len() < 2 {
            return asked.len() as f64;
        }
        let count = number_of(&self.units_of_counts(asked)) as f64;
        match self.price.of_many(asked.len()) {
            Some((times, _)) if times < count => times,
            _ => count,
        }
    }

    /// Which counts are paid together: the same in all grouping sets.
    fn units_of_counts(&mut self, asked: &[&Asked<'t>]) -> Vec<usize> {
        let is_row = self.rows_are_people();
        let units = self.units.get_or_insert_with(|| match is_row {
            true => units(asked),
            false => (0..asked.len()).collect(),
        });
        units.clone()
    }

    /// Whether each row is a person, so that the aggregates read it.
    pub(super) fn rows_are_people(&self) -> bool {
        matches!(self.level, Level::Row | Level::RowBelow)
    }

    /// Counts of one release. Where a row is a person they are yes/no questions to it; else a person contributes to each
    /// a part of the most that they may, and these are added up as numbers from 0 to 1.
    fn write_many(&mut self, asked: &[&Asked<'t>], price: &Price) -> Checked<Vec<usize>> {
        let (length, is_row) = (asked.len(), self.rows_are_people());
        let rows = if is_row { 1 } else { self.rows };
        let mechanism = match is_row {
            true => {
                let questions = asked.iter().map(|one| self.question(one)).collect();
                let (values, filter) = self.several_of_rows(questions, "bool", None);
                let (epsilon, mechanism) = price.buys_many(length);
                let aggregate = "dp_counts";
                self.write_several(Several {
                    aggregate,
                    bounds: None,
                    values,
                    filter,
                    length,
                    epsilon,
                    mechanism: self.mechanism(aggregate, Some(&mechanism), 1)?,
                    unit: 1.0,
                })?
            }
            false => {
                let parts = asked.iter().map(|one| self.rows(one, rows).0).collect();
                self.write_parts(parts, rows, price)?
            }
        };
        let scale = self.scale_of_last();
        let column = own_column(self.answers.len());
        let first = self.outputs.len();
        for (one, i) in asked.iter().zip(1..) {
            let number = match rows {
                1 => format!("({column})[{i}]"),
                _ => format!(
                    "(({column})[{i}] OPERATOR(pg_catalog.*) {})",
                    float(f64::from(rows))
                ),
            };
            if self.people.is_none() && self.counts_people(one, false) {
                self.people = Some(People {
                    number: number.clone(),
                    aggregate: "dp_counts",
                    mechanism: mechanism.clone(),
                });
            }
            self.note_scale(Answer::Column(self.outputs.len()), scale);
            self.outputs.push(number);
        }
        Ok((first..first + length).collect())
    }

    /// Whether a row is counted, as a question to it.
    fn question(&mut self, asked: &Asked<'t>) -> String {
        let argument = asked.argument.map(|argument| self.parameter(argument));
        let argument = argument.map(|x| format!("${x} IS NOT NULL"));
        let filter = self.filter(asked).map(|filter| format!("({filter})"));
        let conditions: Vec<_> = argument.into_iter().chain(filter).collect();
        match conditions.is_empty() {
            true => "true".to_owned(),
            false => conditions.join(" AND "),
        }
    }
}

/// How many sets these are.
fn number_of(units: &[usize]) -> usize {
    units.iter().max().map_or(0, |last| last + 1)
}

/// Counts by conditions that no row can meet together, as few sets as are found: the number of its set, for each.
fn units(asked: &[&Asked]) -> Vec<usize> {
    let is_few = asked.len() <= MOST_COMPARED;
    let conditions = asked
        .iter()
        .map(|one| one.filter.filter(|_| is_few).map(tree::condition));
    let mut sets = Vec::<Vec<Condition>>::new();
    let found = conditions.map(|condition| {
        let excludes_all = |set: &Vec<_>| {
            condition.is_some_and(|condition| {
                !set.is_empty() && set.iter().all(|other| tree::excludes(*other, condition))
            })
        };
        let unit = sets.iter().position(excludes_all).unwrap_or_else(|| {
            sets.push(Vec::new());
            sets.len() - 1
        });
        sets[unit].extend(condition);
        unit
    });
    found.collect()
}
