//! What the server says beside its answers: logs and debugging, of which there is more or less as there are rows.

use dp_mean_tests::run;

use super::{Stage, down};

/// A question that is sorted and hashed.
const ASKED: &str = "SELECT region, count(*) FROM visits GROUP BY region";

/// The settings that anybody may change, each with the question it is about.
const SETTINGS: [&str; 4] = [
    "SET trace_sort = on; SET enable_hashagg = off;",
    "SET debug_print_plan = on;",
    "SET debug_print_plan = on; SET debug_pretty_print = off; PREPARE q AS SELECT 1;",
    "SET trace_sort = on; SET work_mem = 64; SET enable_hashagg = off;",
];

#[test]
fn no_log_line_reaches_the_client() {
    let mut stage = Stage::new();
    for settings in SETTINGS {
        let before = format!("SET client_min_messages = log; {settings}");
        let end = stage.assert_tells_nothing(&before, ASKED);
        assert_eq!(end.heard, Vec::<String>::new(), "{settings}");
        let mut client = stage.analyst();
        run(&mut client, &format!("{}{before}", down("quiet")));
        assert!(
            !stage.attack(&mut client, ASKED).heard.is_empty(),
            "{settings}"
        );
    }
}

/// At the lowest level, the number of lines is the same with the person and without.
#[test]
fn as_many_debugging_lines_with_the_person_as_without() {
    let mut stage = Stage::new();
    for settings in SETTINGS {
        let mut counts = Vec::new();
        for person in [true, false] {
            stage.set_person(person);
            stage.as_root("VACUUM visits");
            let mut client = stage.analyst();
            // The first time, what the catalog holds is read too.
            run(&mut client, ASKED);
            run(&mut client, ASKED);
            run(
                &mut client,
                &format!("{settings} SET client_min_messages = debug5"),
            );
            let heard = stage.attack(&mut client, ASKED).heard;
            assert!(!heard.iter().any(|said| said.contains("sort")), "{heard:?}");
            counts.push(heard.len());
        }
        assert_eq!(counts[0], counts[1], "{settings}");
    }
}

/// Also where the server's own log has nothing of it.
#[test]
fn no_log_line_reaches_the_client_of_a_server_that_logs_nothing() {
    let mut stage = Stage::new();
    stage.as_root("ALTER ROLE {a} SET log_min_messages = 'panic'");
    for settings in SETTINGS {
        let before = format!("SET client_min_messages = log; {settings}");
        let end = stage.assert_tells_nothing(&before, ASKED);
        assert_eq!(end.heard, Vec::<String>::new(), "{settings}");
    }
    let mut client = stage.analyst();
    stage.number(&mut client, "SELECT count(*) FROM visits");
}

/// A message with a mark in the place of each time.
fn without_times(said: &str) -> String {
    let is_time = |word: &&str| {
        let word = word
            .trim_start_matches("time=")
            .trim_start_matches("(actual");
        word.contains('.')
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let words = said.split(' ').map(|word| match is_time(&word) {
        true => "t",
        false => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What an administrator loads to see slow plans writes them to the log, and not to the client.
#[test]
fn auto_explain_shows_nothing() {
    let mut stage = Stage::new();
    if stage.root.batch_execute("LOAD 'auto_explain'").is_err() {
        return;
    }
    stage.as_root(
        "ALTER ROLE {a} SET session_preload_libraries = auto_explain, dp_mean; \
         ALTER ROLE {a} SET auto_explain.log_min_duration = 0; ALTER ROLE {a} SET auto_explain.log_analyze = on; \
         ALTER ROLE {a} SET auto_explain.log_nested_statements = on",
    );
    let before = "SET client_min_messages = log; SELECT count(*) FROM visits; \
                  CREATE OR REPLACE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM visits';";
    for (level, defence) in [
        ("log", "quiet"),
        ("info", "warnings"),
        ("notice", "warnings"),
        ("warning", "warnings"),
    ] {
        stage.as_root(&format!(
            "ALTER ROLE {{a}} SET auto_explain.log_level = '{level}'"
        ));
        for sql in [ASKED, "SELECT f()", "SELECT x, f() FROM own"] {
            let ends = stage.with_and_without(before, sql).map(|end| end.heard);
            // Of the plan of the asker they hear, at levels that are not those of the log: of a call.
            let timeless = ends
                .each_ref()
                .map(|heard| heard.iter().map(|said| without_times(said)));
            let [with, without] = timeless.map(Vec::from_iter);
            assert_eq!(with, without, "{level}: {sql}");
            assert!(
                !with.iter().any(|said| said.contains("on visits ")),
                "{with:?}"
            );
            assert!(level != "log" || with.is_empty(), "{with:?}");
        }
        let mut client = stage.analyst();
        run(&mut client, &format!("{}{before}", down(defence)));
        let heard = stage.attack(&mut client, ASKED).heard;
        assert!(
            heard.iter().any(|said| said.contains("Scan on visits ")),
            "{level}: {heard:?}"
        );
    }
}

/// A collation of another version than the one that it was made with: PostgreSQL warns once in a session, where it first
/// compares by it.
#[test]
fn no_warning_depends_on_a_row() {
    let mut stage = Stage::new();
    let bad = "CREATE COLLATION bad (provider = icu, locale = 'en', version = '0.0')";
    if stage.root.batch_execute(bad).is_err() {
        return;
    }
    let asked = "SELECT count(*) FROM visits WHERE CASE WHEN patient = 666 THEN region < ('b' COLLATE bad) END";
    let key =
        "SELECT count(*) FROM visits GROUP BY CASE WHEN patient = 666 THEN region END COLLATE bad";
    for sql in [asked, key] {
        let end = stage.assert_tells_nothing("", sql);
        assert!(
            end.heard.iter().any(|said| said.contains("version")),
            "{end:?}"
        );
    }
    stage.assert_tells_without(&["warnings", "lookup", "objects"], "", asked);
    // What a row has looked up is not looked up by a query of the analyst's own.
    let then = format!("{asked}; SELECT 'a' < ('b' COLLATE bad)");
    stage.assert_tells_nothing("", &then);
    stage.assert_tells_without(&["lookup", "objects"], "", &then);
}

/// Messages of the analyst's own code, which sees answers alone, still come.
#[test]
fn what_answers_raise_is_heard() {
    let mut stage = Stage::new();
    let before = "CREATE OR REPLACE FUNCTION say(bigint) RETURNS bigint LANGUAGE plpgsql AS \
                  $$ BEGIN RAISE NOTICE 'a notice'; RAISE WARNING 'a warning'; RAISE INFO 'a hint'; RETURN 1; END $$; \
                  CREATE OR REPLACE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS \
                  $$ BEGIN RAISE NOTICE 'a row'; RETURN NEW; END $$; \
                  CREATE OR REPLACE TRIGGER told AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION told();";
    let end = stage.assert_tells_nothing(before, "SELECT say(count(*)) FROM visits");
    assert_eq!(end.heard, ["a notice ", "a warning ", "a hint "]);
    let end = stage.assert_tells_nothing(
        before,
        "INSERT INTO own SELECT 9, 'r9' FROM (SELECT count(*) FROM visits) s",
    );
    assert_eq!(end.heard, ["a row "]);
    // And in the same transaction, and after an error.
    let then = "BEGIN; SELECT count(*) FROM visits; SELECT say(1); COMMIT";
    let end = stage.assert_tells_nothing(before, then);
    assert_eq!(end.heard, ["a notice ", "a warning ", "a hint "]);
    let caught = "DO $$ BEGIN PERFORM count(*) / 0 FROM visits; EXCEPTION WHEN OTHERS THEN PERFORM say(1); END $$";
    let end = stage.assert_tells_nothing(before, caught);
    assert_eq!(end.heard, ["a notice ", "a warning ", "a hint "]);
}
