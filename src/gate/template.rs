//! The query that takes the place of a block: written as SQL, with parameters where expressions of the analyst stand.
//!
//! Every name in it is one of ours or of PostgreSQL, with its schema, and every operator too.

mod across;
mod answers;
mod counts;
pub mod graft;
mod listed;
mod scale;
mod several;
mod totals;
mod values;
mod vector;

use dp_core::privacy::spending::Spent;
use dp_core::{noise, registry};
use pgrx::pg_sys::{self, Node, Oid};

use crate::gate::bill::Bill;
use crate::gate::block::{Block, GroupKey};
use crate::gate::cost::{self, Priced};
use crate::gate::defence::Defence;
use crate::gate::periods;
use crate::gate::policy::{quoted, quoted_name};
use crate::gate::price::Price;
use crate::gate::public_keys;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::requests::asked::{self, Asked};
use crate::gate::shown::{Answer, Scale};
use crate::pg::extension;
use crate::pg::procedure;
use crate::pg::tree::{self, Ref};

/// The most keys and contributions that `dp_groups` takes.
const MOST_PARTS: usize = 62;

/// What an answer begins with that has a FROM of its own.
const OF_ITS_OWN: &str = "(SELECT ";

/// How persons are bounded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// A row is a person, and the aggregates read it.
    Row,
    /// A row is a person, and passes a sub-query.
    RowBelow,
    /// A sub-query makes one row of a person.
    Person,
    /// A sub-query makes one row of a person in each of their groups.
    Groups,
}

/// A number of people among the answers, with Gaussian noise or other.
struct People {
    /// Where it is in the rows of a part, as a `float8`.
    number: String,
    aggregate: &'static str,
    mechanism: String,
}

/// Which groups are shown.
#[derive(Default)]
struct Shown {
    /// A condition of HAVING.
    having: String,
    /// The number that must be above another.
    above: Option<(People, f64)>,
}

/// Numbers of values, one for each group.
struct ByGroup {
    /// Which call it is, from 1.
    number: usize,
    /// How many values each group has, as `n`, with its keys.
    exact: String,
    /// The call that adds the noise, over as many rows.
    call: String,
}

/// A block that is being written.
pub struct Template<'a, 't> {
    block: &'a Block<'t>,
    keys: &'a [GroupKey<'t>],
    /// The schema of the public aggregates.
    schema: String,
    /// The number of the parameter that is the person.
    unit: usize,
    /// The number of the period of a row, where a person's rows of one period are the privacy unit.
    period: Option<String>,
    level: Level,
    /// Whether each row is known to be somebody's, so that PostgreSQL need not look at it.
    has_person: bool,
    rows: u32,
    groups: u32,
    /// The most groups that a person is kept in where there are several.
    most_groups: u32,
    /// The keys of the grouping set that is written, from 1.
    set: Vec<usize>,
    /// How many groups it has, where the query has all of them.
    listed_groups: Option<usize>,
    /// Whether the answers of all of its groups are numbers of one release.
    is_across: bool,
    price: Price,
    /// What represents `$1`, `$2` and so on.
    parameters: Vec<Ref<'t, Node>>,
    /// Columns of the sub-query.
    below: Vec<String>,
    /// The calls that answer.
    answers: Vec<String>,
    /// The answers, as what is made of the calls: columns of a part.
    outputs: Vec<String>,
    /// Those of them that count values of each group.
    values: Vec<ByGroup>,
    /// How much noise answers have, where it is known.
    scales: Vec<(Answer, Scale)>,
    /// Where the number of all people of a group is among them, if it is.
    people: Option<People>,
    /// Whether groups may be chosen by it.
    needs_people: bool,
    /// Whether what is written now was paid with another.
    is_paid: bool,
    /// Which counts are paid together, once that is known.
    units: Option<Vec<usize>>,
    /// What was charged, in the order of the mechanisms.
    priced: Vec<Priced>,
    /// From how many people on a group is shown in half of all cases.
    shown_from: Option<f64>,
    spent: Spent,
    mechanisms: Vec<String>,
}

/// A block as SQL, with what it costs.
pub struct Written<'t> {
    pub sql: String,
    pub parameters: Vec<Ref<'t, Node>>,
    pub answers: Vec<(Ref<'t, pg_sys::Aggref>, Answer)>,
    /// How much noise they have, where it is known.
    pub scales: Vec<(Answer, Scale)>,
    pub bill: Bill,
    /// Whether anything is released: public values alone are not.
    pub is_release: bool,
    /// What was charged, in the order of the mechanisms.
    pub priced: Vec<Priced>,
    /// From how many people on a group is shown in half of all cases.
    pub shown_from: Option<f64>,
}

/// Writes the block, once for each grouping set.
pub fn write<'t>(
    block: &Block<'t>,
    keys: &[GroupKey<'t>],
    asked: &[Asked<'t>],
    sets: &[Vec<bool>],
    price: Price,
) -> Checked<Written<'t>> {
    let rows = block.most_rows;
    let is_row = block.has_one_row_each();
    let groups = asked::groups(block, asked)?;
    // A table with an index over all of it has no other below it in which the column could be NULL.
    let has_person = is_row && block.has_person();
    let mut template = Template {
        block,
        has_person,
        keys,
        schema: schema()?,
        unit: 0,
        period: None,
        level: Level::Row,
        rows: if is_row { 1 } else { rows },
        groups: 1,
        most_groups: groups,
        set: Vec::new(),
        listed_groups: None,
        is_across: false,
        price,
        parameters: Vec::new(),
        below: Vec::new(),
        answers: Vec::new(),
        outputs: Vec::new(),
        values: Vec::new(),
        scales: Vec::new(),
        people: None,
        // The same in all sets: their rows are put together.
        needs_people: sets.iter().any(|set| {
            let mut of_set = keys.iter().zip(set).filter(|(_, in_set)| **in_set);
            let is_chosen = of_set.any(|(key, _)| key.public.is_none());
            let has_least = block.policy.label.min_people.is_some();
            (has_least && set.contains(&true)) || (is_chosen && price.is_gaussian())
        }),
        is_paid: false,
        units: None,
        priced: Vec::new(),
        shown_from: None,
        spent: Spent::default(),
        mechanisms: Vec::new(),
    };
    // The first ones, each with a number of its own.
    template.parameters.extend(keys.iter().map(|key| key.safe));
    let unit = block.unit()?;
    let unit = template.parameter(unit);
    template.unit = unit;
    let period = match block.period()? {
        // A row is a person, and of one period.
        Some((period, column)) if !is_row => {
            let column = format!("${}", template.parameter(column));
            template.period = Some(periods::number_sql(&period, &column));
            Some(period)
        }
        _ => None,
    };
    let counts_people = asked.iter().any(|asked| asked.counts_people(is_row));
    let mut is_of_one_period = false;
    let mut parts = Vec::new();
    let mut answers = Vec::new();
    let mut is_release = false;
    for set in sets {
        template.below.clear();
        template.answers.clear();
        template.outputs.clear();
        template.values.clear();
        template.people = None;
        let is_grouped = set.contains(&true);
        let of_set = keys.iter().zip(set).filter(|(_, in_set)| **in_set);
        let of_set: Vec<_> = of_set.map(|(key, _)| key).collect();
        let listed = is_grouped && of_set.iter().all(|key| key.public.is_some());
        if let Some(period) = &period {
            let is_chosen = is_grouped && !listed;
            is_of_one_period |= (is_chosen || counts_people)
                && !of_set.iter().any(|key| block.is_of_one_period(key, period));
        }
        template.set = (1..=set.len()).filter(|i| set[i - 1]).collect();
        template.is_across = false;
        template.listed_groups = template.listed_groups(listed);
        let row = match listed {
            true => Level::RowBelow,
            false => Level::Row,
        };
        // Nobody is in more groups than there are, or than a person has values of the keys.
        let groups = template.listed_groups.map_or(groups, |listed| {
            groups.min(u32::try_from(listed).unwrap_or(u32::MAX))
        });
        let groups = match of_set.iter().all(|key| key.is_of_person) {
            true => 1,
            false => groups,
        };
        (template.level, template.groups) = match (is_row, is_grouped) {
            (true, _) => (row, 1),
            (false, false) => (Level::Person, 1),
            (false, true) if of_set.iter().all(|key| key.is_of_single_rows) => (Level::Person, 1),
            // Without its defence a person is in all of their groups, at the price of that number.
            (false, true) if !Defence::Groups.stands() => (Level::Person, groups),
            (false, true) => (Level::Groups, groups),
        };
        if !Defence::Rows.stands() {
            // Without it all rows of a person count, at the price of that number.
            template.level = row;
        }
        answers = template.write_answers(asked)?;
        let outputs = template.outputs.clone();
        let shown = match is_grouped {
            true => template.choose(listed)?,
            false => Shown::default(),
        };
        is_release |= !(listed && template.answers.is_empty());
        let part = template.write_set(set, unit, listed, &shown.having)?;
        let part = template.with_values(part);
        let part = template.write_outputs(&part, &outputs, shown.above);
        parts.push(ordered(&part, keys, set));
    }
    let bill = Bill {
        relation: block.policy.relation,
        others: block
            .policy
            .others
            .iter()
            .map(|other| other.relation)
            .collect(),
        payer: block.payer(),
        spent: template.spent,
        mechanisms: template.mechanisms.join(", "),
        is_of_one_period,
    };
    Ok(Written {
        sql: union(&parts),
        parameters: template.parameters,
        answers,
        scales: template.scales,
        bill,
        is_release,
        priced: template.priced,
        shown_from: template.shown_from,
    })
}

impl<'t> Template<'_, 't> {
    /// The number of the parameter that represents an expression.
    fn parameter(&mut self, node: Ref<'t, Node>) -> usize {
        let known = self.parameters.iter().position(|known| known.same(node));
        known.unwrap_or_else(|| {
            self.parameters.push(node);
            self.parameters.len() - 1
        }) + 1
    }

    /// How many groups the keys of the set have, where the query has all of them.
    fn listed_groups(&self, listed: bool) -> Option<usize> {
        let keys = self.set.iter().map(|i| self.keys[i - 1].public.as_ref());
        let keys: Option<Vec<_>> = keys.collect();
        public_keys::listed(keys.filter(|_| listed)?.into_iter())
    }

    /// The block of one set of keys.
    fn write_set(
        &mut self,
        set: &[bool],
        unit: usize,
        listed: bool,
        having: &str,
    ) -> Checked<String> {
        let keys = self.set.clone();
        let select = |prefix: &str| -> Vec<String> {
            let column = |i: usize| match set[i - 1] {
                true => format!("{prefix}{i} AS k{i}"),
                false => format!("NULL::{} AS k{i}", base_type_name(&self.keys[i - 1])),
            };
            (1..=set.len()).map(column).collect()
        };
        let answers = self.answers.iter().zip(1..);
        let answers = answers.map(|(answer, i)| match self.is_across {
            true => format!("r.a{i}"),
            false => format!("{answer} AS a{i}"),
        });
        let number = self.is_across.then(|| "v.n".to_owned());
        let answers: Vec<String> = answers.chain(number).collect();
        let grouping = set
            .iter()
            .enumerate()
            .map(|(i, in_set)| format!("{} AS g{}", i32::from(!in_set), i + 1));
        let grouping: Vec<String> = grouping.collect();
        let columns = |prefix: &str| {
            let all = [select(prefix), answers.clone(), grouping.clone()].concat();
            match all.is_empty() {
                true => "true AS nothing".to_owned(),
                false => all.join(", "),
            }
        };
        if listed {
            return self.write_listed(&keys, unit, &columns("v.k"));
        }
        // Keys of rows are named by their place: an expression would be computed again.
        let by = keys.iter().map(|i| match self.level {
            Level::Row => i.to_string(),
            _ => format!("b.k{i}"),
        });
        let by = by.collect::<Vec<_>>().join(", ");
        let group = match keys.is_empty() {
            true => String::new(),
            false => format!(" GROUP BY {by}"),
        };
        let (columns, from) = match self.level {
            Level::Row => (columns("$"), format!("WHERE {}", self.somebody(unit))),
            _ => (
                columns("b.k"),
                format!("FROM {}", self.write_below(&keys, unit)?),
            ),
        };
        // Without an aggregate and a key it would be a row for each row.
        let has_aggregate = self
            .answers
            .iter()
            .any(|answer| !answer.starts_with(OF_ITS_OWN));
        let group = match group.is_empty() && !has_aggregate {
            true => " GROUP BY ()",
            false => &group,
        };
        Ok(format!("SELECT {columns} {from}{group}{having}"))
    }

    /// The condition that a row is somebody's.
    fn somebody(&self, unit: usize) -> String {
        match self.has_person {
            true => "true".to_owned(),
            false => format!("${unit} IS NOT NULL"),
        }
    }

    /// What is in FROM as `b`: the rows of people, in groups that they are kept in.
    fn write_below(&self, keys: &[usize], unit: usize) -> Checked<String> {
        let columns = self.below.iter().enumerate();
        let columns = columns
            .map(|(i, made)| format!(", {made} AS c{}", i + 1))
            .collect::<String>();
        let named = keys
            .iter()
            .map(|i| format!(", ${i} AS k{i}"))
            .collect::<String>();
        let person = self.somebody(unit);
        let period = self.period.as_ref().filter(|_| self.level == Level::Person);
        let of_period = period.map_or(String::new(), |period| format!(", {period} AS p"));
        let rows = format!("SELECT ${unit} AS u{of_period}{named}{columns} WHERE {person}");
        match self.level {
            Level::Groups => self.write_groups(keys, unit),
            Level::Person => {
                let units = 1 + usize::from(period.is_some());
                let places = (1..=keys.len() + units).map(|place| place.to_string());
                let places = places.collect::<Vec<_>>().join(", ");
                Ok(format!("({rows} GROUP BY {places}) b"))
            }
            Level::Row | Level::RowBelow => Ok(format!("({rows}) b")),
        }
    }

    /// The groups that each person is kept in, by one aggregate of each person.
    fn write_groups(&self, keys: &[usize], unit: usize) -> Checked<String> {
        self.check_parts(keys.len() + self.below.len())?;
        let schema = &self.schema;
        let parts = keys
            .iter()
            .map(|i| format!(", ${i}"))
            .chain(self.below.iter().map(|made| format!(", {made}")));
        let parts = parts.collect::<String>();
        let columns = keys
            .iter()
            .map(|i| format!("k{i} {}", type_name(&self.keys[i - 1])))
            .chain((1..=self.below.len()).map(|i| format!("c{i} {schema}.dp_contribution")));
        let columns = columns.collect::<Vec<_>>().join(", ");
        // The call groups by its one person, which may be a pair with a period.
        let declared = self.declared_values(keys);
        let person = match &self.period {
            Some(period) => periods::pair_sql(period, &format!("${unit}")),
            None => format!("${unit}"),
        };
        Ok(format!(
            "((SELECT {schema}.dp_groups({}, {person}{parts}) AS g WHERE ${unit} IS NOT NULL{declared} GROUP BY {person}) p \
             CROSS JOIN LATERAL {schema}.dp_unnest(p.g) AS b({columns}))",
            self.groups
        ))
    }

    /// That `dp_groups` takes as many keys and contributions.
    fn check_parts(&self, parts: usize) -> Checked<()> {
        match parts > MOST_PARTS {
            true => Err(Reason::with_hint(
                format!("the query has more than {MOST_PARTS} keys and aggregates"),
                "Ask for some of them in a query of its own: each is charged for itself.",
            )),
            false => Ok(()),
        }
    }

    /// The condition that a row is in a group that is shown: a person is kept in those, if they are in any.
    fn declared_values(&self, keys: &[usize]) -> String {
        let declared = keys.iter().filter_map(|i| {
            let key = &self.keys[i - 1];
            let public = key
                .public
                .as_ref()
                .filter(|_| self.listed_groups.is_some())?;
            public.is_declared_value(&format!("${i}"), &base_type_name(key))
        });
        // Most rows have such a value. Of a key that is computed the planner would believe that next to none has; of a
        // CASE that is not NULL it believes that nearly all are so.
        let likely = |one| format!(" AND CASE WHEN {one} THEN true END IS NOT NULL");
        declared.map(likely).collect()
    }

    /// Which groups are shown: those with enough people that nobody is seen by them, and of as many as the policy asks
    /// for. Where a number of people is released anyway, with Gaussian noise, it decides.
    fn choose(&mut self, listed: bool) -> Checked<Shown> {
        let mut shown = Shown::default();
        let least = self.block.policy.label.min_people;
        let mut above = least.map(|least| f64::from(least).next_down());
        if !listed && Defence::Keep.stands() {
            let delta = self.keep_delta()?;
            if self.price.is_gaussian() {
                let people = self.people()?;
                let needed = registry::shown_above(people.aggregate, &people.mechanism, delta)
                    .map_err(|error| Reason::with_hint(error.to_string(), error.hint.clone()))?;
                self.people = Some(people);
                above = Some(above.map_or(needed, |above| above.max(needed)));
                let failures = Spent::missing(0.0, delta, self.price.accounting());
                let failures =
                    failures.map_err(|error| Reason::with_hint(error.to_string(), error.hint))?;
                self.spent = self.spent.plus(&failures);
                self.mechanisms.push(format!(
                    "groups: above {needed:.1} people, delta={delta:.2e}"
                ));
            } else {
                shown.having = format!(" HAVING {}", self.write_keep(delta)?);
                let kept = noise::kept_from(self.price.pure(), delta, self.groups);
                self.shown_from = kept.ok();
            }
        }
        if let Some(above) = above {
            // The noise is as often above 0 as below.
            self.shown_from = Some(self.shown_from.unwrap_or_default().max(above.ceil()));
            shown.above = Some((self.people()?, above));
        }
        Ok(shown)
    }

    /// A part with its answers as they are shown: those that came together each for itself, in rows in which a number of
    /// people is above another. The part is materialized: what is shown and what decides are drawn once.
    fn write_outputs(
        &self,
        part: &str,
        outputs: &[String],
        above: Option<(People, f64)>,
    ) -> String {
        let own = (1..=self.answers.len()).map(own_column);
        if above.is_none() && own.eq(outputs.iter().cloned()) {
            return part.to_owned();
        }
        let keys = (1..=self.keys.len()).map(|i| format!("o.k{i}"));
        let answers = outputs.iter().zip(1..);
        let answers = answers.map(|(output, i)| format!("{output} AS a{i}"));
        let grouping = (1..=self.keys.len()).map(|i| format!("o.g{i}"));
        let columns = keys.chain(answers).chain(grouping);
        let columns = columns.collect::<Vec<_>>().join(", ");
        let condition = above.map_or(String::new(), |(people, above)| {
            let (number, above) = (people.number, float(above));
            format!(" WHERE {number} OPERATOR(pg_catalog.>) {above}")
        });
        format!("WITH shown AS MATERIALIZED ({part}) SELECT {columns} FROM shown o{condition}")
    }

    /// The number of people of a group, which is asked for if it is not among the answers.
    fn people(&mut self) -> Checked<People> {
        match self.people.take() {
            Some(people) => Ok(people),
            None => self.write_people(),
        }
    }

    /// The delta of a choice of groups.
    fn keep_delta(&self) -> Checked<f64> {
        let delta = self.block.policy.keep_delta()?;
        delta.ok_or_else(|| {
            Reason::with_hint(
                "GROUP BY on undeclared values needs a budget with delta > 0",
                format!(
                    "The owner of {} declares the values of the key by dp_declare(table, column, values), or gives the \
                     budget a delta.",
                    quoted_name(self.block.policy.relation)
                ),
            )
        })
    }

    /// The condition that a group may be shown, by a choice that pays for itself.
    fn write_keep(&mut self, delta: f64) -> Checked<String> {
        let epsilon = self.price.pure();
        let mechanism = self.mechanism("dp_keep", None, 1)?;
        self.charge(&cost::Call {
            delta: Some(delta),
            ..cost::Call::of("dp_keep", Some(epsilon), &mechanism)
        })?;
        Ok(format!(
            "{}.dp_keep({}, {}, {})",
            self.schema,
            float(epsilon),
            float(delta),
            self.literal(&mechanism)
        ))
    }
}

/// All rows of these queries. Each is one that is materialized, as a parallel plan would give a part of them to
/// workers, which release nothing.
fn union(parts: &[String]) -> String {
    let [one] = parts else {
        let named = parts.iter().zip(1..);
        let withs = named.map(|(part, i)| format!("s{i} AS MATERIALIZED ({part})"));
        let selects = (1..=parts.len()).map(|i| format!("SELECT * FROM s{i}"));
        return format!(
            "WITH {} {}",
            withs.collect::<Vec<_>>().join(", "),
            selects.collect::<Vec<_>>().join(" UNION ALL ")
        );
    };
    one.clone()
}

/// The column of a call that is an answer as it is, from 1.
fn own_column(call: usize) -> String {
    format!("o.a{call}")
}

fn filtered(filter: Option<String>) -> String {
    filter.map_or(String::new(), |filter| format!(" FILTER (WHERE {filter})"))
}

/// A number as a constant of type float8, the same to the last bit.
fn float(value: f64) -> String {
    format!("'{value:?}'::pg_catalog.float8")
}

/// A type with its schema and modifier.
fn type_text(kind: Oid, modifier: i32) -> String {
    let flags = pg_sys::FORMAT_TYPE_TYPEMOD_GIVEN | pg_sys::FORMAT_TYPE_FORCE_QUALIFY;
    // SAFETY: a lookup in the catalog, which answers for any number.
    unsafe { tree::text_of(pg_sys::format_type_extended(kind, modifier, flags as u16)) }
}

/// The type of a key, as the query has it: public lists are of its modifier.
fn type_name(key: &GroupKey) -> String {
    type_text(tree::type_of(key.written), tree::modifier_of(key.written))
}

/// The same, or the type that a domain is made of: the conditions of the domain are its owner's code.
fn base_type_name(key: &GroupKey) -> String {
    if !Defence::Domain.stands() {
        return type_name(key);
    }
    let written = key.written;
    let (kind, modifier) = tree::base_type(tree::type_of(written), tree::modifier_of(written));
    type_text(kind, modifier)
}

/// The rows of a part in the order of its keys. The result of a hash table or a join has an order that groups which
/// are not shown, and single rows, take part in.
fn ordered(part: &str, keys: &[GroupKey], set: &[bool]) -> String {
    let by = keys
        .iter()
        .zip(set)
        .zip(1..)
        .filter(|((_, in_set), _)| **in_set);
    let by: Vec<_> = by
        .map(
            |((key, _), i)| match procedure::is_collatable(tree::type_of(key.written)) {
                // By bytes: no two are alike, and no library of collations is asked.
                true => format!("o.k{i} COLLATE pg_catalog.\"C\""),
                false => format!("o.k{i}"),
            },
        )
        .collect();
    match by.is_empty() || !Defence::Order.stands() {
        true => part.to_owned(),
        false => format!("SELECT o.* FROM ({part}) o ORDER BY {}", by.join(", ")),
    }
}

/// The schema of the public aggregates.
fn schema() -> Checked<String> {
    let schema = extension::schema().ok_or("extension dp_mean does not exist")?;
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_namespace_name(schema)) };
    Ok(quoted(&name))
}
