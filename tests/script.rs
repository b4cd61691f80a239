//! The SQL of the extension as files: one a subject, put together by `scripts/lib.sh` in the order of `sql/subjects`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

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
    let (subjects, mut files) = (subjects(), files("sql"));
    assert!(subjects.len() > 10, "{subjects:?}");
    // What they all are put together with.
    files.retain(|file| file != "phrases");
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
    // These refuse all but the run of a private query.
    let looks = ["dp_counted", "dp_centred"]
        .map(|name| format!("    dp_mean.{name}(dp_mean.dp_contribution, bigint, bigint),\n"))
        .concat();
    assert!(privileges.contains(&looks));
    let privileges = privileges.replace(&looks, "");
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

/// What `scripts/sql.awk` makes of a file, or the error that it stops with.
fn put_together(sql: &str) -> Result<String, String> {
    let mut awk = Command::new("awk");
    awk.args(["-f", "scripts/sql.awk", "-"])
        .current_dir(repository());
    awk.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut awk = awk.spawn().expect("awk");
    let mut input = awk.stdin.take().expect("a pipe");
    input.write_all(sql.as_bytes()).expect("its input");
    drop(input);
    let output = awk.wait_with_output().expect("its end");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    match output.status.success() {
        true => Ok(text(output.stdout)),
        false => Err(text(output.stderr)),
    }
}

#[test]
fn a_statement_stands_for_an_aggregate_and_its_functions() {
    let sql = "PHRASE more IS\n    'more '\n    'to say';\n\
        AGGREGATE dp_a(x float8[], [mech dp_mechanism])\n    RETURNS float8 SPACE 80 TRANSITION dp_b COST 50;\n\
        UP TO x IS 'There is {more}.';\nUP TO mech IS\n    'A'\n    'B';\n\n-- As it is.\nSELECT 1;\n";
    let expected = "
CREATE FUNCTION dp_mean.dp_a_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_a_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE FUNCTION dp_mean.dp_b_trans(state dp_mean.dp_state, x float8[]) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_b_trans' LANGUAGE C IMMUTABLE COST 50 PARALLEL SAFE;
CREATE AGGREGATE dp_a(x float8[]) (
    SFUNC = dp_mean.dp_b_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_a_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE FUNCTION dp_mean.dp_b_trans(state dp_mean.dp_state, x float8[], mech dp_mechanism) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_b_trans' LANGUAGE C IMMUTABLE COST 50 PARALLEL SAFE;
CREATE AGGREGATE dp_a(x float8[], mech dp_mechanism) (
    SFUNC = dp_mean.dp_b_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_a_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_a(x float8[]) IS 'There is more to say.';
COMMENT ON AGGREGATE dp_a(x float8[], mech dp_mechanism) IS
    'A'
    'B';

-- As it is.
SELECT 1;
";
    assert_eq!(put_together(sql).as_deref(), Ok(expected));
}

#[test]
fn a_statement_that_is_not_understood_stops_the_script() {
    let of = |statement: &str| put_together(statement).expect_err(statement);
    let declared =
        "AGGREGATE dp_a(x float8, [eps float8]) RETURNS float8 SPACE 64;\nUP TO x IS 'A';\n";
    for (statement, error) in [
        (declared, "no comment up to eps"),
        (
            &format!("{declared}UP TO y IS 'A';"),
            "no aggregate ends with y",
        ),
        (
            &format!("{declared}UP TO eps IS '{{what}}';"),
            "no phrase what",
        ),
        ("AGGREGATE dp_a(x float8) RETURNS float8;", "what is this"),
        (
            "AGGREGATE dp_a(x float8) RETURNS float8 SPACE 64 EXCAT;",
            "what is this",
        ),
        ("AGGREGATE dp_a(x float8) SPACE 64;", "no RETURNS"),
        (
            "AGGREGATE dp_a([x float8], eps float8) RETURNS float8 SPACE 64;",
            "behind one",
        ),
        ("AGGREGATE dp_a(x float8) RETURNS float8", "without an end"),
        ("PHRASE a IS 'A';\nPHRASE a IS 'A';", "there twice"),
    ] {
        let found = of(statement);
        assert!(found.contains(error), "{statement}: {found}");
    }
}
