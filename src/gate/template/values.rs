//! `count(DISTINCT x)` of values. A person is kept in at most `groups` values, by a hash, as in the groups of a GROUP BY:
//! at most that many values are there which nobody else brings. So the number of values is like one of rows, where a
//! person has at most `groups` rows. Keys of rows are not shared by people, so a person is kept in `rows` of them.

use dp_core::request::groups::MOST;

use crate::gate::rejection::{Checked, Reason};
use crate::gate::requests::asked::Asked;
use crate::gate::template::answers::Terms;
use crate::gate::template::{OF_ITS_OWN, Template, type_text};
use crate::gate::{cost, template};
use crate::pg::tree;

impl<'t> Template<'_, 't> {
    /// A number of values, as a sub-query of its own.
    pub(super) fn write_values(&mut self, asked: &Asked<'t>, are_keys: bool) -> Checked<usize> {
        if !self.keys.is_empty() {
            return Err(Reason::with_hint(
                "count(DISTINCT ...) of values in a query with GROUP BY",
                match are_keys {
                    true => {
                        "Count them in a query around it, as in SELECT kind, count(*) FROM (SELECT DISTINCT kind, order_id \
                         FROM lines) AS o GROUP BY kind."
                    }
                    false => {
                        "Count the values of one group at a time, with WHERE in the place of GROUP BY. count(DISTINCT ...) \
                         of the column that names the person counts people, in groups too; those with a row in a table \
                         that is joined by LEFT JOIN are count(DISTINCT a.person) FILTER (WHERE b.person IS NOT NULL)."
                    }
                },
            ));
        }
        if self.period.is_some() {
            return Err(Reason::with_hint(
                "count(DISTINCT ...) of values in a table by period",
                "count(DISTINCT ...) of the column that names the person counts people.",
            ));
        }
        let argument = asked.argument.ok_or("an aggregate is about nothing")?;
        let is_row = self.rows_are_people();
        let most = match are_keys {
            true => self.rows.min(MOST),
            false if is_row => 1,
            false => self.most_groups,
        };
        let terms = Terms::usual(&self.price, "dp_count", most);
        let mechanism = self.mechanism("dp_count", terms.mechanism.as_deref(), most)?;
        let counted = cost::Call::of("dp_count", terms.epsilon, &mechanism);
        self.charge(&counted)?;
        self.note_call(&counted, self.outputs.len());
        let value = format!("${}", self.parameter(argument));
        let filter = self.filter(asked).map(|filter| format!(" AND ({filter})"));
        let filter = filter.unwrap_or_default();
        let schema = &self.schema;
        let person = format!("${}", self.unit);
        let rows = format!("WHERE {person} IS NOT NULL AND {value} IS NOT NULL{filter}");
        // By an aggregate of each value, so that no call takes the rows for those that were kept of persons.
        let values = match is_row {
            true => format!("SELECT pg_catalog.count(*) AS n {rows} GROUP BY {value}"),
            false => {
                let kind = type_text(tree::type_of(argument), tree::modifier_of(argument));
                format!(
                    "SELECT pg_catalog.count(*) AS n FROM (SELECT {schema}.dp_groups({most}, {person}, {value}) AS g {rows} \
                     GROUP BY {person}) p CROSS JOIN LATERAL {schema}.dp_unnest(p.g) AS b(v {kind}) GROUP BY b.v"
                )
            }
        };
        let budget = self.budget(terms.epsilon, &mechanism);
        let call = format!("{schema}.dp_count(true, {budget})");
        self.answers
            .push(format!("{OF_ITS_OWN}{call} FROM ({values}) d)"));
        self.outputs.push(template::own_column(self.answers.len()));
        Ok(self.outputs.len() - 1)
    }
}
