//! What works inside a backend only: plans, arrays as they lie in rows, pages of the ledger. The checks stand in
//! `src/`, beside what they check, and run inside one of the server's processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use dp_mean_tests::{Build, rows, session, value};

/// The names of the checks that the sources have, as in `dp_mean::pg::nodes::checks::null_is_the_empty_list`.
fn in_the_sources(folder: &Path, module: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let name = format!("{module}::{}", stem.expect("a name"));
        if path.is_dir() {
            in_the_sources(&path, &name, found);
        } else if let Some((_, checks)) = fs::read_to_string(&path)
            .expect("a source")
            .split_once("\nchecks! {\n")
        {
            let (checks, _) = checks.split_once("\n}\n").expect("the end of the checks");
            let functions = checks.lines().filter_map(|line| {
                let function = line.strip_prefix("    fn ")?;
                function.strip_suffix("() {")
            });
            found.extend(functions.map(|function| format!("{name}::{function}")));
        }
    }
}

#[test]
fn every_check_inside_a_backend_passes() {
    let (_database, mut client) = session(Build::Testing);
    let backend: i32 = value(&mut client, "SELECT pg_backend_pid()");
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    for row in rows(&mut client, "SELECT name, error FROM dp_test_backend()") {
        let (name, error): (String, Option<String>) = (row.get(0), row.get(1));
        wrong.extend(error.map(|error| format!("{name}: {error}")));
        assert!(names.insert(name.clone()), "{name} ran twice");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut written = BTreeSet::new();
    in_the_sources(Path::new("../src"), "dp_mean", &mut written);
    assert_eq!(names, written);
    assert!(names.len() >= 60, "{} checks", names.len());
    // Nothing is left of them, and the session goes on.
    let now: i32 = value(&mut client, "SELECT pg_backend_pid()");
    assert_eq!(now, backend);
    let left =
        "SELECT count(*) FROM pg_class WHERE relname LIKE 'scratch%' OR relname LIKE 'checked%'";
    assert_eq!(value::<i64>(&mut client, left), 0);
    let locks = "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
                 WHERE l.pid = pg_backend_pid() AND c.relnamespace = 'dp_mean'::regnamespace";
    assert_eq!(value::<i64>(&mut client, locks), 0);
}

/// Adds the marks of what lies in memory that the sources of a folder have.
fn marks_in(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            marks_in(&path, found);
        } else {
            let source = fs::read_to_string(&path).expect("a source");
            let marks = source.lines().filter(|line| line.contains("const MAGIC"));
            let marks = marks.filter_map(|line| line.split_once(": u32 = ")?.1.strip_suffix(';'));
            found.extend(marks.map(str::to_owned));
        }
    }
}

/// No state is taken for one of another kind.
#[test]
fn what_lies_in_memory_has_a_mark_of_its_own() {
    let mut marks = Vec::new();
    marks_in(Path::new("../src"), &mut marks);
    let different: BTreeSet<_> = marks.iter().collect();
    // Sums and moments have one, and are told apart by their lengths.
    assert_eq!(marks.len(), different.len() + 1, "{marks:?}");
    assert!(marks.len() >= 15, "{marks:?}");
}

#[test]
fn a_check_that_fails_is_a_row() {
    // The harness itself: a panic and an ERROR within a check are caught, and the checks after it run.
    let (_database, mut client) = session(Build::Testing);
    let count = "SELECT count(*) FROM dp_test_backend()";
    let all: i64 = value(&mut client, count);
    // Without their tables no check of the ledger can pass, and all others do.
    let sql = "ALTER TABLE dp_mean.spent RENAME TO elsewhere";
    client.batch_execute(sql).expect("a superuser may");
    let failed = "SELECT name, error FROM dp_test_backend() WHERE error IS NOT NULL";
    let failed = rows(&mut client, failed);
    for row in &failed {
        let (name, error): (String, String) = (row.get(0), row.get(1));
        assert!(name.starts_with("dp_mean::ledger::"), "{name}: {error}");
    }
    let [panics, errors] = ["tables::checks::every_table_of", "pages::checks::"].map(|part| {
        let names = failed.iter().map(|row| row.get::<_, String>(0));
        names.filter(|name| name.contains(part)).count()
    });
    assert!(panics == 1 && errors > 5, "{panics} {errors}");
    assert_eq!(value::<i64>(&mut client, count), all);
}
