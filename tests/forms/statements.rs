//! Statements that carry a query: prepared ones, cursors, functions, COPY, tables made of answers.

use std::io::Read;

use dp_mean_tests::{refusal, refused, rows, run, value};

use super::{EPSILON, World, table};

#[test]
fn prepared_statements_answer_with_every_kind_of_plan() {
    for mode in ["auto", "force_generic_plan", "force_custom_plan"] {
        let mut world = World::new();
        world.ask(&format!("SET plan_cache_mode = {mode}"));
        let sql = "SELECT region, count(*), avg(cost) FROM visits WHERE age > $1 AND region <> $2 GROUP BY region \
             HAVING count(*) > $3 ORDER BY region LIMIT $4";
        let statement = world.analyst.prepare(sql).expect("a statement");
        for (age, left_out, few) in [(30, "r1", 3_i64), (50, "r2", 2), (50, "x", 5)].repeat(3) {
            let plain = sql
                .replace("$1", &age.to_string())
                .replace("$2", &format!("'{left_out}'"));
            let plain = plain.replace("$3", "10").replace("$4", &few.to_string());
            let truth = table(&mut world.owner, &plain);
            let mut answer = Vec::new();
            let price = world.price(|world| {
                answer = world
                    .analyst
                    .query(&statement, &[&age, &left_out, &10_i64, &few])
                    .expect("answers");
            });
            assert_eq!(price, (2.0, 1), "{mode}");
            let answer: Vec<_> = answer
                .iter()
                .map(|row| {
                    let (region, count, mean): (String, i64, f64) =
                        (row.get(0), row.get(1), row.get(2));
                    vec![
                        Some(region),
                        Some(count.to_string()),
                        Some(mean.to_string()),
                    ]
                })
                .collect();
            super::assert_alike(&answer, &truth, mode);
        }
    }
}

/// Drivers that send all parameters as text say no type, or cast.
#[test]
fn parameters_come_as_text_or_with_a_type() {
    let mut world = World::new();
    world.ask(
        "PREPARE unknown AS SELECT count(*) FROM visits WHERE age > $1 AND day >= $2 AND note = $3;
         PREPARE casted AS SELECT count(*) FROM visits WHERE age > $1::text::int AND day >= $2::text::date
             AND note = $3::varchar;
         PREPARE typed (int, timestamptz, text) AS SELECT count(*) FROM visits WHERE age > $1 AND day >= $2 AND note = $3;
         PREPARE of_any (int[]) AS SELECT count(*) FROM visits WHERE age = ANY ($1)",
    );
    let plain =
        "SELECT count(*) FROM visits WHERE age > 30 AND day >= '2025-03-01' AND note = 'n1'";
    for _ in 0..7 {
        for name in ["unknown", "casted", "typed"] {
            world.same_as(
                &format!("EXECUTE {name} ('30', '2025-03-01', 'n1')"),
                plain,
                1,
            );
        }
        world.same_as(
            "EXECUTE of_any ('{21,22,30}')",
            "SELECT count(*) FROM visits WHERE age IN (21, 22, 30)",
            1,
        );
    }
}

/// What an aggregate costs must be known when it is planned: a plan for its value knows it.
#[test]
fn epsilon_may_be_a_parameter_of_a_custom_plan() {
    let mut world = World::new();
    let sql = "SELECT dp_mean(cost, $1, $2, $3), dp_count($3) FROM visits";
    let statement = world.analyst.prepare(sql).expect("a statement");
    for epsilon in [1.0, 2.0, 5.0].repeat(4) {
        let price = world.price(|world| {
            let row = world
                .analyst
                .query_one(&statement, &[&0.0, &100.0, &epsilon])
                .expect("answers");
            let (mean, count): (f64, i64) = (row.get(0), row.get(1));
            assert!(
                (mean - 50.0).abs() < 2.0 && (count - 40_000).abs() < 80,
                "{mean} {count}"
            );
        });
        assert_eq!(price, (2.0 * epsilon / super::EPSILON, 1));
    }
    world.ask("PREPARE p (float8) AS SELECT dp_count($1) FROM visits; EXECUTE p (1)");
    world.ask("SET plan_cache_mode = force_generic_plan");
    let refusal = world.refused("EXECUTE p (1)");
    assert!(
        refusal
            .message
            .contains("\"eps\" of dp_count is not a constant"),
        "{refusal:?}"
    );
    assert!(refusal.hint.contains("force_generic_plan"), "{refusal:?}");
}

#[test]
fn functions_ask_with_the_rights_of_who_calls_them() {
    let mut world = World::new();
    world.ask(
        "CREATE FUNCTION in_plpgsql(what text) RETURNS bigint LANGUAGE plpgsql AS $$
             DECLARE n bigint; BEGIN SELECT count(*) INTO n FROM visits WHERE region = what; RETURN n; END $$;
         CREATE FUNCTION loops() RETURNS SETOF text LANGUAGE plpgsql AS $$
             DECLARE r record; BEGIN FOR r IN SELECT region, count(*) FROM visits GROUP BY region ORDER BY 1 LOOP
             RETURN NEXT r.region; END LOOP; END $$;
         CREATE FUNCTION executes(sql text) RETURNS bigint LANGUAGE plpgsql AS $$
             DECLARE n bigint; BEGIN EXECUTE sql INTO n USING 30; RETURN n; END $$;
         CREATE FUNCTION of_sql(what text) RETURNS bigint LANGUAGE sql AS $$
             SELECT count(*) FROM visits WHERE region = what $$;
         CREATE FUNCTION atomic() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM visits; END;
         CREATE FUNCTION inlined() RETURNS SETOF visits LANGUAGE sql STABLE AS $$
             SELECT * FROM visits WHERE age > 40 $$;
         CREATE FUNCTION answers() RETURNS TABLE (r text, n bigint) LANGUAGE sql STABLE AS $$
             SELECT region, count(*) FROM visits GROUP BY region $$;
         CREATE FUNCTION of_row(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT x * 2 + 1 $$",
    );
    let of_region = "SELECT count(*) FROM visits WHERE region = 'r1'";
    for _ in 0..7 {
        world.same_as("SELECT in_plpgsql('r1')", of_region, 1);
        world.same_as("SELECT of_sql('r1')", of_region, 1);
    }
    for (releases, sql, plain) in [
        (
            2,
            "SELECT * FROM loops()",
            "SELECT region FROM visits GROUP BY region ORDER BY 1",
        ),
        (
            1,
            "SELECT executes('SELECT count(*) FROM visits WHERE age > $1')",
            "SELECT count(*) FROM visits WHERE age > 30",
        ),
        (1, "SELECT atomic()", "SELECT count(*) FROM visits"),
        (
            2,
            "SELECT region, avg(cost) FROM inlined() GROUP BY region ORDER BY region",
            "SELECT region, avg(cost) FROM visits WHERE age > 40 GROUP BY region ORDER BY region",
        ),
        (
            2,
            "SELECT r, n FROM answers() ORDER BY r",
            "SELECT region, count(*) FROM visits GROUP BY region ORDER BY 1",
        ),
        (
            1,
            "SELECT avg(of_row(cost)) FROM visits",
            "SELECT avg(cost * 2 + 1) FROM visits",
        ),
    ] {
        world.same_as(sql, plain, releases);
    }
    // Two calls are two questions.
    let price =
        world.price(|world| world.ask("SELECT of_sql('r1'), of_sql('r1'), in_plpgsql('r2')"));
    assert_eq!(price, (3.0, 3));
    // A function of the analyst's asks as the analyst, who calls it.
    world.ask(
        "CREATE FUNCTION lent() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT count(*) FROM visits $$",
    );
    let mut other = world.database.connect_as(&world.with_roles("{other}"));
    let price = world.price(|_| drop(table(&mut other, "SELECT lent()")));
    assert_eq!(price, (1.0, 1));
    let sql = "SELECT DISTINCT role::text FROM dp_ledger";
    assert_eq!(
        value::<String>(&mut world.owner, sql),
        world.with_roles("{analyst}")
    );
    let error = other
        .simple_query("SELECT atomic()")
        .expect_err("no rights");
    assert_eq!(refusal(&error, "SELECT atomic()").code, "42501");
}

/// Row by row, in any direction, again and again: one noise and one charge.
#[test]
fn cursors_show_the_same_answers_again() {
    let mut world = World::new();
    let sql = "SELECT region, count(*), avg(cost) FROM visits GROUP BY region ORDER BY region";
    world.ask("SET dp_mean.epsilon = 0.05");
    for hold in ["WITHOUT HOLD", "WITH HOLD"] {
        let price = world.price(|world| {
            world.ask(&format!("BEGIN; DECLARE c SCROLL CURSOR {hold} FOR {sql}"));
            let first = table(&mut world.analyst, "FETCH ALL FROM c");
            assert_eq!(first.len(), 5);
            let mut back = table(&mut world.analyst, "FETCH BACKWARD ALL FROM c");
            back.reverse();
            assert_eq!(back, first);
            assert_eq!(
                table(&mut world.analyst, "FETCH ABSOLUTE 3 FROM c"),
                first[2..3]
            );
            world.ask("MOVE ABSOLUTE 0 FROM c");
            assert_eq!(table(&mut world.analyst, "FETCH ALL FROM c"), first);
            if hold == "WITH HOLD" {
                world.ask("COMMIT; MOVE ABSOLUTE 0 FROM c");
                assert_eq!(table(&mut world.analyst, "FETCH 2 FROM c"), first[..2]);
                world.ask("CLOSE c");
            } else {
                world.ask("COMMIT");
            }
        });
        assert_eq!(price, (2.0 * 0.05 / super::EPSILON, 1), "{hold}");
    }
    // A driver's cursor: rows of a portal, some at a time.
    let price = world.price(|world| {
        let mut transaction = world.analyst.transaction().expect("a transaction");
        let portal = transaction.bind(sql, &[]).expect("a portal");
        let mut seen = 0;
        loop {
            let some = transaction.query_portal(&portal, 2).expect("rows");
            seen += some.len();
            if some.is_empty() {
                break;
            }
        }
        assert_eq!(seen, 5);
        transaction.rollback().expect("it ends");
    });
    assert_eq!(price, (2.0 * 0.05 / super::EPSILON, 1));
}

#[test]
fn answers_go_into_files_and_tables() {
    let mut world = World::new();
    let sql = "SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY region";
    let truth = table(&mut world.owner, sql);
    let price = world.price(|world| {
        let mut text = String::new();
        let copy = format!("COPY ({sql}) TO STDOUT");
        world
            .analyst
            .copy_out(&copy)
            .map(|mut out| {
                out.read_to_string(&mut text).expect("a text");
            })
            .expect("rows");
        let lines: Vec<_> = text
            .lines()
            .map(|line| line.split('\t').map(|cell| Some(cell.to_owned())).collect())
            .collect();
        super::assert_alike(&lines, &truth, "COPY");
    });
    assert_eq!(price, (2.0, 1));
    for (make, see) in [
        ("CREATE TABLE made AS", "made"),
        (
            "CREATE TEMPORARY TABLE brief ON COMMIT PRESERVE ROWS AS",
            "brief",
        ),
        ("SELECT * INTO selected FROM (", "selected"),
        ("INSERT INTO made", "made OFFSET 5"),
        ("CREATE MATERIALIZED VIEW view AS", "view"),
    ] {
        let end = if make.ends_with('(') { ") s" } else { "" };
        let price = world.price(|world| world.ask(&format!("{make} {sql} {end}")));
        assert_eq!(price, (2.0, 1), "{make}");
        // What is kept is read as often as one likes.
        let price = world.price(|world| {
            let kept = table(&mut world.analyst, &format!("SELECT * FROM {see}"));
            super::assert_alike(&kept, &truth, make);
        });
        assert_eq!(price, (0.0, 0));
    }
    for (releases, sql) in [
        (2.0, "REFRESH MATERIALIZED VIEW view"),
        (
            1.0,
            "INSERT INTO made VALUES ('all', (SELECT count(*) FROM visits))",
        ),
        (
            2.0,
            "UPDATE made SET n = v.n FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) v \
               WHERE v.region = made.region",
        ),
        (
            1.0,
            "DELETE FROM made WHERE n > (SELECT count(*) - 50 FROM visits)",
        ),
        (
            2.0,
            "WITH new AS (INSERT INTO made SELECT region, count(*) FROM visits GROUP BY 1 RETURNING *) \
               SELECT count(*) FROM new",
        ),
        (
            2.0,
            "MERGE INTO made USING (SELECT region, count(*) AS n FROM visits GROUP BY 1) v ON v.region = made.region \
               WHEN MATCHED THEN UPDATE SET n = v.n WHEN NOT MATCHED THEN INSERT VALUES (v.region, v.n)",
        ),
    ] {
        let price = world.price(|world| world.ask(sql));
        assert_eq!(price, (releases, 1), "{sql}");
    }
}

/// Who refreshes it: its owner asks.
#[test]
fn the_owner_of_a_view_is_charged() {
    let mut world = World::new();
    world.ask(
        "CREATE MATERIALIZED VIEW kept AS SELECT region, count(*) FROM visits GROUP BY region;
         CREATE VIEW asks AS SELECT region, count(*) FROM visits GROUP BY region;
         GRANT SELECT ON asks TO {other}",
    );
    let mut server = world.database.connect();
    let price = world.price(|_| run(&mut server, "REFRESH MATERIALIZED VIEW kept"));
    assert_eq!(price, (2.0, 1));
    let mut other = world.database.connect_as(&world.with_roles("{other}"));
    let price = world.price(|_| assert_eq!(table(&mut other, "SELECT * FROM asks").len(), 5));
    assert_eq!(price, (2.0, 1));
    let charges = rows(
        &mut world.owner,
        "SELECT role::text FROM dp_ledger WHERE NOT refused",
    );
    assert_eq!(charges.len(), 3);
    let analyst = world.with_roles("{analyst}");
    assert!(charges.iter().all(|row| row.get::<_, String>(0) == analyst));
    // A view that asks with the rights of its reader is of no use to who has none.
    world.ask(
        "CREATE VIEW invokes WITH (security_invoker) AS SELECT count(*) FROM visits; GRANT SELECT ON invokes TO \
         {other}",
    );
    let error = other
        .simple_query("SELECT * FROM invokes")
        .expect_err("no rights");
    assert_eq!(refusal(&error, "invokes").code, "42501");
}

/// Each owner of a view pays for what is asked in their name, in one query, too.
#[test]
fn the_owners_of_two_views_pay_for_one_each() {
    let mut world = World::new();
    world.own("SELECT dp_allow('visits', '{other}')");
    world.ask("CREATE VIEW mine AS SELECT count(*) AS n FROM visits");
    let mut other = world.database.connect_as(&world.with_roles("{other}"));
    let sql = "CREATE VIEW theirs AS SELECT avg(cost) AS n, count(DISTINCT patient) FROM visits; \
               GRANT SELECT ON theirs TO {analyst}";
    run(&mut other, &world.with_roles(sql));
    let price = world.price(|world| world.ask("SELECT * FROM mine, theirs"));
    assert_eq!(price, (3.0, 2));
    let sql = "SELECT role::text, epsilon FROM dp_ledger WHERE NOT refused ORDER BY epsilon";
    let charges = rows(&mut world.owner, sql);
    let charges: Vec<(String, f64)> = charges.iter().map(|row| (row.get(0), row.get(1))).collect();
    let expected = [("{analyst}", 1.0), ("{other}", 2.0)];
    let expected = expected.map(|(role, releases)| (world.with_roles(role), releases * EPSILON));
    for ((role, epsilon), (payer, price)) in charges.iter().zip(&expected) {
        assert_eq!(role, payer, "{charges:?}");
        assert!((epsilon - price).abs() < 1e-6, "{charges:?}");
    }
    assert_eq!(charges.len(), 2);
}

/// A limit that may yet be taken back is no limit to spend by: neither that of all, nor that of a role.
#[test]
fn a_limit_that_is_not_committed_pays_nothing() {
    let mut world = World::new();
    world.own("SELECT dp_set_budget('all', 20, 1e-6, '{analyst}')");
    world.same("SELECT count(*) FROM visits", 1);
    let before = world.spent();
    let mut both = world.database.connect();
    for limit in ["'all', 3000, 0.5", "'all', 1000, 0.1, '{analyst}'"] {
        let sql = format!(
            "BEGIN; SET ROLE {{owner}}; SELECT dp_set_budget({limit}); SET ROLE {{analyst}}"
        );
        run(&mut both, &world.with_roles(&sql));
        let refusal = refused(&mut both, "SELECT count(*) FROM visits");
        assert_eq!(refusal.code, "55000", "{limit}: {refusal:?}");
        run(&mut both, "ROLLBACK");
    }
    assert_eq!(world.spent(), before);
}

/// A charge stays where the transaction does not.
#[test]
fn a_rolled_back_question_is_paid_for() {
    let mut world = World::new();
    let price = world.price(|world| {
        world.ask("BEGIN");
        world.ask(
            "SELECT count(*) FROM visits; SAVEPOINT s; SELECT count(*) FROM visits; ROLLBACK TO s",
        );
        world.ask("ROLLBACK");
    });
    assert_eq!(price, (2.0, 2));
    let price = world.price(|world| {
        world.ask(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT avg(cost) FROM visits; COMMIT",
        );
    });
    assert_eq!(price, (1.0, 1));
}
