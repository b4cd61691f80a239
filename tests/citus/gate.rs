//! The gate on Citus: plain SQL of a role that has no right on distributed tables, and what it shows of their rows.

use std::path::PathBuf;

use dp_mean_tests::{refused, rows, run, value, variable};
use postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};

use super::{GRANT, KeyFile, connect, world};

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
const ASKED: [&str; 28] = [
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
    "SELECT region, count(*), count(DISTINCT day) FROM {t} GROUP BY region",
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
