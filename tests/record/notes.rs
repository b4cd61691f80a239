//! What the testing build records of releases.

use dp_mean_tests::{rows, run, value};
use postgres::Client;

use super::SEED;
use super::tables::Pair;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub exact: Vec<i128>,
    pub noisy: i128,
}

impl Note {
    pub fn noise(&self) -> i128 {
        self.noisy - self.exact[0]
    }
}

/// A release.
#[derive(Clone, Debug)]
pub struct Record {
    pub answer: Option<String>,
    pub words: u64,
    pub notes: Vec<Note>,
}

pub fn parse(line: &str, answer: Option<String>) -> Record {
    let mut parts = line.split(' ');
    let number = |text: &str| -> i128 { text.parse().expect("an integer") };
    let words = parts.next().expect("words").parse().expect("words");
    let note = |text: &str| {
        let (exact, noisy) = text.split_once(':').expect("a note");
        Note {
            exact: exact.split(',').map(number).collect(),
            noisy: number(noisy),
        }
    };
    Record {
        answer,
        words,
        notes: parts.map(note).collect(),
    }
}

/// A release of `call` for each table of one side, in order.
pub fn releases(client: &mut Client, call: &str, side: i32, playing: bool) -> Vec<Record> {
    let start = if playing { "replay" } else { "record" };
    run(client, &format!("SELECT dp_test_{start}({SEED})"));
    let sql = format!(
        "SELECT (SELECT {call}::text FROM unnest(p.xs, p.ys) AS r(x, y)) FROM \
         (SELECT xs, ys FROM pairs WHERE side = {side} ORDER BY id OFFSET 0) p"
    );
    let answers: Vec<Option<String>> = rows(client, &sql).iter().map(|row| row.get(0)).collect();
    let recorded: String = value(client, "SELECT dp_test_recorded()");
    let records: Vec<Record> = recorded
        .lines()
        .zip(answers.iter().cloned())
        .map(|(line, answer)| parse(line, answer))
        .collect();
    assert_eq!(
        records.len(),
        answers.len(),
        "{call}: not a release a table"
    );
    records
}

pub fn fill(client: &mut Client, pairs: &[Pair]) {
    run(
        client,
        "DROP TABLE IF EXISTS pairs; \
         CREATE TABLE pairs (id int, side int, xs float8[], ys float8[])",
    );
    let insert = client.prepare("INSERT INTO pairs VALUES ($1, $2, $3, $4)");
    let insert = insert.expect("an INSERT");
    let mut transaction = client.transaction().expect("a transaction");
    for (id, pair) in pairs.iter().enumerate() {
        for (side, table) in pair.tables.iter().enumerate() {
            let xs: Vec<_> = table.iter().map(|row| row.x).collect();
            let ys: Vec<_> = table.iter().map(|row| row.y).collect();
            let values: [&(dyn postgres::types::ToSql + Sync); 4] =
                [&(id as i32), &(side as i32), &xs, &ys];
            transaction.execute(&insert, &values).expect("a table");
        }
    }
    transaction.commit().expect("the tables");
}
