//! What an analyst makes, and what goes away after the gate has looked: operators over functions of PostgreSQL, types,
//! collations, plans that are older than a transaction.

use dp_mean_tests::{refusal, run, value};

use super::{Stage, down};

/// Operators over functions of PostgreSQL, whose negators are a function that keeps what it is called with.
const OPERATORS: &str = "
CREATE TABLE seen (value text);
CREATE FUNCTION keep(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES ($1); RETURN false; END $$;
CREATE FUNCTION keep(integer, integer) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO seen VALUES ($1::text); RETURN false; END $$;
CREATE OPERATOR <!> (FUNCTION = textne, LEFTARG = text, RIGHTARG = text, NEGATOR = OPERATOR(=!=), RESTRICT = neqsel);
CREATE OPERATOR =!= (FUNCTION = keep, LEFTARG = text, RIGHTARG = text, NEGATOR = OPERATOR(<!>), RESTRICT = eqsel);
CREATE OPERATOR <!> (FUNCTION = int4ne, LEFTARG = integer, RIGHTARG = integer, NEGATOR = OPERATOR(=!=), RESTRICT = neqsel);
CREATE OPERATOR =!= (FUNCTION = keep, LEFTARG = integer, RIGHTARG = integer, NEGATOR = OPERATOR(<!>), RESTRICT = eqsel)";

/// PostgreSQL calls the negator with the most common values of the table, before anything is paid, or with those of all
/// rows.
#[test]
fn operators_are_those_of_postgresql() {
    let stage = Stage::new();
    let mut client = stage.analyst();
    run(&mut client, OPERATORS);
    for (sql, keeps) in [
        ("SELECT count(*) FROM visits WHERE region <!> 'zzz'", true),
        ("SELECT count(*) FROM visits WHERE tall <!> 77", true),
        (
            "SELECT count(*) FROM visits WHERE (region <!> 'zzz') = (now() < '2000-01-01')",
            true,
        ),
        (
            "SELECT count(*) FROM visits WHERE region <!> ALL (ARRAY['y', 'z'])",
            true,
        ),
        (
            "SELECT count(*) FROM visits WHERE patient IN (SELECT person FROM people WHERE dept <!> 'zzz')",
            true,
        ),
        (
            "SELECT count(*) FROM visits v JOIN people p ON p.person = v.patient AND p.dept <!> 'zzz'",
            true,
        ),
        (
            "SELECT count(*) FILTER (WHERE (region <!> 'zzz') = (now() < '2000-01-01')) FROM visits",
            true,
        ),
        // Of public rows alone.
        (
            "SELECT count(*) FROM visits v JOIN (SELECT * FROM own WHERE y <!> 'zzz') o ON o.x = v.patient",
            false,
        ),
    ] {
        for stands in [true, false] {
            run(
                &mut client,
                &format!("SELECT dp_test_defence('operators', {stands}); DELETE FROM seen"),
            );
            let end = stage.attack(&mut client, sql);
            let seen: i64 = value(&mut client, "SELECT count(*) FROM seen");
            if stands {
                assert_eq!(
                    end.error.map(|error| error.0).as_deref(),
                    Some("42501"),
                    "{sql}"
                );
                assert_eq!(seen, 0, "{sql}");
            } else if keeps {
                assert!(seen > 0, "{sql}");
            }
        }
    }
    // The gate says which.
    run(&mut client, "SELECT dp_test_defence('operators', true)");
    let end = stage.attack(
        &mut client,
        "SELECT count(*) FROM visits WHERE region <!> 'zzz'",
    );
    let (_, message) = end.error.expect("refused");
    assert!(
        message.contains("operator <!>(text,text) is not PostgreSQL's own"),
        "{message}"
    );
}

/// What the planner would make of an operator after the gate has looked is looked at again.
#[test]
fn a_search_path_finds_no_operator_of_others() {
    let mut stage = Stage::new();
    let before = "CREATE SCHEMA mine;
         CREATE FUNCTION mine.keep(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'saw %', $1; END $$;
         CREATE OPERATOR mine.= (FUNCTION = int4eq, LEFTARG = integer, RIGHTARG = integer, NEGATOR = OPERATOR(mine.<>), RESTRICT = eqsel);
         CREATE OPERATOR mine.<> (FUNCTION = mine.keep, LEFTARG = integer, RIGHTARG = integer, NEGATOR = OPERATOR(mine.=));
         SET search_path = mine, pg_catalog, public";
    let sql = "SELECT count(*) FROM visits WHERE (tall = 3) = (now() < '2000-01-01')";
    let end = stage.assert_tells_nothing(&format!("BEGIN; {before}"), sql);
    assert_eq!(end.error.expect("refused").0, "42501");
}

/// A value of a type that is gone is looked at by the first row that gets there.
const OF_TYPES: [&str; 2] = [
    "(CASE WHEN patient = 666 THEN 'b'::pg_temp.e ELSE 'a'::pg_temp.e END) > 'a'::pg_temp.e",
    "CASE WHEN patient = 666 THEN (CASE WHEN cost > 0 THEN 'a'::pg_temp.e END) = ANY ('{a,c}'::pg_temp.e[]) ELSE false END",
];

#[test]
fn types_are_there_until_the_last_row() {
    let mut stage = Stage::new();
    // Values that were added between others have numbers that are looked up.
    let made =
        "CREATE TYPE pg_temp.e AS ENUM ('a', 'c'); ALTER TYPE pg_temp.e ADD VALUE 'b' BEFORE 'c'";
    for condition in OF_TYPES {
        let question = format!("SELECT count(*) FROM visits WHERE {condition}");
        for sql in [
            format!("BEGIN; DECLARE c CURSOR FOR {question}; DROP TYPE pg_temp.e; FETCH c"),
            format!("PREPARE q AS {question}; BEGIN; EXECUTE q; DROP TYPE pg_temp.e; EXECUTE q"),
        ] {
            let reuse = "SET dp_mean.reuse = off; SET plan_cache_mode = force_generic_plan";
            let end = stage.assert_tells_nothing(&format!("{made}; {reuse}"), &sql);
            // A plan that is made again finds no type.
            assert_eq!(end.error.expect("refused").0, "42704", "{sql}");
            if sql.starts_with("BEGIN") {
                let before = format!("{made}; {reuse}; {}", down("objects"));
                let [with, without] = stage.with_and_without(&before, &sql);
                assert_ne!(with.kind(), without.kind(), "{sql}");
            }
        }
        // While they are there, they are used.
        let mut client = stage.analyst();
        run(&mut client, made);
        let end = stage.attack(&mut client, &question);
        assert_eq!(end.error, None, "{question}");
    }
}

/// The planner computes conditions of indexes of joined tables, which may be functions of an analyst.
#[test]
fn types_are_there_after_the_planner_ran_code_of_others() {
    let mut stage = Stage::new();
    stage.as_root(
        "SET ROLE {a};
         CREATE TABLE trap (x integer); INSERT INTO trap VALUES (666), (1), (2);
         CREATE FUNCTION spring() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN DROP TYPE pg_temp.e; RETURN true; END $$;
         CREATE FUNCTION looks(integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
             IF current_setting('trap.set', true) = 'yes' THEN PERFORM spring(); END IF; RETURN true; END $$;
         CREATE INDEX ON trap (x) WHERE looks(1);
         RESET ROLE",
    );
    let made = "CREATE TYPE pg_temp.e AS ENUM ('a', 'c'); ALTER TYPE pg_temp.e ADD VALUE 'b' BEFORE 'c'; SET trap.set = 'yes'";
    let sql = format!(
        "SELECT count(*) FROM visits v JOIN trap ON trap.x = v.patient WHERE {}",
        OF_TYPES[0]
    );
    let end = stage.assert_tells_nothing(made, &sql);
    assert_eq!(end.error.expect("refused").0, "42704");
    let [with, without] = stage.with_and_without(&format!("{made}; {}", down("objects")), &sql);
    assert_ne!(with.kind(), without.kind());
}

/// Without a look at it, the server crashes, as PostgreSQL before 16 does with a plain query. From 16 on no table can
/// become a view.
#[test]
fn no_table_is_a_view_after_it_was_planned() {
    let mut stage = Stage::new();
    stage.as_root(
        "SET ROLE {a};
         CREATE TABLE empty (x integer, y text); CREATE TABLE other (x integer, y text);
         CREATE TABLE trap (x integer); INSERT INTO trap VALUES (666), (1), (2);
         CREATE FUNCTION spring() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
             CREATE RULE \"_RETURN\" AS ON SELECT TO empty DO INSTEAD SELECT * FROM other; RETURN true;
         EXCEPTION WHEN feature_not_supported OR wrong_object_type OR invalid_object_definition THEN RETURN false; END $$;
         CREATE FUNCTION looks(integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
             IF current_setting('trap.set', true) = 'yes' THEN PERFORM spring(); END IF; RETURN true; END $$;
         CREATE INDEX ON trap (x) WHERE looks(1);
         RESET ROLE",
    );
    let sql = "SELECT count(*) FROM visits v LEFT JOIN empty ON empty.x = v.patient JOIN trap ON trap.x = v.patient";
    let end = stage.assert_tells_nothing("SET trap.set = 'yes'", sql);
    let version: i32 = value(
        &mut stage.analyst(),
        "SELECT current_setting('server_version_num')::integer",
    );
    let refused = end.error.map(|error| error.0);
    assert_eq!(refused.as_deref(), (version < 160_000).then_some("42704"));
}

/// An answer would be kept for those who ask by other settings.
#[test]
fn settings_are_those_of_the_question_until_the_last_row() {
    let mut stage = Stage::new();
    stage.as_root(
        "SET ROLE {a};
         CREATE TABLE trap (x integer); INSERT INTO trap VALUES (666), (1), (2);
         CREATE FUNCTION spring() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN SET TimeZone = 'Asia/Tokyo'; RETURN true; END $$;
         CREATE FUNCTION looks(integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
             IF current_setting('trap.set', true) = 'yes' THEN PERFORM spring(); END IF; RETURN true; END $$;
         CREATE INDEX ON trap (x) WHERE looks(1);
         RESET ROLE",
    );
    let sql = "SELECT count(*) FROM visits v JOIN trap ON trap.x = v.patient WHERE day::timestamptz > now()";
    let end = stage.assert_tells_nothing("SET trap.set = 'yes'", sql);
    assert_eq!(end.error.expect("refused").0, "25001");
    assert_eq!(stage.attack(&mut stage.analyst(), sql).error, None);
}

/// So is a collation that rows are sorted by, where that begins with the first row that gets there.
#[test]
fn collations_are_there_until_the_last_row() {
    let mut stage = Stage::new();
    let sql = "BEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM people p WHERE CASE WHEN person = 666 THEN
             (SELECT v.cost FROM visits v WHERE v.patient = p.person ORDER BY v.note COLLATE gone LIMIT 1) > 5 ELSE false END;
         DROP COLLATION gone; FETCH c";
    for stands in [true, false] {
        let mut ends = Vec::new();
        for person in [true, false] {
            stage.set_person(person);
            // Who makes it has looked it up.
            run(&mut stage.analyst(), "CREATE COLLATION gone (locale = 'C')");
            let mut client = stage.analyst();
            run(
                &mut client,
                &format!("SELECT dp_test_defence('objects', {stands})"),
            );
            if !stands {
                run(&mut client, &down("lookup"));
            }
            ends.push(stage.attack(&mut client, sql));
            run(&mut client, "ROLLBACK; DROP COLLATION gone");
        }
        assert_eq!(ends[0].kind() == ends[1].kind(), stands, "{ends:?}");
        if stands {
            assert_eq!(ends[0].error.as_ref().expect("refused").0, "42704");
        }
    }
}

/// No other session drops one while rows are read.
#[test]
fn types_are_locked() {
    let stage = Stage::new();
    let mut client = stage.analyst();
    run(
        &mut client,
        "CREATE TYPE held AS ENUM ('a', 'b'); CREATE COLLATION held (locale = 'C')",
    );
    run(&mut client, "BEGIN");
    let asked = "SELECT count(*) FROM visits WHERE (CASE WHEN cost > 0 THEN 'a' ELSE 'b' END)::text COLLATE held < 'b'
         AND (CASE WHEN cost > 0 THEN 'a'::held ELSE 'b' END) = 'a'";
    assert_eq!(stage.attack(&mut client, asked).error, None);
    let mut other = stage.analyst();
    for drop in ["DROP TYPE held", "DROP COLLATION held"] {
        let error = other.batch_execute(&format!("SET lock_timeout = '200ms'; {drop}"));
        let refusal = refusal(&error.expect_err("locked"), drop);
        assert_eq!(refusal.code, "55P03", "{refusal:?}");
    }
}

/// A plan that was made for the latest rows has what a unique index says of them; a transaction may see older ones.
#[test]
fn a_plan_is_not_asked_of_older_rows() {
    let mut stage = Stage::new();
    stage.as_owner(
        "CREATE TABLE many (person integer NOT NULL, x float8 NOT NULL);
         INSERT INTO many SELECT i % 10, 1 FROM generate_series(0, 9999) i;
         SELECT dp_protect('many', 'person', 'patients', query_eps => 20), dp_allow('many', '{a}')",
    );
    let mut old = stage.database.connect();
    run(&mut old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    let snapshot: String = value(&mut old, "SELECT pg_export_snapshot()");
    stage.as_owner("DELETE FROM many a USING many b WHERE a.person = b.person AND a.ctid > b.ctid; CREATE UNIQUE INDEX ON many (person)");
    for stands in [true, false] {
        let mut client = stage.analyst();
        run(
            &mut client,
            &format!(
                "SET dp_mean.reuse = off; SET plan_cache_mode = force_generic_plan; SELECT dp_test_defence('snapshot', {stands});
                 PREPARE q AS SELECT count(*) FROM many"
            ),
        );
        let counted: i64 = value(&mut client, "EXECUTE q");
        assert!((counted - 10).abs() <= 3, "{counted}");
        run(
            &mut client,
            &format!(
                "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '{snapshot}'"
            ),
        );
        if stands {
            // What is planned there does not look for the index.
            let counted: i64 = value(&mut client, "SELECT count(*) FROM many");
            assert!((counted - 10).abs() <= 3, "{counted}");
            let end = stage.attack(&mut client, "EXECUTE q");
            assert_eq!(end.error.expect("refused").0, "40001");
        } else {
            let counted: i64 = value(&mut client, "EXECUTE q");
            assert!(counted > 9000, "{counted}");
        }
    }
}
