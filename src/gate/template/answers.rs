//! The calls of our aggregates that answer those of a block, what people contribute to them, and what they cost.

use dp_core::registry;
use dp_core::request::ranks::Ranks;
use pgrx::pg_sys::Aggref;

use crate::call::signature::Role;
use crate::gate::cost::{self, Priced};
use crate::gate::price::Price;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::requests::asked::{Asked, OfTwo, Own, Reads, What};
use crate::gate::shown::Answer;
use crate::gate::template::vector::Release;
use crate::gate::template::{Level, People, Template, filtered, float, own_column};
use crate::pg::tree::Ref;

/// The public arguments of a call, but for its bounds.
pub(super) struct Terms<'a> {
    /// `None` where the mechanism has a budget of its own.
    pub epsilon: Option<f64>,
    /// `None` for the default.
    pub mechanism: Option<String>,
    buckets: Option<f64>,
    ranks: Option<Ranks<'a>>,
    pub(super) confidence: Option<f64>,
    /// The most rows of a person.
    pub rows: u32,
}

impl<'a> Terms<'a> {
    /// Those of a sum that finds its bounds.
    pub(super) fn of_total(price: &Price) -> Self {
        Self {
            epsilon: Some(price.pure()),
            mechanism: Some("auto".to_owned()),
            ..Self::usual(price, "dp_sum", 1)
        }
    }

    /// Those of an aggregate of PostgreSQL: the policy's price, and the mechanism that it buys of the aggregate that
    /// answers.
    pub(super) fn usual(price: &Price, aggregate: &str, rows: u32) -> Self {
        let (epsilon, mechanism) = price.buys(aggregate);
        Self {
            epsilon,
            rows,
            mechanism,
            buckets: None,
            ranks: None,
            confidence: None,
        }
    }

    /// As above, for a mean, a sum or a variance: the mechanism that finds bounds where nothing bounds the numbers.
    fn of_numbers(price: &Price, aggregate: &str, rows: u32, asked: &Asked) -> Self {
        let usual = Self::usual(price, aggregate, rows);
        match asked.bounds {
            Some(_) => usual,
            None => Self {
                epsilon: Some(price.pure()),
                mechanism: Some("auto".to_owned()),
                ..usual
            },
        }
    }

    /// Those of an aggregate of ours, which may ask for fewer rows. Where it names no mechanism, its epsilon is a price.
    pub(super) fn of(price: &Price, own: &'a Own, rows: u32) -> Checked<Self> {
        let (epsilon, mechanism) = match (own.value(Role::Epsilon), &own.mechanism) {
            (Some(epsilon), None) => price.at(epsilon).buys(answers(own.name)),
            (epsilon, mechanism) => (epsilon, mechanism.clone()),
        };
        Ok(Self {
            epsilon,
            mechanism,
            buckets: own.value(Role::Buckets).or(own.value(Role::Points)),
            ranks: match &own.quantiles {
                Some(quantiles) => Some(Ranks::Many(quantiles)),
                None => own.value(Role::Quantile).map(|q| Ranks::One(Some(q))),
            },
            confidence: own.value(Role::Confidence),
            rows: own.given()?.rows.map_or(rows, |given| given.min(rows)),
        })
    }
}

impl<'t> Template<'_, 't> {
    /// Writes what answers each of the aggregates. Mean, sum and count of the same numbers are one release.
    pub(super) fn write_answers(
        &mut self,
        asked: &[Asked<'t>],
    ) -> Checked<Vec<(Ref<'t, Aggref>, Answer)>> {
        let mut answers = Vec::new();
        let mut done = self.write_free(asked, &mut answers);
        self.write_of_two(asked, &mut done, &mut answers)?;
        let mut releases = self.releases(asked, &mut done);
        if answers.is_empty()
            && let Some(price) = self.price_across(&releases)
        {
            let columns = self.write_across(&releases, &price)?;
            for (release, column) in releases.iter().zip(columns) {
                let calls = release.answers.iter().map(|other| other.call);
                answers.extend(calls.map(|call| (call, Answer::Column(column))));
            }
            return Ok(answers);
        }
        self.write_together(&mut releases, &mut answers)?;
        let mut counts: Vec<(&Asked<'t>, Vec<Ref<'t, Aggref>>)> = Vec::new();
        for release in releases {
            let one = release.asked;
            if release.is_pair {
                let column = self.write_pair(one)?;
                self.note_people(one, column, "dp_mean_and_count")?;
                answers.extend(release.answers.into_iter().map(|other| {
                    let answer = match other.what {
                        What::Mean => Answer::Field(column, 1),
                        What::Count => Answer::Field(column, 2),
                        _ => Answer::Product(column),
                    };
                    (other.call, answer)
                }));
                continue;
            }
            let calls: Vec<_> = release.answers.iter().map(|other| other.call).collect();
            if matches!(one.what, What::Count) && !self.finds_rows(one) {
                counts.push((one, calls));
            } else {
                let column = self.write_alone(one)?;
                answers.extend(calls.into_iter().map(|call| (call, Answer::Column(column))));
            }
        }
        let columns = self.write_counts(&counts)?;
        for ((_, calls), column) in counts.into_iter().zip(columns) {
            answers.extend(calls.into_iter().map(|call| (call, Answer::Column(column))));
        }
        Ok(answers)
    }

    /// What is one release, of what is not done.
    fn releases<'a>(&self, asked: &'a [Asked<'t>], done: &mut [bool]) -> Vec<Release<'a, 't>> {
        let is_pair = |what: &What| what.is_of_numbers() || matches!(what, What::Count);
        let mut releases = Vec::new();
        for (i, one) in asked.iter().enumerate() {
            if done[i] {
                continue;
            }
            // A count of all rows is alike to numbers that are not alike to each other: it goes with the first ones.
            let may = |asked: &Asked<'t>| is_pair(&asked.what) && !self.finds_rows(asked);
            let is_one = |one: &Asked<'t>, other: &Asked<'t>| {
                may(one) && may(other) && self.is_one_release(one, other)
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
            // A mean that is released with its number of rows costs the same, and may choose groups by it.
            let least = match one.what {
                What::Mean if self.needs_people && self.counts_people(one, true) => 1,
                _ => 2,
            };
            let numbers = numbers.filter(|_| alike.len() >= least);
            for j in &alike {
                done[*j] = true;
            }
            releases.push(Release {
                asked: numbers.unwrap_or(one),
                is_pair: numbers.is_some(),
                answers: alike.into_iter().map(|j| &asked[j]).collect(),
            });
        }
        releases
    }

    /// An answer of its own.
    pub(super) fn write_alone(&mut self, asked: &Asked<'t>) -> Checked<usize> {
        let column = self.write_one(asked)?;
        if matches!(asked.what, What::Count | What::People) {
            self.note_people(asked, column, "dp_count")?;
        }
        Ok(column)
    }

    /// Notes an answer that is the number of all people of a group, at the usual price.
    fn note_people(
        &mut self,
        asked: &Asked<'t>,
        column: usize,
        aggregate: &'static str,
    ) -> Checked<()> {
        let is_pair = aggregate == "dp_mean_and_count";
        if self.people.is_none() && self.counts_people(asked, is_pair) {
            self.people = Some(self.people_at(column, aggregate)?);
        }
        Ok(())
    }

    /// Whether what answers this, alone or as a mean with its number of rows, counts all people of a group.
    pub(super) fn counts_people(&self, asked: &Asked<'t>, is_pair: bool) -> bool {
        if self.finds_rows(asked) {
            return false;
        }
        let is_never_null = |argument| self.block.is_never_null(argument);
        let is_of_all = match asked.what {
            What::People => true,
            _ => self.rows == 1 && asked.argument.is_none_or(is_never_null),
        };
        // What finds its bounds has other noise.
        is_of_all && asked.filter.is_none() && (!is_pair || asked.bounds.is_some())
    }

    /// Asks for the number of people of a group.
    pub(super) fn write_people(&mut self) -> Checked<People> {
        let terms = Terms::usual(&self.price, "dp_count", 1);
        let (x, filter) = self.counted(None, None, 1);
        let column = self.write_call("dp_count", &x, [None, None], &terms, &filter)?;
        self.people_at(column, "dp_count")
    }

    fn people_at(&self, column: usize, aggregate: &'static str) -> Checked<People> {
        let (_, mechanism) = self.price.buys(aggregate);
        let output = &self.outputs[column];
        Ok(People {
            number: match aggregate {
                "dp_mean_and_count" => format!("({output}).count"),
                _ => format!("{output}::pg_catalog.float8"),
            },
            aggregate,
            mechanism: self.mechanism(aggregate, mechanism.as_deref(), 1)?,
        })
    }

    /// What costs nothing: public bounds. Which aggregates these are.
    fn write_free(
        &self,
        asked: &[Asked<'t>],
        answers: &mut Vec<(Ref<'t, Aggref>, Answer)>,
    ) -> Vec<bool> {
        let free = asked.iter().map(|one| {
            let answer = match (&one.what, one.bounds) {
                (What::Least, Some((lo, _))) => Answer::Public(lo),
                (What::Greatest, Some((_, hi))) => Answer::Public(hi),
                (What::Moment(moment), _) => Answer::Moment(*moment),
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
        asked: &[Asked<'t>],
        done: &mut [bool],
        answers: &mut Vec<(Ref<'t, Aggref>, Answer)>,
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
            let aggregate = alone.unwrap_or("dp_regr");
            let terms = Terms::usual(&self.price, aggregate, self.rows);
            let column = self.write_numbers(aggregate, one, &terms)?;
            if alone.is_none() {
                self.note_numbers(alike.iter().map(|(_, what)| *what));
            }
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

    /// Notes how far off each number of the release about two columns is that was written last.
    fn note_numbers(&mut self, asked: impl Iterator<Item = OfTwo>) {
        let Some(release) = self.priced.pop() else {
            return;
        };
        let mut noted = Vec::new();
        for what in asked {
            if !noted.contains(&what) {
                noted.push(what);
                self.priced.push(release.number(what.number()));
            }
        }
    }

    /// Whether two of mean, sum and count are about the same rows.
    fn is_one_release(&self, one: &Asked<'t>, other: &Asked<'t>) -> bool {
        if one.is_about_the_same(other) {
            return true;
        }
        // All rows are those in which a number is that is never NULL.
        let counted = |count: &Asked<'t>, number: &Asked<'t>| {
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

    /// What represents the numbers of each row, and the filter of the aggregate that reads them.
    pub(super) fn numbers(&mut self, asked: &Asked<'t>, rows: u32) -> Checked<(String, String)> {
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
                    self.contribution(&number, lo, hi, rows, filter)
                }
            })
        });
        let below = below.collect::<Checked<Vec<_>>>()?;
        Ok((below.join(", "), String::new()))
    }

    /// The condition on the rows of an aggregate.
    pub(super) fn filter(&mut self, asked: &Asked<'t>) -> Option<String> {
        let filter = asked.filter?;
        Some(format!("${}", self.parameter(filter)))
    }

    /// As above, for rows that are counted, each where the argument is not NULL; of people, at most one row each.
    pub(super) fn rows(&mut self, asked: &Asked<'t>, rows: u32) -> (String, String) {
        let argument = asked.argument.map(|argument| self.parameter(argument));
        let filter = self.filter(asked);
        self.counted(argument, filter, rows)
    }

    /// As above, of a parameter and a condition.
    pub(super) fn counted(
        &mut self,
        argument: Option<usize>,
        filter: Option<String>,
        rows: u32,
    ) -> (String, String) {
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
    pub(super) fn column(&mut self, value: String) -> String {
        let known = self.below.iter().position(|known| *known == value);
        let i = known.unwrap_or_else(|| {
            self.below.push(value);
            self.below.len() - 1
        });
        format!("b.c{}", i + 1)
    }

    /// The text of a mechanism for this block: the persons are bounded by us.
    pub(super) fn mechanism(
        &self,
        aggregate: &str,
        own: Option<&str>,
        rows: u32,
    ) -> Checked<String> {
        self.mechanism_in(aggregate, own, rows, self.groups)
    }

    /// As above, for people in at most this many groups.
    pub(super) fn mechanism_in(
        &self,
        aggregate: &str,
        own: Option<&str>,
        rows: u32,
        groups: u32,
    ) -> Checked<String> {
        let default = registry::default_mechanism(aggregate);
        let text = own.or(default).ok_or("an aggregate has no mechanism")?;
        registry::with_unit(text, rows, groups)
            .map_err(|error| Reason::with_hint(error.to_string(), error.hint.clone()))
    }

    /// Adds the price of a call to that of the block, and how far off its answer is.
    pub(super) fn charge(&mut self, call: &cost::Call) -> Checked<()> {
        self.pay(call)?;
        if !self.is_paid {
            self.priced.push(Priced::of(call));
        }
        Ok(())
    }

    /// Adds the price of a call to that of the block.
    pub(super) fn pay(&mut self, call: &cost::Call) -> Checked<()> {
        let (spent, mechanism) = cost::of(call, self.price.accounting())?;
        if self.is_paid {
            return Ok(());
        }
        self.spent = self.spent.plus(&spent);
        self.mechanisms
            .push(format!("{}: {mechanism}", call.aggregate));
        Ok(())
    }

    fn write_pair(&mut self, numbers: &Asked<'t>) -> Checked<usize> {
        let aggregate = "dp_mean_and_count";
        let terms = Terms::of_numbers(&self.price, aggregate, self.rows, numbers);
        self.write_numbers(aggregate, numbers, &terms)
    }

    fn write_one(&mut self, asked: &Asked<'t>) -> Checked<usize> {
        if self.finds_rows(asked) {
            return self.write_total(asked);
        }
        let (price, rows) = (self.price, self.rows);
        let of_numbers = |aggregate| Terms::of_numbers(&price, aggregate, rows, asked);
        let mut numbers = |aggregate| self.write_numbers(aggregate, asked, &of_numbers(aggregate));
        match &asked.what {
            What::Mean => numbers("dp_mean"),
            What::Sum => numbers("dp_sum"),
            What::Variance => numbers("dp_var_pop"),
            What::Stddev => numbers("dp_stddev_pop"),
            // Written before.
            What::OfTwo(_) | What::Least | What::Greatest | What::Moment(_) => {
                Err("an aggregate has no answer of its own".into())
            }
            What::Values { are_keys } => self.write_values(asked, *are_keys),
            What::Count | What::People => {
                let rows = match asked.what {
                    What::People => 1,
                    _ => rows,
                };
                let terms = Terms::usual(&price, "dp_count", rows);
                self.write_count("dp_count", asked, &terms)
            }
            What::Quantile(q) => {
                let terms = Terms {
                    ranks: Some(Ranks::One(Some(*q))),
                    ..Terms::usual(&price, "dp_quantile", rows)
                };
                self.write_numbers("dp_quantile", asked, &terms)
            }
            What::Quantiles(quantiles) => {
                let terms = Terms {
                    ranks: Some(Ranks::Many(quantiles)),
                    ..Terms::usual(&price, "dp_quantiles", rows)
                };
                self.write_numbers("dp_quantiles", asked, &terms)
            }
            What::Own(own) => {
                let rows = match own.reads {
                    Reads::People => 1,
                    _ => rows,
                };
                let terms = Terms::of(&price, own, rows)?;
                match own.reads {
                    Reads::Counted | Reads::People => {
                        self.write_count(answers(own.name), asked, &terms)
                    }
                    Reads::Numbers | Reads::NumbersOfRows => {
                        self.write_numbers(own.name, asked, &terms)
                    }
                    Reads::Questions | Reads::Vectors => self.write_own_several(asked, own, &terms),
                    Reads::Columns => self.write_regression(asked, own, &terms),
                }
            }
        }
    }

    /// An aggregate of rows that are counted.
    fn write_count(
        &mut self,
        aggregate: &'static str,
        asked: &Asked<'t>,
        terms: &Terms,
    ) -> Checked<usize> {
        let (x, filter) = self.rows(asked, terms.rows);
        self.write_call(aggregate, &x, [None, None], terms, &filter)
    }

    /// An aggregate of numbers between bounds.
    fn write_numbers(
        &mut self,
        aggregate: &'static str,
        asked: &Asked<'t>,
        terms: &Terms,
    ) -> Checked<usize> {
        let (x, filter) = self.numbers(asked, terms.rows)?;
        let bounds = asked
            .bounds
            .map_or((None, None), |(lo, hi)| (Some(lo), Some(hi)));
        let x_bounds = asked.x.map(|x| (Some(x.bounds.0), Some(x.bounds.1)));
        let finds_bounds = aggregate == "dp_bounds";
        let bounds = [(!finds_bounds).then_some(bounds), x_bounds];
        self.write_call(aggregate, &x, bounds, terms, &filter)
    }

    /// A call of one of our aggregates, and its price.
    pub(super) fn write_call(
        &mut self,
        aggregate: &'static str,
        x: &str,
        [bounds, x_bounds]: [cost::Bounds; 2],
        terms: &Terms,
        filter: &str,
    ) -> Checked<usize> {
        let mechanism = self.mechanism(aggregate, terms.mechanism.as_deref(), terms.rows)?;
        let call = cost::Call {
            bounds,
            x_bounds,
            length: terms.buckets.map(|buckets| buckets as usize),
            ranks: terms.ranks,
            ..cost::Call::of(aggregate, terms.epsilon, &mechanism)
        };
        self.charge(&call)?;
        let column = self.outputs.len();
        self.note_call(&call, column);
        // What is known of the noise of a mean hangs on the number of its rows, which costs nothing more.
        let has_rows_beside = aggregate == "dp_mean" && self.has_rows_beside(column);
        let written = match has_rows_beside {
            true => "dp_mean_and_count",
            false => aggregate,
        };
        let bound = |bound: Option<f64>| bound.map_or("NULL".to_owned(), float);
        let both = |(lo, hi)| format!("{}, {}", bound(lo), bound(hi));
        let buckets = terms.buckets.map(|buckets| buckets.to_string());
        let arguments = [
            Some(x.to_owned()),
            bounds.map(both),
            x_bounds.map(both),
            buckets,
            terms.ranks.and_then(ranks),
            Some(self.budget(terms.epsilon, &mechanism)),
            terms.confidence.map(float),
        ];
        let arguments = arguments.into_iter().flatten().collect::<Vec<_>>();
        let sql = format!(
            "{}.{written}({}){filter}",
            self.schema,
            arguments.join(", ")
        );
        self.answers.push(sql);
        let own = own_column(self.answers.len());
        match has_rows_beside {
            true => {
                let fields = ["mean", "count"].map(|field| format!("({own}).{field}"));
                self.outputs.extend(fields);
            }
            false => self.outputs.push(own),
        }
        Ok(column)
    }

    pub(super) fn literal(&self, mechanism: &str) -> String {
        format!(
            "'{}'::{}.dp_mechanism",
            mechanism.replace('\'', "''"),
            self.schema
        )
    }

    /// The arguments of a call that say what it spends.
    pub(super) fn budget(&self, epsilon: Option<f64>, mechanism: &str) -> String {
        let epsilon = epsilon.map_or("NULL::pg_catalog.float8".to_owned(), float);
        format!("{epsilon}, {}", self.literal(mechanism))
    }
}

/// The aggregate that answers one of ours: people who were bounded are counted as rows.
fn answers(name: &'static str) -> &'static str {
    match name {
        "dp_count_distinct" => "dp_count",
        "dp_count_distinct_estimate" => "dp_count_estimate",
        other => other,
    }
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
