//! Dumps: a restored database has what uses the extension, what was spent, what is protected, and the same groups of
//! people.

use dp_mean_tests::{Build, Database, Role, refused, run, session, value};
use postgres::Client;

use crate::catalog::{connect, program, strings};
use crate::groups::{TABLE, choice};
use crate::ledger::{charges, past_limit, steps, with_budget};

/// The dump of a database, without the words that newer versions of pg_dump make up for each dump.
pub fn dump(database: &str) -> String {
    let output = program("pg_dump", database, &[]);
    let text = String::from_utf8(output.stdout).expect("a dump in UTF-8");
    text.lines()
        .filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Another database with what a dump of this one holds.
pub fn restore(client: &mut Client, database: &Database) -> (String, Client) {
    let copy = format!("{}_restored", database.name());
    run(client, &format!("CREATE DATABASE {copy}"));
    let path = std::env::temp_dir().join(format!("{copy}.sql"));
    std::fs::write(&path, dump(database.name())).expect("the dump can be written");
    let file = path.to_str().expect("a path in UTF-8");
    program(
        "psql",
        &copy,
        &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file],
    );
    std::fs::remove_file(&path).expect("the dump can go");
    let restored = connect(&copy);
    (copy, restored)
}

#[test]
fn a_dump_restores() {
    let (database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE queries (id int PRIMARY KEY, mech dp_mechanism NOT NULL DEFAULT 'laplace'); \
         INSERT INTO queries VALUES (1, DEFAULT), (2, 'hourglass(gamma=0.25)'), (3, 'staircase'); \
         CREATE INDEX ON queries (mech); \
         CREATE TABLE t AS SELECT i / 1000.0 AS x FROM generate_series(1, 1000) i; \
         CREATE VIEW v AS SELECT dp_mean(x, 0, 1, 50, 'hourglass(gamma=0.0001)') AS mean, \
             dp_count(x, 50) AS n, dp_count(DISTINCT x, 50) FILTER (WHERE x > 0.5) AS half, \
             (dp_mean_and_count(x, 0, 1, 50)).count, \
             dp_counts(50, 'laplace(relation=replace)', x > 0.5, x > 0.75) AS counts, \
             (dp_sums_estimate(ARRAY[x::float8], 0, 1, 50, 'laplace(d=1)')).value AS sums, \
             dp_counts(50, 'laplace(d=2)', VARIADIC ARRAY[x > 0.5, true]) AS of_array FROM t",
    );
    let first = dump(database.name());
    for part in [
        "CREATE EXTENSION IF NOT EXISTS dp_mean",
        "public.dp_mechanism",
        "hourglass(gamma=0.25)",
        "dp_mean(",
        "laplace(relation=replace)",
        "VARIADIC ARRAY[",
    ] {
        assert!(first.contains(part), "no {part}: {first}");
    }
    // The members come with the extension.
    for part in [
        "CREATE FUNCTION",
        "CREATE AGGREGATE",
        "CREATE TYPE",
        "REVOKE",
        "SCHEMA dp_mean",
        "dp_state",
    ] {
        assert!(!first.contains(part), "{part}: {first}");
    }

    let (copy, mut restored) = restore(&mut client, &database);
    assert_eq!(dump(&copy), first);

    let sql = "SELECT mech::text FROM queries ORDER BY mech";
    let expected = ["hourglass(gamma=0.25)", "laplace", "staircase"];
    assert_eq!(strings(&mut restored, sql), expected);
    let sql = "SELECT abs(mean - 0.5005) < 1e-3 AND n = 1000 AND half = 500 \
         AND abs(count - 1000) < 1e-3 AND counts = '{500,250}' AND of_array = '{500,1000}' \
         AND abs(sums[1] - 500.5) < 1 FROM v";
    assert!(value::<bool>(&mut restored, sql));
    assert!(value::<bool>(
        &mut restored,
        "SELECT NOT EXISTS (SELECT FROM aclexplode((SELECT proacl FROM pg_proc \
         WHERE proname = 'dp_state_combine')) WHERE grantee = 0)"
    ));
    drop(restored);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

#[test]
fn a_dump_keeps_what_was_spent() {
    let (database, mut client) = with_budget(1.0, 1e-6);
    let role = Role::new(&database);
    steps(
        &mut client,
        &format!(
            "SELECT dp_set_budget('b', 0.75, 0, '{0}'); SELECT dp_charge('b', 0.125, 0, '{0}'); \
             SELECT dp_charge('b', 0.25, 1e-9); SELECT dp_set_budget('empty', 2, 0)",
            role.name()
        ),
    );
    past_limit(&refused(&mut client, "SELECT dp_charge('b', 5, 0)"));
    let (copy, mut restored) = restore(&mut client, &database);
    for view in ["dp_budgets", "dp_ledger", "dp_budget_limits"] {
        let sql = format!(
            "SELECT coalesce(string_agg(v::text, E'\\n' ORDER BY v::text), '') FROM {view} v"
        );
        let (before, after): (String, String) =
            (value(&mut client, &sql), value(&mut restored, &sql));
        assert!(before.contains('b'), "{view}");
        assert_eq!(before, after, "{view}");
    }
    // And it goes on from there, by its owner's word: rows that a transaction made are charged in place too.
    let elsewhere = refused(&mut restored, "SELECT dp_charge('b', 0.5, 0)");
    assert_eq!(elsewhere.code, "55000", "{elsewhere:?}");
    run(&mut restored, "SELECT dp_continue_budget('b', 0, 0)");
    run(&mut restored, "SELECT dp_charge('b', 0.5, 0)");
    past_limit(&refused(&mut restored, "SELECT dp_charge('b', 0.25, 0)"));
    assert_eq!(charges(&mut restored), 4);
    assert_eq!(
        value::<i64>(&mut restored, "SELECT count(*) FROM dp_mean.spent"),
        4
    );
    drop(restored);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

/// What was spent of periods, how the budget is cut, and the policy of the table: all goes on where it was.
#[test]
fn a_dump_keeps_what_was_spent_of_periods() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    run(
        &mut client,
        &format!(
            "CREATE TABLE visit (patient int NOT NULL, day date); \
             INSERT INTO visit SELECT p, '2025-02-03' FROM generate_series(1, 50) p; \
             SELECT dp_set_budget('b', 60, 0); \
             SELECT dp_protect('visit', 'patient', 'b', query_eps => 20, reuse => '0', \
                 period => 'day', every => '1 month', since => '2025-01-01'); \
             SELECT dp_allow('visit', '{0}'); ALTER ROLE {0} SET session_preload_libraries = 'dp_mean'",
            role.name()
        ),
    );
    let ask = "SELECT count(*) FROM visit WHERE day >= '2025-02-01' AND day < '2025-04-01'";
    for _ in 0..2 {
        run(&mut role.connect(), ask);
    }
    let (copy, mut restored) = restore(&mut client, &database);
    for view in [
        "dp_budget_periods",
        "dp_ledger",
        "dp_budgets",
        "dp_policies",
    ] {
        let sql = format!(
            "SELECT coalesce(string_agg((to_jsonb(v) - 'columns')::text, E'\\n' ORDER BY v::text), '') FROM {view} v"
        );
        let (before, after): (String, String) =
            (value(&mut client, &sql), value(&mut restored, &sql));
        assert!(before.contains("2025-0") || view == "dp_budgets", "{view}");
        assert_eq!(before, after, "{view}");
    }
    run(&mut restored, "SELECT dp_continue_budget('b', 0, 0)");
    let asked = format!("SET ROLE {}; {ask}", role.name());
    run(&mut restored, &asked);
    past_limit(&refused(&mut restored, &asked));
    run(&mut restored, "RESET ROLE");
    let charged = "SELECT charges FROM dp_mean.budget_period";
    assert_eq!(value::<i64>(&mut restored, charged), 6);
    drop(restored);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

/// Where a dump is restored, tables and roles have other numbers, and may have those of some that are gone here.
#[test]
fn a_dump_keeps_policies_and_no_permission_of_what_is_gone() {
    let (database, mut client) = with_budget(1.0, 1e-6);
    let role = Role::new(&database);
    let gone = format!("{}_gone", database.name());
    run(
        &mut client,
        &format!(
            "CREATE ROLE {gone}; CREATE TABLE t (person int PRIMARY KEY, gone int, x float8, y float8); \
             ALTER TABLE t DROP gone; CREATE TABLE u (person int); \
             SELECT dp_protect('t', 'person', 'b', rows => 3), dp_protect('u', 'person', 'b'); \
             SELECT dp_declare('t', 'x', 0, 5); SELECT dp_declare('t', 'y - x', -3, 3); \
             ALTER TABLE t RENAME y TO z; \
             SELECT dp_allow('t', '{0}'), dp_allow('u', '{0}'), dp_allow('t', '{gone}'); DROP TABLE u; DROP ROLE {gone}",
            role.name()
        ),
    );
    let sql = "SELECT count(*) FROM dp_mean.allowance";
    assert_eq!(value::<i64>(&mut client, sql), 3);
    let (copy, mut restored) = restore(&mut client, &database);
    let sql =
        "SELECT string_agg(concat_ws(' ', relation, role, allowed), '; ') FROM dp_mean.allowance";
    let allowed: String = value(&mut restored, sql);
    assert_eq!(allowed, format!("t {} t", role.name()));
    let sql = "SELECT string_agg((to_jsonb(p) - 'allowed')::text, '; ') FROM dp_policies p";
    let (before, after): (String, String) = (value(&mut client, sql), value(&mut restored, sql));
    assert!(before.contains("bounds"), "{before}");
    assert_eq!(after, before);
    // Bounds of an expression are known there: z has none itself.
    run(&mut restored, "SELECT dp_continue_budget('b', 0, 0)");
    for client in [&mut client, &mut restored] {
        let lost = format!(
            "SELECT lost_bounds IS NULL FROM dp_check('{}')",
            role.name()
        );
        assert!(value::<bool>(client, &lost));
        run(client, &format!("SET ROLE {}", role.name()));
        let cost = "SELECT price > 0 FROM dp_cost('SELECT sum(z - x) FROM t')";
        assert!(value::<bool>(client, cost));
        let refusal = refused(client, "SELECT * FROM dp_cost('SELECT sum(z) FROM t')");
        assert_eq!(refusal.code, "42501");
        run(client, "RESET ROLE");
    }
    drop(restored);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}

/// A dump takes the salt with it, and what CREATE EXTENSION made in its place is not used.
#[test]
fn a_restored_database_keeps_the_same_groups() {
    let (database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    let before = choice(&mut client, 2, "k, name", "t", "k int, name text");
    let (copy, mut restored) = restore(&mut client, &database);
    assert_eq!(
        value::<i64>(&mut restored, "SELECT count(*) FROM dp_mean.salt"),
        2
    );
    assert!(choice(&mut restored, 2, "k, name", "t", "k int, name text") == before);
    // It is the salt that makes it so.
    run(
        &mut restored,
        "DELETE FROM dp_mean.salt WHERE made = (SELECT min(made) FROM dp_mean.salt)",
    );
    assert!(choice(&mut restored, 2, "k, name", "t", "k int, name text") != before);
    run(&mut restored, "DELETE FROM dp_mean.salt");
    assert_eq!(
        choice(&mut restored, 2, "k, name", "t", "k int, name text").len(),
        before.len()
    );
    drop(restored);
    run(&mut client, &format!("DROP DATABASE {copy}"));
}
