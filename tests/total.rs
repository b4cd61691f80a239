//! Functions on private rows: those that are called as they are raise nothing, and a variant answers like the function
//! that it stands for, and NULL where that raises an error. Tried with extreme values of every type.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dp_mean_tests::{Build, Database, rows, run, value};
use postgres::Client;

/// Values of each type, as SQL.
const VALUES: &[(&str, &[&str])] = &[
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

/// How often a function is called at most with values of all of its arguments, and with constants for the others.
const CALLS: usize = 3000;
const CONSTANTS: usize = 40;

/// A type that stands for those that a polymorphic one may be.
fn concrete(kind: &str) -> &str {
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

    /// Arguments `from` to `to`, so many values of each that there are at most `most` together.
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
         (plain = variant OR plain LIKE 'raises %' AND variant = 'NULL') FROM calls",
        function.oid
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

/// A constant, as it stands in a tree once it is computed.
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
