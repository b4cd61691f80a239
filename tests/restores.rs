//! What becomes of the ledger where a dump is restored in part or twice, and under tools that copy or index tables:
//! nothing is charged until what was spent is known again. Each attack succeeds without its defence.

use std::fmt::Write as _;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use dp_mean_tests::{Build, Database, Refusal, Role, refused, rows, run, session, value, variable};
use postgres::Client;

use crate::ledger::{past_limit, steps};

/// A program of the server, on a database of the testing build; how it ends is the caller's to judge.
fn tool(name: &str, database: &str, arguments: &[&str]) -> Output {
    let url = variable("DP_MEAN_TESTING_URL").replace("dbname=postgres", "");
    Command::new(format!("{}/{name}", variable("DP_MEAN_BIN")))
        .args(["-d", &format!("{url} dbname={database}")])
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// How a dump is made and loaded.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Of SQL with COPY, by `psql`.
    Plain,
    /// Of SQL with a statement for each row, by `psql`.
    Inserts,
    /// An archive, by `pg_restore`.
    Archive,
}

const FORMS: [Form; 3] = [Form::Plain, Form::Inserts, Form::Archive];

/// A dump in a file, which goes with it.
struct Dump {
    form: Form,
    file: String,
}

impl Drop for Dump {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Dump {
    fn of(database: &str, form: Form, options: &[&str]) -> Self {
        let file = std::env::temp_dir().join(format!("{database}_{form:?}.dump"));
        let file = file.to_str().expect("a path in UTF-8").to_owned();
        let format = match form {
            Form::Plain => "--format=plain",
            Form::Inserts => "--inserts",
            Form::Archive => "--format=custom",
        };
        let options = [&[format, "--file", &file], options].concat();
        let made = tool("pg_dump", database, &options);
        assert!(made.status.success(), "{made:?}");
        Self { form, file }
    }

    /// Loads it, whatever fails, into a database. What was said on the way.
    fn load(&self, database: &str) -> String {
        let output = match self.form {
            Form::Archive => tool("pg_restore", database, &[&self.file]),
            _ => tool("psql", database, &["-X", "-q", "-f", &self.file]),
        };
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// Another database, which goes with it.
struct Copy {
    name: String,
    root: Client,
}

impl Copy {
    fn new(database: &Database, client: &mut Client, suffix: &str) -> Self {
        let name = format!("{}_{suffix}", database.name());
        run(client, &format!("CREATE DATABASE {name}"));
        let root = connect(&name);
        Self { name, root }
    }

    /// Loads a dump, whatever fails. What was said on the way. That the ledger is elsewhere now is not looked at: it would
    /// refuse by itself (`tests/homes.rs`).
    fn load(&mut self, dump: &Dump) -> String {
        let said = dump.load(&self.name);
        // Catalogs were filled behind its back.
        self.root = without(&self.name, &["ledger_home"]);
        said
    }

    /// What a dump brings into an empty database, and what was said on the way.
    fn restored(database: &Database, client: &mut Client, dump: &Dump) -> (Self, String) {
        let mut copy = Self::new(database, client, &format!("{:?}", dump.form).to_lowercase());
        let said = copy.load(dump);
        (copy, said)
    }

    fn go(self, client: &mut Client) {
        drop(self.root);
        run(client, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn connect(database: &str) -> Client {
    let url = variable("DP_MEAN_TESTING_URL");
    let mut config: postgres::Config = url.parse().expect("a connection string");
    config.dbname(database);
    config.connect(postgres::NoTls).expect("a session")
}

/// A session of the testing build with a budget `b` of (epsilon, delta).
fn with_budget(epsilon: f64, delta: f64) -> (Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(
        &mut client,
        &format!("SELECT dp_set_budget('b', {epsilon:?}, {delta:?})"),
    );
    (database, client)
}

/// A session in a database without defences of the ledger.
fn without(database: &str, defences: &[&str]) -> Client {
    let mut client = connect(database);
    for defence in defences {
        run(
            &mut client,
            &format!("SELECT dp_test_defence('{defence}', false)"),
        );
    }
    client
}

#[track_caller]
fn damaged(client: &mut Client, sql: &str, message: &str) -> Refusal {
    let error = refused(client, sql);
    assert_eq!(error.code, "55000", "{sql}: {error:?}");
    assert!(error.message.contains(message), "{sql}: {error:?}");
    assert!(!error.hint.is_empty(), "{sql}");
    error
}

const UNKNOWN: &str = "spending of budget \"b\" is unknown after a restore";
const LOST: &str = "has rows of a budget that does not exist";
const CHARGE: &str = "SELECT dp_charge('b', 0.25, 0)";

/// Epsilon and the number of charges of all together, as far as they are known.
fn of_all(client: &mut Client) -> (Option<f64>, Option<i64>) {
    let sql = "SELECT spent_epsilon, charges FROM dp_budgets WHERE budget = 'b' AND role IS NULL";
    let row = client.query_one(sql, &[]).expect("a line");
    (row.get(0), row.get(1))
}

#[test]
fn a_budget_has_its_line_from_the_start() {
    let (database, mut client) = session(Build::Testing);
    let lines = "SELECT count(*) FROM dp_mean.spent";
    let mut other = database.connect();
    for (sql, expected) in [
        ("BEGIN; SELECT dp_set_budget('b', 1, 0); ROLLBACK", 0),
        (
            "BEGIN; SAVEPOINT s; SELECT dp_set_budget('b', 1, 0); ROLLBACK TO s; COMMIT",
            0,
        ),
        (
            "BEGIN; SAVEPOINT s; SELECT dp_set_budget('b', 1, 0); RELEASE s; SELECT dp_set_budget('b', 2, 0); COMMIT",
            1,
        ),
        ("SELECT dp_set_budget('b', 1, 0)", 1),
        (
            "BEGIN; SELECT dp_set_budget('c', 1, 0); PREPARE TRANSACTION 'made'; ROLLBACK PREPARED 'made'",
            1,
        ),
        ("SELECT dp_set_budget('c', 1, 0)", 2),
    ] {
        steps(&mut client, sql);
        assert_eq!(value::<i64>(&mut client, lines), expected, "{sql}");
    }
    // Two sessions that make the same one make one.
    run(&mut client, "BEGIN; SELECT dp_set_budget('d', 1, 0)");
    let late = thread::spawn(move || {
        run(&mut other, "SELECT dp_set_budget('d', 2, 0)");
        other
    });
    thread::sleep(Duration::from_millis(300));
    run(&mut client, "COMMIT");
    let mut other = late.join().expect("the second session");
    assert_eq!(value::<i64>(&mut client, lines), 3);
    // What a transaction made is charged by others as soon as it is there, and for good.
    steps(
        &mut other,
        "BEGIN; SELECT dp_charge('d', 0.5, 0); ROLLBACK; SELECT dp_charge('d', 1, 0)",
    );
    past_limit(&refused(&mut client, "SELECT dp_charge('d', 1, 0)"));
    // Their numbers are nobody else's.
    let sql = "SELECT bool_and(id > 1000000) AND count(DISTINCT id) = 3 FROM dp_mean.budget";
    assert!(value::<bool>(&mut client, sql));
}

/// What was spent is left out of a dump: the audit knows some of it, and the owner the rest.
#[test]
fn a_dump_without_what_was_spent_leaves_nothing_to_spend() {
    let (database, mut client) = with_budget(1.0, 1e-6);
    let role = Role::new(&database);
    steps(
        &mut client,
        &format!("SELECT dp_charge('b', 0.5, 0, '{}'); {CHARGE}", role.name()),
    );
    for form in FORMS {
        let dump = Dump::of(
            database.name(),
            form,
            &["--exclude-table-data=dp_mean.spent"],
        );
        let (mut copy, said) = Copy::restored(&database, &mut client, &dump);
        assert_eq!(said, "", "{form:?}");
        let root = &mut copy.root;
        let error = damaged(root, CHARGE, UNKNOWN);
        assert!(error.hint.contains("dp_restore_budget"), "{error:?}");
        assert_eq!(of_all(root), (None, None), "{form:?}");
        let left = "SELECT left_epsilon IS NULL AND questions_left IS NULL FROM dp_budgets";
        assert!(value::<bool>(root, left));
        // A limit is no word on what was spent.
        run(root, "SELECT dp_set_budget('b', 1, 1e-6)");
        damaged(root, CHARGE, UNKNOWN);
        // Without the defence, all of it is there again.
        let mut open = without(&copy.name, &["ledger_home", "ledger_lines", "ledger_sums"]);
        run(&mut open, "SELECT dp_charge('b', 1, 0)");
        copy.go(&mut client);

        let (mut copy, _) = Copy::restored(&database, &mut client, &dump);
        let root = &mut copy.root;
        // Less than the audit knows is not taken for true.
        run(root, "SELECT dp_restore_budget('b', 0.125, 0)");
        assert_eq!(of_all(root), (Some(0.75), Some(3)), "{form:?}");
        run(root, "SELECT dp_restore_budget('b', 0.875, 1e-9)");
        assert_eq!(of_all(root), (Some(0.875), Some(4)), "{form:?}");
        past_limit(&refused(root, CHARGE));
        run(root, "SELECT dp_charge('b', 0.125, 0)");
        let sql =
            "SELECT count(*) FROM dp_ledger WHERE query LIKE '%dp_restore_budget%' AND NOT refused";
        assert_eq!(value::<i64>(root, sql), 2);
        copy.go(&mut client);
    }
}

/// Where a role is missing, rows that name it do not load: with COPY no row of the table, else none of the role.
#[test]
fn a_dump_whose_roles_are_missing_leaves_nothing_to_spend() {
    let (database, mut client) = with_budget(1.0, 1e-6);
    let missing = format!("{}_missing", database.name());
    steps(
        &mut client,
        &format!(
            "CREATE ROLE {missing}; SELECT dp_set_budget('b', 0.5, 0, '{missing}'); \
             SELECT dp_charge('b', 0.5, 0, '{missing}'); {CHARGE}; \
             CREATE TABLE t (person int PRIMARY KEY); \
             SELECT dp_protect('t', 'person', 'b'); SELECT dp_allow('t', '{missing}')",
        ),
    );
    let dumps = FORMS.map(|form| Dump::of(database.name(), form, &[]));
    run(
        &mut client,
        &format!("DROP OWNED BY {missing}; DROP ROLE {missing}"),
    );
    for dump in &dumps {
        let (mut copy, said) = Copy::restored(&database, &mut client, dump);
        let error = format!("role \"{missing}\" does not exist");
        assert!(said.contains(&error), "{:?}: {said}", dump.form);
        let root = &mut copy.root;
        assert_eq!(
            value::<i64>(root, "SELECT count(*) FROM dp_mean.allowance"),
            0
        );
        let (lines, defence) = match dump.form {
            // Its line is lost, and the sums show it.
            Form::Inserts => (2, "ledger_sums"),
            _ => {
                damaged(
                    root,
                    CHARGE,
                    "limit of budget \"b\" is unknown after a restore",
                );
                run(root, "SELECT dp_set_budget('b', 1, 1e-6)");
                // What was spent may be a sum of rhos: then those that follow are added to it as rhos.
                let terms = "SELECT accounting FROM dp_budget_limits WHERE role IS NULL";
                assert_eq!(value::<String>(root, terms), "zcdp");
                (0, "ledger_lines")
            }
        };
        let sql = "SELECT count(*) FROM dp_mean.spent";
        assert_eq!(value::<i64>(root, sql), lines, "{:?}", dump.form);
        damaged(root, CHARGE, UNKNOWN);
        damaged(root, "SELECT dp_charge('b', 0.01, 0, 'postgres')", UNKNOWN);
        // Without the defence, the role begins again.
        run(root, &format!("CREATE ROLE {missing}"));
        run(
            root,
            &format!("SELECT dp_set_budget('b', 0.5, 0, '{missing}')"),
        );
        let sql = format!("SELECT dp_charge('b', 0.25, 0, '{missing}')");
        damaged(root, &sql, UNKNOWN);
        let open = &mut without(&copy.name, &["ledger_home", defence, "ledger_sums"]);
        run(open, &sql);
        copy.go(&mut client);
        run(&mut client, &format!("DROP ROLE {missing}"));

        let (mut copy, _) = Copy::restored(&database, &mut client, dump);
        let root = &mut copy.root;
        steps(
            root,
            &format!(
                "CREATE ROLE {missing}; SELECT dp_set_budget('b', 1, 1e-6); \
                 SELECT dp_set_budget('b', 0.5, 0, '{missing}'); SELECT dp_restore_budget('b', 0.375, 0, '{missing}')"
            ),
        );
        // It is known of the role now, and not of all.
        damaged(root, CHARGE, UNKNOWN);
        run(root, "SELECT dp_restore_budget('b', 0.75, 0)");
        assert_eq!(of_all(root).0, Some(0.75), "{:?}", dump.form);
        past_limit(&refused(root, &sql));
        run(
            root,
            &format!("SELECT dp_charge('b', 0.125, 0, '{missing}')"),
        );
        run(root, "SELECT dp_charge('b', 0.125, 0)");
        past_limit(&refused(root, "SELECT dp_charge('b', 0.125, 0)"));
        copy.go(&mut client);
        run(&mut client, &format!("DROP ROLE {missing}"));
    }
}

#[test]
fn a_dump_that_is_loaded_over_its_ledger_is_seen() {
    let (database, mut client) = with_budget(1.0, 1e-6);
    steps(&mut client, CHARGE);
    let dump = Dump::of(database.name(), Form::Plain, &[]);
    steps(&mut client, CHARGE);
    let said = dump.load(database.name());
    assert!(said.contains("budget_pkey"), "{said}");
    damaged(&mut client, CHARGE, UNKNOWN);
    assert_eq!(of_all(&mut client), (None, None));
    // Without the defence, one of the two lines is as good as the other: here the older one comes first.
    run(
        &mut client,
        "BEGIN; CREATE TABLE kept AS SELECT * FROM dp_mean.spent ORDER BY epsilon; \
         ALTER TABLE dp_mean.spent DISABLE TRIGGER ALL; DELETE FROM dp_mean.spent; \
         INSERT INTO dp_mean.spent SELECT * FROM kept ORDER BY epsilon; \
         ALTER TABLE dp_mean.spent ENABLE TRIGGER ALL; COMMIT; DROP TABLE kept",
    );
    let mut open = without(database.name(), &["ledger_lines", "ledger_sums"]);
    run(&mut open, "SELECT dp_charge('b', 0.75, 0)");
    drop(open);
    // All that is known counts, once: 0.25 twice, and 0.75 of just now.
    damaged(&mut client, CHARGE, UNKNOWN);
    run(&mut client, "SELECT dp_restore_budget('b', 0.5, 0)");
    assert_eq!(of_all(&mut client).0, Some(1.25));
    past_limit(&refused(&mut client, CHARGE));
}

/// Budgets of two ledgers keep their own lines and charges in one, whatever their names are.
#[test]
fn two_ledgers_do_not_mix() {
    let (database, mut client) = with_budget(1.0, 0.0);
    steps(&mut client, CHARGE);
    let dump = Dump::of(database.name(), Form::Plain, &[]);
    let mut copy = Copy::new(&database, &mut client, "over");
    steps(
        &mut copy.root,
        "CREATE EXTENSION dp_mean; SELECT dp_set_budget('own', 1, 0); SELECT dp_charge('own', 0.5, 0)",
    );
    copy.load(&dump);
    let sums = "SELECT string_agg(budget || ' ' || spent_epsilon || ' ' || charges, ', ' ORDER BY budget) \
                FROM dp_budgets WHERE role IS NULL";
    assert_eq!(value::<String>(&mut copy.root, sums), "b 0.25 1, own 0.5 1");
    let charges =
        "SELECT string_agg(budget || ' ' || epsilon, ', ' ORDER BY budget) FROM dp_ledger";
    assert_eq!(value::<String>(&mut copy.root, charges), "b 0.25, own 0.5");
    steps(
        &mut copy.root,
        "SELECT dp_charge('own', 0.5, 0); SELECT dp_charge('b', 0.75, 0)",
    );
    past_limit(&refused(&mut copy.root, CHARGE));
    copy.go(&mut client);

    // Of two budgets of one name, the second is not loaded, and what was spent of it is not forgotten.
    let mut copy = Copy::new(&database, &mut client, "same");
    steps(
        &mut copy.root,
        "CREATE EXTENSION dp_mean; SELECT dp_set_budget('b', 1, 0); SELECT dp_charge('b', 0.5, 0)",
    );
    let said = copy.load(&dump);
    assert!(said.contains("budget_name_key"), "{said}");
    let root = &mut copy.root;
    damaged(root, CHARGE, LOST);
    damaged(root, "SELECT dp_set_budget('c', 1, 0)", LOST);
    run(
        &mut without(&copy.name, &["ledger_home", "ledger_orphans"]),
        CHARGE,
    );
    // The owner gives it another name, and says what was spent of both together.
    let lost: i64 = value(
        root,
        "SELECT DISTINCT budget FROM dp_mean.spent WHERE budget NOT IN (SELECT id FROM dp_mean.budget)",
    );
    steps(
        root,
        &format!(
            "INSERT INTO dp_mean.budget VALUES ({lost}, 'b of the dump', 'postgres', now()); \
             SELECT dp_restore_budget('b', 1, 0); SELECT dp_close_budget('b of the dump')"
        ),
    );
    past_limit(&refused(root, CHARGE));
    run(root, "SELECT dp_set_budget('c', 1, 0)");
    copy.go(&mut client);
}

/// The rows of budgets are lost: a budget of the old name would have all of it.
#[test]
fn a_budget_that_was_lost_is_not_made_anew() {
    let (database, mut client) = with_budget(1.0, 0.0);
    steps(&mut client, CHARGE);
    for kept in ["spent", "budget_limit", "charge"] {
        let others = ["budget", "spent", "budget_limit", "charge"]
            .into_iter()
            .filter(|table| *table != kept)
            .map(|table| format!("--exclude-table-data=dp_mean.{table}"));
        let others: Vec<_> = others.collect();
        let options: Vec<_> = others.iter().map(String::as_str).collect();
        let dump = Dump::of(database.name(), Form::Plain, &options);
        let (mut copy, said) = Copy::restored(&database, &mut client, &dump);
        assert_eq!(said, "");
        let make = "SELECT dp_set_budget('b', 1, 0)";
        damaged(&mut copy.root, make, LOST);
        let mut open = without(&copy.name, &["ledger_home", "ledger_orphans"]);
        steps(&mut open, &format!("{make}; SELECT dp_charge('b', 1, 0)"));
        drop(open);
        copy.go(&mut client);
    }
}

/// A role that is gone is a number in a dump, which is another role's where it is restored.
#[test]
fn a_dump_makes_nobody_owner_by_number() {
    let (database, mut client) = with_budget(1.0, 0.0);
    let other = Role::new(&database);
    // As if the owner and a role with a limit were gone: no role has this number here.
    run(
        &mut client,
        "INSERT INTO dp_mean.budget VALUES (77, 'left', 4000000000::oid::regrole, now());
         INSERT INTO dp_mean.history SELECT 77, number, 4000000000::oid::regrole, system, timeline, database, ledger,
             backup, epsilon, rho, delta, at, by FROM dp_mean.history;
         INSERT INTO dp_mean.budget_limit SELECT 77, role, number, epsilon, delta, epsilon_units, rho_units, delta_units,
             closed, at, by, accounting, failures FROM dp_mean.budget_limit;
         INSERT INTO dp_mean.budget_limit SELECT 77, 4000000000::oid::regrole, number, epsilon, delta, epsilon_units,
             rho_units, delta_units, closed, at, by, accounting, failures FROM dp_mean.budget_limit WHERE budget = 77;
         INSERT INTO dp_mean.spent VALUES (77, 0, 0, 0, 0, 0, '-infinity', 0, '-infinity', 0)",
    );
    for form in FORMS {
        let dump = Dump::of(database.name(), form, &[]);
        let (mut copy, said) = Copy::restored(&database, &mut client, &dump);
        assert_eq!(said, "", "{form:?}");
        let root = &mut copy.root;
        let owners =
            "SELECT string_agg(name || ' ' || owner, ', ' ORDER BY name) FROM dp_mean.budget_owner";
        assert_eq!(value::<String>(root, owners), "b postgres, left -");
        let limits = "SELECT count(*) FROM dp_mean.budget_limit WHERE role::oid <> 0";
        assert_eq!(value::<i64>(root, limits), 0);
        // Superusers manage it, and nobody else.
        steps(
            root,
            &format!(
                "SELECT dp_charge('left', 0.5, 0); \
                 GRANT EXECUTE ON FUNCTION dp_charge(text, float8, float8) TO {}",
                other.name()
            ),
        );
        run(root, &format!("SET ROLE {}", other.name()));
        let error = refused(root, "SELECT dp_charge('left', 0.25, 0)");
        assert_eq!(error.code, "42501", "{error:?}");
        copy.go(&mut client);
    }
}

#[test]
fn what_was_spent_is_said_by_the_owner() {
    let (database, mut client) = with_budget(1.0, 1e-6);
    let role = Role::new(&database);
    let (name, mut nobody) = (role.name(), role.connect());
    steps(
        &mut client,
        &format!("SELECT dp_charge('b', 0.25, 0, '{name}')"),
    );
    for (sql, code) in [
        ("dp_restore_budget('c', 1, 0)", "42704"),
        ("dp_restore_budget(NULL, 1, 0)", "22023"),
        ("dp_restore_budget('b', -1, 0)", "22023"),
        ("dp_restore_budget('b', NULL, 0)", "22023"),
        ("dp_restore_budget('b', 'NaN', 0)", "22023"),
        ("dp_restore_budget('b', 0, 1)", "22023"),
        ("dp_restore_budget('b', 0, 0, NULL)", "42704"),
    ] {
        let error = refused(&mut client, &format!("SELECT {sql}"));
        assert_eq!(error.code, code, "{sql}: {error:?}");
        assert!(!error.hint.is_empty(), "{sql}");
    }
    let said = "SELECT dp_restore_budget('b', 0.5, 0)";
    let error = refused(&mut nobody, said);
    assert_eq!(error.code, "42501", "{error:?}");
    run(
        &mut client,
        &format!("GRANT EXECUTE ON FUNCTION dp_restore_budget(text, float8, float8) TO {name}"),
    );
    let error = refused(&mut nobody, said);
    assert_eq!(
        error.message,
        "dp_restore_budget: must be owner of budget \"b\""
    );
    let error = refused(&mut client, &format!("BEGIN READ ONLY; {said}"));
    assert_eq!(error.code, "25006");
    run(&mut client, "ROLLBACK");

    // Nothing is charged meanwhile, and a ROLLBACK leaves all as it was.
    let mut other = database.connect();
    run(&mut client, &format!("BEGIN; {said}"));
    assert_eq!(refused(&mut other, CHARGE).code, "55P03");
    run(&mut client, "ROLLBACK");
    assert_eq!(of_all(&mut client), (Some(0.25), Some(1)));
    // What is charged is the rest, to who says it; less than is known changes no sum.
    run(&mut client, said);
    run(&mut client, "SELECT dp_restore_budget('b', 0.125, 0)");
    let lines = rows(
        &mut client,
        "SELECT coalesce(role::text, ''), spent_epsilon, charges FROM dp_budgets ORDER BY 1",
    );
    let lines = lines.iter().fold(String::new(), |mut all, row| {
        let (role, epsilon, charges): (String, f64, i64) = (row.get(0), row.get(1), row.get(2));
        write!(all, "{role} {epsilon} {charges}; ").expect("a text");
        all
    });
    assert_eq!(lines, format!(" 0.5 3; {name} 0.25 1; postgres 0.25 2; "));
    run(&mut other, "SELECT dp_charge('b', 0.5, 0)");
    past_limit(&refused(&mut other, CHARGE));
}

/// A charge of a transaction that may take back the lines would be taken back with them.
#[test]
fn what_was_spent_is_said_before_it_is_charged() {
    let (database, mut client) = with_budget(1.0, 0.0);
    steps(&mut client, CHARGE);
    let said = "SELECT dp_restore_budget('b', 0.5, 0)";
    for before in ["BEGIN", "BEGIN; SAVEPOINT s"] {
        run(&mut client, &format!("{before}; {said}"));
        let error = damaged(&mut client, CHARGE, "was set in this transaction");
        assert!(error.hint.contains("COMMIT"), "{error:?}");
        run(&mut client, "ROLLBACK");
    }
    run(
        &mut client,
        &format!("BEGIN; SAVEPOINT s; {said}; ROLLBACK TO s; {CHARGE}; ROLLBACK"),
    );
    assert_eq!(of_all(&mut client), (Some(0.5), Some(2)));
    // A dump that is loaded in one transaction is no better.
    let load = "CREATE TABLE kept AS SELECT * FROM dp_mean.spent; ALTER TABLE dp_mean.spent DISABLE TRIGGER ALL; \
                DELETE FROM dp_mean.spent; INSERT INTO dp_mean.spent SELECT * FROM kept; DROP TABLE kept; \
                ALTER TABLE dp_mean.spent ENABLE TRIGGER ALL";
    run(&mut client, &format!("BEGIN; {load}"));
    damaged(&mut client, CHARGE, "was set in this transaction");
    run(&mut client, "ROLLBACK");
    // Without the defence, it is lost.
    let mut open = without(database.name(), &["ledger_committed"]);
    run(&mut open, &format!("BEGIN; {said}; {CHARGE}; ROLLBACK"));
    assert_eq!(of_all(&mut client), (Some(0.5), Some(2)));
}

/// The last word on a limit and on a permission is loaded where the role that said it is missing.
#[test]
fn a_dump_loses_no_word_with_who_said_it() {
    let (database, mut client) = with_budget(1.0, 0.0);
    let role = Role::new(&database);
    let boss = format!("{}_boss", database.name());
    steps(
        &mut client,
        &format!(
            "CREATE ROLE {boss} SUPERUSER; CREATE TABLE t (person int PRIMARY KEY); \
             SELECT dp_protect('t', 'person', 'b'); SELECT dp_allow('t', '{0}'); {CHARGE}; \
             SET ROLE {boss}; SELECT dp_disallow('t', '{0}'); SELECT dp_close_budget('b'); RESET ROLE",
            role.name()
        ),
    );
    let dumps = FORMS.map(|form| Dump::of(database.name(), form, &[]));
    run(&mut client, &format!("DROP ROLE {boss}"));
    for dump in &dumps {
        let (mut copy, said) = Copy::restored(&database, &mut client, dump);
        assert_eq!(said, "", "{:?}", dump.form);
        let sql =
            "SELECT (SELECT allowed IS NULL FROM dp_policies) AND bool_and(closed) FROM dp_budgets";
        assert!(value::<bool>(&mut copy.root, sql), "{:?}", dump.form);
        damaged(&mut copy.root, CHARGE, "is closed");
        let sql = "SELECT by FROM dp_budget_limits ORDER BY number DESC LIMIT 1";
        assert_eq!(value::<String>(&mut copy.root, sql), boss);
        copy.go(&mut client);
    }
}

/// As `pg_repack` does it: a trigger notes what is written while the table is copied, the notes are written into the
/// copy, and the copy takes the table's place.
const BEGIN_REPACK: &str = "
CREATE TABLE noted (row dp_mean.{t});
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO noted VALUES (NEW); RETURN NEW; END $$;
CREATE TRIGGER repack_trigger AFTER INSERT OR DELETE OR UPDATE ON dp_mean.{t}
    FOR EACH ROW EXECUTE FUNCTION note();
CREATE TABLE copied AS SELECT * FROM dp_mean.{t}";

const END_REPACK: &str = "
INSERT INTO copied SELECT (row).* FROM noted;
BEGIN;
LOCK TABLE dp_mean.{t}, copied;
DROP TRIGGER repack_trigger ON dp_mean.{t};
UPDATE pg_class c SET relfilenode = (SELECT d.relfilenode FROM pg_class d
    WHERE d.oid IN ('dp_mean.{t}'::regclass, 'copied'::regclass) AND d.oid <> c.oid)
WHERE c.oid IN ('dp_mean.{t}'::regclass, 'copied'::regclass);
REINDEX TABLE dp_mean.{t};
COMMIT;
DROP TABLE copied, noted; DROP FUNCTION note()";

#[test]
fn a_tool_that_copies_a_table_by_a_trigger_loses_nothing() {
    let (database, mut client) = with_budget(1.0, 1e-6);
    let role = Role::new(&database);
    let name = role.name();
    run(
        &mut client,
        &format!(
            "CREATE TABLE t (person int PRIMARY KEY); SELECT dp_protect('t', 'person', 'b'), dp_allow('t', '{name}')"
        ),
    );
    let (limit, allowed) = (
        "SELECT (limit_epsilon || ' ' || closed) FROM dp_budgets WHERE role IS NULL",
        "SELECT coalesce(array_length(allowed, 1), 0)::text FROM dp_policies",
    );
    for (table, change, look, before, after) in [
        (
            "budget_limit",
            "dp_set_budget('b', 0.5, 0)".to_owned(),
            limit,
            "1 false",
            "0.5 false",
        ),
        (
            "budget_limit",
            "dp_close_budget('b')".to_owned(),
            limit,
            "0.5 false",
            "0.5 true",
        ),
        (
            "allowance",
            format!("dp_disallow('t', '{name}')"),
            allowed,
            "1",
            "0",
        ),
    ] {
        let [begin, end] = [BEGIN_REPACK, END_REPACK].map(|sql| sql.replace("{t}", table));
        let change = format!("SELECT {change}");
        run(&mut client, &begin);
        damaged(&mut client, &change, "would miss changes");
        // What is asked meanwhile is charged.
        if table == "budget_limit" {
            assert_eq!(
                refused(&mut client, "SELECT dp_charge('b', 5, 0)").code,
                "53400"
            );
        }
        // Without the defence, it is said and committed, and undone.
        let mut open = without(database.name(), &["ledger_triggers"]);
        run(&mut open, &change);
        assert_eq!(value::<String>(&mut open, look), after, "{change}");
        drop(open);
        steps(&mut client, &end.replace(";\n", "; "));
        assert_eq!(value::<String>(&mut client, look), before, "{change}");
        // Once the tool is gone, it is said for good.
        run(&mut client, &change);
        assert_eq!(value::<String>(&mut client, look), after, "{change}");
    }
    // Tables that are charged in place are not charged.
    run(&mut client, "SELECT dp_set_budget('c', 1, 0)");
    for table in ["spent", "charge"] {
        run(&mut client, &BEGIN_REPACK.replace("{t}", table));
        damaged(
            &mut client,
            "SELECT dp_charge('c', 0.25, 0)",
            &format!("dp_mean.{table}"),
        );
        run(
            &mut client,
            &format!(
                "DROP TRIGGER repack_trigger ON dp_mean.{table}; DROP TABLE copied, noted; DROP FUNCTION note()"
            ),
        );
        run(&mut client, "SELECT dp_charge('c', 0.25, 0)");
    }
}

#[test]
fn an_index_that_would_miss_rows_stops_the_ledger() {
    let (database, mut client) = with_budget(9.0, 0.0);
    let role = Role::new(&database);
    run(
        &mut client,
        &format!(
            "CREATE TABLE t (person int PRIMARY KEY); SELECT dp_protect('t', 'person', 'b'), dp_allow('t', '{}')",
            role.name()
        ),
    );
    steps(&mut client, CHARGE);
    let charge = CHARGE.to_owned();
    let disallow = format!("SELECT dp_disallow('t', '{}')", role.name());
    for (table, column, change) in [
        ("charge", "budget", &charge),
        ("spent", "budget", &charge),
        (
            "budget_limit",
            "number",
            &"SELECT dp_set_budget('b', 8, 0)".to_owned(),
        ),
        (
            "budget",
            "at",
            &"SELECT dp_set_budget('c', 8, 0)".to_owned(),
        ),
        ("allowance", "at", &disallow),
    ] {
        for kind in ["INDEX", "INDEX CONCURRENTLY"] {
            run(
                &mut client,
                &format!("CREATE {kind} own ON dp_mean.{table} ({column})"),
            );
            let error = damaged(
                &mut client,
                change,
                &format!("dp_mean.{table} has other indexes"),
            );
            assert!(error.hint.contains("Drop"), "{error:?}");
            run(&mut client, "DROP INDEX dp_mean.own");
        }
    }
    // Without the defence, a query that the index answers sees one charge of six.
    run(&mut client, "CREATE INDEX own ON dp_mean.charge (refused)");
    let mut open = without(database.name(), &["ledger_indexes"]);
    run(
        &mut open,
        "SELECT dp_charge('b', 0.25, 0) FROM generate_series(1, 5); \
         SET enable_seqscan = off; SET enable_bitmapscan = off",
    );
    let count = "SELECT count(*) FROM dp_mean.charge WHERE refused = false AND ctid IS NOT NULL";
    assert_eq!(value::<i64>(&mut open, count), 1);
    run(&mut client, "DROP INDEX dp_mean.own");
    assert_eq!(value::<i64>(&mut client, count), 6);
    run(&mut client, CHARGE);
    // Fewer are as wrong: nothing would tell two budgets of one name.
    run(
        &mut client,
        "ALTER TABLE dp_mean.budget DROP CONSTRAINT budget_name_key",
    );
    damaged(
        &mut client,
        "SELECT dp_set_budget('c', 8, 0)",
        "dp_mean.budget has other indexes",
    );
}

#[test]
fn a_rewrite_that_is_rolled_back_takes_no_charge_with_it() {
    let (database, mut client) = with_budget(1.0, 0.0);
    steps(&mut client, CHARGE);
    let rewrite = |table: &str| {
        format!(
            "CREATE INDEX way ON dp_mean.{table} (budget); CLUSTER dp_mean.{table} USING way; DROP INDEX dp_mean.way"
        )
    };
    let charge = "SELECT dp_charge('b', 0.125, 0)";
    for table in ["spent", "charge"] {
        let rewrite = rewrite(table);
        let message = format!("has rewritten table dp_mean.{table}");
        for before in ["BEGIN", "BEGIN; SAVEPOINT s"] {
            run(&mut client, &format!("{before}; {rewrite}"));
            let error = damaged(&mut client, charge, &message);
            assert!(error.hint.contains("COMMIT"), "{error:?}");
            run(&mut client, "ROLLBACK");
        }
        // Once the savepoint is rolled back, it is the old table again.
        run(
            &mut client,
            &format!("BEGIN; SAVEPOINT s; {rewrite}; ROLLBACK TO s; {charge}; ROLLBACK"),
        );
        // And once the rewrite is committed, the new one is for good.
        run(&mut client, &format!("BEGIN; {rewrite}; COMMIT"));
        run(&mut client, charge);
    }
    assert_eq!(of_all(&mut client), (Some(0.75), Some(5)));
    // Without the defence, a charge that came back is gone, and so is its row of the audit.
    let mut open = without(database.name(), &["ledger_rewrites"]);
    let before: String = value(&mut client, AUDITED);
    assert_eq!(before, "5");
    let sql = format!(
        "BEGIN; {}; SELECT dp_charge('b', 0.25, 0); ROLLBACK",
        rewrite("spent")
    );
    run(&mut open, &sql);
    assert_eq!(of_all(&mut client), (Some(0.75), Some(5)));
    assert_eq!(value::<String>(&mut client, AUDITED), "6");
    let sql = format!(
        "BEGIN; {}; SELECT dp_charge('b', 0.25, 0); ROLLBACK",
        rewrite("charge")
    );
    run(&mut open, &sql);
    assert_eq!(of_all(&mut client), (Some(1.0), Some(6)));
    assert_eq!(value::<String>(&mut client, AUDITED), "6");
}

const AUDITED: &str = "SELECT count(*)::text FROM dp_ledger WHERE NOT refused";
