//! Whole questions, asked of tables and of their neighbours: the same tables with one person more. The noise is the
//! same for all, and hides nothing: what one person may change is then known, and nothing else changes.

mod columns;
mod comparison;
mod own_rows;
mod question;
mod sources;
mod world;

use std::collections::BTreeMap;

use dp_mean_tests::{refusal, run};
use postgres::{Client, SimpleQueryMessage};

use super::questions::Dice;
use super::{Stage, down};
use comparison::{Ending, Found, Rows, compare};
use question::{Question, question};
use world::{PERSONS, POLICIES, Policy, TABLES, set_person};

/// How many questions there are.
const QUESTIONS: usize = 240;

/// How many questions are asked under a policy before the next one holds.
const PART: usize = 40;

/// The rows that came of a statement.
fn rows_of(messages: Vec<SimpleQueryMessage>) -> Rows {
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(
            (0..row.len())
                .map(|i| row.get(i).map(str::to_owned))
                .collect(),
        ),
        _ => None,
    });
    rows.collect()
}

/// Names, types and modifiers of columns, and rows.
type Came = (Vec<(String, u32, i32)>, Rows);

fn came(client: &mut Client, sql: &str) -> Result<Came, postgres::Error> {
    let statement = client.prepare(sql)?;
    let columns = statement.columns().iter();
    let columns = columns.map(|one| {
        (
            one.name().to_owned(),
            one.type_().oid(),
            one.type_modifier(),
        )
    });
    Ok((columns.collect(), rows_of(client.simple_query(sql)?)))
}

/// Asks a question, with the noise of this seed.
fn ask(stage: &Stage, client: &mut Client, question: &Question, seed: usize) -> Ending {
    let sql = &question.sql;
    run(
        client,
        &format!("{}; SELECT dp_test_record({seed})", question.settings),
    );
    stage.heard();
    let came = came(client, sql);
    let heard = stage.heard();
    let cost =
        format!("SELECT mechanisms, noise, rho, epsilon, delta, price FROM dp_cost($q${sql}$q$)");
    match came {
        Ok((columns, rows)) => {
            let cost = client.simple_query(&cost);
            let cost = cost.unwrap_or_else(|error| panic!("it has no price: {error}: {sql}"));
            Ending {
                error: None,
                heard,
                columns,
                rows,
                cost: rows_of(cost),
            }
        }
        Err(error) => {
            let told = refusal(&error, sql);
            let error = [
                told.code,
                told.message,
                told.detail,
                told.context,
                told.hint,
            ];
            Ending {
                error: Some(error),
                heard,
                columns: Vec::new(),
                rows: Rows::new(),
                cost: Rows::new(),
            }
        }
    }
}

/// What came of many questions.
#[derive(Default)]
struct Outcome {
    asked: usize,
    answered: usize,
    /// Groups of those that are answered.
    groups: usize,
    /// By their messages, those that were refused.
    refused: BTreeMap<String, usize>,
    /// How much of what its noise allows a person took, where that is known.
    taken: Vec<f64>,
    /// How often each thing was held to a bound.
    held: BTreeMap<&'static str, usize>,
    /// How often each thing is wrong.
    wrong: BTreeMap<&'static str, usize>,
    /// All of it about the first few.
    shown: Vec<String>,
}

impl Outcome {
    fn add(&mut self, question: &Question, policy: &Policy, without: &Ending, with: &[Ending]) {
        self.asked += 1;
        match &without.error {
            None => {
                self.answered += 1;
                self.groups += without.rows.len();
            }
            Some([code, message, ..]) => {
                *self.refused.entry(message.clone()).or_default() += 1;
                // The gate says no, in its own words: else the question is wrong, or the gate.
                if code != "42501" {
                    self.find(
                        "refusal",
                        question,
                        policy,
                        "with and without a person",
                        message,
                    );
                }
            }
        }
        for (person, with) in PERSONS.iter().zip(with) {
            let Found { wrong, held, taken } = compare(question, policy, without, with);
            for (what, detail) in wrong {
                self.find(what, question, policy, person.name, &detail);
            }
            self.taken.extend(taken);
            for what in held {
                *self.held.entry(what).or_default() += 1;
            }
        }
    }

    fn find(
        &mut self,
        what: &'static str,
        question: &Question,
        policy: &Policy,
        who: &str,
        detail: &str,
    ) {
        let times = self.wrong.entry(what).or_default();
        *times += 1;
        if *times <= 3 {
            let detail: String = detail.chars().take(2000).collect();
            self.shown.push(format!(
                "{what}, {who}: {policy:?} {}; {}\n{detail}\n",
                question.settings, question.sql
            ));
        }
    }
}

/// Asks that many questions without some defences.
fn ask_all(questions: usize, seed: u64, defences: &[&str]) -> Outcome {
    let mut stage = Stage::of(TABLES);
    let mut client = stage.analyst();
    // What they would cost is compared by what `dp_cost` says.
    run(&mut client, &down("charge"));
    run(
        &mut client,
        "SET dp_mean.round = off; SET dp_mean.reuse = off",
    );
    for defence in defences {
        run(&mut client, &down(defence));
    }
    let mut dice = Dice(seed);
    let mut outcome = Outcome::default();
    for part in (0..questions).step_by(PART) {
        let policy = &POLICIES[part / PART % POLICIES.len()];
        policy.declare(&mut stage);
        let asked: Vec<_> = (part..questions.min(part + PART))
            .map(|_| question(&mut dice, policy))
            .collect();
        let mut endings = Vec::new();
        for person in std::iter::once(None).chain(PERSONS.iter().map(Some)) {
            set_person(&mut stage, person);
            let asked = asked.iter().enumerate();
            endings.push(
                asked
                    .map(|(i, question)| ask(&stage, &mut client, question, part + i))
                    .collect::<Vec<_>>(),
            );
        }
        let mut endings: Vec<_> = endings.into_iter().map(Vec::into_iter).collect();
        for question in &asked {
            let mut of_question = endings
                .iter_mut()
                .map(|endings| endings.next().expect("as many"));
            let without = of_question.next().expect("the tables as they are");
            outcome.add(question, policy, &without, &of_question.collect::<Vec<_>>());
        }
    }
    outcome
}

fn assert_no_person_changes_more(questions: usize, seed: u64) {
    let outcome = ask_all(questions, seed, &[]);
    let Outcome {
        asked,
        answered,
        groups,
        ..
    } = outcome;
    let refused: usize = outcome.refused.values().sum();
    println!(
        "of {asked} questions {answered} were answered, with {groups} groups, and {refused} refused"
    );
    let most = outcome.taken.iter().copied().fold(0.0, f64::max);
    println!(
        "of {} answers the noise is known: the most that a person took of what it allows is {:.0}%",
        outcome.taken.len(),
        100.0 * most
    );
    for (message, times) in &outcome.refused {
        println!("{times:6} {message}");
    }
    for shown in &outcome.shown {
        println!("{shown}");
    }
    assert!(outcome.wrong.is_empty(), "{:?}", outcome.wrong);
    println!("held to a bound: {:?}", outcome.held);
    for (what, least) in [
        ("key", 10),
        ("rows", 10),
        ("people", 10),
        ("sum", 10),
        ("values", 40),
    ] {
        let held = outcome.held.get(what).copied().unwrap_or_default();
        assert!(held > questions / least, "{held} of {what}");
    }
    // A person who takes less than all shows little.
    assert!(most > 0.9, "{most}");
    assert_eq!((asked, refused), (questions, questions - answered));
    assert!(
        3 * answered > 2 * questions,
        "{answered} of {questions} were answered"
    );
}

#[test]
fn no_person_changes_more_than_the_policy_says() {
    assert_no_person_changes_more(QUESTIONS, 1);
}

/// `make test-fuzz`.
#[test]
#[ignore = "as many questions as one has time for"]
fn no_person_changes_more_in_many() {
    let number = |name| -> usize { dp_mean_tests::variable(name).parse().expect("a number") };
    // Of fewer, too few are of each kind.
    let questions = number("DP_MEAN_STATEMENTS").max(QUESTIONS);
    assert_no_person_changes_more(questions, number("DP_MEAN_SEED") as u64);
}

/// Where a defence is taken away, the same questions see a person.
#[test]
fn neighbours_differ_without_a_defence() {
    for (defence, seen) in [
        ("rows", &["rows", "people", "sum"][..]),
        ("groups", &["groups"]),
        ("keep", &["key"]),
        ("total", &["error"]),
        ("order", &["key"]),
        ("refuse", &["rows", "key"]),
    ] {
        let wrong = ask_all(QUESTIONS / 3, 1, &[defence]).wrong;
        println!("without {defence} {wrong:?}");
        for what in seen {
            assert!(
                wrong.contains_key(what),
                "without {defence} no {what} is seen"
            );
        }
    }
}
