//! The SQL of the extension as files: one a subject, put together by `scripts/lib.sh` in the order of `sql/subjects`.

use std::collections::BTreeSet;
use std::fs;

use crate::documentation::repository;

/// The longest line.
const WIDTH: usize = 120;

/// The subjects, in their order.
fn subjects() -> Vec<String> {
    let list = fs::read_to_string(repository().join("sql/subjects")).expect("sql/subjects");
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split(' ').next().expect("a word").to_owned())
        .collect()
}

/// The names of the SQL files in a folder, without their ending.
fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(repository().join(folder)).expect(folder);
    let names = entries.filter_map(|entry| {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("a name in UTF-8");
        name.strip_suffix(".sql").map(str::to_owned)
    });
    names.collect()
}

#[test]
fn every_file_is_a_subject() {
    let (subjects, files) = (subjects(), files("sql"));
    assert!(subjects.len() > 10, "{subjects:?}");
    assert_eq!(
        BTreeSet::from_iter(&subjects),
        BTreeSet::from_iter(&files),
        "sql/subjects"
    );
    assert_eq!(subjects.len(), files.len(), "a subject is there twice");
}

#[test]
fn lines_are_short() {
    let subjects = files("sql")
        .into_iter()
        .map(|file| format!("sql/{file}.sql"));
    // The SQL of an old version stays as it was; an update is written by hand.
    let updates = files("sql/upgrade").into_iter();
    let updates = updates.filter(|file| file.matches("--").count() == 2);
    let updates = updates.map(|file| format!("sql/upgrade/{file}.sql"));
    for path in subjects.chain(updates) {
        let text = fs::read_to_string(repository().join(&path)).expect("a file");
        for (number, line) in text.lines().enumerate() {
            let length = line.chars().count();
            assert!(
                length <= WIDTH,
                "{path}:{}: {length} characters",
                number + 1
            );
            assert_eq!(line, line.trim_end(), "{path}:{}", number + 1);
        }
    }
}

/// The last subject shuts all support functions, and opens none that works on states or contributions. Functions that make
/// budgets and charge them are shut where they are made.
#[test]
fn what_is_shut_is_shut() {
    let read =
        |file: &str| fs::read_to_string(repository().join(format!("sql/{file}.sql"))).expect(file);
    assert_eq!(subjects().last().map(String::as_str), Some("privileges"));
    let privileges = read("privileges");
    let (shut, opened) = privileges.split_once("GRANT").expect("a GRANT");
    assert!(shut.contains("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA dp_mean FROM PUBLIC;"));
    for word in [
        "dp_state",
        "dp_contribution",
        "dp_groups",
        "dp_ledger",
        "dp_stats",
    ] {
        assert!(!opened.contains(word), "{word}");
    }
    for statement in read("ledger").split("\n\n") {
        if let Some((_, made)) = statement.split_once("CREATE FUNCTION dp_")
            && !made.starts_with("mean.")
        {
            let name = made.split('(').next().expect("a name");
            let revoked = format!("REVOKE EXECUTE ON FUNCTION dp_{name}(");
            assert!(statement.contains(&revoked), "{name}");
        }
    }
}
