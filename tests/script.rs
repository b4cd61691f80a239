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

/// What is about a support function stands beside it: nobody but the aggregates may call it.
#[test]
fn what_is_shut_is_shut_where_it_is_made() {
    for file in files("sql") {
        let text =
            fs::read_to_string(repository().join(format!("sql/{file}.sql"))).expect("a file");
        for statement in text.split("\n\n") {
            let Some(made) = statement.find("CREATE FUNCTION ") else {
                continue;
            };
            let name = statement[made + 16..].split('(').next().expect("a name");
            // Who may make budgets and charge them is granted; what views call looks at its arguments alone.
            let of_ledger = file == "ledger" && name != "dp_mean.dp_budget_sums";
            let sealed = ["dp_mean.dp_contribution", "dp_mean.dp_groups"];
            let of_state = statement.contains("dp_state")
                || sealed.iter().any(|start| name.starts_with(start));
            let shut = statement.contains(&format!("REVOKE EXECUTE ON FUNCTION {name}("));
            assert_eq!(shut, of_state || of_ledger, "sql/{file}.sql: {name}");
        }
    }
}
