//! All functions, operators and casts of PostgreSQL's own, each with an extreme value in the row of one person and a
//! harmless one in all others: whatever is answered or refused, ends alike with the person in the table and without.

use dp_mean_tests::rows;
use postgres::Client;

use super::questions::{Dice, Question};
use super::random::{Outcome, ask_all, many};
use crate::total::{VALUES, concrete};

/// How many statements there are.
const STATEMENTS: usize = 1000;

/// Values of types that no function of the list takes.
const OTHERS: &[(&str, &[&str])] = &[
    ("anyelement", &["'x'::text", "1"]),
    ("anyarray", &["ARRAY[1, NULL]", "'{}'::integer[]"]),
    ("anycompatible", &["1", "NULL::integer"]),
    ("anycompatiblearray", &["ARRAY[1]", "'{}'::integer[]"]),
    ("anynonarray", &["1"]),
    (
        "integer[]",
        &["ARRAY[1, NULL]", "'{}'::integer[]", "'{{1}}'::integer[]"],
    ),
    ("text[]", &["ARRAY['x', NULL]", "'{}'::text[]"]),
    ("json", &["'{\"a\": 1}'::json", "'1'::json"]),
    ("jsonb", &["'{\"a\": 1}'::jsonb", "'1e400'::jsonb"]),
    ("jsonpath", &["'$.a'::jsonpath", "'strict $.b.c'::jsonpath"]),
    ("regclass", &["0::regclass", "'visits'::regclass"]),
    ("point", &["'(1e300,NaN)'::point", "'(0,0)'::point"]),
    ("box", &["'(1e300,1),(0,0)'::box"]),
    ("path", &["'[(0,0),(1,1)]'::path"]),
    ("polygon", &["'((0,0),(1,1))'::polygon"]),
    ("tsvector", &["'a b'::tsvector"]),
    ("tsquery", &["'a & b'::tsquery"]),
    ("cidr", &["'10.0.0.0/8'::cidr", "'::/0'::cidr"]),
    ("xml", &["'<a/>'::xml"]),
];

/// Modifiers of types that a cast can have.
const LENGTHS: &[&str] = &[
    "varchar(2)",
    "char(2)",
    "numeric(3, 2)",
    "numeric(3, -2)",
    "timestamp(0)",
    "timestamptz(0)",
    "time(0)",
    "timetz(0)",
    "interval day",
    "interval(0)",
    "bit(3)",
    "varbit(2)",
    "char(5)::varchar",
    "varchar(3)::name",
];

/// Something that may be called, and the types of its arguments.
struct Subject {
    /// As SQL, with `$1`, `$2` and so on for its arguments.
    sql: String,
    arguments: Vec<String>,
}

impl Subject {
    fn all(client: &mut Client) -> Vec<Self> {
        let of = |row: &postgres::Row| Self {
            sql: row.get(0),
            arguments: row.get(1),
        };
        let mut found: Vec<_> = rows(
            client,
            "SELECT format('pg_catalog.%I(%s)', proname, (SELECT string_agg('$' || i, ', ' ORDER BY i) FROM \
             generate_series(1, pronargs) i)), ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) WITH \
             ORDINALITY u(t, i) ORDER BY i) FROM pg_proc WHERE oid < 10000 AND prokind = 'f' AND NOT proretset \
             AND NOT 'internal'::regtype = ANY (proargtypes) ORDER BY oid",
        )
        .iter()
        .map(of)
        .collect();
        found.extend(
            rows(
                client,
                "SELECT format(form, oprname), CASE oprleft WHEN 0 THEN ARRAY[format_type(oprright, NULL)] \
                 ELSE ARRAY[format_type(oprleft, NULL), format_type(oprright, NULL)] END \
                 FROM pg_operator, unnest(CASE WHEN oprleft = 0 THEN '{OPERATOR(pg_catalog.%s) $1}'::text[] \
                 WHEN oprresult = 'boolean'::regtype THEN '{$1 OPERATOR(pg_catalog.%s) $2,\
                 $1 OPERATOR(pg_catalog.%s) ANY (ARRAY[$2])}' ELSE '{$1 OPERATOR(pg_catalog.%s) $2}' END) form \
                 WHERE oid < 10000 ORDER BY oid, form",
            )
            .iter()
            .map(of),
        );
        found.extend(
            rows(
                client,
                "SELECT format('CAST($1 AS %s)', format_type(casttarget, NULL)), ARRAY[format_type(castsource, NULL)] \
                 FROM pg_cast WHERE oid < 10000 OR castfunc < 10000 ORDER BY castsource, casttarget",
            )
            .iter()
            .map(of),
        );
        for (kind, _) in VALUES {
            let one = |sql: String, count: usize| Self {
                sql,
                arguments: vec![(*kind).to_owned(); count],
            };
            found.extend(
                LENGTHS
                    .iter()
                    .map(|length| one(format!("($1)::{length}"), 1)),
            );
            found.push(one("($1)::text".to_owned(), 1));
            found.push(one("ARRAY[$1, $2]".to_owned(), 2));
            for sql in [
                "NULLIF($1, $2)",
                "greatest($1, $2)",
                "least($1, $2)",
                "coalesce($1, $2)",
            ] {
                found.push(one(sql.to_owned(), 2));
            }
            found.push(one("$1 IS DISTINCT FROM $2".to_owned(), 2));
            found.push(one("CASE $1 WHEN $2 THEN 1 END".to_owned(), 2));
        }
        for sql in [
            "current_date",
            "current_schema",
            "current_user",
            "current_catalog",
            "localtime(0)",
            "ROW(patient, $1)",
            "(ROW(patient, $1)).f1",
            "ROW($1, 1) IS NULL",
            "words[$1]",
            "words[$1:$1]",
        ] {
            found.push(Self {
                sql: sql.to_owned(),
                arguments: vec!["integer".to_owned()],
            });
        }
        found
    }

    /// A call of it, with the extreme values in one row.
    fn call(&self, dice: &mut Dice) -> String {
        let mut sql = self.sql.clone();
        for (i, kind) in self.arguments.iter().enumerate().rev() {
            sql = sql.replace(&format!("${}", i + 1), &argument(kind, dice));
        }
        sql
    }
}

fn argument(kind: &str, dice: &mut Dice) -> String {
    let of = |all: &'static [(&str, &[&str])]| {
        let found = all.iter().find(|(name, _)| *name == kind);
        found.map(|(_, values)| *values)
    };
    let values: Vec<String> = match (of(VALUES), of(OTHERS)) {
        (Some(values), _) => values
            .iter()
            .map(|value| format!("({value})::{}", concrete(kind)))
            .collect(),
        (None, Some(values)) => values.iter().map(|value| (*value).to_owned()).collect(),
        (None, None) => vec![format!("NULL::{kind}")],
    };
    let extreme = &values[dice.roll(values.len())];
    let other = &values[dice.roll(values.len())];
    match dice.roll(4) {
        0 => extreme.clone(),
        1 => format!("CASE WHEN patient = 666 THEN {extreme} END"),
        _ => format!("CASE WHEN patient = 666 THEN {extreme} ELSE {other} END"),
    }
}

fn statement(subject: &Subject, dice: &mut Dice) -> String {
    let call = subject.call(dice);
    match dice.roll(8) {
        0 => format!("SELECT count({call}) FROM visits"),
        1 => format!("SELECT count(*) FROM visits GROUP BY {call}"),
        2 => format!("SELECT count(*) FILTER (WHERE ({call}) IS NULL) FROM visits"),
        3 => format!("SELECT count(*) FROM (SELECT {call} AS q FROM visits) s WHERE q IS NOT NULL"),
        _ => format!("SELECT count(*) FROM visits WHERE ({call}) IS NOT NULL"),
    }
}

/// Asks that many statements: about every `step`th of what may be called, in turn.
fn ask(statements: usize, seed: u64, step: usize) -> (usize, usize) {
    let (mut stage, mut clients) = many(&[]);
    stage.as_root("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')");
    for client in &mut clients {
        dp_mean_tests::run(
            client,
            "SET statement_timeout = '10s'; SET client_min_messages = notice",
        );
    }
    let subjects = Subject::all(&mut stage.root);
    let mut dice = Dice(seed);
    let mut outcome = Outcome::default();
    let asked: Vec<_> = (0..statements)
        .map(|i| Question::plain(statement(&subjects[i * step % subjects.len()], &mut dice)))
        .collect();
    for part in asked.chunks(2000) {
        ask_all(&mut stage, &mut clients, part, &mut outcome);
    }
    outcome.assert_tells_nothing();
    (outcome.answered, subjects.len())
}

#[test]
fn no_function_with_an_extreme_value_tells_of_the_person() {
    // A prime, so that a sample has some of each kind.
    let (answered, subjects) = ask(STATEMENTS, 1, 37);
    println!(
        "of {STATEMENTS} statements about {subjects} functions, operators and casts {answered} were answered"
    );
    assert!(subjects > 3500, "{subjects}");
    assert!(answered > STATEMENTS / 8, "{answered} were answered");
}

/// `make test-fuzz`.
#[test]
#[ignore = "as many statements as one has time for"]
fn no_function_with_any_extreme_value_tells_of_the_person() {
    let number = |name| -> usize { dp_mean_tests::variable(name).parse().expect("a number") };
    let statements = number("DP_MEAN_STATEMENTS");
    let (answered, subjects) = ask(statements, number("DP_MEAN_SEED") as u64, 1);
    println!(
        "of {statements} statements about {subjects} functions, operators and casts {answered} were answered"
    );
    assert!(answered > statements / 8, "{answered} were answered");
}
