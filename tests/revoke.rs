//! The REVOKE list of docs/threat-model.md shuts what counts rows: of PostgreSQL, and of extensions in any schema.

use dp_mean_tests::{Build, Role, run, session, value};
use postgres::Client;

/// The page's list, as a statement.
fn list() -> String {
    let page = include_str!("../docs/threat-model.md");
    let (_, rest) = page.split_once("```sql\nDO $$").expect("the list");
    let (list, _) = rest.split_once("```").expect("its end");
    format!("DO $${list}")
}

/// What extensions call their views and functions. The tests have none of them, so these stand in.
const KEPT: &str = "
    CREATE SCHEMA tools; GRANT USAGE ON SCHEMA tools TO PUBLIC;
    CREATE VIEW tools.pg_stat_statements AS SELECT 1 AS rows;
    CREATE VIEW tools.pg_qualstats_by_query AS SELECT 1 AS nbfiltered;
    CREATE VIEW tools.pg_stat_kcache_detail AS SELECT 1 AS reads;
    CREATE VIEW tools.pg_wait_sampling_profile AS SELECT 1 AS count;
    GRANT SELECT ON ALL TABLES IN SCHEMA tools TO PUBLIC;
    CREATE FUNCTION tools.pg_stat_statements(showtext boolean) RETURNS int RETURN 1;
    CREATE FUNCTION tools.pg_qualstats() RETURNS int RETURN 1;
    CREATE FUNCTION tools.pg_stat_kcache() RETURNS int RETURN 1;
    CREATE FUNCTION tools.pg_wait_sampling_get_profile() RETURNS int RETURN 1;
    CREATE FUNCTION tools.pg_wait_sampling_get_history() RETURNS int RETURN 1";

/// The views and functions that count, and that a role may use, by their names.
fn open(client: &mut Client, role: &str) -> Vec<String> {
    let sql = format!(
        "SELECT array(SELECT oid::regclass::text FROM pg_class WHERE relkind = 'v'
                AND relnamespace IN ('pg_catalog'::regnamespace, 'tools'::regnamespace)
                AND (relname LIKE 'pg\\_stat\\_%' OR relname LIKE 'pg\\_statio\\_%' OR relname = 'pg_locks'
                    OR relnamespace = 'tools'::regnamespace)
                AND has_table_privilege('{role}', oid, 'SELECT')
            UNION ALL SELECT oid::regprocedure::text FROM pg_proc
            WHERE (pronamespace = 'tools'::regnamespace OR proname LIKE 'pg\\_stat\\_get\\_%')
                AND has_function_privilege('{role}', oid, 'EXECUTE'))"
    );
    value(client, &sql)
}

#[test]
fn the_revoke_list_shuts_what_counts_rows() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    run(&mut client, KEPT);
    let version: String = value(&mut client, "SHOW server_version_num");
    let mut names = vec![
        "tools.pg_stat_statements",
        "tools.pg_qualstats_by_query",
        "tools.pg_stat_kcache_detail",
        "tools.pg_wait_sampling_profile",
        "tools.pg_stat_statements(boolean)",
        "tools.pg_qualstats()",
        "tools.pg_stat_kcache()",
        "tools.pg_wait_sampling_get_profile()",
        "pg_stat_user_tables",
        "pg_statio_user_tables",
        "pg_stat_get_tuples_returned(oid)",
    ];
    if version.as_str() >= "160000" {
        names.extend(["pg_stat_io", "pg_stat_get_io()"]);
    }
    if version.as_str() >= "180000" {
        names.push("pg_stat_get_backend_io(integer)");
    }
    let before = open(&mut client, role.name());
    for name in names {
        assert!(before.iter().any(|open| open == name), "{name}: {before:?}");
    }
    run(&mut client, &list());
    assert_eq!(open(&mut client, role.name()), Vec::<String>::new());
    // Those who watch the server still read them.
    run(&mut client, &format!("GRANT pg_monitor TO {}", role.name()));
    assert!(open(&mut client, role.name()).len() >= before.len());
}
