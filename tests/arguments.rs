//! Every rule of every argument. The same call raises the same error whatever the rows are; what
//! the rules allow works in every way that a value can reach a query.

use std::error::Error;

use dp_mean_tests::{
    Build, Database, PARALLEL, Refusal, explain, refusal, refused, rows, run, session, value,
};
use postgres::Client;
use postgres::types::private::BytesMut;
use postgres::types::{Format, IsNull, ToSql, Type};

/// Tables of the same columns: `full_table` with rows, `none` without, `nulls` without a value.
/// `xs` has two numbers, `bs` two answers.
const TABLES: &str = "
    CREATE TABLE full_table AS
        SELECT i % 3 AS k, (i % 61)::float8 AS x, 1.0::float8 AS a, 'hourglass'::text AS m,
               'hourglass'::dp_mechanism AS d, ARRAY[i % 61, i % 3]::float8[] AS xs,
               ARRAY[i % 61 > 30, i % 3 = 2] AS bs
        FROM generate_series(1, 999) i;
    CREATE TABLE none (LIKE full_table);
    CREATE TABLE nulls AS SELECT k, NULL::float8 AS x, a, m, d, NULL::float8[] AS xs,
        NULL::boolean[] AS bs FROM full_table LIMIT 10;
    CREATE TABLE other AS SELECT k, 1.0::float8 AS b FROM generate_series(0, 2) k;
    CREATE FUNCTION careless() RETURNS float8 VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
    CREATE SEQUENCE counter;
    CREATE FUNCTION liar() RETURNS float8 STABLE LANGUAGE plpgsql
        AS $$ BEGIN RETURN nextval('counter'); END $$";

/// Where a call can stand: `{}` is the call, `t` its table. With rows, without, and without values.
pub const PLACES: [&str; 11] = [
    "SELECT {} FROM full_table t",
    "SELECT {} FROM none t",
    "SELECT {} FROM nulls t",
    "SELECT k, {} FROM full_table t GROUP BY k",
    "SELECT k, {} FROM nulls t GROUP BY k",
    "SELECT {} FROM full_table t WHERE false",
    "SELECT {} FROM full_table t WHERE x > 1e9",
    "SELECT {} FILTER (WHERE x > 1e9) FROM full_table t",
    "SELECT k, {} FILTER (WHERE k = 2) FROM full_table t GROUP BY k",
    "SELECT k, {} FROM none t GROUP BY GROUPING SETS ((k), ())",
    "SELECT k, {} FROM full_table t GROUP BY CUBE (k)",
];

/// A way to call an aggregate.
struct Form {
    /// The name in its messages.
    name: &'static str,
    template: &'static str,
    mechanism: &'static str,
}

const fn form(name: &'static str, template: &'static str, mechanism: &'static str) -> Form {
    Form {
        name,
        template,
        mechanism,
    }
}

const FORMS: [Form; 20] = [
    form("dp_mean", "dp_mean(x, {lo}, {hi}, {eps})", "'hourglass'"),
    form(
        "dp_mean",
        "dp_mean(x, {lo}, {hi}, {eps}, {mech})",
        "'hourglass'",
    ),
    form(
        "dp_mean",
        "dp_mean_and_count(x, {lo}, {hi}, {eps})",
        "'hourglass'",
    ),
    form(
        "dp_mean",
        "dp_mean_and_count(x, {lo}, {hi}, {eps}, {mech})",
        "'hourglass'",
    ),
    form(
        "dp_mean",
        "dp_mean(x, {lo}, {hi}, {eps}, {mech})",
        "'smooth'",
    ),
    form(
        "dp_mean",
        "dp_mean(x, {lo}, {hi}, {eps}, {mech})",
        "'clipped(n=999)'",
    ),
    form("dp_sum", "dp_sum(x, {lo}, {hi}, {eps})", "'staircase'"),
    form(
        "dp_sum",
        "dp_sum(x, {lo}, {hi}, {eps}, {mech})",
        "'staircase'",
    ),
    form("dp_count", "dp_count({eps})", "'geometric'"),
    form("dp_count", "dp_count(x, {eps})", "'geometric'"),
    form("dp_count", "dp_count(x, {eps}, {mech})", "'geometric'"),
    form("dp_keep", "dp_keep({eps}, 1e-6)", "'keep'"),
    form("dp_keep", "dp_keep({eps}, 1e-6, {mech})", "'keep'"),
    form(
        "dp_count",
        "dp_count(x, {eps}, {mech})",
        "'undercount(delta=1e-6)'",
    ),
    form(
        "dp_counts",
        "dp_counts({eps}, {mech}, x > 30, k = 2)",
        "'laplace'",
    ),
    form(
        "dp_counts",
        "dp_counts({eps}, {mech}, VARIADIC bs)",
        "'correlated(delta=1e-6, d=2)'",
    ),
    form(
        "dp_counts",
        "dp_counts_estimate({eps}, {mech}, x > 30, k = 2)",
        "'correlated(delta=1e-6)'",
    ),
    form(
        "dp_sums",
        "dp_sums(xs, {lo}, {hi}, {eps}, {mech})",
        "'laplace(d=2)'",
    ),
    form(
        "dp_sums",
        "dp_sums_estimate(xs, {lo}, {hi}, {eps}, {mech})",
        "'correlated(delta=1e-6, d=2)'",
    ),
    form(
        "dp_means",
        "dp_means(xs, {lo}, {hi}, {eps}, {mech})",
        "'correlated(delta=1e-6, d=2)'",
    ),
];

impl Form {
    fn takes(&self, argument: &str) -> bool {
        self.template.contains(&format!("{{{argument}}}"))
    }

    /// The name of its mechanism, without parameters.
    fn mechanism_name(&self) -> &str {
        let text = self.mechanism.trim_matches('\'');
        text.split_once('(').map_or(text, |(name, _)| name)
    }

    /// The call with these arguments; the others are good.
    fn call(&self, arguments: &[(&str, &str)]) -> String {
        let good = [
            ("lo", "0"),
            ("hi", "100"),
            ("eps", "1"),
            ("mech", self.mechanism),
        ];
        let mut call = self.template.to_owned();
        for (argument, text) in arguments.iter().chain(&good) {
            call = call.replace(&format!("{{{argument}}}"), text);
        }
        call
    }
}

pub fn tables() -> (Database, Client) {
    let (database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    (database, client)
}

/// The error of `call`, which must be the same in each place.
fn refused_everywhere(client: &mut Client, call: &str) -> Refusal {
    refused_alike(client, call, &PLACES)
}

/// The error of `call`, which must be the same in each of these places.
pub fn refused_alike(client: &mut Client, call: &str, places: &[&str]) -> Refusal {
    let mut first: Option<Refusal> = None;
    for place in places {
        let sql = place.replace("{}", call);
        let refusal = refused(client, &sql);
        assert!(!refusal.hint.is_empty(), "no hint: {refusal:?}: {sql}");
        match &first {
            Some(first) => assert_eq!(refusal, *first, "{sql}"),
            None => first = Some(refusal),
        }
    }
    first.expect("there are places")
}

/// That `call` is refused everywhere, in the words `rule` of the argument.
fn breaks_rule(client: &mut Client, name: &str, call: &str, argument: &str, rule: &str) -> Refusal {
    let refusal = refused_everywhere(client, call);
    assert_eq!(refusal.code, "22023", "{refusal:?}: {call}");
    assert_eq!(
        refusal.message,
        format!("{name}: argument \"{argument}\" {rule}"),
        "{call}"
    );
    refusal
}

const NULL: &str = "must not be NULL";
const FINITE: &str = "must be a finite number";
const EPSILON: &str = "must be at least 2^-20 (about 0.00000095367) and at most 50";
const ROWS: &str = "must not depend on the rows";

#[test]
fn a_bound_that_breaks_its_rule_is_named() {
    let (_database, mut client) = tables();
    for form in FORMS.iter().filter(|form| form.takes("lo")) {
        for argument in ["lo", "hi"] {
            for (text, rule) in [
                ("NULL", NULL),
                ("'NaN'", FINITE),
                ("'Infinity'", FINITE),
                ("'-Infinity'", FINITE),
                ("(SELECT NULL::float8)", NULL),
                ("(SELECT 'NaN'::float8)", FINITE),
            ] {
                let call = form.call(&[(argument, text)]);
                breaks_rule(&mut client, form.name, &call, argument, rule);
            }
        }
        let order = "must be greater than argument \"lo\"";
        let far = "is too far from argument \"lo\": hi - lo must be finite";
        for (lo, hi, rule) in [
            ("1", "1", order),
            ("2", "1", order),
            ("0", "'-0.0'", order),
            ("(SELECT 2.0)", "(SELECT 1.0)", order),
            ("'-1.7e308'", "'1.7e308'", far),
        ] {
            let call = form.call(&[("lo", lo), ("hi", hi)]);
            breaks_rule(&mut client, form.name, &call, "hi", rule);
        }
    }
}

#[test]
fn an_eps_that_breaks_its_rule_is_named() {
    let (_database, mut client) = tables();
    for form in &FORMS {
        for (text, rule) in [
            ("NULL", NULL),
            ("'NaN'", FINITE),
            ("'Infinity'", FINITE),
            ("'-Infinity'", FINITE),
            ("0", EPSILON),
            ("'-0.0'", EPSILON),
            ("-1", EPSILON),
            ("power(2, -21)", EPSILON),
            ("9.5367431640624e-7", EPSILON),
            ("50.0001", EPSILON),
            ("50.00000000000001", EPSILON),
            ("(SELECT NULL::float8)", NULL),
            ("(SELECT -1)", EPSILON),
        ] {
            let call = form.call(&[("eps", text)]);
            breaks_rule(&mut client, form.name, &call, "eps", rule);
        }
    }
}

#[test]
fn a_mechanism_that_does_not_fit_the_call_is_refused() {
    let (_database, mut client) = tables();
    for form in FORMS.iter().filter(|form| form.takes("mech")) {
        for null in ["NULL", "(SELECT NULL::text)", "(SELECT NULL::dp_mechanism)"] {
            let call = form.call(&[("mech", null)]);
            let refusal = breaks_rule(&mut client, form.name, &call, "mech", NULL);
            assert!(refusal.hint.contains(form.mechanism_name()), "{refusal:?}");
        }
        let (strangers, misfits): (&[&str], &[&str]) = match form.name {
            "dp_mean" => (
                &["geometric"],
                &[
                    "hourglass(gamma=0)",
                    "hourglass(gamma=-0.5)",
                    "staircase(gamma=1.0000001)",
                ],
            ),
            "dp_sum" => (
                &["hourglass", "geometric", "shifted", "hourglass(gamma=0.5)"],
                &[
                    "staircase(gamma=0)",
                    "staircase(gamma=1.5)",
                    "staircase(gamma=-1e-300)",
                ],
            ),
            "dp_count" => (&["hourglass", "laplace", "staircase(gamma=0.5)"], &[]),
            "dp_counts" | "dp_sums" => (&["hourglass", "staircase(gamma=0.5)"], &[]),
            _ => (
                &["hourglass", "laplace(d=2)", "gaussian(delta=1e-6, d=2)"],
                &[],
            ),
        };
        let stranger = format!("is not a mechanism of {}", form.name);
        let range = "gives the parameter gamma a value outside its range";
        let cases = strangers.iter().map(|text| (text, stranger.as_str()));
        for (text, rule) in cases.chain(misfits.iter().map(|text| (text, range))) {
            for text in [format!("'{text}'"), format!("(SELECT '{text}'::text)")] {
                let call = form.call(&[("mech", &text)]);
                breaks_rule(&mut client, form.name, &call, "mech", rule);
            }
        }
    }
}

/// Texts that name no mechanism, with a piece of the message for each.
fn malformed() -> Vec<(String, &'static str)> {
    let cases = [
        ("", "is not the name of a mechanism"),
        ("  ", "is not the name of a mechanism"),
        ("sesame", "is not the name of a mechanism"),
        ("Hourglass", "is not the name of a mechanism"),
        ("hour glass", "is not the name of a mechanism"),
        ("hourglass(", "has no closing parenthesis"),
        ("hourglass()sesame", "goes on after its closing parenthesis"),
        (
            "hourglass(sesame=1)",
            "gives a parameter that hourglass does not take",
        ),
        (
            "hourglass(Gamma=1)",
            "gives a parameter that hourglass does not take",
        ),
        (
            "laplace(gamma=0.5)",
            "gives a parameter that laplace does not take",
        ),
        (
            "geometric(sesame=1)",
            "gives a parameter that geometric does not take",
        ),
        (
            "hourglass(gamma)",
            "has a parameter that is not of the form key=value",
        ),
        (
            "hourglass(gamma=0.5,)",
            "has a parameter that is not of the form key=value",
        ),
        (
            "hourglass(gamma=)",
            "gives the parameter gamma no finite number",
        ),
        (
            "hourglass(gamma=sesame)",
            "gives the parameter gamma no finite number",
        ),
        (
            "hourglass(gamma=inf)",
            "gives the parameter gamma no finite number",
        ),
        (
            "hourglass(gamma=NaN)",
            "gives the parameter gamma no finite number",
        ),
        (
            "hourglass(gamma=1e999)",
            "gives the parameter gamma no finite number",
        ),
        (
            "hourglass(gamma=0x1)",
            "gives the parameter gamma no finite number",
        ),
        (
            "hourglass(gamma=0.1, gamma=0.1)",
            "gives the parameter gamma more than once",
        ),
    ];
    let long = "is too long for the name of a mechanism";
    let mut all: Vec<(String, &str)> = cases
        .iter()
        .map(|(text, message)| ((*text).to_owned(), *message))
        .collect();
    all.push(("sesame".repeat(1 << 18), long));
    all.push((format!("hourglass({})", " ".repeat(1 << 20)), long));
    all.push((format!("hourglass(gamma=0.{})", "7".repeat(1 << 20)), long));
    all
}

#[test]
fn a_literal_that_names_no_mechanism_is_refused_where_it_is_parsed() {
    let (_database, mut client) = tables();
    for (text, message) in malformed() {
        let sql = format!("SELECT dp_mean(x, 0, 100, 1, '{text}') FROM full_table");
        let refusal = refused(&mut client, &sql);
        assert_eq!(refusal.code, "22023", "{refusal:?}");
        assert_eq!(refusal.message, format!("dp_mechanism: the text {message}"));
        assert_eq!(
            refusal.position,
            Some(30),
            "the error points at the literal: {refusal:?}"
        );
        assert!(!refusal.hint.is_empty(), "{refusal:?}");
        // Not run, only parsed.
        let prepared = refused(&mut client, &format!("PREPARE never AS {sql}"));
        assert_eq!(prepared.message, refusal.message);
    }
}

#[test]
fn a_text_that_names_no_mechanism_is_refused_with_and_without_rows() {
    let (_database, mut client) = tables();
    for (text, message) in malformed().into_iter().filter(|(text, _)| text.len() < 100) {
        for form in FORMS.iter().filter(|form| form.takes("mech")) {
            let call = form.call(&[("mech", &format!("(SELECT '{text}'::text)"))]);
            let refusal = refused_everywhere(&mut client, &call);
            assert_eq!(refusal.code, "22023", "{refusal:?}");
            assert_eq!(refusal.message, format!("dp_mechanism: the text {message}"));
            assert_eq!(refusal.position, None);
        }
    }
}

#[test]
fn a_hint_lists_what_there_is() {
    let (_database, mut client) = tables();
    let unknown = refused(&mut client, "SELECT 'sesame'::dp_mechanism").hint;
    for row in rows(
        &mut client,
        "SELECT DISTINCT mechanism FROM dp_mechanisms()",
    ) {
        assert!(unknown.contains(row.get::<_, &str>(0)), "{unknown}");
    }
    let key = refused(&mut client, "SELECT 'hourglass(sesame=1)'::dp_mechanism").hint;
    assert_eq!(key, "The parameters of hourglass are: gamma, rows, groups.");
    let sum = refused(
        &mut client,
        "SELECT dp_sum(x, 0, 1, 1, 'shifted') FROM none",
    )
    .hint;
    assert_eq!(
        sum,
        "The mechanisms of dp_sum are: staircase, laplace, gaussian, auto."
    );
}

#[test]
fn no_message_quotes_a_value() {
    let (_database, mut client) = tables();
    let numbers = ["-12345.678", "51.23456", "987654.25", "4.5678e-9"];
    let texts = [
        "sesame",
        "hourglass(gamma=7.654321)",
        "hourglass(sesame=7.654321)",
    ];
    let mut refusals = Vec::new();
    for form in &FORMS {
        for secret in ["-12345.678", "51.23456", "4.5678e-9"] {
            refusals.push(refused_everywhere(
                &mut client,
                &form.call(&[("eps", secret)]),
            ));
        }
        if form.takes("lo") {
            let call = form.call(&[("lo", "987654.25"), ("hi", "-12345.678")]);
            refusals.push(refused_everywhere(&mut client, &call));
        }
        for text in texts.iter().filter(|_| form.takes("mech")) {
            let call = form.call(&[("mech", &format!("(SELECT '{text}'::text)"))]);
            refusals.push(refused_everywhere(&mut client, &call));
        }
    }
    for refusal in refusals {
        let all = format!("{refusal:?}");
        let secrets = numbers
            .iter()
            .chain(&["7.654321", "sesame", "12345", "987654"]);
        for secret in secrets {
            assert!(!all.contains(secret), "{all}");
        }
    }
}

#[test]
fn the_first_of_several_problems_is_the_same_with_and_without_rows() {
    let (_database, mut client) = tables();
    for form in FORMS.iter().filter(|form| form.takes("lo")) {
        for (arguments, argument, rule) in [
            (
                &[
                    ("lo", "NULL"),
                    ("hi", "NULL"),
                    ("eps", "NULL"),
                    ("mech", "NULL"),
                ][..],
                "lo",
                NULL,
            ),
            (
                &[("hi", "'NaN'"), ("eps", "-1"), ("mech", "NULL")],
                "hi",
                FINITE,
            ),
            (
                &[("lo", "100"), ("eps", "NULL"), ("mech", "NULL")],
                "hi",
                "must be greater than argument \"lo\"",
            ),
            (&[("eps", "NULL"), ("mech", "NULL")], "eps", NULL),
            (&[("lo", "NULL"), ("eps", "a")], "eps", ROWS),
            (&[("lo", "random()"), ("hi", "a"), ("eps", "a")], "lo", ROWS),
            (&[("lo", "NULL"), ("hi", "a"), ("eps", "-1")], "hi", ROWS),
        ] {
            breaks_rule(
                &mut client,
                form.name,
                &form.call(arguments),
                argument,
                rule,
            );
        }
    }
}

#[test]
fn arguments_at_their_limits_work() {
    let (_database, mut client) = tables();
    for form in &FORMS {
        let mut calls = vec![
            form.call(&[("eps", "power(2, -20)")]),
            form.call(&[("eps", "9.5367431640625e-7")]),
            form.call(&[("eps", "50")]),
        ];
        if form.takes("lo") {
            for (lo, hi) in [
                ("'-8e307'", "'8e307'"),
                ("0", "'5e-324'"),
                ("1000000", "1000001"),
                ("'-1.7976931348623157e308'", "0"),
                ("'-0.0'", "'1e-300'"),
            ] {
                calls.push(form.call(&[("lo", lo), ("hi", hi)]));
            }
        }
        let name = form.mechanism_name();
        if form.takes("mech") && ["hourglass", "staircase"].contains(&name) {
            for options in ["()", " ( gamma = 1 ) ", "(gamma=1e-300)", "(gamma=4.9e-1)"] {
                calls.push(form.call(&[("mech", &format!("'{name}{options}'"))]));
            }
        }
        for call in calls {
            for place in PLACES {
                let sql = format!("SELECT count(*) FROM ({}) q(k, a) WHERE a IS NULL", {
                    let place = place.replace("{}", &call);
                    if place.starts_with("SELECT k,") {
                        place
                    } else {
                        place.replace("SELECT", "SELECT 0,")
                    }
                });
                assert_eq!(value::<i64>(&mut client, &sql), 0, "{sql}");
            }
        }
    }
}

#[test]
fn arguments_that_depend_on_rows_are_refused() {
    let (_database, mut client) = tables();
    for form in &FORMS {
        for argument in ["lo", "hi", "eps"]
            .into_iter()
            .filter(|argument| form.takes(argument))
        {
            for text in [
                "a",
                "k",
                "t.a + 1",
                "a * 0",
                "x",
                "coalesce(x, 1)",
                "abs(t.a)::numeric",
                "random()",
                "1 + 0 * random()",
                "careless()",
                "extract(epoch FROM clock_timestamp())",
                "(SELECT t.a)",
                "(SELECT max(b) FROM other WHERE other.k = t.k)",
                "(SELECT b FROM other WHERE b = t.x LIMIT 1)",
                "CASE WHEN EXISTS (SELECT FROM other WHERE other.k = t.k) THEN 1 END",
            ] {
                let call = form.call(&[(argument, text)]);
                breaks_rule(&mut client, form.name, &call, argument, ROWS);
            }
        }
        for text in [
            "m",
            "t.d",
            "m || ''",
            "(SELECT t.m)",
            "left(m, (random() * 0)::int + 9)",
        ] {
            if form.takes("mech") {
                // What is no dp_mechanism yet becomes one by the cast from text.
                let call = form.call(&[("mech", text)]);
                breaks_rule(&mut client, form.name, &call, "mech", ROWS);
            }
        }
    }
}

/// Queries whose bad argument `v` is computed by a sub-query below the aggregate.
#[test]
fn arguments_computed_from_rows_further_down_are_refused() {
    let (_database, mut client) = tables();
    for source in [
        "SELECT x, count(*) OVER ()::float8 AS v FROM {}",
        "SELECT x, row_number() OVER (ORDER BY x)::float8 AS v FROM {}",
        "SELECT avg(x) AS x, count(*)::float8 AS v FROM {} GROUP BY k",
        "SELECT avg(x) AS x, count(*)::float8 AS v FROM {}",
        "SELECT avg(x) AS x, count(*)::float8 AS v FROM {} GROUP BY GROUPING SETS ((k), ())",
        "SELECT avg(x) AS x, GROUPING(k)::float8 AS v FROM {} GROUP BY CUBE (k)",
        "SELECT x, generate_series(1, 2)::float8 AS v FROM {}",
        "SELECT x, random() AS v FROM {}",
        "SELECT x, a AS v FROM {} ORDER BY a OFFSET 0",
        "SELECT x, a AS v FROM {} LIMIT 100",
        "SELECT DISTINCT x, a AS v FROM {}",
        "SELECT x, v::float8 FROM {}, generate_series(1, 2) v",
        "SELECT x, v FROM {}, (VALUES (1.0::float8), (2)) w(v)",
        "SELECT x, b AS v FROM {} JOIN other USING (k)",
        "SELECT x, (SELECT max(b) FROM other o WHERE o.k = t.k) AS v FROM {} t OFFSET 0",
        "SELECT x, 1.0::float8 AS v FROM {} UNION ALL SELECT x, 2 FROM {}",
        "SELECT x, a AS v FROM {} UNION SELECT x, 2 FROM {}",
        "SELECT x, (ctid::text::point)[0] AS v FROM {}",
    ] {
        for (setting, table) in [
            ("on", "full_table"),
            ("off", "full_table"),
            ("on", "none"),
            ("off", "none"),
            ("on", "nulls"),
        ] {
            run(&mut client, &format!("SET enable_hashagg = {setting}"));
            let source = source.replace("{}", table);
            for filter in ["", " WHERE x > 1e9"] {
                for (call, name) in [
                    ("dp_count(x, v)", "dp_count"),
                    ("dp_mean(x, 0, 100, v)", "dp_mean"),
                    ("dp_sum(x, 0, 100, v, 'laplace')", "dp_sum"),
                    ("dp_counts(v, 'laplace', x > 1, x < 9)", "dp_counts"),
                    ("dp_sums(ARRAY[x], 0, 100, v, 'laplace(d=1)')", "dp_sums"),
                ] {
                    let sql = format!("SELECT {call} FROM ({source}) s{filter}");
                    let refusal = refused(&mut client, &sql);
                    assert_eq!(refusal.code, "22023", "{refusal:?}: {sql}");
                    assert_eq!(
                        refusal.message,
                        format!("{name}: argument \"eps\" {ROWS}"),
                        "{sql}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_group_key_is_no_argument() {
    let (_database, mut client) = tables();
    for (setting, plan) in [("on", "HashAggregate"), ("off", "GroupAggregate")] {
        run(
            &mut client,
            &format!("SET enable_hashagg = {setting}; SET enable_sort = on"),
        );
        for key in ["a", "a + 1", "abs(a)"] {
            for (call, name) in [
                (format!("dp_count({key})"), "dp_count"),
                (format!("dp_mean(x, 0, 100, {key})"), "dp_mean"),
                (format!("dp_mean(x, 0, 100, {key}, 'laplace')"), "dp_mean"),
                (format!("dp_counts({key}, 'laplace', x > 30)"), "dp_counts"),
                (
                    format!("dp_means(xs, 0, 9, {key}, 'correlated(delta=1e-6, d=2)')"),
                    "dp_means",
                ),
            ] {
                let sql = format!("SELECT {key}, {call} FROM full_table GROUP BY {key}");
                assert!(explain(&mut client, &sql).contains(plan));
                let refusal = refused(&mut client, &sql);
                assert_eq!(
                    refusal.message,
                    format!("{name}: argument \"eps\" {ROWS}"),
                    "{sql}"
                );
            }
        }
    }
}

#[test]
fn arguments_that_depend_on_rows_are_refused_in_parallel_plans() {
    let (_database, mut client) = tables();
    run(&mut client, PARALLEL);
    run(
        &mut client,
        "CREATE TABLE big AS SELECT 1.0::float8 AS a, k, x FROM full_table, generate_series(1, 20);
         ANALYZE big; SET plan_cache_mode = force_generic_plan; SET enable_sort = off;
         PREPARE grouped(float8) AS SELECT dp_mean(x, 0, 100, a), $1 FROM big GROUP BY $1;
         PREPARE filtered(float8) AS
             SELECT dp_mean(x, 0, 100, a) FILTER (WHERE x > 1e9), $1 FROM big GROUP BY $1;
         PREPARE counted(float8) AS
             SELECT $1, dp_count(50), dp_count(a) FILTER (WHERE x > 1e9) FROM big GROUP BY $1;
         PREPARE sorted(float8, int) AS
             SELECT dp_mean(x, 0, 100, k), $1, $2 FROM big WHERE k >= 0 GROUP BY $1, $2;",
    );
    for sql in [
        "SELECT dp_mean(x, 0, 100, a) FROM big",
        "SELECT dp_mean(x, 0, 100, a) FROM big WHERE x + k > 1e9",
        "SELECT dp_mean(x, 0, 100, a) FILTER (WHERE x > 1e9) FROM big",
        "SELECT k, dp_mean(x, 0, 100, a) FROM big GROUP BY k",
        "SELECT k, dp_mean(x, 0, 100, a) FILTER (WHERE x > 1e9) FROM big GROUP BY k",
        "SELECT k, dp_mean(x, 0, 100, k) FILTER (WHERE x > 1e9) FROM big GROUP BY k",
        "SELECT dp_counts(a, 'laplace', x > 30) FROM big",
        "SELECT k, dp_counts(a, 'laplace', x > 30) FILTER (WHERE x > 1e9) FROM big GROUP BY k",
        "SELECT dp_sums(ARRAY[x], 0, 100, a, 'laplace(d=1)') FROM big WHERE x + k > 1e9",
        "EXECUTE grouped(1)",
        "EXECUTE filtered(1)",
        "EXECUTE sorted(1, 1)",
        "EXECUTE counted(1)",
    ] {
        let plan = explain(&mut client, sql);
        assert!(plan.contains("Partial"), "{plan}");
        let refusal = refused(&mut client, sql);
        assert_eq!(refusal.code, "22023", "{refusal:?}: {sql}");
        let name = match sql {
            _ if sql.contains("counted") => "dp_count",
            _ if sql.contains("dp_counts") => "dp_counts",
            _ if sql.contains("dp_sums") => "dp_sums",
            _ => "dp_mean",
        };
        assert_eq!(
            refusal.message,
            format!("{name}: argument \"eps\" {ROWS}"),
            "{sql}"
        );
    }
}

#[test]
fn a_function_that_calls_itself_stable_and_is_not_is_found_out() {
    let (_database, mut client) = tables();
    // An odd number of rows: what the final function gets differs from what the first row got.
    let mechanism = "(CASE liar()::int % 2 WHEN 0 THEN 'hourglass' ELSE 'independent' END)::text";
    let length = "CASE liar()::int % 2 WHEN 0 THEN 'laplace(d=1)' ELSE 'laplace(d=2)' END";
    for (call, name, argument) in [
        ("dp_mean(x, liar(), 10000, 1)".to_owned(), "dp_mean", "lo"),
        (
            "dp_mean(x, -1, 10000 + liar(), 1)".to_owned(),
            "dp_mean",
            "hi",
        ),
        (
            "dp_sum(x, -liar(), 10000, 1, 'laplace')".to_owned(),
            "dp_sum",
            "lo",
        ),
        (
            "dp_sum(x, -1, 10000 + liar(), 1, 'laplace')".to_owned(),
            "dp_sum",
            "hi",
        ),
        (
            "dp_clamped(x, 0, 10000 + liar(), 1)".to_owned(),
            "dp_clamped",
            "hi",
        ),
        (
            "dp_mean_and_count(x, liar(), 10000, 1)".to_owned(),
            "dp_mean",
            "lo",
        ),
        (
            format!("dp_mean(x, 1, 10000, 1, {mechanism})"),
            "dp_mean",
            "mech",
        ),
        (
            "dp_sums(xs, -liar(), 10000, 1, 'laplace(d=2)')".to_owned(),
            "dp_sums",
            "lo",
        ),
        (
            "dp_means(xs, -1, 10000 + liar(), 1, 'correlated(delta=1e-6, d=2)')".to_owned(),
            "dp_means",
            "hi",
        ),
        (
            format!("dp_sums(xs, 0, 10000, 1, ({length})::text)"),
            "dp_sums",
            "mech",
        ),
        (
            format!("dp_counts(1, ({length})::text, VARIADIC bs)"),
            "dp_counts",
            "mech",
        ),
    ] {
        for place in [
            "SELECT {} FROM full_table",
            "SELECT k, {} FROM full_table WHERE x > 2 GROUP BY k",
            "SELECT {} FROM (SELECT x, xs, bs FROM full_table ORDER BY x LIMIT 1) s",
        ] {
            run(&mut client, "SELECT setval('counter', 1)");
            let sql = place.replace("{}", &call);
            if sql.contains("GROUP BY") && argument == "mech" {
                continue; // the parity of the rows is not that of a group
            }
            let refusal = refused(&mut client, &sql);
            assert_eq!(refusal.code, "22023", "{refusal:?}: {sql}");
            assert_eq!(
                refusal.message,
                format!("{name}: argument \"{argument}\" {ROWS}"),
                "{sql}"
            );
        }
    }
}

/// That a query over `{}`, a table's name, gives one number near the true mean of `full_table`,
/// and one inside the bounds over the others.
fn answers(client: &mut Client, query: &str) {
    for table in ["full_table", "none", "nulls"] {
        let sql = query.replace("{}", table);
        check_answer(table, value(client, &sql), &sql);
    }
}

fn check_answer(table: &str, answer: f64, sql: &str) {
    let truth = (1..1000).map(|i| f64::from(i % 61)).sum::<f64>() / 999.0;
    if table == "full_table" {
        // At eps 50 the default mechanism adds next to nothing; the others stay below 1.
        let named = [
            "'laplace'",
            "'staircase'",
            "'shifted'",
            "'independent'",
            "gamma",
        ];
        let error = if named.iter().any(|name| sql.contains(name)) {
            1.0
        } else {
            1e-3
        };
        assert!((answer - truth).abs() < error, "{answer}, {truth}: {sql}");
    } else {
        assert!((0.0..=100.0).contains(&answer), "{answer}: {sql}");
    }
}

#[test]
fn constants_stable_functions_and_sub_selects_are_allowed() {
    let (_database, mut client) = tables();
    run(
        &mut client,
        "SET dp.eps = '50'; CREATE TABLE settings AS SELECT 50.0 AS eps, 'hourglass' AS mech",
    );
    for arguments in [
        "0, 100, 50",
        "0::int, 100::bigint, 50::numeric",
        "0::real, 100::smallint, 50::float8",
        "'0', '100', '50'",
        "0, 2 * 50, greatest(49, 50)",
        "0, 100, 50, 'hourglass'",
        "0, 100, 50, 'hourglass'::text",
        "0, 100, 50, 'hourglass'::varchar",
        "0, 100, 50, 'hour' || 'glass'",
        "0, 100, 50, ' hourglass ( gamma = 0.5 ) '",
        "0, 100, 50, 'laplace'",
        "0, 100, 50, 'staircase'",
        "0, 100, 50, 'shifted'",
        "0, 100, 50, 'independent'",
        "0, 100, current_setting('dp.eps')::float8",
        "0, 100, 50 + 0 * extract(epoch FROM now() - now())",
        "0, 100, (SELECT 50)",
        "(SELECT 0), (SELECT 100), (SELECT eps FROM settings), (SELECT mech FROM settings)",
        "0, (SELECT max(x) FROM full_table), 50",
        "0, 100, (SELECT eps FROM settings WHERE eps > 1), (SELECT mech FROM settings)::text",
        "0, 100, 10 * (SELECT 4) + 10",
    ] {
        answers(
            &mut client,
            &format!("SELECT dp_mean(x, {arguments}) FROM {{}}"),
        );
    }
    // A column of a sub-query that is a constant or a parameter, and stands still.
    answers(
        &mut client,
        "SELECT dp_mean(x, 0, 100, e) FROM (SELECT x, 50.0 AS e FROM {}) s",
    );
    answers(
        &mut client,
        "WITH e AS (SELECT 50 AS v) SELECT dp_mean(x, 0, 100, (SELECT v FROM e)) FROM {}",
    );
}

#[test]
fn columns_of_other_types_are_cast() {
    let (_database, mut client) = tables();
    for (kind, column) in [
        ("smallint", "x::smallint"),
        ("integer", "x::integer"),
        ("bigint", "x::bigint"),
        ("real", "x::real"),
        ("numeric", "x::numeric"),
        ("numeric(10, 2)", "x::numeric(10, 2)"),
        ("double precision", "x"),
    ] {
        let sql = "DROP VIEW IF EXISTS typed; CREATE VIEW typed AS SELECT";
        run(&mut client, &format!("{sql} {column} AS x FROM full_table"));
        let sql = "SELECT dp_mean(x, 0, 100, 50) FROM typed";
        check_answer("full_table", value(&mut client, sql), kind);
        let sum: f64 = value(
            &mut client,
            "SELECT dp_sum(x, 0, 100, 50, 'laplace') - sum(x)::float8 FROM typed",
        );
        assert!(sum.abs() < 100.0, "{kind}: {sum}");
    }
    for column in [
        "k",
        "'*'",
        "x",
        "m",
        "d",
        "NULLIF(m, m)",
        "point(1, 2)",
        "'{}'::json",
        "ARRAY[k]",
        "t",
    ] {
        let sql = format!("SELECT dp_count({column}, 50) - count({column}) FROM full_table t");
        assert_eq!(value::<i64>(&mut client, &sql), 0, "{column}");
    }
}

/// A text, sent as whatever type the server inferred for the parameter.
#[derive(Debug)]
struct Untyped(&'static str);

impl ToSql for Untyped {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    postgres::types::to_sql_checked!();
}

/// The same in the type's binary form.
#[derive(Debug)]
struct Binary(&'static str);

impl ToSql for Binary {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "dp_mechanism"
    }

    postgres::types::to_sql_checked!();
}

#[test]
fn bind_parameters_of_every_kind_work() {
    let (_database, mut client) = tables();
    for mode in ["auto", "force_generic_plan", "force_custom_plan"] {
        run(&mut client, &format!("SET plan_cache_mode = {mode}"));
        for table in ["full_table", "none", "nulls"] {
            let sql = format!("SELECT dp_mean(x, $1, $2, $3, $4) FROM {table}");
            let numbers: [&(dyn ToSql + Sync); 3] = [&0.0, &100.0, &50.0];
            let [lo, hi, eps] = numbers;
            let float = Type::FLOAT8;
            for (kind, mechanism) in [
                (Type::TEXT, &"hourglass" as &(dyn ToSql + Sync)),
                (Type::VARCHAR, &"hourglass"),
                (Type::UNKNOWN, &Untyped("hourglass")),
            ] {
                let types = [float.clone(), float.clone(), float.clone(), kind];
                let statement = client.prepare_typed(&sql, &types).expect(&sql);
                let row = client
                    .query_one(&statement, &[lo, hi, eps, mechanism])
                    .expect(&sql);
                check_answer(table, row.get(0), &sql);
            }
            let inferred = client.prepare(&sql).expect(&sql);
            let names: Vec<&str> = inferred.params().iter().map(Type::name).collect();
            assert_eq!(names, ["float8", "float8", "float8", "dp_mechanism"]);
            let row = client
                .query_one(&inferred, &[lo, hi, eps, &Binary("hourglass")])
                .expect(&sql);
            check_answer(table, row.get(0), &sql);
            let four = format!("SELECT dp_mean(x, $1, $2, $3) FROM {table}");
            let row = client.query_one(&four, &[lo, hi, eps]).expect(&four);
            check_answer(table, row.get(0), &four);
            for count in [
                "dp_count($1)",
                "dp_count('*', $1)",
                "dp_count(1, $1, 'geometric')",
            ] {
                let sql = format!("SELECT {count} - count(*) FROM {table}");
                assert_eq!(
                    client.query_one(&sql, &[eps]).expect(&sql).get::<_, i64>(0),
                    0
                );
            }
            // The same errors as those of literals.
            for (values, message) in [
                (
                    [lo, lo, eps],
                    "dp_mean: argument \"hi\" must be greater than argument \"lo\"",
                ),
                (
                    [lo, hi, &f64::NAN],
                    "dp_mean: argument \"eps\" must be a finite number",
                ),
                (
                    [&None::<f64>, hi, eps],
                    "dp_mean: argument \"lo\" must not be NULL",
                ),
            ] {
                let error = client.query(&four, &values).expect_err(&four);
                let error = error.as_db_error().expect("of the server");
                assert_eq!((error.code().code(), error.message()), ("22023", message));
            }
            let error = client
                .query(&inferred, &[lo, hi, eps, &Binary("sesame")])
                .expect_err(&sql);
            let error = error.as_db_error().expect("of the server");
            assert_eq!(
                error.message(),
                "dp_mechanism: the text is not the name of a mechanism"
            );
        }
    }
}

#[test]
fn generic_plans_work() {
    let (_database, mut client) = tables();
    run(&mut client, "SET plan_cache_mode = force_generic_plan");
    for table in ["full_table", "none", "nulls"] {
        run(
            &mut client,
            &format!(
                "PREPARE q_{table}(float8, float8, float8, dp_mechanism) AS
                     SELECT dp_mean(x, $1, $2, $3, $4) FROM {table};
                 PREPARE t_{table}(text, text) AS
                     SELECT dp_mean(x, 0, 100, $1::float8, $2) FROM {table}"
            ),
        );
        let sql = format!("EXECUTE q_{table}(0, 100, 50, 'hourglass')");
        assert!(explain(&mut client, &sql).contains("$3"), "a generic plan");
        check_answer(table, value(&mut client, &sql), &sql);
        let sql = format!("EXECUTE t_{table}('50', 'laplace')");
        check_answer(table, value(&mut client, &sql), &sql);
        let refusal = refused(
            &mut client,
            &format!("EXECUTE q_{table}(0, 100, 0, 'hourglass')"),
        );
        assert_eq!(
            refusal.message,
            format!("dp_mean: argument \"eps\" {EPSILON}")
        );
        let refusal = refused(
            &mut client,
            &format!("EXECUTE q_{table}(0, 100, 1, 'geometric')"),
        );
        assert_eq!(
            refusal.message,
            "dp_mean: argument \"mech\" is not a mechanism of dp_mean"
        );
    }
}

#[test]
fn a_parameter_may_be_group_key_and_argument() {
    let (_database, mut client) = tables();
    run(
        &mut client,
        "CREATE TABLE big AS SELECT full_table.* FROM full_table, generate_series(1, 20); ANALYZE;
         SET plan_cache_mode = force_generic_plan",
    );
    let serial = "SET max_parallel_workers_per_gather = 0";
    for (hash, sort, parallel) in [
        ("on", "off", serial),
        ("off", "on", serial),
        ("on", "off", PARALLEL),
        ("off", "on", PARALLEL),
    ] {
        run(
            &mut client,
            &format!(
                "{parallel}; SET enable_hashagg = {hash}; SET enable_sort = {sort}; DEALLOCATE ALL;
                 PREPARE g(float8) AS SELECT $1, dp_mean(x, 0, 100, $1), dp_count($1) FROM big GROUP BY $1;
                 PREPARE b(float8) AS SELECT $1, dp_mean(x, 0, $1, 50), dp_count(50) FROM big GROUP BY $1;
                 PREPARE two(float8, int) AS SELECT $1, dp_mean(x, 0, 100, $1), dp_count($1), k + $2
                     FROM big GROUP BY $1, $2, k"
            ),
        );
        for (sql, groups) in [
            ("EXECUTE g(50)", 1),
            ("EXECUTE b(100)", 1),
            ("EXECUTE two(50, 1)", 3),
        ] {
            let plan = explain(&mut client, sql);
            assert_eq!(plan.contains("Partial"), parallel == PARALLEL, "{plan}");
            let answers = rows(&mut client, sql);
            assert_eq!(answers.len(), groups);
            let count: i64 = answers.iter().map(|row| row.get::<_, i64>(2)).sum();
            assert_eq!(count, 19_980, "{sql}");
            let mean: f64 =
                answers.iter().map(|row| row.get::<_, f64>(1)).sum::<f64>() / groups as f64;
            check_answer("full_table", mean, sql);
        }
        let refusal = refused(&mut client, "EXECUTE g(-1)");
        assert_eq!(
            refusal.message,
            format!("dp_mean: argument \"eps\" {EPSILON}")
        );
        let refusal = refused(&mut client, "EXECUTE b(-1)");
        assert_eq!(
            refusal.message,
            "dp_mean: argument \"hi\" must be greater than argument \"lo\""
        );
    }
}

/// Bounds that an outer query gives again for each run of the inner one.
const OUTER: &str = "(VALUES (0.0::float8, 1.0::float8), (10, 11), (-5, -4), (200, 300)) b(lo, hi)";

#[test]
fn arguments_that_change_between_runs_are_followed() {
    let (_database, mut client) = tables();
    for table in ["full_table", "none", "nulls"] {
        for query in [
            format!("SELECT b.lo, b.hi, m.a FROM {OUTER}, LATERAL (SELECT dp_mean(x, b.lo, b.hi, 1) AS a FROM {table}) m"),
            format!("SELECT b.lo, b.hi, m.a FROM {OUTER}, LATERAL (SELECT dp_mean(x, b.lo, b.hi, 1, 'laplace') AS a FROM {table}) m"),
            format!("SELECT b.lo, b.hi, (SELECT dp_mean(x, b.lo, b.hi, 1) FROM {table}) FROM {OUTER}"),
            format!("SELECT b.lo, b.hi, (SELECT dp_mean(x, b.lo, b.hi, 1) FROM {table} WHERE x > b.hi) FROM {OUTER}"),
            format!("SELECT b.lo, b.hi, m.a FROM {OUTER}, LATERAL (SELECT k, dp_mean(x, b.lo, b.hi, 1) AS a
                     FROM {table} GROUP BY GROUPING SETS ((k), ())) m"),
        ] {
            for setting in ["on", "off"] {
                run(&mut client, &format!("SET enable_hashagg = {setting}"));
                let answers = rows(&mut client, &query);
                assert!(answers.len() >= 4, "{query}");
                for row in answers {
                    let [lo, hi, answer] = [0, 1, 2].map(|i| row.get::<_, f64>(i));
                    assert!((lo..=hi).contains(&answer), "{answer} for {lo}, {hi}: {query}");
                }
            }
        }
        // Not only inside the new bounds, but right: the sum of the clamped values.
        let sql = format!(
            "SELECT abs(m.a - m.truth) FROM {OUTER}, LATERAL (SELECT dp_sum(x, b.lo, b.hi, 50) AS a,
                coalesce(sum(least(greatest(x, b.lo), b.hi)) FILTER (WHERE x = x), 0) AS truth
                FROM {table}) m"
        );
        for row in rows(&mut client, &sql) {
            assert!(row.get::<_, f64>(0) < 1e-3, "{sql}");
        }
        // An eps that changes is checked again, with and without rows.
        let sql = format!(
            "SELECT m.a FROM (VALUES (1.0), (-1.0)) e(eps),
             LATERAL (SELECT dp_count(x, e.eps) AS a FROM {table}) m"
        );
        let refusal = refused(&mut client, &sql);
        assert_eq!(
            refusal.message,
            format!("dp_count: argument \"eps\" {EPSILON}")
        );
    }
}

#[test]
fn a_mechanism_that_changes_between_runs_is_followed() {
    let (_database, mut client) = tables();
    for table in ["full_table", "none"] {
        let sql = format!(
            "SELECT e.mech, m.a, m.b FROM (VALUES ('hourglass'), ('independent'), ('shifted'), ('laplace')) e(mech),
             LATERAL (SELECT dp_mean(x, 1, 100, 50, e.mech) AS a, avg(greatest(x, 1)) AS b FROM {table}) m"
        );
        let answers = rows(&mut client, &sql);
        assert_eq!(answers.len(), 4);
        for row in answers {
            let (answer, truth): (f64, Option<f64>) = (row.get(1), row.get(2));
            assert!((1.0..=100.0).contains(&answer));
            assert!(
                truth.is_none_or(|truth| (answer - truth).abs() < 1.0),
                "{answer}"
            );
        }
    }
}

#[test]
fn variables_of_procedural_code_work() {
    let (_database, mut client) = tables();
    for table in ["full_table", "none", "nulls"] {
        run(
            &mut client,
            &format!(
                "CREATE FUNCTION by_{table}(e float8, mech text) RETURNS SETOF float8 LANGUAGE plpgsql AS $$
                 DECLARE hi float8 := 100; i int;
                 BEGIN
                     FOR i IN 1..12 LOOP
                         hi := 100 + 0 * i;
                         RETURN QUERY SELECT dp_mean(x, 0, hi, e, mech) FROM {table};
                     END LOOP;
                 END $$;
                 CREATE FUNCTION sql_{table}(e float8, mech dp_mechanism) RETURNS float8 LANGUAGE sql AS
                     'SELECT dp_mean(x, 0, 100, e, mech) FROM {table}'"
            ),
        );
        let sql = format!("SELECT by_{table}(50, 'hourglass')");
        let answers = rows(&mut client, &sql);
        assert_eq!(answers.len(), 12);
        for row in answers {
            check_answer(table, row.get(0), &sql);
        }
        let sql = format!("SELECT sql_{table}(50, 'laplace')");
        check_answer(table, value(&mut client, &sql), &sql);
        for function in ["by", "sql"] {
            let refusal = refused(
                &mut client,
                &format!("SELECT {function}_{table}(51, 'hourglass')"),
            );
            assert_eq!(
                refusal.message,
                format!("dp_mean: argument \"eps\" {EPSILON}")
            );
        }
    }
}

/// A function of somebody's own, with an SQLSTATE of its own, below another: the error is theirs, whole.
#[test]
fn the_error_of_a_function_in_an_argument_is_passed_on_as_it_is() {
    let (_database, mut client) = tables();
    run(
        &mut client,
        "CREATE FUNCTION fails() RETURNS float8 STABLE LANGUAGE plpgsql AS $$
         BEGIN
             RAISE EXCEPTION 'no budget' USING ERRCODE = 'P0007', DETAIL = 'a detail', HINT = 'a hint';
         END $$;
         CREATE FUNCTION budget() RETURNS float8 STABLE LANGUAGE plpgsql AS $$
         BEGIN
             RETURN fails();
         END $$",
    );
    for form in &FORMS {
        for place in PLACES {
            let sql = place.replace("{}", &form.call(&[("eps", "budget()")]));
            let refusal = refused(&mut client, &sql);
            let expected = Refusal {
                code: "P0007".into(),
                message: "no budget".into(),
                hint: "a hint".into(),
                detail: "a detail".into(),
                context: "PL/pgSQL function fails() line 3 at RAISE\n\
                          PL/pgSQL function budget() line 3 at RETURN"
                    .into(),
                position: None,
            };
            assert_eq!(refusal, expected, "{sql}");
        }
    }
}

/// Where the server's environment asks for backtraces, none is in an ERROR: it would tell which of our
/// functions was running, and so whether there was a row.
#[test]
fn no_backtrace_is_shown() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    run(&mut client, "SELECT dp_test_backtraces()");
    let failing = "1 / (SELECT 0.0::float8)";
    for form in &FORMS {
        for eps in ["99", failing] {
            let call = form.call(&[("eps", eps)]);
            for place in PLACES {
                let refusal = refused(&mut client, &place.replace("{}", &call));
                assert_eq!(refusal.detail, "", "{refusal:?}");
            }
        }
    }
    let refusal = refused(&mut client, "SELECT dp_test_panic()");
    assert_eq!(refusal.detail, "", "{refusal:?}");
}

/// As above, for all functions, each with arguments of many kinds.
#[test]
fn no_function_shows_a_backtrace() {
    const FUNCTIONS: &str = "
        SELECT p.oid::regproc::text, p.prokind::text, array(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)
        FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
        JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'dp_mean'
        WHERE NOT 'internal' = ANY (array(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t))
            AND p.prorettype <> 'trigger'::regtype
        ORDER BY p.oid";
    const VALUES: [&str; 6] = [
        "NULL",
        "'-1'",
        "'no such (thing'",
        "'{NULL,NaN}'",
        "'1e999'",
        "''",
    ];
    for build in [Build::Testing, Build::Release] {
        let (_database, mut client) = session(build);
        if let Build::Testing = build {
            run(&mut client, "SELECT dp_test_backtraces()");
        }
        let (mut functions, mut refusals) = (0, 0);
        for row in client.query(FUNCTIONS, &[]).expect("the functions") {
            let (name, kind, types): (String, String, Vec<String>) =
                (row.get(0), row.get(1), row.get(2));
            functions += 1;
            for value in VALUES {
                let any = |kind: &String| kind == "\"any\"" || kind.starts_with("any");
                let arguments = types.iter().map(|kind| match any(kind) {
                    true => format!("{value}::text"),
                    false => format!("{value}::{kind}"),
                });
                let call = format!("{name}({})", Vec::from_iter(arguments).join(", "));
                let sql = match kind.as_str() {
                    "a" => format!("SELECT {call} FROM generate_series(1, 2)"),
                    _ => format!("SELECT * FROM {call} AS f"),
                };
                let Err(error) = client.simple_query(&sql) else {
                    continue;
                };
                refusals += 1;
                let shown = format!("{:?}", refusal(&error, &sql)).to_lowercase();
                assert!(!shown.contains("backtrace"), "{shown}: {sql}");
                assert!(!shown.contains(".rs:"), "{shown}: {sql}");
            }
        }
        assert!(functions > 100 && refusals > 400, "{functions}, {refusals}");
        for sql in [
            "SELECT * FROM dp_cost('SELECT (')",
            "SELECT dp_cost('SELECT 1 FROM nothing')",
        ] {
            let refusal = refused(&mut client, sql);
            assert!(
                ["42601", "42P01"].contains(&refusal.code.as_str()),
                "{refusal:?}"
            );
            assert_eq!(refusal.detail, "", "{refusal:?}");
        }
    }
}

/// With rows PostgreSQL computes all arguments before it calls us; so without rows what fails there comes first.
#[test]
fn an_argument_that_fails_comes_before_one_that_breaks_a_rule() {
    let (_database, mut client) = tables();
    for form in &FORMS {
        for bad in ["a", "NULL", "-1"] {
            let (failing, bad) = (("eps", "1 / (SELECT 0.0::float8)"), ("hi", bad));
            let call = form.call(&[failing, bad]);
            assert_eq!(
                refused_everywhere_but_hint(&mut client, &call),
                "22012",
                "{call}"
            );
        }
    }
    let questions = "dp_counts(1 / (SELECT 0.0::float8), 'laplace', k)";
    assert_eq!(refused_everywhere_but_hint(&mut client, questions), "22012");
}

fn refused_everywhere_but_hint(client: &mut Client, call: &str) -> String {
    let codes = PLACES.map(|place| refused(client, &place.replace("{}", call)).code);
    assert!(
        codes.iter().all(|code| *code == codes[0]),
        "{call}: {codes:?}"
    );
    codes[0].clone()
}

#[test]
fn an_argument_that_fails_fails_with_and_without_rows() {
    let (_database, mut client) = tables();
    for form in &FORMS {
        let refusal = refused(
            &mut client,
            &PLACES[0].replace("{}", &form.call(&[("eps", "1 / (SELECT 0.0::float8)")])),
        );
        assert_eq!(refusal.code, "22012");
        for place in PLACES {
            let sql = place.replace("{}", &form.call(&[("eps", "1 / (SELECT 0.0::float8)")]));
            assert_eq!(refused(&mut client, &sql), refusal, "{sql}");
        }
    }
}
