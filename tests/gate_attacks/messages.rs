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

/// Where the server's own log has nothing of LOG, no hook is called for it: such a session is refused.
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
    for sql in [ASKED, "SELECT f()", "SELECT x, f() FROM own"] {
        let end = stage.assert_tells_nothing(before, sql);
        assert_eq!(end.heard, Vec::<String>::new(), "{sql}");
    }
    let mut client = stage.analyst();
    run(&mut client, &format!("{}{before}", down("quiet")));
    let heard = stage.attack(&mut client, ASKED).heard;
    assert!(
        heard.iter().any(|said| said.contains("actual")),
        "{heard:?}"
    );
}
