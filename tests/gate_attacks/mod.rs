//! What a role may try that is allowed to ask about a protected table, and has no right to read it. One person of the
//! table is special: whatever is tried, nothing but noise tells whether they are there.
//!
//! For each defence that a test can take away, an attack succeeds without it: a test that cannot fail is none.

mod alike;
mod answers;
mod bombs;
mod charges;
mod expressions;
mod functions;
mod joins;
mod keys;
mod messages;
mod names;
mod neighbours;
mod objects;
mod one_form;
mod own_rows;
mod periods;
mod plans;
mod questions;
mod random;
mod relations;
mod roles;
mod times;
mod width;

use std::sync::{Arc, Mutex};

use dp_mean_tests::{Build, Database, drop_roles, refusal, run, value};
use postgres::{Client, SimpleQueryMessage};

/// What nothing may show: values of the special person that are nowhere else.
const SECRETS: [&str; 2] = ["canary", "4242.4242"];

/// An owner, a role that may ask, and one more: `{o}`, `{a}` and `{b}`. `{d}` is the database.
const ROLES: &str = "
CREATE ROLE {o} LOGIN; CREATE ROLE {a} LOGIN; CREATE ROLE {b} LOGIN;
GRANT EXECUTE ON FUNCTION dp_set_budget TO {o}, {b};
GRANT CREATE ON SCHEMA public TO {o}, {a}, {b};
GRANT CREATE ON DATABASE {d} TO {a}";

/// The protected tables.
///
/// Each person but the special one has 4 rows in `visits`, and one in `people`.
/// Of all groups none has enough people to be shown with so small a delta: which are, would be a matter of noise.
/// Nothing analyses them in the middle of an attack: plans that are kept would be made again.
const TABLES: &str = "
CREATE FUNCTION show(name) RETURNS boolean IMMUTABLE LANGUAGE plpgsql COST 0.0001
AS $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
SET ROLE {o};
CREATE DOMAIN short AS text CHECK (length(value) < 6);
CREATE TABLE visits (
    patient integer NOT NULL, region text, cost float8 NOT NULL, big numeric, day date, note text COLLATE \"C\",
    m money, b bit(4), words integer[], tall integer
) WITH (autovacuum_enabled = off);
INSERT INTO visits SELECT g % 50, 'r' || g % 4, g % 100, g % 7, date '2025-01-01' + g % 300, 'n' || g % 3,
    (g % 3)::money, (g % 16)::bit(4), ARRAY[g], g % 5 FROM generate_series(1, 200) g;
CREATE INDEX ON visits (patient);
CREATE TABLE people (person integer PRIMARY KEY, dept text, salary float8 NOT NULL) WITH (autovacuum_enabled = off);
INSERT INTO people SELECT g, 'd' || g % 4, 1000 + g FROM generate_series(1, 100) g;
SELECT dp_set_budget('patients', 4096, 1e-3);
SELECT dp_protect('visits', 'patient', 'patients', groups => 1, rows => 2, query_delta => 1e-300);
SELECT dp_declare('visits', 'cost', 0, 5000);
SELECT dp_protect('people', 'person', 'patients', query_delta => 1e-300);
SELECT dp_declare('people', 'salary', 0, 5000);
SELECT dp_allow('visits', '{a}'), dp_allow('people', '{a}');
SET ROLE {a};
CREATE TABLE own (x integer, y text);
INSERT INTO own SELECT g, 'r' || g FROM generate_series(1, 3) g;
RESET ROLE;
ANALYZE";

/// The special person.
const PERSON: &str = "
INSERT INTO visits VALUES (666, 'canary', 4242.4242, ('1e' || 30000)::numeric, '5874897-12-31',
    'canary' || chr(92), 42::money, B'1010', ARRAY[1, 2, 3], 10);
INSERT INTO visits SELECT 666, 'canary' || g, 4242.4242, 1, '2025-01-01', 'x', 1::money, B'1010', NULL, 1
    FROM generate_series(1, 9) g;
INSERT INTO people VALUES (666, 'canary', 4242.4242)";

/// How an attack ended: the error, or how many columns came; and what the server said meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub error: Option<(String, String)>,
    pub heard: Vec<String>,
    /// All that came, as text.
    pub shown: String,
}

impl End {
    /// What does not depend on noise.
    fn kind(&self) -> (&Option<(String, String)>, &[String]) {
        (&self.error, &self.heard)
    }

    /// Whether a value of the person is shown that the attack did not say itself.
    fn tells_but(&self, sql: &str) -> bool {
        let all = format!("{:?} {:?} {}", self.error, self.heard, self.shown);
        let secrets = SECRETS.iter().filter(|secret| !sql.contains(**secret));
        secrets.into_iter().any(|secret| all.contains(secret))
    }
}

/// A database with the protected tables.
pub struct Stage {
    pub database: Database,
    pub root: Client,
    heard: Arc<Mutex<Vec<String>>>,
    names: [String; 3],
}

impl Stage {
    pub fn new() -> Self {
        let mut stage = Self::of("");
        stage.as_root(TABLES);
        stage.as_root(PERSON);
        stage
    }

    /// With tables of the owner's.
    pub fn of(tables: &str) -> Self {
        let database = Database::new(Build::Testing);
        let root = database.connect();
        let names = ["owner", "analyst", "other"].map(|who| format!("{}_{who}", database.name()));
        let mut stage = Self {
            database,
            root,
            heard: Arc::default(),
            names,
        };
        stage.as_root(ROLES);
        stage.as_owner(tables);
        stage
    }

    /// SQL with the names of the roles in it.
    pub fn fill(&self, sql: &str) -> String {
        let [owner, analyst, other] = &self.names;
        let sql = sql.replace("{o}", owner).replace("{a}", analyst);
        sql.replace("{b}", other)
            .replace("{d}", self.database.name())
    }

    /// Runs statements as the superuser.
    pub fn as_root(&mut self, sql: &str) {
        let sql = self.fill(sql);
        run(&mut self.root, &sql);
    }

    /// Runs statements as the owner of the tables.
    pub fn as_owner(&mut self, sql: &str) {
        self.as_root(&format!("SET ROLE {{o}}; {sql}; RESET ROLE"));
    }

    /// A session of the analyst, whose messages are kept.
    pub fn analyst(&self) -> Client {
        let kept = Arc::clone(&self.heard);
        let hear = move |said| kept.lock().expect("one session").push(said);
        self.database.connect_listening(&self.names[1], hear)
    }

    /// What the server said since this was asked last.
    pub fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock().expect("one session"))
    }

    /// What comes of statements of the analyst.
    pub fn attack(&self, client: &mut Client, sql: &str) -> End {
        self.heard();
        let sql = self.fill(sql);
        match client.simple_query(&sql) {
            Ok(messages) => {
                let shown = messages.iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => Some(
                        (0..row.len())
                            .map(|i| row.get(i).unwrap_or("NULL"))
                            .collect::<Vec<_>>()
                            .join("|"),
                    ),
                    _ => None,
                });
                End {
                    error: None,
                    shown: shown.collect::<Vec<_>>().join("\n"),
                    heard: self.heard(),
                }
            }
            Err(error) => {
                let refusal = refusal(&error, &sql);
                let all = format!("{} {} {}", refusal.detail, refusal.context, refusal.hint);
                End {
                    error: Some((refusal.code, refusal.message)),
                    shown: all,
                    heard: self.heard(),
                }
            }
        }
    }

    /// Puts the special person into the tables, or takes them out.
    pub fn set_person(&mut self, person: bool) {
        self.as_root(
            "DELETE FROM visits WHERE patient = 666; DELETE FROM people WHERE person = 666",
        );
        if person {
            self.as_root(PERSON);
        }
    }

    /// How statements of the analyst end in a session of its own, with the special person in the tables and without.
    pub fn with_and_without(&mut self, before: &str, sql: &str) -> [End; 2] {
        let mut ends = Vec::new();
        for person in [true, false] {
            self.set_person(person);
            let mut client = self.analyst();
            let before = self.fill(before);
            run(&mut client, &before);
            ends.push(self.attack(&mut client, sql));
        }
        self.set_person(true);
        ends.try_into().expect("two")
    }

    /// That an attack shows nothing, and ends as it does without the person.
    #[track_caller]
    pub fn assert_tells_nothing(&mut self, before: &str, sql: &str) -> End {
        let [with, without] = self.with_and_without(before, sql);
        assert_eq!(with.kind(), without.kind(), "the person is seen by: {sql}");
        assert!(!with.tells_but(sql), "{with:?}: {sql}");
        with
    }

    /// That the same attack succeeds without a defence: it shows the person, or ends otherwise with them.
    #[track_caller]
    pub fn assert_tells_without(&mut self, defences: &[&str], before: &str, sql: &str) {
        let down: String = defences.iter().map(|defence| down(defence)).collect();
        let [with, without] = self.with_and_without(&format!("{down}{before}"), sql);
        let differs = with.kind() != without.kind() || with.tells_but(sql) && with != without;
        assert!(
            differs,
            "without {defences:?} nothing is told: {with:?}: {sql}"
        );
    }

    /// A number that the analyst gets.
    pub fn number(&self, client: &mut Client, sql: &str) -> i64 {
        let sql = self.fill(sql);
        value(client, &sql)
    }

    /// What was spent by now, in shares of epsilon, and how many charges there are.
    pub fn spent(&mut self) -> (f64, i64) {
        let row = self.root.query_one(
            "SELECT coalesce(sum(spent_share * limit_epsilon), 0), coalesce(sum(charges), 0)::bigint FROM dp_budgets \
             WHERE budget = 'patients' AND role IS NULL",
            &[],
        );
        let row = row.expect("a budget");
        (row.get(0), row.get(1))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let names = self.names.join(", ");
        let dropped = drop_roles(&mut self.root, &names);
        if !std::thread::panicking() {
            dropped.expect("the roles can go");
        }
    }
}

/// Deletes a row of `probe`, and waits until nobody can see it any more: a session that writes to any database of the
/// server keeps it from being cleaned up.
pub fn kill_a_row(client: &mut Client) {
    let delete = "WITH w AS (DELETE FROM probe WHERE ctid = '(0,2)' RETURNING 1) \
                  SELECT pg_current_xact_id()::text FROM w";
    let killer: String = value(client, delete);
    let is_gone = format!("SELECT pg_snapshot_xmin(pg_current_snapshot()) > '{killer}'::xid8");
    while !value::<bool>(client, &is_gone) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The statement that takes a defence away.
pub fn down(defence: &str) -> String {
    format!("SELECT dp_test_defence('{defence}', false);")
}

/// The version of the server, as 150000.
pub fn version(client: &mut Client) -> i32 {
    let version: String = value(client, "SHOW server_version_num");
    version.parse().expect("a number")
}
