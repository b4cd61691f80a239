//! Answers that are calls: what a session could forge, hand on, or learn of how they came about.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use dp_mean_tests::{refusal, refused, run, value};
use postgres::Client;

use super::{Stage, down, version};

const ASKED: &str = "SELECT count(*) FROM visits";

/// From now on, sessions of the analyst and of the other role have answers that are kept.
fn keep_answers(stage: &mut Stage) {
    stage.as_root("ALTER ROLE {a} SET dp_mean.reuse = on; ALTER ROLE {b} SET dp_mean.reuse = on");
}

/// SQL that calls `dp_mean.answer` with a token that nobody made: the tree of a view of the analyst's own, over the rows
/// of the table, with the owner as who reads them.
fn forged(stage: &mut Stage, client: &mut Client) -> String {
    // Only a superuser can open the schema, and make a value of the type from bytes.
    stage.as_root(
        "GRANT USAGE ON SCHEMA dp_mean TO {a}; CREATE CAST (bytea AS dp_mean.block) WITHOUT FUNCTION; \
         GRANT USAGE ON TYPE dp_mean.block TO PUBLIC",
    );
    run(
        client,
        "CREATE VIEW rows AS SELECT region, cost FROM visits",
    );
    let tree: String = value(
        client,
        "SELECT btrim(ev_action::text, '()') FROM pg_rewrite WHERE ev_class = 'rows'::regclass",
    );
    let of = |stage: &mut Stage, sql: &str| -> i64 {
        let sql = stage.fill(sql);
        value(&mut stage.root, &sql)
    };
    let owner = of(stage, "SELECT '{o}'::regrole::oid::bigint");
    let analyst = of(stage, "SELECT '{a}'::regrole::oid::bigint");
    let relation = of(stage, "SELECT 'visits'::regclass::oid::bigint");
    let tree = tree.replace(":checkAsUser 0", &format!(":checkAsUser {owner}"));
    let mut token = vec![0; 32];
    for number in [4, analyst, relation, analyst, 0, 0] {
        token.extend_from_slice(&u32::try_from(number).expect("an OID").to_le_bytes());
    }
    token.extend_from_slice(&[0; 5 * 8 + 32]);
    token.extend_from_slice(tree.as_bytes());
    let hex: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "SELECT count(*) FROM dp_mean.answer('\\x{hex}'::bytea::dp_mean.block, NULL::boolean) \
         AS t(region text, cost float8) WHERE region LIKE 'canary%'"
    )
}

#[test]
fn a_forged_token_is_refused() {
    let mut stage = Stage::new();
    let mut client = stage.analyst();
    let sql = forged(&mut stage, &mut client);
    let end = stage.attack(&mut client, &sql);
    assert_eq!(end.error.expect("refused").0, "42501");
    for token in ["NULL::dp_mean.block", "'\\x'::bytea::dp_mean.block"] {
        let sql = format!("SELECT * FROM dp_mean.answer({token}, NULL::boolean) AS t(x bigint)");
        assert_eq!(refused(&mut client, &sql).code, "42501", "{token}");
    }
    assert_eq!(
        refused(&mut client, "SELECT 'sealed'::dp_mean.block").code,
        "0A000"
    );
    // Where tokens are not looked at, it reads rows, for nothing.
    run(&mut client, &format!("{}{}", down("token"), down("again")));
    assert_eq!(stage.number(&mut client, &sql), 10);
    assert_eq!(stage.spent().1, 0);
}

/// Nobody finds the function by its name.
#[test]
fn the_call_has_no_name() {
    let stage = Stage::new();
    let mut client = stage.analyst();
    let sql = "SELECT * FROM dp_mean.answer(NULL, NULL::boolean) AS t(x bigint)";
    let refusal = refused(&mut client, sql);
    assert_eq!(
        (refusal.code.as_str(), refusal.message.as_str()),
        ("42501", "permission denied for schema dp_mean")
    );
}

/// A plan that was made before the policy changed, in a cursor or a prepared statement.
#[test]
fn an_old_plan_has_no_old_policy() {
    let mut stage = Stage::new();
    for change in [
        "SELECT dp_declare('visits', 'cost', 0, 9000)",
        "SELECT dp_protect('visits', 'patient', 'patients', groups => 1, rows => 3)",
        "SELECT dp_declare('visits', 'region', ARRAY['r1', 'r2'])",
        "ALTER TABLE visits ALTER tall TYPE bigint",
        "ALTER TABLE visits ALTER cost DROP NOT NULL",
        "ALTER TABLE visits OWNER TO {b}",
    ] {
        let mut client = stage.analyst();
        let sum = "SELECT sum(cost) FROM visits WHERE tall > 1 GROUP BY region";
        run(
            &mut client,
            &format!("SET plan_cache_mode = force_generic_plan; PREPARE q AS {ASKED}; EXECUTE q"),
        );
        // A cursor that nobody has fetched from holds a lock that definitions wait for, and labels do not.
        if change.starts_with("SELECT") {
            run(&mut client, &format!("BEGIN; DECLARE d CURSOR FOR {ASKED}"));
            stage.as_owner(change);
            let before = stage.spent();
            let end = stage.attack(&mut client, "FETCH d");
            let (code, message) = end.error.expect("refused");
            assert_eq!(code, "55000", "{change}: {message}");
            assert!(message.contains("policy"), "{message}");
            assert_eq!(stage.spent(), before);
            run(&mut client, "ROLLBACK");
        } else {
            stage.as_root(&format!("SET ROLE {{o}}; RESET ROLE; {change}"));
        }
        // A plan that is kept is made again.
        if change.contains("OWNER") {
            // The budget is another's: it pays for tables of its owner alone.
            assert!(stage.attack(&mut client, "EXECUTE q").error.is_some());
        } else {
            stage.number(&mut client, "EXECUTE q");
            assert_eq!(stage.attack(&mut client, sum).error, None, "{change}");
        }
    }
}

/// The same question, from whoever may ask it.
#[test]
fn the_same_question_has_the_same_answer_for_nothing() {
    let mut stage = Stage::new();
    keep_answers(&mut stage);
    stage.as_owner("SELECT dp_allow('visits', '{b}')");
    let mut client = stage.analyst();
    let name = stage.fill("{b}");
    let mut other = stage.database.connect_as(&name);
    for sql in [
        ASKED,
        "SELECT count(*) FROM visits v",
        "SELECT c FROM (SELECT count(*) AS c FROM visits AS x) s",
        "WITH w AS (SELECT count(*) FROM visits) SELECT * FROM w",
        "  SELECT  count( * )  FROM  visits",
        "DO $$ BEGIN PERFORM count(*) FROM visits; END $$; SELECT count(*) FROM visits",
        "BEGIN READ ONLY; SELECT count(*) FROM visits; ROLLBACK",
    ] {
        stage.attack(&mut client, sql);
    }
    let first = stage.number(&mut client, ASKED);
    assert_eq!(stage.number(&mut other, ASKED), first);
    assert_eq!(stage.spent().1, 1);
    let cost = "SELECT free::int::bigint FROM dp_cost('SELECT count(*) FROM visits')";
    assert_eq!(stage.number(&mut client, cost), 1);
    // Others are other questions.
    for (sql, charges) in [
        ("SELECT count(*) FROM visits WHERE cost > 3", 2),
        ("SELECT count(*) FROM visits WHERE cost > 4", 3),
        ("SELECT count(cost) FROM visits WHERE cost > 4", 3),
        ("SELECT region, count(*) FROM visits GROUP BY region", 4),
        (
            "SELECT count(*), region FROM visits GROUP BY 2 ORDER BY 1",
            4,
        ),
        ("SET dp_mean.epsilon = 0.05; SELECT count(*) FROM visits", 5),
        ("SET dp_mean.epsilon = 0.05; SELECT count(*) FROM visits", 5),
    ] {
        stage.attack(&mut client, sql);
        assert_eq!(stage.spent().1, charges, "{sql}");
    }
    run(
        &mut client,
        "RESET dp_mean.epsilon; SET dp_mean.reuse = off",
    );
    stage.attack(&mut client, ASKED);
    assert_eq!(stage.spent().1, 6);
    run(&mut client, "RESET dp_mean.reuse");
    assert_eq!(stage.number(&mut client, ASKED), first);
    // A parameter is its value.
    let ask = "SELECT count(*) FROM visits WHERE cost > $1";
    for _ in 0..7 {
        client.query_one(ask, &[&3.0_f64]).expect("an answer");
    }
    assert_eq!(stage.spent().1, 6);
    // Another policy has other answers.
    stage.as_owner("SELECT dp_protect('visits', 'patient', 'patients', rows => 3)");
    stage.number(&mut client, ASKED);
    assert_eq!(stage.spent().1, 7);
}

/// A rollback takes no answer back, as it takes no charge back.
#[test]
fn an_answer_outlives_its_transaction() {
    let mut stage = Stage::new();
    keep_answers(&mut stage);
    let mut client = stage.analyst();
    for sql in [
        "BEGIN; SELECT count(*) FROM visits; ROLLBACK",
        "BEGIN READ ONLY; SELECT count(*) FROM visits; COMMIT",
        "BEGIN; SAVEPOINT s; SELECT count(*) FROM visits; ROLLBACK TO s; COMMIT",
        "DO $$ BEGIN PERFORM count(*) FROM visits; RAISE 'x'; EXCEPTION WHEN others THEN NULL; END $$",
    ] {
        stage.attack(&mut client, sql);
        stage.number(&mut client, ASKED);
        assert_eq!(stage.spent().1, 1, "{sql}");
    }
}

#[test]
fn many_who_ask_at_once_pay_once() {
    let mut stage = Stage::new();
    keep_answers(&mut stage);
    let together = Barrier::new(32);
    let answers: Vec<i64> = thread::scope(|scope| {
        let asking: Vec<_> = (0..32)
            .map(|_| {
                let mut client = stage.analyst();
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    value::<i64>(&mut client, ASKED)
                })
            })
            .collect();
        let answers = asking
            .into_iter()
            .map(|asking| asking.join().expect("an answer"));
        answers.collect()
    });
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    assert_eq!(stage.spent().1, 1);
}

/// Row-level security: what one role sees is not handed to another, whatever its conditions look at.
#[test]
fn an_answer_of_some_rows_is_not_handed_to_who_sees_others() {
    let mut stage = Stage::new();
    keep_answers(&mut stage);
    stage.as_owner(
        "SELECT dp_protect('visits', 'patient', 'patients', rows => 10, query_eps => 20); \
         SELECT dp_allow('visits', '{b}'); ALTER TABLE visits ENABLE ROW LEVEL SECURITY; \
         CREATE POLICY mine ON visits USING (current_user = '{a}' OR region = 'r1')",
    );
    let mut client = stage.analyst();
    let name = stage.fill("{b}");
    let mut other = stage.database.connect_as(&name);
    let all = stage.number(&mut client, ASKED);
    assert!(all > 150, "{all}");
    let none = stage.number(&mut other, ASKED);
    assert!(none < 60, "{none}");
    assert_eq!(stage.spent().1, 2);
    assert_eq!(stage.number(&mut other, ASKED), none);
    assert_eq!(stage.number(&mut client, ASKED), all);
    assert_eq!(stage.spent().1, 2);
}

/// A right on a joined table that was taken away.
#[test]
fn rights_are_asked_of_an_answer_that_is_kept() {
    let mut stage = Stage::new();
    keep_answers(&mut stage);
    stage.as_root("CREATE TABLE shops (region text, size integer); GRANT SELECT ON shops TO {a}");
    let asked = "SELECT count(*) FROM visits JOIN shops USING (region)";
    let mut client = stage.analyst();
    stage.number(&mut client, asked);
    run(
        &mut client,
        "SET plan_cache_mode = force_generic_plan; PREPARE q AS SELECT count(*) FROM visits JOIN shops USING (region); EXECUTE q",
    );
    assert_eq!(stage.spent().1, 1);
    stage.as_root("REVOKE SELECT ON shops FROM {a}");
    for sql in [asked, "EXECUTE q"] {
        let end = stage.attack(&mut client, sql);
        assert_eq!(end.error.expect("refused").0, "42501", "{sql}");
    }
}

/// A right that is taken away from one who waits for the answer of another: PostgreSQL makes no plan again for that.
#[test]
fn rights_end_for_who_waits_for_an_answer() {
    let mut stage = Stage::new();
    keep_answers(&mut stage);
    stage.as_owner("SELECT dp_allow('visits', '{b}')");
    stage.as_root(
        "CREATE TABLE shops (region text, size integer); CREATE INDEX shops_region ON shops (region); \
         GRANT SELECT ON shops TO {a}, {b}",
    );
    let other = stage.fill("{b}");
    for (condition, down) in [("size > 1", None), ("size > 2", Some("rights"))] {
        let asked =
            format!("SELECT count(*) FROM visits JOIN shops USING (region) WHERE {condition}");
        stage.as_root("GRANT SELECT ON shops TO {b}");
        let (mut first, mut second) = (stage.analyst(), stage.database.connect_as(&other));
        if let Some(down) = down {
            run(&mut second, &self::down(down));
        }
        // Who asks first waits for the index, with the question in their hand.
        let mut held = stage.database.connect();
        run(&mut held, "BEGIN; REINDEX INDEX shops_region");
        let end = thread::scope(|scope| {
            let waiting = scope.spawn(|| first.simple_query(&asked).map(drop));
            wait_for_waiting(&mut stage.root, 1);
            let told = scope.spawn(|| second.simple_query(&asked).map(drop));
            wait_for_waiting(&mut stage.root, 2);
            stage.as_root("REVOKE SELECT ON shops FROM {b}");
            run(&mut held, "COMMIT");
            waiting.join().expect("no panic").expect("an answer");
            told.join().expect("no panic")
        });
        let code = end.err().map(|error| refusal(&error, &asked).code);
        let refused = down.is_none().then(|| "42501".to_owned());
        assert_eq!(code, refused, "without {down:?}");
    }
    assert_eq!(stage.spent().1, 2);
}

/// Waits until this many sessions of the database wait for a lock.
fn wait_for_waiting(client: &mut Client, sessions: i64) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let found = (0..1000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        value::<i64>(client, waiting) == sessions
    });
    assert!(found, "no {sessions} sessions wait");
}

/// What is counted of reads while an answer is computed, of the protected table and of all others.
#[test]
fn no_counter_counts_private_rows() {
    let mut stage = Stage::new();
    let counted = "BEGIN; {asked}; SELECT sum(pg_stat_get_xact_numscans(c)) || ' ' || \
                   sum(pg_stat_get_xact_tuples_returned(c)) || ' ' || sum(pg_stat_get_xact_tuples_fetched(c)) || ' ' || \
                   sum(pg_stat_get_xact_blocks_fetched(c)) FROM pg_class t(c) WHERE false; \
                   SELECT pg_stat_get_xact_numscans(c), pg_stat_get_xact_tuples_returned(c), \
                   pg_stat_get_xact_tuples_fetched(c), pg_stat_get_xact_blocks_fetched(c) \
                   FROM (VALUES ('visits'::regclass::oid), ('visits_patient_idx'::regclass)) t(c); COMMIT";
    let counted = counted.replace(
        "SELECT sum(pg_stat_get_xact_numscans(c)) || ' ' || sum(pg_stat_get_xact_tuples_returned(c)) || ' ' || \
         sum(pg_stat_get_xact_tuples_fetched(c)) || ' ' || sum(pg_stat_get_xact_blocks_fetched(c)) FROM pg_class t(c) \
         WHERE false; ",
        "",
    );
    let shown = |stage: &mut Stage, before: &str| -> Vec<String> {
        let mut client = stage.analyst();
        run(&mut client, &format!("{before} SET enable_seqscan = off"));
        let ask = |patient: i32| {
            counted.replace(
                "{asked}",
                &format!(
                    "SELECT dp_mean(cost, 0, 1, 0.1) * 0 FROM visits WHERE patient = {patient}"
                ),
            )
        };
        [666, 667]
            .map(|patient| {
                let end = stage.attack(&mut client, &ask(patient));
                assert_eq!(end.error, None);
                end.shown
                    .lines()
                    .rev()
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(";")
            })
            .to_vec()
    };
    let seen = shown(&mut stage, "");
    assert_eq!(seen[0], seen[1]);
    let seen = shown(&mut stage, &down("counters"));
    assert_ne!(seen[0], seen[1]);
}

/// RESET ALL needs no right. The planner runs conditions of indexes of joined tables, which may be code of an analyst.
#[test]
fn no_code_has_private_rows_counted() {
    let mut stage = Stage::new();
    stage.as_root(
        "SET ROLE {a};
         CREATE TABLE trap (x integer); INSERT INTO trap VALUES (666), (667);
         CREATE FUNCTION spring() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RESET ALL; RETURN true;
             EXCEPTION WHEN active_sql_transaction THEN RETURN false; END $$;
         CREATE FUNCTION looks(integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
             IF current_setting('trap.set', true) = 'yes' THEN PERFORM spring(); END IF; RETURN true; END $$;
         CREATE INDEX ON trap (x) WHERE looks(1);
         RESET ROLE",
    );
    let sql = "BEGIN; SELECT count(*) FROM visits v JOIN trap ON trap.x = v.patient;
         SELECT pg_stat_get_xact_tuples_returned('visits'::regclass) > 0; COMMIT";
    for stands in [true, false] {
        let mut client = stage.analyst();
        let settings = format!("SET trap.set = 'yes'; SELECT dp_test_defence('reset', {stands})");
        run(&mut client, &settings);
        let end = stage.attack(&mut client, sql);
        assert_eq!(end.error, None);
        assert_eq!(end.shown.lines().last() == Some("f"), stands, "{end:?}");
    }
}

/// Cancelled, timed out, or out of budget in the middle: charged or not, nothing is kept, and the session goes on as
/// before.
#[test]
fn a_run_that_fails_leaves_nothing() {
    let mut stage = Stage::new();
    keep_answers(&mut stage);
    stage.as_root("INSERT INTO visits SELECT g % 50000, 'r' || g % 4, g % 100 FROM generate_series(1, 400000) g");
    let mut client = stage.analyst();
    let settings = "SELECT current_user || current_setting('search_path') || current_setting('track_counts') || \
                    current_setting('client_min_messages')";
    let before: String = value(&mut client, settings);
    let long = "SELECT dp_mean(sqrt(cost) * ln(cost + 1), 0, 1000, 0.1) FROM visits";
    run(&mut client, "SET statement_timeout = 20");
    let end = stage.attack(&mut client, long);
    assert_eq!(end.error.expect("it takes longer").0, "57014");
    run(&mut client, "RESET statement_timeout");
    assert_eq!(value::<String>(&mut client, settings), before);
    let charges = stage.spent().1;
    assert!(charges <= 1);
    let end = stage.attack(&mut client, long);
    assert_eq!(end.error, None);
    assert_eq!(stage.spent().1, charges + 1, "nothing was kept");
    // In a function that catches the error.
    let caught = "SET statement_timeout = 0; DO $$ BEGIN SET LOCAL statement_timeout = 20; PERFORM \
                  dp_mean(sqrt(cost + 1) * ln(cost + 2), 0, 1000, 0.1) FROM visits; EXCEPTION WHEN query_canceled THEN NULL; END $$";
    stage.attack(&mut client, caught);
    assert_eq!(value::<String>(&mut client, settings), before);
    stage.number(&mut client, ASKED);
    if version(&mut stage.root) >= 150_000 {
        let said = stage.attack(&mut client, "DO $$ BEGIN RAISE NOTICE 'heard'; END $$");
        assert_eq!(said.heard, ["heard "]);
    }
}
