//! What every aggregate and every mechanism must pass, once, over the table of calls: the same integers in every plan
//! and order; which values are rows; arguments from anywhere but the rows, and errors that are alike with rows and
//! without; one call, one release. A new line of the table is held to all of it.

use std::collections::BTreeSet;

use dp_mean_tests::calls::{Call, Empty, State, calls};
use dp_mean_tests::{Build, Database, PARALLEL, assert_plan, explain, rows, run, session, value};
use postgres::Client;

use crate::arguments::{PLACES, refused_alike, tables};

/// Values of every kind in five groups. `parts` has the same rows in partitions: a large one, those of one row, of a row
/// that does not count, and of none.
const TABLES: &str = "
    CREATE TABLE items AS
        SELECT i AS id, i % 5 AS k, i % 3 AS g,
               (CASE i % 31 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity'
                    WHEN 4 THEN '-0' WHEN 5 THEN '1e-300' WHEN 6 THEN '1e300' WHEN 7 THEN '100'
                    ELSE ((i * 7919 % 7400) / 64.0 - 7)::text END)::float8 AS x
        FROM generate_series(1, 6000) i;
    CREATE TABLE parts (LIKE items) PARTITION BY LIST (id);
    CREATE TABLE parts_one PARTITION OF parts FOR VALUES IN (100);
    CREATE TABLE parts_null PARTITION OF parts FOR VALUES IN (31);
    CREATE TABLE parts_nan PARTITION OF parts FOR VALUES IN (32);
    CREATE TABLE parts_none PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE parts_most PARTITION OF parts DEFAULT;
    INSERT INTO parts SELECT * FROM items;
    CREATE TABLE none (LIKE items);
    ANALYZE items; ANALYZE parts;
    SET dp_mean.allow_pathological = on; SET jit = off; SET max_parallel_workers_per_gather = 0";

fn database() -> (Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    (database, client)
}

/// What a query answers, row by row, and what was recorded of its releases, in any order: each has the same noise.
#[derive(Debug, PartialEq, Eq)]
struct Recorded {
    answers: BTreeSet<Vec<Option<String>>>,
    releases: Vec<String>,
}

fn recorded(client: &mut Client, sql: &str) -> Recorded {
    run(client, "SELECT dp_test_record(3)");
    let texts = |row: &postgres::Row| (0..row.len()).map(|i| row.get(i)).collect();
    let answers = rows(client, sql).iter().map(texts).collect();
    let releases: String = value(client, "SELECT dp_test_recorded()");
    let mut releases: Vec<_> = releases.lines().map(str::to_owned).collect();
    releases.sort();
    Recorded { answers, releases }
}

/// That two queries answer alike from the same integers. It shows what differs, as there may be thousands of them.
fn assert_alike(seen: &Recorded, expected: &Recorded, what: &str) {
    let only = |these: &Recorded, others: &Recorded| {
        let lines = these
            .releases
            .iter()
            .filter(|line| !others.releases.contains(line));
        let lines = lines.map(|line| line.chars().take(300).collect::<String>());
        Vec::from_iter(lines.take(5)).join("\n")
    };
    let (more, less) = (only(seen, expected), only(expected, seen));
    assert!(
        seen.releases == expected.releases,
        "releases of\n{more}\ninstead of\n{less}\n{what}"
    );
    let differing = seen.answers.iter().zip(&expected.answers);
    let differing = differing.flat_map(|(one, other)| one.iter().zip(other).enumerate());
    let differing = differing.filter(|(_, (one, other))| one != other).take(5);
    let differing = Vec::from_iter(differing);
    assert!(seen.answers == expected.answers, "{differing:?}: {what}");
}

/// All calls whose state is the same for the same rows, as columns of text. What cells rows are in depends on an offset
/// that a plan may draw once or more often: `unbiased` has the tests of those.
fn columns(after: &str) -> String {
    let calls = calls().filter(|call| call.state != State::Cells);
    let columns = calls.map(|call| format!("({}{after})::text", call.sql()));
    Vec::from_iter(columns).join(", ")
}

const SERIAL: &str = "SET max_parallel_workers_per_gather = 0";
/// What makes each partition aggregate by itself although it is small.
const PARTITIONWISE: &str = "SET enable_partitionwise_aggregate = on; SET cpu_tuple_cost = 1";
const SPILLING: &str = "SET enable_hashagg = on; SET enable_sort = off; \
                        SET work_mem = '64kB'; SET hash_mem_multiplier = 1";

#[test]
fn every_plan_and_every_order_give_the_same_integers() {
    let (_database, mut client) = database();
    let calls = columns("");
    let groupings = [
        format!("SELECT {calls} FROM {{}}"),
        format!("SELECT k::text, {calls} FROM {{}} GROUP BY k"),
        format!("SELECT k::text, g::text, {calls} FROM {{}} GROUP BY GROUPING SETS ((k), (g), ())"),
    ];
    run(&mut client, "SET enable_hashagg = off");
    let expected = groupings
        .each_ref()
        .map(|sql| recorded(&mut client, &sql.replace("{}", "items")));
    for (expected, groups) in expected.iter().zip([1, 5, 9]) {
        assert_eq!(expected.answers.len(), groups);
        assert!(expected.releases.len() >= 80 * groups);
    }
    // All states of all groups must fit, or PostgreSQL 18 takes no hash table for grouping sets.
    let hashed = "SET enable_hashagg = on; SET enable_sort = off; SET work_mem = '256MB'";
    let sorted = "SET enable_hashagg = off";
    let all = 0..3;
    let ungrouped = 0..1;
    let split = ["Partial Aggregate", "Finalize Aggregate"];
    for (settings, from, which, words) in [
        (
            SERIAL,
            "(SELECT * FROM items ORDER BY x DESC, id) s",
            all.clone(),
            &["!Partial"][..],
        ),
        (
            SERIAL,
            "(SELECT * FROM items ORDER BY md5(id::text)) s",
            all.clone(),
            &["!Partial"],
        ),
        (hashed, "items", 1..3, &["!Partial", "Hash"]),
        (PARALLEL, "items", ungrouped.clone(), &split),
        (
            &format!("{PARALLEL}; {hashed}"),
            "items",
            1..2,
            &["Partial HashAggregate", "Finalize HashAggregate"],
        ),
        (
            &format!("{PARALLEL}; {sorted}"),
            "items",
            1..2,
            &["Partial GroupAggregate", "Finalize GroupAggregate"],
        ),
        (
            &format!("{PARALLEL}; SET parallel_leader_participation = off"),
            "items",
            ungrouped.clone(),
            &split,
        ),
        (PARTITIONWISE, "parts", 0..2, &["Append", "Partial"]),
        (
            &format!("{PARALLEL}; {PARTITIONWISE}"),
            "parts",
            ungrouped,
            &["Parallel Append", "Partial Aggregate"],
        ),
        (SPILLING, "items", 1..2, &["HashAggregate"]),
        ("SET jit = on; SET jit_above_cost = 0", "items", 0..2, &[]),
    ] {
        run(&mut client, &format!("BEGIN; {settings}"));
        for (sql, expected) in groupings[which.clone()].iter().zip(&expected[which]) {
            let sql = sql.replace("{}", from);
            let what = format!("{settings}: {from}");
            assert_plan(&explain(&mut client, &sql), words, &what);
            let seen = recorded(&mut client, &sql);
            assert_alike(&seen, expected, &what);
            if settings == SPILLING {
                let plan = rows(&mut client, &format!("EXPLAIN (ANALYZE, COSTS OFF) {sql}"));
                let spilled = |line: &postgres::Row| line.get::<_, &str>(0).contains("Disk Usage");
                assert!(plan.iter().any(spilled), "{plan:?}");
            }
        }
        run(&mut client, "ROLLBACK");
    }
}

/// NULL and NaN are as if they were not there, first and last and alone, but for the calls that count them; infinities
/// and what else is beyond the bounds are alike.
#[test]
fn null_and_nan_are_no_rows_and_values_beyond_the_bounds_are_alike() {
    let (_database, mut client) = database();
    let mut of = |call: &Call, values: &str| {
        let from = format!("unnest('{{{values}}}'::float8[]) x");
        recorded(
            &mut client,
            &format!("SELECT ({})::text FROM {from}", call.sql()),
        )
    };
    let some = "1,70,-3,99.5";
    for call in calls() {
        let expected = [some, ""].map(|values| of(&call, values));
        // A vector without values is a row of some mechanisms: see their own tests.
        for value in ["NULL", "NaN"]
            .iter()
            .filter(|_| call.state != State::Vector)
        {
            let with = [
                format!("{value},{some},{value}"),
                format!("{value},{value}"),
            ];
            let with = with.map(|values| of(&call, &values));
            let counts = [0, 1].map(|i| with[i] != expected[i]);
            assert_eq!(
                counts,
                [call.counts(value); 2],
                "{call:?}: {value}: {with:?}, {expected:?}"
            );
        }
        // An id is no number, and what the call computes of its column may be none any more.
        if call.state == State::Ids || call.state == State::Bins && call.counts("NULL") {
            continue;
        }
        for [one, other] in [["1e300", "Infinity"], ["-1e300", "-Infinity"], ["-0", "0"]] {
            let [one, other] = [one, other].map(|value| of(&call, &format!("{some},{value}")));
            assert_eq!(one, other, "{call:?}");
        }
    }
}

/// A declared argument that is public: its name, its type, and the text that the call has.
struct Public {
    name: String,
    kind: String,
    text: String,
}

/// The public arguments of a call, and the call with others in their places.
fn public(client: &mut Client, call: &Call) -> Vec<(usize, Public)> {
    let asked = format!(
        "DROP VIEW IF EXISTS asked; CREATE VIEW asked AS SELECT {} FROM (SELECT 1::float8 AS x) t",
        call.sql()
    );
    run(client, &asked);
    let sql = "SELECT proargnames, array(SELECT format_type(t, NULL) FROM unnest(proargtypes) t) FROM pg_proc p \
               JOIN pg_depend d ON d.refobjid = p.oid AND d.refclassid = 'pg_proc'::regclass \
               JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid \
               WHERE ev_class = 'asked'::regclass AND prokind = 'a'";
    let row = client.query_one(sql, &[]).expect("a declaration");
    let (names, kinds): (Vec<String>, Vec<String>) = (row.get(0), row.get(1));
    let texts = call.texts().into_iter().enumerate();
    let public = texts.filter(|(_, (_, is_public))| *is_public);
    let public = public.map(|(at, (text, _))| {
        let (name, kind) = (names[at].clone(), kinds[at].clone());
        (at, Public { name, kind, text })
    });
    public.collect()
}

/// The call with `other(argument)` for each of its public arguments.
fn with(
    call: &Call,
    public: &[(usize, Public)],
    other: impl Fn(usize, &Public) -> String,
) -> String {
    let mut texts: Vec<_> = call.texts().into_iter().map(|(text, _)| text).collect();
    for (at, argument) in public {
        texts[*at] = other(*at, argument);
    }
    format!("{}({})", call.aggregate, texts.join(", "))
}

/// Parameters of prepared statements, sub-selects, columns of an outer row and variables: the answer is that of the constants.
#[test]
fn arguments_come_from_anywhere_but_the_rows() {
    let (_database, mut client) = database();
    run(&mut client, "SET plan_cache_mode = force_generic_plan");
    for call in calls().filter(|call| call.state != State::Cells) {
        let public = public(&mut client, &call);
        let list = |text: &dyn Fn(usize, &Public) -> String| {
            let texts = public.iter().map(|(at, argument)| text(*at, argument));
            Vec::from_iter(texts).join(", ")
        };
        let constant = |argument: &Public| format!("{}::{}", argument.text, argument.kind);
        let in_order = |at: usize| {
            public
                .iter()
                .position(|(place, _)| *place == at)
                .expect("public")
                + 1
        };
        let prepared = format!(
            "DEALLOCATE ALL; PREPARE asked ({}) AS SELECT ({})::text FROM items",
            list(&|_, argument| argument.kind.clone()),
            with(&call, &public, |at, _| format!("${}", in_order(at)))
        );
        let variables = format!(
            "CREATE OR REPLACE FUNCTION asked() RETURNS text LANGUAGE plpgsql AS $$ DECLARE answer text; {} BEGIN \
             SELECT ({})::text INTO answer FROM items; RETURN answer; END $$",
            public
                .iter()
                .map(|(at, a)| format!("a{at} {} := {}; ", a.kind, constant(a)))
                .collect::<String>(),
            with(&call, &public, |at, _| format!("a{at}"))
        );
        run(&mut client, &format!("{prepared}; {variables}"));
        let execute = format!(
            "EXECUTE asked({})",
            list(&|_, argument| argument.text.clone())
        );
        let sub_selects = format!(
            "SELECT ({})::text FROM items",
            with(&call, &public, |_, argument| format!(
                "(SELECT {})",
                constant(argument)
            ))
        );
        let outer = format!(
            "SELECT s.* FROM (SELECT {} OFFSET 0) o, \
             LATERAL (SELECT ({} FILTER (WHERE k < 9))::text FROM items) s",
            list(&|at, argument| format!("{} AS a{at}", constant(argument))),
            with(&call, &public, |at, _| format!("o.a{at}"))
        );
        let plain = format!("SELECT ({})::text FROM items", call.sql());
        let expected = recorded(&mut client, &plain);
        for settings in [SERIAL, PARALLEL] {
            run(&mut client, settings);
            for sql in [&execute, &sub_selects, &outer, &"SELECT asked()".to_owned()] {
                assert_alike(&recorded(&mut client, sql), &expected, sql);
            }
        }
    }
}

const EPSILON: &str = "must be at least 2^-20 (about 0.00000095367) and at most 50";
const FINITE: &str = "must be a finite number";
const ROWS: &str = "must not depend on the rows";

/// Texts that break a rule of an argument, and the rule.
fn bad(call: &Call, argument: &Public) -> Vec<(&'static str, &'static str)> {
    let mut bad = match argument.kind.as_str() {
        "double precision" => vec![("a", ROWS), ("1 + 0 * random()", ROWS)],
        "integer" => vec![
            ("k", ROWS),
            ("(random() * 9)::int", ROWS),
            ("0", ""),
            ("-2147483648", ""),
        ],
        "dp_mechanism" => vec![("m", ROWS), ("(SELECT t.d)", ROWS)],
        _ => vec![
            ("xs", ROWS),
            ("ARRAY[random()]", ROWS),
            ("'{NaN}'", ""),
            ("'{}'", ""),
        ],
    };
    // Where bounds or a budget are NULL these are missed first.
    let is_whole = call.texts().iter().all(|(text, _)| text != "NULL");
    // What is NULL says that the budget, or the bounds, are the mechanism's.
    if argument.text != "NULL" {
        if argument.kind != "dp_mechanism" || is_whole {
            bad.extend([("NULL", ""), ("(SELECT NULL::{kind})", "")]);
        }
        if argument.kind == "double precision" {
            bad.extend([("'NaN'", ""), ("'-Infinity'", "")]);
        }
        match argument.name.as_str() {
            "eps" => bad.extend([
                ("0", EPSILON),
                ("'-0.0'", EPSILON),
                ("-1", EPSILON),
                ("power(2, -21)", EPSILON),
                ("9.5367431640624e-7", EPSILON),
                ("50.00000000000001", EPSILON),
                ("(SELECT -1)", EPSILON),
                ("'Infinity'", FINITE),
                ("'NaN'", FINITE),
            ]),
            "hi" | "xhi" | "yhi" => bad.extend([
                ("0", "must be greater than argument"),
                ("'-0.0'", "must be greater than argument"),
                ("(SELECT -1)", "must be greater than argument"),
                ("'Infinity'", FINITE),
                ("'NaN'", FINITE),
            ]),
            "lo" | "xlo" | "ylo" => bad.extend([("'Infinity'", FINITE), ("'NaN'", FINITE)]),
            "confidence" => bad.extend([("0", ""), ("1", ""), ("95", ""), ("-1", "")]),
            _ => (),
        }
    }
    if argument.kind == "dp_mechanism" && is_whole {
        let stranger = if call.aggregate == "dp_keep" {
            "'laplace'"
        } else {
            "'keep'"
        };
        bad.push((stranger, "is not a mechanism of"));
    }
    bad.retain(|(text, _)| *text != argument.text);
    bad
}

/// What is wrong with an argument is told in the same words whatever the rows are.
#[test]
fn errors_are_alike_with_rows_and_without() {
    let (_database, mut client) = tables();
    run(&mut client, "SET dp_mean.allow_pathological = on");
    let mut told = BTreeSet::new();
    for call in calls() {
        let public = public(&mut client, &call);
        for (place, argument) in &public {
            for (text, rule) in bad(&call, argument) {
                let sql = with(&call, &public, |at, good| match at == *place {
                    true => text.replace("{kind}", &argument.kind),
                    false => good.text.clone(),
                });
                let refusal = refused_alike(&mut client, &sql, &PLACES);
                assert_eq!(refusal.code, "22023", "{refusal:?}: {sql}");
                let named = format!(": argument \"{}\" {rule}", argument.name);
                assert!(refusal.message.contains(&named), "{refusal:?}: {sql}");
                told.insert(refusal.message);
            }
        }
    }
    assert!(told.len() > 150, "{}", told.len());
}

/// What single aggregates and mechanisms ask of their arguments, and how a message goes on that names one.
#[rustfmt::skip]
const RULES: &[(&str, &str, &str)] = &[
    ("dp_var_pop(x, -1e308, 1e308, 1)", "hi", "is too far"),
    ("dp_var_pop(x, 0, 1, 1, 'laplace(d=3)')", "mech", "gives a parameter that laplace does not take"),
    ("dp_var_pop(x, 0, 1, 1, 'gaussian')", "mech", ""),
    ("dp_stddev_pop(x, 0, 1, 1, 'gaussian(mu=1)')", "eps", "must be NULL where"),
    ("dp_var_pop_estimate(x, 0, 1, 1, 'gaussian(delta=1)')", "mech", "gives the parameter delta"),
    ("dp_covar_pop(x, x, 0, 1, -1e308, 1e308, 1)", "xhi", "is too far"),
    ("dp_weighted_mean(x, x, 0, 1, -1, 1, 1)", "xlo", "must be at least 0"),
    ("dp_weighted_mean_estimate(x, x, 0, 1, 0, 1, 1, 'laplace', 0)", "confidence", "must be greater than 0"),
    ("dp_corr(x, x, 0, 1, 0, 1, 1, 'laplace(sample=yes)')", "mech", ""),
    ("dp_regr(x, x, 0, 1, 0, 1, 1, 'gaussian')", "mech", ""),
    ("dp_linear_regression(x, ARRAY[x], 0, 1, '{}', '{}', 1)", "xlo", "must have 1 to 16 numbers"),
    ("dp_linear_regression(x, ARRAY[x], 0, 1, '{0}', '{1, 2}', 1)", "xhi", "must have as many numbers as"),
    ("dp_linear_regression(x, ARRAY[x], 0, 1, '{0, NULL}', '{1, 2}', 1)", "xlo", "must not be NULL"),
    ("dp_linear_regression(x, ARRAY[x], 0, 1, NULL, '{1}', 1)", "xlo", "must have 1 to 16 numbers"),
    ("dp_linear_regression(x, ARRAY[x], 0, 1, NULL, NULL, 1)", "xlo", "must not be NULL"),
    ("dp_linear_regression(x, ARRAY[x], 0, 1, '{1}', '{0}', 1)", "xhi", "must be greater than"),
    ("dp_linear_regression(x, ARRAY[x], 1, 0, '{0}', '{1}', 1)", "yhi", "must be greater than"),
    ("dp_linear_regression(x, ARRAY[x], 0, 1, '{0}', '{1}', 1, 'gaussian(mu=1)')", "eps", "must be NULL where"),
    ("dp_linear_regression(x, ARRAY[x], 0, 1, '{0}', '{1}', 1, 'knorm', 1)", "confidence", "must be greater than 0"),
    ("dp_regr_slope(x, x, 0, 1, 0, 1, 1, 'gaussian(mu=1)')", "eps", "must be NULL where"),
    ("dp_count_distinct(x, 1, 'bitmap(bits=1000)')", "mech", "gives the parameter bits"),
    ("dp_count_distinct(x, 1, 'bitmap(values=0)')", "mech", "gives the parameter values"),
    ("dp_count_distinct_estimate(x, 1e-6, 'bitmap(values=2)')", "eps", "is too small"),
    ("dp_histogram(x, 0, 10, NULL, 1)", "buckets", "must be a number from 1 to 100000"),
    ("dp_histogram(x, 0, 10, 100001, 1)", "buckets", "must be a number from 1 to 100000"),
    ("dp_histogram(x, 0, 10, 2147483647, 1, 'geometric')", "buckets", "must be a number from 1 to 100000"),
    ("dp_histogram(x, 1e15, 1e15 + 1, 9, 1)", "buckets", ""),
    ("dp_cdf(x, 0, 1, NULL, 1)", "points", "must be a number from 1 to 100000"),
    ("dp_cdf(x, 0, 1, 100001, 1)", "points", "must be a number from 1 to 100000"),
    ("dp_cdf(x, 0, 1, 10, 1, 'geometric')", "mech", "is not a mechanism of dp_cdf"),
    ("dp_cdf_estimate(x, 0, 1, 0, 1)", "points", "must be a number from 1 to 100000"),
    ("dp_cdf_estimate(x, 0, 1, 10, 1, 'tree', 1)", "confidence", "must be greater than 0 and less than 1"),
    ("dp_clamped(x, 10, 10, 1)", "hi", "must be greater"),
    ("dp_clamped(x, -1e308, 1e308, 1)", "hi", "is too far"),
    ("dp_clamped(x, 0, 10, 1, 'laplace')", "mech", "is not a mechanism of dp_clamped"),
    ("dp_clamped(x, 0, 10, 1, 'geometric(outside=drop)')", "mech", "gives a parameter that geometric does not take"),
    ("dp_clamped(x, 0, 10, 1, 'geometric(rows=0)')", "mech", "gives the parameter rows a value outside its range"),
    ("dp_clamped(x, 0, 10, 1e-5, 'geometric(rows=100)')", "eps", "is too small"),
    ("dp_quantile(x, 0, 1, 0, 1)", "q", "must be at least 0.00001"),
    ("dp_quantile(x, 0, 1, 1, 1)", "q", "must be at least 0.00001"),
    ("dp_quantile(x, 0, 1, 'NaN', 1)", "q", "must be at least 0.00001"),
    ("dp_quantile_estimate(x, 0, 1, 0, 1)", "q", "must be at least 0.00001"),
    ("dp_quantile(x, 0, 1, 0.5, 1, 'em(bins=1)')", "mech", "gives the parameter bins"),
    ("dp_quantile(x, 0, 1, 0.5, 1, 'em(bins=32, grid=log)')", "mech", "gives the parameter bins"),
    ("dp_quantile(x, 0, 1, 0.5, 1, 'em(step=2, bins=9)')", "mech", "gives the parameter step beside"),
    ("dp_quantile(x, 0.1, 0.9, 0.5, 1, 'em(step=1)')", "mech", "gives a step without a multiple"),
    ("dp_quantile(x, 0, 1, 0.5, 1, 'em(rho=1)')", "eps", "must be NULL where"),
    ("dp_quantile(x, 0, 1, 0.5, NULL, 'em(rho=1e-13)')", "mech", "gives the parameter rho"),
    ("dp_quantiles(x, 0, 1, '{0.5, NULL}', 1)", "qs", "must be an array of 1 to 1000"),
    ("dp_quantiles(x, 0, 1, '{0.5, 1}', 1)", "qs", "must be an array of 1 to 1000"),
    ("dp_quantiles(x, 0, 1, array_fill(0.5::float8, '{1001}'), 1)", "qs", "must be an array of 1 to 1000"),
    ("dp_quantiles(x, 0, 1, '{0.5, 0.4}', 1)", "qs", "must be in ascending order"),
    ("dp_quantiles(x, 0, 1, '{0.5, 0.5}', 1)", "qs", "must be in ascending order"),
    ("dp_quantiles(x, 0, 1, '{0.5}', 1, 'rising')", "mech", "is not a mechanism of dp_quantiles"),
    ("dp_quantile_estimate(x, 0, 1, 0.5, 1, 'rising')", "mech", "is not a mechanism of dp_quantile_estimate"),
    ("dp_mean_estimate(x, 0, 1, 1, 'smooth')", "mech", ""),
    ("dp_mean_estimate(x, NULL, NULL, 1, 'symmetric(delta=1e-6, scale=1)')", "mech", ""),
    ("dp_sum_estimate(x, 0, 1, 1, 'hourglass')", "mech", ""),
    ("dp_count_estimate(x, 1, 'undercount')", "mech", ""),
    ("dp_mean_and_count(x, NULL, 1, 1, 'auto')", "lo", ""),
    ("dp_mean_estimate(x, 0, NULL, 1, 'auto')", "hi", ""),
    ("dp_var_pop(x, 0, 1e-13, 1, 'auto')", "hi", ""),
    ("dp_sum_estimate(x, NULL, NULL, 1)", "lo", ""),
    ("dp_stddev_pop(x, NULL, NULL, 1, 'auto(beyond=-1)')", "mech", ""),
    ("dp_sum(x, NULL, NULL, 1, 'auto(beyond=1000001)')", "mech", ""),
];

#[test]
fn rules_of_single_arguments_are_told_alike() {
    let (_database, mut client) = tables();
    for (call, argument, rule) in RULES {
        let refusal = refused_alike(&mut client, call, &PLACES);
        assert_eq!(refusal.code, "22023", "{call}: {refusal:?}");
        let named = format!(": argument \"{argument}\" {rule}");
        assert!(refusal.message.contains(&named), "{call}: {refusal:?}");
    }
}

/// In groups of few rows, whose noise is plain to see: a call that is written twice is one release, and one of another
/// budget is another.
#[test]
fn a_call_is_one_release() {
    let (_database, mut client) = database();
    run(
        &mut client,
        "CREATE TABLE few AS SELECT id / 3 AS k, x FROM items WHERE id < 450; ANALYZE few",
    );
    for settings in [SERIAL, PARALLEL] {
        run(&mut client, settings);
        for call in calls().filter(|call| call.takes_eps()) {
            let mut alike = |other: &Call, eps: &str| {
                let [one, other] = [call.with("100", "0.5", ""), other.with("100", eps, "")];
                let sql = format!(
                    "SELECT count(*) FILTER (WHERE one = other), count(*) FROM (SELECT ({one})::text AS one, \
                     ({other})::text AS other FROM few GROUP BY k) s WHERE one IS NOT NULL"
                );
                let row = client
                    .query_one(&sql, &[])
                    .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
                (row.get::<_, i64>(0), row.get::<_, i64>(1))
            };
            let (same, all) = alike(&call, "0.5");
            assert_eq!(same, all, "{call:?}");
            let (same, all) = alike(&call, "0.51");
            assert!(same < all || call.empty == Empty::Nothing, "{call:?}");
            // The columns of an answer are of one release too.
            let sql = call.with("100", "0.5", "");
            let kind = format!(
                "SELECT typtype = 'c' FROM pg_type WHERE oid = (SELECT pg_typeof({sql}) FROM few)"
            );
            if value(&mut client, &kind) {
                let sql = format!(
                    "SELECT bool_and(whole = star) FROM (SELECT ({sql})::text AS whole, ROW(({sql}).*)::text AS star \
                     FROM few GROUP BY k) s"
                );
                assert!(value::<bool>(&mut client, &sql), "{sql}");
            }
        }
    }
}
