//! What an answer costs, and how much of a person it shows.

use std::io::Read;

use dp_mean_tests::{refused, run, value};
use postgres::Client;

use super::{Stage, down};

const ASKED: &str = "SELECT count(*) FROM visits";

/// With so much epsilon the noise is 0, and what a person counts for is seen.
const LOUD: &str = "SELECT dp_set_budget('loud', 4096, 1e-3, accounting => 'zcdp'), \
     dp_protect('visits', 'patient', 'loud', query_eps => 50, rows => 2, groups => 1)";

/// The special person has 10 rows.
#[test]
fn a_person_counts_for_so_many_rows() {
    let mut stage = Stage::new();
    stage.as_owner(LOUD);
    let mut client = stage.analyst();
    let asked = [
        "SELECT count(*) FROM visits WHERE patient = 666",
        "SELECT count(*) FROM visits JOIN own ON x > 0 WHERE patient = 666",
        "SELECT count(*) FROM visits, own a, own b WHERE patient = 666",
        "SELECT count(cost) FROM visits WHERE patient = 666",
        "SELECT dp_count(1, 50, 'geometric(rows=1)') FROM visits WHERE patient = 666",
        "SELECT (dp_sum(1, 0, 1, 50, 'laplace(rows=1, groups=1)'))::bigint FROM visits WHERE patient = 666",
    ];
    for sql in asked {
        let found = stage.number(&mut client, sql);
        assert!((0..=2).contains(&found), "{found}: {sql}");
    }
    assert_eq!(stage.number(&mut client, asked[0]), 2);
    let people = "SELECT count(DISTINCT patient) FROM visits WHERE patient = 666";
    assert_eq!(stage.number(&mut client, people), 1);
    run(&mut client, &down("rows"));
    assert_eq!(stage.number(&mut client, asked[0]), 10);
}

/// The special person has a row in each of 10 regions.
#[test]
fn a_person_counts_in_so_many_groups() {
    let mut stage = Stage::new();
    stage.as_owner(LOUD);
    stage.as_owner(
        "SELECT dp_declare('visits', 'region', ARRAY(SELECT 'canary' || g FROM generate_series(1, 9) g))",
    );
    let mut client = stage.analyst();
    let asked = "SELECT sum(greatest(c, 0))::bigint FROM (SELECT count(*) AS c FROM visits WHERE patient = 666 \
                 GROUP BY region) s";
    assert!(stage.number(&mut client, asked) <= 2);
    let joined = "SELECT sum(greatest(c, 0))::bigint FROM (SELECT count(*) AS c FROM visits JOIN own ON true \
                  WHERE patient = 666 GROUP BY region) s";
    assert!(stage.number(&mut client, joined) <= 2);
    run(&mut client, &down("groups"));
    assert!(stage.number(&mut client, asked) >= 8);
}

/// A group that has one person is not shown.
#[test]
fn the_groups_of_one_person_are_not_shown() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT region FROM visits GROUP BY region",
        "SELECT DISTINCT region FROM visits",
        "SELECT region, count(*) FROM visits GROUP BY region ORDER BY region LIMIT 1",
        "SELECT region, patient / 2 FROM visits GROUP BY GROUPING SETS ((region), (patient / 2), ())",
        "SELECT region, grouping(region), count(*) FROM visits GROUP BY ROLLUP (region)",
        "SELECT dept FROM people GROUP BY dept",
        "SELECT x, region FROM visits JOIN own ON true GROUP BY CUBE (x, region)",
    ] {
        let end = stage.assert_tells_nothing("", sql);
        assert_eq!(end.error, None, "{sql}");
    }
    for sql in [
        "SELECT region FROM visits GROUP BY region",
        "SELECT dept FROM people GROUP BY dept",
    ] {
        stage.assert_tells_without(&["keep"], "", sql);
    }
}

/// Whatever becomes of a question after its answer, it was paid.
#[test]
fn an_answer_is_paid_whatever_comes_after() {
    let mut stage = Stage::new();
    let mut client = stage.analyst();
    for sql in [
        ASKED,
        "SELECT 1 / (count(*) - count(*)) FROM visits",
        "BEGIN; SELECT count(*) FROM visits; ROLLBACK",
        "BEGIN; SAVEPOINT s; SELECT count(*) FROM visits; ROLLBACK TO s; COMMIT",
        "BEGIN READ ONLY; SELECT count(*) FROM visits; COMMIT",
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM visits; ROLLBACK",
        "DO $$ BEGIN PERFORM count(*) FROM visits; RAISE 'x'; EXCEPTION WHEN others THEN NULL; END $$",
        "SET statement_timeout = 2000; SELECT count(*), pg_sleep(20) FROM visits; RESET statement_timeout",
        "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT count(*) FROM visits; COMMIT; CLOSE c",
        "BEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM visits; FETCH c; ROLLBACK",
        "BEGIN; DECLARE c SCROLL CURSOR FOR SELECT count(*) FROM visits; FETCH c; MOVE BACKWARD ALL FROM c; FETCH c; \
         FETCH ABSOLUTE 1 FROM c; FETCH FIRST FROM c; COMMIT",
        "BEGIN; CREATE TABLE t AS SELECT count(*) FROM visits; ROLLBACK",
        "BEGIN; SELECT count(*) FROM visits; PREPARE TRANSACTION '{d}'",
        "INSERT INTO own SELECT count(*), 'n' FROM visits RETURNING 1 / (x - x)",
        "SELECT set_config('role', 'none', true), count(*) FROM visits",
    ] {
        run(&mut client, "ROLLBACK; RESET ALL; DISCARD TEMP");
        let before = stage.spent();
        stage.attack(&mut client, sql);
        if sql.contains("PREPARE TRANSACTION") {
            let end = stage.fill("ROLLBACK PREPARED '{d}'");
            run(&mut client, &end);
        }
        let after = stage.spent();
        assert_eq!(after.1, before.1 + 1, "{sql}");
        assert!(after.0 > before.0 + 0.09, "{sql}");
    }
    let before = stage.spent().1;
    let copied = client.copy_out("COPY (SELECT count(*) FROM visits) TO STDOUT");
    let mut text = String::new();
    let mut copied = copied.expect("an answer");
    copied.read_to_string(&mut text).expect("an answer");
    drop(copied);
    assert_eq!(stage.spent().1, before + 1);
    let mut client = stage.analyst();
    run(&mut client, &down("charge"));
    let before = stage.spent();
    stage.number(&mut client, ASKED);
    assert_eq!(stage.spent(), before);
}

/// Each FETCH of a cursor shows the same answer.
#[test]
fn a_cursor_shows_one_answer() {
    let stage = Stage::new();
    let mut client = stage.analyst();
    run(
        &mut client,
        "BEGIN; DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT count(*) FROM visits",
    );
    let mut seen = Vec::new();
    for sql in [
        "FETCH c",
        "FETCH FIRST FROM c",
        "FETCH LAST FROM c",
        "FETCH ABSOLUTE 1 FROM c",
        "FETCH RELATIVE 0 FROM c",
    ] {
        seen.push(stage.attack(&mut client, sql).shown);
    }
    run(&mut client, "COMMIT");
    seen.push(stage.attack(&mut client, "FETCH ABSOLUTE 1 FROM c").shown);
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
}

/// Asking what a question costs spends nothing and shows nothing; a role that may not ask learns nothing.
#[test]
fn asking_the_price_is_free_and_shows_nothing() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT * FROM dp_cost('SELECT region, count(*) FROM visits WHERE patient = 666 GROUP BY 1')",
        "SELECT * FROM dp_cost('SELECT * FROM visits')",
        "SELECT * FROM dp_cost('SELECT count(*) FROM visits WHERE 1 / (patient - 666) > 0')",
        "SELECT * FROM dp_cost('EXPLAIN SELECT count(*) FROM visits')",
        "SELECT * FROM dp_cost('DROP TABLE own; SELECT count(*) FROM visits')",
        "SELECT * FROM dp_cost('SELECT * FROM dp_cost(''SELECT count(*) FROM visits'')')",
        "SELECT * FROM dp_cost('SELECT count(*) FROM visits WHERE show(region)')",
        "SELECT * FROM dp_cost('SELECT count(*) FROM visits FOR UPDATE')",
        "SELECT * FROM dp_cost(NULL)",
        "SELECT * FROM dp_cost('')",
        "SELECT * FROM dp_cost('SELECT')",
    ] {
        stage.assert_tells_nothing("", sql);
    }
    assert_eq!(stage.spent().1, 0);
    let name = stage.fill("{b}");
    let mut other = stage.database.connect_as(&name);
    let end = stage.attack(
        &mut other,
        "SELECT * FROM dp_cost('SELECT count(*) FROM visits')",
    );
    assert!(end.shown.is_empty(), "{end:?}");
}

/// Each answer of a statement is charged where it is computed. What one budget refuses ends the statement: nothing of it
/// comes out, and what was computed before is charged, as it is kept and costs nothing when it is asked again.
#[test]
fn a_statement_ends_where_a_budget_does() {
    let mut stage = Stage::new();
    stage.as_owner(
        "SELECT dp_set_budget('small', 0.15, 0); CREATE TABLE s (person integer PRIMARY KEY); \
         CREATE TABLE t (person integer PRIMARY KEY); SELECT dp_protect('s', 'person', 'small'); \
         SELECT dp_protect('t', 'person', 'small'); SELECT dp_allow('s', '{a}'); SELECT dp_allow('t', '{a}')",
    );
    let mut client = stage.analyst();
    let spent = "SELECT charges, refused FROM dp_budgets WHERE budget = 'small' AND role IS NULL";
    for sql in [
        "SELECT count(*) FROM t UNION ALL SELECT count(*) FROM s",
        "SELECT a.c + b.c FROM (SELECT count(*) c FROM s) a, (SELECT count(*) c FROM t WHERE person > 3) b",
    ] {
        let end = stage.attack(&mut client, sql);
        assert_eq!(end.error.expect("refused").0, "53400");
        assert!(
            end.shown.is_empty() || !end.shown.contains('\n'),
            "{}",
            end.shown
        );
    }
    let row = stage.root.query_one(spent, &[]).expect("a budget");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1, 2));
    // What another budget pays takes no room from this one.
    stage.number(&mut client, ASKED);
}

/// The audit names what answered, as far as a row of it has room.
#[test]
fn the_audit_names_the_mechanisms() {
    let stage = Stage::new();
    let mut client = stage.analyst();
    let last = "SELECT mechanisms FROM dp_ledger ORDER BY at DESC LIMIT 1";
    stage.number(&mut client, "SELECT count(*) FROM visits");
    let one: String = value(&mut client, last);
    assert!(
        one.starts_with("dp_count: gaussian(groups=1, mu=") && one.ends_with(", rows=2)"),
        "{one}"
    );
    let spreads: Vec<_> = (0..200).map(|i| format!("stddev(cost + {i})")).collect();
    run(
        &mut client,
        &format!("SELECT {} FROM visits", spreads.join(", ")),
    );
    let many: String = value(&mut client, last);
    let one = one.replace("dp_count:", "dp_stddev_pop:");
    assert_eq!(many, vec![one; 200].join(", ")[..1000]);
}

/// A table that is renamed or dropped gives nothing back, and the audit can be read. Another of the same name that is protected
/// on the same budget goes on where it ended, and who was allowed to ask about the first is not about the other.
#[test]
fn a_dropped_table_gives_nothing_back() {
    let mut stage = Stage::new();
    let make = "CREATE TABLE s AS SELECT g AS person FROM generate_series(1, 50) g; ALTER TABLE s ADD PRIMARY KEY (person); \
                SELECT dp_protect('s', 'person', 'small')";
    stage.as_owner(&format!(
        "SELECT dp_set_budget('small', 0.35, 0); {make}; SELECT dp_allow('s', '{{a}}')"
    ));
    let mut client = stage.analyst();
    let spent = |stage: &mut Stage| -> (f64, i64) {
        let sql =
            "SELECT spent_epsilon, charges FROM dp_budgets WHERE budget = 'small' AND role IS NULL";
        let row = stage.root.query_one(sql, &[]).expect("a budget");
        (row.get(0), row.get(1))
    };
    // Which table each charge was about, as the analyst reads it, and with which text.
    let audit = |client: &mut Client| -> Vec<(String, String)> {
        let sql = "SELECT relation::text, query FROM dp_ledger WHERE budget = 'small' ORDER BY at";
        let rows = client.query(sql, &[]).expect("an audit");
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let (of_s, of_t) = ("SELECT count(*) FROM s", "SELECT count(*) FROM t");
    let pair = |relation: &str, sql: &str| (relation.to_owned(), sql.to_owned());

    stage.number(&mut client, of_s);
    let first = spent(&mut stage);
    assert!(first.0 > 0.0 && first.1 == 1, "{first:?}");
    stage.as_owner("ALTER TABLE s RENAME TO t");
    assert_eq!(spent(&mut stage), first);
    assert_eq!(audit(&mut client), [pair("t", of_s)]);
    stage.number(&mut client, of_t);
    let second = spent(&mut stage);
    assert!(second.0 > 1.9 * first.0 && second.1 == 2, "{second:?}");

    let oid: String = value(&mut stage.root, "SELECT 't'::regclass::oid::text");
    stage.as_owner("DROP TABLE t");
    assert_eq!(spent(&mut stage), second);
    let kept = [pair(&oid, of_s), pair(&oid, of_t)];
    assert_eq!(audit(&mut client), kept);
    assert_eq!(audit(&mut stage.root), kept);
    let of_gone = "SELECT count(*) FROM dp_policies WHERE budget = 'small'";
    assert_eq!(value::<i64>(&mut stage.root, of_gone), 0);

    // Room for one more, of whichever table; and only for who is allowed again.
    stage.as_owner(make);
    assert_eq!(spent(&mut stage), second);
    assert_eq!(refused(&mut client, of_s).code, "42501");
    stage.as_owner("SELECT dp_allow('s', '{a}')");
    stage.number(&mut client, of_s);
    assert_eq!(refused(&mut client, of_s).code, "53400");
    let third = spent(&mut stage);
    assert!(third.0 > 2.9 * first.0 && third.1 == 3, "{third:?}");
    stage.as_owner("DROP TABLE s CASCADE");
    stage.as_owner(&format!("{make}; SELECT dp_allow('s', '{{a}}')"));
    assert_eq!(refused(&mut client, of_s).code, "53400");
    assert_eq!(spent(&mut stage), third);
    // The second one that was refused within a minute is counted alone.
    assert_eq!(audit(&mut client).len(), 4);
    let sql = "SELECT refused FROM dp_budgets WHERE budget = 'small' AND role IS NOT NULL";
    assert_eq!(value::<i64>(&mut client, sql), 2);
}

/// Numbers of tables come again: after four billion, or where a dump is restored. Permissions about a table that is gone are none
/// about the one that has its number now.
#[test]
fn permissions_about_a_dropped_table_are_gone() {
    let mut stage = Stage::new();
    stage.as_owner("CREATE TABLE s (person integer PRIMARY KEY)");
    // As the table that had this number before left it.
    stage.as_root("INSERT INTO dp_mean.allowance VALUES ('s', '{a}', 1, true, now(), '{o}')");
    stage.as_owner("SELECT dp_protect('s', 'person', 'patients')");
    let mut client = stage.analyst();
    let sql = "SELECT count(*) FROM s";
    assert_eq!(refused(&mut client, sql).code, "42501");
    stage.as_owner("SELECT dp_allow('s', '{a}')");
    stage.number(&mut client, sql);
    // Another policy ends none.
    stage.as_owner("SELECT dp_protect('s', 'person', 'patients', query_eps => 1)");
    stage.number(&mut client, sql);
    stage.as_root("SECURITY LABEL FOR dp_mean ON TABLE s IS NULL");
    assert_eq!(refused(&mut client, sql).code, "42501");
    stage.as_owner("SELECT dp_protect('s', 'person', 'patients')");
    assert_eq!(refused(&mut client, sql).code, "42501");
}

/// A thousand aggregates and a hundred joins are paid, or refused: nothing else comes of them.
#[test]
fn large_questions_are_paid_in_full() {
    let mut stage = Stage::new();
    let mut client = stage.analyst();
    let calls: Vec<_> = (0..200)
        .map(|i| format!("dp_mean(cost, 0, {}, 0.01)", i + 1))
        .collect();
    stage.attack(
        &mut client,
        &format!("SELECT {} FROM visits", calls.join(", ")),
    );
    let (spent, _) = stage.spent();
    assert!((1.99..2.1).contains(&spent), "{spent}");
    let calls: Vec<_> = (0..1100)
        .map(|i| format!("dp_mean(cost, 0, {}, 0.01)", i + 1))
        .collect();
    let end = stage.attack(
        &mut client,
        &format!("SELECT {} FROM visits", calls.join(", ")),
    );
    assert!(end.error.is_some());
    let joins: String = (0..100)
        .map(|i| format!(" JOIN own o{i} ON o{i}.x = patient"))
        .collect();
    let end = stage.attack(
        &mut client,
        &format!("SET join_collapse_limit = 1; SELECT count(*) FROM visits{joins}"),
    );
    assert_eq!(end.error, None);
    let blocks: Vec<_> = (0..40)
        .map(|i| format!("(SELECT count(*) AS c{i} FROM visits) b{i}"))
        .collect();
    let before = stage.spent().0;
    stage.attack(&mut client, &format!("SELECT 1 FROM {}", blocks.join(", ")));
    assert!(stage.spent().0 > before + 3.9);
    let sets: String = (0..7)
        .map(|i| format!("patient + {i}"))
        .collect::<Vec<_>>()
        .join(", ");
    let end = stage.attack(
        &mut client,
        &format!("SELECT count(*) FROM visits GROUP BY CUBE ({sets})"),
    );
    assert!(end.error.is_some());
}

/// The locks of a serializable transaction say which rows an index found.
#[test]
fn no_lock_shows_a_row() {
    let mut stage = Stage::new();
    let sql = "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) < -10000000 FROM visits WHERE patient = 666; \
               SELECT count(*) FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'visits'::regclass; COMMIT";
    let before = "SET enable_seqscan = off; SET enable_bitmapscan = off;";
    let end = stage.assert_tells_nothing(before, sql);
    assert_eq!(end.error.expect("refused").0, "42501");
    for mode in [
        "SERIALIZABLE READ ONLY",
        "SERIALIZABLE READ ONLY DEFERRABLE",
    ] {
        let mut client = stage.analyst();
        let sql = format!("BEGIN ISOLATION LEVEL {mode}; SELECT count(*) FROM visits");
        assert!(stage.attack(&mut client, &sql).error.is_some());
    }
    let mut shown = Vec::new();
    for person in [true, false] {
        stage.set_person(person);
        let mut client = stage.analyst();
        run(&mut client, &format!("{}{before}", down("isolation")));
        shown.push(stage.attack(&mut client, sql).shown);
    }
    assert_ne!(shown[0], shown[1]);
}
