//! Names that somebody has taken: functions, operators and types like ours, labels that are not one's own, and what
//! the gate keeps for itself.

use dp_mean_tests::{refused, run};

use super::{Stage, down};

/// Objects named like PostgreSQL's and ours, in a schema of the asker that is searched first. Each tells what it sees.
const SHADOWS: &str = "
DROP SCHEMA IF EXISTS evil CASCADE; CREATE SCHEMA evil; SET search_path = evil, pg_catalog, public;
CREATE FUNCTION evil.saw(\"any\") RETURNS boolean LANGUAGE internal AS 'boolin';
";

/// The same in SQL that a role without C or internal functions may run.
const FUNCTIONS: &str = "
DROP SCHEMA IF EXISTS evil CASCADE; CREATE SCHEMA evil;
CREATE FUNCTION evil.same(float8, float8) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
CREATE FUNCTION evil.same(integer, integer) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
CREATE FUNCTION evil.same(bigint, integer) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
CREATE FUNCTION evil.same(text, text) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = float8, RIGHTARG = float8);
CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR evil.<= (FUNCTION = evil.same, LEFTARG = bigint, RIGHTARG = integer);
CREATE FUNCTION evil.add(float8, float8) RETURNS float8 LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'saw %', $2; RETURN $1 + $2; END $$;
CREATE FUNCTION evil.add(float8, float8, float8, float8, float8) RETURNS float8 LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'saw %', $2; RETURN $1 + $2; END $$;
CREATE AGGREGATE evil.avg(float8) (SFUNC = evil.add, STYPE = float8, INITCOND = 0);
CREATE AGGREGATE evil.sum(float8) (SFUNC = evil.add, STYPE = float8, INITCOND = 0);
CREATE AGGREGATE evil.dp_mean(float8, float8, float8, float8) (SFUNC = evil.add, STYPE = float8, INITCOND = 0);
CREATE AGGREGATE evil.dp_contribution(float8, float8, float8, float8)
    (SFUNC = evil.add, STYPE = float8, INITCOND = 0);
CREATE FUNCTION evil.row_number() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE FUNCTION evil.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT ''evil''::text';
CREATE FUNCTION evil.float8(numeric) RETURNS float8 LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN 1; END $$;
CREATE DOMAIN evil.dp_mechanism AS text CHECK (value IS NULL);
CREATE DOMAIN evil.oid AS text CHECK (value IS NULL);
SET search_path = evil, pg_catalog, public;
";

#[test]
fn what_is_named_like_ours_sees_nothing() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT count(*) FROM visits WHERE cost = 1",
        "SELECT count(*) FROM visits WHERE region = 'x'",
        "SELECT avg(cost) FROM visits",
        "SELECT sum(cost), count(*) FROM visits",
        "SELECT dp_mean(cost, 0, 100, 0.1) FROM visits",
        "SELECT count(*) FROM visits WHERE float8(big) > 1",
        "SELECT count(*) FROM visits JOIN own ON patient = x",
        "SELECT region, count(*) FROM visits GROUP BY region",
        "SELECT dept, pg_catalog.avg(salary) FROM people GROUP BY dept",
    ] {
        stage.assert_tells_nothing(FUNCTIONS, sql);
    }
    // The internal language is not for everybody, so no such thing can be made of PostgreSQL's own code.
    let mut client = stage.analyst();
    assert_eq!(refused(&mut client, SHADOWS).code, "42501");
}

/// In the schema of our own aggregates, one whose types fit better would be called on rows.
#[test]
fn what_fits_better_than_ours_sees_nothing() {
    let mut stage = Stage::new();
    let before = "DROP FUNCTION IF EXISTS sees(bigint, boolean, float8, dp_mechanism) CASCADE; \
        CREATE FUNCTION sees(bigint, boolean, float8, dp_mechanism) RETURNS bigint LANGUAGE plpgsql AS \
        $$ BEGIN RAISE NOTICE 'saw a row'; RETURN $1 + 1; END $$; \
        CREATE AGGREGATE dp_count(boolean, float8, dp_mechanism) (SFUNC = sees, STYPE = bigint, INITCOND = 0);";
    let sql = "SELECT count(*) FROM people WHERE person > 600";
    let end = stage.assert_tells_nothing(before, sql);
    // When the question is written, and not only by the last look before it runs.
    let (code, message) = end.error.expect("refused");
    assert_eq!(code, "42501");
    assert!(
        message.contains("another function in the extension's schema"),
        "{message}"
    );
    stage.assert_tells_without(&["names", "warnings"], before, sql);
}

/// What the gate keeps for itself is called by nobody: not by name, nor as a part of something else.
#[test]
fn nobody_calls_what_is_ours() {
    let stage = Stage::new();
    let mut client = stage.analyst();
    for sql in [
        "SELECT * FROM dp_mean.answer(NULL, NULL::boolean) AS t(x bigint)",
        "SELECT * FROM dp_mean.answer('sealed', NULL::boolean) AS t(x bigint)",
        "SELECT NULL::dp_mean.block",
        "SELECT dp_mean.total(177::oid, 1, 1)",
        "SELECT dp_mean.total('evil'::regproc::oid, 1) FROM visits",
        "CREATE AGGREGATE forged(boolean) (SFUNC = booland_statefunc, STYPE = boolean, \
         FINALFUNC = dp_mean.total)",
        "CREATE OPERATOR !!! (FUNCTION = dp_mean.total, RIGHTARG = boolean)",
        "CREATE CAST (text AS dp_mean.block) WITH INOUT",
        "CREATE FUNCTION forged(text) RETURNS SETOF record LANGUAGE c AS '$libdir/dp_mean', 'dp_answer'",
        "CREATE FUNCTION forged(text) RETURNS SETOF record LANGUAGE internal AS 'dp_answer'",
        "CREATE FUNCTION dp_mean.answer(integer) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "ALTER FUNCTION dp_mean.answer(dp_mean.block, \"any\") OWNER TO {a}",
        "ALTER EXTENSION dp_mean ADD TABLE own",
        "SET search_path = dp_mean; SELECT total(177::oid, 1, 1)",
        "INSERT INTO dp_mean.allowance VALUES ('people', '{a}', 9, true, now(), '{a}')",
        "SELECT * FROM dp_mean.allowance",
        "UPDATE dp_mean.spent SET epsilon = 0",
        "CREATE TYPE dp_mean.mine AS (x integer)",
        "DROP EXTENSION dp_mean",
        "LOAD '$libdir/dp_mean'; RESET ALL; SET session_preload_libraries = ''",
        "SET ROLE {o}",
        "SET SESSION AUTHORIZATION {o}",
        "ALTER TABLE visits OWNER TO {a}",
        "GRANT SELECT ON visits TO {a}",
        "SELECT dp_allow('people', '{a}')",
        "SELECT dp_protect('visits', 'patient', 'patients', query_eps => 50)",
        "SELECT dp_unprotect('visits')",
        "SELECT dp_declare('visits', 'cost', 4242, 4243)",
        "SELECT dp_charge('patients', 0.1, 0)",
        "SELECT dp_set_budget('patients', 1e3, 0)",
        "SET dp_mean.epsilon = 40; SELECT count(*) FROM visits",
        "SET dp_mean.allow_pathological = on",
        "SECURITY LABEL FOR dp_mean ON TABLE visits IS NULL",
        "SECURITY LABEL FOR dp_mean ON TABLE visits IS \
         '{\"budget\":\"patients\",\"groups\":1,\"rows\":1,\"epsilon\":50}'",
        "SECURITY LABEL FOR dp_mean ON COLUMN visits.cost IS '{\"unit\":true}'",
        "SECURITY LABEL FOR dp_mean ON COLUMN visits.cost IS '{\"bounds\":[4242,4243]}'",
        "SECURITY LABEL FOR dp_mean ON TABLE own IS '{\"budget\":\"patients\",\"groups\":0,\"rows\":1,\"epsilon\":1}'",
        "SECURITY LABEL FOR dp_mean ON TABLE own IS '{\"sql\":\"x\"}'",
        "SECURITY LABEL FOR dp_mean ON TABLE own IS 'x'",
        "SECURITY LABEL FOR dp_mean ON FUNCTION show(name) IS 'x'",
        "CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    ] {
        let mut session = stage.analyst();
        let end = stage.attack(&mut session, sql);
        assert!(end.error.is_some(), "done: {sql}: {end:?}");
    }
    // All of it left the table as it was.
    stage.number(&mut client, "SELECT count(*) FROM visits");
}

/// A function that the planner computes before it runs anything sees no more than its owner may.
#[test]
fn functions_that_are_folded_see_no_rows() {
    let mut stage = Stage::new();
    let before = "DROP FUNCTION IF EXISTS peek, peeks, folds; \
        CREATE FUNCTION peek() RETURNS float8 IMMUTABLE LANGUAGE plpgsql AS \
        $$ BEGIN RETURN (SELECT max(cost) FROM visits); END $$; \
        CREATE FUNCTION peeks(float8) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \
        $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$; \
        CREATE FUNCTION folds(float8) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT peeks($1)';";
    for sql in [
        "SELECT count(*) FROM visits WHERE cost > peek()",
        "SELECT count(*) FROM visits WHERE peeks(cost)",
        "SELECT count(*) FROM visits WHERE folds(cost)",
        "SELECT count(*) FROM visits WHERE peeks(1) AND cost > 1",
        "SELECT count(*) FILTER (WHERE peeks(cost)) FROM visits",
        "SELECT dp_mean(cost, peek(), 5000, 0.1) FROM visits",
        "SELECT avg(cost) FROM visits GROUP BY peeks(cost)",
        "SELECT count(*) FROM visits JOIN own ON peeks(cost)",
        "SELECT count(*) FROM (SELECT peeks(cost) AS p FROM visits) s WHERE p",
        "SELECT count(*) FROM visits LIMIT (CASE WHEN peek() > 4000 THEN 0 END)",
    ] {
        stage.assert_tells_nothing(before, sql);
    }
}

/// A table pays from a budget of its own owner: one who has a table cannot spend another's by its label.
#[test]
fn a_label_cannot_name_the_budget_of_another() {
    let mut stage = Stage::new();
    stage.as_root(
        "CREATE TABLE theirs (person integer PRIMARY KEY); ALTER TABLE theirs OWNER TO {b}; \
         SET ROLE {b}; SELECT dp_set_budget('mine', 1, 0); SELECT dp_protect('theirs', 'person', 'mine'); \
         SELECT dp_allow('theirs', '{a}'); SECURITY LABEL FOR dp_mean ON TABLE theirs IS \
         '{\"budget\":\"patients\",\"groups\":1,\"rows\":1,\"epsilon\":50}'; RESET ROLE",
    );
    let sql = "SELECT count(*) FROM theirs";
    let mut client = stage.analyst();
    for asked in [sql, "SELECT * FROM dp_cost('SELECT count(*) FROM theirs')"] {
        let end = stage.attack(&mut client, asked);
        assert_eq!(end.error.expect("refused").0, "42501");
    }
    assert_eq!(stage.spent().1, 0);
    run(&mut client, &down("budget"));
    stage.number(&mut client, sql);
    assert_eq!(stage.spent().1, 1);
}

/// A value of a public list that is written in two ways counts a person once.
#[test]
fn a_value_that_is_listed_twice_counts_once() {
    let mut stage = Stage::new();
    stage.as_owner(
        "CREATE TABLE twice (person integer PRIMARY KEY, k integer); INSERT INTO twice SELECT g, 1 FROM \
         generate_series(1, 100) g; SELECT dp_protect('twice', 'person', 'patients', query_eps => 50); \
         SELECT dp_declare('twice', 'k', ARRAY['1', '01', '001', '2']); SELECT dp_allow('twice', '{a}')",
    );
    let sql = "SELECT count(*) FROM twice GROUP BY k ORDER BY k LIMIT 1";
    let mut client = stage.analyst();
    assert_eq!(stage.number(&mut client, sql), 100);
    run(&mut client, &down("listed"));
    assert_eq!(stage.number(&mut client, sql), 300);
}

/// The conditions of a domain are code of who made it, and run with nobody else's rights.
#[test]
fn a_domain_gets_no_rights() {
    let mut stage = Stage::new();
    stage.as_owner(
        "CREATE FUNCTION rises(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN \
         IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AND session_user <> 'postgres' THEN \
         RAISE NOTICE 'a superuser'; END IF; RETURN true; END $$; \
         CREATE DOMAIN risen AS text CHECK (rises(value)); \
         CREATE TABLE risers (person integer PRIMARY KEY, k risen); INSERT INTO risers VALUES (1, 'a'); \
         SELECT dp_protect('risers', 'person', 'patients'); SELECT dp_declare('risers', 'k', ARRAY['a', 'b']); \
         SELECT dp_allow('risers', '{a}')",
    );
    let sql = "SELECT k, count(*) FROM risers GROUP BY k";
    let mut client = stage.analyst();
    let end = stage.attack(&mut client, sql);
    assert!(end.error.is_none() && end.heard.is_empty(), "{end:?}");
    run(&mut client, &down("domain"));
    assert!(!stage.attack(&mut client, sql).heard.is_empty());
}
