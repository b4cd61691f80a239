//! What came of a question, and what one person may have changed of it. All noise is the same, so answers differ by the
//! rows alone.

use std::collections::{HashMap, HashSet};

use super::question::{Kind, Question};
use super::world::{POLICIES, Policy, Unit};

/// Rows, as text.
pub type Rows = Vec<Vec<Option<String>>>;

/// What came of a question.
#[derive(Debug)]
pub struct Ending {
    /// SQLSTATE, message, detail, context, hint.
    pub error: Option<[String; 5]>,
    pub heard: Vec<String>,
    /// Names, types and modifiers.
    pub columns: Vec<(String, u32, i32)>,
    pub rows: Rows,
    /// What `dp_cost` says of it.
    pub cost: Rows,
}

impl Ending {
    /// The mechanisms of its releases.
    fn mechanisms(&self) -> String {
        let cost = self.cost.iter().filter_map(|row| row[0].clone());
        cost.collect::<Vec<_>>().join("; ")
    }
}

/// What is wrong, and what shows it.
pub type Finding = (&'static str, String);

/// What is found where a question is asked of the tables, and of those with one person more.
#[derive(Default)]
pub struct Found {
    pub wrong: Vec<Finding>,
    /// What was held to a bound: keys that nobody changes, and answers that moved.
    pub held: Vec<&'static str>,
    /// How much of what the noise allows the person took, where it is known: 1 is all of it.
    pub taken: Option<f64>,
}

/// Compares what came of a question.
pub fn compare(question: &Question, policy: &Policy, without: &Ending, with: &Ending) -> Found {
    // What no row may decide.
    for (what, same) in [
        ("error", without.error == with.error),
        ("message", without.heard == with.heard),
        ("column", without.columns == with.columns),
        ("price", without.cost == with.cost),
    ] {
        if !same {
            let wrong = vec![(what, format!("{without:?}\n{with:?}"))];
            return Found {
                wrong,
                ..Found::default()
            };
        }
    }
    if without.error.is_some() {
        return Found::default();
    }
    Pair::new(question, policy, without, with).compare()
}

type Group<'a> = &'a [Option<String>];

/// Answers to the same question.
struct Pair<'a> {
    question: &'a Question,
    policy: &'a Policy,
    mechanisms: String,
    without: &'a Ending,
    with: &'a Ending,
    /// How far answers move whose noise is added to them, as far as that is no rounding.
    moves: Vec<f64>,
    found: Found,
}

impl<'a> Pair<'a> {
    fn new(
        question: &'a Question,
        policy: &'a Policy,
        without: &'a Ending,
        with: &'a Ending,
    ) -> Self {
        Self {
            question,
            policy,
            mechanisms: without.mechanisms(),
            without,
            with,
            moves: Vec::new(),
            found: Found::default(),
        }
    }

    fn find(&mut self, what: &'static str, detail: String) {
        self.found.wrong.push((what, detail));
    }

    /// The keys of all rows, in their order.
    fn keys(&self, of: &'a Ending) -> Vec<Group<'a>> {
        let keys = self.question.keys;
        of.rows.iter().map(|row| &row[..keys]).collect()
    }

    fn compare(mut self) -> Found {
        let (before, after) = (self.keys(self.without), self.keys(self.with));
        let [one, other] = [&before, &after].map(|keys| keys.iter().collect::<HashSet<_>>());
        if one.len() < before.len() || other.len() < after.len() {
            self.find("key", format!("one twice: {before:?}\n{after:?}"));
            return self.found;
        }
        // Groups are the same, unless they are chosen by the number of people in them, as it is released.
        let chosen = ["dp_keep", "groups: above"]
            .iter()
            .any(|word| self.mechanisms.contains(word));
        if !chosen && !self.question.filtered && !self.policy.min_people {
            self.found.held.push("key");
            if one != other || !self.question.sorted && before != after {
                self.find("key", format!("{before:?}\n{after:?}"));
                return self.found;
            }
        }
        let touched = self.touched(&before, &after);
        self.order(&before, &after, &touched);
        // A person counts in `groups` groups of each grouping set; or in all that are released together, as one vector,
        // whose noise is for that.
        // The pairs that a person counts in as values are in others.
        let kinds = self.question.kinds.iter();
        let values = kinds.filter(|kind| matches!(kind, Kind::Values)).count();
        let of_values = values * self.most_values() as usize;
        let limit = (self.question.unit.groups as usize + of_values) * self.question.sets;
        if !self.is_joint() && touched.len() > limit {
            let detail = format!(
                "{} of {limit}: {touched:?}; {}",
                touched.len(),
                self.mechanisms
            );
            self.find("groups", detail);
        }
        if let Some(taken) = self.taken() {
            self.found.taken = Some(taken);
            if taken > 1.02 {
                self.find(
                    "noise",
                    format!("{:?}: {taken} of {:?}", self.moves, self.without.cost),
                );
            }
        }
        self.found
    }

    /// Groups whose answers differ, or which are in one of both alone.
    fn touched(&mut self, before: &[Group<'a>], after: &[Group<'a>]) -> HashSet<Group<'a>> {
        let places = |keys: &[Group<'a>]| -> HashMap<Group<'a>, usize> {
            keys.iter().enumerate().map(|(i, key)| (*key, i)).collect()
        };
        let (before, after) = (places(before), places(after));
        let mut touched: HashSet<Group<'a>> = HashSet::new();
        touched.extend(before.keys().filter(|key| !after.contains_key(*key)));
        touched.extend(after.keys().filter(|key| !before.contains_key(*key)));
        for (key, place) in before {
            let Some(other) = after.get(key) else {
                continue;
            };
            let keys = self.question.keys;
            let one = &self.without.rows[place][keys..];
            let other = &self.with.rows[*other][keys..];
            if one != other {
                touched.insert(key);
                for (i, (one, other)) in one.iter().zip(other).enumerate() {
                    self.answer(i, one.as_deref(), other.as_deref());
                }
            }
        }
        touched
    }

    /// Groups that the person is not in follow each other as before.
    fn order(&mut self, before: &[Group<'a>], after: &[Group<'a>], touched: &HashSet<Group<'a>>) {
        let rest = |keys: &[Group<'a>]| -> Vec<Group<'a>> {
            let keys = keys.iter().copied();
            // By their keys, those of the person have their place too.
            let both = |key: &Group<'a>| before.contains(key) && after.contains(key);
            match self.question.sorted {
                true => keys.filter(|key| !touched.contains(key)).collect(),
                false => keys.filter(both).collect(),
            }
        };
        let (one, other) = (rest(before), rest(after));
        if one != other {
            self.find("order", format!("{one:?}\n{other:?}"));
        }
    }

    /// The most values of a person that count.
    fn most_values(&self) -> u32 {
        self.question.unit.groups.max(self.question.unit.rows)
    }

    /// How far an answer moves.
    fn answer(&mut self, place: usize, one: Option<&str>, other: Option<&str>) {
        let kind = self.question.kinds[place];
        let (Some(one), Some(other)) = (one, other) else {
            if one.is_some() != other.is_some() {
                self.find("null", format!("{one:?} {other:?}"));
            }
            return;
        };
        let number = |text: &str| text.parse::<f64>().ok();
        let (Some(x), Some(y)) = (number(one), number(other)) else {
            if !matches!(kind, Kind::Other) {
                self.find("number", format!("{one} {other}"));
            }
            return;
        };
        let rows = f64::from(self.question.unit.rows);
        let (what, limit) = match kind {
            Kind::People => ("people", 1.0),
            Kind::Values => ("values", f64::from(self.most_values())),
            // What counts of a person is found in the rows.
            Kind::Rows | Kind::Sum(_) if self.policy.auto => return,
            Kind::Rows => ("rows", rows),
            // Beside a mean it is the mean times a number of rows, whose noise counts as often as there are rows.
            Kind::Sum(_) if self.mechanisms.contains("dp_mean") => return,
            Kind::Sum(largest) => ("sum", rows * largest),
            Kind::Average(largest) => {
                // Where bounds are one value, the gate takes a narrow range around it.
                if ![x, y].iter().all(|mean| mean.abs() <= largest * 1.001) {
                    self.find("average", format!("{x} or {y} is beyond {largest}"));
                }
                return;
            }
            Kind::Other => return,
        };
        // A sum of integers is rounded at the end, and so are numbers that are released together.
        let is_rounded = self.is_whole(place) && (matches!(kind, Kind::Sum(_)) || self.is_joint());
        let rounded = if is_rounded { 1.0 } else { 0.0 };
        self.found.held.push(what);
        let moved = (x - y).abs();
        if moved.is_nan() || moved > limit + rounded + 1e-9 * x.abs() {
            self.find(
                what,
                format!("{x} and {y} are {moved} apart, and not {limit}"),
            );
        }
        self.moves.push((moved - rounded).max(0.0));
    }

    /// How far a person moved an only answer, over all groups, as a part of what its noise allows. With the tail of a
    /// Laplace distribution, half of a 95% interval is ln 20 scales, and a person may move all groups together by
    /// epsilon scales. With that of a Gaussian it is 1.96 standard deviations, and a person may move them by mu of
    /// these, in a straight line.
    fn taken(&self) -> Option<f64> {
        let ([_], 1, [cost]) = (
            &self.question.kinds[..],
            self.question.sets,
            &self.without.cost[..],
        ) else {
            return None;
        };
        let number = |text: &str| text.parse::<f64>().ok();
        let text = |column: usize| cost[column].as_deref().unwrap_or_default();
        // That of integers is one, up to half a step away.
        let step = if self.is_whole(0) { 0.5 } else { 0.0 };
        let half = number(text(1).trim_matches(['{', '}']))? + step;
        let (rho, epsilon) = (number(text(2))?, number(text(3))?);
        let mechanisms = text(0);
        // The noise of a vector is of another form.
        if half == 0.0 || self.moves.is_empty() || self.is_joint() {
            return None;
        }
        if mechanisms.contains("gaussian") {
            let line = self
                .moves
                .iter()
                .map(|moved| moved * moved)
                .sum::<f64>()
                .sqrt();
            return Some(line * 1.96 / half / (2.0 * rho).sqrt());
        }
        // Stairs have such a tail only where epsilon is small.
        let is_like_laplace = ["staircase", "geometric"]
            .iter()
            .any(|name| mechanisms.contains(name));
        (is_like_laplace && epsilon <= 0.5)
            .then(|| self.moves.iter().sum::<f64>() * 20_f64.ln() / half / epsilon)
    }

    /// Whether several numbers are released together.
    fn is_joint(&self) -> bool {
        self.mechanisms.contains("d=")
    }

    /// Whether an answer is an integer.
    fn is_whole(&self, place: usize) -> bool {
        const INT8: u32 = 20;
        self.without.columns[self.question.keys + place].1 == INT8
    }
}

/// Each kind of difference is found, and none where none is: of a question by one key with a count, people, a sum and a
/// mean.
#[test]
fn each_difference_is_found() {
    let question = Question {
        sql: String::new(),
        settings: String::new(),
        keys: 1,
        kinds: vec![
            Kind::Rows,
            Kind::People,
            Kind::Sum(10.0),
            Kind::Average(10.0),
        ],
        unit: Unit { rows: 3, groups: 1 },
        sets: 1,
        filtered: false,
        sorted: false,
    };
    let ending = || {
        let row = |text: &str| -> Vec<Option<String>> {
            text.split(' ').map(|cell| Some(cell.to_owned())).collect()
        };
        Ending {
            error: None,
            heard: Vec::new(),
            columns: vec![
                ("k0".to_owned(), 25, -1),
                ("a0".to_owned(), 20, -1),
                ("a1".to_owned(), 20, -1),
                ("a2".to_owned(), 701, -1),
                ("a3".to_owned(), 701, -1),
            ],
            rows: vec![
                row("a 50 20 100.5 5.5"),
                row("b 40 10 50 -9"),
                row("c 30 9 20 1"),
            ],
            cost: vec![row("dp_count:geometric 0 0 0")],
        }
    };
    let found = |change: fn(&mut Ending)| -> Vec<&str> {
        let mut with = ending();
        change(&mut with);
        let wrong = compare(&question, &POLICIES[0], &ending(), &with).wrong;
        wrong.iter().map(|(what, _)| *what).collect()
    };
    fn set(ending: &mut Ending, row: usize, column: usize, to: &str) {
        ending.rows[row][column] = Some(to.to_owned());
    }
    assert_eq!(found(|_| ()), [""; 0]);
    // As much as is allowed.
    assert_eq!(found(|with| set(with, 0, 1, "53")), [""; 0]);
    assert_eq!(found(|with| set(with, 0, 2, "19")), [""; 0]);
    assert_eq!(found(|with| set(with, 0, 3, "70.5")), [""; 0]);
    assert_eq!(found(|with| set(with, 0, 4, "-10")), [""; 0]);
    // Anything more.
    assert_eq!(found(|with| set(with, 0, 1, "54")), ["rows"]);
    assert_eq!(found(|with| set(with, 0, 2, "22")), ["people"]);
    assert_eq!(found(|with| set(with, 0, 3, "70.4")), ["sum"]);
    assert_eq!(found(|with| set(with, 0, 3, "NaN")), ["sum"]);
    assert_eq!(found(|with| set(with, 0, 4, "-10.1")), ["average"]);
    assert_eq!(found(|with| set(with, 0, 4, "NaN")), ["average"]);
    assert_eq!(found(|with| set(with, 0, 4, "x")), ["number"]);
    assert_eq!(found(|with| with.rows[0][1] = None), ["null"]);
    assert_eq!(
        found(|with| {
            set(with, 0, 1, "51");
            set(with, 1, 1, "41");
        }),
        ["groups"]
    );
    assert_eq!(found(|with| with.rows.swap(0, 1)), ["key"]);
    assert_eq!(found(|with| set(with, 0, 0, "d")), ["key"]);
    assert_eq!(found(|with| set(with, 0, 0, "b")), ["key"]);
    assert_eq!(found(|with| drop(with.rows.pop())), ["key"]);
    assert_eq!(
        found(|with| with.heard.push("a NOTICE".to_owned())),
        ["message"]
    );
    assert_eq!(
        found(|with| with.error = Some(Default::default())),
        ["error"]
    );
    assert_eq!(found(|with| with.columns[1].1 = 23), ["column"]);
    assert_eq!(found(|with| with.cost.clear()), ["price"]);
}
