//! The demo: a short tour that leaves a picture and nothing else; and the scripts that run it and the tests.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use dp_mean_tests::{Build, Database, rows, run, session, value, variable};
use postgres::Client;

use crate::documentation::repository;

/// The longest that the tour may be, in lines of its script and in lines that it prints.
const LINES: usize = 110;

/// Runs a file of the demo by psql, from the repository, as the manual says.
fn psql(database: &Database, arguments: &[&str]) -> Output {
    let url = variable("DP_MEAN_RELEASE_URL");
    let url = url.replace("dbname=postgres", &format!("dbname={}", database.name()));
    Command::new(format!("{}/psql", variable("DP_MEAN_BIN")))
        .args(["-X", url.as_str()])
        .args(arguments)
        .current_dir(repository())
        .output()
        .expect("psql")
}

/// A database with the demo's tables.
fn loaded() -> (Database, Client) {
    let (database, client) = session(Build::Release);
    let output = psql(&database, &["-q", "-f", "demo/load.sql"]);
    assert!(output.status.success(), "{output:?}");
    (database, client)
}

/// What a run must leave as it was: the tour's roles, and the objects of the database. Other tests make other roles.
fn state(client: &mut Client) -> BTreeSet<String> {
    let sql = "SELECT 'role ' || rolname FROM pg_roles WHERE rolname ~ ('^(demo|' || current_database() || ')_') \
         UNION ALL SELECT 'relation ' || oid::regclass::text FROM pg_class WHERE relpersistence <> 't' \
               AND relnamespace::regnamespace::text !~ '^pg_(temp|toast)' \
         UNION ALL SELECT 'function ' || oid::regprocedure::text FROM pg_proc \
         UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname !~ '^pg_(temp|toast_temp)'";
    rows(client, sql).iter().map(|row| row.get(0)).collect()
}

/// A file that is gone at the end.
struct Picture(PathBuf);

impl Picture {
    fn new(name: &str) -> Self {
        let file = format!("dp_mean {} {name}.svg", std::process::id());
        Self(std::env::temp_dir().join(file))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path")
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn tour(database: &Database, picture: &Picture) -> String {
    let svg = format!("svg={}", picture.path());
    // Roles are the server's, which several tests share.
    let role = format!("role={}_analyst", database.name());
    let output = psql(database, &["-v", &svg, "-v", &role, "-f", "demo/demo.sql"]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_tour_is_short_and_ends_in_a_conclusion_and_a_picture() {
    let script = fs::read_to_string(repository().join("demo/demo.sql")).expect("the tour");
    assert!(script.lines().count() <= LINES);
    let (database, _client) = loaded();
    let picture = Picture::new("tour");
    let told = tour(&database, &picture);
    assert!(told.lines().count() <= LINES, "{told}");
    let (_, conclusion) = told.split_once("CONCLUSION").expect("a conclusion");
    // Nearly always 0.9 more visits, give or take 0.4.
    let number = |before: &str| -> f64 {
        let (_, rest) = conclusion.split_once(before).expect("a number");
        let end = rest
            .find(|c: char| c.is_whitespace() || c == ',')
            .expect("its end");
        rest[..end].parse().expect("a number")
    };
    let (more, give_or_take) = (number("The difference is "), number("give or take "));
    let verdict = match more {
        _ if more > give_or_take => "yes, they make more visits.",
        _ if more < -give_or_take => "no, they make fewer visits.",
        _ => "these answers do not show it.",
    };
    assert!(conclusion.contains(verdict), "{told}");
    assert!(
        (more - (number("Visits a year: ") - number("nothing, "))).abs() < 0.016,
        "{told}"
    );
    assert!(conclusion.contains(picture.path()), "{told}");

    // The picture has the answers that were printed, a bar, an interval and a true number for each of five plans.
    let svg = fs::read_to_string(&picture.0).expect("a picture");
    assert!(
        svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    let count = |piece: &str| svg.matches(piece).count();
    assert_eq!(count("fill=\"#7aa6d8\""), 5, "{svg}");
    assert_eq!(count("stroke=\"black\""), 5, "{svg}");
    assert_eq!(count("<circle "), 5, "{svg}");
    let table = told.split("family pays %").nth(2).expect("the answers");
    for line in table.lines().skip(2).take(5) {
        let mut cells = line.split('|').map(str::trim);
        let plan = cells.next().expect("a plan");
        let visits: f64 = cells.next().expect("visits").parse().expect("a number");
        let bar = format!(">{plan}%: ");
        let (_, rest) = svg
            .split_once(&bar)
            .unwrap_or_else(|| panic!("no {bar} in {svg}"));
        let drawn: f64 = rest
            .split('<')
            .next()
            .expect("a number")
            .parse()
            .expect("a number");
        assert!((drawn - visits).abs() < 0.006, "{drawn} is not {visits}");
    }
}

#[test]
fn the_tour_leaves_nothing_in_the_database() {
    let (database, mut client) = loaded();
    let before = state(&mut client);
    let first = tour(&database, &Picture::new("first"));
    assert_eq!(state(&mut client), before);
    // And again, with other noise.
    assert_ne!(first, tour(&database, &Picture::new("second")));
    assert_eq!(state(&mut client), before);
}

#[test]
fn the_load_changes_nothing_that_was_there() {
    let (database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE person (mine int); INSERT INTO person VALUES (7)",
    );
    let before = state(&mut client);
    let output = psql(&database, &["-f", "demo/load.sql"]);
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(state(&mut client), before);
    assert_eq!(value::<i32>(&mut client, "SELECT mine FROM person"), 7);
}

/// What a script, such as scripts/totals, makes of the lines of test runners.
fn told_by(script: &str, lines: &str) -> String {
    let mut child = Command::new(repository().join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect(script);
    let mut input = child.stdin.take().expect("its input");
    input.write_all(lines.as_bytes()).expect("its input");
    drop(input);
    let output = child.wait_with_output().expect("its end");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim_end()
        .to_owned()
}

#[test]
fn the_totals_are_those_of_all_runners() {
    let totals = |lines: &str| told_by("scripts/totals", lines);
    assert_eq!(totals(""), "0 0 0");
    let cargo = "running 3 tests\ntest a ... ok\n\
         test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 5 filtered out; finished in 0.00s\n\
         test result: FAILED. 10 passed; 3 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.50s\n";
    assert_eq!(totals(cargo), "12 3 3");
    let passing = "..s.\n-----\nRan 4 tests in 0.1s\n\nOK (skipped=1)\n";
    assert_eq!(totals(passing), "3 0 1");
    assert_eq!(totals("Ran 1 test in 0.1s\n\nOK\n"), "1 0 0");
    // Two sub-tests of one test fail, and another one breaks.
    let failing = "FAIL: test_a (__main__.Driver) (mode='auto')\nFAIL: test_a (__main__.Driver) (mode='force')\n\
         ERROR: test_b (__main__.Driver)\nRan 15 tests in 1.0s\n\nFAILED (failures=2, errors=1, skipped=2)\n";
    assert_eq!(totals(failing), "11 2 2");
    assert_eq!(totals(&format!("{cargo}{failing}{passing}")), "26 5 6");
}

#[test]
fn failures_are_told_without_their_backtraces() {
    let cargo = "test a ... ok\nthread 'b' (7) panicked at tests/b.rs:1:2:\nleft: 1\nstack backtrace:\n   0: main\n";
    let unittest = "FAIL: test_a (__main__.Driver)\nAssertionError: 1 != 2\n";
    let told = told_by("scripts/failures", &format!("{cargo}{unittest}"));
    assert_eq!(
        told,
        "thread 'b' (7) panicked at tests/b.rs:1:2:\nleft: 1\nFAIL: test_a (__main__.Driver)\nAssertionError: 1 != 2"
    );
    assert_eq!(told_by("scripts/failures", "test a ... ok\n"), "");
    let long = "at\n".repeat(99);
    let told = told_by("scripts/failures", &format!("ERROR: test_b\n{long}"));
    assert_eq!(told.lines().count(), 20);
}
