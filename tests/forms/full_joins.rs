//! `FULL JOIN` of protected tables: a row is of the person of the side that it has.

use super::{World, table};

/// Of a survey that half of the patients answered, and others too; and a table by reference.
const TABLES: &str = "
CREATE TABLE answers (person int, wave int NOT NULL, score float8 NOT NULL, mood text NOT NULL, since date NOT NULL);
INSERT INTO answers SELECT NULLIF(10000 + i % 20000, 10000), i / 20000, i * 7919 % 50 + 0.5, 'm' || i % 3,
    date '2025-01-01' + i % 360 FROM generate_series(0, 39999) i;
CREATE TABLE items (item int PRIMARY KEY, visit int REFERENCES visits, price float8 NOT NULL);
INSERT INTO items SELECT i, CASE WHEN i < 20000 THEN i END, i * 7919 % 100 + 0.5 FROM generate_series(0, 29999) i;
CREATE VIEW answered AS SELECT * FROM answers WHERE person IS NOT NULL;
CREATE INDEX ON items (visit); CREATE INDEX ON visits (patient); ANALYZE;
SELECT dp_protect('answers', 'person', 'all', groups => 4, rows => 4, query_eps => 20, query_delta => 1e-6),
    dp_protect('items', via => 'visit', groups => 4, rows => 4, query_eps => 20, query_delta => 1e-6);
SELECT dp_declare('answers', 'score', 0, 50), dp_declare('answers', 'mood', ARRAY['m0', 'm1', 'm2']),
    dp_declare('items', 'price', 0, 100);
SELECT dp_allow('answers', '{analyst}'), dp_allow('items', '{analyst}')";

fn world() -> World {
    let mut world = World::new();
    world.own(TABLES);
    world
}

/// Statements, each with how many releases it is. Rows of nobody are in no answer.
fn check_all(cases: &[(u32, &str)]) {
    let mut world = world();
    for (releases, sql) in cases {
        world.same_as(sql, &sql.replace("answers", "answered"), *releases);
    }
}

#[test]
fn rows_of_both_sides_are_there() {
    check_all(&[
        (
            3,
            "SELECT count(*), avg(v.cost), avg(a.score) FROM visits v FULL JOIN answers a ON v.patient = a.person",
        ),
        (
            1,
            "SELECT count(v.id) FROM visits v FULL JOIN answers a ON a.person = v.patient AND a.wave = 0",
        ),
        // Rows without a match, on either side and on both.
        (
            1,
            "SELECT count(*) FROM people p FULL JOIN answers a ON p.person = a.person WHERE p.person IS NULL",
        ),
        (
            1,
            "SELECT count(*) FROM answers a FULL JOIN people p ON p.person = a.person WHERE a.person IS NULL AND born > 1950",
        ),
        (
            1,
            "SELECT count(*) FILTER (WHERE p.born > 1970 OR a.score > 40) FROM people p FULL JOIN answers a ON p.person = a.person",
        ),
        // People.
        (
            1,
            "SELECT count(DISTINCT coalesce(v.patient, a.person)) FROM visits v FULL JOIN answers a ON v.patient = a.person",
        ),
        (
            1,
            "SELECT count(DISTINCT coalesce(a.person, v.patient)) FROM visits v FULL JOIN answers a ON v.patient = a.person \
             WHERE coalesce(a.score, 45) > 30",
        ),
        (
            1,
            "SELECT count(DISTINCT person) FROM people FULL JOIN answers USING (person)",
        ),
        (
            2,
            "SELECT count(DISTINCT person), count(*) FROM people FULL JOIN answers USING (person) WHERE wave IS NULL OR wave = 1",
        ),
        // Columns that are no columns of a table.
        (
            1,
            "SELECT count(*) FROM (SELECT person, 1 AS known FROM people WHERE born > 1950) p FULL JOIN (SELECT person, \
             coalesce(mood, 'none') AS mood FROM answers) a USING (person) WHERE known IS NULL OR mood IS NULL",
        ),
        // An expression of both.
        (
            1,
            "SELECT avg(coalesce(a.score, p.salary / 2000, 7)) FROM people p FULL JOIN answers a ON p.person = a.person",
        ),
        // The same table twice.
        (
            1,
            "SELECT count(*) FROM (SELECT * FROM visits WHERE age < 40) v FULL JOIN (SELECT * FROM visits WHERE age > 35) w \
             USING (patient)",
        ),
    ]);
}

#[test]
fn keys_come_from_either_side() {
    check_all(&[
        (
            2,
            "SELECT v.region, count(*) FROM visits v FULL JOIN answers a ON v.patient = a.person GROUP BY v.region \
             ORDER BY v.region",
        ),
        (
            1,
            "SELECT a.mood, avg(p.born) FROM people p FULL JOIN answers a ON p.person = a.person WHERE a.mood IS NOT NULL \
             GROUP BY a.mood ORDER BY a.mood",
        ),
        (
            2,
            "SELECT coalesce(a.mood, p.dept) AS k, count(*) FROM people p FULL JOIN answers a ON p.person = a.person \
             GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT p.person IS NULL AS new, count(DISTINCT coalesce(p.person, a.person)) \
             FROM people p FULL JOIN answers a ON p.person = a.person GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT r.country, count(*) FROM (visits v FULL JOIN people p ON v.patient = p.person) JOIN regions r \
             ON r.region = v.region GROUP BY r.country HAVING count(*) > 10 ORDER BY 1",
        ),
    ]);
}

#[test]
fn a_full_join_is_a_private_relation() {
    check_all(&[
        (
            2,
            "SELECT count(*), avg(least(n, 5)) FROM (SELECT coalesce(v.patient, a.person) AS p, count(*) AS n \
             FROM visits v FULL JOIN answers a ON v.patient = a.person GROUP BY coalesce(v.patient, a.person)) s",
        ),
        (
            1,
            "SELECT avg(m) FROM (SELECT person, max(score) AS m FROM people FULL JOIN answers USING (person) \
             GROUP BY person HAVING count(salary) > 0) s",
        ),
        (
            1,
            "WITH s AS (SELECT person, avg(score) AS m FROM people FULL JOIN answers USING (person) GROUP BY person) \
             SELECT count(*) FROM s WHERE m IS NULL",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT coalesce(a.person, p.person) AS person FROM people p FULL JOIN answers a \
             ON p.person = a.person UNION SELECT patient FROM visits) s",
        ),
        (
            1,
            "SELECT avg(score) FROM (SELECT person, score, row_number() OVER (PARTITION BY person ORDER BY wave) AS i \
             FROM people FULL JOIN answers USING (person)) s WHERE i = 1",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT DISTINCT ON (person) person, wave FROM people FULL JOIN answers USING (person) \
             ORDER BY person, wave DESC) s WHERE wave = 1",
        ),
        // Without the person shown.
        (
            1,
            "SELECT avg(score) FROM (SELECT a.score FROM people p FULL JOIN answers a ON p.person = a.person) s WHERE score > 20",
        ),
        // Of three.
        (
            1,
            "SELECT count(DISTINCT person) FROM people FULL JOIN answers USING (person) FULL JOIN \
             (SELECT patient AS person, count(*) AS n FROM visits WHERE age > 70 GROUP BY patient) v USING (person)",
        ),
        (
            1,
            "SELECT avg(coalesce(v.cost, a.score)) FROM visits v FULL JOIN answers a ON v.patient = a.person \
             JOIN people p ON p.person = coalesce(v.patient, a.person) WHERE a.wave = 1 OR v.age > 60",
        ),
        (
            1,
            "SELECT count(*) FROM people p LEFT JOIN ((SELECT * FROM visits WHERE age < 30) v FULL JOIN answers a \
             ON v.patient = a.person) ON p.person = coalesce(v.patient, a.person) WHERE a.wave IS NULL",
        ),
        // Of what is joined itself, and of rows that are chosen by a sub-query.
        (
            1,
            "SELECT count(DISTINCT coalesce(p.person, a.person)) FROM (people p JOIN visits v ON v.patient = p.person \
             AND v.cost > 70) FULL JOIN answers a ON p.person = a.person AND a.wave = 1",
        ),
        (
            1,
            "SELECT avg(coalesce(v.cost, a.score)) FROM (visits v JOIN regions r ON r.region = v.region AND country = 'c1') \
             FULL JOIN answers a ON a.person = v.patient",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT * FROM people p WHERE EXISTS (SELECT FROM visits v WHERE v.patient = p.person \
             AND cost > 60)) p FULL JOIN (SELECT * FROM answers WHERE mood IN (SELECT 'm1' FROM regions)) a USING (person)",
        ),
        // Sub-queries about the same person.
        (
            1,
            "SELECT count(*) FROM people p WHERE EXISTS (SELECT FROM visits v FULL JOIN answers a ON v.patient = a.person \
             WHERE coalesce(v.patient, a.person) = p.person AND coalesce(a.score, v.cost) > 45)",
        ),
        (
            1,
            "SELECT count(*) FROM people WHERE person IN (SELECT coalesce(v.patient, a.person) FROM visits v FULL JOIN answers a \
             ON v.patient = a.person AND a.score > 30 WHERE v.cost < 20)",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT * FROM visits WHERE age < 60) v FULL JOIN answers a ON v.patient = a.person \
             WHERE NOT EXISTS (SELECT FROM people p WHERE p.person = coalesce(v.patient, a.person) AND born > 1990)",
        ),
    ]);
}

#[test]
fn rows_without_a_match_have_a_group_of_a_public_table() {
    let mut world = world();
    world.same(
        "SELECT r.region, count(v.id) FROM regions r LEFT JOIN (visits v FULL JOIN people p ON v.patient = p.person) \
         ON v.region = r.region GROUP BY r.region ORDER BY r.region",
        1,
    );
}

#[test]
fn a_reference_says_whose_rows_they_are() {
    let mut world = world();
    for sql in [
        "SELECT count(*), avg(price) FROM visits v FULL JOIN items i ON i.visit = v.id",
        "SELECT count(*), avg(v.cost) FROM items i FULL JOIN visits v ON i.visit = v.id AND i.price > 50 WHERE i.item IS NULL",
    ] {
        let plain = sql.replace("items i", "(SELECT * FROM items WHERE visit IS NOT NULL) i");
        world.same_as(sql, &plain, 2);
    }
}

#[test]
fn what_has_no_person_is_refused() {
    let mut world = world();
    world.own(
        "CREATE TABLE wide (person bigint NOT NULL, x int NOT NULL);
         SELECT dp_protect('wide', 'person', 'all'), dp_allow('wide', '{analyst}')",
    );
    for (sql, message) in [
        (
            "SELECT count(*) FROM people p FULL JOIN answers a ON p.born = a.wave",
            "FULL JOIN of private rows by something else than the person",
        ),
        (
            "SELECT count(*) FROM people p FULL JOIN answers a ON p.born = a.wave WHERE p.person = a.person",
            "FULL JOIN of private rows by something else than the person",
        ),
        (
            "SELECT count(*) FROM people p FULL JOIN wide w ON p.person = w.person",
            "persons are of different types",
        ),
        (
            "SELECT count(*) FROM people p FULL JOIN regions r ON p.dept = r.region",
            "the table is on the nullable side of an outer join",
        ),
        (
            "SELECT count(p) FROM people p FULL JOIN answers a ON p.person = a.person",
            "FULL JOIN of private rows beside LATERAL, rows as values",
        ),
        (
            "SELECT count(*) FROM people p FULL JOIN answers a ON p.person = a.person, LATERAL (SELECT p.born AS b) s \
             WHERE b > 1960",
            "FULL JOIN of private rows beside LATERAL, rows as values",
        ),
        (
            "SELECT count(*) FROM (people p JOIN visits v ON v.age = p.born) FULL JOIN answers a ON p.person = a.person",
            "by something else than the person",
        ),
        (
            "SELECT count(*) FROM people p FULL JOIN (answers a JOIN regions r ON a.mood = r.region) ON p.dept = r.region",
            "FULL JOIN of private rows by something else than the person",
        ),
        (
            "SELECT count(*) FROM people p FULL JOIN answers a ON p.person = a.person JOIN visits v ON v.patient = p.person",
            "by something else than the person",
        ),
        (
            "SELECT count(*) FROM (SELECT p.person, count(*) FROM people p FULL JOIN answers a ON p.person = a.person \
             GROUP BY p.person) s",
            "takes the rows of several people together",
        ),
        (
            "SELECT coalesce(p.person, a.person), count(*) FROM people p FULL JOIN answers a ON p.person = a.person GROUP BY 1",
            "would show single persons",
        ),
    ] {
        let refusal = world.refused(sql);
        assert!(refusal.message.contains(message), "{sql}: {refusal:?}");
        assert!(!refusal.hint.is_empty(), "{sql}");
    }
    // What the hint says is answered.
    let hint = "SELECT count(DISTINCT coalesce(a.person, p.person)) FROM answers a FULL JOIN people p ON a.person = p.person";
    assert_eq!(table(&mut world.analyst, hint).len(), 1);
}
