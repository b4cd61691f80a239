//! `dp_check`: what a role may do with a protected table.

use std::sync::{Arc, Mutex};

use dp_mean_tests::{Build, Database, rows, run, value};
use postgres::Client;

/// What it says of a role, as text.
fn said(client: &mut Client, role: &str) -> Vec<String> {
    let sql = format!(
        "SELECT concat_ws(' ', relation, allowed, loads_library, coalesce(reads_rows_as, '-'), budget, questions_left) \
         FROM dp_check('{role}')"
    );
    rows(client, &sql).iter().map(|row| row.get(0)).collect()
}

#[test]
fn what_a_role_may_do_is_said() {
    let database = Database::new(Build::Release);
    let mut root = database.connect();
    let name = format!("{}_analyst", database.name());
    let other = format!("{}_team", database.name());
    run(
        &mut root,
        &format!(
            "CREATE ROLE {name} LOGIN; CREATE ROLE {other};
             CREATE TABLE people (id int PRIMARY KEY, pay float8);
             SELECT dp_set_budget('all', 1, 0), dp_protect('people', 'id', 'all', query_eps => 0.5)"
        ),
    );
    assert_eq!(said(&mut root, &name), ["people f f - all 2"]);
    run(
        &mut root,
        &format!(
            "SELECT dp_allow('people', '{name}');
             ALTER ROLE {name} IN DATABASE {} SET session_preload_libraries = 'auto_explain, dp_mean'",
            database.name()
        ),
    );
    assert_eq!(said(&mut root, &name), ["people t t - all 2"]);
    // A setting that is nearer counts.
    run(
        &mut root,
        &format!(
            "ALTER ROLE {name} IN DATABASE {} SET session_preload_libraries = 'dp_meaning'; \
                  ALTER ROLE {name} SET session_preload_libraries = 'dp_mean'",
            database.name()
        ),
    );
    assert_eq!(said(&mut root, &name), ["people t f - all 2"]);
    run(
        &mut root,
        &format!(
            "ALTER ROLE {name} IN DATABASE {} RESET session_preload_libraries",
            database.name()
        ),
    );
    for (change, back, expected) in [
        (
            format!("GRANT SELECT ON people TO {name}"),
            format!("REVOKE SELECT ON people FROM {name}"),
            "SELECT".to_owned(),
        ),
        (
            "GRANT SELECT ON people TO PUBLIC".to_owned(),
            "REVOKE SELECT ON people FROM PUBLIC".to_owned(),
            "SELECT".to_owned(),
        ),
        (
            format!("GRANT SELECT (pay) ON people TO {name}"),
            format!("REVOKE SELECT (pay) ON people FROM {name}"),
            "SELECT on columns".to_owned(),
        ),
        (
            format!("ALTER ROLE {name} SUPERUSER"),
            format!("ALTER ROLE {name} NOSUPERUSER"),
            "superuser".to_owned(),
        ),
        (
            format!("GRANT pg_read_all_data TO {name}"),
            format!("REVOKE pg_read_all_data FROM {name}"),
            "SELECT".to_owned(),
        ),
        (
            format!(
                "ALTER ROLE {name} NOINHERIT; GRANT {other} TO {name}; GRANT SELECT ON people TO {other}"
            ),
            format!("REVOKE {other} FROM {name}; REVOKE SELECT ON people FROM {other}"),
            format!("SET ROLE {other}"),
        ),
    ] {
        run(&mut root, &change);
        assert_eq!(
            said(&mut root, &name),
            [format!("people t t {expected} all 2")],
            "{change}"
        );
        run(&mut root, &back);
    }
    assert_eq!(said(&mut root, &name), ["people t t - all 2"]);
    let open = format!("SELECT reads_statistics FROM dp_check('{name}')");
    assert!(value::<bool>(&mut root, &open));
    run(&mut root, "REVOKE SELECT ON pg_stat_database FROM PUBLIC");
    assert!(!value::<bool>(&mut root, &open));
    // Who may not see the settings of the server, nor the budget, sees what the role's own settings say.
    let mut analyst = database.connect_as(&name);
    assert_eq!(said(&mut analyst, &name), ["people t t - all"]);
    assert_eq!(said(&mut analyst, "pg_monitor"), ["people f - all"]);
    let nobody = said(&mut root, "pg_monitor");
    assert_eq!(nobody, ["people f f - all 2"]);
    run(
        &mut root,
        &format!("DROP OWNED BY {other}; DROP ROLE {other}"),
    );
}

/// What `dp_allow` says beside its answer to the role `as_role`.
fn heard(database: &Database, as_role: &str, sql: &str) -> Vec<String> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let mut client = database.connect_listening(as_role, move |said| {
        kept.lock()
            .expect("one session")
            .push(said.trim().to_owned());
    });
    run(&mut client, sql);
    drop(client);
    std::mem::take(&mut *heard.lock().expect("the session has ended"))
}

/// An owner hears at once of a role that reads the rows all the same, and of one whose sessions do not load the library.
#[test]
fn the_owner_hears_what_a_role_cannot_or_need_not_ask() {
    let database = Database::new(Build::Release);
    let mut root = database.connect();
    let [name, owner] = ["analyst", "owner"].map(|role| format!("{}_{role}", database.name()));
    run(
        &mut root,
        &format!(
            "CREATE ROLE {name} LOGIN; CREATE ROLE {owner} LOGIN; GRANT CREATE ON SCHEMA public TO {owner};
             GRANT EXECUTE ON FUNCTION dp_set_budget TO {owner};
             SET ROLE {owner}; CREATE TABLE people (id int PRIMARY KEY, pay float8);
             SELECT dp_set_budget('all', 1, 0), dp_protect('people', 'id', 'all'); RESET ROLE"
        ),
    );
    let allow = format!("SELECT dp_allow('people', '{name}')");
    let not_loaded =
        format!("sessions of role \"{name}\" do not load dp_mean, so its questions are refused");
    let reads = |how: &str| {
        format!(
            "role \"{name}\" can read the rows of table people itself, exactly and without paying ({how})"
        )
    };
    assert_eq!(heard(&database, &owner, &allow), [not_loaded.as_str()]);
    run(&mut root, &format!("GRANT SELECT ON people TO {name}"));
    assert_eq!(
        heard(&database, "postgres", &allow),
        [reads("SELECT"), not_loaded]
    );
    run(
        &mut root,
        &format!("ALTER ROLE {name} SET session_preload_libraries = 'dp_mean'"),
    );
    assert_eq!(heard(&database, &owner, &allow), [reads("SELECT")]);
    run(&mut root, &format!("REVOKE SELECT ON people FROM {name}"));
    let nothing: [&str; 0] = [];
    assert_eq!(heard(&database, &owner, &allow), nothing);
    // Who may not call dp_check allows all the same.
    run(
        &mut root,
        &format!(
            "REVOKE EXECUTE ON FUNCTION dp_check FROM PUBLIC; ALTER ROLE {name} RESET session_preload_libraries"
        ),
    );
    assert_eq!(heard(&database, &owner, &allow), nothing);
    run(
        &mut root,
        &format!("DROP OWNED BY {owner}; DROP OWNED BY {name}"),
    );
}

/// Bounds of an expression go with a column that has a new name, and are lost with one that is dropped.
#[test]
fn bounds_that_are_lost_are_said() {
    let database = Database::new(Build::Release);
    let mut root = database.connect();
    let name = format!("{}_analyst", database.name());
    run(
        &mut root,
        &format!(
            "CREATE ROLE {name}; CREATE TABLE people (id int PRIMARY KEY, a int, b int, c int, d int);
             SELECT dp_set_budget('all', 1, 0), dp_protect('people', 'id', 'all', query_eps => 0.5);
             SELECT dp_declare('people', 'a - b', -30, 30), dp_declare('people', 'abs(b) + c', 0, 50);
             SELECT dp_allow('people', '{name}')"
        ),
    );
    let said = format!("SELECT coalesce(lost_bounds::text, '-') FROM dp_check('{name}')");
    let sum = |of: &str| format!("SELECT price > 0 FROM dp_cost('SELECT sum({of}) FROM people')");
    let cost = |root: &mut Client, of: &str| {
        run(root, &format!("SET ROLE {name}"));
        let is_answered = root.simple_query(&sum(of)).is_ok();
        run(root, "RESET ROLE");
        is_answered
    };
    for (change, lost, answered, refused) in [
        ("SELECT 1", "-", "a - b", "a - c"),
        (
            "ALTER TABLE people RENAME a TO first",
            "-",
            "first - b",
            "b - first",
        ),
        (
            "ALTER TABLE people ALTER c TYPE text",
            "{\"(abs(b) + c)\"}",
            "first - b",
            "abs(b) + length(c)",
        ),
        (
            "ALTER TABLE people ALTER c TYPE int USING c::int",
            "-",
            "abs(b) + c",
            "c",
        ),
        (
            "ALTER TABLE people DROP c",
            "{\"(abs(b) + (dropped column))\"}",
            "first - b",
            "abs(b)",
        ),
        // Another column does not take the place of one that is gone.
        (
            "SELECT dp_declare('people', 'd * 2', 0, 50)",
            "{\"(abs(b) + (dropped column))\"}",
            "d * 2",
            "abs(b) + d",
        ),
        (
            "SELECT dp_protect('people', 'id', 'all', query_eps => 0.5)",
            "-",
            "d * 2",
            "abs(b) + d",
        ),
    ] {
        run(&mut root, change);
        assert_eq!(value::<String>(&mut root, &said), lost, "{change}");
        assert!(cost(&mut root, answered), "{change}");
        assert!(!cost(&mut root, refused), "{change}");
    }
    // Where nobody may ask yet, too.
    assert_eq!(
        value::<i64>(
            &mut root,
            "SELECT count(*) FROM dp_check('pg_monitor') WHERE lost_bounds IS NULL"
        ),
        1
    );
    run(&mut root, &format!("DROP TABLE people; DROP ROLE {name}"));
}
