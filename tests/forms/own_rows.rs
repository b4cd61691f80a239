//! What happens within the rows of one person: joins of protected tables, aggregates and windows of each person,
//! sub-queries about the same person.

use super::{World, table};

/// Statements, each with how many releases it is.
fn check_all(cases: &[(u32, &str)]) {
    let mut world = World::new();
    world.own("CREATE INDEX ON visits (patient); ANALYZE visits");
    for (releases, sql) in cases {
        world.same(sql, *releases);
    }
}

#[test]
fn rows_are_put_together_for_each_person() {
    check_all(&[
        // A row is a person.
        (
            1,
            "SELECT count(*) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient) s",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT patient FROM visits GROUP BY patient HAVING count(*) > 1) s",
        ),
        (
            1,
            "SELECT avg(least(n, 5)) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient) s",
        ),
        // The person need not be shown.
        (
            1,
            "SELECT avg(least(n, 5)) FROM (SELECT count(*) AS n FROM visits GROUP BY patient) s",
        ),
        (
            1,
            "WITH s AS (SELECT patient, max(cost) AS most FROM visits GROUP BY patient) SELECT avg(most) FROM s",
        ),
        (
            1,
            "SELECT avg(m) FROM (SELECT patient AS p, avg(cost) AS m FROM visits WHERE age > 30 GROUP BY patient) s",
        ),
        (
            2,
            "SELECT n, count(*) FROM (SELECT count(*) AS n FROM visits GROUP BY patient) s GROUP BY n ORDER BY n",
        ),
        (
            1,
            "SELECT stddev(least(greatest(sum, 0), 200)) FROM (SELECT sum(cost) AS sum FROM visits GROUP BY patient) s",
        ),
        // Of each person and month, as in a star schema.
        (
            1,
            "SELECT avg(m) FROM (SELECT patient, date_trunc('month', day) AS t, avg(cost) AS m FROM visits \
             GROUP BY patient, date_trunc('month', day)) s",
        ),
        // Several levels.
        (
            1,
            "SELECT avg(most) FROM (SELECT patient, max(m) AS most FROM (SELECT patient, region, avg(cost) AS m \
             FROM visits GROUP BY patient, region) a GROUP BY patient) b",
        ),
    ]);
}

#[test]
fn protected_tables_are_joined_by_the_person() {
    check_all(&[
        (
            1,
            "SELECT avg(cost) FROM visits v JOIN people p ON v.patient = p.person",
        ),
        (
            1,
            "SELECT avg(cost) FROM visits v, people p WHERE p.person = v.patient AND p.born > 1960",
        ),
        (
            2,
            "SELECT region, count(*) FROM visits v JOIN people p ON v.patient = p.person GROUP BY region ORDER BY region",
        ),
        (
            1,
            "SELECT count(*) FROM people p LEFT JOIN visits v ON v.patient = p.person AND v.cost > 50",
        ),
        (
            1,
            "SELECT count(DISTINCT p.person) FROM visits v RIGHT JOIN people p ON v.patient = p.person WHERE v.cost IS NULL",
        ),
        // Both have one row each.
        (
            1,
            "SELECT avg(salary) FROM people p JOIN (SELECT patient, count(*) AS n FROM visits GROUP BY patient) v \
             ON v.patient = p.person WHERE n > 1",
        ),
        (
            2,
            "SELECT born, avg(most) FROM people p LEFT JOIN (SELECT patient, max(cost) AS most FROM visits \
             GROUP BY patient) v ON v.patient = p.person GROUP BY born ORDER BY born",
        ),
        // The same table twice.
        (
            1,
            "SELECT avg(a.cost) FROM visits a JOIN visits b USING (patient) WHERE b.id < 20000 AND a.id < 20000",
        ),
        // With a public one.
        (
            1,
            "SELECT avg(salary) FROM visits v JOIN people p ON v.patient = p.person JOIN regions r USING (region) \
             WHERE country = 'c1' AND v.id < 20000",
        ),
    ]);
}

#[test]
fn windows_are_of_one_person() {
    check_all(&[
        // Change since the visit before.
        (
            1,
            "SELECT avg(least(greatest(change, -100), 100)) FROM (SELECT cost - lag(cost) OVER (PARTITION BY patient \
             ORDER BY day, id) AS change FROM visits) s WHERE change IS NOT NULL",
        ),
        // The first visit of each.
        (
            1,
            "SELECT avg(cost) FROM (SELECT *, row_number() OVER (PARTITION BY patient ORDER BY day, id) AS i FROM visits) s \
             WHERE i = 1",
        ),
        (
            1,
            "SELECT avg(cost) FROM (SELECT DISTINCT ON (patient) patient, cost FROM visits ORDER BY patient, day, id) s",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT DISTINCT patient FROM visits) s",
        ),
        (
            1,
            "SELECT avg(f) FROM (SELECT DISTINCT patient, first_value(cost) OVER (PARTITION BY patient ORDER BY day, id) AS f \
             FROM visits) s",
        ),
        (
            1,
            "SELECT avg(s) FROM (SELECT avg(cost) OVER (PARTITION BY patient ORDER BY id ROWS BETWEEN 1 PRECEDING \
             AND CURRENT ROW) AS s FROM visits) s",
        ),
        (
            1,
            "SELECT avg(m) FROM (SELECT patient, max(cost) AS m, rank() OVER (PARTITION BY patient ORDER BY max(cost)) AS r \
             FROM visits GROUP BY patient, region) s WHERE r = 1",
        ),
    ]);
}

/// Types whose equal values look different, and those that no sort or group can choose from.
#[test]
fn values_have_one_form() {
    check_all(&[
        (
            1,
            "SELECT avg(m) FROM (SELECT patient, min(paid) AS m FROM visits GROUP BY patient) s",
        ),
        (
            1,
            "SELECT avg(m) FROM (SELECT patient, max(paid * 1.0) AS m, mode() WITHIN GROUP (ORDER BY rate) AS r FROM visits \
             GROUP BY patient, paid) s WHERE r >= 0",
        ),
        (
            1,
            "SELECT avg(paid) FROM (SELECT DISTINCT ON (patient) patient, paid, rate FROM visits ORDER BY patient, paid, id) s",
        ),
        (
            1,
            "SELECT avg(rate) FROM (SELECT rate, row_number() OVER (PARTITION BY patient ORDER BY rate, id) AS i FROM visits) s \
             WHERE i = 1",
        ),
    ]);
    let mut world = World::new();
    for sql in [
        "SELECT count(*) FROM (SELECT patient, min(at - day::timestamptz) AS m FROM visits GROUP BY patient) s WHERE m IS NULL",
        "SELECT count(*) FROM (SELECT patient, extra FROM visits GROUP BY patient, extra) s WHERE extra IS NULL",
        "SELECT count(*) FROM (SELECT extra, row_number() OVER (PARTITION BY patient ORDER BY id) AS i FROM visits) s \
         WHERE extra IS NULL AND i = 1",
    ] {
        assert_eq!(world.refused(sql).code, "42501", "{sql}");
    }
}

#[test]
fn set_operations_name_the_person() {
    check_all(&[
        (
            1,
            "SELECT count(DISTINCT id) FROM (SELECT patient AS id FROM visits UNION SELECT person FROM people) s",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT patient, cost FROM visits WHERE age < 30 UNION ALL SELECT patient, cost \
             FROM visits WHERE age >= 70) s",
        ),
        (
            1,
            "SELECT avg(x) FROM (SELECT person, salary AS x FROM people WHERE born < 1950 UNION ALL \
             SELECT person, salary FROM people WHERE born > 1990) s",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT person FROM people EXCEPT SELECT patient FROM visits WHERE cost > 60) s",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT person FROM people INTERSECT SELECT patient FROM visits WHERE cost > 60) s",
        ),
    ]);
}

#[test]
fn union_all_need_not_show_the_person() {
    check_all(&[
        (
            1,
            "SELECT count(*) FROM (SELECT cost FROM visits WHERE age < 30 UNION ALL SELECT salary FROM people) s",
        ),
        (
            1,
            "SELECT avg(x) FROM (SELECT cost AS x FROM visits WHERE age < 30 UNION ALL SELECT cost FROM visits \
             WHERE age BETWEEN 40 AND 50 UNION ALL (SELECT cost FROM visits WHERE age > 80 UNION ALL \
             SELECT cost FROM visits WHERE age = 60)) s",
        ),
        (
            1,
            "WITH w AS (SELECT age > 50 AS old, cost AS x FROM visits UNION ALL SELECT born < 1950, salary FROM people) \
             SELECT count(*) FROM w WHERE old",
        ),
        (
            1,
            "SELECT old, count(*) FROM (SELECT age > 50 AS old FROM visits WHERE age IS NOT NULL UNION ALL \
             SELECT born < 1950 FROM people WHERE born IS NOT NULL ORDER BY 1) s WHERE old IN (true, false) GROUP BY old ORDER BY old",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT x FROM (SELECT cost AS x FROM visits WHERE age < 30 UNION ALL SELECT cost \
             FROM visits WHERE age > 80) a WHERE x > 50 UNION ALL SELECT cost FROM visits WHERE age = 50) s",
        ),
        // Columns of several types: a cast by the row, which fails in no row.
        (
            1,
            "SELECT count(*) FROM (SELECT age AS x FROM visits WHERE age < 30 UNION ALL SELECT salary FROM people) s \
             WHERE x > 25",
        ),
    ]);
    // As with the person written out.
    let mut world = World::new();
    // What a float8 cannot be is NULL, and no error that has it in its words.
    world.own(
        "ALTER TABLE people ADD far numeric; UPDATE people SET far = CASE person WHEN 7 THEN 1e400 ELSE 90 END",
    );
    let beyond = "SELECT count(*) FROM (SELECT cost FROM visits WHERE age < 30 UNION ALL SELECT far FROM people) s \
                  WHERE cost > 89";
    let counted: i64 = world.asked(beyond);
    assert!((19_000..23_000).contains(&counted), "{counted}");
    let refusal = world.refused(
        "SELECT count(*) FROM (SELECT DISTINCT age FROM visits UNION ALL SELECT salary FROM people) s",
    );
    assert!(
        refusal.message.contains("columns of several types"),
        "{}",
        refusal.message
    );
    for (columns, of_visits, of_people) in [
        ("avg(x), count(*)", "cost AS x", "salary"),
        ("x, count(*)", "age > 50 AS x", "born < 1950"),
        ("count(DISTINCT x)", "region AS x", "dept"),
        (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)",
            "age AS x",
            "born",
        ),
    ] {
        let group = if columns.starts_with("x,") {
            "GROUP BY x ORDER BY x"
        } else {
            ""
        };
        let cost = |visit: &str, person: &str| {
            format!(
                "SELECT relation, budget, epsilon, rho, delta, mechanisms, price, noise, unit FROM dp_cost($q$SELECT {columns} \
                 FROM (SELECT {of_visits}{visit} FROM visits UNION ALL SELECT {of_people}{person} FROM people) s {group}$q$, 9)"
            )
        };
        let [hidden, written] = [cost("", ""), cost(", patient", ", person")];
        let [hidden, written] = [hidden, written].map(|sql| table(&mut world.analyst, &sql));
        assert_eq!((hidden.len(), &hidden), (1, &written), "{columns}");
    }
    world.own(
        "CREATE TABLE letters (person text NOT NULL, pages int NOT NULL); \
         INSERT INTO letters VALUES ('1', 2); \
         SELECT dp_protect('letters', 'person', 'all'), dp_allow('letters', '{analyst}')",
    );
    for sql in [
        // Rows are compared with each other.
        "SELECT count(*) FROM (SELECT age FROM visits UNION SELECT born FROM people) s",
        "SELECT count(*) FROM (SELECT age FROM visits EXCEPT ALL SELECT born FROM people) s",
        "SELECT count(*) FROM (SELECT age FROM visits UNION ALL (SELECT born FROM people INTERSECT SELECT age FROM visits)) s",
        // One part shows the person, or they are of another type.
        "SELECT count(*) FROM (SELECT patient FROM visits UNION ALL SELECT born FROM people) s",
        "SELECT count(*) FROM (SELECT born FROM people UNION ALL SELECT patient FROM visits) s",
        "SELECT count(*) FROM (SELECT age FROM visits UNION ALL SELECT pages FROM letters) s",
        "SELECT avg(pages) FROM (SELECT pages FROM letters UNION ALL SELECT age FROM visits) s",
    ] {
        let refusal = world.refused(sql);
        assert!(
            refusal.message.contains("do not name the person"),
            "{sql}: {refusal:?}"
        );
    }
    let refusal =
        world.refused("SELECT count(*) FROM (SELECT age FROM visits UNION ALL SELECT 1) s");
    assert!(
        refusal.message.contains("private rows and others"),
        "{refusal:?}"
    );
}

#[test]
fn sub_queries_are_about_the_same_person() {
    check_all(&[
        (
            1,
            "SELECT avg(salary) FROM people p WHERE EXISTS (SELECT FROM visits v WHERE v.patient = p.person AND cost > 60)",
        ),
        (
            1,
            "SELECT count(*) FROM people p WHERE NOT EXISTS (SELECT FROM visits v WHERE v.patient = p.person AND cost > 60)",
        ),
        (
            1,
            "SELECT avg(salary) FROM people WHERE person IN (SELECT patient FROM visits WHERE cost > 60)",
        ),
        (
            1,
            "SELECT count(*) FROM people WHERE person NOT IN (SELECT patient FROM visits WHERE cost > 60)",
        ),
        (
            1,
            "SELECT count(*) FROM people WHERE person IN (SELECT patient FROM visits GROUP BY patient HAVING count(*) > 1)",
        ),
        (
            1,
            "SELECT count(*) FROM people p WHERE (SELECT max(cost) FROM visits v WHERE v.patient = p.person) > 60",
        ),
        (
            1,
            "SELECT count(*) FROM people p WHERE (SELECT cost FROM visits v WHERE v.patient = p.person ORDER BY day LIMIT 1) > 60",
        ),
        (
            1,
            "SELECT count(*) FROM visits v WHERE cost = (SELECT max(cost) FROM visits w WHERE w.patient = v.patient)",
        ),
        // Of public tables.
        (
            1,
            "SELECT count(*) FROM visits WHERE region IN (SELECT region FROM regions WHERE country = 'c1')",
        ),
        (
            1,
            "SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM regions r WHERE r.region = v.region AND country = 'c1')",
        ),
        (
            1,
            "SELECT count(*) FROM visits v WHERE region NOT IN (SELECT region FROM regions WHERE country = 'c1')",
        ),
        (
            1,
            "SELECT count(*) FROM visits v WHERE cost > (SELECT max(factor) * 20 FROM regions)",
        ),
        (
            1,
            "SELECT count(*) FROM visits v WHERE cost > (SELECT factor * 20 FROM regions r WHERE r.region = v.region LIMIT 1)",
        ),
        // An answer is a number like any other, and is paid for itself.
        (
            2,
            "SELECT count(*) FROM visits WHERE age > (SELECT avg(age) FROM visits)",
        ),
    ]);
}

/// The planner would make joins of them that no query can be written with.
#[test]
fn conditions_with_sub_queries_may_stand_within_from() {
    check_all(&[
        (
            1,
            "SELECT count(*) FROM (SELECT * FROM people p WHERE NOT EXISTS \
             (SELECT FROM visits v WHERE v.patient = p.person AND cost > 60)) s",
        ),
        (
            1,
            "SELECT avg(salary) FROM (SELECT dept, salary FROM (SELECT * FROM people WHERE person IN \
             (SELECT patient FROM visits WHERE cost > 60)) r WHERE born > 1945) s",
        ),
        (
            1,
            "WITH few AS (SELECT * FROM visits WHERE region IN (SELECT region FROM regions WHERE country = 'c1') \
             AND (SELECT max(factor) FROM regions) > 1) SELECT avg(cost) FROM few",
        ),
        (
            3,
            "SELECT region, count(*) FROM (SELECT region FROM visits v WHERE cost > (SELECT avg(cost) FROM visits) \
             AND EXISTS (SELECT FROM people p WHERE p.person = v.patient AND born > 1960)) s \
             GROUP BY region ORDER BY region",
        ),
        // Below a query that stays a query of its own.
        (
            1,
            "SELECT count(*) FROM (SELECT DISTINCT person FROM (SELECT * FROM people p WHERE EXISTS \
             (SELECT FROM visits v WHERE v.patient = p.person AND cost > 60)) r) s",
        ),
    ]);
}

#[test]
fn what_is_public_may_stand_anywhere() {
    check_all(&[
        (
            1,
            "SELECT count(*) FROM visits v JOIN (VALUES ('r1'), ('r2')) k (region) USING (region)",
        ),
        (
            1,
            "SELECT count(*) FROM visits v JOIN (SELECT country, max(region) AS region FROM regions GROUP BY country) k \
             USING (region)",
        ),
        (
            1,
            "SELECT count(*) FROM visits v JOIN generate_series(20, 40) g ON v.age = g",
        ),
        (
            1,
            "SELECT count(*) FROM visits v JOIN unnest(ARRAY['r1', 'r3']) AS k (region) USING (region)",
        ),
        (
            1,
            "WITH k AS (SELECT region FROM regions WHERE factor > 1.15) SELECT count(*) FROM visits JOIN k USING (region)",
        ),
        (
            1,
            "WITH k AS (SELECT DISTINCT country FROM regions), l AS (SELECT region FROM regions JOIN k USING (country)) \
             SELECT count(*) FROM visits WHERE region IN (SELECT region FROM l)",
        ),
        // Below, too.
        (
            1,
            "SELECT avg(m) FROM (SELECT patient, avg(cost) AS m FROM visits JOIN regions USING (region) \
             WHERE country = 'c1' GROUP BY patient) s",
        ),
        (
            1,
            "SELECT avg(m) FROM (SELECT patient, avg(cost) AS m FROM visits WHERE region IN (SELECT region FROM regions \
             WHERE country = 'c1') GROUP BY patient) s",
        ),
        (
            3,
            "SELECT GROUPING(born), born, count(*) FROM people p WHERE EXISTS (SELECT FROM visits v JOIN regions USING (region) \
             WHERE v.patient = p.person AND country = 'c1') GROUP BY ROLLUP (born) ORDER BY 1, 2",
        ),
    ]);
}
