//! What tools ask of facts with tables around them: joins that leave nothing out, keys of one table together, months that
//! WHERE leaves, and questions that are asked again with other parameters.

use dp_mean_tests::{refused, run, value};

use super::asking::Asking;
use super::{assert_alike, table};

/// People, each with a day of 2024 and a region, and a calendar of that year.
fn world() -> Asking {
    Asking::new(
        "CREATE TABLE cal (id int PRIMARY KEY, day date NOT NULL, quarter int NOT NULL, wkend boolean NOT NULL);
         INSERT INTO cal SELECT i, d, extract(quarter FROM d), extract(isodow FROM d) > 5 FROM generate_series(0, 365) i,
             LATERAL (SELECT date '2024-01-01' + i) t(d);
         CREATE TABLE person (id int PRIMARY KEY, d date NOT NULL, at timestamp NOT NULL, cal int NOT NULL REFERENCES cal,
             maybe int REFERENCES cal, x float8 NOT NULL);
         INSERT INTO person SELECT i, date '2024-01-01' + i % 366, timestamp '2024-01-01' + i % 366 * interval '1 day',
             i % 366, nullif(i % 366, 5), i % 100 FROM generate_series(1, 36600) i;
         CREATE TABLE visit (person int NOT NULL, kind int NOT NULL);
         INSERT INTO visit SELECT i, i % 2 FROM generate_series(1, 18300) i;
         ANALYZE;
         SELECT dp_set_budget('all', 4000, 1e-6);
         SELECT dp_protect('person', 'id', 'all', query_eps => 16), dp_protect('visit', 'person', 'all', query_eps => 16);
         SELECT dp_declare('person', 'x', 0, 100);
         SELECT dp_allow('person', '{analyst}'), dp_allow('visit', '{analyst}');
         GRANT SELECT ON cal TO {analyst}",
        7,
    )
}

#[test]
fn groups_are_those_that_there_can_be() {
    let mut world = world();
    for sql in [
        // Each row has a day of the calendar.
        "SELECT c.quarter, count(*) FROM person p LEFT JOIN cal c ON c.id = p.cal GROUP BY 1 ORDER BY 1",
        "SELECT c.quarter, count(*) FROM cal c RIGHT JOIN person p ON c.id = p.cal GROUP BY 1 ORDER BY 1",
        "SELECT c.quarter, count(*) FROM (SELECT cal FROM person WHERE x > 50) p LEFT JOIN cal c ON c.id = p.cal GROUP BY 1 \
         ORDER BY 1",
        "SELECT p.cal, c.quarter, count(*) FROM person p LEFT JOIN cal c ON c.id = p.cal WHERE p.cal IN (1, 100, 200) \
         GROUP BY 1, 2 ORDER BY 1, 2",
        // Keys of one table, whatever they are made of.
        "SELECT c.quarter, extract(month FROM c.day) AS m, count(*) FROM person p JOIN cal c ON c.id = p.cal GROUP BY 1, 2 \
         ORDER BY 1, 2",
        "SELECT c.quarter, CASE WHEN c.quarter < 3 THEN 'h1' ELSE 'h2' END AS h, count(*) FROM person p \
         JOIN cal c ON c.id = p.cal GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT c.quarter, c.wkend, extract(month FROM c.day) AS m, count(*) FROM person p JOIN cal c ON c.id = p.cal \
         GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        "SELECT extract(month FROM c.day) AS m, count(*) FROM person p JOIN cal c ON c.id = p.cal WHERE c.quarter = 2 \
         GROUP BY 1 ORDER BY 1",
        // Parts of days between the ends that WHERE has.
        "SELECT extract(month FROM d) AS m, count(*) FROM person WHERE d >= '2024-03-01' AND d < '2024-06-01' GROUP BY 1 \
         ORDER BY 1",
        "SELECT date_part('quarter', at) AS q, count(*) FROM person WHERE at BETWEEN '2024-01-01' AND '2024-06-30' \
         GROUP BY 1 ORDER BY 1",
        "SELECT extract(dow FROM d)::int AS w, count(*) FROM person WHERE d BETWEEN '2024-03-04' AND '2024-03-06' GROUP BY 1 \
         ORDER BY 1",
        // What raises an error of a value between the ends is computed of none.
        "SELECT CASE WHEN 100 / (id - 5) > 20 THEN 'a' ELSE 'b' END AS k, count(*) FROM person \
         WHERE id BETWEEN 1 AND 200 AND id <> 5 GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM person WHERE id::text LIKE ANY (ARRAY['1%', '%7'])",
        "SELECT count(*) FROM person WHERE id::text NOT LIKE ALL (ARRAY['1%', '%7', '_'])",
        "SELECT count(*) FILTER (WHERE id::text ~ ANY (ARRAY['^2', '9$'])) FROM person",
        "SELECT count(*) FROM person WHERE NOT (id::text LIKE ANY ('{}'))",
        // What is never NULL has no group for it.
        "SELECT id % 2 = 0 AS even, count(*) FROM person GROUP BY 1 ORDER BY 1",
        "SELECT EXISTS (SELECT FROM visit v WHERE v.person = p.id) AS came, count(*) FROM person p GROUP BY 1 ORDER BY 1",
    ] {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.root, sql));
        assert_alike(&answer, &truth, sql);
    }
    // A foreign key may be NULL, and a condition leaves out days.
    for sql in [
        "SELECT c.quarter, count(*) FROM person p LEFT JOIN cal c ON c.id = p.maybe GROUP BY 1 ORDER BY 1",
        "SELECT c.quarter, count(*) FROM person p LEFT JOIN cal c ON c.id = p.cal AND c.quarter < 3 GROUP BY 1 ORDER BY 1",
    ] {
        let answer = table(&mut world.analyst, sql);
        assert!(answer.iter().any(|row| row[0].is_none()), "{sql}");
    }
}

/// A foreign key that does not hold for all rows promises no row.
#[test]
fn keys_that_promise_nothing_leave_rows_without_a_match() {
    let mut world = world();
    run(
        &mut world.root,
        "ALTER TABLE person DROP CONSTRAINT person_cal_fkey; UPDATE person SET cal = 999 WHERE cal % 4 = 0;
         ALTER TABLE person ADD FOREIGN KEY (cal) REFERENCES cal NOT VALID",
    );
    let sql = "SELECT c.quarter, count(*) FROM person p LEFT JOIN cal c ON c.id = p.cal GROUP BY 1 ORDER BY 1";
    let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.root, sql));
    assert_alike(&answer, &truth, sql);
}

/// A plan for any parameters would have other groups: it is not made.
#[test]
fn a_question_with_parameters_is_the_same_each_time() {
    let mut world = world();
    run(
        &mut world.analyst,
        "SET dp_mean.reuse = on;
         PREPARE months(date, date) AS SELECT date_trunc('month', d)::date AS m, count(*) FROM person WHERE d >= $1 AND d < $2
         GROUP BY 1 ORDER BY 1",
    );
    let first = table(
        &mut world.analyst,
        "EXECUTE months('2024-12-01', '2025-03-01')",
    );
    assert_eq!(first.len(), 3);
    for _ in 0..7 {
        let again = table(
            &mut world.analyst,
            "EXECUTE months('2024-12-01', '2025-03-01')",
        );
        assert_eq!(again, first);
    }
    let charges =
        "SELECT sum(charges)::bigint FROM dp_budgets WHERE budget = 'all' AND role IS NULL";
    assert_eq!(value::<i64>(&mut world.root, charges), 1);
}

/// Where the session wants a plan for any parameters, a refusal says so.
#[test]
fn a_refusal_without_values_says_so() {
    let mut world = world();
    run(
        &mut world.analyst,
        "SET plan_cache_mode = force_generic_plan;
         PREPARE least(float8) AS SELECT percentile_cont($1) WITHIN GROUP (ORDER BY x) FROM person",
    );
    let refusal = refused(&mut world.analyst, "EXECUTE least(0.5)");
    assert!(
        refusal.hint.contains("SET plan_cache_mode = auto"),
        "{}",
        refusal.hint
    );
    run(&mut world.analyst, "SET plan_cache_mode = auto");
    let answer = table(&mut world.analyst, "EXECUTE least(0.5)");
    assert_eq!(answer.len(), 1);
}

/// Power BI counts a NULL among distinct values.
#[test]
fn a_count_beside_a_test_for_null_is_that_count() {
    let mut world = world();
    run(&mut world.analyst, "SET dp_mean.previews = 'empty'");
    let sql = "SELECT count(DISTINCT id) + max(CASE WHEN id IS NULL THEN 1 ELSE 0 END), \
               max(CASE WHEN x IS NULL THEN 1 ELSE 0 END) FROM person";
    let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.root, sql));
    assert_alike(&answer, &truth, sql);
}

/// What the owner has said of a table that refers to another one holds where it is asked about alone.
#[test]
fn a_table_by_reference_keeps_what_is_declared() {
    let mut world = world();
    run(
        &mut world.root,
        "CREATE TABLE item (person int NOT NULL REFERENCES person, mode char(6) NOT NULL, shipped date NOT NULL,
             got date NOT NULL, cal int NOT NULL REFERENCES cal);
         INSERT INTO item SELECT i, (ARRAY['AIR', 'SHIP'])[1 + i % 2], date '2024-01-01' + i % 100,
             date '2024-01-03' + i % 100, i % 4 FROM generate_series(1, 20000) i;
         ANALYZE item;
         SELECT dp_protect('item', via => 'person', query_eps => 16);
         SELECT dp_declare('item', 'shipped', date '2024-01-01', date '2024-12-31'),
             dp_declare('item', 'got - shipped', 0, 30)",
    );
    let role: String = value(&mut world.analyst, "SELECT current_user");
    run(
        &mut world.root,
        &format!("SELECT dp_allow('item', '{role}')"),
    );
    let sql = "SELECT max(shipped), avg(got - shipped) FROM item";
    let answer = table(&mut world.analyst, sql);
    assert_eq!(answer[0][0].as_deref(), Some("2024-12-31"));
    let mean: f64 = answer[0][1]
        .as_ref()
        .expect("a mean")
        .parse()
        .expect("a number");
    assert!((mean - 2.0).abs() < 0.1, "{mean}");
    // Its foreign key has 366 values.
    let groups = table(
        &mut world.analyst,
        "SELECT cal, count(*) FROM item GROUP BY cal",
    );
    assert_eq!(groups.len(), 366);
    let groups = table(
        &mut world.analyst,
        "SELECT cal, count(*) FROM item WHERE cal BETWEEN 360 AND 400 GROUP BY cal",
    );
    assert_eq!(groups.len(), 6);
}

/// Lists as warehouses write them.
#[test]
fn a_union_of_constants_may_be_joined() {
    let mut world = world();
    for sql in [
        "WITH b AS (SELECT 0 AS lo, 50 AS hi, 'low' AS name UNION ALL SELECT 50, 101, 'high') \
         SELECT b.name, count(*) FROM person JOIN b ON x >= lo AND x < hi GROUP BY 1 ORDER BY 1",
        "SELECT b.name, count(*) FROM person JOIN (SELECT quarter AS q, 'q' || quarter AS name FROM cal WHERE id IN (1, 100, 200, 300) \
         UNION ALL SELECT 9, 'q9') b ON b.q = extract(quarter FROM d) GROUP BY 1 ORDER BY 1",
    ] {
        let answer = table(&mut world.analyst, sql);
        let truth = table(&mut world.root, sql);
        let is_known = |row: &Vec<_>| truth.iter().any(|known| known[0] == row[0]);
        let answer: Vec<_> = answer.into_iter().filter(is_known).collect();
        assert_alike(&answer, &truth, sql);
    }
}
