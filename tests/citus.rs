//! The aggregates on Citus: a coordinator and two workers, which `make test-citus` starts. What is asked of a
//! distributed table must answer as the same rows in one table do: what is known of the rows is compared bit by bit,
//! before the noise, and the answers with the noise of a seed.

use std::fs;
use std::path::PathBuf;

use dp_mean_tests::calls::calls;
use dp_mean_tests::{Refusal, explain, refused, rows, run, value, variable};
use postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};

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
    run(&mut client, include_str!("sql/testing.sql"));
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

/// Roles of a test, which may ask and read as in the manual, and what they ask about. All goes at the end.
struct Gate {
    owner: Client,
    asker: Client,
    budget: String,
}

/// Distributed by the person, one row each or maybe more, and by another column.
const GATED: [&str; 3] = ["people", "visits", "byday"];

impl Gate {
    /// As [`of`](Self::of), as budgets are if nothing is said.
    fn new() -> Self {
        Self::of("gaussian")
    }

    /// The tables of [`world`] belong to a role that is no superuser, and another one may ask. Their budget has this
    /// accounting.
    fn of(accounting: &str) -> Self {
        let mut client = world();
        run(
            &mut client,
            "CREATE ROLE holder LOGIN; CREATE ROLE asker LOGIN;
             GRANT ALL ON SCHEMA world TO holder; GRANT USAGE ON SCHEMA world TO asker;
             CREATE TABLE people (LIKE alone, PRIMARY KEY (person));
             SELECT create_distributed_table('people', 'person', shard_count => 4);
             CREATE TABLE byday (LIKE alone);
             SELECT create_distributed_table('byday', 'day', shard_count => 4);
             INSERT INTO people SELECT * FROM alone;
             INSERT INTO byday SELECT * FROM alone;
             CREATE TABLE chiefs (region text PRIMARY KEY, chief text);
             SELECT create_reference_table('chiefs');
             INSERT INTO chiefs SELECT 'r' || i, 'chief ' || i FROM generate_series(0, 2) i;
             CREATE TABLE hidden (LIKE chiefs);
             SELECT create_reference_table('hidden');
             CREATE TABLE here AS SELECT * FROM chiefs;
             CREATE TABLE plans (region text, planned integer);
             SELECT create_distributed_table('plans', 'region');
             INSERT INTO plans SELECT 'r' || i, 1000 * i FROM generate_series(0, 2) i;
             GRANT SELECT ON chiefs, here, plans TO asker",
        );
        let budget = format!("gate {accounting} {}", std::process::id());
        run(
            &mut client,
            &format!(
                "SELECT dp_set_budget('{budget}', 4096, 0.9, accounting => '{accounting}'), \
                 dp_set_budget_owner('{budget}', 'holder')"
            ),
        );
        for table in GATED {
            // One by one: Citus passes a label on with all of the text that it came in.
            for sql in [
                format!("ALTER TABLE {table} OWNER TO holder"),
                format!(
                    "SELECT dp_protect('{table}', 'person', '{budget}', query_eps => 10, query_delta => 1e-5)"
                ),
                format!("SELECT dp_declare('{table}', 'x', 0, 100)"),
                format!("SELECT dp_allow('{table}', 'asker')"),
            ] {
                run(&mut client, &sql);
            }
        }
        let mut asker = connect("asker");
        run(
            &mut asker,
            "SET search_path = world, public; SET dp_mean.reuse = off",
        );
        Self {
            owner: client,
            asker,
            budget,
        }
    }

    /// How often it was charged.
    fn charges(&mut self) -> i64 {
        let sql = format!(
            "SELECT charges FROM dp_budgets WHERE budget = '{}' AND role IS NULL",
            self.budget
        );
        value(&mut self.owner, &sql)
    }

    /// Lets Citus call what works on states in the name of the owner.
    fn grant(&mut self) {
        let _ = rows(&mut self.owner, &GRANT.replace("gateway", "holder"));
    }

    /// What a query answers, as text, in its order.
    fn ask(&mut self, sql: &str) -> Vec<Vec<Option<String>>> {
        texts(&mut self.asker, sql)
    }

    /// That a query is refused, and costs nothing.
    fn assert_refused(&mut self, sql: &str, code: &str, message: &str) {
        let before = self.charges();
        let refusal = refused(&mut self.asker, sql);
        assert_eq!(refusal.code, code, "{refusal:?}: {sql}");
        assert!(refusal.message.contains(message), "{refusal:?}: {sql}");
        assert_eq!(self.charges(), before, "{sql}");
    }

    /// That a query answers about a distributed table what is true of one table, but for noise; for one charge.
    fn assert_true(&mut self, sql: &str) {
        // Groups come in the order of their keys without being told.
        let order = match sql.contains("GROUP BY") && !sql.contains("ORDER BY") {
            true => " ORDER BY 1",
            false => "",
        };
        let truth = sql.replace("{t}", "alone") + order;
        let truth = texts(&mut self.owner, &truth);
        assert!(!truth.is_empty(), "{sql}");
        for table in GATED {
            let sql = sql.replace("{t}", table);
            let before = self.charges();
            let told = self.ask(&sql);
            assert_eq!(self.charges(), before + 1, "{sql}");
            assert_eq!(told.len(), truth.len(), "{told:?}: {sql}");
            let pairs = told.iter().flatten().zip(truth.iter().flatten());
            for (told, truth) in pairs {
                let number = |text: &Option<String>| text.as_ref()?.parse::<f64>().ok();
                match (number(told), number(truth)) {
                    // A count has noise of 1 at most, with odds of e^-20; a mean of a group far less than 5.
                    (Some(told), Some(truth)) => {
                        assert!((told - truth).abs() <= 5.0, "{told} for {truth}: {sql}")
                    }
                    _ => assert_eq!(told, truth, "{sql}"),
                }
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Its transaction may have locks. The owner of a budget cannot be dropped.
        let _ = self.asker.batch_execute("ROLLBACK");
        let heir = format!("SELECT dp_set_budget_owner('{}', 'postgres')", self.budget);
        for sql in [
            "ROLLBACK",
            &heir,
            "DROP SCHEMA world CASCADE",
            "DROP OWNED BY holder",
            "DROP OWNED BY asker",
            "DROP ROLE asker",
            "DROP ROLE holder",
        ] {
            let _ = self.owner.batch_execute(sql);
        }
    }
}

/// What a query answers, as text.
fn texts(client: &mut Client, sql: &str) -> Vec<Vec<Option<String>>> {
    let messages = client.simple_query(sql);
    let messages = messages.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let texts = |row: SimpleQueryRow| {
        let columns = 0..row.len();
        columns.map(|i| row.get(i).map(str::to_owned)).collect()
    };
    rows.map(texts).collect()
}

/// A session on a worker.
fn connect_to_worker(role: &str) -> Client {
    let data = PathBuf::from(variable("DP_MEAN_CITUS_DATA"));
    let mut config: postgres::Config = variable("DP_MEAN_CITUS_URL")
        .replace("/coordinator/", "/first/")
        .parse()
        .expect("a connection string");
    assert!(data.join("first").exists());
    config.user(role).connect(NoTls).expect("a session")
}

/// Plain SQL of a role that has no right on the tables.
const ASKED: [&str; 27] = [
    "SELECT count(*), avg(x) FROM {t}",
    "SELECT region, count(*), avg(x) FROM {t} GROUP BY region",
    "SELECT day, count(x) FROM {t} WHERE x < 50 GROUP BY day",
    "SELECT count(*) FROM {t} WHERE upper(region) = 'R1' AND day = 3",
    "SELECT count(*) FROM {t} WHERE x > 5000",
    "SELECT (x > 50) IS TRUE, count(*) FILTER (WHERE day < 3) FROM {t} GROUP BY 1",
    "SELECT region, day, count(*) FROM {t} GROUP BY ROLLUP (region, day) ORDER BY 1, 2",
    "SELECT chief, count(*) FROM {t} JOIN chiefs USING (region) GROUP BY chief",
    "SELECT chief, avg(x) FROM {t} JOIN here USING (region) GROUP BY chief",
    "SELECT chief, count(*) FROM chiefs LEFT JOIN here USING (chief) JOIN {t} ON {t}.region = chiefs.region AND x < 50 \
     GROUP BY chief",
    "SELECT count(*), avg(x) FROM (SELECT x, day FROM {t} WHERE region = 'r1') s WHERE day < 3",
    "SELECT planned, count(*) FROM {t} JOIN plans USING (region) WHERE planned < 1500 GROUP BY planned",
    "SELECT chief, n FROM chiefs JOIN (SELECT region, count(*) AS n FROM {t} GROUP BY region) s USING (region) \
     ORDER BY 1",
    "SELECT chief, n FROM here JOIN (SELECT region, count(*) AS n FROM {t} GROUP BY region) s USING (region) \
     ORDER BY 1",
    "SELECT planned, n FROM plans JOIN (SELECT region, count(*) AS n FROM {t} GROUP BY region) s USING (region) \
     ORDER BY 1",
    "WITH s AS MATERIALIZED (SELECT region, count(*) AS n FROM {t} GROUP BY region) \
     SELECT planned, n FROM plans JOIN s USING (region) WHERE region = 'r1'",
    "SELECT planned, (SELECT count(*) FROM {t}) FROM plans ORDER BY 1",
    "SELECT region, count(*) FROM {t} GROUP BY region UNION ALL SELECT region, planned FROM plans ORDER BY 1, 2",
    // A person's own rows, of several tables.
    "SELECT count(*), avg(a.x) FROM {t} a JOIN {t} b USING (person) WHERE b.day < 3",
    "SELECT count(*), avg(b.x) FROM {t} a JOIN visits b USING (person) WHERE a.day < 3",
    "SELECT count(*), avg(b.x) FROM people a LEFT JOIN {t} b ON a.person = b.person AND b.day < 3",
    "SELECT a.day, count(*) FROM {t} a FULL JOIN byday b USING (person) GROUP BY a.day",
    "SELECT count(*) FROM {t} a WHERE EXISTS (SELECT FROM {t} b WHERE b.person = a.person AND b.x > 50)",
    "SELECT count(*) FROM {t} WHERE person IN (SELECT person FROM {t} WHERE day < 3)",
    "SELECT avg(n) FROM (SELECT person, least(sum(x), 100) AS n FROM {t} WHERE x > 20 GROUP BY person) s",
    "SELECT count(*), avg(x) FROM (SELECT x FROM {t} WHERE day < 3 UNION ALL SELECT x FROM {t} WHERE day > 3) s",
    "SELECT avg(place) FROM (SELECT least(row_number() OVER (PARTITION BY person ORDER BY x), 5) AS place FROM {t}) s",
];

#[test]
#[ignore = "needs Citus: make test-citus"]
fn the_gate_answers_about_distributed_tables() {
    let mut gate = Gate::new();
    for sql in ASKED {
        gate.assert_true(sql);
    }
    // Begun by the workers, where Citus can.
    gate.grant();
    for sql in &ASKED[..6] {
        gate.assert_true(sql);
    }
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn statements_of_all_kinds_ask_once() {
    let mut gate = Gate::new();
    run(
        &mut gate.asker,
        "PREPARE of_region(text) AS SELECT count(*) FROM visits WHERE region = $1",
    );
    let before = gate.charges();
    for _ in 0..8 {
        let told = gate.ask("EXECUTE of_region('r1')");
        let told: i64 = told[0][0]
            .as_ref()
            .expect("a count")
            .parse()
            .expect("a number");
        assert!((1660..1675).contains(&told), "{told}");
    }
    assert_eq!(gate.charges(), before + 8);
    let told = gate.ask(
        "BEGIN; DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT region, count(*) FROM byday GROUP BY region; FETCH 1 FROM c; \
         COMMIT; FETCH ALL FROM c; FETCH FIRST FROM c; CLOSE c",
    );
    let keys: Vec<_> = told
        .iter()
        .map(|row| row[0].clone().expect("a key"))
        .collect();
    assert_eq!(keys, ["r0", "r1", "r2", "r0"]);
    assert_eq!(told[0], told[3]);
    assert_eq!(gate.charges(), before + 9);
    let plan = gate.ask("EXPLAIN SELECT region, count(*) FROM visits GROUP BY region");
    assert!(
        format!("{plan:?}").contains("Function Scan on answer visits"),
        "{plan:?}"
    );
    assert_eq!(gate.charges(), before + 9);
    let sql = "EXPLAIN (ANALYZE, BUFFERS) SELECT chief, n FROM chiefs \
               JOIN (SELECT region, count(*) AS n FROM visits GROUP BY region) s USING (region)";
    let plan = format!("{:?}", gate.ask(sql));
    assert!(
        plan.contains("Distributed Subplan") && !plan.contains("visits_"),
        "{plan}"
    );
    assert_eq!(gate.charges(), before + 10);
    // An answer that is kept is free, where it was computed by workers too.
    gate.grant();
    run(&mut gate.asker, "SET dp_mean.reuse = on");
    for table in GATED {
        let sql = format!("SELECT day, avg(x), count(*) FROM {table} GROUP BY day");
        let before = gate.charges();
        let first = gate.ask(&sql);
        assert_eq!(first, gate.ask(&sql));
        assert_eq!(gate.charges(), before + 1);
    }
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn workers_begin_what_they_have_a_key_for() {
    // Citus carries a count of rows that takes no mechanism, and means with any.
    begun_on_workers(
        "zcdp",
        &[
            "SELECT count(*) FROM people",
            "SELECT count(region), avg(x) FROM people WHERE day < 3",
            "SELECT day, count(*), avg(x) FROM people GROUP BY day",
        ],
    );
    begun_on_workers(
        "gaussian",
        &["SELECT avg(x), sum(x), stddev(x) FROM people WHERE day < 3"],
    );
}

fn begun_on_workers(accounting: &str, pushed: &[&str]) {
    let mut gate = Gate::of(accounting);
    let fetched = [
        "SELECT region, count(*) FROM people GROUP BY region",
        "SELECT count(*) FROM visits",
        "SELECT avg(x) FROM byday",
        "SELECT chief, count(*) FROM people JOIN chiefs USING (region) GROUP BY chief",
    ];
    // Rows are fetched without a right on what works on states, and without a key on the coordinator.
    let without_key = KeyFile::aside("first");
    for sql in pushed.iter().chain(&fetched) {
        let _ = gate.ask(sql);
    }
    gate.grant();
    for sql in pushed {
        assert_eq!(refused(&mut gate.asker, sql).code, "55000", "{sql}");
    }
    for sql in &fetched {
        let _ = gate.ask(sql);
    }
    drop(without_key);
    for sql in pushed.iter().chain(&fetched) {
        let _ = gate.ask(sql);
    }
    let _aside = ["coordinator", "first", "second"].map(KeyFile::aside);
    for sql in pushed.iter().chain(&fetched) {
        let _ = gate.ask(sql);
    }
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn row_level_security_holds_on_distributed_tables() {
    let mut gate = Gate::new();
    for (table, granted) in [
        ("people", false),
        ("people", true),
        ("visits", true),
        ("byday", true),
    ] {
        if granted {
            gate.grant();
        }
        for sql in [
            "ALTER TABLE {t} ENABLE ROW LEVEL SECURITY",
            "DROP POLICY IF EXISTS early ON {t}",
            "CREATE POLICY early ON {t} FOR SELECT USING (current_user = 'asker' AND day < 2)",
        ] {
            run(&mut gate.owner, &sql.replace("{t}", table));
        }
        for (sql, truth) in [
            (
                "SELECT count(*) FROM {t}",
                "SELECT count(*) FROM alone WHERE day < 2",
            ),
            (
                "SELECT count(*) FROM {t} WHERE upper(region) = 'R1'",
                "SELECT count(*) FROM alone WHERE day < 2 AND region = 'r1'",
            ),
        ] {
            let truth: i64 = value(&mut gate.owner, truth);
            let told = gate.ask(&sql.replace("{t}", table));
            let told: i64 = told[0][0]
                .as_ref()
                .expect("a count")
                .parse()
                .expect("a number");
            assert!((told - truth).abs() <= 5, "{told} for {truth}: {table}");
        }
        run(
            &mut gate.owner,
            &format!("ALTER TABLE {table} FORCE ROW LEVEL SECURITY"),
        );
        let sql = format!("SELECT count(*) FROM {table}");
        gate.assert_refused(&sql, "42501", "row-level security is forced on its owner");
        run(
            &mut gate.owner,
            &format!("ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY"),
        );
    }
    // A policy of a table of which rows may be missing takes no row of the other one.
    run(
        &mut gate.owner,
        "ALTER TABLE people DISABLE ROW LEVEL SECURITY",
    );
    for sql in [
        "SELECT count(*), count(b.day) FROM people a LEFT JOIN visits b USING (person)",
        "SELECT count(*), count(b.day) FROM visits b RIGHT JOIN people a USING (person)",
        "SELECT count(*), count(b.day) FROM people a LEFT JOIN (visits b JOIN byday c USING (person)) USING (person)",
    ] {
        let truth = "SELECT count(*), count(*) FILTER (WHERE day < 2) FROM alone";
        let [told, truth] = [gate.ask(sql), texts(&mut gate.owner, truth)];
        for (told, truth) in told.iter().flatten().zip(truth.iter().flatten()) {
            let [told, truth] = [told, truth].map(|of| of.as_ref().expect("a count"));
            let [told, truth] = [told, truth].map(|of| of.parse::<i64>().expect("a number"));
            assert!((told - truth).abs() <= 5, "{told} for {truth}: {sql}");
        }
    }
    gate.assert_refused(
        "SELECT count(*) FROM people a FULL JOIN visits b USING (person)",
        "42501",
        "row-level security",
    );
    run(&mut gate.owner, "ALTER ROLE holder NOLOGIN");
    gate.assert_refused(
        "SELECT count(*) FROM byday",
        "42501",
        "its owner cannot log in",
    );
    run(&mut gate.owner, "ALTER ROLE holder LOGIN");
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn the_gate_shows_no_row_of_a_distributed_table() {
    let mut gate = Gate::new();
    gate.grant();
    for table in GATED {
        for sql in [
            "SELECT x FROM {t}",
            "SELECT x FROM {t} WHERE person = 17",
            "SELECT max(region) FROM {t}",
            "COPY {t} TO STDOUT",
            "SELECT count(*) FROM {t} JOIN alone USING (person)",
            "SELECT count(*) FROM {t} JOIN hidden USING (region)",
            "SELECT count(*) FROM {t} a JOIN {t} b USING (region)",
            "SELECT person, count(*) FROM {t} GROUP BY person",
        ] {
            gate.assert_refused(&sql.replace("{t}", table), "42501", "permission denied");
        }
    }
    // What Citus offers: on the coordinator, and on a worker.
    let mut on_worker = connect_to_worker("asker");
    let shards = "SELECT nodename || ' ' || table_name || '_' || shardid FROM citus_shards \
                  WHERE table_name = 'world.visits'::regclass AND nodename LIKE '%first%'";
    let shards = texts(&mut gate.owner, shards);
    assert!(!shards.is_empty());
    for row in shards {
        let shard = row[0].clone().expect("a shard");
        let (_, shard) = shard.split_once(' ').expect("its name");
        let shard = format!("world.{}", shard.trim_start_matches("world."));
        for sql in [
            "SELECT x FROM {}",
            "SELECT count(*) FROM {}",
            "SELECT avg(x) FROM {}",
        ] {
            let sql = sql.replace("{}", &shard);
            assert_eq!(refused(&mut on_worker, &sql).code, "42501", "{sql}");
        }
    }
    for sql in [
        "SELECT x FROM world.visits",
        "SELECT count(*) FROM world.visits",
        "SELECT avg(x) FROM world.people",
    ] {
        let code = refused(&mut on_worker, sql).code;
        assert!(["42501", "55000"].contains(&&*code), "{code}: {sql}");
    }
    for sql in [
        "SELECT result FROM run_command_on_shards('visits', 'SELECT count(*) FROM %s')",
        "SELECT result FROM run_command_on_shards('people', 'SELECT max(x) FROM %s')",
    ] {
        for row in gate.ask(sql) {
            let told = row[0].clone().expect("what became of it");
            assert!(told.contains("permission denied"), "{told}");
        }
    }
}

/// Citus sends a SET LOCAL as the client wrote it, on the connections of others too.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn no_statement_travels_with_a_setting() {
    let mut gate = Gate::new();
    let evil = "SET LOCAL work_mem = '5MB'; DO $$ BEGIN \
                IF current_user = 'holder' THEN RAISE EXCEPTION 'as holder'; END IF; END $$";
    run(&mut gate.asker, "SET citus.propagate_set_commands = local");
    let refusal = refused(&mut gate.asker, &format!("BEGIN; {evil}"));
    assert_eq!(refusal.code, "42501", "{refusal:?}");
    run(&mut gate.asker, "ROLLBACK; BEGIN");
    let _ = gate.ask("SELECT count(*) FROM byday");
    for sql in [
        evil,
        "RESET work_mem",
        "RESET ALL",
        "SET TRANSACTION READ ONLY",
    ] {
        run(&mut gate.asker, "SAVEPOINT before");
        assert_eq!(refused(&mut gate.asker, sql).code, "42501", "{sql}");
        run(&mut gate.asker, "ROLLBACK TO before");
    }
    // Without the defence, they run in the name of the owner, where this one fails.
    run(&mut gate.asker, "SELECT dp_test_defence('sent', false)");
    let refusal = refused(&mut gate.asker, evil);
    let message = "failure on connection marked as essential";
    assert!(refusal.message.starts_with(message), "{refusal:?}");
    run(
        &mut gate.asker,
        "ROLLBACK; BEGIN; SET LOCAL work_mem = '5MB'",
    );
    let _ = gate.ask("SELECT count(*) FROM byday");
    run(&mut gate.asker, "SELECT dp_test_defence('sent', true)");
    let refusal = refused(&mut gate.asker, "SELECT count(*) FROM byday");
    assert_eq!(refusal.code, "42501");
    run(
        &mut gate.asker,
        "ROLLBACK; SET citus.propagate_set_commands = none",
    );
    let _ = gate.ask("SELECT count(*) FROM byday");
    // What a superuser has sent, nobody's question goes along with.
    let owner = &mut gate.owner;
    run(
        owner,
        "BEGIN; SET LOCAL citus.propagate_set_commands = local; SET LOCAL work_mem = '5MB'; SET LOCAL ROLE asker",
    );
    assert_eq!(refused(owner, "SELECT count(*) FROM byday").code, "42501");
    run(owner, "ROLLBACK");
}

/// Neither Citus nor PostgreSQL says anything while private rows are read.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn messages_of_citus_stay_inside() {
    let mut gate = Gate::new();
    gate.grant();
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut config: postgres::Config = variable("DP_MEAN_CITUS_URL")
        .parse()
        .expect("a connection string");
    config.user("asker").notice_callback(move |notice| {
        let _ = sender.send(notice.message().to_owned());
    });
    let mut client = config.connect(NoTls).expect("a session");
    run(
        &mut client,
        "SET search_path = world, public; SET dp_mean.reuse = off; SET citus.log_remote_commands = on;
         SET citus.multi_task_query_log_level = 'error'; SET citus.enable_binary_protocol = off",
    );
    let told: i64 = value(&mut client, "SELECT count(*) FROM chiefs");
    assert_eq!(told, 3);
    for table in GATED {
        let _: i64 = value(&mut client, &format!("SELECT count(*) FROM {table}"));
    }
    let told: Vec<String> = receiver.try_iter().collect();
    let about = |told: &&String| {
        GATED
            .iter()
            .any(|table| told.contains(&format!("{table}_")))
    };
    assert_eq!(told.iter().find(about), None);
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
    for block in include_str!("../docs/distributed.md")
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
    let page = include_str!("../docs/distributed.md");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(page).contains(&words(GRANT)), "docs/distributed.md");
}
