//! Functions on private rows: those that are called as they are raise nothing, and a variant answers like the function
//! that it represents, and NULL where that raises an error. Tried with extreme values of every type.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use dp_mean_tests::{Build, Database, Role, refused, rows, run, session, value};
use postgres::Client;

/// The arithmetic of ranges, with its tests: the extension's own crate is a library for PostgreSQL, and runs none.
#[expect(dead_code, reason = "only its tests are of interest here")]
#[path = "../src/safe_functions/interval.rs"]
mod interval;

/// Values of each type, as SQL.
pub const VALUES: &[(&str, &[&str])] = &[
    ("boolean", &["true", "false"]),
    (
        "smallint",
        &[
            "-32768", "-32767", "-3", "-1", "0", "1", "2", "7", "32766", "32767",
        ],
    ),
    (
        "integer",
        &[
            "-2147483648",
            "-2147483647",
            "-32769",
            "-1",
            "0",
            "1",
            "2",
            "3",
            "4",
            "12",
            "31",
            "2024",
            "32768",
            "2147483647",
        ],
    ),
    (
        "bigint",
        &[
            "-9223372036854775808",
            "-9223372036854775807",
            "-2147483649",
            "-1",
            "0",
            "1",
            "2",
            "3",
            "2147483648",
            "3037000500",
            "9223372036854775807",
        ],
    ),
    (
        "real",
        &[
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "'0'",
            "'-0'",
            "'1'",
            "'-1'",
            "'0.5'",
            "'1.5'",
            "'2.5'",
            "'-2.5'",
            "'3.4028235e38'",
            "'-3.4028235e38'",
            "'1e-45'",
            "'1e-30'",
            "'32767.4'",
            "'32767.5'",
            "'-32768.5'",
            "'2147483648'",
            "'-2147483648'",
            "'9.223372e18'",
            "'-9.223372e18'",
        ],
    ),
    (
        "double precision",
        &[
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "'0'",
            "'-0'",
            "'1'",
            "'-1'",
            "'0.5'",
            "'1.5'",
            "'2.5'",
            "'-0.5'",
            "'1.7976931348623157e308'",
            "'-1.7976931348623157e308'",
            "'5e-324'",
            "'1e-300'",
            "'1e300'",
            "'710'",
            "'-746'",
            "'3.4028235677973366e38'",
            "'3.402823567797336e38'",
            "'1e-46'",
            "'32767.5'",
            "'32767.49'",
            "'-32768.5'",
            "'-32768.51'",
            "'2147483647.5'",
            "'2147483647.4'",
            "'-2147483648.5'",
            "'9223372036854775807'",
            "'9223372036854774784'",
            "'-9223372036854775808'",
            "'1e18'",
        ],
    ),
    (
        "numeric",
        &[
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "'0'",
            "'1'",
            "'-1'",
            "'0.5'",
            "'2.5'",
            "'-2.5'",
            "'3'",
            "'1e131071'",
            "'-1e131071'",
            "'1e-16383'",
            "(repeat('9', 131072) || '.9')",
            "'32767.5'",
            "'-32768.5'",
            "'2147483647.5'",
            "'9223372036854775807.5'",
            "'-9223372036854775808.5'",
            "'1e400'",
            "'1e-400'",
            "'12345.678901234567890123'",
        ],
    ),
    ("text", TEXTS),
    (
        "character varying",
        &["''", "'abc'", "'äö€😀'", "'  abc  '"],
    ),
    ("character", &["''", "'abc'", "'äö€😀'", "'  abc  '"]),
    ("name", &["''", "'abc'", "'äö€'", "repeat('x', 63)"]),
    ("\"char\"", &["''", "'a'", "'1'", "'\\377'"]),
    ("bytea", &["''", "'\\x00ff'", "repeat('x', 100000)::bytea"]),
    (
        "date",
        &[
            "'infinity'",
            "'-infinity'",
            "'4713-11-24 BC'",
            "'5874897-12-31'",
            "'2000-01-01'",
            "'2024-02-29'",
            "'0001-12-31 BC'",
            "'294277-01-01'",
        ],
    ),
    (
        "timestamp without time zone",
        &[
            "'infinity'",
            "'-infinity'",
            "'4714-11-24 00:00:00 BC'",
            "'294276-12-31 23:59:59.999999'",
            "'2024-02-29 12:34:56.789'",
            "'1999-12-31 23:59:59.999999'",
            "'2000-01-01'",
        ],
    ),
    (
        "timestamp with time zone",
        &[
            "'infinity'",
            "'-infinity'",
            "'4714-11-24 00:00:00+00 BC'",
            "'294276-12-31 23:59:59.999999+00'",
            "'2024-02-29 12:34:56.789+01'",
            "'2024-03-31 02:30:00+02'",
            "'2000-01-01 00:00:00+00'",
        ],
    ),
    (
        "time without time zone",
        &["'00:00'", "'24:00'", "'12:34:56.789'", "'23:59:59.999999'"],
    ),
    (
        "time with time zone",
        &["'00:00+15:59'", "'24:00-15:59'", "'12:34:56.789+01'"],
    ),
    (
        "interval",
        &[
            "'0'",
            "'1 mon'",
            "'-1 day'",
            "'178956970 years 7 mons'",
            "'-178956970 years -8 mons'",
            "'2147483647 days'",
            "'-2147483648 days'",
            "'2562047788:00:54.775807'",
            "'-2562047788:00:54.775807'",
            "'1 year 2 mons -3 days 04:05:06.789'",
            "'1 microsecond'",
            "'-2147483648 mons -2147483648 days'",
        ],
    ),
    (
        "uuid",
        &[
            "'00000000-0000-0000-0000-000000000000'",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
        ],
    ),
    ("inet", &["'1.2.3.4'", "'::/0'", "'10.0.0.0/8'"]),
    ("bit", &["B'1'", "B'0'"]),
    ("bit varying", &["B''", "B'101'"]),
    ("anyenum", &["'sad'", "'ok'", "'happy'"]),
    ("anyrange", &["'[1,5)'", "'empty'", "'(,)'"]),
    ("anymultirange", &["'{}'", "'{[1,5),[7,)}'"]),
    (
        "money",
        &["'0'", "'-92233720368547758.08'", "'92233720368547758.07'"],
    ),
    (
        "circle",
        &["'<(0,0),1>'", "'<(1e300,-1e300),NaN>'", "'<(0,0),1e300>'"],
    ),
    ("lseg", &["'[(0,0),(1,1)]'", "'[(1e308,0),(-1e308,NaN)]'"]),
    ("macaddr", &["'08:00:2b:01:02:03'"]),
    ("macaddr8", &["'08:00:2b:01:02:03:04:05'"]),
    ("oid", &["'0'", "'4294967295'"]),
    ("oidvector", &["''", "'1 2'", "'4294967295'"]),
    ("tid", &["'(0,1)'", "'(4294967295,65535)'"]),
    ("xid", &["'0'", "'4294967295'"]),
    ("cid", &["'0'", "'4294967295'"]),
    ("xid8", &["'0'", "'18446744073709551615'"]),
    ("pg_lsn", &["'0/0'", "'FFFFFFFF/FFFFFFFF'"]),
];

const TEXTS: &[&str] = &[
    "''",
    "'abc'",
    "'  Äö€😀 '",
    "repeat('x', 500)",
    r"'a\'",
    "'%b_'",
    "'(b'",
    "'(a*)*b|c'",
    r"'[\1'",
    "'month'",
    "'hour'",
    "'epoch'",
    "'Europe/Berlin'",
    "'2024-02-29 12:00'",
    "'YYYY-MM-DD HH24:MI:SS.US TZ'",
    "'S999,999D99'",
    "'9.9EEEE'",
    "'-12.5'",
    "'gi'",
];

/// On PostgreSQL 17 and later intervals have no end.
const ENDLESS: &[&str] = &["'infinity'", "'-infinity'"];

/// Longer texts than this may be NULL: an answer of that many characters of 4 bytes each would be too long.
const LONG: usize = 65_000;

/// Numbers with that many digits may be NULL, and so may powers of them.
const DIGITS: usize = 250;

/// A pattern whose time can grow without bound.
const SLOW: &str = "(a*)*";

/// How often a function is called at most with values of all of its arguments, and with constants for the others.
const CALLS: usize = 3000;
const CONSTANTS: usize = 40;

/// A type that represents those that a polymorphic one may be.
pub fn concrete(kind: &str) -> &str {
    match kind {
        "character" => "bpchar",
        "anyenum" => "mood",
        "anyrange" => "int4range",
        "anymultirange" => "int4multirange",
        other => other,
    }
}

/// A function of PostgreSQL's own.
struct Function {
    oid: u32,
    name: String,
    arguments: Vec<String>,
    answer: String,
}

impl Function {
    fn all(client: &mut Client, condition: &str) -> Vec<Self> {
        let sql = format!(
            "SELECT p.oid, quote_ident(proname), ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) WITH ORDINALITY \
             u(t, i) ORDER BY i), format_type(prorettype, NULL) FROM pg_proc p WHERE {condition} ORDER BY p.oid"
        );
        let functions = rows(client, &sql);
        functions
            .iter()
            .map(|row| Self {
                oid: row.get(0),
                name: row.get(1),
                arguments: row.get(2),
                answer: row.get(3),
            })
            .collect()
    }

    /// Its name and its arguments' types.
    fn signature(&self) -> String {
        format!("{}({})", self.name, self.arguments.join(","))
    }

    /// Makes `plain`, which calls it, and says of an error that it was raised, and which.
    fn make_plain(&self, client: &mut Client) {
        let types = self.arguments.iter().enumerate();
        let types = types.map(|(i, kind)| format!("a{i} {}", concrete(kind)));
        let names: Vec<_> = (0..self.arguments.len()).map(|i| format!("a{i}")).collect();
        run(
            client,
            &format!(
                "DROP FUNCTION IF EXISTS plain; CREATE FUNCTION plain({}) RETURNS text LANGUAGE plpgsql AS $$ BEGIN \
                 RETURN coalesce(pg_catalog.{}({})::text, 'NULL'); \
                 EXCEPTION WHEN OTHERS THEN RETURN 'raises ' || SQLSTATE || ' ' || SQLERRM; END $$",
                types.collect::<Vec<_>>().join(", "),
                self.name,
                names.join(", ")
            ),
        );
    }

    /// Arguments `from` to `to`, that many values of each that there are at most `most` together.
    fn values(&self, from: usize, to: usize, most: usize) -> Vec<Vec<String>> {
        let count = (to - from).max(1);
        let share = (most as f64).powf(1.0 / count as f64).floor().max(2.0) as usize;
        let mut all = vec![vec![]];
        for kind in &self.arguments[from..to] {
            let found = VALUES.iter().find(|(name, _)| name == kind);
            let (_, values) = found.unwrap_or_else(|| panic!("no values of type {kind}"));
            let step = values.len().div_ceil(share);
            let kind = concrete(kind);
            let chosen: Vec<_> = values.iter().step_by(step).collect();
            all = all
                .iter()
                .flat_map(|before: &Vec<String>| {
                    chosen.iter().map(move |value| {
                        let value = format!("({value})::{kind}");
                        before.iter().cloned().chain([value]).collect()
                    })
                })
                .collect();
        }
        all
    }

    /// `FROM` of values of the first `count` arguments, named `a0`, `a1` ..., and these names.
    fn columns(&self, count: usize) -> (String, Vec<String>) {
        let share = (CALLS as f64)
            .powf(1.0 / count.max(1) as f64)
            .floor()
            .max(2.0);
        let tables = self.arguments[..count].iter().enumerate().map(|(i, kind)| {
            let table = table(kind);
            format!(
                "(SELECT x FROM {table} WHERE i % greatest(1, ceil((SELECT count(*) FROM {table}) / {share}))::int = 0) v{i}(a{i})"
            )
        });
        let names = (0..count).map(|i| format!("a{i}")).collect();
        let tables: Vec<_> = tables.collect();
        let from = if tables.is_empty() {
            String::new()
        } else {
            format!("FROM {}", tables.join(", "))
        };
        (from, names)
    }
}

fn table(kind: &str) -> String {
    let name: String = concrete(kind)
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect();
    let quoted = if kind.starts_with('"') { "one" } else { "" };
    format!("v_{name}{quoted}")
}

/// The list, by OID: name, and what is known.
fn list(client: &mut Client) -> BTreeMap<u32, (String, String)> {
    let lines: String = value(client, "SELECT dp_test_functions()");
    let parts = lines.lines().map(|line| {
        let parts: Vec<_> = line.split('|').collect();
        let oid = parts[0].parse().expect("an OID");
        (oid, (parts[1].to_owned(), parts[2].to_owned()))
    });
    parts.collect()
}

/// The functions of the list of which this is known, that are there in this version.
fn listed(client: &mut Client, known: &[&str]) -> Vec<Function> {
    let oids: Vec<_> = list(client)
        .into_iter()
        .filter(|(_, (_, this))| known.contains(&this.as_str()))
        .map(|(oid, _)| oid.to_string())
        .collect();
    Function::all(client, &format!("p.oid IN ({})", oids.join(",")))
}

/// A session with a table of values for each type, a variant for each type of answer, and what it hears.
fn prepared(database: &Database) -> (Client, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let mut client = database.connect_listening("postgres", move |said| {
        kept.lock().expect("one session").push(said);
    });
    run(
        &mut client,
        "SET client_min_messages = warning; SET TimeZone = 'Europe/Berlin'; SET lc_monetary = 'C'; \
         CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); SET plan_cache_mode = force_generic_plan",
    );
    let version: i32 = value(
        &mut client,
        "SELECT current_setting('server_version_num')::int",
    );
    for (kind, values) in VALUES {
        let endless = *kind == "interval" && version >= 170_000;
        let more = if endless { ENDLESS } else { &[] };
        let values: Vec<_> = values
            .iter()
            .chain(more)
            .enumerate()
            .map(|(i, value)| format!("({i}, ({value})::{})", concrete(kind)))
            .collect();
        run(
            &mut client,
            &format!(
                "CREATE TEMP TABLE {} (i, x) AS VALUES {}",
                table(kind),
                values.join(", ")
            ),
        );
    }
    (client, heard)
}

/// Makes `variant`, with answers of a type.
fn make_variant(client: &mut Client, answer: &str) {
    run(
        client,
        &format!(
            "DROP FUNCTION IF EXISTS variant; CREATE FUNCTION variant(oid, VARIADIC \"any\") RETURNS {answer} \
             AS '$libdir/dp_mean', 'dp_total' LANGUAGE C STABLE STRICT"
        ),
    );
}

/// How a variant differs from its function on some calls, and on how many the function raised an error.
fn compare(
    client: &mut Client,
    function: &Function,
    from: &str,
    arguments: &[String],
) -> (Vec<String>, i64) {
    let arguments = arguments.join(", ");
    let sql = format!(
        "WITH calls AS MATERIALIZED (SELECT concat_ws(' | ', {arguments}) AS given, plain({arguments}) AS plain, \
         coalesce(variant({}, {arguments})::text, 'NULL') AS variant {from}) \
         SELECT left(given, 200), left(plain, 200), left(variant, 200), (plain LIKE 'raises %'), \
         (plain = variant OR variant = 'NULL' AND (plain LIKE 'raises %' OR octet_length(plain) > {LONG} \
         OR given ~ '[0-9]{{{DIGITS}}}' OR '{}' = 'numeric' AND octet_length(plain) > {DIGITS} \
         OR strpos(given, '{SLOW}') > 0 OR '{}' = 'repeat' AND plain = '' \
         OR '{}' IN ('to_date', 'to_timestamp') AND given LIKE '%TZ')) FROM calls",
        function.oid, function.answer, function.name, function.name
    );
    let calls = rows(client, &sql);
    let raised = calls.iter().filter(|row| row.get::<_, bool>(3)).count();
    let wrong = calls
        .iter()
        .filter(|row| !row.get::<_, bool>(4))
        .map(|row| {
            let (given, plain, variant): (&str, &str, &str) = (row.get(0), row.get(1), row.get(2));
            format!("{}: {given}: {plain}, but {variant}", function.signature())
        });
    (wrong.collect(), raised as i64)
}

#[test]
fn variants_answer_like_their_functions_and_null_for_errors() {
    let database = Database::new(Build::Testing);
    let (mut client, heard) = prepared(&database);
    let functions = listed(&mut client, &["native", "caught"]);
    assert!(functions.len() > 260, "{}", functions.len());
    let (mut wrong, mut silent) = (Vec::new(), Vec::new());
    for function in &functions {
        function.make_plain(&mut client);
        make_variant(&mut client, &function.answer);
        let (from, arguments) = function.columns(function.arguments.len());
        let (differences, raised) = compare(&mut client, function, &from, &arguments);
        wrong.extend(differences);
        if raised == 0 {
            silent.push(function.signature());
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    // The values are extreme enough for most.
    assert!(silent.len() < 60, "no error: {}", silent.join("\n"));
    let heard = heard.lock().expect("one session");
    assert!(heard.is_empty(), "{heard:?}");
}

#[test]
fn variants_with_constants_answer_like_their_functions() {
    let database = Database::new(Build::Testing);
    let (mut client, heard) = prepared(&database);
    let functions = listed(&mut client, &["like", "length", "pattern"]);
    assert!(functions.len() > 40, "{}", functions.len());
    run(
        &mut client,
        "CREATE TEMP TABLE nothing (x text); INSERT INTO nothing VALUES (NULL)",
    );
    let (mut wrong, mut judged) = (Vec::new(), BTreeMap::<String, usize>::new());
    for function in &functions {
        function.make_plain(&mut client);
        make_variant(&mut client, &function.answer);
        let (from, first) = function.columns(1);
        for constants in function.values(1, function.arguments.len(), CONSTANTS) {
            let constants: Vec<_> = constants
                .iter()
                .map(|value| constant(&mut client, value))
                .collect();
            let kind = &function.arguments[0];
            // Without a value where PostgreSQL takes the cast away, as it does nothing.
            let judgement: Option<String> = value(
                &mut client,
                &format!(
                    "SELECT dp_test_judge(pg_catalog.{}(x::{kind}, {})) FROM nothing",
                    function.name,
                    constants.join(", ")
                ),
            );
            let Some(judgement) = judgement else { continue };
            *judged.entry(judgement.clone()).or_default() += 1;
            let arguments: Vec<_> = first.iter().chain(&constants).cloned().collect();
            if judgement == "total" {
                wrong.extend(errors(&mut client, function, &from, &arguments));
            } else {
                assert_eq!(judgement, "partial", "{}", function.signature());
                wrong.extend(compare(&mut client, function, &from, &arguments).0);
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        judged["total"] > 100 && judged["partial"] > 500,
        "{judged:?}"
    );
    let heard = heard.lock().expect("one session");
    assert!(heard.is_empty(), "{heard:?}");
}

/// A constant, as it is in a tree once it is computed.
fn constant(client: &mut Client, sql: &str) -> String {
    let kind: String = value(client, &format!("SELECT pg_typeof({sql})::text"));
    let text: String = value(client, &format!("SELECT quote_literal(({sql})::text)"));
    format!("{text}::{kind}")
}

/// The calls that raise an error.
fn errors(
    client: &mut Client,
    function: &Function,
    from: &str,
    arguments: &[String],
) -> Vec<String> {
    let arguments = arguments.join(", ");
    let sql = format!(
        "WITH calls AS MATERIALIZED (SELECT concat_ws(' | ', {}) AS given, plain({arguments}) AS plain {from}) \
         SELECT left(given, 200), left(plain, 200) FROM calls WHERE plain LIKE 'raises %'",
        if arguments.is_empty() {
            "''"
        } else {
            &arguments
        }
    );
    let calls = rows(client, &sql);
    let calls = calls.iter().map(|row| {
        let (given, plain): (&str, &str) = (row.get(0), row.get(1));
        format!("{}: {given}: {plain}", function.signature())
    });
    calls.collect()
}

#[test]
fn functions_that_are_called_as_they_are_raise_nothing() {
    let database = Database::new(Build::Testing);
    let (mut client, heard) = prepared(&database);
    let oids: Vec<_> = list(&mut client)
        .into_keys()
        .map(|oid| oid.to_string())
        .collect();
    let mut functions = listed(&mut client, &["total"]);
    let (of_list, not_in_list) = (functions.len(), oids.join(","));
    functions.extend(Function::all(
        &mut client,
        &format!(
            "proleakproof AND provolatile <> 'v' AND NOT proretset AND p.oid < 10000 AND p.oid NOT IN ({not_in_list})"
        ),
    ));
    assert!(
        of_list > 120 && functions.len() > 440,
        "{of_list} {}",
        functions.len()
    );
    let mut wrong = Vec::new();
    for function in &functions {
        function.make_plain(&mut client);
        let (from, arguments) = function.columns(function.arguments.len());
        wrong.extend(errors(&mut client, function, &from, &arguments));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    let heard = heard.lock().expect("one session");
    assert!(heard.is_empty(), "{heard:?}");
}

#[test]
fn output_functions_raise_no_error() {
    let database = Database::new(Build::Testing);
    let (mut client, heard) = prepared(&database);
    let mut printed = 0;
    for (kind, _) in VALUES {
        let concrete = concrete(kind);
        let sql = format!("SELECT dp_test_output('{concrete}'::regtype)");
        if !value::<bool>(&mut client, &sql) {
            continue;
        }
        printed += 1;
        for style in ["postgres", "postgres_verbose", "sql_standard", "iso_8601"] {
            for dates in ["ISO, MDY", "SQL, DMY", "German", "Postgres"] {
                for zone in ["UTC", "+15:59", "-15:59", "America/St_Johns"] {
                    run(
                        &mut client,
                        &format!(
                            "SET IntervalStyle = {style}; SET DateStyle = '{dates}'; SET TimeZone = '{zone}'; \
                             DO $$ BEGIN PERFORM x::text, x::varchar FROM {}; END $$",
                            table(kind)
                        ),
                    );
                }
            }
        }
    }
    assert_eq!(printed, 15);
    let heard = heard.lock().expect("one session");
    assert!(heard.is_empty(), "{heard:?}");
}

#[test]
fn the_list_names_functions_as_the_catalog_does() {
    let (_database, mut client) = session(Build::Testing);
    let list = list(&mut client);
    let oids: Vec<_> = list.keys().map(u32::to_string).collect();
    let found = rows(
        &mut client,
        &format!(
            "SELECT oid, replace(oid::regprocedure::text, '\"', ''), prolang = 12 AND proisstrict AND provolatile <> 'v' \
             AND NOT proretset AND prokind = 'f' AND provariadic = 0 AND pronargs <= 8 FROM pg_proc WHERE oid IN ({})",
            oids.join(",")
        ),
    );
    for row in &found {
        let (oid, name, fits): (u32, &str, bool) = (row.get(0), row.get(1), row.get(2));
        assert_eq!(list[&oid].0, name);
        assert!(fits, "{name}");
    }
    // Seven came with PostgreSQL 16 and 17.
    assert!(found.len() + 7 >= list.len(), "{}", found.len());
}

#[test]
fn unknown_functions_are_refused() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE SCHEMA mine; \
         CREATE FUNCTION mine.lower(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT LEAKPROOF AS 'SELECT pg_sleep(1)::text'; \
         CREATE FUNCTION mine.less(int, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT LEAKPROOF AS 'BEGIN RETURN 1/0 > 0; END'; \
         CREATE OPERATOR mine.< (LEFTARG = int, RIGHTARG = int, PROCEDURE = mine.less); \
         CREATE TABLE t (i int, x float8, s text, d date, a int[], j jsonb, c circle, k text COLLATE \"C\", p text COLLATE \"POSIX\"); INSERT INTO t DEFAULT VALUES",
    );
    for (call, reason) in [
        ("mine.lower(s)", "is not one of PostgreSQL's own"),
        ("i OPERATOR(mine.<) i", "is not one of PostgreSQL's own"),
        ("set_config('a.b', s, false)", "is volatile"),
        ("pg_sleep(x)", "is volatile"),
        ("s ~ s", "needs a pattern that is constant"),
        (
            "regexp_replace(s, 'a', s)",
            "needs a pattern that is constant",
        ),
        ("regexp_like(s, 'a', s)", "needs a pattern that is constant"),
        ("md5(s)", "may fail where the server keeps to FIPS"),
        ("c = c", "overflows"),
        ("array_length(a, i)", "is not in the list"),
        ("j -> s", "is not in the list"),
        ("concat(s, s)", "is not in the list"),
        ("factorial(i)", "is not in the list"),
        ("decode(s, s)", "is not in the list"),
        ("quote_literal(s)", "is not in the list"),
        ("to_regclass(s)", "is not in the list"),
        ("width_bucket(x, ARRAY[x])", "is not in the list"),
        ("k < p", "could not determine which collation"),
    ] {
        let judged: String = value(&mut client, &format!("SELECT dp_test_judge({call}) FROM t"));
        assert!(judged.contains(reason), "{call}: {judged}");
    }
    for (call, judgement) in [
        ("i < i", "total"),
        ("i + i", "partial"),
        ("s LIKE 'a%'", "total"),
        ("s LIKE 'a\\\\'", "total"),
        ("s LIKE 'a\\'", "partial"),
        ("s LIKE s", "partial"),
        ("s ILIKE 'a%'", "partial"),
        ("s ~ 'a'", "partial"),
        ("pg_catalog.varchar(s, 9, true)", "total"),
        ("pg_catalog.varchar(s, 9, false)", "partial"),
        ("pg_catalog.varchar(s, i, true)", "partial"),
        ("pg_catalog.bpchar(s, 2147483647, true)", "partial"),
        ("date_trunc('month', d)", "partial"),
    ] {
        let judged: String = value(&mut client, &format!("SELECT dp_test_judge({call}) FROM t"));
        assert_eq!(judged, judgement, "{call}");
    }
    let wildcards = |count: usize| {
        format!(
            "SELECT dp_test_judge(s LIKE '{}') FROM t",
            "%a".repeat(count)
        )
    };
    assert_eq!(value::<String>(&mut client, &wildcards(100)), "total");
    assert_eq!(value::<String>(&mut client, &wildcards(101)), "partial");
    // A nondeterministic collation, where the server was built with ICU.
    let made = client.batch_execute(
        "CREATE COLLATION loose (provider = icu, locale = 'und', deterministic = false)",
    );
    if made.is_ok() {
        let sql = "SELECT dp_test_judge(s = s COLLATE loose) FROM t";
        let judged: String = value(&mut client, sql);
        assert!(judged.contains("nondeterministic"), "{judged}");
    }
}

/// Those of few digits are not made by PostgreSQL, and all of them are the same.
#[test]
fn floats_of_numerics_are_the_nearest() {
    let (_database, mut client) = session(Build::Testing);
    make_variant(&mut client, "float8");
    run(
        &mut client,
        "CREATE TABLE t AS SELECT sign * round((random() * 10 ^ power)::numeric, scale) AS x \
         FROM generate_series(-12, 12, 0.25) AS p (power), generate_series(-3, 16) AS s (scale), \
             unnest('{-1, 1}'::int[]) AS sign, generate_series(1, 40); \
         INSERT INTO t SELECT (whole + step)::numeric * sign * 10::numeric ^ power \
         FROM unnest('{0, 1, 9999, 10000, 99999999, 9007199254740992, 9999999999999999}'::bigint[]) AS whole, \
             generate_series(-3, 3) AS step, unnest('{-1, 1}'::int[]) AS sign, generate_series(-40, 40) AS power; \
         INSERT INTO t VALUES ('NaN'), ('Infinity'), ('-Infinity'), ('0.000'), (('1' || repeat('0', 300))::numeric), (NULL)",
    );
    // As a table has them, and as they are computed.
    for x in ["x", "x + 0", "x::numeric(60, 20)"] {
        let sql = format!(
            "SELECT count(*) FROM t WHERE scale(x) < 45 AND abs(x) < 1e30 AND \
             float8send(variant(1746, {x})) IS DISTINCT FROM float8send(({x})::float8)"
        );
        assert_eq!(value::<i64>(&mut client, &sql), 0, "{x}");
    }
    let sql = "SELECT count(*) FROM t WHERE variant(1746, x) IS DISTINCT FROM x::float8";
    assert_eq!(value::<i64>(&mut client, sql), 0);
}

#[test]
fn called_by_hand_it_refuses() {
    let (database, mut client) = session(Build::Testing);
    let sql = "SELECT pg_typeof(dp_mean.total(177, 1, 2))";
    let refusal = refused(&mut client, sql);
    assert_eq!(refusal.code, "0A000");
    make_variant(&mut client, "integer");
    assert_eq!(value::<i32>(&mut client, "SELECT variant(177, 1, 2)"), 3);
    for call in [
        // Another number or other types of arguments, another type of answer.
        "variant(177, 1)",
        "variant(177, 1, 2, 3)",
        "variant(177, 1, 2::bigint)",
        "variant(177, '1', '2')",
        "variant(463, 1::bigint, 2::bigint)",
        // Not a constant, and not partial ones.
        "variant((random() * 177)::int::oid, 1, 2)",
        "variant(177, VARIADIC ARRAY[1, 2])",
        "variant(66, 1, 2)",
        "variant(2077, 'port'::text)",
        "variant(to_regproc('dp_mean.total')::oid, 1)",
        "variant(0, 1)",
        "variant(9999, 1)",
        "variant(4294967295, 1)",
    ] {
        let code = refused(&mut client, &format!("SELECT {call}")).code;
        assert!(
            code == "0A000" || code == "XX000" && call.contains("9999"),
            "{call}: {code}"
        );
    }
    let role = Role::new(&database);
    let mut nobody = role.connect();
    let refusal = refused(&mut nobody, sql);
    assert_eq!(refusal.message, "permission denied for schema dp_mean");
}

#[test]
fn values_that_are_too_long_are_null() {
    let (_database, mut client) = session(Build::Testing);
    make_variant(&mut client, "text");
    run(
        &mut client,
        "CREATE TABLE t AS SELECT repeat('x', 300 << 10) AS long, repeat('x', 150 << 10) AS half, repeat('x', 100) AS short",
    );
    for (call, length) in [
        ("variant(1622, short, 2500)", Some(250_000)),
        ("variant(1622, short, 2700)", None),
        ("variant(1622, ''::text, 2700)", Some(0)),
        ("variant(1622, ''::text, 2147483647)", None),
        ("variant(1622, short, -1)", Some(0)),
        ("variant(1622, short, 2147483647)", None),
        ("variant(870, half)", Some(150 << 10)),
        ("variant(870, long)", None),
        ("variant(1258, half, short)", Some((150 << 10) + 100)),
        ("variant(1258, half, half)", None),
        ("variant(873, short, 60000, short)", Some(60_000)),
        ("variant(873, short, 70000, short)", None),
        ("variant(874, short, 2147483647, short)", None),
        ("variant(2087, short, 'x'::text, short)", Some(10_000)),
        ("variant(2087, half, 'x'::text, short)", None),
        (
            "variant(2285, short, 'x'::text, repeat('y', 100), 'g'::text)",
            Some(10_000),
        ),
        (
            "variant(2285, half, 'x'::text, repeat('y', 100), 'g'::text)",
            None,
        ),
    ] {
        let length_of: Option<i32> = value(&mut client, &format!("SELECT length({call}) FROM t"));
        assert_eq!(length_of, length, "{call}");
    }
    make_variant(&mut client, "bpchar");
    for (length, answers) in [(1000, true), (2_147_483_647, false)] {
        let sql = format!("SELECT variant(668, short::bpchar, {length}, false) IS NOT NULL FROM t");
        assert_eq!(value::<bool>(&mut client, &sql), answers);
    }
    // A pattern that recurses as deeply as the text is long.
    make_variant(&mut client, "boolean");
    let deep = "SELECT {}(repeat('a', 100000), repeat('%a', 100000) || '%') IS NULL";
    let plain = refused(&mut client, &deep.replace("{}", "textlike"));
    assert_eq!(plain.code, "54001");
    let through = deep.replace("{}(", "variant(850, ");
    assert!(value::<bool>(&mut client, &through));
}

/// Arguments that are short, and would keep a function busy for seconds.
const SLOW_CALLS: [(&str, &str); 14] = [
    (
        "integer",
        "868, repeat('a', 200000), 'b' || repeat('a', 30000)",
    ),
    (
        "integer",
        "849, repeat('a', 200000), 'b' || repeat('a', 30000)",
    ),
    (
        "integer",
        "1698, repeat('1', 200000)::varbit::bit(200000), repeat('1', 100000)::varbit::bit(100000)",
    ),
    (
        "text",
        "875, repeat('ab', 90000), repeat('c', 30000) || 'ab'",
    ),
    (
        "text",
        "878, repeat('a', 100000), repeat('b', 30000), repeat('b', 30000)",
    ),
    (
        "text",
        "2088, repeat('a', 200000), 'b' || repeat('a', 30000), 2",
    ),
    (
        "boolean",
        "850, repeat('a', 200000), '%' || repeat('a', 30000) || 'b'",
    ),
    (
        "boolean",
        "1254, repeat('a', 2001), '^(a+)(a+)(a+)\\1\\2\\3$'::text",
    ),
    (
        "boolean",
        "1254, repeat('a', 2000), '((a{1,30}){1,30}){1,30}b'::text",
    ),
    (
        "text",
        "2285, repeat('x', 100000) || 'z', 'x.*y|z'::text, ''::text, 'g'::text",
    ),
    ("numeric", "2169, 9.99, 130000::numeric"),
    ("numeric", "1732, 250000::numeric"),
    (
        "numeric",
        "5048, repeat('97', 60000)::numeric, repeat('31', 60000)::numeric",
    ),
    ("text", "1777::oid, repeat('9', 60000), repeat('9', 60000)"),
];

#[test]
fn functions_that_take_long_are_null() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "SET plan_cache_mode = force_generic_plan; SET statement_timeout = '2s'",
    );
    for (answer, call) in SLOW_CALLS {
        let answer = if call.starts_with("1777") {
            "numeric"
        } else {
            answer
        };
        make_variant(&mut client, answer);
        let sql = format!("SELECT variant({call}) IS NULL");
        assert!(value::<bool>(&mut client, &sql), "{call}");
    }
}

/// What is near the bounds of work: it must have an answer, and the slowest takes some milliseconds.
#[test]
fn functions_that_take_milliseconds_answer() {
    let (_database, mut client) = session(Build::Testing);
    let mut slowest = Vec::new();
    for (answer, call) in [
        ("text", "871, repeat('a', 262000)"),
        ("text", "872, repeat('a', 262000)"),
        ("text", "1622, 'a'::text, 262000"),
        ("integer", "868, repeat('a', 200000), 'b' || repeat('a', 8)"),
        ("text", "875, repeat('ab', 90000), repeat('c', 8) || 'ab'"),
        (
            "text",
            "878, repeat('a', 200000), repeat('b', 10), repeat('b', 10)",
        ),
        (
            "boolean",
            "1633, repeat('a', 200000), '%' || repeat('a', 8) || 'b'",
        ),
        (
            "boolean",
            "1254, repeat('a', 200000), '(a|b)*c[a-z]{10}'::text",
        ),
        (
            "text",
            "2285, repeat('x', 1400) || 'z', 'x.*y|z'::text, ''::text, 'g'::text",
        ),
        (
            "numeric",
            "2169, (repeat('7', 100) || '.' || repeat('3', 300))::numeric, 4.5::numeric",
        ),
        ("numeric", "1732, 1150.123::numeric"),
        (
            "numeric",
            "5048, repeat('97', 250)::numeric, repeat('31', 250)::numeric",
        ),
        (
            "numeric",
            "1734, ('0.' || repeat('0', 480) || '7')::numeric",
        ),
        ("text", "2049, '2024-02-29'::timestamp, repeat('Day', 3000)"),
    ] {
        make_variant(&mut client, answer);
        let before = std::time::Instant::now();
        let sql = format!("SELECT count(variant({call})) FROM generate_series(1, 5)");
        assert_eq!(value::<i64>(&mut client, &sql), 5, "{call}");
        slowest.push((before.elapsed() / 5, call));
    }
    slowest.sort();
    println!("{slowest:#?}");
    let (took, call) = slowest.last().expect("some");
    assert!(took.as_millis() < 500, "{took:?}: {call}");
}

#[test]
fn a_statement_is_still_cancelled() {
    let (_database, mut client) = session(Build::Testing);
    make_variant(&mut client, "boolean");
    // A regular expression that takes long.
    let sql = "SET statement_timeout = 500; SELECT dp_test_defence('work', false); \
               SELECT variant(1254, repeat('a', 2001), '^(a+)(a+)(a+)\\1\\2\\3$'::text)";
    assert_eq!(refused(&mut client, sql).code, "57014");
    // The session has come to no harm.
    assert!(value::<bool>(
        &mut client,
        "SELECT variant(1254, 'a'::text, '^a'::text)"
    ));
}

#[test]
fn no_value_is_outside_of_its_range() {
    let (_database, mut client) = session(Build::Testing);
    // Columns within [-7.5, 12.5] and [1, 3], the ends among them.
    run(
        &mut client,
        "CREATE TABLE t (x float8, y float8); \
         INSERT INTO t SELECT -7.5 + 20 * random(), 1 + 2 * random() FROM generate_series(1, 2000); \
         INSERT INTO t SELECT x, y FROM unnest('{-7.5, -1, -0.5, 0, 0.5, 2.5, 12.5}'::float8[]) x, unnest('{1, 2, 3}'::float8[]) y; \
         CREATE TABLE n AS SELECT round(x)::int AS x, round(y)::int AS y FROM t WHERE round(x) BETWEEN -7 AND 12; \
         CREATE TABLE m AS SELECT x::numeric AS x, y::numeric AS y FROM t; \
         CREATE TABLE r AS SELECT x::real AS x, y::real AS y FROM t",
    );
    let number = [
        "x + y",
        "x - y",
        "x * y",
        "x / y",
        "y / x",
        "-x",
        "+x",
        "abs(x)",
        "x * x - 2 * x + 1",
        "x / 3",
        "x / (-7)",
        "x + 0.1",
        "x * 0.1",
        "(x - 1) / (y + 2)",
        "x::int",
        "x::bigint",
        "x::smallint",
        "x::numeric",
        "x::real",
        "x::float8",
        "x::numeric(6, 1)",
        "x::numeric(4, -1)",
        "y::int / 2",
        "greatest(x, y)",
        "least(x, 2)",
        "greatest(least(x * y, 10), -3)",
        "coalesce(nullif(x, 0), y)",
        "CASE WHEN x > 2 THEN x ELSE y END",
        "CASE x WHEN 1 THEN 5 WHEN 2 THEN x END",
        "sign(x)",
        "round(x::numeric, 1)",
        "trunc(x::numeric, 2)",
        "round(x::numeric, -1)",
        "ceil(x)",
        "floor(x)",
        "trunc(x::float8)",
        "round(x::float8)",
        "sqrt(x + 8)",
        "power(x, 2)",
        "power(x, 3)",
        "power(y::numeric, 3)",
        "(x::int) % 5",
        "(x::int) % (y::int)",
        "mod(x::numeric, 2.5)",
        "(x > 3)::int",
        "width_bucket(x::float8, 0, 10, 5)",
        "width_bucket(x::numeric, 0, 10, 5)",
        "div(x::numeric, y::numeric)",
        "x::int / 2",
        "2147483647 + x::int",
        "least(greatest(exp(x), 0), 20)",
        "sin(x)",
        "x + 9007199254740993",
        "x * 1e-300",
        "x::real + 0.1::real",
        "x::real * 0.3::real",
        "x * 123456789.123456789",
    ];
    let (mut outside, mut unknown) = (Vec::new(), Vec::new());
    for (table, lo, hi) in [
        ("t", -7.5, 12.5),
        ("n", -7.0, 12.0),
        ("m", -7.5, 12.5),
        ("r", -7.5, 12.5),
    ] {
        for expression in number {
            // Where the expression itself raises no error.
            let condition = match expression {
                "y / x" => "x <> 0",
                _ if expression.contains("2147483647") || expression.contains("exp(") => "x <= 0",
                _ => "true",
            };
            let sql = format!(
                "SELECT max(dp_test_range({expression}, {lo}, {hi}, 1, 3)), min(({expression})::float8), \
                 max(({expression})::float8) FROM {table} WHERE {condition}"
            );
            let row = &rows(&mut client, &sql)[0];
            let (range, least, most): (Option<&str>, Option<f64>, Option<f64>) =
                (row.get(0), row.get(1), row.get(2));
            let Some((least, most)) = least.zip(most) else {
                continue;
            };
            let Some(range) = range else {
                unknown.push(format!("{table} {expression}"));
                continue;
            };
            let ends: Vec<f64> = range
                .split(' ')
                .map(|end| end.parse().expect("a float"))
                .collect();
            if !(ends[0] <= least && most <= ends[1]) {
                outside.push(format!(
                    "{table} {expression}: {least} {most} not in {range}"
                ));
            }
            // No wider than it has to be, by far.
            let wide = (ends[1] - ends[0]) / (most - least).max(1.0);
            assert!(
                wide < 40.0,
                "{table} {expression}: {least} {most}, but {range}"
            );
        }
    }
    assert!(outside.is_empty(), "{}", outside.join("\n"));
    // Only a divisor that may be 0 leaves nothing to say.
    let other = unknown.iter().filter(|one| !one.ends_with("y / x"));
    assert_eq!(other.count(), 0, "{unknown:?}");
    for (expression, range) in [
        ("x * 2 + 1", Some("-14.0 26.0")),
        ("x / 2", Some("-3.75 6.25")),
        (
            "extract(month FROM now() + x * interval '1 day')",
            Some("1.0 12.0"),
        ),
        (
            "date_part('dow', now() + x * interval '1 day')",
            Some("0.0 6.0"),
        ),
        ("extract(year FROM now() + x * interval '1 day')", None),
        ("x + NULL::float8", None),
        ("ln(y)", None),
        ("random() * x", None),
    ] {
        let sql = format!("SELECT dp_test_range({expression}, -7.5, 12.5, 1, 3) FROM t LIMIT 1");
        let known: Option<String> = value(&mut client, &sql);
        assert_eq!(known.as_deref(), range, "{expression}");
    }
}

/// Types by their short names.
fn short(signature: &str) -> String {
    [
        ("timestamp without time zone", "timestamp"),
        ("timestamp with time zone", "timestamptz"),
        ("time without time zone", "time"),
        ("time with time zone", "timetz"),
        ("double precision", "float8"),
        ("character varying", "varchar"),
    ]
    .iter()
    .fold(signature.to_owned(), |text, (long, short)| {
        text.replace(long, short)
    })
}

/// The table of the functions of which this is known: operators by their signs, casts as such.
fn documented(
    client: &mut Client,
    list: &BTreeMap<u32, (String, String)>,
    known: &[&str],
) -> String {
    let signs: BTreeMap<u32, String> = rows(
        client,
        "SELECT oprcode::oid, min(oprname) FROM pg_operator WHERE oid < 10000 AND oprcode <> 0 GROUP BY 1",
    )
    .iter()
    .map(|row| (row.get(0), row.get(1)))
    .collect();
    let casts = rows(client, "SELECT castfunc FROM pg_cast WHERE castfunc <> 0");
    let casts: BTreeSet<u32> = casts.iter().map(|row| row.get(0)).collect();
    let mut table = BTreeMap::<(u8, String), Vec<String>>::new();
    for (oid, (signature, this)) in list {
        if !known.contains(&this.as_str()) {
            continue;
        }
        let (name, arguments) = signature.split_once('(').expect("arguments");
        let arguments = short(arguments.trim_end_matches(')')).replace(',', ", ");
        let (key, what) = match (signs.get(oid), casts.contains(oid)) {
            (Some(sign), _) => ((0, sign.replace('|', "\\|")), arguments),
            (_, true) => {
                let from = arguments.split(',').next().unwrap_or_default();
                ((2, "CAST".to_owned()), format!("{from} to {name}"))
            }
            _ => ((1, name.to_owned()), format!("({arguments})")),
        };
        table.entry(key).or_default().push(what);
    }
    let mut text = "| Function, operator | Arguments |\n| --- | --- |\n".to_owned();
    for ((_, name), mut arguments) in table {
        arguments.sort();
        arguments.dedup();
        text += &format!("| `{name}` | {} |\n", arguments.join("; "));
    }
    text
}

#[test]
fn the_manual_lists_the_functions() {
    let (_database, mut client) = session(Build::Testing);
    let list = list(&mut client);
    let page = include_str!("../docs/functions.md");
    for (heading, known) in [
        ("Allowed as they are", &["total"][..]),
        ("NULL instead of an error", &["native", "caught"]),
        ("With constants", &["like", "length", "pattern"]),
        ("Refused", &["refused"]),
    ] {
        let table = documented(&mut client, &list, known);
        let section = page
            .split("\n## ")
            .find(|section| section.starts_with(heading));
        let section = section.unwrap_or_else(|| panic!("no section \"{heading}\""));
        assert!(
            section.contains(&table),
            "the section \"{heading}\" should have\n{table}"
        );
    }
}
