//! `count(DISTINCT x)` of values. A person is kept in at most `groups` values, by a hash, as in the groups of a GROUP
//! BY: at most that many values are there which nobody else brings. So the number of values is like one of rows, where a
//! person has at most `groups` rows. Keys of rows are not shared by people, so a person is kept in `rows` of them.
//!
//! With GROUP BY they are kept in pairs of a group and a value, as many in all groups together: the numbers of all
//! groups are one release.

use dp_core::request::groups::MOST;
use pgrx::pg_sys::Node;

use crate::gate::public_keys::EQUALS;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::requests::asked::Asked;
use crate::gate::template::answers::Terms;
use crate::gate::template::{ByGroup, OF_ITS_OWN, Template, base_type_name, type_name, type_text};
use crate::gate::{cost, template};
use crate::pg::tree::{self, Ref};

impl<'t> Template<'_, 't> {
    /// A number of values, as a sub-query of its own.
    pub(super) fn write_values(&mut self, asked: &Asked<'t>, are_keys: bool) -> Checked<usize> {
        if self.period.is_some() {
            return Err(Reason::with_hint(
                "count(DISTINCT ...) of values in a table by period",
                "count(DISTINCT ...) of the column that names the person counts people.",
            ));
        }
        let argument = asked.argument.ok_or("an aggregate is about nothing")?;
        let most = match are_keys {
            true => self.rows.min(MOST),
            false if self.rows_are_people() => 1,
            false => self.most_groups,
        };
        let terms = Terms::usual(&self.price, "dp_count", most);
        // What a person is kept in are pairs of a group and a value: as many in all groups together as in one.
        let mechanism = self.mechanism_in("dp_count", terms.mechanism.as_deref(), most, 1)?;
        let counted = cost::Call::of("dp_count", terms.epsilon, &mechanism);
        self.charge(&counted)?;
        self.note_call(&counted, self.outputs.len());
        let values = self.write_kept(asked, argument, most)?;
        let budget = self.budget(terms.epsilon, &mechanism);
        let call = format!("{}.dp_count(true, {budget})", self.schema);
        if self.set.is_empty() {
            self.answers
                .push(format!("{OF_ITS_OWN}{call} FROM ({values}) d)"));
        } else {
            let by = Vec::from_iter(self.set.iter().map(|i| format!("d.k{i}"))).join(", ");
            let exact =
                format!("SELECT {by}, pg_catalog.count(*) AS n FROM ({values}) d GROUP BY {by}");
            self.answers.push("NULL::pg_catalog.int8".to_owned());
            self.values.push(ByGroup {
                number: self.answers.len(),
                exact,
                call,
            });
        }
        self.outputs.push(template::own_column(self.answers.len()));
        Ok(self.outputs.len() - 1)
    }

    /// A row for each value that people are kept in; of groups, for each of their pairs, with the keys.
    fn write_kept(
        &mut self,
        asked: &Asked<'t>,
        argument: Ref<'t, Node>,
        most: u32,
    ) -> Checked<String> {
        let value = format!("${}", self.parameter(argument));
        let filter = self.filter(asked).map(|filter| format!(" AND ({filter})"));
        let filter = filter.unwrap_or_default();
        let (schema, person) = (&self.schema, format!("${}", self.unit));
        let declared = self.declared_values(&self.set);
        let rows = format!("WHERE {person} IS NOT NULL AND {value} IS NOT NULL{filter}{declared}");
        let of_each_key = |text: &dyn Fn(&usize) -> String| {
            let texts = self.set.iter().map(|i| text(i) + ", ");
            texts.collect::<String>()
        };
        // By an aggregate of each value, so that no call takes the rows for those that were kept of persons.
        if self.rows_are_people() {
            let places = (1..=self.set.len() + 1).map(|place| place.to_string());
            let places = Vec::from_iter(places).join(", ");
            let keys = of_each_key(&|i| format!("${i} AS k{i}"));
            return Ok(format!(
                "SELECT {keys}{value} AS v, pg_catalog.count(*) AS n {rows} GROUP BY {places}"
            ));
        }
        self.check_parts(self.set.len() + 1)?;
        let kind = type_text(tree::type_of(argument), tree::modifier_of(argument));
        let types = of_each_key(&|i| format!("k{i} {}", type_name(&self.keys[i - 1])));
        let (given, keys) = (
            of_each_key(&|i| format!("${i}")),
            of_each_key(&|i| format!("b.k{i}")),
        );
        Ok(format!(
            "SELECT {keys}pg_catalog.count(*) AS n FROM (SELECT {schema}.dp_groups({most}, {person}, {given}{value}) AS g \
             {rows} GROUP BY {person}) p CROSS JOIN LATERAL {schema}.dp_unnest(p.g) AS b({types}v {kind}) \
             GROUP BY {keys}b.v"
        ))
    }

    /// A part with the numbers of values of the groups that it has, and of no others: groups are chosen without them.
    /// Both are materialized, as noise is drawn once.
    pub(super) fn with_values(&self, part: String) -> String {
        if self.values.is_empty() {
            return part;
        }
        let same = |side: &str| {
            let keys = self.set.iter().map(|i| {
                let (kind, key) = (base_type_name(&self.keys[i - 1]), format!("{side}.k{i}"));
                format!("ARRAY[{key}::{kind}]")
            });
            Vec::from_iter(keys)
        };
        let (mut columns, mut joins) = (Vec::new(), String::new());
        columns.extend((1..=self.keys.len()).map(|i| format!("o.k{i}")));
        for number in 1..=self.answers.len() {
            let Some(values) = self.values.iter().find(|values| values.number == number) else {
                columns.push(format!("o.a{number}"));
                continue;
            };
            // Arrays are the same where both have a NULL, and can be hashed.
            let sides = same("o").into_iter().zip(same(&format!("e{number}")));
            let same = sides.map(|(one, other)| format!("{one} {EQUALS} {other}"));
            let same = Vec::from_iter(same).join(" AND ");
            let ByGroup { exact, call, .. } = values;
            joins += &format!(" LEFT JOIN ({exact}) e{number} ON {same}");
            // In FROM itself, the series would be stored before it is counted.
            let series = format!("pg_catalog.generate_series(1::pg_catalog.int8, e{number}.n)");
            columns.push(format!(
                "{OF_ITS_OWN}{call} FROM (SELECT {series} AS i) s) AS a{number}"
            ));
        }
        columns.extend((1..=self.keys.len()).map(|i| format!("o.g{i}")));
        let columns = columns.join(", ");
        format!(
            "WITH part AS MATERIALIZED ({part}), counted AS MATERIALIZED (SELECT {columns} FROM part o{joins}) \
             SELECT * FROM counted"
        )
    }
}
