//! The aggregates on Citus: a coordinator and two workers, which `make test-citus` starts. What is asked of a
//! distributed table must answer as the same rows in one table do: what is known of the rows is compared bit by bit,
//! before the noise, and the answers with the noise of a seed.

use std::fs;
use std::path::PathBuf;

use dp_mean_tests::calls::calls;
use dp_mean_tests::{Refusal, explain, refused, rows, run, value, variable};
use postgres::{Client, NoTls};

mod gate;

/// A new session on the coordinator.
fn connect(role: &str) -> Client {
    let mut config: postgres::Config = variable("DP_MEAN_CITUS_URL")
        .parse()
        .expect("a connection string");
    config.user(role).connect(NoTls).expect("a session")
}

/// A session on the coordinator, a table `visits` in shards on both workers, and the same rows in a table `alone`.
fn world() -> Client {
    let mut client = connect("postgres");
    run(
        &mut client,
        "SET client_min_messages = error; DROP SCHEMA IF EXISTS world CASCADE; CREATE SCHEMA world;
         SET search_path = world, public",
    );
    // The workers need no test functions.
    run(&mut client, "SET citus.enable_ddl_propagation = off");
    run(&mut client, include_str!("../sql/testing.sql"));
    run(&mut client, "RESET citus.enable_ddl_propagation");
    run(
        &mut client,
        "CREATE TABLE alone AS SELECT i AS person, 'r' || i % 3 AS region, (i % 100)::float8 AS x, i % 7 AS day
             FROM generate_series(1, 5000) i;
         CREATE TABLE visits (person integer, region text, x float8, day integer);
         SELECT create_distributed_table('visits', 'person', shard_count => 8);
         INSERT INTO visits SELECT * FROM alone",
    );
    client
}

/// What a query answers, in order, with the noise of a seed.
fn answers(client: &mut Client, sql: &str) -> Vec<Option<String>> {
    run(client, "SELECT dp_test_seed(7)");
    rows(client, sql).iter().map(|row| row.get(0)).collect()
}

/// The integers that the releases of a query knew of the rows, in the order of their size.
fn exact(client: &mut Client, sql: &str) -> Vec<String> {
    run(client, "SELECT dp_test_record(7)");
    let _ = client
        .simple_query(sql)
        .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    let recorded: Option<String> = value(client, "SELECT dp_test_recorded()");
    let recorded = recorded.unwrap_or_default();
    let notes = recorded.lines().map(|line| {
        let notes = line.split(' ').skip(1);
        let exact = notes.map(|note| note.split(':').next().expect("exact").to_owned());
        exact.collect::<Vec<_>>().join(" ")
    });
    let mut notes = Vec::from_iter(notes);
    notes.sort_unstable();
    notes
}

/// That a query about the distributed table knows what it knows of the one table, and whether it is pushed down.
fn assert_same(client: &mut Client, sql: &str, pushed: bool) {
    let of = |table| sql.replace("{t}", table);
    let (distributed, alone) = (of("visits"), of("alone"));
    let plan = explain(client, &distributed);
    assert_eq!(plan.contains("coord_combine_agg"), pushed, "{plan}\n{sql}");
    let expected = exact(client, &alone);
    assert!(!expected.is_empty(), "nothing was released: {sql}");
    assert_eq!(exact(client, &distributed), expected, "{sql}");
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn answers_of_pushed_down_aggregates_are_exact() {
    let mut client = world();
    for sql in [
        "SELECT dp_mean(x, 0, 100, 1.0) FROM {t}",
        "SELECT dp_mean(x, 0, 100, 1.0), dp_sum(x, 0, 100, 1.0), dp_count(1.0), dp_var_pop(x, 0, 100, 1.0) FROM {t}",
        "SELECT region, dp_mean(x, 0, 100, 1.0), dp_count(1.0) FROM {t} GROUP BY region",
        "SELECT day, region, dp_histogram(x, 0, 100, 5, 1.0) FROM {t} GROUP BY day, region",
        "SELECT region, dp_count(1.0) FROM {t} GROUP BY region HAVING dp_keep(1.0, 1e-6)",
        "SELECT dp_count(1.0) FILTER (WHERE x > 50), dp_count(1.0) FILTER (WHERE x > 5000) FROM {t}",
        "SELECT region, dp_mean(x, 0, 100, 1.0) FILTER (WHERE day = 99) FROM {t} GROUP BY region",
        "SELECT dp_mean(x, 0, 100, 1.0) FROM {t} WHERE x > 5000",
        "SELECT dp_mean(NULLIF(x, x), 0, 100, 1.0) FROM {t}",
        "SELECT dp_mean(x, 0, 100, 1.0) FROM {t} WHERE x > (SELECT 50)",
        "SELECT dp_mean(x, 0, (SELECT 90.0), 1.0) FROM {t}",
        "SELECT 2 * m FROM (SELECT dp_mean(x, 0, 100, 1.0) AS m FROM {t}) s",
        "WITH w AS MATERIALIZED (SELECT region, dp_sum(x, 0, 100, 1.0) AS s FROM {t} GROUP BY region) \
         SELECT sum(s) FROM w",
        "SELECT dp_mean(a.x, 0, 100, 1.0) FROM {t} a JOIN {t} b USING (person) WHERE b.day < 4",
    ] {
        if sql.contains("WITH w") {
            // What is computed first is in no plan of EXPLAIN.
            let expected = exact(&mut client, &sql.replace("{t}", "alone"));
            assert_eq!(
                exact(&mut client, &sql.replace("{t}", "visits")),
                expected,
                "{sql}"
            );
        } else {
            assert_same(&mut client, sql, true);
        }
    }
    // Groups of the column that rows are distributed by lie on one worker each, and so does a row that it names.
    for sql in [
        "SELECT person, dp_count(1.0) FROM {t} WHERE person < 20 GROUP BY person",
        "SELECT dp_mean(x, 0, 100, 1.0) FROM {t} WHERE person = 17",
    ] {
        let plan = explain(&mut client, &sql.replace("{t}", "visits"));
        assert!(!plan.contains("coord_combine_agg"), "{plan}");
        let _ = rows(&mut client, &sql.replace("{t}", "visits"));
    }
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn every_aggregate_answers_as_of_one_table() {
    let mut client = world();
    let (mut same, mut refusals) = (0, 0);
    for call in calls().filter(|call| !call.is_pathological()) {
        let sql = call.sql();
        let is_drawn = call.is_drawn();
        for filter in ["", " WHERE x > 5000"] {
            let of = |table| format!("SELECT ({sql})::text FROM {table}{filter}");
            let ids = ["dp_counts", "dp_count_distinct"];
            let takes_any = ids.iter().any(|name| call.aggregate.starts_with(name))
                || call.aggregate.starts_with("dp_count") && sql.contains("(x");
            if takes_any {
                let refusal = refused(&mut client, &of("visits"));
                let message = "worker_partial_agg_sfunc could not confirm type correctness";
                assert_eq!(
                    (&*refusal.code, &*refusal.message),
                    ("XX000", message),
                    "{sql}"
                );
                refusals += 1;
                continue;
            }
            let distributed = answers(&mut client, &of("visits"));
            if !is_drawn {
                assert_eq!(
                    distributed,
                    answers(&mut client, &of("alone")),
                    "{sql}{filter}"
                );
                same += 1;
            }
        }
    }
    assert!(same > 80 && refusals > 10, "{same} {refusals}");
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn prepared_statements_cursors_and_inserts_are_exact() {
    let mut client = world();
    for table in ["visits", "alone"] {
        run(
            &mut client,
            &format!(
                "PREPARE of_{table}(float8, float8) AS SELECT dp_mean(x, 0, $1, $2) FROM {table}"
            ),
        );
    }
    // The plan becomes a generic one, and then has other parameters.
    for hi in [100, 100, 100, 100, 100, 100, 100, 50] {
        let of = |table| format!("EXECUTE of_{table}({hi}, 1.0)");
        assert_eq!(
            exact(&mut client, &of("visits")),
            exact(&mut client, &of("alone"))
        );
    }
    let cursor = |table| {
        format!(
            "BEGIN; DECLARE c CURSOR FOR SELECT region, dp_count(1.0) FROM {table} GROUP BY region; \
             FETCH 1 FROM c; FETCH ALL FROM c; COMMIT"
        )
    };
    assert_eq!(
        exact(&mut client, &cursor("visits")),
        exact(&mut client, &cursor("alone"))
    );
    run(
        &mut client,
        "CREATE TABLE told (region text, mean float8, rows bigint); SELECT create_distributed_table('told', 'region')",
    );
    let insert = |table| {
        format!(
            "INSERT INTO told SELECT region, dp_mean(x, 0, 100, 1.0), dp_count(1.0) FROM {table} GROUP BY region"
        )
    };
    assert_eq!(
        exact(&mut client, &insert("visits")),
        exact(&mut client, &insert("alone"))
    );
    assert_eq!(value::<i64>(&mut client, "SELECT count(*) FROM told"), 6);
    // With HAVING, which draws noise too, and answers that a condition leaves out.
    let having = |table| {
        format!(
            "SELECT region FROM {table} GROUP BY region HAVING dp_count(50.0) > 1666 ORDER BY region"
        )
    };
    let kept = |client: &mut Client, table| -> Vec<String> {
        rows(client, &having(table))
            .iter()
            .map(|row| row.get(0))
            .collect()
    };
    assert_eq!(kept(&mut client, "visits"), ["r1", "r2"]);
    assert_eq!(kept(&mut client, "alone"), ["r1", "r2"]);
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn calls_are_refused_alike_without_rows() {
    let mut client = world();
    for (call, code) in [
        ("dp_mean(x, 100, 0, 1.0)", "22023"),
        ("dp_mean(x, 0, 100, x)", "22023"),
        ("dp_mean(x, 0, 100, random())", "22023"),
        ("dp_mean(x, 0, 100, NULL)", "22023"),
        ("dp_mean(DISTINCT x, 0, 100, 1.0)", "22023"),
        ("dp_mean(x, 0, 100, 1.0 ORDER BY x)", "22023"),
        ("dp_mean(x, 0, 100, 1.0) OVER ()", "0A000"),
    ] {
        let told = ["", " WHERE x > 5000"].map(|filter| {
            let Refusal {
                code,
                message,
                hint,
                ..
            } = refused(&mut client, &format!("SELECT {call} FROM visits{filter}"));
            (code, message, hint)
        });
        assert_eq!(told[0], told[1], "{call}");
        assert_eq!(told[0].0, code, "{call}: {told:?}");
    }
    // What this server allows and the workers do not.
    run(&mut client, "SET dp_mean.allow_pathological = on");
    for filter in ["", " WHERE x > 5000"] {
        let sql = format!("SELECT dp_mean(x, 0, 100, 1.0) FROM visits{filter}");
        assert_eq!(refused(&mut client, &sql).code, "22000");
    }
    run(&mut client, "RESET dp_mean.allow_pathological");
    let people = "SELECT dp_mean(c, 0, 100, 1.0) FROM (SELECT dp_contribution(x, 0, 100) AS c FROM visits{} \
                  GROUP BY person) s";
    let groups = "SELECT region, dp_count(1.0) FROM (SELECT dp_groups(2, person, region) AS g FROM visits{} \
                  GROUP BY person) s, dp_unnest(g) u (region text) GROUP BY region";
    // Without rows there is no group, and no call.
    for (sql, filter) in [(people, ""), (people, " WHERE x > 5000"), (groups, "")] {
        let refusal = refused(&mut client, &sql.replace("{}", filter));
        let message = "dp_state: contributions of persons cannot be combined across nodes";
        assert_eq!((&*refusal.code, &*refusal.message), ("0A000", message));
    }
    // With the rows fetched they answer.
    let fetched = people.replace("FROM visits{}", "FROM (SELECT * FROM visits OFFSET 0) v");
    let _: f64 = value(&mut client, &fetched);
}

/// A file of keys, put aside or replaced, and put back in the end.
struct KeyFile {
    path: PathBuf,
    kept: PathBuf,
}

impl KeyFile {
    fn aside(node: &str) -> Self {
        let path = PathBuf::from(variable("DP_MEAN_CITUS_DATA"))
            .join(node)
            .join("data/dp_mean.keys");
        let kept = path.with_extension("kept");
        fs::rename(&path, &kept).expect("the file of keys");
        Self { path, kept }
    }

    /// Another key of the same name, in a file with the owner and the mode of the first.
    fn replace(&self) {
        let copied = std::process::Command::new("cp")
            .arg("-p")
            .args([&self.kept, &self.path])
            .status();
        assert!(copied.expect("cp").success());
        fs::write(
            &self.path,
            format!("one {}\n", "a7".repeat(16) + &"4b".repeat(16)),
        )
        .expect("a file of keys");
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = fs::rename(&self.kept, &self.path);
    }
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn servers_without_the_same_key_answer_nothing() {
    let mut client = world();
    for node in ["coordinator", "first", "second"] {
        let file = KeyFile::aside(node);
        for filter in ["", " WHERE x > 5000"] {
            let sql = format!("SELECT dp_mean(x, 0, 100, 1.0) FROM visits{filter}");
            let refusal = refused(&mut client, &sql);
            assert_eq!(refusal.code, "55000", "{node}: {refusal:?}");
        }
        file.replace();
        for filter in ["", " WHERE x > 5000"] {
            let sql = format!("SELECT dp_mean(x, 0, 100, 1.0) FROM visits{filter}");
            let refusal = refused(&mut client, &sql);
            assert_eq!(refusal.code, "22000", "{node}: {refusal:?}");
        }
        drop(file);
        let _: f64 = value(&mut client, "SELECT dp_mean(x, 0, 100, 1.0) FROM visits");
    }
    // What one worker answers by itself needs none.
    let _aside = ["coordinator", "first", "second"].map(KeyFile::aside);
    for sql in [
        "SELECT person, dp_count(1.0) FROM visits WHERE person < 20 GROUP BY person",
        "SELECT dp_mean(x, 0, 100, 1.0) FROM visits WHERE person = 17",
        "SELECT dp_mean(x, 0, 100, 1.0) FROM (SELECT x FROM visits OFFSET 0) v",
    ] {
        let _ = rows(&mut client, sql);
    }
}

/// Who may ask by themselves, and who through a function of a role that may.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn analysts_ask_through_functions_of_another_role() {
    let mut client = world();
    run(
        &mut client,
        "CREATE ROLE gateway LOGIN; CREATE ROLE ann LOGIN; GRANT USAGE ON SCHEMA world TO gateway, ann;
         GRANT SELECT ON visits TO gateway",
    );
    run(
        &mut client,
        "CREATE FUNCTION mean_of(hi float8) RETURNS float8 LANGUAGE plpgsql SECURITY DEFINER
             SET search_path = pg_catalog, public, pg_temp
             AS 'BEGIN RETURN (SELECT dp_mean(x, 0, hi, 50.0) FROM world.visits); END';
         ALTER FUNCTION mean_of(float8) OWNER TO gateway",
    );
    let [mut gateway, mut ann] = ["gateway", "ann"].map(connect);
    // Without a right on the functions that work on states even SELECT is not enough.
    for filter in ["", " WHERE x > 5000"] {
        let sql = format!("SELECT dp_mean(x, 0, 100, 1.0) FROM world.visits{filter}");
        assert_eq!(refused(&mut gateway, &sql).code, "42501");
        assert_eq!(refused(&mut ann, &sql).code, "42501");
    }
    let granted: Vec<bool> = rows(&mut client, GRANT)
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(granted, [true; 3]);
    let mean: f64 = value(
        &mut gateway,
        "SELECT dp_mean(x, 0, 100, 50.0) FROM world.visits",
    );
    assert!((mean - 49.5).abs() < 0.01, "{mean}");
    let mean: f64 = value(&mut ann, "SELECT world.mean_of(100)");
    assert!((mean - 49.5).abs() < 0.01, "{mean}");
    for sql in [
        "SELECT dp_mean(x, 0, 100, 1.0) FROM world.visits",
        "SELECT worker_partial_agg('dp_mean(float8, float8, float8, float8)'::regprocedure, \
         ROW(1::float8, 0::float8, 1::float8, 1::float8))",
        "SELECT coord_combine_agg('dp_mean(float8, float8, float8, float8)'::regprocedure, \
         'AQ'::cstring, NULL::float8)",
    ] {
        assert_eq!(refused(&mut ann, sql).code, "42501", "{sql}");
    }
    run(
        &mut client,
        "SET client_min_messages = error; DROP SCHEMA world CASCADE",
    );
    let _ = rows(
        &mut client,
        "SELECT success FROM run_command_on_all_nodes('DROP OWNED BY gateway, ann')",
    );
    run(&mut client, "DROP ROLE gateway; DROP ROLE ann");
}

/// Puts together what is the body of a statement.
fn joined(mut all: Vec<String>, part: &str) -> Vec<String> {
    match all.last_mut() {
        Some(last) if part.starts_with(' ') => *last += &format!(";\n{part}"),
        _ => all.push(part.to_owned()),
    }
    all
}

/// The blocks of the manual's page that run on Citus.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn the_manual_runs() {
    let mut client = connect("postgres");
    run(&mut client, "SET client_min_messages = error");
    let mut blocks = 0;
    for block in include_str!("../../docs/distributed.md")
        .split("```citus\n")
        .skip(1)
    {
        let (sql, _) = block.split_once("```").expect("its end");
        // As psql does, a statement at a time: those end in a line, and bodies are indented.
        for statement in sql
            .split(
                ";
",
            )
            .fold(Vec::<String>::new(), joined)
        {
            run(&mut client, &statement);
        }
        blocks += 1;
    }
    assert_eq!(blocks, 6);
    let mean: f64 = value(&mut client, "SELECT mean_cost()");
    assert!((0.0..=100.0).contains(&mean), "{mean}");
    run(&mut client, "DROP FUNCTION mean_cost(); DROP TABLE visits");
    let _ = rows(
        &mut client,
        "SELECT success FROM run_command_on_all_nodes('DROP OWNED BY gateway')",
    );
    run(
        &mut client,
        "DROP OWNED BY analyst; DROP ROLE gateway; DROP ROLE analyst",
    );
}

/// As the manual has it.
const GRANT: &str = "SELECT success FROM run_command_on_all_nodes($node$ DO $do$
    DECLARE
        support regprocedure;
    BEGIN
        FOR support IN
            SELECT DISTINCT unnest(ARRAY[aggtransfn, aggcombinefn, aggfinalfn]) FROM pg_aggregate
            WHERE aggtranstype = 'dp_mean.dp_state'::regtype
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO gateway', support);
        END LOOP;
    END $do$ $node$)";

/// What the manual says stands here.
#[test]
fn the_manual_grants_the_same() {
    let page = include_str!("../../docs/distributed.md");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(page).contains(&words(GRANT)), "docs/distributed.md");
}
