//! What looks like a promise of a table and is none: constraints that do not hold for all rows, types that are narrower
//! than an answer, settings that change what a text means, and parameters whose values are not known yet.

use dp_mean_tests::run;

use super::asking::Asking;

/// A table of this name, with what `made` makes, whose column `id` is the person.
fn world(made: &str, table: &str) -> Asking {
    Asking::new(
        &format!(
            "{made};
             SELECT dp_set_budget('all', 4000, 1e-3);
             SELECT dp_protect('{table}', 'id', 'all', query_eps => 16); SELECT dp_allow('{table}', '{{analyst}}')"
        ),
        11,
    )
}

/// That a query has these numbers, but for noise: a `float8[]` in the order of its keys.
fn has(world: &mut Asking, sql: &str, numbers: &[f64]) {
    world.assert_close(sql, numbers, 25.0);
}

#[test]
fn a_foreign_key_of_some_rows_makes_no_list() {
    let by_reference = "SELECT array_agg(n::float8 ORDER BY ref) FROM (SELECT ref, count(*) AS n FROM rows GROUP BY ref) s";
    let referred =
        "CREATE TABLE refs (id int PRIMARY KEY); INSERT INTO refs SELECT generate_series(0, 1);
                    GRANT SELECT ON refs TO {analyst}";
    let reference = "ref int NOT NULL REFERENCES refs";
    // The table below has no foreign key.
    let made = format!(
        "{referred}; CREATE TABLE rows (id int PRIMARY KEY, {reference}); CREATE TABLE more () INHERITS (rows);
         INSERT INTO rows SELECT i, i % 2 FROM generate_series(1, 1000) i;
         INSERT INTO more SELECT i, 5 + i % 2 FROM generate_series(1001, 2000) i"
    );
    has(&mut world(&made, "rows"), by_reference, &[500.0; 4]);
    // Rows that were there before.
    let made = format!(
        "{referred}; CREATE TABLE rows (id int PRIMARY KEY, ref int NOT NULL);
         INSERT INTO rows SELECT i, CASE WHEN i % 4 > 1 THEN 5 + i % 2 ELSE i % 2 END FROM generate_series(1, 2000) i;
         ALTER TABLE rows ADD CONSTRAINT late FOREIGN KEY (ref) REFERENCES refs NOT VALID"
    );
    let mut world = world(&made, "rows");
    has(&mut world, by_reference, &[500.0; 4]);
    run(
        &mut world.root,
        "DELETE FROM rows WHERE ref > 1; ALTER TABLE rows VALIDATE CONSTRAINT late",
    );
    has(&mut world, by_reference, &[500.0; 2]);
    let mechanisms = world.mechanisms("SELECT ref, count(*) FROM rows GROUP BY ref");
    assert!(!mechanisms.contains("groups:"), "{mechanisms}");
}

/// A table below may have dropped it, before PostgreSQL 18.
#[test]
fn not_null_holds_for_the_table_alone() {
    let made = "CREATE TABLE rows (id int, x int NOT NULL, kind boolean NOT NULL); CREATE TABLE more () INHERITS (rows);
         INSERT INTO rows SELECT i, 5, true FROM generate_series(1, 1000) i;
         DO $$ BEGIN ALTER TABLE more ALTER x DROP NOT NULL, ALTER kind DROP NOT NULL; EXCEPTION WHEN others THEN NULL; END $$";
    let mut world = world(made, "rows");
    let filled = "INSERT INTO more SELECT i, NULL, NULL FROM generate_series(1001, 2000) i";
    if world.root.batch_execute(filled).is_err() {
        return; // On 18 a table below has the constraints of the one above.
    }
    run(&mut world.root, "SELECT dp_declare('rows', 'x', 0, 10)");
    has(
        &mut world,
        "SELECT ARRAY[count(*), count(x), avg(x) * 100]::float8[] FROM rows",
        &[2000.0, 1000.0, 500.0],
    );
    let by_kind = "SELECT array_agg(n::float8 ORDER BY kind NULLS LAST) \
                   FROM (SELECT kind, count(*) AS n FROM rows GROUP BY kind) s";
    has(&mut world, by_kind, &[0.0, 1000.0, 1000.0]);
}

#[test]
fn the_sign_of_nan_is_a_group() {
    let made = "CREATE TABLE rows (id int PRIMARY KEY, n numeric NOT NULL);
         INSERT INTO rows SELECT i, (ARRAY['-7', '0', '3', 'NaN'])[1 + i % 4]::numeric FROM generate_series(1, 2000) i";
    let mut world = world(made, "rows");
    let by_sign = "SELECT array_agg(n::float8 ORDER BY s) FROM (SELECT sign(n) AS s, count(*) AS n FROM rows GROUP BY 1) q";
    has(&mut world, by_sign, &[500.0; 4]);
    // As an integer it is NULL.
    let by_sign = by_sign.replace("sign(n)", "sign(n)::int");
    has(&mut world, &by_sign, &[500.0; 4]);
}

/// An answer that is noise alone is within its type: an error would come after the charge.
#[test]
fn an_answer_fits_its_type() {
    let made = "CREATE TABLE rows (id int PRIMARY KEY, i int NOT NULL, a smallint NOT NULL, r real NOT NULL);
         INSERT INTO rows SELECT i, i, i, i FROM generate_series(1, 5) i";
    let mut world = world(made, "rows");
    run(
        &mut world.root,
        "SELECT dp_declare('rows', 'i', 0, 100000), dp_declare('rows', 'a', 0, 50000), dp_declare('rows', 'r', 0, 1e99)",
    );
    run(&mut world.analyst, "SET dp_mean.epsilon = 0.01");
    for column in ["i", "a", "r", "i * i", "a * a"] {
        for sql in [
            format!(
                "SELECT percentile_disc(0.99) WITHIN GROUP (ORDER BY {column}) FROM rows WHERE i = -1"
            ),
            format!(
                "SELECT percentile_disc(ARRAY[0.01, 0.99]) WITHIN GROUP (ORDER BY {column}) FROM rows"
            ),
        ] {
            run(&mut world.analyst, &sql);
        }
    }
}

#[test]
fn lists_mean_the_same_with_backslashes_of_old() {
    let made = "CREATE TABLE rows (id int PRIMARY KEY, t text NOT NULL);
         INSERT INTO rows SELECT i, (ARRAY['a', E'b\\\\', E'c\\\\\"'',x'])[1 + i % 3] FROM generate_series(1, 1500) i";
    let mut world = world(made, "rows");
    let by_text = "SELECT array_agg(n::float8 ORDER BY t) FROM (SELECT t, count(*) AS n FROM rows \
                   WHERE t IN ('a', E'b\\\\', E'c\\\\\"'',x') GROUP BY t) s";
    for set in ["on", "off"] {
        run(
            &mut world.analyst,
            &format!("SET standard_conforming_strings = {set}"),
        );
        has(&mut world, by_text, &[500.0; 3]);
    }
}

/// Without its values a plan does not know which groups there are.
#[test]
fn a_plan_for_all_parameters_does_not_refuse_periods() {
    let mut world = Asking::new(
        "CREATE TABLE rows (id int NOT NULL, day date NOT NULL);
         INSERT INTO rows SELECT i, date '2025-01-06' + i % 28 FROM generate_series(1, 1400) i;
         SELECT dp_set_budget('all', 4000, 1e-3);
         SELECT dp_protect('rows', 'id', 'all', period => 'day', every => '1 month', since => '2025-01-01', groups => 31, query_eps => 16);
         SELECT dp_allow('rows', '{analyst}')",
        13,
    );
    let by_week = "SELECT array_agg(n::float8 ORDER BY week) FROM (SELECT date_trunc('week', day) AS week, count(*) AS n \
                   FROM rows WHERE day >= $1 AND day < $2 GROUP BY 1) s";
    run(
        &mut world.analyst,
        &format!("PREPARE asked (date, date) AS {by_week}"),
    );
    for _ in 0..8 {
        world.assert_close(
            "EXECUTE asked ('2025-01-06', '2025-02-03')",
            &[350.0; 4],
            60.0,
        );
    }
}

/// A message shows a query that is answered.
#[test]
fn the_example_of_a_message_is_answered() {
    for (columns, values) in [
        ("code text PRIMARY KEY", "'c' || i"),
        ("name text NOT NULL", "'n' || i % 2"),
        ("sex boolean NOT NULL", "i % 2 = 0"),
    ] {
        let made = format!(
            "CREATE TABLE rows (id int NOT NULL UNIQUE, {columns}); INSERT INTO rows SELECT i, {values} FROM generate_series(1, 500) i"
        );
        let mut world = world(&made, "rows");
        let refusal = dp_mean_tests::refused(&mut world.analyst, "SELECT * FROM rows");
        let example = refusal
            .hint
            .split("Ask as in: ")
            .nth(1)
            .expect("an example");
        let example = example.split(". You can").next().expect("a query");
        let rows = world.analyst.query(example, &[]).expect(example);
        assert!(!rows.is_empty(), "{example}");
    }
}
