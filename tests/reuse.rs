//! Answers that are kept: who finds them, who waits for whom, and what an owner of the server may do to their table.

use std::thread;
use std::time::Instant;

use dp_mean_tests::{Build, Database, PARALLEL, Role, refused, run, value};
use postgres::Client;

use crate::ledger::charges;

/// A database in which answers are kept, and a session.
fn session(build: Build) -> (Database, Client) {
    let (database, mut client) = dp_mean_tests::session(build);
    let name = database.name();
    run(
        &mut client,
        &format!("ALTER DATABASE {name} SET dp_mean.reuse = on"),
    );
    drop(client);
    let client = database.connect();
    (database, client)
}

/// Keeps an answer for an hour.
fn keep(client: &mut Client, key: &str, answer: &str) {
    let sql = format!("SELECT dp_test_keep('{key}', '{answer}', 3600)");
    run(client, &sql);
}

fn find(client: &mut Client, key: &str) -> Option<String> {
    let sql = format!("SELECT convert_from(dp_test_find('{key}'), 'UTF8')");
    value(client, &sql)
}

/// Asks a question whose answer takes this statement. Whether it was run.
fn ask(client: &mut Client, key: &str, work: &str) -> bool {
    value(client, &format!("SELECT dp_test_ask('{key}', '{work}')"))
}

/// The locks of the store that anybody has or waits for, in this database.
fn locks(client: &mut Client) -> i64 {
    let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 77 \
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    value(client, sql)
}

/// Waits until as many sessions have one of these locks or wait for it.
fn wait_for_locks(client: &mut Client, count: i64) {
    let start = Instant::now();
    while locks(client) != count {
        assert!(start.elapsed().as_secs() < 30, "{count} locks");
        thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn no_transaction_takes_an_answer_back() {
    let (database, mut client) = session(Build::Testing);
    let mut other = database.connect();
    assert_eq!(find(&mut client, "a"), None);
    run(&mut client, "BEGIN");
    keep(&mut client, "a", "in a transaction");
    // Others need not wait for its end.
    assert_eq!(find(&mut other, "a").as_deref(), Some("in a transaction"));
    run(&mut client, "ROLLBACK");
    assert_eq!(find(&mut client, "a").as_deref(), Some("in a transaction"));
    run(&mut client, "BEGIN READ ONLY");
    keep(&mut client, "b", "read only");
    run(&mut client, "COMMIT");
    assert_eq!(find(&mut other, "b").as_deref(), Some("read only"));
    run(&mut client, "BEGIN; SAVEPOINT s");
    keep(&mut client, "c", "in a part");
    run(&mut client, "ROLLBACK TO s; COMMIT");
    assert_eq!(find(&mut other, "c").as_deref(), Some("in a part"));
    // A snapshot that is older has it too.
    run(
        &mut other,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1",
    );
    keep(&mut client, "d", "after the snapshot");
    assert_eq!(find(&mut other, "d").as_deref(), Some("after the snapshot"));
    run(&mut other, "COMMIT");
    // Nothing of it takes a transaction's number.
    run(&mut client, "BEGIN");
    keep(&mut client, "e", "without a number");
    assert_eq!(
        value::<Option<String>>(&mut client, "SELECT pg_current_xact_id_if_assigned()::text"),
        None
    );
    run(&mut client, "COMMIT");
}

#[test]
fn an_answer_expires_by_the_clock() {
    let (_database, mut client) = session(Build::Testing);
    keep(&mut client, "a", "an hour");
    let ahead = |client: &mut Client, time| {
        run(client, &format!("SET dp_mean.test_clock_ahead = '{time}'"));
        find(client, "a")
    };
    assert!(ahead(&mut client, "59min").is_some());
    assert_eq!(ahead(&mut client, "61min"), None);
    keep(&mut client, "a", "another");
    assert_eq!(find(&mut client, "a").as_deref(), Some("another"));
    assert!(ahead(&mut client, "2h").is_some());
    assert_eq!(ahead(&mut client, "31d"), None);
}

#[test]
fn of_many_who_ask_at_once_one_computes() {
    let (database, mut client) = session(Build::Testing);
    let computed = thread::scope(|scope| {
        let one = || ask(&mut database.connect(), "a", "SELECT pg_sleep(0.5)");
        let all = Vec::from_iter((0..32).map(|_| scope.spawn(one)));
        let all = all.into_iter().map(|one| one.join().expect("an answer"));
        all.filter(|computed| *computed).count()
    });
    assert_eq!(computed, 1);
    assert_eq!(locks(&mut client), 0);
    // Who wants no answer of others waits for nobody.
    run(&mut client, "SET dp_mean.reuse = off");
    assert!(ask(&mut client, "a", "SELECT 1"));
}

#[test]
fn the_lock_goes_however_the_work_ends() {
    let (database, mut client) = session(Build::Testing);
    let mut other = database.connect();
    run(&mut other, "SET lock_timeout = '5s'");
    let computes = |other: &mut Client, key| {
        assert_eq!(locks(other), 0, "{key}");
        assert!(ask(other, key, "SELECT 1"), "{key}");
    };
    // An error.
    let refusal = refused(&mut client, "SELECT dp_test_ask('a', 'SELECT 1 / 0')");
    assert_eq!(refusal.code, "22012", "{refusal:?}");
    computes(&mut other, "a");
    // One that is caught, and one in a savepoint: the transactions go on.
    run(
        &mut client,
        "BEGIN; DO $$ BEGIN PERFORM dp_test_ask('b', 'SELECT 1 / 0'); EXCEPTION WHEN division_by_zero THEN END $$",
    );
    computes(&mut other, "b");
    run(&mut client, "SAVEPOINT s");
    refused(&mut client, "SELECT dp_test_ask('c', 'SELECT 1 / 0')");
    computes(&mut other, "c");
    run(&mut client, "ROLLBACK TO s");
    // A caught error of another question inside leaves the lock of the outer one.
    let inner = "DO $x$ BEGIN PERFORM dp_test_ask(''d2'', ''SELECT 1 / 0''); EXCEPTION WHEN division_by_zero THEN \
                 IF (SELECT count(*) FROM pg_locks WHERE objsubid = 77 AND granted AND pid = pg_backend_pid()) <> 1 \
                 THEN RAISE ''not the outer lock''; END IF; END $x$";
    assert!(ask(&mut client, "d", inner));
    assert_eq!(locks(&mut client), 0);
    run(&mut client, "COMMIT");
    // A cancel.
    run(&mut client, "SET statement_timeout = '100ms'");
    let refusal = refused(
        &mut client,
        "SELECT dp_test_ask('e', 'SELECT pg_sleep(60)')",
    );
    assert_eq!(refusal.code, "57014", "{refusal:?}");
    computes(&mut other, "e");
    // A session that ends.
    run(&mut client, "RESET statement_timeout");
    let pid: i32 = value(&mut client, "SELECT pg_backend_pid()");
    thread::scope(|scope| {
        scope.spawn(|| {
            client
                .simple_query("SELECT dp_test_ask('f', 'SELECT pg_sleep(60)')")
                .is_err()
        });
        wait_for_locks(&mut other, 1);
        run(
            &mut other,
            &format!("SELECT pg_terminate_backend({pid}, 10000)"),
        );
        computes(&mut other, "f");
    });
}

#[test]
fn who_waits_can_give_up() {
    let (database, mut client) = session(Build::Testing);
    let mut other = database.connect();
    thread::scope(|scope| {
        let computed = scope.spawn(|| ask(&mut client, "a", "SELECT pg_sleep(2)"));
        wait_for_locks(&mut other, 1);
        for (setting, code) in [("lock_timeout", "55P03"), ("statement_timeout", "57014")] {
            run(&mut other, &format!("SET {setting} = '50ms'"));
            let refusal = refused(&mut other, "SELECT dp_test_ask('a', 'SELECT 1')");
            assert_eq!(refusal.code, code, "{refusal:?}");
            run(&mut other, &format!("RESET {setting}"));
        }
        // Another question waits for nobody.
        assert!(ask(&mut other, "b", "SELECT 1"));
        assert!(!ask(&mut other, "a", "SELECT 1 / 0"));
        assert!(computed.join().expect("an answer"));
    });
    assert_eq!(locks(&mut client), 0);
}

#[test]
fn sql_does_not_take_the_lock_and_may_drop_it() {
    let (database, _client) = session(Build::Testing);
    let (mut client, warnings) = database.connect_with_warnings();
    run(
        &mut client,
        "SELECT pg_advisory_lock(h) FROM generate_series(0, 999) h",
    );
    assert_eq!(locks(&mut client), 0);
    assert!(ask(&mut client, "a", "SELECT pg_advisory_unlock_all()"));
    assert_eq!(locks(&mut client), 0);
    let warnings = warnings.lock().expect("one session");
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_locked_store_is_an_empty_one() {
    let (database, mut client) = session(Build::Testing);
    let mut other = database.connect();
    run(&mut other, "SET statement_timeout = '10s'");
    keep(&mut client, "a", "before");
    run(&mut client, "BEGIN; LOCK dp_mean.answer");
    assert_eq!(find(&mut other, "a"), None);
    keep(&mut other, "b", "not to be had");
    assert!(ask(&mut other, "c", "SELECT 1"));
    run(&mut client, "ROLLBACK");
    assert!(find(&mut other, "a").is_some());
    assert_eq!(find(&mut other, "b"), None);
    assert_eq!(find(&mut other, "c"), None);
}

#[test]
fn the_superuser_does_no_harm_to_the_table() {
    let (database, mut client) = session(Build::Testing);
    let mut other = database.connect();
    run(&mut client, "CREATE EXTENSION amcheck");
    let fill = |client: &mut Client| {
        let sql = "SELECT dp_test_keep('k' || n, convert_to(repeat('x', n * 10), 'UTF8'), 3600) \
                   FROM generate_series(1, 1000) n";
        run(client, sql);
    };
    let found = |client: &mut Client| -> (i64, i64) {
        let sql = "SELECT count(a), count(*) FILTER (WHERE a <> convert_to(repeat('x', n * 10), 'UTF8')) \
                   FROM generate_series(1, 1000) n, LATERAL (SELECT dp_test_find('k' || n) a) f";
        let row = client.query_one(sql, &[]).expect("a row");
        (row.get(0), row.get(1))
    };
    let whole = |client: &mut Client, after: &str| {
        let sql = "SELECT count(*) FROM verify_heapam('dp_mean.answer')";
        assert_eq!(value::<i64>(client, sql), 0, "{after}");
    };
    fill(&mut client);
    assert_eq!(found(&mut client), (1000, 0));
    whole(&mut client, "keeping");
    // What reads, or moves nothing.
    for sql in [
        "SELECT sum(length(page)) FROM dp_mean.answer",
        "SELECT * FROM dp_mean.answer FOR UPDATE",
        "SELECT * FROM dp_mean.answer FOR SHARE",
        "VACUUM dp_mean.answer",
        "VACUUM (FREEZE) dp_mean.answer",
        "ANALYZE dp_mean.answer",
        "BEGIN; TRUNCATE dp_mean.answer; ROLLBACK",
        "BEGIN; TRUNCATE dp_mean.answer; SELECT dp_test_keep('lost', 'x', 3600); ROLLBACK",
        "CHECKPOINT",
    ] {
        run(&mut client, sql);
        assert_eq!(found(&mut other), (1000, 0), "{sql}");
        whole(&mut client, sql);
    }
    // What may lose answers, and nothing else. Rows that others have changed are theirs, until VACUUM has been there:
    // then the store has room again.
    for steps in [
        &["VACUUM FULL dp_mean.answer"][..],
        &["BEGIN; DELETE FROM dp_mean.answer; ROLLBACK"],
        &["UPDATE dp_mean.answer SET page = page"],
        &["UPDATE dp_mean.answer SET page = 'short'"],
        &["INSERT INTO dp_mean.answer SELECT page FROM dp_mean.answer LIMIT 50"],
        &["DELETE FROM dp_mean.answer WHERE random() < 0.5"],
        &["DELETE FROM dp_mean.answer"],
        &[
            "ALTER TABLE dp_mean.answer ALTER COLUMN page SET STORAGE EXTENDED",
            "VACUUM FULL dp_mean.answer",
        ],
        &[
            "ALTER TABLE dp_mean.answer SET (fillfactor = 10)",
            "VACUUM FULL dp_mean.answer",
        ],
        &["TRUNCATE dp_mean.answer"],
    ] {
        let what = steps[0];
        run(&mut client, "TRUNCATE dp_mean.answer");
        fill(&mut client);
        for step in steps {
            run(&mut client, step);
        }
        assert_eq!(found(&mut other).1, 0, "{what}");
        fill(&mut client);
        assert_eq!(found(&mut other).1, 0, "{what}");
        whole(&mut client, what);
        run(&mut client, "VACUUM dp_mean.answer");
        fill(&mut client);
        assert_eq!(found(&mut other), (1000, 0), "{what}");
        whole(&mut client, what);
    }
    // A table of another kind is none.
    for (change, back) in [
        ("ADD COLUMN more int", "DROP COLUMN more"),
        ("SET UNLOGGED", "SET LOGGED"),
        ("RENAME TO elsewhere", "RENAME TO answer"),
    ] {
        fill(&mut client);
        let name = if change.starts_with("RENAME") {
            "elsewhere"
        } else {
            "answer"
        };
        run(&mut client, &format!("ALTER TABLE dp_mean.answer {change}"));
        assert_eq!(found(&mut other), (0, 0), "{change}");
        keep(&mut other, "x", "x");
        run(&mut client, &format!("ALTER TABLE dp_mean.{name} {back}"));
        assert_eq!(found(&mut other).1, 0, "{change}");
    }
}

#[test]
fn what_is_damaged_on_disk_is_an_empty_page() {
    let (database, mut client) = session(Build::Testing);
    run(&mut client, "TRUNCATE dp_mean.answer");
    let file: String = value(
        &mut client,
        "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('dp_mean.answer')",
    );
    // Pages of noise, before anybody has read them, and a part of one more.
    run(
        &mut client,
        "SELECT lo_from_bytea(4242, (SELECT string_agg(sha256(n::text::bytea), '') FROM generate_series(1, 1100) n))",
    );
    run(&mut client, &format!("SELECT lo_export(4242, '{file}')"));
    let (mut other, warnings) = database.connect_with_warnings();
    for n in 0..20 {
        assert_eq!(find(&mut other, &format!("k{n}")), None);
    }
    let said = warnings.lock().expect("one session").clone();
    assert!(
        said.iter().all(|said| said.contains("invalid page")),
        "{said:?}"
    );
    assert!(!said.is_empty());
    for n in 0..20 {
        keep(&mut other, &format!("k{n}"), &format!("answer {n}"));
        assert_eq!(
            find(&mut other, &format!("k{n}")),
            Some(format!("answer {n}"))
        );
    }
}

#[test]
fn in_a_parallel_plan_the_leader_finds_and_keeps() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, PARALLEL);
    run(
        &mut client,
        "CREATE TABLE many AS SELECT n FROM generate_series(1, 20000) n; ANALYZE many",
    );
    keep(&mut client, "a", "kept");
    for sql in [
        "SELECT dp_test_find('a')::text FROM many GROUP BY n % 1 HAVING count(*) = 20000",
        "SELECT dp_test_keep('b', 'in parallel', 3600)::text FROM many GROUP BY n % 1 HAVING count(*) = 20000",
        "SELECT dp_test_find('b')::text FROM many GROUP BY n % 1 HAVING count(*) = 20000",
    ] {
        let plan = dp_mean_tests::explain(&mut client, sql);
        assert!(plan.contains("Gather"), "{plan}");
        run(&mut client, sql);
    }
    assert_eq!(find(&mut client, "b").as_deref(), Some("in parallel"));
    // Within the plan, too.
    let sql = "SELECT count(*) FROM many WHERE n = (SELECT length(dp_test_find('b')))";
    assert_eq!(value::<i64>(&mut client, sql), 1);
}

/// Sessions that keep and look up at once, in a store that is full: each answer is whole, or not there.
#[test]
fn sessions_at_once_find_whole_answers() {
    let (database, mut client) = session(Build::Testing);
    let work = "DO $$ DECLARE key text; found bytea; n int; BEGIN
        FOR i IN 1..3000 LOOP
            n := (random() * 400)::int;
            key := 'k' || n;
            found := dp_test_find(key);
            IF found IS NOT NULL AND found NOT IN (
                convert_to(repeat(key, n * 20), 'UTF8'), convert_to(repeat(key, n * 20 + 1), 'UTF8'))
            THEN RAISE 'a wrong answer of %', key; END IF;
            IF random() < 0.5 THEN
                PERFORM dp_test_keep(key, convert_to(repeat(key, n * 20 + (i % 2)), 'UTF8'), 3600);
            END IF;
        END LOOP; END $$";
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| run(&mut database.connect(), work));
        }
    });
    run(&mut client, work);
    let there = "SELECT count(dp_test_find('k' || n)) FROM generate_series(0, 400) n";
    assert!(value::<i64>(&mut client, there) > 350);
    let most = "SELECT pg_relation_size('dp_mean.answer') <= 64 * 1024 * 1024";
    assert!(value::<bool>(&mut client, most));
}

/// A database with a budget.
fn with_budget(epsilon: f64, delta: f64) -> (Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(
        &mut client,
        &format!("SELECT dp_set_budget('b', {epsilon:?}, {delta:?})"),
    );
    (database, client)
}

/// What the lines of a budget say was reused: of all together, and of the current role.
fn reused(client: &mut Client) -> (i64, i64) {
    let sql = "SELECT sum(reused) FILTER (WHERE role IS NULL)::bigint, \
               coalesce(sum(reused) FILTER (WHERE role::text = current_user)::bigint, 0) FROM dp_budgets";
    let row = client.query_one(sql, &[]).expect("a row");
    (row.get(0), row.get(1))
}

#[test]
fn an_answer_that_is_reused_is_counted() {
    let (database, mut client) = with_budget(1.0, 0.0);
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    let spent =
        "SELECT max(spent_epsilon), max(charges)::float8 FROM dp_budgets WHERE role IS NULL";
    let before = client.query_one(spent, &[]).expect("a row");
    assert_eq!(reused(&mut client), (0, 0));
    // A ROLLBACK takes none back, and a transaction may be READ ONLY.
    run(
        &mut client,
        "SELECT dp_test_reused('b'); BEGIN; SELECT dp_test_reused('b'); ROLLBACK",
    );
    run(
        &mut client,
        "BEGIN READ ONLY; SELECT dp_test_reused('b'); COMMIT",
    );
    assert_eq!(reused(&mut client), (3, 3));
    // A role that has no line yet, beside the others.
    let role = Role::new(&database);
    run(
        &mut client,
        &format!(
            "SET ROLE {}; SELECT dp_test_reused('b'); RESET ROLE",
            role.name()
        ),
    );
    assert_eq!(reused(&mut client), (4, 3));
    let own = "SELECT reused FROM dp_budgets";
    assert_eq!(value::<i64>(&mut role.connect(), own), 1);
    // Nothing was spent, nor charged, and the budget goes on.
    let after = client.query_one(spent, &[]).expect("a row");
    assert_eq!(before.get::<_, f64>(0), after.get::<_, f64>(0));
    assert_eq!(before.get::<_, f64>(1), after.get::<_, f64>(1));
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    // One a minute has a row, for each role.
    let noted = "SELECT count(*) FROM dp_ledger WHERE reused";
    assert_eq!(value::<i64>(&mut client, noted), 2);
    let row = "SELECT epsilon = 0 AND rho = 0 AND delta = 0 AND NOT refused AND query LIKE 'SELECT dp_test_reused%' \
               FROM dp_ledger WHERE reused AND role::text = current_user";
    assert!(value::<bool>(&mut client, row));
    assert_eq!(
        value::<i64>(
            &mut role.connect(),
            "SELECT count(*) FROM dp_ledger WHERE reused"
        ),
        1
    );
    run(
        &mut client,
        "SET session_replication_role = replica; \
         UPDATE dp_mean.spent SET reuse_noted = now() - interval '61 seconds'; RESET session_replication_role",
    );
    run(
        &mut client,
        "SELECT dp_test_reused('b') FROM generate_series(1, 100)",
    );
    assert_eq!(value::<i64>(&mut client, noted), 3);
    assert_eq!(reused(&mut client), (104, 103));
    // A refusal has a row of its own beside it.
    refused(&mut client, "SELECT dp_charge('b', 1, 0)");
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM dp_ledger WHERE refused"),
        1
    );
}

#[test]
fn what_cannot_be_counted_is_no_error() {
    let (database, mut client) = with_budget(1.0, 0.0);
    let mut other = database.connect();
    run(
        &mut other,
        "SET statement_timeout = '10s'; SELECT dp_test_reused('no such budget')",
    );
    for lock in ["dp_mean.spent", "dp_mean.budget"] {
        run(&mut client, &format!("BEGIN; LOCK {lock}"));
        run(&mut other, "SELECT dp_test_reused('b')");
        run(&mut client, "ROLLBACK");
        assert_eq!(reused(&mut client), (0, 0), "{lock}");
    }
    // The audit alone is locked: it is counted, and has its row later.
    run(&mut client, "BEGIN; LOCK dp_mean.charge");
    run(&mut other, "SELECT dp_test_reused('b')");
    run(&mut client, "ROLLBACK");
    assert_eq!(reused(&mut client), (1, 1));
    let noted = "SELECT count(*) FROM dp_ledger WHERE reused";
    assert_eq!(value::<i64>(&mut client, noted), 0);
    run(&mut client, "SELECT dp_test_reused('b')");
    assert_eq!(value::<i64>(&mut client, noted), 1);
    // Somebody else's trigger: a copy of the table is under way.
    run(
        &mut client,
        "CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; \
         CREATE TRIGGER watch AFTER INSERT ON dp_mean.spent EXECUTE FUNCTION watch(); SELECT dp_test_reused('b')",
    );
    assert_eq!(reused(&mut client), (2, 2));
    // A budget without its line: it is not made anew, which would hide that it was lost.
    run(
        &mut client,
        "DROP TRIGGER watch ON dp_mean.spent; SET session_replication_role = replica; DELETE FROM dp_mean.spent; \
         RESET session_replication_role; SELECT dp_test_reused('b')",
    );
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM dp_mean.spent"),
        0
    );
}

#[test]
fn sessions_at_once_count_each_answer() {
    let (database, mut client) = with_budget(4.0, 0.0);
    let work = "SELECT dp_test_reused('b') FROM generate_series(1, 200)";
    let charge = "SELECT dp_charge('b', 0.001, 0) FROM generate_series(1, 50)";
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| run(&mut database.connect(), work));
            scope.spawn(|| run(&mut database.connect(), charge));
        }
    });
    assert_eq!(reused(&mut client), (800, 800));
    assert_eq!(charges(&mut client), 200);
}

/// The owner says what was spent: what was reused is known as before.
#[test]
fn a_restore_knows_what_was_reused() {
    let (_database, mut client) = with_budget(1.0, 0.0);
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    run(
        &mut client,
        "SELECT dp_test_reused('b') FROM generate_series(1, 7)",
    );
    run(&mut client, "SELECT dp_restore_budget('b', 0.25, 0)");
    assert_eq!(reused(&mut client), (7, 7));
    let spent: f64 = value(
        &mut client,
        "SELECT spent_epsilon FROM dp_budgets WHERE role IS NULL",
    );
    assert_eq!(spent, 0.25);
    run(
        &mut client,
        "SELECT dp_test_reused('b'); SELECT dp_charge('b', 0.25, 0)",
    );
    assert_eq!(reused(&mut client), (8, 8));
}

/// Protects a table so; how long answers are reused, as dp_policies says it, and what the label has.
fn protect(client: &mut Client, arguments: &str) -> (String, Option<i64>) {
    run(
        client,
        &format!("SELECT dp_protect('t', 'who', 'b'{arguments})"),
    );
    let sql = "SELECT reuse::text, (SELECT (label::jsonb ->> 'reuse')::bigint FROM pg_seclabel \
               WHERE provider = 'dp_mean' AND objsubid = 0) FROM dp_policies";
    let row = client.query_one(sql, &[]).expect("a policy");
    (row.get(0), row.get(1))
}

#[test]
fn an_owner_says_how_long_answers_are_reused() {
    let (_database, mut client) = with_budget(1.0, 0.0);
    run(&mut client, "CREATE TABLE t (who int, x int)");
    assert_eq!(protect(&mut client, ""), ("1 day".to_owned(), None));
    for (reuse, shown, seconds) in [
        ("0", "00:00:00", 0),
        ("1 microsecond", "00:00:01", 1),
        ("1.5 seconds", "00:00:02", 2),
        ("90 minutes", "01:30:00", 5400),
        ("36 hours", "1 day 12:00:00", 129_600),
        ("1 month", "30 days", 2_592_000),
        ("1 month -29 days -1 hour", "23:00:00", 82_800),
        ("1 year", "360 days", 31_104_000),
        ("365 days", "365 days", 31_536_000),
    ] {
        let known = protect(&mut client, &format!(", reuse => '{reuse}'"));
        assert_eq!(known, (shown.to_owned(), Some(seconds)), "{reuse}");
    }
    assert_eq!(
        protect(&mut client, ", reuse => '24 hours'"),
        ("1 day".to_owned(), None)
    );
    for reuse in [
        "'-1 second'",
        "'1 day -25 hours'",
        "'-1 month'",
        "'365 days 1 microsecond'",
        "'13 months'",
        "'100000000 years'",
        "'178000000 years'",
        "'-178000000 years'",
        "NULL",
    ] {
        let sql = format!("SELECT dp_protect('t', 'who', 'b', reuse => {reuse})");
        let refusal = refused(&mut client, &sql);
        assert_eq!(refusal.code, "22023", "{reuse}: {refusal:?}");
        assert!(refusal.message.contains("reuse"), "{refusal:?}");
        assert!(refusal.hint.contains("'1 day'"), "{refusal:?}");
    }
    if value::<i32>(
        &mut client,
        "SELECT current_setting('server_version_num')::int",
    ) >= 170_000
    {
        for reuse in ["infinity", "-infinity"] {
            let sql = format!("SELECT dp_protect('t', 'who', 'b', reuse => '{reuse}')");
            assert_eq!(refused(&mut client, &sql).code, "22023", "{reuse}");
        }
    }
    // A label that says more than a policy can is none.
    let label = r#"{"budget":"b","groups":1,"rows":1,"epsilon":0.1,"reuse":31536001}"#;
    let refusal = refused(
        &mut client,
        &format!("SECURITY LABEL FOR dp_mean ON TABLE t IS '{label}'"),
    );
    assert_eq!(refusal.code, "22023", "{refusal:?}");
    // Anybody may ask for fresh answers.
    run(
        &mut client,
        "SET dp_mean.reuse = off; SET dp_mean.reuse = on",
    );
}

#[test]
fn a_dump_has_no_answers() {
    let (_database, mut client) = session(Build::Testing);
    let dumped =
        "SELECT count(*) FROM pg_extension WHERE 'dp_mean.answer'::regclass::oid = ANY (extconfig)";
    assert_eq!(value::<i64>(&mut client, dumped), 0);
}
