//! Parallel workers tell nothing of the rows: a call that is refused is refused in the same words and in the
//! same CONTEXT whether a worker met a row or not. `CONTEXT: parallel worker` would say that one did.

use dp_mean_tests::{
    Build, Database, PARALLEL, Refusal, Role, explain, refusal, refused, rows, run, session,
};
use postgres::Client;

/// A table that workers read, with one row of age 70, and the same rows in partitions.
const TABLES: &str = "
    CREATE TABLE big AS
        SELECT i AS id, i % 69 AS age, (i % 50)::float8 AS x, 1.0::float8 AS a, 'laplace'::text AS m,
               ARRAY[i % 50, i % 3]::float8[] AS xs
        FROM generate_series(1, 5000) i;
    INSERT INTO big SELECT 0, 70, 1, 1, 'laplace', '{1,2}';
    CREATE TABLE parts (LIKE big) PARTITION BY RANGE (age);
    CREATE TABLE young PARTITION OF parts FOR VALUES FROM (0) TO (30);
    CREATE TABLE old PARTITION OF parts FOR VALUES FROM (30) TO (100);
    INSERT INTO parts SELECT * FROM big;
    ANALYZE big; ANALYZE parts";

/// Calls that break a rule of each kind, of each aggregate's transition function.
const REFUSED: [&str; 39] = [
    "dp_count(99)",
    "dp_count(id, 99)",
    "dp_count(id, NULL)",
    "dp_count(id, a)",
    "dp_count(id, random())",
    "dp_count(id, 1, 'hourglass')",
    "dp_count(id, 1, 'undercount')",
    "dp_count(id, 1, 'undercount(delta=2)')",
    "dp_count_estimate(id, 1, 'geometric', 2)",
    "dp_count_estimate(99)",
    "dp_keep(99, 1e-6)",
    "dp_keep(1, 2)",
    "dp_mean(x, 0, 50, 99)",
    "dp_mean(x, 50, 0, 1)",
    "dp_mean(x, NULL, 50, 1)",
    "dp_mean(x, a, 50, 1)",
    "dp_mean(x, 0, 'NaN', 1)",
    "dp_mean(x, 0, 50, 1, m)",
    "dp_mean(x, 0, 50, 1, 'geometric')",
    "dp_mean(x, 0, 50, 1, 'gaussian')",
    "dp_mean(x, 0, 50, 1, 'laplace(rows=0)')",
    "dp_mean(x, 0, 50, 1, 'hybrid(delta=1e-9, n=10, moment=4, psi=10)')",
    "dp_mean(x, 0, 50, 1, 'name_and_shame(delta=1e-9, n=10)')",
    "dp_mean(x, NULL, NULL, 1, 'symmetric(delta=1e-6)')",
    "dp_mean(x, 0, 50, 1, 'symmetric(delta=1e-6, scale=1)')",
    "dp_mean_and_count(x, 0, 50, 99)",
    "dp_mean_estimate(x, 0, 50, 1, 'smooth')",
    "dp_sum(x, 0, 50, 99)",
    "dp_sum_estimate(x, 0, 50, a)",
    "dp_var_pop(x, 0, 50, 99)",
    "dp_stddev_pop(x, 0, 50, a)",
    "dp_histogram(x, 0, 50, 0, 1)",
    "dp_histogram(x, 0, 50, age, 1)",
    "dp_bounds(x, 99)",
    "dp_counts(1, 'laplace', id)",
    "dp_counts(1, 'laplace', VARIADIC xs)",
    "dp_counts(99, 'laplace', id > 5)",
    "dp_sums(xs, 0, 1, 1, 'laplace')",
    "dp_means(xs, 0, 1, 99, 'correlated(delta=1e-6, d=2)')",
];

/// Whom the query is about: one row, none, and all.
const WHO: [&str; 3] = ["age * 2 = 140", "age * 2 = 141", "age * 2 < 1000"];

/// Sessions in which plans are serial, partial in workers, and partial in workers alone.
const PLANS: [&str; 3] = [
    "SET max_parallel_workers_per_gather = 0",
    PARALLEL,
    "SET parallel_leader_participation = off",
];

fn tables() -> (Database, Client) {
    let (database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    (database, client)
}

/// The refusal of what `sql` makes of each table and predicate, which must always be the same.
fn refused_alike(client: &mut Client, call: &str, sql: impl Fn(&str) -> String) -> Refusal {
    let mut first: Option<Refusal> = None;
    for table in ["big", "parts"] {
        for who in WHO {
            let sql = sql(&format!("{call} FROM {table} WHERE {who}"));
            let refusal = refused(client, &sql);
            assert!(!refusal.context.contains("worker"), "{refusal:?}: {sql}");
            match &first {
                Some(first) => assert_eq!(refusal, *first, "{sql}"),
                None => first = Some(refusal),
            }
        }
    }
    first.expect("there are tables")
}

#[test]
fn a_refused_call_is_refused_alike_with_and_without_rows_and_workers() {
    let (_database, mut client) = tables();
    for call in REFUSED {
        let mut first: Option<Refusal> = None;
        for settings in PLANS {
            run(&mut client, settings);
            let refusal = refused_alike(&mut client, call, |query| format!("SELECT {query}"));
            assert!(
                ["22023", "42501", "42804"].contains(&&*refusal.code),
                "{refusal:?}"
            );
            match &first {
                Some(first) => assert_eq!(refusal, *first, "{call}"),
                None => first = Some(refusal),
            }
        }
        run(&mut client, "RESET ALL");
    }
}

/// That the plans above are what they are said to be, and that workers do meet the rows.
#[test]
fn workers_meet_the_rows_of_refused_calls() {
    let (_database, mut client) = tables();
    run(&mut client, PARALLEL);
    run(&mut client, "SET parallel_leader_participation = off");
    for call in REFUSED {
        // What depends on a volatile function has no parallel plan at all, and a cast of text to a mechanism
        // keeps to the leader.
        if ["random()", ", m)"].iter().any(|part| call.contains(part)) {
            continue;
        }
        let plan = explain(
            &mut client,
            &format!("SELECT {call} FROM big WHERE {}", WHO[2]),
        );
        for word in [
            "Finalize Aggregate",
            "Partial Aggregate",
            "Workers Planned: 2",
        ] {
            assert!(plan.contains(word), "{call}: {plan}");
        }
    }
    let analyzed = "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF)
                    SELECT dp_count(id, 1) FROM big WHERE age * 2 < 1000";
    let plan: Vec<String> = rows(&mut client, analyzed)
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert!(
        plan.iter().any(|line| line.contains("Workers Launched: 2")),
        "{plan:#?}"
    );
}

#[test]
fn parameters_of_a_prepared_statement_are_refused_alike() {
    let (_database, mut client) = tables();
    run(&mut client, "SET plan_cache_mode = force_generic_plan");
    for settings in PLANS {
        run(&mut client, settings);
        for (types, arguments, call) in [
            ("float8", "99", "dp_count(id, $1)"),
            ("float8", "NULL", "dp_mean(x, 0, 50, $1)"),
            ("float8", "-1", "dp_mean(x, 0, $1, 1)"),
            ("dp_mechanism", "'gaussian'", "dp_mean(x, 0, 50, 1, $1)"),
            ("text", "'nonsense'", "dp_mean(x, 0, 50, 1, $1)"),
            ("text", "'hourglass(gamma=2)'", "dp_mean(x, 0, 50, 1, $1)"),
            ("varchar", "NULL", "dp_count(id, 1, $1)"),
        ] {
            refused_alike(&mut client, call, |query| {
                format!(
                    "DEALLOCATE ALL; PREPARE p({types}) AS SELECT {query}; EXECUTE p({arguments})"
                )
            });
        }
    }
}

/// The owner's function chooses the rows and the call; who may not read the table chooses an argument.
#[test]
fn functions_of_the_owner_refuse_alike() {
    let (database, mut client) = tables();
    let mut number = 0;
    for language in ["sql", "plpgsql"] {
        for who in WHO {
            number += 1;
            let query = format!("SELECT dp_count(id, e) FROM big WHERE {who}");
            let body = match language {
                "sql" => query,
                _ => format!("BEGIN RETURN QUERY {query}; END"),
            };
            run(
                &mut client,
                &format!(
                    "CREATE FUNCTION {language}_{number}(e float8) RETURNS SETOF bigint LANGUAGE {language}
                     SECURITY DEFINER AS $$ {body} $$"
                ),
            );
        }
    }
    let role = Role::new(&database);
    let mut analyst = role.connect();
    for settings in PLANS {
        run(&mut analyst, settings);
        for mode in ["force_generic_plan", "force_custom_plan"] {
            run(&mut analyst, &format!("SET plan_cache_mode = {mode}"));
            for [first, others @ ..] in [
                ["sql_1", "sql_2", "sql_3"],
                ["plpgsql_4", "plpgsql_5", "plpgsql_6"],
            ] {
                let mut ask = |function: &str| {
                    let sql = format!("SELECT * FROM {function}(99)");
                    let error = analyst.simple_query(&sql).expect_err("99 is no epsilon");
                    let refusal = refusal(&error, &sql);
                    // The function's own name, and the text of its query.
                    let context = refusal.context.replace(function, "f");
                    let context = WHO
                        .iter()
                        .fold(context, |context, who| context.replace(who, "who"));
                    Refusal { context, ..refusal }
                };
                let expected = ask(first);
                assert_eq!(expected.code, "22023", "{expected:?}");
                assert!(!expected.context.contains("worker"), "{expected:?}");
                for other in others {
                    assert_eq!(ask(other), expected, "{other}");
                }
            }
        }
    }
}

/// A function that calls itself stable and is not: its parts do not fit, and the leader says so.
#[test]
fn parts_that_were_called_otherwise_are_refused_by_the_leader() {
    let (_database, mut client) = tables();
    run(
        &mut client,
        "CREATE FUNCTION liar() RETURNS float8 STABLE PARALLEL SAFE LANGUAGE plpgsql
             AS $$ BEGIN RETURN 50 + random(); END $$",
    );
    run(&mut client, PARALLEL);
    for call in [
        "dp_mean(x, 0, liar(), 1)",
        "dp_var_pop(x, 0, liar(), 1)",
        "dp_histogram(x, 0, liar(), 4, 1)",
        "dp_sums(xs, 0, liar(), 1, 'laplace(d=2)')",
    ] {
        for table in ["big", "parts"] {
            let refusal = refused(&mut client, &format!("SELECT {call} FROM {table}"));
            assert_eq!(refusal.code, "22023", "{refusal:?}");
            assert!(
                refusal.message.ends_with("must not depend on the rows"),
                "{refusal:?}"
            );
            assert_eq!(refusal.context, "", "{refusal:?}");
        }
    }
}
