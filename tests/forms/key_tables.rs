//! Keys that are made of a joined public table: its rows say which groups there are.

use super::key_ranges::mechanisms;
use super::{World, table};

/// A public table with more than the rows have: a region that nobody visits, one without a country, and a name that two
/// have.
const PLACES: &str = "
CREATE TABLE places (region text PRIMARY KEY, country text, name text NOT NULL, size int NOT NULL);
INSERT INTO places SELECT 'r' || i, CASE WHEN i < 6 THEN 'c' || i % 3 END, 'n' || i % 4, i FROM generate_series(0, 6) i;
CREATE TABLE hidden_places AS SELECT * FROM places;
CREATE TABLE many AS SELECT 'r' || i AS region, i AS number FROM generate_series(0, 4999) i;
GRANT SELECT ON places, many TO {analyst};
ANALYZE places, many";

/// Each query over `visits v JOIN places p`, with its keys: those of `places`, also where no visit has one.
const JOINED: [(&str, &str); 11] = [
    (
        "SELECT p.name, count(*) FROM {joined} GROUP BY 1",
        "SELECT DISTINCT name FROM places",
    ),
    (
        "SELECT p.country, avg(v.cost) FROM {joined} GROUP BY 1",
        "SELECT DISTINCT country FROM places",
    ),
    (
        "SELECT p.region, count(*) FROM {joined} GROUP BY 1",
        "SELECT region FROM places",
    ),
    // The column that it is joined by says the same.
    (
        "SELECT v.region, count(*) FROM {joined} GROUP BY 1",
        "SELECT region FROM places",
    ),
    (
        "SELECT p.region, p.name, count(*) FROM {joined} GROUP BY 1, 2",
        "SELECT region, name FROM places",
    ),
    (
        "SELECT upper(p.name) || p.size, count(*) FROM {joined} GROUP BY 1",
        "SELECT upper(name) || size FROM places",
    ),
    (
        "SELECT COALESCE(p.country, 'none'), count(*) FROM {joined} GROUP BY 1",
        "SELECT DISTINCT COALESCE(country, 'none') FROM places",
    ),
    // Conditions on the table leave out its groups, those on visits do not.
    (
        "SELECT p.name, count(*) FROM {joined} WHERE p.size > 2 AND v.age < 30 GROUP BY 1",
        "SELECT DISTINCT name FROM places WHERE size > 2",
    ),
    // Beside another key that is public, and one that is a list.
    (
        "SELECT p.region, v.age > 40, count(*) FROM {joined} GROUP BY 1, 2",
        "SELECT region, b FROM places, (VALUES (false), (true)) b(b)",
    ),
    (
        "SELECT p.country, p.name, count(*) FROM {joined} WHERE p.name IN ('n1', 'n2') GROUP BY 1, 2",
        "SELECT DISTINCT country, name FROM places WHERE name IN ('n1', 'n2')",
    ),
    (
        "SELECT p.name, p.country, count(*) FROM {joined} GROUP BY ROLLUP (1, 2)",
        "SELECT DISTINCT name, country FROM places UNION ALL SELECT DISTINCT name, NULL FROM places \
         UNION ALL SELECT NULL, NULL",
    ),
];

#[test]
fn rows_of_a_joined_table_are_groups() {
    let mut world = World::new();
    world.own(PLACES);
    let of_both = |(sql, keys): (&'static str, &'static str)| {
        ["places", "(SELECT * FROM places)"].map(|places| {
            let joined = format!("visits v JOIN {places} p ON p.region = v.region");
            (sql.replace("{joined}", &joined), keys)
        })
    };
    for (sql, keys) in JOINED.into_iter().flat_map(of_both) {
        let mut expected = table(&mut world.owner, keys);
        let answer = table(&mut world.analyst, &sql);
        let mut found: Vec<_> = answer
            .iter()
            .map(|row| row[..expected[0].len()].to_vec())
            .collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{sql}");
        // Groups with rows have what the owner sees, but for noise.
        for row in table(&mut world.owner, &sql) {
            let keys = row.len() - 1;
            let own = answer.iter().find(|one| one[..keys] == row[..keys]);
            let own = own.expect("a group of the owner's");
            super::assert_alike(&vec![own.clone()], &vec![row], &sql);
        }
        let mechanisms = mechanisms(&mut world, &sql);
        assert!(!mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
}

/// So are those of a list that the query makes itself, as reports have one of all days.
#[test]
fn rows_of_a_list_in_from_are_groups() {
    let mut world = World::new();
    world.own(PLACES);
    for sql in [
        "SELECT d, count(v.id) FROM generate_series(date '2025-01-01', '2025-01-10', '1 day') d LEFT JOIN visits v ON v.day = d \
         GROUP BY d ORDER BY d",
        "WITH days AS (SELECT generate_series(date '2025-12-20', '2025-12-31', '1 day')::date AS day) \
         SELECT days.day, count(v.id) FROM days LEFT JOIN visits v USING (day) GROUP BY 1 ORDER BY 1",
        "SELECT to_char(m, 'YYYY-MM'), count(v.id), coalesce(sum(v.cost), 0) FROM generate_series(timestamptz '2025-01-01', \
         '2025-12-01', '1 month') m LEFT JOIN visits v ON date_trunc('month', v.at) = m GROUP BY 1 ORDER BY 1",
        "SELECT b.lo, count(v.id) FROM (SELECT lo, lo + 20 AS hi FROM generate_series(0, 100, 20) lo) b \
         LEFT JOIN visits v ON v.cost >= b.lo AND v.cost < b.hi GROUP BY b.lo ORDER BY 1",
        "SELECT n.name, count(v.id) FROM (VALUES ('r0', 'north'), ('r1', 'south'), ('r9', 'none')) n(region, name) \
         LEFT JOIN visits v USING (region) GROUP BY n.name ORDER BY 1",
        "SELECT r, count(DISTINCT v.patient) FROM visits v RIGHT JOIN unnest(ARRAY['r0', 'r1', 'r9']) r ON r = v.region \
         GROUP BY r ORDER BY 1",
        "SELECT p.name, g, count(v.id) FROM places p CROSS JOIN generate_series(20, 22) g LEFT JOIN visits v \
         ON v.region = p.region AND v.age = g GROUP BY 1, 2 ORDER BY 1, 2",
        // Conditions leave out groups: on the key, and on what is beside it.
        "SELECT g, count(v.id) FROM generate_series(18, 25) g LEFT JOIN visits v ON v.age = g WHERE g > 20 GROUP BY g ORDER BY g",
        "SELECT n.name, avg(v.cost) FROM visits v JOIN (VALUES ('r0', 'a', 1), ('r1', 'b', 2), ('r2', 'c', 3)) n(region, name, i) \
         USING (region) WHERE n.i < 3 GROUP BY 1 ORDER BY 1",
        // Rows of visits without one are a group, too.
        "SELECT n.name, count(*) FROM visits v LEFT JOIN (VALUES ('r0', 'a'), ('r1', 'b')) n(region, name) USING (region) \
         GROUP BY 1 ORDER BY 1",
    ] {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.owner, sql));
        super::assert_alike(&answer, &truth, sql);
        let mechanisms = mechanisms(&mut world, sql);
        assert!(!mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
    world.ask("PREPARE ages(int, int) AS SELECT g, count(v.id) FROM generate_series($1, $2) g LEFT JOIN visits v ON v.age = g GROUP BY g");
    for _ in 0..7 {
        let answer = table(&mut world.analyst, "EXECUTE ages(18, 21)");
        assert_eq!(answer.len(), 4);
    }
}

/// Rows with none of the table are a group where the join keeps them.
#[test]
fn an_outer_join_has_a_group_of_those_without() {
    let mut world = World::new();
    world.own(PLACES);
    for (key, keys) in [
        (
            "p.name",
            "SELECT DISTINCT name FROM places WHERE size < 3 UNION SELECT NULL",
        ),
        (
            "COALESCE(p.name, 'none')",
            "SELECT DISTINCT name FROM places WHERE size < 3 UNION SELECT 'none'",
        ),
    ] {
        let sql = format!(
            "SELECT {key}, count(*) FROM visits v LEFT JOIN places p ON p.region = v.region AND p.size < 3 \
             GROUP BY 1 ORDER BY 1"
        );
        let answer = table(&mut world.analyst, &sql);
        let keys = table(&mut world.owner, &format!("{keys} ORDER BY 1"));
        let found: Vec<_> = answer.iter().map(|row| row[..1].to_vec()).collect();
        assert_eq!(found, keys, "{sql}");
        let truth = table(&mut world.owner, &sql);
        super::assert_alike(&answer, &truth, &sql);
    }
}

/// What is no such list is chosen as before, or refused.
#[test]
fn other_keys_of_joined_tables_are_chosen() {
    let mut world = World::new();
    world.own(PLACES);
    let joined = "visits v JOIN places p ON p.region = v.region";
    for sql in [
        // Made of both.
        format!("SELECT p.size + v.age, count(*) FROM {joined} GROUP BY 1"),
        // Of a table with too many rows, and of such a list.
        "SELECT m.number, count(*) FROM visits v JOIN many m USING (region) GROUP BY 1".to_owned(),
        "SELECT g, count(*) FROM visits v JOIN generate_series(1, 2000) g ON v.age = g GROUP BY 1".to_owned(),
        // Not equal in all rows.
        "SELECT v.note, count(*) FROM visits v JOIN places p ON v.note = p.name OR v.age = p.size GROUP BY 1"
            .to_owned(),
        "SELECT v.region, count(*) FROM visits v LEFT JOIN places p ON v.region = p.region GROUP BY 1".to_owned(),
    ] {
        let mechanisms = mechanisms(&mut world, &sql);
        assert!(mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
    let refusal = world.refused(
        "SELECT p.name, count(*) FROM visits v JOIN hidden_places p ON p.region = v.region GROUP BY 1",
    );
    assert!(refusal.message.contains("may not read"), "{refusal:?}");
}

/// Keys of several tables are groups in all combinations, where each row of one may meet each of the others.
#[test]
fn keys_of_several_tables_are_combined() {
    let mut world = World::new();
    world.own(PLACES);
    world.own(
        "CREATE TABLE ages (age int PRIMARY KEY, decade int NOT NULL);
         INSERT INTO ages SELECT i, i / 10 FROM generate_series(0, 119) i;
         CREATE TABLE names (name text PRIMARY KEY, long text NOT NULL);
         INSERT INTO names SELECT DISTINCT name, 'long ' || name FROM places;
         GRANT SELECT ON ages, names TO {analyst};
         ANALYZE ages, names",
    );
    let sql = "SELECT p.name, a.decade, count(*) FROM visits v JOIN places p ON p.region = v.region \
               JOIN ages a ON a.age = v.age WHERE a.decade BETWEEN 2 AND 4 GROUP BY 1, 2 ORDER BY 1, 2";
    let found = mechanisms(&mut world, sql);
    assert!(!found.contains("dp_keep"), "{found}");
    let keys = table(
        &mut world.owner,
        "SELECT DISTINCT name, decade FROM places, ages WHERE decade BETWEEN 2 AND 4 ORDER BY 1, 2",
    );
    let answer = table(&mut world.analyst, sql);
    let groups: Vec<_> = answer.iter().map(|row| row[..2].to_vec()).collect();
    assert_eq!(groups, keys);
    for row in table(&mut world.owner, sql) {
        let own = answer.iter().find(|one| one[..2] == row[..2]);
        super::assert_alike(&vec![own.expect("a group").clone()], &vec![row], sql);
    }
    // Rows that meet are not all: a table that is joined with the other, two with the same column, and an outer join.
    for sql in [
        "SELECT p.region, n.long, count(*) FROM visits v JOIN places p ON p.region = v.region JOIN names n \
         ON n.name = p.name GROUP BY 1, 2",
        "SELECT p.name, q.size, count(*) FROM visits v JOIN places p ON p.region = v.region JOIN places q \
         ON q.region = v.region GROUP BY 1, 2",
        "SELECT p.name, a.decade, count(*) FROM visits v JOIN places p ON p.region = v.region LEFT JOIN ages a \
         ON a.age = v.age GROUP BY 1, 2",
    ] {
        let found = mechanisms(&mut world, sql);
        assert!(found.contains("dp_keep"), "{found}: {sql}");
    }
}

/// Groups alone are public, and cost nothing.
#[test]
fn the_list_alone_is_free() {
    let mut world = World::new();
    world.own(PLACES);
    let sql =
        "SELECT DISTINCT p.name FROM visits v JOIN places p ON p.region = v.region ORDER BY 1";
    let mut answer = Vec::new();
    let charge = world.price(|world| answer = table(&mut world.analyst, sql));
    assert_eq!(charge.1, 0, "{charge:?}");
    assert_eq!(answer.len(), 4);
}

/// The list is that of the moment of the question, also in a prepared statement.
#[test]
fn a_table_that_grows_has_more_groups() {
    let mut world = World::new();
    world.own(PLACES);
    world.ask(
        "PREPARE names AS SELECT p.name, count(*) FROM visits v JOIN places p ON p.region = v.region GROUP BY 1",
    );
    assert_eq!(table(&mut world.analyst, "EXECUTE names").len(), 4);
    world.own("INSERT INTO places VALUES ('r9', NULL, 'n9', 9)");
    assert_eq!(table(&mut world.analyst, "EXECUTE names").len(), 5);
}

/// Reports have all groups by a LEFT JOIN from the table of them.
#[test]
fn a_table_that_is_kept_says_the_groups() {
    let mut world = World::new();
    world.own(PLACES);
    for (sql, keys) in [
        (
            "SELECT p.region, count(v.id), avg(v.cost) FROM places p LEFT JOIN visits v ON v.region = p.region \
             GROUP BY p.region ORDER BY 1",
            7,
        ),
        (
            "SELECT p.name, count(DISTINCT v.patient) FROM visits v RIGHT JOIN places p ON v.region = p.region \
             GROUP BY p.name ORDER BY 1",
            4,
        ),
        (
            "SELECT p.country, sum(v.cost) FROM places p LEFT JOIN (SELECT * FROM visits WHERE age > 30) v USING (region) \
             GROUP BY 1 ORDER BY 1",
            4,
        ),
        (
            "SELECT p.name, count(v.id) FILTER (WHERE v.age > 30 AND p.size > 0), \
             sum(CASE WHEN v.age > 40 THEN 1 ELSE NULL END) \
             FROM places p LEFT JOIN visits v ON v.region = p.region AND v.cost > 10 GROUP BY p.name ORDER BY 1",
            4,
        ),
        (
            "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region WHERE p.size IN (0, 5, 6) \
             GROUP BY p.name ORDER BY 1",
            3,
        ),
        (
            "SELECT p.name, avg(v.cost) FROM places p LEFT JOIN visits v ON v.region = p.region \
             LEFT JOIN people o ON o.person = v.patient GROUP BY p.name ORDER BY 1",
            4,
        ),
        // What a sum adds for rows without a match is 0.
        (
            "SELECT p.name, sum(CASE WHEN v.cost > 50 THEN 1 ELSE 0 END), \
             sum(CASE WHEN v.cost > 50 THEN v.cost WHEN v.age > 30 THEN 0.5 ELSE 0 END) \
             FROM places p LEFT JOIN visits v ON v.region = p.region GROUP BY p.name ORDER BY 1",
            4,
        ),
        (
            "SELECT p.name, sum(CASE v.region WHEN 'north' THEN 1 WHEN 'south' THEN v.cost ELSE 0 END), \
             sum(NULLIF(v.cost, 0)), count(NULLIF(v.id, 3)), sum(CASE v.age WHEN 40 THEN 1 ELSE 0 END), \
             avg(CASE v.region WHEN 'north' THEN v.cost END) \
             FROM places p LEFT JOIN visits v ON v.region = p.region GROUP BY p.name ORDER BY 1",
            4,
        ),
        (
            "SELECT p.name, sum(coalesce(v.cost, 0)), sum(coalesce(v.paid, v.points, 0.0)) \
             FROM places p LEFT JOIN visits v ON v.region = p.region GROUP BY p.name ORDER BY 1",
            4,
        ),
        // Of rows without a match those are there that a condition on the table itself keeps.
        (
            "SELECT p.region, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region \
             WHERE p.size >= 5 OR v.cost > 50 GROUP BY 1 ORDER BY 1",
            7,
        ),
        (
            "SELECT p.region, avg(v.cost) FROM places p LEFT JOIN visits v ON v.region = p.region \
             WHERE p.size >= 5 OR EXISTS (SELECT FROM people o WHERE o.person = v.patient AND o.born > 1960) GROUP BY 1 ORDER BY 1",
            7,
        ),
        (
            "SELECT p.region, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region \
             WHERE p.size >= 5 OR p.size < 9 AND v.patient IN (SELECT person FROM people WHERE born > 1960) GROUP BY 1 ORDER BY 1",
            7,
        ),
    ] {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.owner, sql));
        let of =
            |rows: &[Vec<Option<String>>]| Vec::from_iter(rows.iter().map(|row| row[0].clone()));
        assert_eq!(of(&answer), of(&truth), "{sql}");
        assert_eq!(answer.len(), keys, "{sql}");
        for (answer, truth) in answer.iter().zip(&truth) {
            // Of nobody there is a number that is all noise, and NULL in the owner's answer, or 0.
            if truth[1..]
                .iter()
                .all(|cell| cell.as_deref().is_some_and(|cell| cell != "0"))
            {
                super::assert_alike(&vec![answer.clone()], &vec![truth.clone()], sql);
            }
        }
        let mechanisms = mechanisms(&mut world, sql);
        assert!(!mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
    // Without groups it is the inner join.
    world.same(
        "SELECT avg(v.cost), count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region",
        1,
    );
}

/// Tables and queries of an analyst that look like parts of what the gate writes stay what they are.
#[test]
fn no_query_of_an_analyst_is_taken_for_one_of_the_gate() {
    let mut world = World::new();
    world.own(PLACES);
    // EXISTS looks into the table for each row.
    world.own("CREATE INDEX ON visits (patient)");
    let joined = "visits v JOIN places p ON p.region = v.region";
    let alike = [1, 2].map(|i| {
        let name = format!("\"place of {i}\"");
        format!("EXISTS (SELECT 1 FROM visits {name} WHERE {name}.patient = v.patient AND {name}.age > 30)")
    });
    let without_from = "EXISTS (SELECT 1 WHERE v.age > 30)".to_owned();
    for condition in alike.into_iter().chain([without_from]) {
        for sql in [
            format!(
                "SELECT p.name, count(*) FROM {joined} WHERE {condition} GROUP BY 1 ORDER BY 1"
            ),
            format!(
                "SELECT p.name, count(*) FILTER (WHERE {condition}) FROM {joined} GROUP BY 1 ORDER BY 1"
            ),
            format!("SELECT count(*) FROM {joined} WHERE {condition}"),
            format!("SELECT count(*) FILTER (WHERE {condition}) FROM {joined}"),
            format!("SELECT count(DISTINCT v.region) FROM {joined} WHERE {condition}"),
        ] {
            world.same(&sql, 1);
        }
    }
}

/// What would count the rows without a match, or needs a group of them, is refused.
#[test]
fn rows_without_a_match_are_not_counted() {
    let mut world = World::new();
    world.own(PLACES);
    let joined = "places p LEFT JOIN visits v ON v.region = p.region";
    for (select, why, hint) in [
        (
            "p.name, count(*)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, count(p.size)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, count(*) FILTER (WHERE v.cost IS NULL)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, avg(COALESCE(v.cost, 0))",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, sum(COALESCE(v.cost, 1))",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, sum(CASE WHEN v.cost IS NULL THEN 1 ELSE 0 END)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, sum(CASE coalesce(v.cost, 5) WHEN 5 THEN 1 ELSE 0 END)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, sum(CASE p.size WHEN 5 THEN 1 ELSE 0 END)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, sum(CASE v.cost WHEN 5 THEN 0 ELSE 1 END)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, count(NULLIF(1, v.id))",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, dp_sum(COALESCE(v.cost, 0), 0, 100, 20)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, avg(CASE WHEN v.cost > 5 THEN 1 ELSE 0 END)",
            "rows without a match",
            "count(visits.id)",
        ),
        (
            "p.name, count(*) FILTER (WHERE v.cost <> ALL ('{}'))",
            "rows without a match",
            "count(visits.id)",
        ),
        ("v.region, count(v.id)", "not all known", "use JOIN"),
        ("v.age > 30, count(v.id)", "not all known", "use JOIN"),
        ("p.name || v.note, count(v.id)", "not all known", "use JOIN"),
    ] {
        let refusal = world.refused(&format!("SELECT {select} FROM {joined} GROUP BY 1"));
        assert!(refusal.message.contains(why), "{select}: {refusal:?}");
        assert!(refusal.hint.contains(hint), "{select}: {refusal:?}");
    }
    for sql in [
        // The rows without a match themselves.
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region WHERE v.id IS NULL GROUP BY 1",
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region WHERE v.id <> ALL ('{}') GROUP BY 1",
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region WHERE p.size < 3 OR v.id IS NULL \
         GROUP BY 1",
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region \
         WHERE NOT EXISTS (SELECT FROM people o WHERE o.person = v.patient) GROUP BY 1",
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region \
         WHERE EXISTS (SELECT count(*) FROM people o WHERE o.person = v.patient) GROUP BY 1",
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region \
         WHERE EXISTS (SELECT FROM people o WHERE o.person = v.patient OR v.patient IS NULL) GROUP BY 1",
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region \
         WHERE p.size < 3 OR v.patient NOT IN (SELECT person FROM people WHERE born > 1960) GROUP BY 1",
        // A condition on the kept side alone leaves out matches, and no row.
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON v.region = p.region AND p.size > 2 GROUP BY 1",
        "SELECT p.name, count(v.id) FROM places p LEFT JOIN visits v ON true GROUP BY 1",
        "SELECT p.name, count(v.id) FROM places p FULL JOIN visits v ON v.region = p.region GROUP BY 1",
        "SELECT m.number, count(v.id) FROM many m LEFT JOIN visits v ON v.region = m.region GROUP BY 1",
        "SELECT p.name, q.name, count(v.id) FROM places p CROSS JOIN places q \
         LEFT JOIN visits v ON v.region = p.region GROUP BY 1, 2",
        "SELECT avg(n) FROM (SELECT v.patient, count(p.name) AS n FROM places p LEFT JOIN visits v USING (region) \
         GROUP BY v.patient) s",
    ] {
        let refusal = world.refused(sql);
        assert!(
            refusal.message.contains("nullable side"),
            "{sql}: {refusal:?}"
        );
    }
}
