//! What the SQL tests share: connections to the two throw-away servers that `make test` starts,
//! a database of one's own for each test, and readable failures.

#![forbid(unsafe_code)]

use std::env;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use postgres::error::ErrorPosition;
use postgres::{Client, NoTls, Row};

pub mod auditing;
pub mod calls;
pub mod mix;
pub mod releases;
pub mod statistics;

/// Which build of the library a server runs.
#[derive(Clone, Copy)]
pub enum Build {
    /// What users install.
    Release,
    /// The one with `dp_test_seed` and its kin, with the checks of a debug build.
    Testing,
}

impl Build {
    fn url(self) -> String {
        let name = match self {
            Self::Release => "DP_MEAN_RELEASE_URL",
            Self::Testing => "DP_MEAN_TESTING_URL",
        };
        variable(name)
    }
}

/// An environment variable that `make test` sets.
pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run the tests by `make test`"))
}

/// A database made for one test, with the extension in it; dropped with the server.
pub struct Database {
    build: Build,
    name: String,
}

impl Database {
    /// An empty database with `CREATE EXTENSION dp_mean`; in the testing build also the test
    /// functions of `tests/sql/testing.sql`.
    pub fn new(build: Build) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dp_test_{}_{number}", std::process::id());
        let mut server = Client::connect(&build.url(), NoTls).expect("the test server answers");
        server
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("a test database");
        let database = Self { build, name };
        let mut client = database.connect();
        client
            .batch_execute("CREATE EXTENSION dp_mean")
            .expect("CREATE EXTENSION dp_mean");
        if matches!(build, Build::Testing) {
            client
                .batch_execute(include_str!("../sql/testing.sql"))
                .expect("the test functions");
        }
        database
    }

    /// A new session as the superuser.
    pub fn connect(&self) -> Client {
        self.connect_as("postgres")
    }

    /// A new session as `role`.
    pub fn connect_as(&self, role: &str) -> Client {
        let mut config: postgres::Config = self.build.url().parse().expect("a connection string");
        config.dbname(&self.name).user(role);
        config
            .connect(NoTls)
            .expect("a session in the test database")
    }

    /// A new session as `role`, with options for the server, such as `-c setting=value`.
    ///
    /// # Errors
    /// The server refuses an option.
    pub fn connect_with(&self, role: &str, options: &str) -> Result<Client, postgres::Error> {
        let mut config: postgres::Config = self.build.url().parse().expect("a connection string");
        config.dbname(&self.name).user(role).options(options);
        config.connect(NoTls)
    }

    /// A new session as `role` that hands on what the server says beside its answers.
    pub fn connect_listening(
        &self,
        role: &str,
        hear: impl Fn(String) + Send + Sync + 'static,
    ) -> Client {
        let mut config: postgres::Config = self.build.url().parse().expect("a connection string");
        config.dbname(&self.name).user(role);
        config.notice_callback(move |said| {
            hear(format!(
                "{} {}",
                said.message(),
                said.detail().unwrap_or_default()
            ))
        });
        config
            .connect(NoTls)
            .expect("a session in the test database")
    }

    /// A new session as the superuser, and the warnings that it gets.
    pub fn connect_with_warnings(&self) -> (Client, Arc<Mutex<Vec<String>>>) {
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&warnings);
        let mut config: postgres::Config = self.build.url().parse().expect("a connection string");
        config.dbname(&self.name).user("postgres");
        config.notice_callback(move |notice| {
            if notice.severity() == "WARNING" {
                kept.lock()
                    .expect("one session")
                    .push(notice.message().to_owned());
            }
        });
        let client = config
            .connect(NoTls)
            .expect("a session in the test database");
        (client, warnings)
    }

    /// The database's name, unique in its server.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A database and one superuser session in it.
pub fn session(build: Build) -> (Database, Client) {
    let database = Database::new(build);
    let client = database.connect();
    (database, client)
}

/// A role that may connect and no more, unique in its server; dropped with all it owns and may do
/// in the test's database.
pub struct Role<'a> {
    database: &'a Database,
    name: String,
}

impl<'a> Role<'a> {
    pub fn new(database: &'a Database) -> Self {
        let name = format!("{}_nobody", database.name());
        let sql = format!("CREATE ROLE {name} LOGIN");
        database.connect().batch_execute(&sql).expect("a role");
        Self { database, name }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A new session as this role.
    pub fn connect(&self) -> Client {
        self.database.connect_as(&self.name)
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let dropped = drop_roles(&mut self.database.connect(), &self.name);
        if !std::thread::panicking() {
            dropped.expect("the role can go");
        }
    }
}

/// Drops roles, `a, b, c`, with all they own and may do in the session's database. Those that own a budget would stay:
/// it goes to the session's role.
///
/// # Errors
/// Something holds them.
pub fn drop_roles(client: &mut Client, names: &str) -> Result<(), postgres::Error> {
    client.batch_execute(&format!(
        "DO $$ DECLARE b text; BEGIN
         FOR b IN SELECT name FROM dp_mean.budget_owner
             WHERE owner::text = ANY (string_to_array('{names}', ', ')) LOOP
         PERFORM dp_set_budget_owner(b, current_user::regrole); END LOOP;
         EXCEPTION WHEN undefined_table OR invalid_schema_name THEN NULL; END $$;
         DROP OWNED BY {names} CASCADE; DROP ROLE {names}"
    ))
}

/// What PostgreSQL said of a statement that must fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: String,
    pub message: String,
    pub hint: String,
    pub detail: String,
    /// The CONTEXT: the functions that ran, and whether a parallel worker did.
    pub context: String,
    /// Where in the text of the query, counted from 1; `None` for an error of a later stage.
    pub position: Option<u32>,
}

/// Runs a statement that must fail, and returns its error.
pub fn refused(client: &mut Client, sql: &str) -> Refusal {
    match client.simple_query(sql) {
        Ok(_) => panic!("not refused: {sql}"),
        Err(error) => refusal(&error, sql),
    }
}

/// The server's words in a client error.
pub fn refusal(error: &postgres::Error, sql: &str) -> Refusal {
    let server = error
        .as_db_error()
        .unwrap_or_else(|| panic!("no server error: {error}: {sql}"));
    Refusal {
        code: server.code().code().to_owned(),
        message: server.message().to_owned(),
        hint: server.hint().unwrap_or_default().to_owned(),
        detail: server.detail().unwrap_or_default().to_owned(),
        context: server.where_().unwrap_or_default().to_owned(),
        position: match server.position() {
            Some(&ErrorPosition::Original(position)) => Some(position),
            _ => None,
        },
    }
}

/// The single value of a query.
pub fn value<T: for<'a> postgres::types::FromSql<'a>>(client: &mut Client, sql: &str) -> T {
    client
        .query_one(sql, &[])
        .unwrap_or_else(|error| panic!("{error:?}: {sql}"))
        .get(0)
}

/// Runs statements that must succeed.
pub fn run(client: &mut Client, sql: &str) {
    client
        .batch_execute(sql)
        .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// The rows of a query that must succeed.
pub fn rows(client: &mut Client, sql: &str) -> Vec<Row> {
    client
        .query(sql, &[])
        .unwrap_or_else(|error| panic!("{error:?}: {sql}"))
}

/// Settings that make PostgreSQL take a parallel plan for a small table too.
pub const PARALLEL: &str = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; \
     SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2";

/// Settings, one after the other, under which PostgreSQL groups rows in all the ways that it has, and what their plans
/// then show.
pub const GROUPINGS: [(&str, &[&str]); 5] = [
    ("SET enable_hashagg = off", &["GroupAggregate"]),
    (
        "SET enable_hashagg = on; SET work_mem = '64kB'; SET hash_mem_multiplier = 1; SET enable_sort = off",
        &["HashAggregate"],
    ),
    (
        "RESET enable_sort; RESET work_mem; SET enable_partitionwise_aggregate = on",
        &[],
    ),
    (PARALLEL, &["Partial", "Finalize"]),
    (
        "SET parallel_leader_participation = off; SET enable_hashagg = off",
        &["Partial GroupAggregate"],
    ),
];

/// The plan of a query, as EXPLAIN prints it.
pub fn explain(client: &mut Client, sql: &str) -> String {
    let rows = client.query(&format!("EXPLAIN (COSTS OFF, VERBOSE) {sql}"), &[]);
    let rows = rows.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    rows.iter()
        .map(|row| row.get::<_, String>(0))
        .collect::<Vec<_>>()
        .join("\n")
}

/// That each word is in the plan, or, with `!` before it, does not.
pub fn assert_plan(plan: &str, words: &[&str], what: &str) {
    for word in words {
        match word.strip_prefix('!') {
            Some(word) => assert!(!plan.contains(word), "{word:?} in: {plan}\n{what}"),
            None => assert!(plan.contains(word), "no {word:?} in: {plan}\n{what}"),
        }
    }
}

/// The bytes that the session's backend holds for its queries: not its caches of the catalog, which another session's
/// DDL empties and the next query fills again.
pub fn memory(client: &mut Client) -> i64 {
    value(
        client,
        "SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts
         WHERE name NOT IN ('CacheMemoryContext', 'index info')",
    )
}

/// That there is a call for each mechanism of each aggregate, of `(aggregate, mechanism)`: a text such
/// as `hourglass(gamma=0.4)`.
pub fn assert_covers_the_catalog(client: &mut Client, covered: &[(&str, &str)]) {
    let catalog = rows(client, "SELECT aggregate, mechanism FROM dp_mechanisms()");
    assert!(!catalog.is_empty(), "no mechanisms");
    for row in catalog {
        let (aggregate, mechanism): (String, String) = (row.get(0), row.get(1));
        let is_it = |(of, text): &(&str, &str)| {
            *of == aggregate && text.split('(').next() == Some(mechanism.as_str())
        };
        assert!(
            covered.iter().any(is_it),
            "{mechanism} of {aggregate} is in the catalog and not here"
        );
    }
}
