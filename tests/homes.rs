//! Budgets change hands by their owners' word alone, and a ledger that was copied from elsewhere is not charged: charges
//! may be missing in it. What happens to a real standby is in scripts/moved.

use std::fs;

use dp_mean_tests::{Build, Database, Role, drop_roles, refused, rows, run, session, value};
use postgres::Client;

use crate::catalog::connect;
use crate::dumps::restore;
use crate::ledger::{charges, past_limit, steps, with_budget};

/// That a charge is refused, as charges may be missing; what differs is in the message.
fn may_lack(client: &mut Client, what: &str) {
    let refusal = refused(client, "SELECT dp_charge('b', 0.125, 0)");
    assert_eq!(refusal.code, "55000", "{refusal:?}");
    assert!(
        refusal.message.contains("may be missing") && refusal.message.contains(what),
        "{refusal:?}"
    );
    assert!(refusal.hint.contains("dp_continue_budget"), "{refusal:?}");
}

/// A database that was copied by the server, with a session in it.
fn copied(client: Client, database: &Database) -> (String, Client) {
    drop(client);
    let copy = format!("{}_copied", database.name());
    let mut server = connect("postgres");
    let sql = format!("CREATE DATABASE {copy} TEMPLATE {}", database.name());
    // A session ends a moment after its client has.
    let made = (0..50).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        server.batch_execute(&sql).is_ok()
    });
    assert!(made, "{sql}");
    let session = connect(&copy);
    (copy, session)
}

#[test]
fn a_copy_of_the_database_is_not_charged() {
    let (database, mut client) = with_budget(1.0, 0.0);
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    let (copy, mut copied) = copied(client, &database);
    may_lack(&mut copied, "the OID of the database was ");
    assert_eq!(charges(&mut copied), 1);
    // Nor is there a record of what it protects.
    let record = refused(&mut copied, "SELECT dp_deployment('b')");
    assert_eq!(record.code, "55000", "{record:?}");
    // Neither by the limits nor by closing it does it go on.
    run(&mut copied, "SELECT dp_set_budget('b', 2, 0)");
    may_lack(&mut copied, "the OID of the database was ");
    // The original does.
    let mut client = database.connect();
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");

    // What the owner says is missing is spent for good, past the limit too.
    run(
        &mut copied,
        "BEGIN; SELECT dp_continue_budget('b', 1.5, 1e-6)",
    );
    let refusal = refused(&mut copied, "SELECT dp_charge('b', 0.125, 0)");
    assert_eq!(refusal.code, "55000", "{refusal:?}");
    assert!(refusal.hint.contains("COMMIT"), "{refusal:?}");
    run(&mut copied, "ROLLBACK");
    may_lack(&mut copied, "the OID of the database was ");
    let sql = "SELECT spent_epsilon FROM dp_budgets WHERE role IS NULL";
    assert_eq!(value::<f64>(&mut copied, sql), 1.75);
    run(&mut copied, "SELECT dp_continue_budget('b', 0.5, 0)");
    assert_eq!(value::<f64>(&mut copied, sql), 2.25);
    past_limit(&refused(&mut copied, "SELECT dp_charge('b', 0.125, 0)"));
    steps(
        &mut copied,
        "SELECT dp_set_budget('b', 3, 1e-3); SELECT dp_charge('b', 0.125, 0)",
    );
    let sql = "SELECT number, epsilon, database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
               FROM dp_budget_history ORDER BY number";
    let history = rows(&mut copied, sql);
    let history: Vec<(i64, f64, bool)> = history
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    assert_eq!(history, [(1, 0.0, false), (2, 0.5, true)]);
    drop(copied);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

/// Nothing may be missing, by the owner's word: it costs nothing.
#[test]
fn a_ledger_goes_on_for_nothing_by_its_owners_word() {
    let (database, mut client) = with_budget(1.0, 0.0);
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    let role = Role::new(&database);
    run(
        &mut client,
        &format!(
            "GRANT EXECUTE ON FUNCTION dp_continue_budget(text, float8, float8) TO {}",
            role.name()
        ),
    );
    let (copy, mut copied) = restore(&mut client, &database);
    may_lack(&mut copied, "the OID of the database was ");
    run(
        &mut copied,
        &format!(
            "GRANT EXECUTE ON FUNCTION dp_continue_budget(text, float8, float8) TO {}",
            role.name()
        ),
    );
    run(&mut copied, &format!("SET ROLE {}", role.name()));
    let refusal = refused(&mut copied, "SELECT dp_continue_budget('b', 0, 0)");
    assert_eq!(refusal.code, "42501", "{refusal:?}");
    run(&mut copied, "RESET ROLE");
    for (sql, argument) in [
        ("dp_continue_budget('b', -1, 0)", "eps"),
        ("dp_continue_budget('b', 'NaN', 0)", "eps"),
        ("dp_continue_budget('b', 'Infinity', 0)", "eps"),
        ("dp_continue_budget('b', NULL, 0)", "eps"),
        ("dp_continue_budget('b', 0, 1)", "delta"),
        ("dp_continue_budget('b', 0, NULL)", "delta"),
        ("dp_continue_budget(NULL, 0, 0)", "budget"),
    ] {
        let refusal = refused(&mut copied, &format!("SELECT {sql}"));
        assert_eq!(refusal.code, "22023", "{sql}: {refusal:?}");
        assert!(refusal.message.contains(argument), "{sql}: {refusal:?}");
    }
    let sql = "SELECT dp_continue_budget('other', 0, 0)";
    assert_eq!(refused(&mut copied, sql).code, "42704");
    // Where somebody's lock is in the way, nothing was spent, as the HINT says.
    let mut other = connect(&copy);
    run(
        &mut other,
        "BEGIN; LOCK TABLE dp_mean.history IN SHARE MODE",
    );
    let sql = "SELECT dp_continue_budget('b', 0.25, 0)";
    assert_eq!(refused(&mut copied, sql).code, "55P03");
    run(&mut other, "ROLLBACK");
    drop(other);
    assert_eq!(charges(&mut copied), 1);
    may_lack(&mut copied, "the OID of the database was ");
    steps(
        &mut copied,
        "SELECT dp_continue_budget('b', 0, 0); SELECT dp_charge('b', 0.75, 0)",
    );
    past_limit(&refused(&mut copied, "SELECT dp_charge('b', 0.125, 0)"));
    drop(copied);
    run(&mut client, &format!("DROP OWNED BY {}", role.name()));
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

/// Also in the very database that the dump was made of.
#[test]
fn a_dump_that_takes_the_place_of_its_database_is_not_charged() {
    let (database, mut client) = with_budget(1.0, 0.0);
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    let dump = crate::dumps::dump(database.name());
    // It is forgotten.
    run(&mut client, "SELECT dp_charge('b', 0.5, 0)");
    run(&mut client, "DROP EXTENSION dp_mean");
    client
        .batch_execute(&data_of(&dump))
        .expect("the dump loads");
    may_lack(&mut client, "the OID of dp_mean.history was ");
    assert_eq!(charges(&mut client), 1);
}

/// The statements of a dump, with what COPY loads as INSERTs.
fn data_of(dump: &str) -> String {
    let mut sql = String::new();
    let mut table: Option<String> = None;
    for line in dump.lines() {
        match &table {
            None => match line
                .strip_prefix("COPY ")
                .and_then(|rest| rest.split_once(" ("))
            {
                Some((name, _)) => table = Some(name.to_owned()),
                None if line.starts_with("SELECT pg_catalog.set_config('search_path'") => {}
                None => sql = format!("{sql}{line}\n"),
            },
            Some(_) if line == "\\." => table = None,
            Some(name) => {
                let values: Vec<String> = line
                    .split('\t')
                    .map(|value| format!("'{}'", value.replace('\'', "''")))
                    .collect();
                sql = format!("{sql}INSERT INTO {name} VALUES ({});\n", values.join(", "));
            }
        }
    }
    sql
}

/// The attack that it is for: asking in a copy what was asked already. It works where the defence is taken away.
#[test]
fn without_the_defence_a_copy_pays_with_what_was_spent() {
    let (database, mut client) = session(Build::Testing);
    steps(
        &mut client,
        "SELECT dp_set_budget('b', 1, 0); SELECT dp_charge('b', 0.25, 0)",
    );
    drop(client);
    let copy = format!("{}_copied", database.name());
    let mut server = Database::new(Build::Testing).connect();
    let sql = format!("CREATE DATABASE {copy} TEMPLATE {}", database.name());
    while server.batch_execute(&sql).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let mut client = database.connect();
    run(&mut client, "SELECT dp_charge('b', 0.75, 0)");
    let url = dp_mean_tests::variable("DP_MEAN_TESTING_URL");
    let url = url.replace("dbname=postgres", &format!("dbname={copy}"));
    let mut copied = Client::connect(&url, postgres::NoTls).expect("a session in the copy");
    may_lack(&mut copied, "the OID of the database was ");
    steps(
        &mut copied,
        "SELECT dp_test_defence('ledger_home', false); SELECT dp_charge('b', 0.75, 0)",
    );
    drop(copied);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

#[test]
fn a_flood_of_refusals_does_not_fill_the_disk() {
    const MANY: i64 = 10_000;
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, "SELECT dp_set_budget('b', 1, 0)");
    // Each with a long text, refused, and caught.
    let flood = |client: &mut Client, times: i64| {
        let sql = format!(
            "DO $$ BEGIN FOR i IN 1 .. {times} LOOP
             BEGIN PERFORM dp_charge('b', 2, 0); EXCEPTION WHEN configuration_limit_exceeded THEN NULL; END;
             END LOOP; END $$ /* {} */",
            "x".repeat(900)
        );
        run(client, &sql);
        let sql = "SELECT pg_relation_size('dp_mean.charge') + pg_relation_size('dp_mean.spent'), \
                   (SELECT count(*) FROM dp_ledger WHERE refused), \
                   (SELECT refused FROM dp_budgets WHERE role IS NULL), \
                   (SELECT refused FROM dp_budgets WHERE role = 'postgres'::regrole)";
        let row = client.query_one(sql, &[]).expect("sizes");
        [0, 1, 2, 3].map(|i| row.get::<_, i64>(i))
    };
    assert_eq!(flood(&mut client, 1), [2 * 8192, 1, 1, 1]);
    // It may take a minute or more where the machine is slow: a row a minute.
    let [size, noted, all, own] = flood(&mut client, MANY);
    assert!(noted <= 10, "{noted}");
    assert!(size <= 4 * 8192, "{size}");
    assert_eq!([all, own], [MANY + 1; 2]);
    // A charge is as before.
    run(&mut client, "SELECT dp_charge('b', 1, 0)");
    assert_eq!(charges(&mut client), 1);
    // Without the defence, each has a row.
    run(&mut client, "SELECT dp_test_defence('ledger_noted', false)");
    let [filled, noted, ..] = flood(&mut client, 1000);
    assert!(
        noted >= 1000 && filled > size + 1_000_000,
        "{noted} {filled}"
    );
}

/// One role's refusals do not hide another's, nor those of another budget, and a minute later there is a row again.
#[test]
fn each_role_and_budget_has_its_refusals_noted() {
    let (database, mut client) = with_budget(1.0, 0.0);
    let role = Role::new(&database);
    run(&mut client, "SELECT dp_set_budget('other', 1, 0)");
    for _ in 0..3 {
        for sql in [
            "SELECT dp_charge('b', 2, 0)".to_owned(),
            "SELECT dp_charge('other', 2, 0)".to_owned(),
            format!("SELECT dp_charge('b', 2, 0, '{}')", role.name()),
        ] {
            past_limit(&refused(&mut client, &sql));
        }
    }
    let noted = "SELECT count(*) FROM dp_ledger WHERE refused";
    assert_eq!(value::<i64>(&mut client, noted), 3);
    let sql = "SELECT string_agg(budget || coalesce(' ' || role, '') || refused, ', ' \
               ORDER BY budget, role::text NULLS FIRST) FROM dp_budgets";
    let counted: String = value(&mut client, sql);
    let nobody = role.name();
    assert_eq!(
        counted,
        format!("b6, b {nobody}3, b postgres3, other3, other postgres3")
    );
    // As if the minute had passed.
    run(
        &mut client,
        "SET session_replication_role = replica; \
         UPDATE dp_mean.spent SET noted = now() - interval '61 seconds'; RESET session_replication_role",
    );
    past_limit(&refused(&mut client, "SELECT dp_charge('b', 2, 0)"));
    assert_eq!(value::<i64>(&mut client, noted), 4);
}

#[test]
fn a_budget_is_given_to_another_role() {
    let (database, mut client) = session(Build::Release);
    let [first, second, third] =
        ["first", "second", "third"].map(|name| format!("{}_{name}", database.name()));
    let all = format!("{first}, {second}, {third}");
    run(
        &mut client,
        &format!(
            "CREATE ROLE {first} LOGIN; CREATE ROLE {second} LOGIN; CREATE ROLE {third} LOGIN; \
             GRANT EXECUTE ON FUNCTION dp_set_budget, dp_charge(text, float8, float8), \
             dp_set_budget_owner(text, regrole) TO {all}; GRANT {third} TO {second}"
        ),
    );
    let [mut one, mut two] = [&first, &second].map(|role| database.connect_as(role));
    steps(
        &mut one,
        "SELECT dp_set_budget('b', 1, 0); SELECT dp_charge('b', 0.25, 0)",
    );
    let give = |role: &str| format!("SELECT dp_set_budget_owner('b', '{role}')");
    // Not one that is another's, and not to a role that one could not become.
    assert_eq!(refused(&mut two, &give(&second)).code, "42501");
    let refusal = refused(&mut one, &give(&second));
    assert_eq!(refusal.code, "42501", "{refusal:?}");
    assert!(refusal.message.contains("SET ROLE"), "{refusal:?}");
    for (sql, code) in [
        ("dp_set_budget_owner('b', 0::oid)", "42704"),
        ("dp_set_budget_owner('b', NULL)", "42704"),
        ("dp_set_budget_owner('c', 'postgres')", "42704"),
        ("dp_set_budget_owner('', 'postgres')", "22023"),
    ] {
        let refusal = refused(&mut client, &format!("SELECT {sql}"));
        assert_eq!(refusal.code, code, "{sql}: {refusal:?}");
    }
    // It is a part of the transaction, and none is charged before it ends.
    run(&mut client, &format!("BEGIN; {}", give(&second)));
    let refusal = refused(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    assert_eq!(refusal.code, "55000", "{refusal:?}");
    run(&mut client, "ROLLBACK");
    run(&mut one, "SELECT dp_charge('b', 0.25, 0)");
    // By a superuser; and from there by its owner, to a role that it is a member of.
    run(&mut client, &give(&second));
    assert_eq!(
        refused(&mut one, "SELECT dp_charge('b', 0.25, 0)").code,
        "42501"
    );
    let seen = "SELECT count(*) FROM dp_budget_history";
    assert_eq!(value::<i64>(&mut one, seen), 0);
    assert_eq!(value::<i64>(&mut two, seen), 2);
    run(&mut two, "SELECT dp_charge('b', 0.25, 0)");
    run(&mut two, &give(&third));
    run(&mut two, "SELECT dp_charge('b', 0.25, 0)");
    let sql = "SELECT string_agg(concat_ws(' ', number, owner, by), '; ' ORDER BY number) FROM dp_budget_history";
    let history: String = value(&mut client, sql);
    assert_eq!(
        history,
        format!("1 {first} {first}; 2 {second} postgres; 3 {third} {second}")
    );
    let sql = "SELECT owner::text FROM dp_budgets WHERE role IS NULL";
    assert_eq!(value::<String>(&mut client, sql), third);
    drop((one, two));
    drop_roles(&mut client, &all).expect("the roles can go");
}

/// A budget with nobody to own it would be managed by superusers alone, and by who gets the number of the role.
#[test]
fn a_role_that_owns_a_budget_is_not_dropped() {
    let (database, mut client) = session(Build::Testing);
    let [first, second] = ["first", "second"].map(|name| format!("{}_{name}", database.name()));
    run(
        &mut client,
        &format!(
            "CREATE ROLE {first}; CREATE ROLE {second}; \
             GRANT EXECUTE ON FUNCTION dp_set_budget TO {first}, {second}; \
             SET ROLE {first}; SELECT dp_set_budget('b', 1, 0), dp_set_budget('c', 1, 0); RESET ROLE; DROP OWNED BY {first}; \
             REASSIGN OWNED BY {first} TO postgres"
        ),
    );
    let stays = |client: &mut Client, role: &str| {
        let refusal = refused(client, &format!("DROP ROLE {role}"));
        assert_eq!(refusal.code, "2BP01", "{refusal:?}");
        refusal.detail
    };
    let detail = stays(&mut client, &first);
    assert_eq!(detail, "privileges for view dp_mean.budget_owner");
    // From elsewhere too, where the library is not loaded.
    let mut elsewhere = Database::new(Build::Testing).connect();
    assert!(stays(&mut elsewhere, &first).contains(database.name()));
    // A change that is rolled back changes nothing.
    run(
        &mut client,
        &format!(
            "BEGIN; SELECT dp_set_budget_owner('b', '{second}'), dp_set_budget_owner('c', '{second}'); ROLLBACK"
        ),
    );
    stays(&mut client, &first);
    run(
        &mut client,
        &format!("SELECT dp_set_budget_owner('b', '{second}')"),
    );
    stays(&mut client, &first);
    stays(&mut client, &second);
    run(
        &mut client,
        &format!("SELECT dp_set_budget_owner('c', '{second}'); DROP ROLE {first}"),
    );
    stays(&mut client, &second);
    // It made the one that it does not own any more, so that its number may be another's later.
    run(&mut client, "SELECT dp_charge('b', 0.5, 0)");

    // Nothing is left of it when the extension goes.
    run(
        &mut client,
        &format!(
            "DROP OWNED BY {second}; SET client_min_messages = error; DROP EXTENSION dp_mean CASCADE; DROP ROLE {second}"
        ),
    );
    let (_other, mut client) = session(Build::Testing);
    // Without the defence the owner goes, and nobody but a superuser can do anything.
    run(
        &mut client,
        &format!(
            "SELECT dp_test_defence('ledger_owner', false); CREATE ROLE {first}; \
             GRANT EXECUTE ON FUNCTION dp_set_budget TO {first}; \
             SET ROLE {first}; SELECT dp_set_budget('b', 1, 0); RESET ROLE; DROP OWNED BY {first}; DROP ROLE {first}"
        ),
    );
    let sql = "SELECT owner::text ~ '^[0-9]+$' FROM dp_budgets WHERE role IS NULL";
    assert!(value::<bool>(&mut client, sql));
    // A dump leaves out who is gone, and a superuser gives it away, and goes on.
    let config = "SELECT count(*) FROM dp_mean.history WHERE EXISTS (SELECT FROM pg_roles r WHERE r.oid = \
         (SELECT h.owner::oid FROM dp_mean.history h WHERE h.budget = history.budget ORDER BY h.number DESC LIMIT 1))";
    assert_eq!(value::<i64>(&mut client, config), 0);
    run(&mut client, "SELECT dp_set_budget_owner('b', 'postgres')");
    assert_eq!(value::<i64>(&mut client, config), 2);
    run(&mut client, "SELECT dp_charge('b', 0.5, 0)");
}

/// A budget whose history did not load belongs to nobody, and is not charged.
#[test]
fn a_dump_without_the_owner_is_not_charged() {
    let (database, mut client) = session(Build::Release);
    let gone = format!("{}_gone", database.name());
    run(
        &mut client,
        &format!(
            "CREATE ROLE {gone}; SELECT dp_set_budget('b', 1, 0); SELECT dp_set_budget_owner('b', '{gone}'); \
             DELETE FROM pg_shdepend WHERE refobjid = '{gone}'::regrole"
        ),
    );
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    run(&mut client, &format!("DROP ROLE {gone}"));
    let (copy, mut restored) = restore(&mut client, &database);
    let sql = "SELECT count(*) FROM dp_mean.history";
    assert_eq!(value::<i64>(&mut restored, sql), 0);
    may_lack(&mut restored, "the system identifier was 0 ");
    let role = Role::new(&database);
    run(
        &mut restored,
        &format!(
            "GRANT EXECUTE ON FUNCTION dp_charge(text, float8, float8) TO {0}; SET ROLE {0}",
            role.name()
        ),
    );
    let sql = "SELECT dp_charge('b', 0.25, 0)";
    assert_eq!(refused(&mut restored, sql).code, "42501");
    run(&mut restored, "RESET ROLE");
    steps(
        &mut restored,
        "SELECT dp_continue_budget('b', 0, 0); SELECT dp_charge('b', 0.75, 0)",
    );
    past_limit(&refused(&mut restored, sql));
    let owner = "SELECT owner::text FROM dp_budgets WHERE role IS NULL";
    assert_eq!(value::<String>(&mut restored, owner), "postgres");
    run(&mut restored, &format!("DROP OWNED BY {}", role.name()));
    drop(restored);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

/// The lines of the server's log about a database.
fn logged(client: &mut Client, database: &Database) -> Vec<String> {
    let data: String = value(client, "SHOW data_directory");
    let log = fs::read_to_string(format!("{data}/../log")).expect("the server's log");
    let name = format!("of database \"{}\"", database.name());
    let lines = log.lines().filter(|line| line.contains(&name));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_log_has_each_charge_and_the_client_has_none() {
    let (database, mut client) = session(Build::Testing);
    let role = Role::new(&database);
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let ears = std::sync::Arc::clone(&heard);
    let mut listening = database.connect_listening("postgres", move |said| {
        ears.lock().expect("one session").push(said);
    });
    steps(
        &mut client,
        "SELECT dp_set_budget('b', 1, 1e-6); SELECT dp_set_budget('g', 1, 1e-6)",
    );
    let sql = format!(
        "SET client_min_messages = debug1; SELECT dp_charge('b', 0.25, 1e-7), 'secret'; \
         SELECT dp_charge('b', 0.5, 0, '{0}') /* secret */; SELECT dp_continue_budget('b', 0.125, 0)",
        role.name()
    );
    steps(&mut listening, &sql);
    past_limit(&refused(&mut listening, "SELECT dp_charge('b', 5, 0)"));
    let lines = logged(&mut client, &database);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for (line, parts) in lines.iter().zip([
        [
            "for role \"postgres\": epsilon 0.25, ",
            "; in all epsilon 0.25, ",
        ],
        [", rho 0.1946209", "; in all epsilon 0.75, "],
        [
            "for role \"postgres\": epsilon 0.125, ",
            "; in all epsilon 0.875, ",
        ],
    ]) {
        assert!(
            line.contains("LOG:  dp_mean: charged budget \"b\" "),
            "{line}"
        );
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        assert!(!line.contains("secret"), "{line}");
    }
    let heard = heard.lock().expect("one session").join("\n");
    assert!(!heard.contains("charged budget"), "{heard}");
    // No statement follows.
    let data: String = value(&mut client, "SHOW data_directory");
    let log = fs::read_to_string(format!("{data}/../log")).expect("the server's log");
    let next = log.lines().skip_while(|line| *line != lines[1]).nth(1);
    assert!(
        !next.is_some_and(|line| line.contains("secret")),
        "{next:?}"
    );

    // Only superusers turn it off.
    run(
        &mut client,
        "SET dp_mean.log_charges = off; SELECT dp_charge('g', 0.25, 0)",
    );
    assert_eq!(logged(&mut client, &database).len(), 3);
    let sql = "SET dp_mean.log_charges = off";
    let mut nobody = role.connect();
    assert_eq!(refused(&mut nobody, sql).code, "42501");
}

/// In a schema of its own, which the database's owner cannot drop, plain SQL works without a right on that schema.
#[test]
fn an_extension_in_its_own_schema_answers_and_stays() {
    let (database, mut client) = session(Build::Testing);
    let role = Role::new(&database);
    let name = role.name();
    let own = "SET client_min_messages = error; DROP EXTENSION dp_mean CASCADE; CREATE SCHEMA dp; \
               CREATE EXTENSION dp_mean SCHEMA dp";
    run(&mut client, own);
    run(
        &mut client,
        &format!(
            "CREATE SCHEMA data; GRANT USAGE ON SCHEMA data TO {name}; \
             CREATE TABLE data.staff AS SELECT i AS id, i % 10 AS x FROM generate_series(1, 3000) i; \
             ALTER TABLE data.staff ADD PRIMARY KEY (id); \
             SELECT dp.dp_set_budget('b', 50, 0), dp.dp_protect('data.staff', 'id', 'b', query_eps => 5), \
             dp.dp_allow('data.staff', '{name}'); ALTER DATABASE {} OWNER TO {name}",
            database.name()
        ),
    );
    let mut owner = role.connect();
    let count = "SELECT count(*) FROM data.staff";
    let near = |count: i64| assert!((count - 3000).abs() < 20, "{count}");
    near(value(&mut owner, count));
    assert_eq!(refused(&mut owner, "SELECT dp.dp_version()").code, "42501");
    run(&mut owner, "DROP SCHEMA public CASCADE");
    near(value(&mut owner, count));
    assert_eq!(refused(&mut owner, "DROP SCHEMA dp CASCADE").code, "42501");
    // In public it goes with it, and every budget too.
    run(
        &mut client,
        "DROP EXTENSION dp_mean CASCADE; CREATE SCHEMA public AUTHORIZATION pg_database_owner; \
         CREATE EXTENSION dp_mean SCHEMA public; SELECT dp_set_budget('b', 1, 0)",
    );
    run(&mut owner, "DROP SCHEMA public CASCADE");
    let sql = "SELECT count(*) FROM pg_extension WHERE extname = 'dp_mean'";
    assert_eq!(value::<i64>(&mut client, sql), 0);
    run(
        &mut client,
        &format!("ALTER DATABASE {} OWNER TO postgres", database.name()),
    );
}
