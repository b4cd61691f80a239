//! Questions that nobody thought of: random ones, near those that are answered.

use std::cmp::Ordering;
use std::error::Error;

use dp_mean_tests::{refusal, run};
use postgres::types::{FromSql, Type};
use postgres::{Client, SimpleQueryMessage};

use super::questions::{Dice, Question, plain_question, question};
use super::{Stage, down, kill_a_row};

/// How many questions there are.
const QUESTIONS: usize = 1500;

/// The analyst's own table that questions join: of one page, which is full, with a dead row on it.
const PROBE: &str = "TRUNCATE probe; INSERT INTO probe SELECT g % 3, repeat('x', 1900) FROM generate_series(1, 4) g";

/// What was counted of the table and of its index by now, in this transaction and before.
const COUNTED: &str = "SET stats_fetch_consistency = none; \
    SELECT pg_stat_get_numscans(c) + pg_stat_get_xact_numscans(c), \
        pg_stat_get_tuples_returned(c) + pg_stat_get_xact_tuples_returned(c), \
        pg_stat_get_tuples_fetched(c) + pg_stat_get_xact_tuples_fetched(c), \
        pg_stat_get_blocks_fetched(c) + pg_stat_get_xact_blocks_fetched(c) \
    FROM (VALUES ('probe'::regclass), ('probe_k')) t(c)";

/// A value as it came.
struct Raw(Option<Vec<u8>>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Some(raw.to_vec())))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// What came of a question: names, types and modifiers of its columns, and its rows.
#[derive(Default)]
struct Came {
    columns: Vec<(String, u32, i32)>,
    rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// Asks by a prepared statement, for values in their binary form.
fn ask_binary(client: &mut Client, sql: &str) -> Result<Came, postgres::Error> {
    let statement = client.prepare(sql)?;
    let columns = statement.columns().iter();
    let columns = columns.map(|column| {
        let (name, kind) = (column.name().to_owned(), column.type_().oid());
        (name, kind, column.type_modifier())
    });
    let columns: Vec<_> = columns.collect();
    let rows = client.query(&statement, &[])?;
    let rows = rows
        .iter()
        .map(|row| (0..row.len()).map(|i| row.get::<_, Raw>(i).0).collect());
    Ok(Came {
        rows: rows.collect(),
        columns,
    })
}

/// Asks by the simple protocol, for values as text.
fn ask_text(client: &mut Client, sql: &str) -> Result<Came, postgres::Error> {
    let mut came = Came::default();
    for message in client.simple_query(sql)? {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                let columns = columns.iter();
                came.columns = columns.map(|one| (one.name().to_owned(), 0, 0)).collect();
            }
            SimpleQueryMessage::Row(row) => {
                let cell = |i| row.get(i).map(|text: &str| text.as_bytes().to_vec());
                came.rows.push((0..row.len()).map(cell).collect());
            }
            _ => {}
        }
    }
    Ok(came)
}

/// What must be the same with the person and without.
#[derive(Debug, PartialEq)]
pub struct Ending {
    sql: String,
    /// SQLSTATE, message, detail, context, hint.
    error: Option<[String; 5]>,
    heard: Vec<String>,
    columns: Vec<(String, u32, i32)>,
    /// What EXPLAIN shows of it; nothing where that is an error.
    explained: String,
    /// The keys whose values are public, as they came.
    keys: Vec<Vec<Option<Vec<u8>>>>,
    /// Where the next row of the joined table goes, and what was counted of it.
    traces: Vec<String>,
}

impl Ending {
    /// All of it but the traces.
    fn but_traces(&self) -> impl PartialEq {
        (
            self.error.clone(),
            self.heard.clone(),
            self.columns.clone(),
            self.explained.clone(),
            self.keys.clone(),
        )
    }
}

/// Asks a question.
fn ask_one(stage: &Stage, client: &mut Client, question: &Question, binary: bool) -> Ending {
    let sql = &question.sql;
    let joins_probe = sql.contains("probe");
    let mut before = Came::default();
    if joins_probe {
        run(client, PROBE);
        kill_a_row(client);
        before = ask_text(client, COUNTED).expect("counters");
    }
    stage.heard();
    let came = match binary {
        true => ask_binary(client, sql),
        false => ask_text(client, sql),
    };
    let heard = stage.heard();
    let (came, error) = match came {
        Ok(came) => (came, None),
        Err(error) => {
            let told = refusal(&error, sql);
            let is_internal = told.code.starts_with("XX") && !question.internal;
            assert!(
                !is_internal && !told.code.starts_with("57"),
                "{told:?}: {sql}"
            );
            let told = [
                told.code,
                told.message,
                told.detail,
                told.context,
                told.hint,
            ];
            (Came::default(), Some(told))
        }
    };
    let mut told = format!("{error:?} {heard:?}");
    for value in came.rows.iter().flatten().flatten() {
        told += &String::from_utf8_lossy(value);
    }
    assert!(
        sql.contains("'canary'") || !told.to_lowercase().contains("canary"),
        "{told}: {sql}"
    );
    let keys = came.rows.iter().map(|row| row[..question.keys].to_vec());
    let keys: Vec<_> = keys.collect();
    if question.sorted && binary {
        for pair in keys.windows(2) {
            assert_ne!(
                order(&came.columns, &pair[0], &pair[1]),
                Ordering::Greater,
                "{sql}"
            );
        }
    }
    let mut traces = Vec::new();
    let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    let explained = ask_text(client, &format!("EXPLAIN (VERBOSE) {sql}"));
    let explained = explained.map_or(String::new(), |came| {
        let lines = came.rows.iter().flatten().flatten();
        lines.map(|line| text(line) + "\n").collect()
    });
    if joins_probe {
        // Counted first, as the row is counted too.
        let counted = ask_text(client, COUNTED).expect("counters");
        let next = "INSERT INTO probe VALUES (2, repeat('y', 1900)) RETURNING ctid::text";
        let next = ask_text(client, next).expect("a row goes in");
        traces.extend(
            next.rows
                .iter()
                .flatten()
                .flatten()
                .map(|place| text(place)),
        );
        let pairs = before
            .rows
            .iter()
            .flatten()
            .zip(counted.rows.iter().flatten());
        traces.extend(pairs.map(|(before, after)| {
            let number = |cell: &Option<Vec<u8>>| -> i64 {
                let cell = cell.as_deref().map(text);
                cell.and_then(|cell| cell.parse().ok()).expect("a number")
            };
            (number(after) - number(before)).to_string()
        }));
    }
    Ending {
        sql: sql.clone(),
        error,
        heard,
        columns: came.columns,
        explained,
        keys: if question.declared { keys } else { Vec::new() },
        traces,
    }
}

/// How two rows follow each other by their keys, as far as their types are known here; NULLs come last.
fn order(
    columns: &[(String, u32, i32)],
    one: &[Option<Vec<u8>>],
    other: &[Option<Vec<u8>>],
) -> Ordering {
    for ((one, other), (_, kind, _)) in one.iter().zip(other).zip(columns) {
        let (one, other) = match (one, other) {
            (None, None) => continue,
            (None, Some(_)) => return Ordering::Greater,
            (Some(_), None) => return Ordering::Less,
            (Some(one), Some(other)) => (one, other),
        };
        let number = |bytes: &[u8]| -> i64 {
            let start = if bytes[0] & 0x80 != 0 { -1 } else { 0 };
            bytes
                .iter()
                .fold(start, |sum, byte| sum << 8 | i64::from(*byte))
        };
        let float = |bytes: &[u8]| f64::from_bits(number(bytes) as u64);
        let order = match Type::from_oid(*kind) {
            Some(
                Type::INT2
                | Type::INT4
                | Type::INT8
                | Type::DATE
                | Type::TIMESTAMP
                | Type::TIMESTAMPTZ,
            ) => number(one).cmp(&number(other)),
            Some(Type::FLOAT8) => float(one).total_cmp(&float(other)),
            // Texts have collations.
            _ => return Ordering::Equal,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// What came of many questions.
#[derive(Default)]
pub struct Outcome {
    pub answered: usize,
    charges: i64,
    /// What was not the same with the person and without.
    told: Vec<[Ending; 2]>,
}

impl Outcome {
    /// That nothing told of the person.
    pub fn assert_tells_nothing(&self) {
        for [with, without] in self.told.iter().take(9) {
            println!("{with:?}\n{without:?}");
        }
        assert!(self.told.is_empty(), "{} questions tell", self.told.len());
    }
}

/// A database with a budget for many questions, and a session of the analyst for when the person is in the tables, and
/// for when not, both without some defences.
pub fn many(defences: &[&str]) -> (Stage, [Client; 2]) {
    let mut stage = Stage::new();
    // The same delta of a choice of groups as before, and a budget that has it often enough.
    stage.as_owner("SELECT dp_set_budget('patients', 4096, 0.5)");
    protect_visits(&mut stage, false);
    stage.as_owner(
        "SELECT dp_protect('people', 'person', 'patients', query_delta => 1e-7), \
         dp_declare('people', 'dept', ARRAY['d0', 'd1', 'd2', 'd3', 'd4'])",
    );
    let mut clients = [true, false].map(|_| stage.analyst());
    run(
        &mut clients[0],
        "CREATE TABLE probe (k integer, pad text) WITH (autovacuum_enabled = off); \
         ALTER TABLE probe ALTER pad SET STORAGE PLAIN; CREATE INDEX probe_k ON probe (k)",
    );
    for client in &mut clients {
        run(client, "SET dp_mean.epsilon = 0.001");
        for defence in defences {
            run(client, &down(defence));
        }
    }
    (stage, clients)
}

/// Whether totals find how many rows of a person count.
fn protect_visits(stage: &mut Stage, auto_rows: bool) {
    stage.as_owner(&format!(
        "SELECT dp_protect('visits', 'patient', 'patients', groups => 1, rows => 2, query_delta => 1e-7, \
         auto_rows => {auto_rows})"
    ));
}

/// Asks questions with the person in the tables and without, by both protocols in turn.
pub fn ask_all(
    stage: &mut Stage,
    clients: &mut [Client; 2],
    asked: &[Question],
    outcome: &mut Outcome,
) {
    let mut ends = [Vec::new(), Vec::new()];
    let mut spent = Vec::new();
    for ((ends, client), person) in ends.iter_mut().zip(&mut *clients).zip([true, false]) {
        stage.set_person(person);
        let before = stage.spent();
        for (i, question) in asked.iter().enumerate() {
            ends.push(ask_one(stage, client, question, i % 4 > 1));
        }
        // What this session counted is not written down while the other one asks.
        run(client, "SELECT pg_stat_force_next_flush()");
        let after = stage.spent();
        spent.push((after.0 - before.0, after.1 - before.1));
    }
    let [with, without] = ends;
    outcome.answered += with.iter().filter(|end| end.error.is_none()).count();
    outcome.charges += spent[0].1;
    if with
        .iter()
        .zip(&without)
        .all(|(one, other)| one.error == other.error)
    {
        // Shares are shown in billionths, and the least price is a thousandth of epsilon.
        let difference = (spent[0].0 - spent[1].0).abs();
        assert!(difference < 1e-4 && spent[0].1 == spent[1].1, "{spent:?}");
    }
    let pairs = with.into_iter().zip(without).enumerate();
    let told = pairs.filter(|(_, (one, other))| one != other);
    for (i, (one, other)) in told.collect::<Vec<_>>() {
        let binary = i % 4 > 1;
        // A session of another database may have held back that a dead row goes: then it is gone the next time.
        let is_lasting = one.but_traces() != other.but_traces()
            || (0..2).all(|_| {
                let ends = [(0, true), (1, false)].map(|(client, person)| {
                    stage.set_person(person);
                    ask_one(stage, &mut clients[client], &asked[i], binary).traces
                });
                ends[0] != ends[1]
            });
        if is_lasting {
            outcome.told.push([one, other]);
        }
    }
}

/// How many questions are asked of the same tables and the same policy.
const PART: usize = 250;

/// Asks that many questions without some defences. Every second one is of a kind that is answered.
fn ask(questions: usize, seed: u64, defences: &[&str]) -> Outcome {
    let (mut stage, mut clients) = many(defences);
    let mut dice = Dice(seed);
    let mut outcome = Outcome::default();
    // In parts, as the tables are changed between them.
    for part in (0..questions).step_by(PART) {
        protect_visits(&mut stage, part / PART % 2 == 1);
        let asked: Vec<_> = (part..questions.min(part + PART))
            .map(|i| match i % 2 {
                0 => question(&mut dice),
                _ => plain_question(&mut dice),
            })
            .collect();
        ask_all(&mut stage, &mut clients, &asked, &mut outcome);
    }
    outcome
}

/// Asks, and sees that nothing tells of the person.
fn assert_tells_nothing(questions: usize, seed: u64) {
    let outcome = ask(questions, seed, &[]);
    let (answered, charges) = (outcome.answered, outcome.charges);
    println!("of {questions} questions {answered} were answered, {charges} charged");
    outcome.assert_tells_nothing();
    assert!(answered > questions / 3, "{answered} were answered");
    assert!(charges > questions as i64 / 3, "{charges} were charged");
}

#[test]
fn no_random_question_tells_of_the_person() {
    assert_tells_nothing(QUESTIONS, 1);
}

/// `make test-fuzz`.
#[test]
#[ignore = "as many questions as one has time for"]
fn no_random_question_of_many_tells_of_the_person() {
    let number = |name| -> usize { dp_mean_tests::variable(name).parse().expect("a number") };
    let questions = number("DP_MEAN_STATEMENTS");
    assert_tells_nothing(questions, number("DP_MEAN_SEED") as u64);
}

/// The same questions see what they should, where defences are taken away.
#[test]
fn random_questions_see_what_a_defence_hides() {
    let told = ask(200, 1, &["inputs", "counters"]).told;
    let is_trace = |[one, other]: &&[Ending; 2]| one.traces != other.traces;
    let by_row = |[one, other]: &&[Ending; 2]| one.traces.first() != other.traces.first();
    let all = told.iter().filter(is_trace).count();
    let rows = told.iter().filter(by_row).count();
    println!("without inputs {all} of 200 questions leave a trace, {rows} by the next row");
    assert!(all > rows && rows > 0, "{all}, {rows}");
    let told = ask(200, 1, &["total"]).told;
    let errors = told.iter().filter(|[one, other]| one.error != other.error);
    assert!(errors.count() > 0);
}
