//! Means, sums and counts of a block that are drawn together, as numbers of one vector: each with no more noise than it
//! has alone, all for less than the sum of their prices.
//!
//! The proof: docs/proofs/together.md.

use dp_core::together::{self, Room};
use pgrx::pg_sys::Aggref;

use crate::gate::cost::{self, Priced};
use crate::gate::defence::Defence;
use crate::gate::price::Price;
use crate::gate::rejection::Checked;
use crate::gate::requests::asked::{self, Asked, What};
use crate::gate::shown::{Answer, Scale};
use crate::gate::template::scale::scale_of_mean;
use crate::gate::template::{Level, MOST_PARTS, People, Template, float, own_column};
use crate::pg::tree::Ref;

/// Prices that differ by less are the same.
const ALIKE: f64 = 1e-9;

/// What one release answers: mean, sum and count of the same numbers; or one thing, however often it is asked for.
pub(super) struct Release<'a, 't> {
    /// What is written.
    pub asked: &'a Asked<'t>,
    /// Whether it is a mean with its number of rows.
    pub is_pair: bool,
    pub answers: Vec<&'a Asked<'t>>,
}

impl Release<'_, '_> {
    /// Whether a mean of numbers is released.
    fn is_mean(&self) -> bool {
        self.is_pair || matches!(self.asked.what, What::Mean)
    }
}

/// A number of the vector.
#[derive(Clone, Copy)]
enum Number<'a, 't> {
    /// All rows.
    All,
    /// The rows that an aggregate is about.
    Rows(&'a Asked<'t>),
    /// The sum of what these are above the middle of their bounds, in half widths.
    Centred(&'a Asked<'t>),
    /// The sum of these.
    Sum(&'a Asked<'t>),
}

/// A release that is drawn with others: from which numbers it is computed.
struct Member {
    release: usize,
    /// That of all rows where there is none.
    own: Option<usize>,
    /// The number of rows that a mean is of, likewise.
    rows: Option<usize>,
}

/// Releases that are drawn together.
struct Vector<'a, 't> {
    members: Vec<Member>,
    /// With the variance of each, in that of a count alone; without Gaussian noise all have the same.
    numbers: Vec<(Number<'a, 't>, f64)>,
    /// Whether means count their rows from half of all.
    is_lifted: bool,
    /// Whether groups are chosen by the number of all rows.
    chooses: bool,
    /// How many times the price of one they cost.
    times: f64,
}

/// The numbers of a vector, as they were released: columns of a part, in the unit of a person's most rows.
struct Released {
    numbers: Vec<String>,
    all: String,
    is_lifted: bool,
    rows: f64,
}

impl<'t> Template<'_, 't> {
    /// Writes those that are drawn together, where that is cheaper, and takes them away from the others.
    pub(super) fn write_together<'a>(
        &mut self,
        releases: &mut Vec<Release<'a, 't>>,
        answers: &mut Vec<(Ref<'t, Aggref>, Answer)>,
    ) -> Checked<()> {
        let Some(vector) = self.cheapest(releases) else {
            return Ok(());
        };
        let released = self.write_vector(&vector)?;
        for member in &vector.members {
            let release = &releases[member.release];
            self.note_price(release)?;
            let first = self.outputs.len();
            for one in &release.answers {
                self.outputs.push(released.answer(member, release, one));
                answers.push((one.call, Answer::Column(self.outputs.len() - 1)));
            }
            let rows = op(&released.rows_of(member), "*", &float(released.rows));
            self.note_scales(release, first, rows);
        }
        let mut places = 0..releases.len();
        releases.retain(|_| {
            let place = places.next();
            let mut members = vector.members.iter();
            !members.any(|member| Some(member.release) == place)
        });
        Ok(())
    }

    /// Notes how much noise the answers of a release have, which are outputs from the first one on. What a mean has hangs
    /// on the number of its rows.
    fn note_scales(&mut self, release: &Release<'_, 't>, first: usize, rows: String) {
        let Some(priced) = self.priced.last() else {
            return;
        };
        let bounds = release.asked.bounds.map(|(lo, hi)| (Some(lo), Some(hi)));
        if !release.is_mean() {
            let scale = Scale::of_half_width(priced.half_width(None));
            self.note_scale(Answer::Column(first), scale);
            return;
        }
        let of_rows = priced.of_rows();
        let of_rows = Scale::of_half_width(of_rows.half_width(None));
        let Some(scale) = scale_of_mean(priced) else {
            return;
        };
        let place = Answer::Column(self.outputs.len());
        self.outputs.push(rows);
        for (one, column) in release.answers.iter().zip(first..) {
            let answer = Answer::Column(column);
            match one.what {
                What::Mean => self.note_mean(answer, scale, place, bounds),
                What::Count => self.note_scale(answer, of_rows),
                _ => self.note_scale(answer, Some(scale.at_least_half())),
            }
        }
    }

    /// The releases that cost less together than each for itself, with the counts or without.
    fn cheapest<'a>(&mut self, releases: &[Release<'a, 't>]) -> Option<Vector<'a, 't>> {
        // A number of all rows would be one part more of what a person contributes.
        if !self.rows_are_people() && self.keys.len() + releases.len() >= MOST_PARTS {
            return None;
        }
        let is_count = |i: &usize| matches!(releases[*i].asked.what, What::Count);
        let may = |release: &Release<'a, 't>| self.may_be_together(release);
        let all: Vec<usize> = (0..releases.len()).filter(|i| may(&releases[*i])).collect();
        let (counts, others): (Vec<_>, Vec<_>) = all.iter().copied().partition(is_count);
        let alike: Vec<_> = counts.iter().map(|i| releases[*i].asked).collect();
        let of_counts = self.price_of_counts(&alike);
        let counts_people = |release: &Release<'a, 't>| {
            let is_number = matches!(release.asked.what, What::Count | What::People);
            (release.is_pair || is_number) && self.counts_people(release.asked, release.is_pair)
        };
        let needs_people = self.needs_people
            && self.price.is_gaussian()
            && self.rows == 1
            && !releases.iter().any(counts_people);
        // A number for that alone is one more answer.
        let mut least = others.len() as f64 + of_counts + f64::from(needs_people);
        let mut best = None;
        for (members, apart) in [(&others, of_counts), (&all, 0.0)] {
            if members.is_empty() {
                continue;
            }
            let mut vector = self.vector(releases, members, needs_people);
            vector.chooses |= members.iter().any(|i| counts_people(&releases[*i]));
            let price = self.price.answers(vector.times) + apart;
            if price < least - ALIKE && self.price.times(vector.times).is_some() {
                least = price;
                best = Some(vector);
            }
        }
        best
    }

    /// Whether it is a mean, a sum or a count whose noise may be that of numbers of a vector.
    fn may_be_together(&self, release: &Release<'_, 't>) -> bool {
        if self.finds_rows(release.asked) {
            return false;
        }
        match (&release.asked.what, release.asked.bounds) {
            (What::Count, _) => true,
            (What::Mean, Some(_)) => true,
            (What::Sum, Some(_)) if release.is_pair => true,
            // A cube gives all of its numbers the same noise.
            (What::Sum, Some((lo, hi))) => {
                self.price.is_gaussian() || Room::sum(lo, hi) == Room::COUNT
            }
            _ => false,
        }
    }

    /// Whether it is about all rows.
    fn is_of_all(&self, asked: &Asked<'t>) -> bool {
        let is_never_null = |argument| self.block.is_never_null(argument);
        asked.filter.is_none() && asked.argument.is_none_or(is_never_null)
    }

    /// The numbers from which these are computed, and what they cost. Where the number of all people of a group is needed,
    /// it is among them.
    fn vector<'a>(
        &self,
        releases: &[Release<'a, 't>],
        of: &[usize],
        needs_people: bool,
    ) -> Vector<'a, 't> {
        let is_gaussian = self.price.is_gaussian();
        let mut numbers: Vec<(Number<'a, 't>, Room)> = Vec::new();
        let mut members = Vec::new();
        // Means of rows that are not all, and which of them are of the same.
        let mut some = Vec::<(&'a Asked<'t>, Vec<usize>)>::new();
        // The most noise that the number of all rows may have.
        let mut most = needs_people.then_some(1.0);
        let mut is_counted_from = false;
        for release in of {
            let Release { asked, is_pair, .. } = releases[*release];
            let is_of_all = self.is_of_all(asked);
            let mut member = Member {
                release: *release,
                own: Some(numbers.len()),
                rows: None,
            };
            match (&asked.what, asked.bounds) {
                (What::Count, _) if is_gaussian && is_of_all => {
                    member.own = None;
                    most = Some(1.0);
                }
                (What::Count, _) => {
                    numbers.push((Number::Rows(asked), Room::COUNT));
                    is_counted_from = true;
                }
                (What::Sum, Some((lo, hi))) if !is_pair => {
                    numbers.push((Number::Sum(asked), Room::sum(lo, hi)));
                    is_counted_from = true;
                }
                _ if is_of_all => {
                    numbers.push((Number::Centred(asked), Room::MEAN));
                    most = Some(most.map_or(2.0, |most: f64| most.min(2.0)));
                }
                _ => {
                    numbers.push((Number::Centred(asked), Room::MEAN));
                    let known = some.iter_mut();
                    let mut known = known.filter(|(known, _)| self.are_same_rows(known, asked));
                    match known.next() {
                        Some((_, means)) => means.push(members.len()),
                        None => some.push((asked, vec![members.len()])),
                    }
                }
            }
            members.push(member);
        }
        // Two numbers of rows are cheaper with a third that is common to both.
        let has_all = is_counted_from || most.is_some() || (is_gaussian && some.len() > 1);
        let is_lifted = has_all && is_gaussian;
        for (asked, means) in some {
            let room = match is_lifted {
                true => Room::ROWS_OF_ALL,
                false => Room::ROWS,
            };
            for mean in means {
                members[mean].rows = Some(numbers.len());
            }
            numbers.push((Number::Rows(asked), room));
        }
        let rooms: Vec<Room> = numbers.iter().map(|(_, room)| *room).collect();
        let most = most.unwrap_or(f64::INFINITY);
        let shared = is_lifted.then(|| together::best_shared(&rooms, most));
        let times = match is_gaussian {
            true => together::price_of_gaussian(&rooms, shared),
            // The same in all grouping sets, so of a person in one group: in more each answer has more noise.
            false => {
                let epsilon = self.price.pure() / f64::from(self.rows);
                together::price_of_cube(rooms.len() + usize::from(has_all), epsilon)
            }
        };
        let u = shared.unwrap_or_default();
        let numbers = numbers.into_iter().map(|(number, room)| match is_gaussian {
            true => (number, room.at(u)),
            false => (number, 0.0),
        });
        let all = has_all.then_some((Number::All, u));
        Vector {
            members,
            numbers: numbers.chain(all).collect(),
            is_lifted,
            chooses: needs_people,
            times,
        }
    }

    /// Whether two aggregates of numbers are about the same rows.
    fn are_same_rows(&self, one: &Asked<'t>, other: &Asked<'t>) -> bool {
        let argument = |asked: &Asked<'t>| {
            let argument = asked.argument;
            argument.filter(|argument| !self.block.is_never_null(*argument))
        };
        asked::same(argument(one), argument(other)) && asked::same(one.filter, other.filter)
    }

    /// Writes the numbers: those of one variance in one call. With Gaussian noise calls cost what their numbers do, so
    /// that it is the same whether they are one; the cube is one.
    fn write_vector(&mut self, vector: &Vector<'_, 't>) -> Checked<Released> {
        let mut variances: Vec<f64> = Vec::new();
        for (_, variance) in &vector.numbers {
            if !variances.contains(variance) {
                variances.push(*variance);
            }
        }
        let mut released = Released {
            numbers: vec![String::new(); vector.numbers.len()],
            all: String::new(),
            is_lifted: vector.is_lifted,
            rows: f64::from(self.rows),
        };
        for variance in variances {
            let alike = vector.numbers.iter().enumerate();
            let alike: Vec<_> = alike.filter(|(_, (_, of))| *of == variance).collect();
            let times = match self.price.is_gaussian() {
                true => alike.len() as f64 / variance,
                false => vector.times,
            };
            let price = self.price.times(times);
            let price = price.ok_or("the answers cost more than one may")?;
            let elements = alike
                .iter()
                .map(|(_, (number, _))| self.number(*number, vector.is_lifted));
            let elements = elements.collect::<Checked<Vec<_>>>()?;
            let (column, mechanism) = self.write_sums(&elements, &price)?;
            for ((place, (number, _)), i) in alike.into_iter().zip(1..) {
                let column = format!("({column})[{i}]");
                if matches!(number, Number::All) {
                    released.all.clone_from(&column);
                    if vector.chooses {
                        self.people = Some(People {
                            number: column.clone(),
                            aggregate: "dp_sums",
                            mechanism: mechanism.clone(),
                        });
                    }
                }
                released.numbers[place] = column;
            }
        }
        Ok(released)
    }

    /// A call that releases numbers from -1 to 1, and its mechanism.
    fn write_sums(&mut self, elements: &[String], price: &Price) -> Checked<(String, String)> {
        let aggregate = "dp_sums";
        let (epsilon, mechanism) = price.buys_sums(elements.len());
        let mechanism = self.mechanism(aggregate, Some(&mechanism), 1)?;
        self.pay(&cost::Call {
            bounds: Some((Some(-1.0), Some(1.0))),
            ..cost::Call::of(aggregate, epsilon, &mechanism)
        })?;
        let call = format!(
            "{}.{aggregate}(ARRAY[{}]::pg_catalog.float8[], {}, {}, {})",
            self.schema,
            elements.join(", "),
            float(-1.0),
            float(1.0),
            self.budget(epsilon, &mechanism)
        );
        self.answers.push(call);
        Ok((own_column(self.answers.len()), mechanism))
    }

    /// What a row, or a person, is in a number: from -1 to 1, and NULL, which is 0, where nobody is.
    fn number(&mut self, number: Number<'_, 't>, is_lifted: bool) -> Checked<String> {
        match self.rows_are_people() {
            true => {
                let made = self.number_of_row(number, is_lifted)?;
                Ok(match self.level {
                    Level::RowBelow => self.column(made),
                    _ => made,
                })
            }
            false => self.number_of_person(number, is_lifted),
        }
    }

    fn number_of_row(&mut self, number: Number<'_, 't>, is_lifted: bool) -> Checked<String> {
        let (one, less) = (float(1.0), float(-1.0));
        Ok(match number {
            Number::All => one,
            Number::Rows(asked) => match (self.condition(asked), is_lifted) {
                (None, _) => one,
                (Some(condition), _) if is_lifted || matches!(asked.what, What::Count) => {
                    format!("CASE WHEN {condition} THEN {one} ELSE {less} END")
                }
                (Some(condition), _) => format!("CASE WHEN {condition} THEN {one} END"),
            },
            Number::Centred(asked) => {
                let bounds = asked.bounds.ok_or("a mean has no bounds")?;
                self.between(asked, bounds, None)?
            }
            Number::Sum(asked) => {
                let (lo, hi) = asked.bounds.ok_or("a sum has no bounds")?;
                let (from, to) = with_0((lo, hi));
                let missing = 2.0 * (-from / (to - from)) - 1.0;
                self.between(asked, (from, to), Some(missing))?
            }
        })
    }

    /// Where a number of a row is in a range, from -1 to 1, or what is there where the aggregate is not about the row.
    fn between(
        &mut self,
        asked: &Asked<'t>,
        (from, to): (f64, f64),
        missing: Option<f64>,
    ) -> Checked<String> {
        let argument = asked.argument.ok_or("an aggregate is about nothing")?;
        let (lo, hi) = asked.bounds.ok_or("an aggregate has no bounds")?;
        let x = self.parameter(argument);
        let clamped = format!("LEAST(GREATEST(${x}, {}), {})", float(lo), float(hi));
        // A distance that is next to nothing would be nothing, divided: an error.
        let distance = op(&clamped, "-", &float(from));
        let distance = match Defence::Total.stands() {
            true => format!(
                "GREATEST({distance}, {})",
                float((to - from) * NEXT_TO_NOTHING)
            ),
            false => distance,
        };
        let place = op(&distance, "/", &float(to - from));
        let place = op(&op(&place, "*", &float(2.0)), "-", &float(1.0));
        let condition = self.condition(asked).unwrap_or_else(|| "true".to_owned());
        let missing = missing.map_or(String::new(), |missing| format!(" ELSE {}", float(missing)));
        Ok(format!("CASE WHEN {condition} THEN {place}{missing} END"))
    }

    /// Whether an aggregate is about a row.
    fn condition(&mut self, asked: &Asked<'t>) -> Option<String> {
        let argument = asked.argument.map(|argument| self.parameter(argument));
        let argument = argument.map(|x| match asked.what {
            What::Count => format!("${x} IS NOT NULL"),
            _ => format!("${x} OPERATOR(pg_catalog.<>) 'NaN'::pg_catalog.float8"),
        });
        let filter = self.filter(asked).map(|filter| format!("({filter})"));
        let conditions: Vec<_> = argument.into_iter().chain(filter).collect();
        (!conditions.is_empty()).then(|| conditions.join(" AND "))
    }

    fn number_of_person(&mut self, number: Number<'_, 't>, is_lifted: bool) -> Checked<String> {
        let (rows, groups) = (self.rows, self.groups);
        let look = |name: &str, part: &str| format!("dp_mean.{name}({part}, {rows}, {groups})");
        let or_0 = |call: String| format!("COALESCE({call}, {})", float(0.0));
        let every = match number {
            Number::All | Number::Rows(_) | Number::Sum(_) => {
                let (part, _) = self.counted(None, None, rows);
                look("dp_counted", &part)
            }
            Number::Centred(_) => String::new(),
        };
        Ok(match number {
            Number::All => every,
            Number::Rows(asked) => {
                let is_count = matches!(asked.what, What::Count);
                let part = match is_count {
                    true => self.rows(asked, rows).0,
                    false => self.numbers(asked, rows)?.0,
                };
                let counted = or_0(look("dp_counted", &part));
                match is_lifted || is_count {
                    true => op(&op(&counted, "*", &float(2.0)), "-", &every),
                    false => counted,
                }
            }
            Number::Centred(asked) => {
                let (part, _) = self.numbers(asked, rows)?;
                look("dp_centred", &part)
            }
            Number::Sum(asked) => {
                let (lo, hi) = asked.bounds.ok_or("a sum has no bounds")?;
                let (part, _) = self.numbers(asked, rows)?;
                // In half widths of the range that has 0 in it too.
                let (middle, half) = middle_and_half(with_0((lo, hi)));
                let own = middle_and_half((lo, hi));
                let [counted, centred] =
                    ["dp_counted", "dp_centred"].map(|name| or_0(look(name, &part)));
                let sum = op(
                    &op(&counted, "*", &float(or_nothing(own.0 / half))),
                    "+",
                    &op(&centred, "*", &float(or_nothing(own.1 / half))),
                );
                op(
                    &sum,
                    "-",
                    &op(&every, "*", &float(or_nothing(middle / half))),
                )
            }
        })
    }

    /// Notes how far off an answer is: no more than alone. Noise in the shape of a cube is nearly normal.
    fn note_price(&mut self, release: &Release<'_, 't>) -> Checked<()> {
        let aggregate = match (&release.asked.what, release.is_pair) {
            (What::Count, _) => "dp_count",
            (_, true) => "dp_mean_and_count",
            (What::Sum, _) => "dp_sum",
            _ => "dp_mean",
        };
        let mechanism = match self.price.buys(aggregate) {
            (None, mechanism) => mechanism,
            (Some(epsilon), _) => {
                let mu = epsilon / f64::from(2 * self.groups).sqrt();
                Some(format!("gaussian(mu={mu:?})"))
            }
        };
        let mechanism = self.mechanism(aggregate, mechanism.as_deref(), self.rows)?;
        let bounds = release.asked.bounds;
        self.priced.push(Priced::of(&cost::Call {
            bounds: bounds.map(|(lo, hi)| (Some(lo), Some(hi))),
            ..cost::Call::of(aggregate, None, &mechanism)
        }));
        Ok(())
    }
}

impl Released {
    /// An answer, as an expression.
    fn answer(&self, member: &Member, release: &Release, one: &Asked) -> String {
        let asked = release.asked;
        let in_rows = |number: &str| op(number, "*", &float(self.rows));
        let own = member.own.map_or(&self.all, |i| &self.numbers[i]);
        match (release.is_mean(), asked.bounds) {
            (true, Some(bounds)) => {
                let rows = self.rows_of(member);
                let mean = mean(own, &rows, bounds);
                match one.what {
                    What::Mean => mean,
                    What::Count => in_rows(&rows),
                    _ => op(&mean, "*", &in_rows(&rows)),
                }
            }
            (false, Some(bounds)) => {
                let (middle, half) = middle_and_half(with_0(bounds));
                let own = op(own, "*", &float(half));
                in_rows(&op(&own, "+", &op(&self.all, "*", &float(middle))))
            }
            (_, None) if member.own.is_none() => in_rows(own),
            (_, None) => in_rows(&self.counted_from_half(own)),
        }
    }

    /// The number of rows that a mean is of.
    fn rows_of(&self, member: &Member) -> String {
        match member.rows {
            None => self.all.clone(),
            Some(i) if self.is_lifted => self.counted_from_half(&self.numbers[i]),
            Some(i) => self.numbers[i].clone(),
        }
    }

    fn counted_from_half(&self, number: &str) -> String {
        op(&op(number, "+", &self.all), "*", &float(0.5))
    }
}

/// A mean from what its rows are above the middle of their bounds, in half widths, and from their number: between the
/// bounds, and their middle where there is nothing to divide by.
fn mean(centred: &str, rows: &str, (lo, hi): (f64, f64)) -> String {
    let [zero, one, less] = [0.0, 1.0, -1.0].map(float);
    let (middle, half) = middle_and_half((lo, hi));
    let place = op(centred, "/", rows);
    let place = format!("LEAST(GREATEST({place}, {less}), {one})");
    let mean = op(&float(middle), "+", &op(&place, "*", &float(half)));
    format!(
        "CASE WHEN {rows} OPERATOR(pg_catalog.>) {zero} THEN LEAST(GREATEST({mean}, {}), {}) ELSE {} END",
        float(lo),
        float(hi),
        float(middle)
    )
}

/// The least range that has these bounds and 0 in it.
fn with_0((lo, hi): (f64, f64)) -> (f64, f64) {
    (lo.min(0.0), hi.max(0.0))
}

pub(super) fn middle_and_half((lo, hi): (f64, f64)) -> (f64, f64) {
    (or_nothing(lo.midpoint(hi)), hi / 2.0 - lo / 2.0)
}

/// A factor, or 0 if what a row has, times it, could be a number that is too small for a float: that is an error.
pub(super) fn or_nothing(factor: f64) -> f64 {
    match factor.abs() < NEXT_TO_NOTHING && Defence::Total.stands() {
        true => 0.0,
        false => factor,
    }
}

/// Far from the least of floats, and less than any noise.
const NEXT_TO_NOTHING: f64 = 1e-280;

/// A term with one of PostgreSQL's operators, in brackets.
pub(super) fn op(one: &str, operator: &str, other: &str) -> String {
    format!("({one} OPERATOR(pg_catalog.{operator}) {other})")
}
