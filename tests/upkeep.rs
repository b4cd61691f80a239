//! What an operator of the ledger does over the years: many budgets, old rows, sums that are compared, counts of who asked.

use std::fs;

use dp_mean_tests::{Build, Database, Role, refused, rows, run, session, value};
use postgres::Client;

use crate::ledger::{past_limit, steps};

/// A session with a budget `b`.
fn with_budget(build: Build, epsilon: f64) -> (Database, Client) {
    let (database, mut client) = session(build);
    run(
        &mut client,
        &format!("SELECT dp_set_budget('b', {epsilon:?}, 1e-6)"),
    );
    (database, client)
}

/// What is wrong with the ledger, as `finding budget`.
pub fn findings(client: &mut Client) -> Vec<String> {
    let sql = "SELECT finding || ' ' || coalesce(budget, '-') || ' ' || coalesce(role::text, '-') || ': ' || detail \
               FROM dp_ledger_check() ORDER BY 1";
    rows(client, sql).iter().map(|row| row.get(0)).collect()
}

/// The lines of a plan, with what its run has read.
fn analyzed(client: &mut Client, sql: &str) -> Vec<String> {
    let lines = rows(
        client,
        &format!("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) {sql}"),
    );
    lines.iter().map(|row| row.get(0)).collect()
}

/// How many pages a charge looks at.
fn pages_of_a_charge(client: &mut Client) -> i64 {
    let sql = "SELECT dp_charge('b', 0.0001, 0)";
    // The first ones fill what the session keeps of the catalog and of the ledger.
    for _ in 0..3 {
        run(client, sql);
    }
    let plan = analyzed(client, sql);
    let line = plan
        .iter()
        .find_map(|line| line.trim().strip_prefix("Buffers: shared "));
    let line = line.unwrap_or_else(|| panic!("no pages: {plan:#?}"));
    let numbers = line
        .split(' ')
        .filter_map(|word| word.strip_prefix("hit=").or(word.strip_prefix("read=")));
    numbers
        .map(|number| number.parse::<i64>().expect("a number"))
        .sum()
}

#[test]
fn a_charge_looks_at_as_many_pages_whatever_the_number_of_budgets() {
    let (_database, mut client) = with_budget(Build::Release, 1000.0);
    let few = pages_of_a_charge(&mut client);
    run(
        &mut client,
        "SELECT dp_set_budget('more ' || i, 1, 1e-6) FROM generate_series(1, 1500) i",
    );
    run(
        &mut client,
        "SELECT dp_charge('more ' || i, 0.001, 0) FROM generate_series(1, 1500) i",
    );
    let pages: i64 = value(
        &mut client,
        "SELECT sum(pg_relation_size(t) / 8192)::int8 FROM unnest(ARRAY['dp_mean.spent', 'dp_mean.budget', \
         'dp_mean.budget_limit', 'dp_mean.history']::regclass[]) t",
    );
    assert!(pages > 100, "{pages}");
    let many = pages_of_a_charge(&mut client);
    // Trees are two pages deep now, and not one.
    assert!(many <= few + 16, "{few} {many} of {pages}");
    // And so in a session that has looked only once.
    assert_eq!(findings(&mut client), Vec::<String>::new());
}

/// A session that knows where the lines are hears of what others load, change and move.
#[test]
fn what_others_load_is_seen_by_the_next_charge() {
    let (database, mut client) = with_budget(Build::Release, 1000.0);
    let charge = "SELECT dp_charge('b', 0.5, 0)";
    let mut other = database.connect();
    run(&mut client, charge);
    let unknown = "spending of budget \"b\" is unknown";
    for (before, change, after) in [
        (
            "",
            "INSERT INTO dp_mean.spent SELECT * FROM dp_mean.spent WHERE role::oid = 0",
            "",
        ),
        (
            "",
            "INSERT INTO dp_mean.spent SELECT * FROM dp_mean.spent WHERE role::oid <> 0",
            "",
        ),
        (
            "SET session_replication_role = replica; ",
            "DELETE FROM dp_mean.spent WHERE role::oid <> 0",
            "; RESET session_replication_role",
        ),
        (
            "SET session_replication_role = replica; ",
            "UPDATE dp_mean.spent SET role = 0 WHERE role::oid <> 0",
            "; RESET session_replication_role",
        ),
        (
            "ALTER TABLE dp_mean.spent DISABLE TRIGGER ALL; ",
            "DELETE FROM dp_mean.spent WHERE role::oid <> 0",
            "; ALTER TABLE dp_mean.spent ENABLE TRIGGER ALL",
        ),
    ] {
        run(&mut client, charge);
        run(
            &mut other,
            "CREATE TABLE kept AS SELECT * FROM dp_mean.spent",
        );
        steps(&mut other, &format!("{before}{change}{after}"));
        let error = refused(&mut client, charge);
        assert!(error.message.contains(unknown), "{change}: {error:?}");
        // As it was.
        steps(
            &mut other,
            "ALTER TABLE dp_mean.spent DISABLE TRIGGER ALL; DELETE FROM dp_mean.spent; \
             INSERT INTO dp_mean.spent SELECT * FROM kept; ALTER TABLE dp_mean.spent ENABLE TRIGGER ALL; \
             ALTER TABLE dp_mean.spent ENABLE ALWAYS TRIGGER tell; DROP TABLE kept",
        );
        run(&mut client, charge);
        assert_eq!(findings(&mut client), Vec::<String>::new(), "{change}");
    }
    // Lines of a budget that is not there.
    let lost =
        "INSERT INTO dp_mean.spent VALUES (7, 0, 0, 0, 0, 0, '-infinity', 0, '-infinity', 0)";
    run(&mut other, lost);
    let error = refused(&mut client, charge);
    assert!(error.message.contains("does not exist"), "{error:?}");
    steps(
        &mut other,
        "SET session_replication_role = replica; DELETE FROM dp_mean.spent WHERE budget = 7; \
         RESET session_replication_role",
    );
    // A table that is put into another file, in another order, has the same lines.
    let role = Role::new(&database);
    run(
        &mut client,
        &format!("SELECT dp_charge('b', 0.5, 0, '{}')", role.name()),
    );
    run(&mut client, charge);
    for moved in [
        "VACUUM FULL dp_mean.spent",
        "CREATE INDEX way ON dp_mean.spent (role DESC); CLUSTER dp_mean.spent USING way; DROP INDEX dp_mean.way",
    ] {
        steps(&mut other, moved);
        run(
            &mut client,
            &format!("SELECT dp_charge('b', 0.5, 0, '{}')", role.name()),
        );
        run(&mut client, charge);
        assert_eq!(findings(&mut client), Vec::<String>::new(), "{moved}");
    }
    // Where the trigger does not fire whatever a session sets, every charge looks.
    steps(
        &mut other,
        "ALTER TABLE dp_mean.spent ENABLE TRIGGER tell; SET session_replication_role = replica",
    );
    run(&mut client, charge);
    run(
        &mut other,
        "INSERT INTO dp_mean.spent SELECT * FROM dp_mean.spent WHERE role::oid = 0",
    );
    let error = refused(&mut client, charge);
    assert!(error.message.contains(unknown), "{error:?}");
}

/// The lines of the server's log about a database that have these words.
pub fn logged(client: &mut Client, database: &Database, words: &str) -> Vec<String> {
    let data: String = value(client, "SHOW data_directory");
    let log = fs::read_to_string(format!("{data}/../log")).expect("the server's log");
    let of = format!("of database \"{}\"", database.name());
    let lines = log
        .lines()
        .filter(|line| line.contains(&of) && line.contains(words));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_log_has_a_line_once_most_of_a_limit_is_spent_and_once_all_is() {
    let (database, mut client) = with_budget(Build::Testing, 1.0);
    let role = Role::new(&database);
    let name = role.name();
    run(
        &mut client,
        &format!("SELECT dp_set_budget('b', 0.5, 0, '{name}')"),
    );
    // Charges have no line of their own.
    run(&mut client, "SET dp_mean.log_charges = off");
    let charge =
        |epsilon: f64, role: &str| format!("SELECT dp_charge('b', {epsilon:?}, 0, '{role}')");
    let mut expected: Vec<(bool, &str)> = Vec::new();
    for (sql, passed) in [
        (charge(0.375, name), vec![]),
        (charge(0.0625, name), vec![(true, "80%")]),
        (charge(0.25, "postgres"), vec![]),
        (charge(0.0625, name), vec![(true, "all")]),
        (charge(0.0625, "postgres"), vec![(false, "80%")]),
        (charge(0.1875, "postgres"), vec![(false, "all")]),
        // A higher limit has its own marks.
        ("SELECT dp_set_budget('b', 2, 1e-6)".to_owned(), vec![]),
        (charge(0.125, "postgres"), vec![]),
        (
            charge(0.875, "postgres"),
            vec![(false, "80%"), (false, "all")],
        ),
    ] {
        run(&mut client, &sql);
        expected.extend(passed);
        let lines = logged(&mut client, &database, "has spent");
        assert_eq!(lines.len(), expected.len(), "{sql}: {lines:#?}");
        for (line, (of_role, words)) in lines.iter().zip(&expected) {
            assert!(line.contains("LOG:  dp_mean: "), "{line}");
            assert!(
                line.contains(&format!("has spent {words} of its limit")),
                "{line}"
            );
            assert_eq!(
                line.contains(&format!("role \"{name}\" in budget \"b\"")),
                *of_role,
                "{line}"
            );
        }
    }
    past_limit(&refused(&mut client, &charge(0.125, "postgres")));
    assert_eq!(
        logged(&mut client, &database, "has spent").len(),
        expected.len()
    );
    assert_eq!(logged(&mut client, &database, "charged budget").len(), 0);
}

#[test]
fn a_budget_says_when_it_ends_at_this_pace() {
    let (database, mut client) = with_budget(Build::Release, 1.0);
    let role = Role::new(&database);
    let name = role.name();
    let ends = |client: &mut Client, role: &str| -> Option<i32> {
        value(
            client,
            &format!("SELECT ends_on - current_date FROM dp_budgets WHERE budget = 'b' AND {role}"),
        )
    };
    assert_eq!(ends(&mut client, "role IS NULL"), None);
    run(
        &mut client,
        &format!("SELECT dp_charge('b', 0.25, 0, '{name}')"),
    );
    // Its whole life is within a day.
    assert_eq!(ends(&mut client, "role IS NULL"), Some(3));
    // A limit of its own ends sooner.
    run(
        &mut client,
        &format!("SELECT dp_set_budget('b', 0.5, 0, '{name}')"),
    );
    assert_eq!(ends(&mut client, "role IS NOT NULL"), Some(1));
    let aged = |days: i32| {
        format!(
            "ALTER TABLE dp_mean.budget DISABLE TRIGGER ALL; \
             UPDATE dp_mean.budget SET at = now() - interval '{days} days'; \
             ALTER TABLE dp_mean.budget ENABLE TRIGGER ALL"
        )
    };
    for (age, all, own) in [(10, 30, 10), (30, 90, 30), (300, 90, 30)] {
        run(&mut client, &aged(age));
        assert_eq!(ends(&mut client, "role IS NULL"), Some(all), "{age}");
        assert_eq!(ends(&mut client, "role IS NOT NULL"), Some(own), "{age}");
    }
    // What was spent before is no pace.
    let moved = "ALTER TABLE dp_mean.charge DISABLE TRIGGER ALL; \
                 UPDATE dp_mean.charge SET at = now() - interval '31 days'; \
                 ALTER TABLE dp_mean.charge ENABLE TRIGGER ALL";
    run(&mut client, moved);
    assert_eq!(ends(&mut client, "role IS NULL"), None);
    run(&mut client, "SELECT dp_charge('b', 0.75, 0)");
    assert_eq!(ends(&mut client, "role IS NULL"), Some(0));
    // Who does not ask for it does not wait for the rows to be read.
    for (columns, is_read) in [
        ("left_epsilon, spent_share", false),
        ("left_epsilon, ends_on", true),
    ] {
        let plan = analyzed(&mut client, &format!("SELECT {columns} FROM dp_budgets"));
        let scans = Vec::from_iter(plan.iter().filter(|line| line.contains("on charge ")));
        assert_eq!(scans.len(), 1, "{plan:#?}");
        assert_eq!(
            !scans[0].contains("never executed"),
            is_read,
            "{columns}: {plan:#?}"
        );
    }
    run(&mut client, "SELECT dp_close_budget('b')");
    assert_eq!(ends(&mut client, "role IS NULL"), None);
}

/// All of `dp_budgets` but the pace, as one text.
fn totals(client: &mut Client) -> String {
    let sql = "SELECT string_agg((to_jsonb(b) - 'ends_on')::text, E'\\n' ORDER BY budget, role) FROM dp_budgets b";
    value(client, sql)
}

#[test]
fn old_rows_go_and_what_was_spent_stays() {
    let (database, mut client) = with_budget(Build::Testing, 10.0);
    let role = Role::new(&database);
    let name = role.name();
    steps(
        &mut client,
        &format!(
            "SELECT dp_charge('b', 0.25, 1e-9, '{name}') FROM generate_series(1, 5); \
             SELECT dp_charge('b', 0.015625, 0) FROM generate_series(1, 300); SELECT dp_set_budget('c', 1, 0); \
             SELECT dp_charge('c', 0.5, 0)"
        ),
    );
    past_limit(&refused(&mut client, "SELECT dp_charge('c', 5, 0)"));
    let before = totals(&mut client);
    let all: String = value(
        &mut client,
        "SELECT string_agg(l::text, E'\\n' ORDER BY l::text) FROM dp_ledger l",
    );
    // A transaction that is rolled back takes nothing out, and others charge meanwhile.
    let mut other = database.connect();
    run(
        &mut client,
        "BEGIN; CREATE TABLE old AS SELECT * FROM dp_ledger_archive('infinity')",
    );
    assert_eq!(value::<i64>(&mut client, "SELECT count(*) FROM old"), 307);
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM dp_ledger"),
        0
    );
    run(&mut other, "SELECT dp_charge('c', 0.25, 0)");
    let error = refused(&mut other, "SELECT dp_ledger_archive('infinity')");
    assert_eq!(error.code, "55P03", "{error:?}");
    run(&mut client, "ROLLBACK");
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM dp_ledger"),
        308
    );
    assert_eq!(findings(&mut client), Vec::<String>::new());

    // Of a time, and of one budget.
    let since: String = value(
        &mut client,
        "SELECT max(at)::text FROM dp_ledger WHERE budget = 'b'",
    );
    assert_ne!(totals(&mut client), before);
    let before = totals(&mut client);
    run(
        &mut client,
        &format!("CREATE TABLE old AS SELECT * FROM dp_ledger_archive('{since}', 'b')"),
    );
    assert_eq!(value::<i64>(&mut client, "SELECT count(*) FROM old"), 304);
    assert_eq!(
        value::<i64>(
            &mut client,
            "SELECT count(*) FROM dp_ledger WHERE budget = 'b'"
        ),
        1
    );
    assert_eq!(totals(&mut client), before);
    assert_eq!(findings(&mut client), Vec::<String>::new());
    run(
        &mut client,
        "INSERT INTO old SELECT * FROM dp_ledger_archive('infinity')",
    );
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM dp_mean.charge"),
        0
    );
    // The rows are what dp_ledger had, with the charge that came between.
    let kept: String = value(
        &mut client,
        "SELECT string_agg(l::text, E'\\n' ORDER BY l::text) FROM old l WHERE NOT (budget = 'c' AND epsilon = 0.25)",
    );
    assert_eq!(kept, all);
    assert_eq!(totals(&mut client), before);
    assert_eq!(findings(&mut client), Vec::<String>::new());
    // Budgets go on from there, and end where they would have.
    run(&mut client, "SELECT dp_charge('c', 0.25, 0)");
    past_limit(&refused(&mut client, "SELECT dp_charge('c', 0.125, 0)"));
    assert_eq!(findings(&mut client), Vec::<String>::new());
    // Where lines are lost, what was taken out is still known.
    let spent = "SELECT spent_epsilon, charges FROM dp_budgets WHERE budget = 'c' AND role IS NULL";
    let row = client.query_one(spent, &[]).expect("a line");
    assert_eq!((row.get(0), row.get(1)), (1.0, 3i64));
    steps(
        &mut client,
        "SET session_replication_role = replica; DELETE FROM dp_mean.spent; RESET session_replication_role; \
         SELECT dp_restore_budget('c', 0, 0); SELECT dp_restore_budget('b', 0, 0)",
    );
    let row = client.query_one(spent, &[]).expect("a line");
    assert_eq!(row.get::<_, f64>(0), 1.0);
    past_limit(&refused(&mut client, "SELECT dp_charge('c', 0.125, 0)"));
    let of_role = format!(
        "SELECT spent_epsilon = 1.25 AND charges = 5 FROM dp_budgets WHERE budget = 'b' AND role::text = '{name}'"
    );
    assert!(value::<bool>(&mut client, &of_role));
    assert_eq!(findings(&mut client), Vec::<String>::new());
    // A budget whose rows were all taken out is not made again.
    steps(
        &mut client,
        "SET session_replication_role = replica; DELETE FROM dp_mean.spent; DELETE FROM dp_mean.budget; \
         DELETE FROM dp_mean.charge; DELETE FROM dp_mean.budget_limit; RESET session_replication_role",
    );
    let error = refused(&mut client, "SELECT dp_set_budget('c', 1, 0)");
    assert!(error.message.contains("does not exist"), "{error:?}");
}

/// Takes away all rows of charges that nobody sees. VACUUM leaves them while something else looks at this database, as
/// autovacuum does where it analyses a table.
fn vacuum_all(client: &mut Client) {
    for _ in 0..100 {
        run(client, "SELECT pg_stat_force_next_flush()");
        run(client, "VACUUM dp_mean.charge");
        let dead =
            "SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = 'dp_mean.charge'::regclass";
        if value::<i64>(client, dead) == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("rows that nobody sees stay");
}

/// Charges use the pages again that rows were taken out of.
#[test]
fn the_room_of_old_rows_is_used_again() {
    let (_database, mut client) = with_budget(Build::Release, 1000.0);
    let many = "SELECT dp_charge('b', 0.001, 0) FROM generate_series(1, 2000)";
    run(&mut client, many);
    let size = "SELECT pg_relation_size('dp_mean.charge')";
    let before: i64 = value(&mut client, size);
    assert!(before > 20 * 8192, "{before}");
    for _ in 0..3 {
        // The last pages stay: VACUUM gives the empty ones at the end of the table back to the disk.
        let half = "SELECT count(*) FROM dp_ledger_archive((SELECT max(at) FROM dp_ledger) - interval '1 microsecond')";
        assert!(value::<i64>(&mut client, half) > 1000);
        vacuum_all(&mut client);
        run(&mut client, many);
        let after: i64 = value(&mut client, size);
        assert!(after <= before + 8192, "{before} {after}");
        assert_eq!(findings(&mut client), Vec::<String>::new());
    }
    let sql = "SELECT count(*) FROM dp_ledger";
    assert!(value::<i64>(&mut client, sql) >= 2000);
}

#[test]
fn only_owners_take_rows_out() {
    let (database, mut client) = with_budget(Build::Release, 10.0);
    let role = Role::new(&database);
    let name = role.name();
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    run(
        &mut client,
        &format!("SELECT dp_charge('b', 0.25, 0, '{name}')"),
    );
    let mut owner = role.connect();
    for sql in [
        "SELECT * FROM dp_ledger_archive('infinity')",
        "SELECT * FROM dp_ledger_archive('infinity', 'b')",
        "SELECT * FROM dp_ledger_check()",
        "DELETE FROM dp_mean.archived",
    ] {
        assert_eq!(refused(&mut owner, sql).code, "42501", "{sql}");
    }
    run(
        &mut client,
        &format!(
            "GRANT EXECUTE ON FUNCTION dp_ledger_archive, dp_set_budget, dp_charge(text, float8, float8) TO {name}"
        ),
    );
    // Nor who may call it and owns none, or not this one.
    for (sql, message) in [
        (
            "SELECT * FROM dp_ledger_archive('infinity')",
            "must be owner of a budget",
        ),
        (
            "SELECT * FROM dp_ledger_archive('infinity', 'b')",
            "must be owner of budget \"b\"",
        ),
    ] {
        let error = refused(&mut owner, sql);
        assert_eq!(error.code, "42501", "{sql}");
        assert!(error.message.ends_with(message), "{error:?}");
    }
    steps(
        &mut owner,
        "SELECT dp_set_budget('mine', 1, 0); SELECT dp_charge('mine', 0.25, 0)",
    );
    let taken = rows(
        &mut owner,
        "SELECT budget FROM dp_ledger_archive('infinity')",
    );
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].get::<_, &str>(0), "mine");
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM dp_ledger"),
        2
    );
    assert_eq!(findings(&mut client), Vec::<String>::new());
    for (sql, code) in [
        ("dp_ledger_archive(NULL)", "22023"),
        ("dp_ledger_archive('infinity', '')", "22023"),
        ("dp_ledger_archive('infinity', 'none')", "42704"),
    ] {
        let error = refused(&mut client, &format!("SELECT * FROM {sql}"));
        assert_eq!(error.code, code, "{sql}: {error:?}");
        assert!(!error.hint.is_empty(), "{sql}");
    }
    run(&mut client, "BEGIN READ ONLY");
    let error = refused(&mut client, "SELECT * FROM dp_ledger_archive('infinity')");
    assert_eq!(error.code, "25006", "{error:?}");
    run(&mut client, "ROLLBACK");
    drop(owner);
    run(
        &mut client,
        "SELECT dp_set_budget_owner('mine', 'postgres')",
    );
}

/// What a dump brings has the sums of what was taken out, too.
#[test]
fn a_dump_keeps_what_was_taken_out() {
    let (database, mut client) = with_budget(Build::Release, 10.0);
    steps(
        &mut client,
        "SELECT dp_charge('b', 0.25, 0); SELECT count(*) FROM dp_ledger_archive('infinity'); \
         SELECT dp_charge('b', 0.5, 0)",
    );
    let (copy, mut restored) = crate::dumps::restore(&mut client, &database);
    assert_eq!(totals(&mut restored), totals(&mut client));
    assert_eq!(findings(&mut restored), Vec::<String>::new());
    steps(
        &mut restored,
        "SELECT dp_continue_budget('b', 0, 0); SELECT dp_charge('b', 0.5, 0)",
    );
    assert_eq!(findings(&mut restored), Vec::<String>::new());
    drop(restored);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

#[test]
fn damage_is_found() {
    let (database, mut client) = with_budget(Build::Testing, 10.0);
    let role = Role::new(&database);
    let name = role.name();
    steps(
        &mut client,
        &format!(
            "SELECT dp_set_budget('c', 1, 0); SELECT dp_set_budget('c', 2, 0, '{name}'); \
             SELECT dp_charge('c', 0.125, 0, '{name}'); \
             SELECT dp_charge('b', 0.25, 0, '{name}'); SELECT dp_charge('b', 0.5, 0)"
        ),
    );
    assert_eq!(findings(&mut client), Vec::<String>::new());
    let id = "(SELECT id FROM dp_mean.budget WHERE name = 'b')";
    let cases = [
        (
            "INSERT INTO dp_mean.spent SELECT * FROM dp_mean.spent WHERE budget = {id} AND role::oid = 0",
            "twins b",
        ),
        (
            "DELETE FROM dp_mean.spent WHERE budget = {id} AND role::oid = 0",
            "line b",
        ),
        (
            "DELETE FROM dp_mean.spent WHERE budget = {id} AND role::oid = 10",
            "sum b",
        ),
        (
            "DELETE FROM dp_mean.spent WHERE budget = {id} AND role::oid = 10",
            "history b postgres",
        ),
        (
            "UPDATE dp_mean.spent SET epsilon = epsilon - 1 WHERE budget = {id} AND role::oid = 0",
            "sum b",
        ),
        (
            "UPDATE dp_mean.spent SET rho = rho - 1 WHERE budget = {id} AND role::oid = 10",
            "history b postgres",
        ),
        (
            "UPDATE dp_mean.spent SET charges = charges + 1 WHERE budget = {id} AND role::oid = 10",
            "history b postgres",
        ),
        (
            "UPDATE dp_mean.spent SET delta = -1 WHERE budget = {id} AND role::oid = 10",
            "line -",
        ),
        (
            "DELETE FROM dp_mean.charge WHERE budget = {id} AND role::oid = 10",
            "history b postgres",
        ),
        (
            "INSERT INTO dp_mean.charge SELECT * FROM dp_mean.charge WHERE budget = {id} AND role::oid = 10",
            "history b postgres",
        ),
        ("DELETE FROM dp_mean.budget WHERE name = 'b'", "orphan "),
        (
            "DELETE FROM dp_mean.budget_limit WHERE budget = {id}",
            "limit b",
        ),
        ("CREATE INDEX own ON dp_mean.charge (at)", "table -"),
        ("ALTER TABLE dp_mean.spent ENABLE TRIGGER tell", "table -"),
        (
            "UPDATE pg_index SET indisready = false WHERE indrelid = 'dp_mean.history'::regclass; \
             INSERT INTO dp_mean.history SELECT budget, 2, owner, system, timeline, database, ledger, backup, epsilon, rho, \
                 delta, at, by FROM dp_mean.history WHERE budget = {id}; \
             UPDATE pg_index SET indisready = true WHERE indrelid = 'dp_mean.history'::regclass",
            "index -",
        ),
    ];
    for (damage, expected) in cases {
        let damage = damage.replace("{id}", id);
        run(
            &mut client,
            "BEGIN; SET LOCAL session_replication_role = replica",
        );
        run(&mut client, &damage);
        let found = findings(&mut client);
        assert!(
            found.iter().any(|found| found.starts_with(expected)),
            "{damage}: {found:#?}"
        );
        run(&mut client, "ROLLBACK");
    }
    assert_eq!(findings(&mut client), Vec::<String>::new());
    // A page that a disk has damaged: its header, the place of a row, the number of its columns.
    for table in ["spent", "charge", "budget"] {
        for (at, bytes) in [(14, "\\xff7f"), (12, "\\x0000"), (24, "\\xff9ffe00")] {
            let held = page_bytes(&mut client, table, at, bytes.len() / 2 - 1);
            run(
                &mut client,
                &format!("SELECT dp_test_write_page('dp_mean.{table}', 0, {at}, '{bytes}')"),
            );
            let found = findings(&mut client);
            assert!(
                found
                    .iter()
                    .any(|found| found.contains(&format!("page 0 of dp_mean.{table} has"))),
                "{table} {at}: {found:#?}"
            );
            client
                .execute(
                    &format!("SELECT dp_test_write_page('dp_mean.{table}', 0, {at}, $1)"),
                    &[&held],
                )
                .expect("the bytes that were there");
            assert_eq!(findings(&mut client), Vec::<String>::new());
        }
    }
}

/// Bytes of the first page of a table, from its file.
fn page_bytes(client: &mut Client, table: &str, at: usize, length: usize) -> Vec<u8> {
    run(client, "CHECKPOINT");
    let path: String = value(
        client,
        &format!("SELECT pg_relation_filepath('dp_mean.{table}')"),
    );
    let sql = format!("SELECT pg_read_binary_file('{path}', {at}, {length})");
    value(client, &sql)
}

/// A role that never stops asking fills no table.
#[test]
fn refusals_are_counted_and_not_stored() {
    let (database, mut client) = with_budget(Build::Release, 1.0);
    let role = Role::new(&database);
    let (name, other) = (role.name(), format!("{}_watcher", database.name()));
    run(&mut client, &format!("CREATE ROLE {other} LOGIN"));
    steps(
        &mut client,
        &format!(
            "SELECT dp_set_budget('b', 0.25, 0, '{name}'); SELECT dp_charge('b', 0.25, 0, '{name}')"
        ),
    );
    run(
        &mut client,
        &format!(
            "CREATE FUNCTION ask(times int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN \
                 FOR i IN 1 .. times LOOP BEGIN \
                     PERFORM dp_charge('b', 0.25, 0, '{name}'); \
                 EXCEPTION WHEN configuration_limit_exceeded THEN NULL; END; END LOOP; END $$"
        ),
    );
    let sizes =
        "SELECT pg_relation_size('dp_mean.charge') || ' ' || pg_relation_size('dp_mean.spent')";
    run(&mut client, "SELECT ask(10)");
    let before: String = value(&mut client, sizes);
    run(&mut client, "SELECT ask(3000)");
    assert_eq!(value::<String>(&mut client, sizes), before);
    let stored: i64 = value(&mut client, "SELECT count(*) FROM dp_ledger WHERE refused");
    assert!((1..=3).contains(&stored), "{stored}");
    let line = "SELECT budget || ' ' || answered || ' ' || reused || ' ' || refused || ' ' \
                || (now() - refused_at < interval '2 minutes') || ' ' || (reused_at IS NULL) FROM dp_stats_by_role";
    let expected = "b 1 0 3010 true true";
    assert_eq!(value::<String>(&mut client, line), expected);
    // One's own, and all for those who watch.
    assert_eq!(value::<String>(&mut role.connect(), line), expected);
    let mut watcher = database.connect_as(&other);
    assert!(rows(&mut watcher, line).is_empty());
    run(&mut client, &format!("GRANT pg_read_all_stats TO {other}"));
    assert_eq!(value::<String>(&mut watcher, line), expected);
    drop(watcher);
    run(&mut client, &format!("DROP ROLE {other}"));
}

/// What was charged to two budgets, one of them by period, and refused.
const USED: &str = "\
SELECT dp_set_budget('patients', 1, 1e-6), dp_set_budget('visits', 3, 1e-6); \
SELECT dp_set_budget('patients', 2, 1e-6); \
SELECT dp_charge('patients', 0.25, 0); \
SELECT dp_charge('patients', 0.5, 0); \
CREATE TABLE visit (patient int NOT NULL, day date NOT NULL, cost float8 NOT NULL); \
INSERT INTO visit SELECT p, make_date(2025, 1 + p % 3, 1), p % 100 FROM generate_series(1, 300) p; \
SELECT dp_protect('visit', 'patient', 'visits', query_eps => 0.5, period => 'day', every => '1 month', \
    since => '2025-01-01'); \
SELECT dp_declare('visit', 'cost', 0, 100)";

/// The SQL of a dataset for Superset, and the columns that its file names.
fn dataset(file: &str) -> (String, Vec<String>) {
    let (_, rest) = file.split_once("\nsql: |-\n").expect("SQL");
    let sql: Vec<&str> = rest
        .lines()
        .map_while(|line| line.strip_prefix("  "))
        .collect();
    let columns = file
        .lines()
        .filter_map(|line| line.strip_prefix("- column_name: "));
    (sql.join("\n"), columns.map(str::to_owned).collect())
}

/// What dashboards ask: the datasets for Superset have the columns that their files name, and the panels for Grafana
/// their times. None is empty, and shares come to what the budgets say.
#[test]
fn dashboards_of_budgets_read_what_there_is() {
    let (database, mut client) = session(Build::Release);
    steps(&mut client, USED);
    past_limit(&refused(&mut client, "SELECT dp_charge('patients', 5, 0)"));
    let role = Role::new(&database);
    let name = role.name();
    let allow = format!(
        "SELECT dp_allow('visit', '{name}'); ALTER ROLE {name} SET session_preload_libraries = 'dp_mean'"
    );
    run(&mut client, &allow);
    let mut analyst = role.connect();
    run(
        &mut analyst,
        "SELECT avg(cost) FROM visit WHERE day >= '2025-01-01' AND day < '2025-03-01'",
    );
    run(
        &mut analyst,
        "SELECT avg(cost) FROM visit WHERE day >= '2025-02-01' AND day < '2025-03-01'",
    );

    let spent = "SELECT array_agg(round(sum::numeric, 6)::float8 ORDER BY budget) FROM (\
         SELECT budget, sum(spent_share) FROM dp_budgets WHERE role IS NULL AND budget = 'patients' GROUP BY 1 \
         UNION ALL SELECT budget, sum(spent_share) FROM dp_budget_periods WHERE role IS NULL GROUP BY 1) AS s";
    let spent: Vec<f64> = value(&mut client, spent);
    assert_eq!(spent[1], 0.5);
    let folder = "dashboards/superset/budgets/datasets/dp_mean_budgets";
    let folder = crate::documentation::repository().join(folder);
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the datasets") {
        let path = entry.expect("a file").path();
        let (sql, named) = dataset(&fs::read_to_string(&path).expect("a file"));
        let found = rows(&mut client, &sql);
        assert!(!found.is_empty(), "{path:?}");
        let columns: Vec<&str> = found[0].columns().iter().map(|c| c.name()).collect();
        assert_eq!(columns, named, "{path:?}");
        count += 1;
        if path.ends_with("spent.yaml") {
            let sums = format!(
                "SELECT array_agg(round(share::numeric, 6)::float8 ORDER BY budget) FROM \
                 (SELECT budget, sum(share) AS share FROM ({sql}) AS d GROUP BY 1) AS s"
            );
            assert_eq!(value::<Vec<f64>>(&mut client, &sums), spent);
        }
    }
    assert_eq!(count, 5);

    let panels =
        crate::documentation::statements_under("docs/monitoring.md", "A dashboard for owners");
    let mut series = 0;
    for sql in &panels {
        let found = rows(&mut client, sql);
        assert!(!found.is_empty(), "{sql}");
        let mut columns = found[0].columns().iter();
        if let Some(time) = columns.find(|column| column.name() == "time") {
            assert_eq!(time.type_().name(), "timestamptz", "{sql}");
            series += 1;
        }
    }
    assert_eq!((panels.len(), series), (7, 4));
    let first = format!(
        "SELECT round(sum(share)::numeric, 6)::float8 FROM ({}) AS p",
        panels[0]
    );
    assert_eq!(value::<f64>(&mut client, &first), spent[0]);
}

/// What postgres_exporter asks as its role: each query answers with the columns that it names, and nothing else.
#[test]
fn the_exporter_reads_what_its_file_names() {
    let (database, mut client) = with_budget(Build::Release, 1.0);
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    let folder = crate::documentation::repository().join("packaging/monitoring");
    let read = |file: &str| fs::read_to_string(folder.join(file)).expect(file);
    run(&mut client, &read("setup.sql"));
    let mut exporter = database.connect_as("exporter");
    let mut metrics = std::collections::BTreeSet::new();
    let (mut name, mut columns) = (String::new(), Vec::new());
    for line in read("postgres_exporter.yml").lines() {
        if let Some(query) = line.strip_prefix("  query: \"") {
            let query = query.strip_suffix('"').expect("a query on one line");
            let found = rows(&mut exporter, query);
            assert!(!found.is_empty(), "{query}");
            let named = found[0].columns().iter();
            columns = named.map(|column| column.name().to_owned()).collect();
        } else if let Some(metric) = line.strip_prefix("    - ") {
            let metric = metric.strip_suffix(':').expect("a column");
            let i = columns.iter().position(|column| column == metric);
            columns.remove(i.unwrap_or_else(|| panic!("{name} has no {metric}")));
            metrics.insert(format!("{name}_{metric}"));
        } else if let Some(next) = line
            .strip_suffix(':')
            .filter(|line| line.starts_with("dp_mean_"))
        {
            assert!(columns.is_empty(), "{name}: {columns:?}");
            name = next.to_owned();
        }
    }
    assert!(columns.is_empty(), "{name}: {columns:?}");
    // The alerts and the manual name no other.
    let page = crate::documentation::repository().join("docs/monitoring.md");
    let page = fs::read_to_string(page).expect("the page");
    for text in [read("alerts.yml"), page] {
        let words = text.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'));
        let named = Vec::from_iter(words.filter(|word| {
            let tables = [
                "dp_mean_role",
                "dp_mean_budget_end",
                "dp_mean_ledger",
                "dp_mean_size",
                "dp_mean_budget",
            ];
            word.starts_with("dp_mean_") && !tables.contains(word)
        }));
        assert!(named.len() >= 5, "{named:?}");
        for word in named {
            assert!(metrics.contains(word), "{word}");
        }
    }
    // It sees budgets, and spends nothing.
    for sql in [
        "SELECT dp_charge('b', 0.25, 0)",
        "SELECT dp_set_budget('b', 5, 0)",
        "SELECT * FROM dp_ledger_archive('infinity')",
    ] {
        assert_eq!(refused(&mut exporter, sql).code, "42501", "{sql}");
    }
    assert_eq!(rows(&mut exporter, "SELECT * FROM dp_budgets").len(), 0);
    drop(exporter);
    dp_mean_tests::drop_roles(&mut client, "exporter").expect("the role can go");
}
