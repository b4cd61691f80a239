//! The query that takes the place of a block: written as SQL, with parameters where expressions of the analyst stand,
//! parsed by PostgreSQL, and then given these expressions and the analyst's FROM.
//!
//! Every name in it is one of ours or of PostgreSQL, with its schema, and every operator too.

use dp_core::privacy::spending::Spent;
use dp_core::registry;
use dp_core::request::ranks::Ranks;
use pgrx::pg_sys::{self, Node, Oid, Query};

use crate::call::signature::Role;
use crate::gate::access;
use crate::gate::asked::{self, Asked, Own, What};
use crate::gate::block::{Block, Key};
use crate::gate::cost;
use crate::gate::defence::Defence;
use crate::gate::policy::quoted_name;
use crate::gate::receipt::Receipt;
use crate::gate::refuse::{Checked, Reason};
use crate::pg::tree::{self, Ref};
use crate::pg::{extension, procedure};

/// The most keys and contributions that `dp_groups` takes.
const MOST_PARTS: usize = 62;

/// Where the answer of an aggregate stands in the rewritten block: among the answers, from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The column itself.
    Column(usize),
    /// A field of a row, from 1.
    Field(usize, i16),
    /// The product of both.
    Product(usize),
    /// A public number.
    Public(f64),
}

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

/// A block that is being written.
pub struct Template<'a> {
    block: &'a Block,
    keys: &'a [Key],
    /// The schema of the public aggregates.
    schema: String,
    level: Level,
    /// Whether each row is known to be somebody's, so that PostgreSQL need not look at it.
    has_person: bool,
    rows: u32,
    groups: u32,
    epsilon: f64,
    /// What stands for `$1`, `$2` and so on.
    parameters: Vec<Ref<Node>>,
    /// Columns of the sub-query.
    below: Vec<String>,
    /// The answers.
    answers: Vec<String>,
    spent: Spent,
    mechanisms: Vec<String>,
}

/// The public arguments of a call, but for its bounds.
struct Terms<'a> {
    epsilon: f64,
    mechanism: Option<&'a str>,
    buckets: Option<f64>,
    ranks: Option<Ranks<'a>>,
    confidence: Option<f64>,
}

impl<'a> Terms<'a> {
    /// Those of an aggregate of PostgreSQL: the policy's price, and the default mechanism.
    fn usual(epsilon: f64) -> Self {
        Self {
            epsilon,
            mechanism: None,
            buckets: None,
            ranks: None,
            confidence: None,
        }
    }

    /// The same of a mean, a sum or a variance: the mechanism that finds bounds where nothing bounds the numbers.
    fn of_numbers(epsilon: f64, asked: &Asked) -> Self {
        Self {
            mechanism: asked.bounds.is_none().then_some("auto"),
            ..Self::usual(epsilon)
        }
    }

    fn of(own: &'a Own) -> Checked<Self> {
        let epsilon = own.value(Role::Epsilon);
        Ok(Self {
            epsilon: epsilon.ok_or("an aggregate has no epsilon")?,
            mechanism: own.mechanism.as_deref(),
            buckets: own.value(Role::Buckets),
            ranks: match &own.quantiles {
                Some(quantiles) => Some(Ranks::Many(quantiles)),
                None => own.value(Role::Quantile).map(|q| Ranks::One(Some(q))),
            },
            confidence: own.value(Role::Confidence),
        })
    }
}

/// A block as SQL, with what it costs.
pub struct Written {
    pub sql: String,
    pub parameters: Vec<Ref<Node>>,
    pub answers: Vec<(Ref<pg_sys::Aggref>, Answer)>,
    pub receipt: Option<Receipt>,
}

/// Writes the block, once for each grouping set.
pub fn write(
    block: &Block,
    keys: &[Key],
    asked: &[Asked],
    sets: &[Vec<bool>],
    epsilon: f64,
) -> Checked<Written> {
    let listed = !keys.is_empty() && keys.iter().all(|key| key.values.is_some()) && sets.len() == 1;
    let rows = block.policy.label.rows;
    let is_row = block.has_one_row_each();
    let row = match listed {
        true => Level::RowBelow,
        false => Level::Row,
    };
    let level = match is_row {
        true => row,
        false => Level::Person,
    };
    // A table with an index over all of it has no other below it in which the column could be NULL.
    let has_person = is_row && block.policy.is_not_null(block.policy.unit);
    let mut template = Template {
        block,
        has_person,
        keys,
        schema: asked::schema()?,
        level,
        rows: if is_row { 1 } else { rows },
        groups: 1,
        epsilon,
        parameters: Vec::new(),
        below: Vec::new(),
        answers: Vec::new(),
        spent: Spent::default(),
        mechanisms: Vec::new(),
    };
    // The first ones, each with a number of its own.
    template.parameters.extend(keys.iter().map(|key| key.safe));
    let unit = block.unit()?;
    let unit = template.parameter(unit);
    let mut parts = Vec::new();
    let mut answers = Vec::new();
    for set in sets {
        template.below.clear();
        template.answers.clear();
        let is_grouped = set.contains(&true);
        (template.level, template.groups) = match (is_row, is_grouped) {
            (true, _) => (level, 1),
            (false, false) => (Level::Person, 1),
            // Without its defence a person is in all of their groups, at the price of so many.
            (false, true) if !Defence::Groups.stands() => {
                (Level::Person, block.policy.label.groups)
            }
            (false, true) => (Level::Groups, block.policy.label.groups),
        };
        if !Defence::Rows.stands() {
            // Without it all rows of a person count, at the price of so many.
            template.level = row;
        }
        answers = template.write_answers(asked)?;
        parts.push(template.write_set(set, unit, listed)?);
    }
    let receipt = Receipt {
        relation: block.policy.relation,
        view_owner: block.view_owner,
        spent: template.spent,
        mechanisms: template.mechanisms.join(", "),
    };
    let is_release = !(listed && template.answers.is_empty());
    // The first part has the receipt of all.
    let parts = parts
        .iter()
        .enumerate()
        .map(|(i, part)| match (i, is_release) {
            (_, false) => part.clone(),
            (0, true) => format!("{part} {}", receipt.sql()),
            (_, true) => format!("{part} {}", receipt.free().sql()),
        });
    let sql = union(&parts.collect::<Vec<_>>());
    Ok(Written {
        sql,
        parameters: template.parameters,
        answers,
        receipt: is_release.then_some(receipt),
    })
}

impl Template<'_> {
    /// The number of the parameter that stands for an expression.
    fn parameter(&mut self, node: Ref<Node>) -> usize {
        let known = self.parameters.iter().position(|known| known.same(node));
        known.unwrap_or_else(|| {
            self.parameters.push(node);
            self.parameters.len() - 1
        }) + 1
    }

    /// Writes what answers each of the aggregates. Mean, sum and count of the same numbers are one release.
    fn write_answers(&mut self, asked: &[Asked]) -> Checked<Vec<(Ref<pg_sys::Aggref>, Answer)>> {
        let is_pair = |what: &What| what.is_of_numbers() || matches!(what, What::Count);
        let mut answers = Vec::new();
        let mut done = self.write_free(asked, &mut answers);
        self.write_of_two(asked, &mut done, &mut answers)?;
        for (i, one) in asked.iter().enumerate() {
            if done[i] {
                continue;
            }
            // A count of all rows is alike to numbers that are not alike to each other: it goes with the first ones.
            let is_one = |one: &Asked, other: &Asked| {
                is_pair(&one.what) && is_pair(&other.what) && self.is_one_release(one, other)
            };
            let open: Vec<usize> = (i..asked.len()).filter(|j| !done[*j]).collect();
            let numbers = open
                .iter()
                .map(|j| &asked[*j])
                .find(|other| other.what.is_of_numbers() && is_one(one, other));
            let alike: Vec<usize> = open
                .into_iter()
                .filter(|j| *j == i || is_one(numbers.unwrap_or(one), &asked[*j]))
                .collect();
            match (numbers, alike.len()) {
                (Some(numbers), 2..) => {
                    let column = self.write_pair(numbers)?;
                    for j in alike {
                        let answer = match asked[j].what {
                            What::Mean => Answer::Field(column, 1),
                            What::Count => Answer::Field(column, 2),
                            _ => Answer::Product(column),
                        };
                        answers.push((asked[j].call, answer));
                        done[j] = true;
                    }
                }
                _ => {
                    let column = self.write_one(one)?;
                    for j in alike {
                        answers.push((asked[j].call, Answer::Column(column)));
                        done[j] = true;
                    }
                }
            }
        }
        Ok(answers)
    }

    /// What costs nothing: public bounds. Which aggregates these are.
    fn write_free(
        &self,
        asked: &[Asked],
        answers: &mut Vec<(Ref<pg_sys::Aggref>, Answer)>,
    ) -> Vec<bool> {
        let free = asked.iter().map(|one| {
            let answer = match (&one.what, one.bounds) {
                (What::Least, Some((lo, _))) => Answer::Public(lo),
                (What::Greatest, Some((_, hi))) => Answer::Public(hi),
                _ => return false,
            };
            answers.push((one.call, answer));
            true
        });
        free.collect()
    }

    /// What is asked of two columns: all of the same two are one release.
    fn write_of_two(
        &mut self,
        asked: &[Asked],
        done: &mut [bool],
        answers: &mut Vec<(Ref<pg_sys::Aggref>, Answer)>,
    ) -> Checked<()> {
        let of_two = |one: &Asked| match one.what {
            What::OfTwo(what) => Some(what),
            _ => None,
        };
        for (i, one) in asked.iter().enumerate() {
            let Some(what) = of_two(one).filter(|_| !done[i]) else {
                continue;
            };
            let alike = asked.iter().enumerate();
            let alike = alike.filter(|(_, other)| one.is_about_the_same(other));
            let alike = alike.filter_map(|(j, other)| Some((j, of_two(other)?)));
            let alike: Vec<_> = alike.collect();
            let is_alone = alike.iter().all(|(_, other)| *other == what);
            let alone = what.alone().filter(|_| is_alone);
            let terms = Terms::usual(self.epsilon);
            let column = self.write_numbers(alone.unwrap_or("dp_regr"), one, &terms)?;
            for (j, what) in alike {
                let answer = match alone {
                    Some(_) => Answer::Column(column),
                    None => Answer::Field(column, what.field()),
                };
                answers.push((asked[j].call, answer));
                done[j] = true;
            }
        }
        Ok(())
    }

    /// Whether two of mean, sum and count are about the same rows.
    fn is_one_release(&self, one: &Asked, other: &Asked) -> bool {
        if one.is_about_the_same(other) {
            return true;
        }
        // All rows are those in which a number is that is never NULL.
        let counted = |count: &Asked, number: &Asked| {
            matches!(count.what, What::Count)
                && count.argument.is_none()
                && number.what.is_of_numbers()
                && number
                    .argument
                    .is_some_and(|argument| self.block.is_never_null(argument))
                && match (count.filter, number.filter) {
                    (None, None) => true,
                    (Some(one), Some(other)) => one.same(other),
                    _ => false,
                }
        };
        counted(one, other) || counted(other, one)
    }

    /// What stands for the numbers of each row, and the filter of the aggregate that reads them.
    fn numbers(&mut self, asked: &Asked) -> Checked<(String, String)> {
        let argument = asked.argument.ok_or("an aggregate is about nothing")?;
        let number = format!("${}", self.parameter(argument));
        let mut filter = self.filter(asked);
        let mut columns = vec![(number, asked.bounds)];
        if let Some(x) = asked.x {
            columns.push((format!("${}", self.parameter(x.argument)), Some(x.bounds)));
            // What a person contributes in both is of the same rows.
            if matches!(self.level, Level::Person | Level::Groups) {
                let both = columns.iter().map(|(number, _)| {
                    format!("{number} OPERATOR(pg_catalog.<>) 'NaN'::pg_catalog.float8")
                });
                let both = both.chain(filter).collect::<Vec<_>>();
                filter = Some(both.join(" AND "));
            }
        }
        if self.level == Level::Row {
            let numbers = columns.into_iter().map(|(number, _)| number);
            return Ok((numbers.collect::<Vec<_>>().join(", "), filtered(filter)));
        }
        let below = columns.into_iter().map(|(number, bounds)| {
            let filter = filter.as_deref();
            Ok(match (self.level, filter) {
                (Level::RowBelow, Some(filter)) => {
                    self.column(format!("CASE WHEN {filter} THEN {number} END"))
                }
                (Level::RowBelow, None) => self.column(number),
                _ => {
                    let (lo, hi) = bounds.ok_or("what a person contributes has no bounds")?;
                    self.contribution(&number, lo, hi, self.rows, filter)
                }
            })
        });
        let below = below.collect::<Checked<Vec<_>>>()?;
        Ok((below.join(", "), String::new()))
    }

    /// The condition on the rows of an aggregate.
    fn filter(&mut self, asked: &Asked) -> Option<String> {
        let filter = asked.filter?;
        Some(format!("${}", self.parameter(filter)))
    }

    /// The same of rows that are counted, each where the argument is not NULL; of people, at most one row each.
    fn rows(&mut self, asked: &Asked, rows: u32) -> (String, String) {
        let argument = asked.argument.map(|argument| self.parameter(argument));
        let filter = self.filter(asked);
        match self.level {
            Level::Row => {
                let x = argument.map_or("true".to_owned(), |x| format!("${x}"));
                (x, filtered(filter))
            }
            Level::RowBelow => {
                let conditions = [argument.map(|x| format!("${x} IS NOT NULL")), filter];
                let conditions: Vec<_> = conditions.into_iter().flatten().collect();
                let value = match conditions.is_empty() {
                    true => "true".to_owned(),
                    false => format!("CASE WHEN {} THEN true END", conditions.join(" AND ")),
                };
                (self.column(value), String::new())
            }
            Level::Person | Level::Groups => {
                let x = match argument {
                    Some(x) => format!("CASE WHEN ${x} IS NOT NULL THEN {} END", float(0.5)),
                    None => float(0.5),
                };
                let made = self.contribution(&x, 0.0, 1.0, rows, filter.as_deref());
                (made, String::new())
            }
        }
    }

    /// What a person contributes to a group, as a column of the sub-query.
    fn contribution(
        &mut self,
        x: &str,
        lo: f64,
        hi: f64,
        rows: u32,
        filter: Option<&str>,
    ) -> String {
        let (schema, lo, hi) = (&self.schema, float(lo), float(hi));
        let made = match (self.level, filter) {
            (Level::Groups, Some(filter)) => {
                format!("{schema}.dp_part(CASE WHEN {filter} THEN {x} END, {lo}, {hi}, {rows})")
            }
            (Level::Groups, None) => format!("{schema}.dp_part({x}, {lo}, {hi}, {rows})"),
            _ => format!(
                "{schema}.dp_contribution({x}, {lo}, {hi}, {rows}){}",
                filtered(filter.map(str::to_owned))
            ),
        };
        self.column(made)
    }

    /// The name of a column of the sub-query.
    fn column(&mut self, value: String) -> String {
        let known = self.below.iter().position(|known| *known == value);
        let i = known.unwrap_or_else(|| {
            self.below.push(value);
            self.below.len() - 1
        });
        format!("b.c{}", i + 1)
    }

    /// The text of a mechanism for this block: the persons are bounded by us.
    fn mechanism(&self, aggregate: &str, own: Option<&str>, rows: u32) -> Checked<String> {
        let default = registry::default_mechanism(aggregate);
        let text = own.or(default).ok_or("an aggregate has no mechanism")?;
        registry::with_unit(text, rows, self.groups)
            .map_err(|error| Reason::with_hint(error.to_string(), error.hint.clone()))
    }

    /// Adds the price of a call to that of the block.
    fn charge(&mut self, call: &cost::Call) -> Checked<()> {
        let (spent, mechanism) = cost::of(call)?;
        self.spent = self.spent.plus(&spent);
        self.mechanisms
            .push(format!("{}: {mechanism}", call.aggregate));
        Ok(())
    }

    fn write_pair(&mut self, numbers: &Asked) -> Checked<usize> {
        let terms = Terms::of_numbers(self.epsilon, numbers);
        self.write_numbers("dp_mean_and_count", numbers, &terms)
    }

    fn write_one(&mut self, asked: &Asked) -> Checked<usize> {
        let usual = Terms::usual(self.epsilon);
        let of_numbers = Terms::of_numbers(self.epsilon, asked);
        match &asked.what {
            What::Mean => self.write_numbers("dp_mean", asked, &of_numbers),
            What::Sum => self.write_numbers("dp_sum", asked, &of_numbers),
            What::Variance => self.write_numbers("dp_variance", asked, &of_numbers),
            What::Stddev => self.write_numbers("dp_stddev", asked, &of_numbers),
            // Written before.
            What::OfTwo(_) | What::Least | What::Greatest => {
                Err("an aggregate has no answer of its own".into())
            }
            What::Count => self.write_count("dp_count", asked, self.rows, &usual),
            What::People => self.write_count("dp_count", asked, 1, &usual),
            What::Quantile(q) => {
                let terms = Terms {
                    ranks: Some(Ranks::One(Some(*q))),
                    ..usual
                };
                self.write_numbers("dp_quantile", asked, &terms)
            }
            What::Quantiles(quantiles) => {
                let terms = Terms {
                    ranks: Some(Ranks::Many(quantiles)),
                    ..usual
                };
                self.write_numbers("dp_quantiles", asked, &terms)
            }
            What::Own(own) => {
                let terms = Terms::of(own)?;
                match own.name.starts_with("dp_count") {
                    true => self.write_count(own.name, asked, self.rows, &terms),
                    false => self.write_numbers(own.name, asked, &terms),
                }
            }
        }
    }

    /// An aggregate of rows that are counted.
    fn write_count(
        &mut self,
        aggregate: &'static str,
        asked: &Asked,
        rows: u32,
        terms: &Terms,
    ) -> Checked<usize> {
        let (x, filter) = self.rows(asked, rows);
        self.write_call(aggregate, &x, [None, None], rows, terms, &filter)
    }

    /// An aggregate of numbers between bounds.
    fn write_numbers(
        &mut self,
        aggregate: &'static str,
        asked: &Asked,
        terms: &Terms,
    ) -> Checked<usize> {
        let (x, filter) = self.numbers(asked)?;
        let bounds = asked
            .bounds
            .map_or((None, None), |(lo, hi)| (Some(lo), Some(hi)));
        let x_bounds = asked.x.map(|x| (Some(x.bounds.0), Some(x.bounds.1)));
        let bounds = [Some(bounds), x_bounds];
        self.write_call(aggregate, &x, bounds, self.rows, terms, &filter)
    }

    /// A call of one of our aggregates, and its price.
    fn write_call(
        &mut self,
        aggregate: &'static str,
        x: &str,
        [bounds, x_bounds]: [cost::Bounds; 2],
        rows: u32,
        terms: &Terms,
        filter: &str,
    ) -> Checked<usize> {
        let mechanism = self.mechanism(aggregate, terms.mechanism, rows)?;
        self.charge(&cost::Call {
            aggregate,
            bounds,
            x_bounds,
            epsilon: terms.epsilon,
            delta: None,
            length: terms.buckets.map(|buckets| buckets as usize),
            ranks: terms.ranks,
            mechanism: &mechanism,
        })?;
        let bound = |bound: Option<f64>| bound.map_or("NULL".to_owned(), float);
        let written = |(lo, hi)| format!("{}, {}", bound(lo), bound(hi));
        let buckets = terms.buckets.map(|buckets| buckets.to_string());
        let arguments = [
            Some(x.to_owned()),
            bounds.map(written),
            x_bounds.map(written),
            buckets,
            terms.ranks.and_then(ranks),
            Some(float(terms.epsilon)),
            Some(self.literal(&mechanism)),
            terms.confidence.map(float),
        ];
        let arguments = arguments.into_iter().flatten().collect::<Vec<_>>();
        let sql = format!(
            "{}.{aggregate}({}){filter}",
            self.schema,
            arguments.join(", ")
        );
        self.answers.push(sql);
        Ok(self.answers.len() - 1)
    }

    fn literal(&self, mechanism: &str) -> String {
        format!(
            "'{}'::{}.dp_mechanism",
            mechanism.replace('\'', "''"),
            self.schema
        )
    }

    /// The block of one set of keys; what is to be released is in HAVING, which it ends with.
    fn write_set(&mut self, set: &[bool], unit: usize, listed: bool) -> Checked<String> {
        let keys: Vec<usize> = (1..=set.len()).filter(|i| set[i - 1]).collect();
        let select = |prefix: &str| -> Vec<String> {
            let column = |i: usize| match set[i - 1] {
                true => format!("{prefix}{i} AS k{i}"),
                false => format!("NULL::{} AS k{i}", base_type_name(self.keys[i - 1].safe)),
            };
            (1..=set.len()).map(column).collect()
        };
        let answers = self.answers.iter().enumerate();
        let answers = answers.map(|(i, answer)| format!("{answer} AS a{}", i + 1));
        let answers: Vec<String> = answers.collect();
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
        let keep = match keys.is_empty() || !Defence::Keep.stands() {
            true => "true".to_owned(),
            false => self.write_keep()?,
        };
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
        Ok(format!("SELECT {columns} {from}{group} HAVING {keep} AND"))
    }

    /// The condition that a row is somebody's.
    fn somebody(&self, unit: usize) -> String {
        match self.has_person {
            true => "true".to_owned(),
            false => format!("${unit} IS NOT NULL"),
        }
    }

    /// What stands in FROM as `b`: the rows of people, in groups that they are kept in.
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
        let rows = format!("SELECT ${unit} AS u{named}{columns} WHERE {person}");
        match self.level {
            Level::Groups => self.write_groups(keys, unit),
            Level::Person => {
                let places = (1..=keys.len() + 1).map(|place| place.to_string());
                let places = places.collect::<Vec<_>>().join(", ");
                Ok(format!("({rows} GROUP BY {places}) b"))
            }
            Level::Row | Level::RowBelow => Ok(format!("({rows}) b")),
        }
    }

    /// The groups that each person is kept in, by one aggregate of each person.
    fn write_groups(&self, keys: &[usize], unit: usize) -> Checked<String> {
        if keys.len() + self.below.len() > MOST_PARTS {
            return Err(Reason::with_hint(
                format!("it has more than {MOST_PARTS} keys and aggregates"),
                "Ask for some of them in a query of its own: each is charged for itself.",
            ));
        }
        let schema = &self.schema;
        let parts = keys
            .iter()
            .map(|i| format!(", ${i}"))
            .chain(self.below.iter().map(|made| format!(", {made}")));
        let parts = parts.collect::<String>();
        let columns = keys
            .iter()
            .map(|i| format!("k{i} {}", type_name(self.keys[i - 1].safe)))
            .chain((1..=self.below.len()).map(|i| format!("c{i} {schema}.dp_contribution")));
        let columns = columns.collect::<Vec<_>>().join(", ");
        Ok(format!(
            "((SELECT {schema}.dp_groups({}, ${unit}{parts}) AS g WHERE ${unit} IS NOT NULL GROUP BY ${unit}) p \
             CROSS JOIN LATERAL {schema}.dp_unnest(p.g) AS b({columns}))",
            self.groups
        ))
    }

    /// A group for each combination of public values, with rows or without.
    fn write_listed(&self, keys: &[usize], unit: usize, columns: &str) -> Checked<String> {
        let lists = keys.iter().map(|i| {
            let key = &self.keys[i - 1];
            let values = key.values.as_deref().unwrap_or(&[]);
            let values: Vec<_> = values.iter().map(|value| array_element(value)).collect();
            // The same value may be written in several ways.
            let once = if Defence::Listed.stands() {
                "DISTINCT "
            } else {
                ""
            };
            format!(
                "(SELECT {once}pg_catalog.unnest('{{{}}}'::{}[]) AS k{i}) v{i}",
                values.join(",").replace('\'', "''"),
                base_type_name(key.safe)
            )
        });
        let named = keys
            .iter()
            .map(|i| format!("v{i}.k{i}"))
            .collect::<Vec<_>>()
            .join(", ");
        let lists = lists.collect::<Vec<_>>().join(" CROSS JOIN ");
        let all = format!("(SELECT {named} FROM {lists}) v");
        if self.answers.is_empty() {
            return Ok(format!("SELECT {columns} FROM {all}"));
        }
        let same = keys
            .iter()
            .map(|i| format!("v.k{i} OPERATOR(pg_catalog.=) b.k{i}"));
        let same = same.collect::<Vec<_>>().join(" AND ");
        // By the keys that people are kept in too, where they are: dp_groups is only taken so.
        let kept = keys.iter().filter(|_| self.level == Level::Groups);
        let by = keys
            .iter()
            .map(|i| format!("v.k{i}"))
            .chain(kept.map(|i| format!("b.k{i}")));
        let by = by.collect::<Vec<_>>().join(", ");
        let below = self.write_below(keys, unit)?;
        Ok(format!(
            "SELECT {columns} FROM {all} LEFT JOIN {below} ON {same} GROUP BY {by} HAVING"
        ))
    }

    /// The condition that a group may be shown.
    fn write_keep(&mut self) -> Checked<String> {
        let delta = self.block.policy.keep_delta()?;
        let Some(delta) = delta else {
            return Err(Reason::with_hint(
                "its groups are private, and the budget has no delta to choose which of them are shown",
                format!(
                    "The owner of {} declares the values of the key by dp_column(table, column, values), or gives the \
                     budget a delta.",
                    quoted_name(self.block.policy.relation)
                ),
            ));
        };
        let mechanism = self.mechanism("dp_keep", None, 1)?;
        self.charge(&cost::Call {
            aggregate: "dp_keep",
            bounds: None,
            x_bounds: None,
            epsilon: self.epsilon,
            delta: Some(delta),
            length: None,
            ranks: None,
            mechanism: &mechanism,
        })?;
        Ok(format!(
            "{}.dp_keep({}, {}, {})",
            self.schema,
            float(self.epsilon),
            float(delta),
            self.literal(&mechanism)
        ))
    }
}

/// All rows of these queries. Each is one that is materialized, as a parallel plan would give a part of them to workers,
/// which release nothing.
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

fn filtered(filter: Option<String>) -> String {
    filter.map_or(String::new(), |filter| format!(" FILTER (WHERE {filter})"))
}

/// A number as a constant of type float8, the same to the last bit.
fn float(value: f64) -> String {
    format!("'{value:?}'::pg_catalog.float8")
}

/// The ranks that a call asks for; a NULL among them has been refused before.
fn ranks(ranks: Ranks) -> Option<String> {
    match ranks {
        Ranks::One(one) => one.map(float),
        Ranks::Many(many) => {
            let many = many.iter().flatten().map(|q| format!("{q:?}"));
            let many = many.collect::<Vec<_>>().join(",");
            Some(format!("'{{{many}}}'::pg_catalog.float8[]"))
        }
    }
}

/// A value in the text of an array.
fn array_element(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A type with its schema and modifier.
fn type_text(kind: Oid, modifier: i32) -> String {
    let flags = pg_sys::FORMAT_TYPE_TYPEMOD_GIVEN | pg_sys::FORMAT_TYPE_FORCE_QUALIFY;
    // SAFETY: a lookup in the catalog, which answers for any number.
    let name = unsafe { pg_sys::format_type_extended(kind, modifier, flags as u16) };
    tree::text_of(name)
}

/// The type of an expression.
fn type_name(node: Ref<Node>) -> String {
    type_text(tree::type_of(node), tree::modifier_of(node))
}

/// The same, or the type that a domain is made of: the conditions of the domain are its owner's code.
fn base_type_name(node: Ref<Node>) -> String {
    if !Defence::Domain.stands() {
        return type_name(node);
    }
    let (kind, modifier) = tree::base_type(tree::type_of(node), tree::modifier_of(node));
    type_text(kind, modifier)
}

/// Checks that all that a template calls is ours or PostgreSQL's: whoever may create in the schema of the public
/// aggregates can make one of the same name, of types that fit better.
fn check_names(node: Ref<Node>) -> bool {
    let function = if let Some(call) = node.cast::<pg_sys::Aggref>() {
        Some(call.aggfnoid)
    } else if let Some(call) = node.cast::<pg_sys::WindowFunc>() {
        Some(call.winfnoid)
    } else if let Some(call) = node.cast::<pg_sys::FuncExpr>() {
        Some(call.funcid)
    } else {
        node.operator().map(|call| call.opfuncid)
    };
    let is_known = |function| procedure::is_pinned(function) || extension::has_function(function);
    function.is_none_or(is_known) && !tree::walk(node, &mut |below| !check_names(below))
}

/// The query of a template, with the expressions and the FROM of a block in it.
pub fn build(written: &Written, block: &Block) -> Checked<Ref<Query>> {
    let types: Vec<Oid> = written
        .parameters
        .iter()
        .map(|node| tree::type_of(*node))
        .collect();
    let parsed = as_owner(|| tree::parse(&written.sql, &types));
    if Defence::Names.stands() && !check_names(parsed.node()) {
        return Err(Reason::with_hint(
            "another function has the name of one of dp_mean, in the same schema",
            "The owner of the schema should drop it, and let nobody create there.",
        ));
    }
    let spliced = tree::change(parsed.node(), &mut |node| {
        let parameter = node.cast::<pg_sys::Param>()?;
        let i = usize::try_from(parameter.paramid).ok()?.checked_sub(1)?;
        written.parameters.get(i).map(|node| node.copy())
    });
    let query = spliced.cast::<Query>().expect("a query stays one");
    let mut innermost = Vec::new();
    find_innermost(query.node(), &mut innermost);
    let source = block.query;
    let mut copies: Vec<_> = innermost.iter().skip(1).map(|_| source.copy()).collect();
    for innermost in innermost {
        match copies.pop() {
            Some(copy) => graft(copy, innermost, block),
            None => graft(source, innermost, block),
        }
    }
    Ok(query)
}

/// The queries that have no FROM yet, but a condition: those that the rows come in by.
fn find_innermost(node: Ref<Node>, found: &mut Vec<Ref<Query>>) -> bool {
    if let Some(query) = node.cast::<Query>() {
        let from = Ref::of(query.jointree);
        if from.is_some_and(|from| from.fromlist.is_null() && !from.quals.is_null()) {
            found.push(query);
        }
    }
    tree::walk(node, &mut |below| find_innermost(below, found))
}

/// Gives a query the FROM of the block, and lends the table to it.
fn graft(source: Ref<Query>, mut query: Ref<Query>, block: &Block) {
    tree::flatten_groups(query);
    access::move_tables(source, query);
    let from = Ref::of(source.jointree).expect("a query has FROM");
    let mut own = Ref::of(query.jointree).expect("a query has FROM");
    own.fromlist = from.fromlist;
    own.quals = tree::both(from.quals, own.quals);
    query.hasRowSecurity = source.hasRowSecurity;
    let entry = tree::entry(query, block.index);
    access::lend(query, entry, block.policy.owner, block.policy.unit);
}

/// Runs with the rights of the extension's schema, in which the analyst has none. Where it ends by an ERROR, the
/// transaction puts the role back.
fn as_owner<R>(work: impl FnOnce() -> R) -> R {
    let (mut role, mut context) = (Oid::INVALID, 0);
    // SAFETY: it reads two numbers, and sets them back.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut role, &raw mut context);
        let owner = Oid::from_u32(pg_sys::BOOTSTRAP_SUPERUSERID);
        let during = context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32;
        pg_sys::SetUserIdAndSecContext(owner, during);
        let result = work();
        pg_sys::SetUserIdAndSecContext(role, context);
        result
    }
}
