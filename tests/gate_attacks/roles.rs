//! Who asks: roles that change, go, or lose what they were allowed, between two steps of a question.

use dp_mean_tests::{run, value};

use super::{Stage, down, version};

const ASKED: &str = "SELECT count(*) FROM visits";

/// How a question ends in a session where it was prepared and ran before: with 42501.
#[track_caller]
fn assert_denied(stage: &Stage, client: &mut postgres::Client, sql: &str) {
    let end = stage.attack(client, sql);
    let (code, _) = end.error.unwrap_or_else(|| panic!("answered: {sql}"));
    assert_eq!(code, "42501", "{sql}");
}

/// A session with a prepared statement, functions and an open cursor, all of which have answered.
fn prepared(stage: &Stage) -> postgres::Client {
    let mut client = stage.analyst();
    run(
        &mut client,
        "CREATE OR REPLACE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM visits'; \
         CREATE OR REPLACE FUNCTION g() RETURNS bigint LANGUAGE plpgsql AS \
         'BEGIN RETURN (SELECT count(*) FROM visits); END'; \
         SET plan_cache_mode = force_generic_plan; PREPARE q AS SELECT count(*) FROM visits; \
         PREPARE p(integer) AS SELECT count(*) FROM visits WHERE patient = $1; EXECUTE q; EXECUTE p(1); \
         SELECT f(), g(); SELECT f(), g()",
    );
    client
}

const STATEMENTS: [&str; 5] = [
    "EXECUTE q",
    "EXECUTE p(1)",
    "SELECT f()",
    "SELECT g()",
    ASKED,
];

#[test]
fn who_is_no_longer_allowed_gets_nothing() {
    let mut stage = Stage::new();
    for (end, back) in [
        (
            "SELECT dp_disallow('visits', '{a}')",
            "SELECT dp_allow('visits', '{a}')",
        ),
        (
            "SELECT dp_unprotect('visits')",
            "SELECT dp_protect('visits', 'patient', 'patients'); SELECT dp_allow('visits', '{a}')",
        ),
        (
            "SECURITY LABEL FOR dp_mean ON COLUMN visits.patient IS NULL",
            "SECURITY LABEL FOR dp_mean ON COLUMN visits.patient IS '{\"unit\":true}'",
        ),
    ] {
        let mut client = prepared(&stage);
        stage.as_owner(end);
        for sql in STATEMENTS {
            assert_denied(&stage, &mut client, sql);
        }
        stage.as_owner(back);
        stage.number(&mut client, ASKED);
    }
}

#[test]
fn a_membership_that_ends_ends_the_permission() {
    let mut stage = Stage::new();
    stage.as_owner("SELECT dp_disallow('visits', '{a}'); SELECT dp_allow('visits', '{b}')");
    stage.as_root("GRANT {b} TO {a}");
    let mut client = prepared(&stage);
    stage.as_root("REVOKE {b} FROM {a}");
    for sql in STATEMENTS {
        assert_denied(&stage, &mut client, sql);
    }
}

/// A plan that was made for one role does not answer another.
#[test]
fn another_role_gets_nothing_from_the_plan_of_the_first() {
    let mut stage = Stage::new();
    stage.as_root("GRANT {b} TO {a}");
    let mut client = prepared(&stage);
    let role = stage.fill("{b}");
    run(&mut client, &format!("SET ROLE {role}"));
    for sql in [
        "EXECUTE q",
        "EXECUTE p(1)",
        ASKED,
        "SELECT f()",
        "SELECT g()",
    ] {
        assert_denied(&stage, &mut client, sql);
    }
    run(&mut client, "RESET ROLE");
    stage.number(&mut client, "EXECUTE q");
    // Nor within one statement.
    let sql = format!("SELECT set_config('role', '{role}', false), f() FROM own");
    let charges = stage.spent().1;
    assert_denied(&stage, &mut client, &sql);
    assert_eq!(stage.spent().1, charges);
}

/// Between the plan and its start the permission ends: SQL functions plan all of their statements first, up to
/// PostgreSQL 17.
#[test]
fn the_permission_is_looked_at_where_the_plan_starts() {
    let mut stage = Stage::new();
    if version(&mut stage.root) >= 180_000 {
        return;
    }
    stage.as_owner(
        "CREATE FUNCTION ends() RETURNS void LANGUAGE sql SECURITY DEFINER AS \
         $$ SELECT dp_disallow('visits', '{a}') $$",
    );
    let mut client = stage.analyst();
    run(
        &mut client,
        "CREATE FUNCTION late() RETURNS bigint LANGUAGE sql AS 'SELECT ends(); SELECT count(*) FROM visits'",
    );
    assert_denied(&stage, &mut client, "SELECT late()");
    stage.as_owner("SELECT dp_allow('visits', '{a}')");
    run(&mut client, &down("again"));
    stage.number(&mut client, "SELECT late()");
}

/// The session of a role that was dropped goes on. Its name is in the list of the allowed still.
#[test]
fn a_role_that_is_gone_gets_nothing() {
    let mut stage = Stage::new();
    stage.as_root("CREATE ROLE {a}_gone LOGIN");
    stage.as_owner("SELECT dp_allow('visits', '{a}_gone')");
    let name = stage.fill("{a}_gone");
    let mut client = stage.database.connect_as(&name);
    run(
        &mut client,
        "PREPARE q AS SELECT count(*) FROM visits; EXECUTE q",
    );
    stage.as_root("DROP ROLE {a}_gone");
    for sql in [ASKED, "EXECUTE q", "SELECT * FROM visits LIMIT 0"] {
        assert_denied(&stage, &mut client, sql);
    }
    run(&mut client, &down("role"));
    stage.number(&mut client, ASKED);
}

/// The owner of a view asks, and pays; a view adds no rights, and takes none.
#[test]
fn views_and_functions_ask_in_their_owners_name() {
    let mut stage = Stage::new();
    stage.as_root(
        "SET ROLE {a}; CREATE VIEW answers AS SELECT region, count(*) FROM visits GROUP BY region; \
         CREATE VIEW raw AS SELECT * FROM visits; \
         CREATE FUNCTION asks() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM visits'; \
         CREATE FUNCTION asker() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM visits'; \
         GRANT SELECT ON answers, raw TO {b}; RESET ROLE; \
         SET ROLE {b}; CREATE VIEW other AS SELECT * FROM visits; GRANT SELECT ON other TO {a}; RESET ROLE",
    );
    let name = stage.fill("{b}");
    let mut client = stage.database.connect_as(&name);
    for sql in [
        "SELECT * FROM answers",
        "SELECT asks()",
        "SELECT count(*) FROM raw",
    ] {
        assert_eq!(stage.attack(&mut client, sql).error, None, "{sql}");
    }
    for sql in [
        ASKED,
        "SELECT asker()",
        "SELECT * FROM raw",
        "SELECT max(cost) FROM raw",
        "SELECT count(*) FROM other",
    ] {
        assert_denied(&stage, &mut client, sql);
    }
    let mut client = stage.analyst();
    assert_denied(&stage, &mut client, "SELECT count(*) FROM other");
    let sql = stage.fill("SELECT count(*) FROM dp_mean.charge WHERE role = '{a}'::regrole");
    assert_eq!(value::<i64>(&mut stage.root, &sql), 3);
    // Row-level security is that of the one who asks.
    stage.as_owner(
        "ALTER TABLE visits ENABLE ROW LEVEL SECURITY; \
         SELECT dp_protect('visits', 'patient', 'patients', query_eps => 50, rows => 4); \
         CREATE POLICY p ON visits FOR SELECT TO {a} USING (patient <> 666)",
    );
    let mut client = stage.analyst();
    // Each patient has four rows or more; noise of two has a probability of e^-25.
    let mut count = |patient| {
        stage.number(
            &mut client,
            &format!("SELECT count(*) FROM visits WHERE patient = {patient}"),
        )
    };
    assert!(count(666) <= 1);
    assert!(count(1) >= 3);
    stage.as_owner(
        "CREATE POLICY q ON visits AS RESTRICTIVE FOR SELECT TO {a} USING (show(region))",
    );
    assert_denied(
        &stage,
        &mut client,
        "SELECT count(*) FROM visits WHERE patient = 1",
    );
    assert!(stage.heard().is_empty());
}

/// The policies of a joined table run their own code beside private rows: such a table is not joined.
#[test]
fn a_joined_table_with_policies_sees_nothing() {
    let mut stage = Stage::new();
    stage.as_root(
        "SET ROLE {b}; CREATE TABLE guarded (x integer, y text); INSERT INTO guarded VALUES (1, 'r1'), (2, 'canary'); \
         ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; GRANT SELECT ON guarded TO {a}; \
         CREATE POLICY p ON guarded TO {a} USING (show(y)); RESET ROLE",
    );
    let mut client = stage.analyst();
    stage.attack(&mut client, "SELECT * FROM guarded");
    assert_eq!(stage.number(&mut client, "SELECT count(*) FROM guarded"), 2);
    assert!(!stage.heard().is_empty(), "the policy runs");
    for sql in [
        "SELECT count(*) FROM visits JOIN guarded ON y = region",
        "SELECT count(*) FROM guarded, visits WHERE y = region",
        "SELECT y, count(*) FROM visits LEFT JOIN guarded ON y = region GROUP BY y",
    ] {
        let end = stage.attack(&mut client, sql);
        let (code, message) = end.error.expect("it is refused");
        assert_eq!(code, "42501", "{sql}");
        assert!(
            message.contains("guarded is joined, which is not a plain table"),
            "{message}: {sql}"
        );
        assert!(end.heard.is_empty(), "{:?}: {sql}", end.heard);
    }
}

/// What inherits from a protected table, or is a part of it, is not lent.
#[test]
fn parts_of_a_table_are_not_lent() {
    let mut stage = Stage::new();
    stage.as_owner(
        "CREATE TABLE parts (person integer, v float8) PARTITION BY RANGE (person); \
         CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (1000); \
         INSERT INTO parts VALUES (666, 4242.4242); \
         SELECT dp_protect('parts', 'person', 'patients'); SELECT dp_allow('parts', '{a}'); \
         CREATE TABLE child () INHERITS (visits); INSERT INTO child SELECT * FROM visits",
    );
    let mut client = stage.analyst();
    for sql in [
        "SELECT count(*) FROM part",
        "SELECT * FROM part",
        "SELECT count(*) FROM child",
        "TABLE child",
    ] {
        assert_denied(&stage, &mut client, sql);
    }
    stage.number(&mut client, "SELECT count(*) FROM parts");
    stage.number(&mut client, ASKED);
    stage.number(&mut client, "SELECT count(*) FROM ONLY visits");
}

/// Reading a table as its owner needs what its owner may read: the columns of the question and that of the person.
#[test]
fn what_its_owner_may_not_read_is_not_lent() {
    let mut stage = Stage::new();
    let mut client = stage.analyst();
    let asked = "SELECT count(*) FROM visits WHERE cost > 1";
    stage.number(&mut client, asked);
    stage.as_owner("REVOKE SELECT ON visits FROM {o}; GRANT SELECT (cost) ON visits TO {o}");
    assert_denied(&stage, &mut client, asked);
    stage.as_owner("GRANT SELECT (patient) ON visits TO {o}");
    stage.number(&mut client, asked);
    assert_denied(
        &stage,
        &mut client,
        "SELECT count(*) FROM visits WHERE tall = 1",
    );
}
